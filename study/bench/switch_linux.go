package bench

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
	"weir/study/run"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/netns"
	"weir/internal/rtnl"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/lab"
)

// Names of the experiments that have a run for each row.
const (
	unshaped = "bench/switch"
	shaped   = "bench/shaped"
)

// warmUp is how long a flow runs before it is measured.
const warmUp = time.Second

// bulkPort is the flow's port at the receiving host.
const bulkPort = 5001

// Number of echoes in a turn, and the pause before each.
const (
	echoesATurn = 200
	echoPause   = 2 * time.Millisecond
)

// Switch times the lab's data plane (SwitchFigures). It needs root (lab.ErrNotRoot). It removes all namespaces and
// interfaces when it ends, also if ctx is canceled.
func Switch(ctx context.Context, r *experiment.Registry, o SwitchOptions) (f *SwitchFigures, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	f = &SwitchFigures{Name: "switch", Runs: o.Runs, Time: o.Time.Seconds(), Cores: runtime.NumCPU(), CPU: processorName(),
		Kernel: kernelRelease()}
	fail := func(err error) (*SwitchFigures, error) {
		return nil, fmt.Errorf("bench switch: %w", err)
	}
	experiments := []string{unshaped, shaped}
	if len(o.Schedulings) > 0 {
		f.Name, experiments = "clock", experiments[1:]
	}
	for _, name := range experiments {
		b, err := openSwitch(r, name, &o)
		if err != nil {
			return fail(err)
		}
		if name == unshaped && (len(b.rows) > 0 || slices.Contains(o.Only, direct)) {
			if err := b.addDirect(); err != nil {
				return fail(errors.Join(err, b.lab.Close()))
			}
		}
		err = b.runRounds(ctx, &o)
		if err = errors.Join(err, b.lab.Close()); err != nil {
			return fail(err)
		}
		var to *SwitchRow
		if name == unshaped && len(b.rows) > 0 {
			to = b.rows[0]
		}
		for _, row := range b.rows {
			row.summarize(to)
		}
		if name == unshaped {
			f.Unshaped = b.rows
		} else {
			f.Shaped = b.rows
		}
	}
	f.addBars()
	return f, nil
}

// switchBench measures the rows of one experiment.
type switchBench struct {
	name   string
	lab    *lab.Network
	config *lab.Config
	hosts  *hosts
	rows   []*SwitchRow
	runs   []int // by row: index of the run; −1: no data plane
	paths  []*hosts
}

// openSwitch creates the namespaces of an experiment and its rows, only SwitchOptions.Only if it is set. All its
// runs have the same hosts. The caller closes the lab.
func openSwitch(r *experiment.Registry, name string, o *SwitchOptions) (*switchBench, error) {
	src, err := r.OpenExperiment(name)
	if err != nil {
		return nil, err
	}
	s, err := plan.Load(r, src, experiment.Options{})
	if err != nil {
		return nil, err
	}
	through := &hosts{nic: lab.NIC, port: bulkPort, cc: "cubic"}
	b := &switchBench{name: name, hosts: through}
	for i, r := range plan.ListRuns(s) {
		c, err := run.LabConfig(r)
		if err != nil {
			return nil, err
		}
		b.config = c
		row := &SwitchRow{}
		for _, p := range r.Point {
			row.Name = p.Text
		}
		if len(o.Only) > 0 && !slices.Contains(o.Only, row.Name) {
			continue
		}
		if name == unshaped {
			if row.minRatio, err = minRatio(row.Name); err != nil {
				return nil, err
			}
		}
		if name == shaped {
			// The rate of the bottleneck, and both links' delays, there and back.
			links := c.Wiring.Network.Links
			payload, frame := lab.DefaultMTU-52, lab.DefaultMTU+packet.EthernetHeader
			row.Share = float64(links[1].Rate.Bits) * float64(payload) / float64(frame)
			row.Delay = 2 * (links[0].Delay + links[1].Delay).Seconds()
		}
		for _, s := range append(slices.Clone(o.Schedulings), "")[:max(1, len(o.Schedulings))] {
			one := *row
			one.Scheduling = s
			b.rows, b.runs, b.paths = append(b.rows, &one), append(b.runs, i), append(b.paths, through)
		}
	}
	ends := [2]int{findNode(b.config, "client"), findNode(b.config, "server")}
	if b.lab, err = lab.Open(b.config.Wiring.Network, b.config.Wiring.Hosts, lab.DefaultMTU); err != nil {
		return nil, err
	}
	if b.lab.CleanError != nil && o.OnLeft != nil {
		o.OnLeft(b.lab.CleanError)
	}
	for i, node := range ends {
		through.do[i] = func(what func() error) error { return b.lab.Do(node, what) }
		through.addr[i] = b.config.Wiring.Hosts.V4(packet.Addr(node + 1))
	}
	return b, nil
}

