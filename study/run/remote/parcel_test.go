package remote

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
)

func room() *experiment.Registry {
	return plantest.NewRegistry(p4abc.Scheme(), "../../../papers/p4abc")
}

// sized is an experiment whose flows have sizes from a file.
const sized = `title: drawn
duration: 1ms
topology: {star: {hosts: 2, rate: 1Gbps, delay: 1us}}
switch: [forward]
traffic:
  - {name: x, from: h0, to: h1, transport: tcp, sizes: {file: NAME}, load: 1%}
measure: [goodput]
`

// packed returns the parcel of sized with sizes in a file of that name.
func packed(t *testing.T, name string) (p parcel, files map[string][]byte, s *experiment.Spec) {
	t.Helper()
	src := &experiment.Source{Name: "drawn", File: "drawn.yaml", Data: []byte(strings.Replace(sized, "NAME", name, 1)),
		Open: func(asked string) ([]byte, error) {
			if asked != strings.Trim(name, `"`) {
				return nil, errors.New("not that file")
			}
			return []byte("0 0\n1000 50\n2000 100\n"), nil
		}}
	s = plantest.LoadSource(t, room(), src, experiment.Options{})
	manifest, files := PackParcel(s)
	if err := json.Unmarshal(manifest, &p); err != nil {
		t.Fatal(err)
	}
	return p, files, s
}

// unpack unpacks a parcel.
func unpack(t *testing.T, p *parcel, files map[string][]byte) (*experiment.Spec, error) {
	t.Helper()
	manifest, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return UnpackParcel(room(), manifest, func(digest string) ([]byte, error) {
		data, ok := files[digest]
		if !ok {
			return nil, errors.New("no such file")
		}
		return data, nil
	})
}

// TestParcelOfNames packs and unpacks an experiment that names its file in any way that a file system takes.
func TestParcelOfNames(t *testing.T) {
	for _, name := range []string{"s.cdf", "./s.cdf", "a/s.cdf", "../s.cdf", "../../s.cdf", "a/../../s.cdf", "/data/s.cdf",
		"/data/../s.cdf", "../absolute/s.cdf", "..s/s.cdf", "s.cdf..", "größe.cdf"} {
		t.Run(name, func(t *testing.T) {
			p, files, s := packed(t, name)
			for _, in := range p.Inputs {
				if err := checkPath(in.Name); err != nil {
					t.Error(err)
				}
			}
			u, err := unpack(t, &p, files)
			if err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
			if a, b := plan.ListRuns(s)[0].ID("e"), plan.ListRuns(u)[0].ID("e"); a != b {
				t.Errorf("the run has the id %s, and unpacked %s", a, b)
			}
			if !maps.EqualFunc(s.Inputs(), u.Inputs(), slices.Equal[[]byte]) {
				t.Errorf("inputs %q, unpacked %q", s.Inputs(), u.Inputs())
			}
		})
	}
}

// TestParcelRefuses checks that a parcel has the files that its experiment names, inside itself, and no others.
func TestParcelRefuses(t *testing.T) {
	name := func(to string) func(p *parcel) { return func(p *parcel) { p.Inputs[0].Name = to } }
	added := func(path string) func(p *parcel) {
		return func(p *parcel) { p.Inputs = append(p.Inputs, input{path, p.Inputs[0].Hash, p.Inputs[0].Size}) }
	}
	hash := func(to string) func(p *parcel) { return func(p *parcel) { p.Inputs[0].Hash = to } }
	const outside, unnamed, noHash = "leads out of the parcel", "does not name the file", "no file has the hash"
	for _, x := range []struct {
		what   string
		change func(p *parcel)
		want   string
	}{
		{"up", name("../s.cdf"), outside},
		{"far up", name("../../../../etc/passwd"), outside},
		{"up in the middle", name("files/../../s.cdf"), outside},
		{"root", name("/etc/passwd"), outside},
		{"this folder, up", name("./../s.cdf"), outside},
		{"empty", name(""), outside},
		{"parent", name(".."), outside},
		{"NUL", name("files/s\x00.cdf"), outside},
		{"escape", name("files/\x1b[2J"), outside},
		{"long", name("files/" + strings.Repeat("x", 5000)), outside},
		{"another name", name("files/t.cdf"), "does not have the file"},
		{"added, up", added("../../etc/passwd"), outside},
		{"added, root", added("/etc/passwd"), outside},
		{"added", added("files/etc/passwd"), unnamed},
		{"added, absolute", added("absolute//etc/passwd"), unnamed},
		{"added, of a drive", added(`C:\x`), unnamed},
		{"added, backslashes", added(`files\..\..\x`), unnamed},
		{"twice", added("files/s.cdf"), "occurs twice"},
		{"folder up", func(p *parcel) { p.Folder = "../files" }, outside},
		{"folder of root", func(p *parcel) { p.Folder = "/" }, outside},
		{"name up", func(p *parcel) { p.Name = "../../x" }, outside},
		{"name with an escape", func(p *parcel) { p.Name = "x\x1b" }, outside},
		{"hash up", hash(".."), noHash},
		{"hash here", hash("."), noHash},
		{"hash, path", hash("../" + strings.Repeat("a", 61)), noHash},
		{"hash, capitals", func(p *parcel) { p.Inputs[0].Hash = strings.ToUpper(p.Inputs[0].Hash) }, noHash},
		{"hash, short", func(p *parcel) { p.Inputs[0].Hash = p.Inputs[0].Hash[1:] }, noHash},
		{"hash of no file", hash(strings.Repeat("0", 64)), "no such file"},
		{"text's hash", func(p *parcel) { p.Text = "." }, noHash},
		{"size", func(p *parcel) { p.Inputs[0].Size++ }, "in the parcel"},
		{"old format", func(p *parcel) { p.Format = 1 }, "of another version of weir"},
	} {
		t.Run(x.what, func(t *testing.T) {
			p, files, _ := packed(t, "s.cdf")
			x.change(&p)
			if _, err := unpack(t, &p, files); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("the error is %v, want %s", err, x.want)
			}
		})
	}
}
