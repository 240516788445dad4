package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"weir/internal/command"
)

// TestImportHint checks that weir import of a list of flows or a topology explains that experiments read these
// files directly. Other files get no such hint.
func TestImportHint(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, x := range map[string]struct{ text, want string }{
		"x.cm": {"Nodes 2\nConnections 1\n0->1 start 0 size 1000\n", "connection matrix (.cm) of htsim, with time_unit " +
			"and needs no import; an experiment reads it with\n    traffic: [{name: x, file: x.cm, format: htsim, time_unit: " +
			"1ps, transport: tcp}]"},
		"flow.txt":     {"1\n0 1 3 100 1000 2.0\n", "format: hpcc, transport: tcp}]"},
		"topology.txt": {"3 1 2\n0\n1 0 10Gbps 1us 0\n2 0 10Gbps 1us 0\n", "topology: {file: topology.txt, format: hpcc}"},
		"other.txt":    {"some text\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(name, []byte(x.text), 0o666); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			code := Run(Registry(), []string{"import", name}, &out, &errs, false)
			if code != command.WrongInput || !strings.Contains(errs.String(), x.want) ||
				x.want == "" && strings.Contains(errs.String(), "needs no import") {
				t.Errorf("exit code %d\n%s", code, &errs)
			}
		})
	}
}
