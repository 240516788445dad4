package hpccsim

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/document"
)

// badFlows are the sample's flows, except that the second ends at a switch, which only an experiment's reader finds.
var badFlows = strings.Replace(simulatorFlows, "1 2 3 200", "1 4 3 200", 1)

// TestImportPlaces checks that an error in a file that the configuration names has the path of that file from the
// current folder, for any folders of the configuration and of the experiment.
func TestImportPlaces(t *testing.T) {
	config := simulatorFiles(t)
	mix, above := filepath.Dir(config), filepath.Dir(filepath.Dir(config))
	if err := os.WriteFile(filepath.Join(mix, "flow.txt"), []byte(badFlows), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(above, "other"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ current, config, folder string }{
		{above, "mix/config.txt", "."}, {above, "mix/config.txt", "mix"}, {above, "mix/config.txt", "other"},
		{mix, "config.txt", "."}, {mix, "config.txt", ".."}, {filepath.Join(above, "other"), "../mix/config.txt", "."},
		{above, config, "."}, {above, config, filepath.Join(above, "other")},
	} {
		t.Run(x.config+" for "+x.folder, func(t *testing.T) {
			t.Chdir(x.current)
			_, _, err := Import(simulator(), x.config, x.folder)
			var all document.InputErrors
			if !errors.As(err, &all) || len(all) != 1 || all[0].Line != 3 || all[0].Column != 3 ||
				!strings.Contains(all[0].Msg, "node 4 is the switch") {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(all[0].File); err != nil || string(text) != badFlows {
				t.Errorf("%s is not the file that is wrong: %v", all[0].File, err)
			}
		})
	}
}

// TestImportAllErrors checks that all that is wrong with a configuration and the files that it names is reported at
// once.
func TestImportAllErrors(t *testing.T) {
	const words = "unknown key \"BW_MON_FILE\"; allowed: "
	for _, x := range []struct {
		name   string
		change []string
		flows  string
		want   []string
	}{
		{"values", []string{"SIMULATOR_STOP_TIME", "SIMULATOR_STOP_TIME 40000000000000.00", "CC_MODE", "CC_MODE three"},
			simulatorFlows, []string{"SIMULATOR_STOP_TIME is \"40000000000000.00\"; a number of seconds is allowed, at " +
				"most 9223372",
				"CC_MODE is \"three\""}},
		{"a value and keys", []string{"SIMULATOR_STOP_TIME", "SIMULATOR_STOP_TIME x", "ENABLE_TRACE",
			"BW_MON_FILE a\nRATE_MON_FILE b\nMON_START 1"}, simulatorFlows,
			[]string{"SIMULATOR_STOP_TIME is \"x\"", words, "unknown key \"RATE_MON_FILE\"", "unknown key \"MON_START\""}},
		{"a value, a key, and a flow", []string{"RP_TIMER", "RP_TIMER -1", "ENABLE_TRACE", "BW_MON_FILE a"}, badFlows,
			[]string{"RP_TIMER is \"-1\"", words, "node 4 is the switch"}},
		{"a mode, and a flow", []string{"CC_MODE", "CC_MODE 2"}, badFlows, []string{"CC_MODE is \"2\"", "node 4 is the " +
			"switch"}},
		{"a mode, a stop, and a form", []string{"CC_MODE", "CC_MODE 2", "SIMULATOR_STOP_TIME", "SIMULATOR_STOP_TIME 1.0"},
			"1\n0 x", []string{"CC_MODE is \"2\"", "flow.txt"}},
		{"flows", nil, "2\n0 0 3 100 1000 2.0\n0 99 3 100 x 2.0\n", []string{"from node 0 to itself", "the size is \"x\""}},
		{"a topology and flows", []string{"TOPOLOGY_FILE", "TOPOLOGY_FILE mix/none.txt", "FLOW_FILE",
			"FLOW_FILE mix/none.txt"}, simulatorFlows, []string{"\"mix/none.txt\" cannot be read", "\"mix/none.txt\" " +
			"cannot be read"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			config := simulatorFiles(t, x.change...)
			if err := os.WriteFile(filepath.Join(filepath.Dir(config), "flow.txt"), []byte(x.flows), 0o666); err != nil {
				t.Fatal(err)
			}
			_, _, err := Import(simulator(), config, ".")
			var all document.InputErrors
			if !errors.As(err, &all) || len(all) != len(x.want) {
				t.Fatalf("%d errors, want %d:\n%v", len(all), len(x.want), err)
			}
			for _, want := range x.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %s in\n%v", want, err)
				}
			}
		})
	}
}
