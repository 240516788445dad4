package revision

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// stamp is what git archive makes of the file: the commit, and its day. Elsewhere it is the format itself.
//
//go:embed stamp.txt
var stamp string

// module is the one whose archives the stamp is of.
const module = "weir"

// Version is what people call this program: its commit, the version of its module or the stamp of the archive that its
// sources came in. Without these, or with changed sources, it has the beginning of the build's or the file's digest.
var Version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(ownCommit(info, stamp), stamp, identifyExecutable)
})

// ownCommit removes the version control settings from build information if they describe another repository. Go records
// the commit of the enclosing repository for an archive that was unpacked inside one. If the archive is ignored there,
// Go also records that the sources are unmodified.
func ownCommit(info *debug.BuildInfo, stamp string) *debug.BuildInfo {
	archived, _, _ := strings.Cut(strings.TrimSpace(stamp), " ")
	if info.Main.Path != module || !isHash(archived) ||
		slices.Contains(info.Settings, debug.BuildSetting{Key: "vcs.revision", Value: archived}) {
		return info
	}
	own := *info
	own.Settings = slices.DeleteFunc(slices.Clone(info.Settings), func(s debug.BuildSetting) bool {
		return s.Key == "vcs" || strings.HasPrefix(s.Key, "vcs.")
	})
	return &own
}

// versionOf returns the version of a program with this build information and stamp. It calls identify only if neither
// decides all sources.
func versionOf(info *debug.BuildInfo, stamp string, identify func() (build, digest string)) string {
	commit, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			modified = s.Value
		}
	}
	archived, day, _ := strings.Cut(strings.TrimSpace(stamp), " ")
	switch {
	case commit != "" && modified == "false" && pinned(info):
		return "commit " + brief(commit)
	case commit != "":
		return "commit " + brief(commit) + " with changes, " + identity(identify())
	case info.Main.Version != "" && info.Main.Version != "(devel)" && pinned(info):
		return escaper.Replace(info.Main.Version)
	case info.Main.Path == module && isHash(archived) && pinned(info):
		return strings.TrimSpace("archive of commit " + brief(archived) + " " + escaper.Replace(day))
	}
	return "unknown, " + identity(identify())
}

// identity names a build by the beginning of its digest.
func identity(build, digest string) string {
	if build != "" {
		return "build " + brief(build)
	}
	return "SHA-256 " + brief(digest)
}

// brief is as much of a hash as people need.
func brief(hash string) string { return escaper.Replace(hash[:min(len(hash), 12)]) }

// isHash reports whether a stamp was filled in.
func isHash(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) >= 40
}

// Name is what this program is called: the last part of the path of its main package, which is part of its bytes, as
// its file's name is not. A program of tests is called as what it tests.
var Name = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return module
	}
	return nameOf(info.Path)
})

func nameOf(main string) string {
	name := path.Base(main)
	if main == "" || main == "command-line-arguments" || strings.HasSuffix(name, ".test") {
		return path.Base(module)
	}
	return name
}

// Key is what folders of results have in their names, so that each program has its own.
func (r Revision) Key() string {
	h := sha256.Sum256([]byte(r.String()))
	return hex.EncodeToString(h[:])[:KeyLength]
}

// KeyLength is how many characters a Key has.
const KeyLength = 8
