package run

import (
	"crypto/sha256"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/results"
)

// measured returns a results folder of the lab, with runs of these seeds and a capture of each. All runs have the
// given length.
func measured(t *testing.T, s *experiment.Spec, generator string, length float64, seeds ...uint64) string {
	t.Helper()
	dir := results.FolderPath(s, t.TempDir(), experiment.Lab)
	type named struct {
		ID string `json:"id"`
	}
	list := []named{}
	for _, r := range plan.ListRunsOn(s, experiment.Lab) {
		for _, seed := range seeds {
			if r.Seed != seed {
				continue
			}
			run := &results.Run{ID: results.RunID(r, "x", generator), Seed: r.Seed, Point: r.Point,
				End: results.End{Reason: "time up", TimeS: length}, Attempts: []results.Attempt{{WallS: length}}}
			put(t, results.RunFile(dir, run.ID), string(run.EncodeJSON(true)))
			for _, name := range []string{run.ID, run.ID + "-hosts"} {
				sum := sha256.Sum256([]byte(name))
				put(t, filepath.Join(dir, "captures", name+".pcapng"), name)
				put(t, filepath.Join(dir, "captures", name+results.TraceDigests),
					results.DigestHead(run)+results.DigestLine(name+".pcapng", sum[:]))
			}
			list = append(list, named{run.ID})
		}
	}
	index, _ := json.Marshal(map[string]any{"format": results.Format, "experiment": s.Name(), "world": experiment.Lab,
		"runs": list})
	put(t, filepath.Join(dir, "runs.json"), string(index))
	put(t, filepath.Join(dir, "spec.yaml"), string(s.Resolved()))
	put(t, filepath.Join(dir, "origin.json"), string(results.FormatOrigin(s, "weir run test.yaml --on lab")))
	put(t, filepath.Join(dir, "host.json"), `{"host":"of the lab","executable_sha256":"x"}`)
	return dir
}

// TestMergeLab checks that measured runs of several machines are merged, with their captures, if each was measured
// once. Two measurements of one run are refused, because no two are alike. Results of different traffic generators
// are refused, too.
func TestMergeLab(t *testing.T) {
	s := plantest.Load(t, room(), runnable, experiment.Options{Set: []string{"lab_repeat=3", "rate=1Mbps"}})
	a, b := measured(t, s, "weir", 1, 1), measured(t, s, "weir", 2, 2, 3)
	m, err := merge(t.TempDir(), false, b, a)
	if err != nil {
		t.Fatal(err)
	}
	if m.World != experiment.Lab || m.Found != 3 || m.Missing != 0 || !strings.HasSuffix(m.Dir, "-lab") {
		t.Errorf("%+v", m)
	}
	got := contents(t, m.Dir)
	captures := 0
	for _, dir := range []string{a, b} {
		for name, text := range contents(t, dir) {
			if strings.HasPrefix(name, "captures") || strings.HasPrefix(name, "runs/") {
				if captures++; got[name] != text {
					t.Errorf("%s differs", name)
				}
			}
		}
	}
	if captures != 3*5 {
		t.Errorf("%d files", captures)
	}
	later := uint64(4)
	more := plantest.Load(t, room(), runnable, experiment.Options{Set: []string{"lab_repeat=1", "rate=1Mbps"},
		Seed: &later})
	if m, err = merge(t.TempDir(), false, measured(t, more, "weir", 3, 4), a, b); err != nil || m.Found != 4 ||
		m.Spec.LabRepeat() != 4 || m.Spec.Repeat() != s.Repeat() {
		t.Errorf("another seed: %v, %+v", err, m)
	}
	for _, c := range []struct{ dir, want string }{
		{measured(t, s, "weir", 3, 2),
			"also has a measurement of this run (rate=1Mbps seed 2), and two measurements cannot be merged"},
		{measured(t, s, "iperf3", 3, 1), "traffic by iperf3, not by weir"},
	} {
		if _, err := merge(t.TempDir(), false, b, c.dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
	if _, err := merge(t.TempDir(), true, b, measured(t, s, "iperf3", 3, 1)); err != nil {
		t.Errorf("of any generator: %v", err)
	}
	broken := measured(t, s, "weir", 3, 1)
	replace(t, filepath.Join(broken, "captures", results.RunID(plan.ListRunsOn(s, experiment.Lab)[0], "x",
		"weir")+"-hosts.pcapng"),
		"hosts", "HOSTS")
	if _, err := merge(t.TempDir(), false, b, broken); err == nil ||
		!strings.Contains(err.Error(), "the file is damaged") {
		t.Errorf("a damaged capture: %v", err)
	}
}
