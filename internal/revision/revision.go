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

// Revision has all properties that decide what a program computes. Programs with equal revisions (==) yield the same
// bytes.
type Revision struct {
	Program string // path of the main package
	// Commit is the commit of a program if all its sources are in version control, unchanged. Build is the SHA-256 of
	// the build ID of any other executable, and Digest of its file where it has no build ID, in hexadecimal digits.
	// Two of the three are empty.
	Commit, Build, Digest string
	Go                    string // version of Go
	OS, Arch              string
	// Settings are the build settings that change code or the rounding of floating-point numbers, as key=value sorted by
	// key, separated by spaces.
	Settings string
}

// This returns the revision of this program.
var This = sync.OnceValue(func() Revision {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	return newRevision(ownCommit(info, stamp), identifyExecutable)
})

// newRevision returns the revision of a program with the given build information. It calls identify only if no commit
// determines all sources.
func newRevision(info *debug.BuildInfo, identify func() (build, digest string)) Revision {
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
		case changesCode(s.Key) && s.Value != "":
			settings[s.Key] = s.Value
		}
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		list = append(list, k+"="+escaper.Replace(settings[k]))
	}
	r.Settings = strings.Join(list, " ")
	if clean && isPinned(info) {
		r.Commit = commit
	}
	if r.Commit == "" {
		r.Build, r.Digest = identify()
	}
	return r
}

// changesCode reports whether a build setting changes code: architecture levels (GOAMD64), some of which have fused
// multiplications, Go experiments, tags, and compiler flags. Cgo compiles no code of Weir.
func changesCode(key string) bool {
	switch key {
	case "-tags", "-gcflags", "-asmflags", "GOEXPERIMENT", "GOFIPS140":
		return true
	}
	return slices.Contains(levels, key)
}

// levels are the settings of architectures.
var levels = []string{"GO386", "GOAMD64", "GOARM", "GOARM64", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64", "GOWASM"}

// isPinned reports whether the commit determines all other modules: these have checksums, which go.sum has too. A
// module replaced by a folder has no checksum, and no commit of the program contains it.
func isPinned(info *debug.BuildInfo) bool {
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

// escaper turns a value into one word, and unescaper restores it.
var (
	escaper   = strings.NewReplacer("%", "%25", " ", "%20", "\t", "%09", "\n", "%0a", "\r", "%0d")
	unescaper = strings.NewReplacer("%25", "%", "%20", " ", "%09", "\t", "%0a", "\n", "%0d", "\r")
)

// String returns the revision in one line, which Parse reads: program; commit:…, build:… or sha256:…; version of Go;
// os/arch; settings.
func (r Revision) String() string {
	words := []string{orNone(r.Program), r.idWord(), orNone(r.Go), orNone(r.OS) + "/" + orNone(r.Arch)}
	if r.Settings != "" {
		words = append(words, r.Settings)
	}
	return strings.Join(words, " ")
}

// idWord returns the word of the commit, the build ID or the file's digest.
func (r Revision) idWord() string {
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

// orNone returns s as one word, or the word for an empty one.
func orNone(s string) string {
	if s == "" {
		return none
	}
	return escaper.Replace(s)
}

// maxLength is above the length of any revision.
const maxLength = 4096

// Parse parses a revision in the format of String. It returns an error for any text that String does not produce.
func Parse(s string) (Revision, error) {
	var r Revision
	words := strings.Split(s, " ")
	if len(s) > maxLength || len(words) < 4 {
		return r, errors.New("it is not the revision of a program")
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
		return Revision{}, errors.New("it is not the revision of a program")
	}
	return r, nil
}

// MarshalText encodes the revision as String does, for JSON.
func (r Revision) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText decodes a revision as Parse does.
func (r *Revision) UnmarshalText(text []byte) (err error) {
	*r, err = Parse(string(text))
	return err
}

// Compare reports whether two programs yield the same bytes. If not, why describes how the first differs from the
// second, which is usually this program: "architecture arm64, not amd64".
func Compare(a, b Revision) (ok bool, why string) {
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
		differ("revision", shortHash(a.Commit), shortHash(b.Commit))
	case a.Commit != "" || b.Commit != "" || len(all) == 0: // other differences change the digest too
		all = append(all, fmt.Sprintf("%s, not %s", a.describe(), b.describe()))
	}
	return false, strings.Join(all, "; ")
}

// onlyIn returns the settings that only the first list has.
func onlyIn(a, b string) string {
	other := strings.Fields(b)
	own := slices.DeleteFunc(strings.Fields(a), func(s string) bool { return slices.Contains(other, s) })
	return strings.Join(own, " ")
}

// orDefaults returns the settings, or "the defaults" if the list is empty.
func orDefaults(settings string) string {
	if settings == "" {
		return "the defaults"
	}
	return settings
}

// describe names the program for messages: by its commit, build or file.
func (r Revision) describe() string {
	switch {
	case r.Commit != "":
		return "revision " + shortHash(r.Commit)
	case r.Build != "":
		return "the program of build " + shortHash(r.Build)
	}
	return "the program with SHA-256 " + shortHash(r.Digest)
}

// shortHash returns the beginning of a hash with an ellipsis.
func shortHash(hash string) string {
	if len(hash) > 12 {
		return hash[:12] + "…"
	}
	return orNone(hash)
}
