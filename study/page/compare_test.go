package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/testkit/runtest"
	"weir/study/experiment"
	"weir/study/run"
)

// carried runs an experiment, and returns the folder of its results.
func carried(t *testing.T, dir string, exp *experiment.Spec) string {
	t.Helper()
	o, err := run.Execute(t.Context(), exp, run.Options{Dir: dir, Executable: "0123", Command: "weir run x"})
	if err != nil || len(o.Failed) > 0 {
		t.Fatal(err, o.Failed)
	}
	return filepath.Base(o.Dir)
}

// single runs an experiment of one point, which has no name, and returns the folder of its results.
func single(t *testing.T, dir, name, measure string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".yaml")
	text := "title: " + name + "\nduration: 1s\ntopology: {star: {hosts: 2, rate: 1Mbps, delay: 1ms}}\n" +
		"traffic: [{name: " + name + ", from: h0, to: h1, transport: tcp, cc: cubic}]\nswitch: [forward]\nmeasure: [" +
		measure + "]\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return carried(t, dir, runtest.Load(t, app.Registry(), file, experiment.Options{}))
}

// TestCompare_RefusesResultsWithoutCommonValues checks that the page does not compare results without common values,
// and reports this: results with other points, or with a single point that has other values.
func TestCompare_RefusesResultsWithoutCommonValues(t *testing.T) {
	dir, names := copied(t)
	other := carried(t, dir, runtest.Load(t, app.Registry(), "p4abc/fig5", experiment.Options{Quick: true,
		Set: []string{"n=4", "duration=6s", "scheme=abc"}}))
	const says = "These results cannot be compared"
	one, two := single(t, dir, "one", "goodput"), single(t, dir, "two", "{queue: {port: s->h1}}")
	if err := os.CopyFS(filepath.Join(dir, one+"-copy"), os.DirFS(filepath.Join(dir, one))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, a, b string
		common     bool
	}{
		{"the same experiment", names[0], names[1], true},
		{"other points", names[0], other, false},
		{"other experiments", names[0], one, false},
		{"only points with other values", one, two, false},
		{"an only point with the same values", one, one + "-copy", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, body, _ := serve(t, dir).get("/compare?r=" + c.a + "&r=" + c.b)
			if has := strings.Contains(body, says); has == c.common {
				t.Errorf("it says that there is nothing in common: %v", has)
			}
			if strings.Contains(body, "<h2>Results</h2>") != c.common {
				t.Error("points are shown though there is nothing in common, or are not though there is")
			}
			if differ := strings.Contains(body, "They belong to different experiments"); differ != (c.a[:3] != c.b[:3]) {
				t.Errorf("it says that they are of different experiments: %v", differ)
			}
		})
	}
}
