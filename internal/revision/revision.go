package revision

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Revision is all that decides what a program computes. Two are equal (==) if the programs give the same bytes.
type Revision struct {
	Program string // path of the main package
	// Commit is the commit of a program if all its sources are in version control, unchanged. Build is the SHA-256 of
	// the build ID of any other executable, and Digest of its file where it has no build ID, in hexadecimal digits.
	// Two of the three are empty.
	Commit, Build, Digest string
	Go                    string // version of Go
	OS, Arch              string
	// Settings are those of the build that change code or how floating-point numbers are rounded, as key=value in the
	// order of keys, separated by spaces.
	Settings string
}

// This is the revision of this program.
var This = sync.OnceValue(func() Revision {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	return of(ownCommit(info, stamp), identifyExecutable)
})

// of returns the revision of a program with this build information. It calls identify only if there is no commit that
// decides all sources.
func of(info *debug.BuildInfo, identify func() (build, digest string)) Revision {
	r := Revision{Program: info.Path, Go: info.GoVersion, OS: runtime.GOOS, Arch: runtime.GOARCH}
	commit, clean := "", false
	settings := map[string]string{}
	for _, s := range info.Settings {
		switch {
		case s.Key == "GOOS":
			r.OS = s.Value
		case s.Key == "GOARCH":
			r.Arch = s.Value
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified":
			clean = s.Value == "false"
		case decides(s.Key) && s.Value != "":
			settings[s.Key] = s.Value
		}
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		list = append(list, k+"="+escaper.Replace(settings[k]))
	}
	r.Settings = strings.Join(list, " ")
	if clean && pinned(info) {
		r.Commit = commit
	}
	if r.Commit == "" {
		r.Build, r.Digest = identify()
	}
	return r
}

// decides reports whether a setting of a build changes code: the levels of architectures (GOAMD64), of which some
// have fused multiplications, experiments of Go, tags, and what the compiler is told. Cgo computes nothing of Weir's.
func decides(key string) bool {
	switch key {
	case "-tags", "-gcflags", "-asmflags", "GOEXPERIMENT", "GOFIPS140":
		return true
	}
	return slices.Contains(levels, key)
}

// levels are the settings of architectures.
var levels = []string{"GO386", "GOAMD64", "GOARM", "GOARM64", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64", "GOWASM"}

// pinned reports whether the commit decides all modules of others: those have sums, which go.sum has too. A module
// that is replaced by a folder has none, and its content is in no commit of the program's.
func pinned(info *debug.BuildInfo) bool {
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Sum == "" {
			return false
		}
	}
	return true
}

// escaper makes a value one word, and unescaper makes it what it was.
var (
	escaper   = strings.NewReplacer("%", "%25", " ", "%20", "\t", "%09", "\n", "%0a", "\r", "%0d")
	unescaper = strings.NewReplacer("%25", "%", "%20", " ", "%09", "\t", "%0a", "\n", "%0d", "\r")
)

// String returns the revision in one line, which Parse reads: program; commit:…, build:… or sha256:…; version of Go;
// os/arch; settings.
func (r Revision) String() string {
	words := []string{orNone(r.Program), r.what(), orNone(r.Go), orNone(r.OS) + "/" + orNone(r.Arch)}
	if r.Settings != "" {
		words = append(words, r.Settings)
	}
	return strings.Join(words, " ")
}

// what returns the word of the commit, the build ID or the file's digest.
func (r Revision) what() string {
	switch {
	case r.Commit != "":
		return "commit:" + escaper.Replace(r.Commit)
	case r.Build != "":
		return "build:" + escaper.Replace(r.Build)
	}
	return "sha256:" + orNone(r.Digest)
}

// none stands for an empty word.
const none = "-"

func orNone(s string) string {
	if s == "" {
		return none
	}
	return escaper.Replace(s)
}

// longest is more than any revision has.
const longest = 4096

// Parse reads what String has written.
func Parse(s string) (Revision, error) {
	var r Revision
	words := strings.Split(s, " ")
	if len(s) > longest || len(words) < 4 {
		return r, errors.New("it is no revision of a program")
	}
	word := func(s string) string {
		if s == none {
			return ""
		}
		return unescaper.Replace(s)
	}
	kind, value, _ := strings.Cut(words[1], ":")
	switch kind {
	case "commit":
		r.Commit = word(value)
	case "build":
		r.Build = word(value)
	case "sha256":
		r.Digest = word(value)
	}
	system, arch, _ := strings.Cut(words[3], "/")
	r.Program, r.Go, r.OS, r.Arch = word(words[0]), word(words[2]), word(system), word(arch)
	r.Settings = strings.Join(words[4:], " ")
	bad := slices.ContainsFunc(words[4:], func(setting string) bool { return !strings.Contains(setting, "=") })
	if bad || strings.ContainsFunc(s, unicode.IsControl) || r.String() != s {
		return Revision{}, errors.New("it is no revision of a program")
	}
	return r, nil
}

// MarshalText writes it as String does, for JSON.
func (r Revision) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads it as Parse does.
func (r *Revision) UnmarshalText(text []byte) (err error) {
	*r, err = Parse(string(text))
	return err
}

// Same reports whether two programs give the same bytes. If not, why says what of the first is not as the second has
// it, which is usually this program's: "architecture arm64, not amd64".
func Same(a, b Revision) (ok bool, why string) {
	if a == b {
		return true, ""
	}
	var all []string
	differ := func(what, a, b string) {
		if a != b {
			all = append(all, fmt.Sprintf("%s %s, not %s", what, orNone(a), orNone(b)))
		}
	}
	differ("program", a.Program, b.Program)
	differ("architecture", a.Arch, b.Arch)
	differ("system", a.OS, b.OS)
	differ("Go", a.Go, b.Go)
	if x, y := onlyIn(a.Settings, b.Settings), onlyIn(b.Settings, a.Settings); x != y {
		all = append(all, fmt.Sprintf("built with %s, not %s", orDefaults(x), orDefaults(y)))
	}
	switch {
	case a.Commit != "" && b.Commit != "":
		differ("revision", short(a.Commit), short(b.Commit))
	case a.Commit != "" || b.Commit != "" || len(all) == 0: // what differs changes the digest too
		all = append(all, fmt.Sprintf("%s, not %s", a.shortly(), b.shortly()))
	}
	return false, strings.Join(all, "; ")
}

// onlyIn are the settings that only the first list has.
func onlyIn(a, b string) string {
	other := strings.Fields(b)
	own := slices.DeleteFunc(strings.Fields(a), func(s string) bool { return slices.Contains(other, s) })
	return strings.Join(own, " ")
}

func orDefaults(settings string) string {
	if settings == "" {
		return "the defaults"
	}
	return settings
}

// shortly names the program for people: by its commit, its build or its file.
func (r Revision) shortly() string {
	switch {
	case r.Commit != "":
		return "revision " + short(r.Commit)
	case r.Build != "":
		return "the program of build " + short(r.Build)
	}
	return "the program with SHA-256 " + short(r.Digest)
}

// short is the beginning of a hash.
func short(hash string) string {
	if len(hash) > 12 {
		return hash[:12] + "…"
	}
	return orNone(hash)
}
