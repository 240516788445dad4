//go:build lab

package softswitch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"weir/internal/testkit"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
)

// TestRecipe_GivesSingleConnectionItsPart checks that the documented recipe works when it is copied: each of its
// commands, in a network namespace with a separate folder for the names of other namespaces. The user with one
// connection gets a part that a FIFO would not give.
func TestRecipe_GivesSingleConnectionItsPart(t *testing.T) { realtime.Test(t, works) }

func works(t *realtime.Try) {
	defer t.WatchIdle()()
	output := runScript(t, testkit.ReadRecipe(t, "../../docs/switch.md"))
	for _, want := range []string{"switching between lan (lan0), wan (wan0)", `weir_abc_user_activity{user="10.77.0.1"`,
		`weir_abc_user_activity{user="10.77.0.2"`, `reason="activity"`, "port wan: "} {
		if !strings.Contains(output, want) {
			t.Errorf("%q is not in the output\n%s", want, output)
		}
	}
	rates := receivedRates(t, output) // of the user with eight connections and of the one with one
	if len(rates) != 2 || rates[1] < (rates[0]+rates[1])/4 {
		t.Errorf("the users get %v Mb/s; the second one with one connection beside eight should get a quarter at least\n%s",
			rates, output)
	}
}

// runScript runs a script of sh in a separate network namespace, with the program as weir and /tmp/weir-… in a
// folder that is removed, and returns its output.
func runScript(t *realtime.Try, script string) (output string) {
	needRoot(t)
	for tool, debian := range map[string]string{"ip": "iproute2", "ethtool": "ethtool", "iperf3": "iperf3", "curl": "curl",
		"unshare": "util-linux"} {
		testkit.RequireProgram(t, tool, debian)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "weir")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	args := testkit.NamespaceArgs(strings.ReplaceAll(script, "/tmp/weir-", dir+"/weir-"))
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	p := await.Start(t, c)
	code, output := p.AwaitExit(), p.Output()
	if strings.HasPrefix(output, "unshare: ") {
		t.Skipf("no namespaces here: %s", output)
	}
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, output)
	}
	if strings.Contains(output, "had no checksum") {
		t.Errorf("frames had no checksums\n%s", output)
	}
	return output
}

// receivedRates returns the rates in Mb/s that receivers of iperf3 report, in the order of a script's output.
func receivedRates(t *realtime.Try, output string) (rates []float64) {
	for _, x := range regexp.MustCompile(`([0-9.]+) Mbits/sec.*receiver`).FindAllStringSubmatch(output, -1) {
		r, err := strconv.ParseFloat(x[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		rates = append(rates, r)
	}
	return rates
}
