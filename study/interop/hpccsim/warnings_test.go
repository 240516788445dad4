package hpccsim

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/internal/document"
	"weir/internal/testkit/warntest"
	"weir/study/experiment"
)

// importWarnings returns the warnings of one kind about a configuration, changed by pairs of a key and its line, and
// with other flows and another registry, if any.
func importWarnings(t *testing.T, kind string, r *experiment.Registry, flows string,
	change ...string) []document.Warning {
	t.Helper()
	config := simulatorFiles(t, change...)
	if flows != "" {
		if err := os.WriteFile(filepath.Join(filepath.Dir(config), "flow.txt"), []byte(flows), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, all, err := Import(r, config, ".")
	if err != nil {
		t.Fatal(err)
	}
	// each configuration has keys without a counterpart
	return slices.DeleteFunc(all, func(w document.Warning) bool {
		return w.Kind.ID != kind || kind == "import-key" && !strings.HasPrefix(w.Text, "ERROR_RATE_PER_LINK")
	})
}

// TestWarnings_FireAndStayQuiet checks that each kind of warning about an import fires for one configuration and is
// quiet for another.
func TestWarnings_FireAndStayQuiet(t *testing.T) {
	choose := func(fires bool, a, b string) string {
		if fires {
			return a
		}
		return b
	}
	warntest.Run(t, []warntest.Row{
		{ID: "import-key", Issue: func(t *testing.T, fires bool) []document.Warning {
			return importWarnings(t, "import-key", simulator(), "", "ERROR_RATE_PER_LINK",
				"ERROR_RATE_PER_LINK "+choose(fires, "0.001", "0"))
		}},
		{ID: "import-l2-ack", Issue: func(t *testing.T, fires bool) []document.Warning {
			return importWarnings(t, "import-l2-ack", simulator(), "", "L2_ACK_INTERVAL",
				choose(fires, "", "L2_ACK_INTERVAL 1"))
		}},
		{ID: "import-priority", Issue: func(t *testing.T, fires bool) []document.Warning {
			return importWarnings(t, "import-priority", simulator(),
				strings.Replace(simulatorFlows, "1 2 3 200", "1 2 "+choose(fires, "4", "3")+" 200", 1))
		}},
		{ID: "import-left-out", Issue: func(t *testing.T, fires bool) []document.Warning {
			r := simulator()
			if fires {
				r.Programs = slices.DeleteFunc(r.Programs, func(p dataplane.Scheme) bool { return p.Name == "ecn" })
			}
			return importWarnings(t, "import-left-out", r, "")
		}},
	}, nil)
}
