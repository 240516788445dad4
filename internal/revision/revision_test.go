package revision

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// built returns Go's build information of a program with committed sources, with some settings changed.
func built(change ...debug.BuildSetting) *debug.BuildInfo {
	settings := map[string]string{"GOOS": "linux", "GOARCH": "amd64", "GOAMD64": "v1", "CGO_ENABLED": "1",
		"vcs.revision": "1234567890abcdef1234", "vcs.modified": "false", "-trimpath": "true"}
	for _, s := range change {
		settings[s.Key] = s.Value
	}
	info := &debug.BuildInfo{Path: "weir/cmd/weir", GoVersion: "go1.26.8", Deps: []*debug.Module{{Path: "a", Sum: "h1:x"}}}
	for k, v := range settings {
		info.Settings = append(info.Settings, debug.BuildSetting{Key: k, Value: v})
	}
	return info
}

func set(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }

const digest = "feedfeedfeedfeedfeed"

// withoutBuildID identifies an executable without a build ID, and withBuildID one with a build ID.
func withoutBuildID() (build, hash string) { return "", digest }
func withBuildID() (build, hash string)    { return digest, "" }

func revisionOf(info *debug.BuildInfo) Revision { return newRevision(info, withoutBuildID) }

// TestRevisionOf_HasWhatDecidesBytes checks that a revision has exactly the settings that decide the bytes that a
// program computes.
func TestRevisionOf_HasWhatDecidesBytes(t *testing.T) {
	const clean = "weir/cmd/weir commit:1234567890abcdef1234 go1.26.8 linux/amd64 GOAMD64=v1"
	const changed = "weir/cmd/weir sha256:feedfeedfeedfeedfeed go1.26.8 linux/amd64 GOAMD64=v1"
	replaced, vendored := built(), built()
	replaced.Deps = []*debug.Module{{Path: "a", Sum: "h1:x", Replace: &debug.Module{Path: "../a"}}}
	vendored.Deps[0] = &debug.Module{Path: "a"}
	for name, x := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"clean":             {built(), clean},
		"without cgo":       {built(set("CGO_ENABLED", "0")), clean},
		"paths kept":        {built(set("-trimpath", "")), clean},
		"changed":           {built(set("vcs.modified", "true")), changed},
		"not known whether": {built(set("vcs.modified", "")), changed},
		"no commit":         {built(set("vcs.revision", "")), changed},
		"a module's folder": {replaced, changed},
		"module unpinned":   {vendored, changed},
		"level":             {built(set("GOAMD64", "v3")), strings.Replace(clean, "v1", "v3", 1)},
		"tags": {built(set("-tags", "a,b"), set("GOEXPERIMENT", "x")),
			strings.Replace(clean, "GOAMD64", "-tags=a,b GOAMD64", 1) + " GOEXPERIMENT=x"},
		"a flag of words": {built(set("-gcflags", "all=-N -l 5%")),
			strings.Replace(clean, "GOAMD64", "-gcflags=all=-N%20-l%205%25 GOAMD64", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			r := revisionOf(x.info)
			if r.String() != x.want {
				t.Errorf("%s\nwant %s", r, x.want)
			}
			if again, err := Parse(r.String()); again != r || err != nil {
				t.Errorf("read back: %+v, %v; want %+v", again, err, r)
			}
		})
	}
}

