//go:build lab

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testkit"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
)

// TestKilledOnLab checks that the end of a killed data plane, of Weir's own hosts or of iperf3 ends the run with an
// error (exit code 1). A killed weir takes all of its processes with it, and its janitor removes the rest.
func TestKilledOnLab(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	const into = 300 // the run
	own := fmt.Sprintf(pairOfHosts, "30s", "[forward, {ecn: {}}]", strings.SplitAfter(besideOwn, "\n")[0])
	both := fmt.Sprintf(pairOfHosts, "30s", "[forward, {ecn: {}}]", besideOwn)
	for _, x := range []struct {
		name, victim, generator, text, want string
		processes                           int
		frames                              int // that the receiver has got before
	}{
		{"data plane", "lab-dataplane", "weir", longRun, "lab: data plane: signal: killed", 3, into},
		{"own hosts", "lab-hosts", "weir", own, "lab: hosts: signal: killed", 4, into},
		{"own hosts beside the kernel's", "lab-hosts", "weir", both, "lab: hosts: signal: killed", 4, into},
		{"data plane of own hosts", "lab-dataplane", "weir", both, "lab: data plane: signal: killed", 4, into},
		{"data plane of iperf3", "lab-dataplane", "iperf3", longRun, "lab: data plane: signal: killed", 5, into},
		{"iperf3 that receives", "iperf3 -s", "iperf3", longRun, "iperf: flow 0: ", 5, into},
		{"iperf3 that sends", "iperf3 -c", "iperf3", longRun, "iperf: flow 0: client: signal: killed", 5, into},
		{"weir", "", "weir", longRun, "", 3, into},
		{"weir with own hosts", "", "weir", both, "", 4, into},
		{"weir with iperf3", "", "iperf3", longRun, "", 5, into},
		{"data plane that begins", "lab-dataplane", "weir", both, "lab: data plane: signal: killed", 3, 0},
		{"own hosts that begin", "lab-hosts", "weir", both, "lab: hosts: signal: killed", 4, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.generator == "iperf3" {
				testkit.RequireProgram(t, "iperf3", "iperf3")
			}
			file := filepath.Join(dir, "long.yaml")
			if err := os.WriteFile(file, []byte(x.text), 0o666); err != nil {
				t.Fatal(err)
			}
			realtime.Test(t, func(try *realtime.Try) {
				k := startKillable(try, "run", file, "--on", "lab", "--out", dir, "--fresh", "--attempts", "1", "--generator",
					x.generator)
				k.iperf3 = x.generator == "iperf3"
				k.AwaitCondition("all processes", func() bool { return len(k.living()) >= x.processes })
				k.AwaitCondition("frames", func() bool { return received(k.PID(), "b") >= x.frames })
				k.kill(try, x.victim, x.want)
				if len(k.namespaces) != 3 {
					try.Errorf("namespaces were %v", k.namespaces)
				}
			})
		})
	}
}

// TestAgentsKilledOnLab checks that a killed lab takes its agents with it: no program, map or link of an agent is
// left.
func TestAgentsKilledOnLab(t *testing.T) {
	needAgents(t)
	realtime.Test(t, func(try *realtime.Try) {
		k := startKillable(try, "run", writeSpec(try, fmt.Sprintf(ofAgents, "60s")), "--on", "lab", "--out", try.TempDir(),
			"--attempts", "1")
		k.AwaitCondition("agents", func() bool { return len(objects(k.PID())) >= 3*(7+3) })
		k.AwaitCondition("frames", func() bool { return received(k.PID(), "b") > 500 })
		k.kill(try, "", "")
		if len(k.namespaces) != 4 || len(k.bpf) < 3*(7+3) {
			try.Errorf("it had %v and %v", k.namespaces, k.bpf)
		}
	})
}

// TestLeftOnLab checks that a lab starts next to remains of a dead lab that cannot be removed, with one warning.
// weir lab clean reports the same as an error. The test has a separate mount namespace for the machine's folders.
func TestLeftOnLab(t *testing.T) {
	needRoot(t)
	if err := exec.Command("unshare", "--mount", "true").Run(); err != nil {
		t.Skipf("left out: no view of its own of all mounts: %v", err)
	}
	binary, dir := await.RequireProgram(t, "cmd/weir"), t.TempDir()
	file := writeSpec(t, strings.Replace(longRun, "duration: 30s", "duration: 1s\nrepeat: 2\nlab_repeat: 2", 1))
	const prepare = `mount -t tmpfs none /run && mkdir -p /run/weir /run/netns/weir-1-old/full &&
printf 'owner 1\nmakes weir-1-old\n' > /run/weir/lab-1 && exec "$0" "$@"`
	const left = "record /run/weir/lab-1: remove /run/netns/weir-1-old: "
	for _, x := range []struct {
		args, want string
		code       int
	}{
		{"run " + file + " --on lab --attempts 1 --out " + dir, "warning: lab: the namespaces " +
			"and interfaces of a dead lab cannot be removed: " + left, 0},
		{"lab clean", "lab: " + left, 1},
	} {
		c := exec.Command("unshare", append([]string{"--mount", "sh", "-c", prepare, binary}, strings.Fields(x.args)...)...)
		var stderr strings.Builder
		c.Stderr = &stderr
		err := c.Run()
		if code := exitCodeOf(err); code != x.code || strings.Count(stderr.String(), x.want) != 1 {
			t.Errorf("%s: exit code %d, want %d and %q once: %s", x.args, code, x.code, x.want, &stderr)
		}
	}
}
