package revision

import (
	"runtime/debug"
	"strings"
	"testing"
)

// TestVersionOf_PrefersCommitToDigest checks that the version is the commit, the module's version or the archive's
// stamp. Any other program has the SHA-256 of its executable.
func TestVersionOf_PrefersCommitToDigest(t *testing.T) {
	const commit = "1234567890abcdef1234567890abcdef12345678"
	const stamped = commit + " 2026-11-26\n"
	of := func(path, version string, change ...debug.BuildSetting) *debug.BuildInfo {
		info := built(append(change, set("vcs.revision", ""), set("vcs.modified", ""))...)
		info.Main = debug.Module{Path: path, Version: version}
		return info
	}
	replaced := of(module, "v1.2.0")
	replaced.Deps = []*debug.Module{{Path: "a", Sum: "h1:x", Replace: &debug.Module{Path: "../a"}}}
	for name, x := range map[string]struct {
		info        *debug.BuildInfo
		stamp, want string
	}{
		"commit": {built(), stamped, "commit 1234567890ab"},
		"changed": {built(set("vcs.modified", "true")), "",
			"commit 1234567890ab with changes, SHA-256 feedfeedfeed"},
		"module":                {of(module, "v1.2.0"), "", "v1.2.0"},
		"module and archive":    {of(module, "v1.2.0"), stamped, "v1.2.0"},
		"archive":               {of(module, "(devel)"), stamped, "archive of commit 1234567890ab 2026-11-26"},
		"archive without a day": {of(module, ""), commit, "archive of commit 1234567890ab"},
		"no archive":            {of(module, "(devel)"), "$Format:%H %cs$\n", "unknown, SHA-256 feedfeedfeed"},
		"an empty stamp":        {of(module, ""), "", "unknown, SHA-256 feedfeedfeed"},
		"of another module":     {of("example.org/own", "(devel)"), stamped, "unknown, SHA-256 feedfeedfeed"},
		"with a folder":         {replaced, stamped, "unknown, SHA-256 feedfeedfeed"},
		"nothing":               {&debug.BuildInfo{}, "", "unknown, SHA-256 feedfeedfeed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := versionOf(x.info, x.stamp, withoutBuildID); got != x.want {
				t.Errorf("%s, want %s", got, x.want)
			}
		})
	}
}

// TestOwnCommit checks that an archive inside another repository does not get that repository's commit.
func TestOwnCommit(t *testing.T) {
	const archived, other = "1234567890abcdef1234567890abcdef12345678", "feedfeedfeedfeedfeedfeedfeedfeedfeedfeed"
	for _, x := range []struct {
		name, path, commit, stamp string
		kept                      bool
	}{
		{"archive inside a repository", module, other, archived + " 2026-11-26\n", false},
		{"archive of the commit", module, archived, archived + " 2026-11-26\n", true},
		{"clone", "weir", other, "$Format:%H %cs$\n", true},
		{"program of another module", "example.org/own", other, archived + " 2026-11-26\n", true},
	} {
		t.Run(x.name, func(t *testing.T) {
			info := built(set("vcs.revision", x.commit), set("vcs.modified", "false"))
			info.Main.Path = x.path
			version := versionOf(ownCommit(info, x.stamp), x.stamp, withoutBuildID)
			r := newRevision(ownCommit(info, x.stamp), withoutBuildID)
			if (r.Commit == x.commit) != x.kept || (r.Digest == digest) == x.kept ||
				(version == "commit "+x.commit[:12]) != x.kept {
				t.Errorf("%+v, %s", r, version)
			}
			if !x.kept && version != "archive of commit 1234567890ab 2026-11-26" {
				t.Errorf("version %q", version)
			}
		})
	}
}

// TestStamp_IsCommitOrFormat checks that the stamp is a commit in an archive, and the format of git archive in a
// clone.
func TestStamp_IsCommitOrFormat(t *testing.T) {
	if isHash(strings.Fields(stamp)[0]) == strings.HasPrefix(stamp, "$Format:") {
		t.Errorf("the stamp is %q", stamp)
	}
}

func TestNameOf_FollowsMainPackage(t *testing.T) {
	for main, want := range map[string]string{
		module + "/cmd/weir": "weir", "example.org/ownscheme": "ownscheme", "": "weir",
		module + "/app/internal/cli.test": "weir", "command-line-arguments": "weir"} {
		if got := nameOf(main); got != want {
			t.Errorf("%q is called %s, want %s", main, got, want)
		}
	}
}

// TestFolderKey_DiffersByProgram checks that programs that may compute other bytes have other keys.
func TestFolderKey_DiffersByProgram(t *testing.T) {
	keys := map[string]string{}
	for name, r := range map[string]Revision{"clean": revisionOf(built()),
		"level":   revisionOf(built(set("GOAMD64", "v3"))),
		"changed": revisionOf(built(set("vcs.modified", "true"))), "none": {}} {
		k := r.FolderKey()
		if len(k) != KeyLength || keys[k] != "" {
			t.Errorf("%s has %s, as %q has", name, k, keys[k])
		}
		keys[k] = name
	}
}