func TestCompare_NamesDifferences(t *testing.T) {
	this := revisionOf(built())
	other := func(change ...debug.BuildSetting) Revision { return revisionOf(built(change...)) }
	changed := other(set("vcs.modified", "true"))
	for _, x := range []struct {
		a, b Revision
		why  string
	}{
		{this, this, ""},
		{changed, changed, ""},
		{other(set("GOARCH", "arm64"), set("GOAMD64", ""), set("GOARM64", "v8.0")), this,
			"architecture arm64, not amd64; built with GOARM64=v8.0, not GOAMD64=v1"},
		{other(set("GOOS", "darwin")), this, "system darwin, not linux"},
		{other(set("vcs.revision", "34cd34cd34cd34cd")), this, "revision 34cd34cd34cd…, not 1234567890ab…"},
		{changed, this, "the program with SHA-256 feedfeedfeed…, not revision 1234567890ab…"},
		{this, changed, "revision 1234567890ab…, not the program with SHA-256 feedfeedfeed…"},
		{other(set("GOAMD64", "v3")), this, "built with GOAMD64=v3, not GOAMD64=v1"},
		{this, other(set("-tags", "slow")), "built with the defaults, not -tags=slow"},
		{newRevision(built(set("vcs.modified", "true")), func() (string, string) { return "", "0123" }), changed,
			"the program with SHA-256 0123, not the program with SHA-256 feedfeedfeed…"},
		{newRevision(built(set("vcs.modified", "true"), set("GOARCH", "arm64")),
			func() (string, string) { return "", "0123" }), changed,
			"architecture arm64, not amd64"},
		{newRevision(built(set("vcs.modified", "true")), withBuildID), changed,
			"the program of build feedfeedfeed…, not the program with SHA-256 feedfeedfeed…"},
		{Revision{}, this, "program -, not weir/cmd/weir; architecture -, not amd64; system -, not linux; Go -, not " +
			"go1.26.8; built with the defaults, not GOAMD64=v1; the program with SHA-256 -, not revision 1234567890ab…"},
	} {
		ok, why := Compare(x.a, x.b)
		if ok != (x.why == "") || why != x.why {
			t.Errorf("%v\nand %v: %v, %q; want %q", x.a, x.b, ok, why, x.why)
		}
	}
}

// TestParse_RejectsMalformedLines checks that malformed lines are refused, that a revision is read back from its
// line, and that JSON has the line.
func TestParse_RejectsMalformedLines(t *testing.T) {
	for _, bad := range []string{"", " ", "weir", "a commit:b c", "a b c d/e",
		"a tag:b c d/e", "a build: c d/e", "a commit: c d/e",
		"a commit:b c d", "a commit:b  c d/e", "a commit:b%zz c d/e x\n", " commit:b c d/e",
		"a commit:b c d/e \r", "a commit:b c d/e x=1  y=2", "a commit:b c d/e x",
		"a commit:b c d/e " + strings.Repeat("x", maxLength)} {
		if r, err := Parse(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, r)
		}
	}
	r := newRevision(built(set("vcs.modified", "true")), withBuildID)
	if again, err := Parse(r.String()); again != r || err != nil || !strings.Contains(r.String(), " build:"+digest) {
		t.Errorf("%s is read back as %+v, %v", r, again, err)
	}
	want := revisionOf(built(set("-gcflags", "all=-N -l")))
	data, err := json.Marshal(map[string]any{"revision": want})
	if err != nil || !strings.Contains(string(data), want.String()) {
		t.Fatal(string(data), err)
	}
	var got struct{ Revision Revision }
	if err := json.Unmarshal(data, &got); err != nil || got.Revision != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// FuzzParse_RoundTripsOneLine checks that an accepted line is written back unchanged, as a single line.
func FuzzParse_RoundTripsOneLine(f *testing.F) {
	f.Add(revisionOf(built()).String())
	f.Add(revisionOf(built(set("vcs.modified", "true"), set("-gcflags", "all=-N -l"))).String())
	f.Add(Revision{}.String())
	f.Fuzz(func(t *testing.T, s string) {
		r, err := Parse(s)
		if err == nil && r.String() != s {
			t.Errorf("%q is read as %+v", s, r)
		}
		if err == nil && strings.ContainsAny(s, "\t\r\n\x1b") {
			t.Errorf("%q is more than a line", s)
		}
	})
}

func TestThis_IdentifiesTheProgram(t *testing.T) {
	r := This()
	if r.OS != runtime.GOOS || r.Arch != runtime.GOARCH || r.Go != runtime.Version() || r.Program == "" {
		t.Errorf("%+v", r)
	}
	if r.Commit+r.Build+r.Digest == "" || r.Commit != "" && r.Build+r.Digest != "" || r.Build != "" && r.Digest != "" {
		t.Errorf("%+v has not one of commit, build and digest", r)
	}
	if r != This() || len(Executable()) != 64 {
		t.Errorf("%v, %s", This(), Executable())
	}
}
