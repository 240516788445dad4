//go:build lab

package e2e

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

// row matches a row of the table of connections. The second of two agents has the name with a 2, in either
// namespace.
var row = regexp.MustCompile(`weir_hpcc2? +sender`)

// TestAgentRecipe checks that the recipe of docs/agent.md works when it is copied. With agents, the connection has
// CUBIC's goodput minus the shares of telemetry and eta, and the queue is empty.
func TestAgentRecipe(t *testing.T) {
	needAgents(t)
	for tool, debian := range map[string]string{"ip": "iproute2", "ethtool": "ethtool", "iperf3": "iperf3", "curl": "curl",
		"unshare": "util-linux", "nsenter": "util-linux"} {
		testkit.RequireProgram(t, tool, debian)
	}
	realtime.Test(t, func(try *realtime.Try) {
		defer try.WatchIdle()()
		dir, err := filepath.EvalSymlinks(try.TempDir())
		if err != nil {
			try.Fatal(err)
		}
		if err := os.Symlink(await.RequireProgram(try, "cmd/weir"), filepath.Join(dir, "weir")); err != nil {
			try.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			try.Fatal(err)
		}
		recipe := testkit.ReadRecipe(try, "../docs/agent.md")
		args := testkit.NamespaceArgs(strings.ReplaceAll(recipe, "/tmp/weir-", dir+"/weir-"))
		c := exec.Command(args[0], args[1:]...)
		c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		p := await.Start(try, c)
		code, output := p.AwaitExit(), p.Output()
		if strings.HasPrefix(output, "unshare: ") {
			try.Skipf("no namespaces here: %s", output)
		}
		if code != 0 {
			try.Fatalf("exit code %d\n%s", code, output)
		}
		numbers := func(pattern string) (all []float64) {
			for _, x := range regexp.MustCompile(pattern).FindAllStringSubmatch(output, -1) {
				v, err := strconv.ParseFloat(x[1], 64)
				if err != nil {
					try.Fatal(err)
				}
				all = append(all, v)
			}
			return all
		}
		rates, queues := numbers(`([0-9.]+) Mbits/sec.*receiver`), numbers(`queue_frames\{port="b"\} (\S+)`)
		if len(rates) != 2 || len(queues) != 2 || !row.MatchString(output) {
			try.Fatalf("no two rates and queues, or no row of the table\n%s", output)
		}
		if share := rates[1] / rates[0]; share < 0.95*0.95*1268/1428 || share > 1268.0/1428 {
			try.Errorf("goodput is %.1f of %.1f Mb/s\n%s", rates[1], rates[0], output)
		}
		// CUBIC's queue depends on the end of slow start and on the receiver's window; 64 kB of it are 45 frames.
		if queues[0] < 10 || queues[1] > 5 {
			try.Errorf("the queues are %v frames\n%s", queues, output)
		}
	})
}
