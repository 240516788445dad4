package bench

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"weir/core/cc"
	"weir/core/cc/cubic"
	"weir/core/cc/dctcp"
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/feedback/inband"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/rdma"
	"weir/core/transport/tcp"
	"weir/core/workload"
	"weir/papers/hpcc"
	"weir/study/experiment"
	"weir/study/measure"
)

// testMeters are meters of a machine with two cores. A reading of the clock takes 1 s, and one of the CPU time 3 s for
// all processes, including 2 s for this one.
func testMeters() Meters {
	now, readings, speed := time.Unix(0, 0), 0.0, 0.0
	return Meters{
		Now:       func() time.Time { now = now.Add(time.Second); return now },
		CPU:       func() (all, own, cores float64) { readings++; return 3 * readings, 2 * readings, 2 },
		Calibrate: func() float64 { speed += 1e6; return speed },
		Memory:    func() uint64 { return 64e6 },
	}
}

// turnRegistry is a registry with what the experiments of RunTurn and Peers need, and a library of benchmarks.
func turnRegistry(files fstest.MapFS) *experiment.Registry {
	return &experiment.Registry{
		Measures:   measure.Definitions(),
		Programs:   []dataplane.Scheme{ecmp.Scheme(), ecn.Scheme(), inband.Scheme(), pfc.Scheme(), sharedbuffer.Scheme()},
		Transports: []transport.Scheme{rdma.Scheme(), tcp.Scheme()}, Controllers: []cc.Scheme{cubic.Scheme(), dctcp.Scheme(),
			hpcc.Scheme()},
		Topologies: topology.Schemes(), Workloads: workload.Distributions(),
		Library: []experiment.Library{{Name: "bench", Files: files}},
	}
}

// smallTurn is a permutation in the smallest fat tree.
var smallTurn = TurnSpec{Load: Permutation, Hosts: 16, Flow: 10_000, Threads: 1}

// TestRunTurn_ReportsWorkAndMeters checks that a turn reports the work of its run, and the CPU time, wall time and
// others' share of the cores while it ran.
func TestRunTurn_ReportsWorkAndMeters(t *testing.T) {
	m := testMeters()
	one, err := RunTurn(turnRegistry(nil), smallTurn, m)
	if err != nil {
		t.Fatal(err)
	}
	// 10 packets and 10 acknowledgements a flow cross 2 links in a rack, 4 in a pod and 6 between pods.
	if one.Flows != 16 || one.PacketHops%(2*10*2) != 0 || one.PacketHops < 16*20*2 || one.PacketHops > 16*20*6 ||
		one.Events == 0 || len(one.FCTHash) != 64 {
		t.Errorf("%+v", one)
	}
	if one.SetUp != 2 || one.CPU != 2 || one.Wall != 1 || one.OthersShare != 0.5 || one.Peak != 64e6 ||
		one.Calibrated != 1.5e6 {
		t.Errorf("meters: %+v", one)
	}
	several := smallTurn
	several.Threads = 2
	two, err := RunTurn(turnRegistry(nil), several, m)
	if err != nil || two.FCTHash != one.FCTHash || two.Events != one.Events {
		t.Errorf("two threads: %v, %+v", err, two)
	}
	for name, s := range map[string]TurnSpec{"hosts": {Load: Permutation, Hosts: 17, Threads: 1},
		"load": {Load: "elephants", Hosts: 16, Threads: 1}, "threads": {Load: Permutation, Hosts: 16}} {
		t.Run(name, func(t *testing.T) {
			if _, err := RunTurn(turnRegistry(nil), s, m); err == nil || !strings.Contains(err.Error(), "allowed") {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := RunTurn(&experiment.Registry{}, smallTurn, m); err == nil {
		t.Error("it runs without schemes")
	}
}

// TestArrivalTime_FallsWithHosts checks that arrivals of web search stop earlier in larger trees, which have more
// flows.
func TestArrivalTime_FallsWithHosts(t *testing.T) {
	last := time.Hour
	for _, hosts := range ListHosts() {
		s := TurnSpec{Load: WebSearch, Hosts: hosts, Threads: 1}
		d, err := time.ParseDuration(s.arrivalTime())
		if err != nil || d > last || !strings.Contains(s.spec(), "stop: "+s.arrivalTime()+",") {
			t.Errorf("%d hosts: %v after %v, %v, in\n%s", hosts, d, last, err, s.spec())
		}
		last = d
	}
}

// TestRunWithMeters_ReportsMedians checks that a benchmark has the medians of its rounds, which give the same flow
// completion times.
func TestRunWithMeters_ReportsMedians(t *testing.T) {
	m := testMeters()
	text := smallTurn.spec()
	f, err := m.runWithMeters(turnRegistry(fstest.MapFS{"experiments/tcp.yaml": {Data: []byte(text)}}), "tcp")
	if err != nil {
		t.Fatal(err)
	}
	once, err := RunTurn(turnRegistry(nil), smallTurn, m)
	if err != nil {
		t.Fatal(err)
	}
	hops := float64(once.PacketHops)
	if f.Rounds != Rounds || f.PacketHops != once.PacketHops || f.FCTHash != once.FCTHash ||
		f.PacketHopsPerSec != hops || f.Best != hops || f.PeakMemory != 64e6 ||
		f.EventsPerHop != float64(once.Events)/hops {
		t.Errorf("%+v, %+v", f, once)
	}
	// The k-th round calibrates at 2k-1 and 2k million operations per second.
	if f.CalibrationPerSec != 5.5e6 || f.HopsPerCalibrated != hops/5.5e6 {
		t.Errorf("calibration: %+v", f)
	}
	if text := string(f.JSON()); !strings.Contains(text, `"fct_sha256": "`+f.FCTHash) || !strings.HasSuffix(text, "}\n") {
		t.Errorf("JSON: %s", text)
	}
	late := strings.Replace(text, "duration: 100ms", "duration: 1us", 1)
	for name, c := range map[string]struct{ bench, file, want string }{
		"unknown benchmark": {"udp", text, "engine, sim and tcp"},
		"no experiment":     {"sim", text, "bench/sim"},
		"invalid":           {"tcp", "title: x\n", "tcp.yaml"},
		"too short":         {"tcp", late, "16 flows did not finish"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"experiments/tcp.yaml": {Data: []byte(c.file)}}
			if _, err := m.runWithMeters(turnRegistry(files), c.bench); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestResidentPeak checks that the largest resident set is a line of /proc/PID/status in kB.
func TestResidentPeak(t *testing.T) {
	if n := residentPeak("Name:\tweir\nVmPeak:\t  123 kB\nVmHWM:\t    5678 kB\nVmRSS:\t 1 kB\n"); n != 5678*1024 {
		t.Errorf("%d bytes", n)
	}
	if n := residentPeak("Name:\tweir\n"); n != 0 {
		t.Errorf("%d bytes without a line", n)
	}
}
