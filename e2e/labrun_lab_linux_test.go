//go:build lab

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
)

// asNobody returns a command that runs as a user without rights, who may not enter the program's folder.
func asNobody(t *testing.T, binary string, args ...string) *exec.Cmd {
	t.Helper()
	f, err := os.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	c := exec.Command("/proc/self/fd/3", args...)
	c.ExtraFiles, c.Dir = []*os.File{f}, "/"
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	return c
}

// TestRunOnLab runs one experiment file in two worlds. Each run of figure 5's quick variant in the lab has the
// simulator's results next to it, a record of the machine, and a captured switch that the simulator replays byte
// for byte.
func TestRunOnLab(t *testing.T) {
	needRoot(t)
	args := []string{"p4abc/fig5", "--quick", "--set", "duration=2s", "--set", "warmup=1s", "--set", "repeat=2", "--set",
		"lab_repeat=1"}
	realtime.Test(t, func(try *realtime.Try) { figureOnLab(try, args) })
	if left := namespaces(t); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// figureOnLab runs figure 5 in the lab, twice, and makes the report of the finished runs again.
func figureOnLab(try *realtime.Try, args []string) {
	out, binary := try.TempDir(), await.RequireProgram(try, "cmd/weir")
	doc := runOnLab(try, out, append(args, "--capture", "s*")...)
	if doc.World != "lab" || len(doc.Runs) != 4 || len(doc.Agreement) == 0 {
		try.Fatalf("world %q, %d runs, %d values compared", doc.World, len(doc.Runs), len(doc.Agreement))
	}
	for i, r := range doc.Runs {
		a := r.Attempts[0]
		frames := uint64(0)
		for _, n := range a.Lateness {
			frames += n
		}
		if a.Frames < 1000 || frames != a.Frames || a.WallS < 3 || a.CPU <= 0 || a.CPU > 1 || a.OwnCPU <= 0 ||
			a.LateMaxS <= 0 {
			try.Errorf("run %d: %+v", i, a)
		}
		if len(a.Replays) != 1 || a.Replays[0].Difference != "" || a.Replays[0].In < 1000 || a.Replays[0].Out < 1000 {
			try.Errorf("run %d: replays %+v", i, a.Replays)
		}
		for _, m := range []string{"goodput_bps", "retransmissions_packets", "queue_packets", "jain"} {
			// A short run has too few samples for a p99.
			if v := string(r.Measures[m]); v == "" || m != "queue_packets" && strings.Contains(v, "null") {
				try.Errorf("run %d: %s is %q", i, m, v)
			}
		}
	}
	again := append(append([]string{"run"}, args...), "--on", "lab", "--attempts", "1", "--out", out)
	data, err := exec.Command(binary, again...).Output()
	if err != nil || !strings.Contains(string(data), "4 runs reused from earlier") ||
		strings.Contains(string(data), "missing") {
		try.Errorf("the same command again: %v: %s", err, data)
	}
	folders, _ := filepath.Glob(filepath.Join(out, "*-lab"))
	if len(folders) != 1 {
		try.Fatalf("folders %v", folders)
	}
	data, err = exec.Command(binary, "report", folders[0]).Output()
	if err != nil || !strings.Contains(string(data), "simulator and lab agree in") ||
		!strings.Contains(string(data), "1/2") || strings.Contains(string(data), "missing") {
		try.Errorf("report: %v: %s", err, data)
	}
}

// TestTrafficOnLab runs every kind of traffic that Linux can send, with the measures of its senders. There are
// flows with sizes that arrive at random, flows that wait for others, IPv6, and datagrams in bursts.
func TestTrafficOnLab(t *testing.T) {
	needRoot(t)
	file := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(file, []byte(`duration: 3s
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms, jitter: 100us}
    - {ends: [b, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, c], rate: 100Mbps, delay: 1ms, buffer: 200 packets, loss: 0.01%}
switch: [forward]
events:
  - {at: 1s, link: [s, c], rate: 50Mbps}
traffic:
  - {name: long, from: a, to: c, transport: tcp, cc: reno, start: 0s, stop: 2s, ip: 6}
  - {name: short, from: [a, b], to: c, transport: tcp, cc: bbr, size: 20kB, load: 10%}
  - {name: paced, from: b, to: c, transport: tcp, pacing: true, rate: 5Mbps, start: 0s}
  - {name: burst, from: b, to: c, transport: udp, rate: 2Mbps, pattern: burst, interval: 10ms, start: 0s}
  - {name: random, from: b, to: c, transport: udp, rate: 2Mbps, pattern: poisson, start: 0s, ip: 6}
  - {name: ring, hosts: [a, b, c], job: {all_reduce_flows: {algorithm: ring, size: 300kB}}, transport: tcp}
measure:
  [{goodput: {by: traffic}}, {fct: {by: traffic}}, collective, {cwnd: {every: 10ms}}, {rtt: {every: 10ms}},
  {delivery_rate: {every: 10ms}}, {rate: {every: 10ms}}, {in_flight: {every: 10ms}}, {loss: {by: traffic}},
  {delay: {by: traffic}}, jitter, {queue: {port: s->c, every: 10ms}}, timeouts, {utilisation: {port: s->c}}, drops,
  overhead]
`), 0o666); err != nil {
		t.Fatal(err)
	}
	realtime.Test(t, func(try *realtime.Try) {
		doc := runOnLab(try, try.TempDir(), file)
		if len(doc.Runs) != 1 {
			try.Fatalf("%d runs, want 1", len(doc.Runs))
		}
		for _, x := range []struct {
			measure, group string
			low, high      float64
		}{
			{"goodput_bps", "paced", 4e6, 5.1e6},
			{"goodput_bps", "burst", 1.7e6, 2.1e6},
			{"goodput_bps", "random", 1.6e6, 2.3e6},
			{"goodput_bps", "long", 5e6, 60e6},
			{"fct_s", "short", 0.004, 1},
			{"fct_s", "ring", 0.01, 2},
			{"collective_s", "ring", 0.02, 3},
			{"cwnd_bytes", "long", 14480, 5e6},
			{"rtt_s", "long", 0.0039, 0.2},
			{"rtt_s", "paced", 0.0039, 0.2},
			{"delivery_rate_bps", "paced", 1e6, 100e6},
			{"in_flight_bytes", "long", 1448, 5e6},
			{"delay_s", "random", 0.002, 0.1},
		} {
			if v := doc.Runs[0].values(try, x.measure)[x.group]; !(v >= x.low && v <= x.high) {
				try.Errorf("%s %s: %g, want %g to %g", x.measure, x.group, v, x.low, x.high)
			}
		}
	})
}

// TestBadInputOnLab checks that an experiment or command that the lab cannot run is refused before the start (exit
// code 2).
func TestBadInputOnLab(t *testing.T) {
	binary := await.RequireProgram(t, "cmd/weir")
	for _, args := range [][]string{{"run", "p4abc/fig5", "--on", "lab"}, {"lab", "clean"}, {"bench", "switch"}} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			out, err := asNobody(t, binary, args...).CombinedOutput()
			if code := exitCodeOf(err); code != 2 || !strings.Contains(string(out), "requires root") {
				t.Errorf("%v, not root: exit code %d: %s", args, code, out)
			}
		})
	}
	out, err := asNobody(t, binary, "check", "p4abc/fig5", "--on", "lab").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "weir run cannot run it on this machine as this user: ") ||
		!strings.Contains(string(out), "CAP_SYS_ADMIN") || !strings.Contains(string(out), "is valid") {
		t.Errorf("check, not root: %v: %s", err, out)
	}
	needRoot(t)
	type bad struct{ args, want string }
	cases := []bad{
		{"run hpcc/incast16 --on lab", "too large for this machine"},
		{"check hpcc/incast16 --on lab", "allowed: rates divided by 178"},
		{"run p4abc/prototype-fig6 --on lab", "the kernel's cubic has no parameter hystart; allowed: its default: linux"},
		{"run p4te/gains --quick --on lab", "too large for this machine"},
		{"run p4te/gains --quick --on lab", "allowed: rates divided by 3"},
		{"run p4abc/fig5 --on lab --trace s1->server", "--trace needs the simulator"},
		{"run p4abc/fig5 --on lab --attempts 0", "--attempts is 0; 1 to 100 is allowed"},
		{"run p4abc/fig5 --on lab --capture s9", `no switch has the name "s9"; allowed: s1, or a pattern with *`},
		{"run p4abc/fig5 --on lab --generator iperf3 --set " +
			"measure=[{goodput:{by:traffic}},jain,{queue:{port:s1->server,every:10ms}},{cwnd:{every:10ms}}]",
			"--generator iperf3 cannot generate this traffic: scheme=without n=1: iperf: samples of flows"},
		{"run p4abc/fig5 --attempts 2", "need --on lab"},
		{"run p4abc/fig5 --on moon", "sim"},
	}
	if offered, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control"); err != nil ||
		strings.Contains(string(offered), "dctcp") {
		t.Logf("left out: this kernel has dctcp: %s, %v", offered, err)
	} else {
		cases = append(cases, bad{"run p4abc/fig6 --on lab --set traffic.client1.cc=dctcp", "the kernel has no dctcp"})
	}
	for _, c := range cases {
		command := exec.Command(binary, strings.Fields(c.args)...)
		command.Dir = t.TempDir()
		out, err := command.CombinedOutput()
		if code := exitCodeOf(err); code != 2 || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: exit code %d, want 2 and %q:\n%s", c.args, code, c.want, out)
		}
	}
	for name, warned := range map[string]bool{"p4abc/fig6": false, "p4abc/fig6-stalls": true} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(binary, "check", name, "--on", "lab").CombinedOutput()
			if err != nil || strings.Contains(string(out), "warning: stalls apply to the simulator only") != warned {
				t.Errorf("%s: %v, warned of stalls: want %v:\n%s", name, err, warned, out)
			}
		})
	}
	if left := namespaces(t); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

func exitCodeOf(err error) int {
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	return 0
}

// namespaces lists the network namespaces that dead labs have left.
func namespaces(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(await.RequireProgram(t, "cmd/weir"), "lab", "clean").Output()
	if err != nil {
		t.Error(err)
	}
	if s := strings.TrimSpace(string(out)); s != "no dead labs; no namespaces or interfaces to remove" {
		return s
	}
	return ""
}
