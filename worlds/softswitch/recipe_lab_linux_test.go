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

	"weir/internal/testutil"
	"weir/internal/testutil/await"
	"weir/internal/testutil/realtime"
)

// The recipe of the documentation works as it is copied: each of its commands, in a network namespace and with a place
// for names of others that are nobody else's. The user with one connection gets a part that a FIFO would not give.
func TestRecipe(t *testing.T) { realtime.Test(t, works) }

func works(t *realtime.Try) {
	defer t.WatchIdle()()
	needRoot(t)
	for tool, debian := range map[string]string{"ip": "iproute2", "ethtool": "ethtool", "iperf3": "iperf3", "curl": "curl",
		"unshare": "util-linux"} {
		testutil.RequireProgram(t, tool, debian)
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
	script := strings.ReplaceAll(testutil.Recipe(t, "../../docs/switch.md"), "/tmp/weir-", dir+"/weir-")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	args := testutil.InNamespace(script)
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	p := await.Start(t, c)
	code, said := p.Exit(), p.Output()
	if strings.HasPrefix(said, "unshare: ") {
		t.Skipf("no namespaces here: %s", said)
	}
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	for _, want := range []string{"switching between lan (lan0), wan (wan0)", `weir_abc_user_activity{user="10.77.0.1"`,
		`weir_abc_user_activity{user="10.77.0.2"`, `reason="activity"`, "port wan: "} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q\n%s", want, said)
		}
	}
	if strings.Contains(said, "came without their checksums") {
		t.Errorf("frames had no checksums\n%s", said)
	}
	var rates []float64 // Mb/s, of the user with eight connections and of the one with one
	for _, x := range regexp.MustCompile(`([0-9.]+) Mbits/sec.*receiver`).FindAllStringSubmatch(said, -1) {
		r, err := strconv.ParseFloat(x[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		rates = append(rates, r)
	}
	if len(rates) != 2 || rates[1] < (rates[0]+rates[1])/4 {
		t.Errorf("the users get %v Mb/s; the second one with one connection beside eight should get a quarter at least\n%s",
			rates, said)
	}
}
