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

// stamp is the content of a file that git archive fills in: the commit and its day. Elsewhere it is the format
// itself.
//
//go:embed stamp.txt
var stamp string

// module is the module that the stamp belongs to.
const module = "weir"

// Version returns the name of this program for users: its commit, the version of its module, or the stamp of the
// archive with its sources. Without these, or with changed sources, it has the beginning of the build's or the file's
// digest.
var Version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(ownCommit(info, stamp), stamp, identifyExecutable)
})

// ownCommit returns build information without the version control settings if they describe another repository than the
// stamp. Go records the commit of the enclosing repository for an archive that was unpacked inside one. If the archive
// is ignored there, Go also records that the sources are unmodified.
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

// versionOf returns the version of a program with the given build information and stamp. It calls identify only if
// neither determines all sources.
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
	case commit != "" && modified == "false" && isPinned(info):
		return "commit " + briefHash(commit)
	case commit != "":
		return "commit " + briefHash(commit) + " with changes, " + describeBuild(identify())
	case info.Main.Version != "" && info.Main.Version != "(devel)" && isPinned(info):
		return escaper.Replace(info.Main.Version)
	case info.Main.Path == module && isHash(archived) && isPinned(info):
		return strings.TrimSpace("archive of commit " + briefHash(archived) + " " + escaper.Replace(day))
	}
	return "unknown, " + describeBuild(identify())
}

// describeBuild names a build by the beginning of its digest.
func describeBuild(build, digest string) string {
	if build != "" {
		return "build " + briefHash(build)
	}
	return "SHA-256 " + briefHash(digest)
}

// briefHash returns the first 12 characters of a hash.
func briefHash(hash string) string { return escaper.Replace(hash[:min(len(hash), 12)]) }

// isHash reports whether git archive has filled a stamp in.
func isHash(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) >= 40
}

// Name returns the name of this program: the last part of its main package's path, which is part of the executable,
// unlike the file's name. A test program has the name of the tested program.
var Name = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return module
	}
	return nameOf(info.Path)
})

// nameOf returns the name of a program with the given main package.
func nameOf(main string) string {
	name := path.Base(main)
	if main == "" || main == "command-line-arguments" || strings.HasSuffix(name, ".test") {
		return path.Base(module)
	}
	return name
}

// FolderKey returns a short key for the names of results folders, so that each program has its own.
func (r Revision) FolderKey() string {
	h := sha256.Sum256([]byte(r.String()))
	return hex.EncodeToString(h[:])[:KeyLength]
}

// KeyLength is the number of characters of a FolderKey.
const KeyLength = 8
