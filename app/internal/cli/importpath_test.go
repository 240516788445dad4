package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"weir/internal/command"
)

// TestImportPaths checks that errors of an import name all files relative to the current folder, wherever the
// experiment is written.
func TestImportPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{"mix", "made"} {
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"config.txt": "TOPOLOGY_FILE mix/topology.txt\nFLOW_FILE mix/flow.txt\nSIMULATOR_STOP_TIME 2.01\nCC_MODE 2\n",
		// node 7 of the flows is not there
		"topology.txt": "3 1 2\n0\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 0.001ms 0\n",
		"flow.txt":     "2\n1 2 3 100 2000000 2\n1 7 3 100 2000000 2\n",
	} {
		if err := os.WriteFile(filepath.Join("mix", name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := filepath.Abs("made")
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{"", "mine.yaml", "made/mine.yaml", filepath.Join(whole, "mine.yaml")} {
		args := []string{"import", "mix/config.txt"}
		if out != "" {
			args = append(args, "--out", out)
		}
		var stdout, errs bytes.Buffer
		if code := Run(Registry(), args, &stdout, &errs, false); code != command.WrongInput {
			t.Errorf("%v: exit code %d", args, code)
		}
		for _, want := range []string{"\nmix/flow.txt:3:3: ", "mix/config.txt:4:", "CC_MODE is \"2\"", "7 (TIMELY)"} {
			if !strings.Contains("\n"+errs.String(), want) || strings.Contains(errs.String(), filepath.Dir(whole)) {
				t.Errorf("%v:\n%s\nwant %q", args, &errs, want)
			}
		}
	}
}