// findNode returns the index of the node with a name; −1 if it does not exist.
func findNode(c *lab.Config, name string) int {
	return slices.IndexFunc(c.Wiring.Network.Nodes, func(n topology.Node) bool { return n.Name == name })
}

// addDirect adds a veth pair between the two hosts, configured like the pairs to the data plane, and inserts a row for
// it as the first.
func (b *switchBench) addDirect() error {
	through := b.hosts
	// Addresses reserved for benchmarks (RFC 2544 C.2.2).
	w := &hosts{do: through.do, nic: direct, port: bulkPort, cc: through.cc,
		addr: [2]netip.Addr{netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.19.0.1")}}
	macs := [2][6]byte{{0x02, 0x59, 0, 0, 0, 1}, {0x02, 0x59, 0, 0, 0, 2}}
	far, err := os.Open(netns.Path(b.lab.Namespace(findNode(b.config, "server"))))
	if err != nil {
		return err
	}
	defer far.Close()
	for host := range 2 {
		err := w.do[host](func() error {
			c, err := rtnl.Open()
			if err != nil {
				return err
			}
			defer c.Close()
			if host == 0 {
				if err := c.AddVeth(rtnl.End{Name: w.nic, MAC: macs[0]}, rtnl.End{Name: w.nic, MAC: macs[1]}, int(far.Fd()),
					lab.DefaultMTU); err != nil {
					return err
				}
			}
			if _, err := rtnl.DisableOffloads(w.nic); err != nil {
				return err
			}
			i, err := c.InterfaceByName(w.nic)
			if err != nil {
				return err
			}
			other := w.addr[1-host]
			return errors.Join(c.SetUpQuiet(i.Index), c.AddAddress(i.Index, netip.PrefixFrom(w.addr[host], 32)),
				c.AddRoute(i.Index, netip.PrefixFrom(other, 32)), c.AddNeighbour(i.Index, other, macs[1-host]))
		})
		if err != nil {
			return err
		}
	}
	b.rows, b.runs, b.paths = slices.Insert(b.rows, 0, &SwitchRow{Name: direct}), slices.Insert(b.runs, 0, -1),
		slices.Insert(b.paths, 0, w)
	return nil
}

// runRounds measures every row once in each round. A disturbed turn is repeated immediately, at most maxRepeats times;
// the last repetition counts, even if it was disturbed.
func (b *switchBench) runRounds(ctx context.Context, o *SwitchOptions) error {
	for round := range o.Runs {
		for i, row := range b.rows {
			for again := 0; ; again++ {
				if o.Progress != nil {
					o.Progress(fmt.Sprintf("run %d of %d: %s %s", round+1, o.Runs, row.Name, row.Scheduling))
				}
				t, err := b.runTurn(ctx, i, o)
				if err != nil {
					return fmt.Errorf("%s, run %d: %w", row.Name, round+1, err)
				}
				if t.Repeats = again; len(t.Disturbed) == 0 || again == maxRepeats {
					row.Turns = append(row.Turns, t)
					break
				}
			}
		}
	}
	return nil
}

// sendEchoes sends a turn's echo requests and records their times. Unanswered requests count as a disturbance.
func (t *SwitchTurn) sendEchoes(w *hosts) (err error) {
	var unanswered int
	if t.echoes, unanswered, err = w.measureEchoes(echoesATurn, echoPause); err != nil {
		return err
	}
	if unanswered > 0 {
		t.Disturbed = append(t.Disturbed, fmt.Sprintf("%d echo requests were not answered within %d s", unanswered,
			replyTimeout))
	}
	sorted := slices.Sorted(slices.Values(t.echoes))
	t.EchoP50, t.EchoP99 = percentile(sorted, 50), percentile(sorted, 99)
	return nil
}

// runTurn measures row i once: echoes first, then the flow. It starts and stops the row's data plane. A disturbance is
// part of the turn, not an error.
func (b *switchBench) runTurn(ctx context.Context, i int, o *SwitchOptions) (t *SwitchTurn, err error) {
	var plane *lab.DataPlane
	pid := 0
	if run := b.runs[i]; run >= 0 {
		command, err := o.DataPlane(b.name, run)
		if err != nil {
			return nil, err
		}
		if err := b.lab.Schedule(b.rows[i].Scheduling); err != nil {
			return nil, err
		}
		if plane, err = b.lab.Start(command); err != nil {
			return nil, err
		}
		defer plane.Kill()
		pid = command.Process.Pid
	}
	w, row := b.paths[i], b.rows[i]
	t = &SwitchTurn{}
	first, err := readCPUTimes(pid)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := t.sendEchoes(w); err != nil {
		return nil, err
	}
	flow, err := w.startFlow()
	if err != nil {
		return nil, err
	}
	defer flow.end()
	if err := sleep(ctx, warmUp); err != nil {
		return nil, err
	}
	bytes, from := flow.readBytes() // read first, so that the other readings do not delay it
	before, err1 := readCPUTimes(pid)
	packets, err2 := w.receivedPackets()
	if err := errors.Join(err1, err2, sleep(ctx, o.Time)); err != nil {
		return nil, err
	}
	bytesAfter, until := flow.readBytes()
	after, err1 := readCPUTimes(pid)
	packetsAfter, err2 := w.receivedPackets()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	took := until.Sub(from).Seconds()
	t.Goodput = 8 * float64(bytesAfter-bytes) / took
	t.Packets = float64(packetsAfter-packets) / took
	t.CPU = (after.plane - before.plane) / took
	whole := until.Sub(begin).Seconds()
	usedByBenchmark := after.process + after.plane + after.softirq - first.process - first.plane - first.softirq
	if t.Others = max(0, after.busy-first.busy-usedByBenchmark) / whole; t.Others > maxOthers {
		t.Disturbed = append(t.Disturbed, fmt.Sprintf("others used %.0f %% of a core", 100*t.Others))
	}
	if plane == nil {
		if steal := (after.stolen - first.stolen) / whole / float64(runtime.NumCPU()); steal > maxSteal {
			t.Disturbed = append(t.Disturbed, fmt.Sprintf("%.1f %% of the cores' time stolen", 100*steal))
		}
		return t, nil
	}
	r, err := plane.Stop()
	if err != nil {
		return nil, err
	}
	t.Lost = r.Gates.RingLost + r.VethLost + r.Counts.SendLost
	rtt := unit.Never // an unshaped flow keeps the data plane busy, so frames wait and are late
	if row.Share > 0 {
		rtt = unit.Time(row.Delay * float64(unit.Second))
		l := &r.Lateness
		t.Late = []float64{l.P50.Seconds(), l.P99.Seconds(), l.P999.Seconds(), l.Max.Seconds()}
	} else {
		r.Lateness.P99, r.Lateness.P999, r.Stall, r.Waits = 0, 0, 0, nil
	}
	t.Disturbed = append(t.Disturbed, r.DisturbedStrictly(nil, rtt)...)
	return t, nil
}

// maxSteal limits the share of the cores' time that the hypervisor takes in an undisturbed turn of the direct path,
// for which waiting times are not measured.
const maxSteal = 0.02

// sleep waits for d. It returns an error if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// processorName returns the model name of the processor; the architecture if it is unknown.
func processorName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for l := range strings.SplitSeq(string(text), "\n") {
		if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}

// kernelRelease returns the release of the kernel.
func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "of an unknown release"
	}
	return unix.ByteSliceToString(u.Release[:])
}
