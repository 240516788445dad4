//go:build lab

package traffic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport/udp"
	"weir/core/unit"
	"weir/internal/netns"
	"weir/internal/testkit/realtime"
	"weir/worlds/lab"
)

// role is the environment variable that makes this binary the data plane of a lab.
const role = "WEIR_TRAFFIC_ROLE"

func TestMain(m *testing.M) {
	of := os.Getenv(role)
	if of == "" {
		os.Exit(m.Run())
	}
	if err := lab.Serve(network(of), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Nodes of the network: two clients, a switch and a server.
const (
	left = iota
	right
	middle
	server
)

const lead = 300 * unit.Millisecond

// network has two clients and a server around a switch, 5 ms away each way. The argument has the rate of the link
// to the server, and its buffer in packets.
func network(how string) *lab.Config {
	var rate, buffer int
	fmt.Sscan(how, &rate, &buffer)
	bottleneck := unit.Rate(rate) * unit.Mbps
	n := &topology.Network{
		Nodes: []topology.Node{{Name: "left"}, {Name: "right"}, {Name: "s1", Switch: true}, {Name: "server"}},
		Links: []topology.Link{
			{Ends: [2]int{left, middle}, Rate: unit.LinkRate{Bits: 2 * bottleneck}, Delay: 2500 * unit.Microsecond},
			{Ends: [2]int{right, middle}, Rate: unit.LinkRate{Bits: 2 * bottleneck}, Delay: 2500 * unit.Microsecond},
			{Ends: [2]int{middle, server}, Rate: unit.LinkRate{Bits: bottleneck}, Delay: 2500 * unit.Microsecond,
				Buffer: unit.Length{Packets: int32(buffer)}},
		},
	}
	book := n.Addresses()
	c := &lab.Config{Wiring: wiring.Config{Seed: 1, Network: n, Hosts: book, Switches: make([]wiring.SwitchConfig,
		len(n.Nodes))}, Lead: lead, Duration: 100 * unit.Second}
	c.Wiring.Framing, _ = packet.FramingByName("l2")
	c.Wiring.Switches[middle] = wiring.SwitchConfig{Routes: dataplane.HostRoutes(book, n.Routes().PathsFrom(middle)),
		Programs: func(site *dataplane.Site) ([]dataplane.Program, error) {
			return []dataplane.Program{forward.New(site)}, nil
		}}
	return c
}

// needRoot skips a test where the lab cannot be.
func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes network namespaces and packet sockets")
	}
	s, _, err := netns.NewSet()
	if err == nil {
		err = s.Add("probe")
		s.Close()
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		t.Skipf("no network namespaces here: %v", err)
	}
}

// inLab runs a configuration's traffic in a separate lab, and records its disturbances.
func inLab(t *realtime.Try, how string, c Config) (*Result, *lab.Report) {
	t.Helper()
	waited := runDelays(t)
	r, report := runInLab(t, how, c, func() { waited = runDelays(t) })
	waited = runDelays(t) - waited
	t.NoteDisturbed(report.DisturbedStrictly(nil, 10*unit.Millisecond)...)
	if waited > r.Time/20 {
		t.NoteDisturbed(fmt.Sprintf("others: this process waited for a processor for %v of %v", waited, r.Time))
	}
	if e := append(r.Errors(), report.Errors()...); len(e) > 0 {
		t.Errorf("errors: %v", e)
	}
	return r, report
}

// runInLab runs a configuration's traffic in a separate lab. It calls before when the data plane runs, before the
// traffic starts.
func runInLab(t testing.TB, how string, c Config, before func()) (*Result, *lab.Report) {
	t.Helper()
	needRoot(t)
	n := network(how)
	l, err := lab.Open(n.Wiring.Network, n.Wiring.Hosts, n.MTU)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self)
	command.Env = append(os.Environ(), role+"="+how)
	p, err := l.Start(command)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	before()
	c.Book, c.Do, c.Epoch = n.Wiring.Hosts, l.Do, p.Epoch+int64(lead/unit.Nanosecond)
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	report, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	report.Kernels = r.Waiting
	t.Logf("%s at %v; datagrams late by %v at most, flows by %v; %v", r.End, r.Time, r.SendLateness.Max,
		r.StartLateness.Max, report)
	return r, report
}

// through changes a flow to one from the left host to the server.
func through(f Flow) Flow {
	f.Src, f.Dst = left, server
	return f
}

const (
	line  = 50 * unit.Mbps
	frame = 1514
)

// TestRun_CompletionTimesFollowLine checks that a megabyte by each congestion control over both versions of IP takes at
// least the line's time and the handshake's, and not much more. The result's values are consistent.
func TestRun_CompletionTimesFollowLine(t *testing.T) {
	const size = 1_000_000
	var flows []Flow
	for _, control := range []string{"reno", "cubic", "bbr"} {
		for _, version := range []uint8{4, 6} {
			f := through(stream(version, size))
			f.TCP.CongestionControl = control
			f.Payload = 1448
			if version == 6 {
				f.Payload = 1428
			}
			f.Start = unit.Time(len(flows)) * 600 * unit.Millisecond
			flows = append(flows, f)
		}
	}
	realtime.Test(t, func(t *realtime.Try) {
		c := Config{Flows: flows, Duration: 10 * unit.Second, UntilDone: true}
		for i := range flows {
			for _, w := range []Quantity{ReceivedBytes, Window, Rate, InFlight, RTT, DeliveryRate} {
				c.Samples = append(c.Samples, Sample{w, i, 10 * unit.Millisecond})
			}
		}
		r, _ := inLab(t, "50 200", c)
		if r.End != AllDone {
			t.Fatalf("%s: %+v", r.End, r.Flows)
		}
		for i := range r.Flows {
			f := &r.Flows[i]
			payload := unit.Bytes(c.Flows[i].Payload)
			packets := int64((size + payload - 1) / payload)
			least := 20*unit.Millisecond + unit.TransmitTime(unit.Bytes(packets-1)*frame, line)
			t.Logf("%s, IPv%d: %d packets, %d again, arrived after %v, acknowledged after %v of %v, written after %v with %v "+
				"not acknowledged", flows[i].TCP.CongestionControl,
				flows[i].Version, f.Sender.SentPackets, f.Sender.Retransmitted, f.Arrived-f.Start, f.FCT, least, f.Written,
				f.Sender.Unacked)
			if f.FCT < least || f.Arrived < f.Start+least-5*unit.Millisecond || f.Arrived > f.Start+f.FCT || f.Written > f.FCT ||
				f.Written < 10*unit.Millisecond || f.Sender.Unacked <= 0 || f.Sender.Unacked > size {
				t.Errorf("flow %d: %+v", i, f)
			}
			if f.Sender.SentBytes != size || f.Receiver.ReceivedBytes != size ||
				f.Sender.SentPackets-f.Sender.Retransmitted < packets || f.Receiver.ReceivedPackets < packets {
				t.Errorf("flow %d: %d packets: %+v", i, packets, f)
			}
			if f.FCT > 2*least {
				t.Errorf("flow %d took %v instead of %v", i, f.FCT, least)
			}
			samples(t, c, r, i)
		}
	})
}

// samples checks the samples of a flow in TestRun_CompletionTimesFollowLine.
func samples(t *realtime.Try, c Config, r *Result, i int) {
	t.Helper()
	f := &r.Flows[i]
	s := r.Sampled[6*i : 6*i+6]
	for k := range s[Window] {
		at := unit.Time(k) * c.Samples[0].Every
		alive, end := at > f.Start && at < f.Start+f.FCT, f.Start+f.FCT
		if near := func(t unit.Time) bool { return max(at-t, t-at) < 50*unit.Millisecond }; near(f.Start) || near(end) {
			continue // the thread that looks may have been late
		}
		if alive != (s[Window][k] >= 0) {
			t.Errorf("flow %d, alive from %v to %v, has a window of %d at %v", i, f.Start, end,
				s[Window][k], at)
		}
		if s[Window][k]%int64(c.Flows[i].Payload) != 0 && s[Window][k] != -1 {
			t.Errorf("flow %d: a window of %d at %v", i, s[Window][k], at)
		}
		if at < f.Start+15*unit.Millisecond || !alive {
			continue
		}
		payload := int64(c.Flows[i].Payload)
		if s[Window][k] < payload || s[InFlight][k] > s[Window][k]+payload || s[RTT][k] < int64(10*unit.Millisecond) ||
			s[Rate][k] <= 0 {
			t.Errorf("flow %d at %v: window %d, in flight %d, RTT %d, rate %d", i, at, s[Window][k],
				s[InFlight][k], s[RTT][k], s[Rate][k])
		}
	}
	received := s[ReceivedBytes]
	for k := range received {
		if at := unit.Time(k) * c.Samples[0].Every; k > 0 && received[k] < received[k-1] || at > f.Arrived+unit.Millisecond &&
			received[k] != int64(c.Flows[i].Size) || at < f.Start && received[k] != 0 {
			t.Errorf("flow %d, arrived at %v: %d bytes at %v", i, f.Arrived, received[k], at)
		}
	}
}

// TestShortFlows checks that two thousand short flows, some at once, are all complete.
func TestShortFlows(t *testing.T) { realtime.Test(t, shortFlows) }

func shortFlows(t *realtime.Try) {
	const size = 10_000
	random := unit.NewRandom(1, "arrivals")
	at := unit.Time(0)
	var flows []Flow
	for i := range 2000 {
		f := Flow{Src: i % 2, Dst: server, SrcPort: uint16(10000 + i), DstPort: 5000, Version: uint8(4 + i/2%2*2), Size: size,
			Payload: 1448, Start: at,
			TCP: &TCP{CongestionControl: "cubic"}}
		if i >= 20 { // incast first
			at += unit.Time(random.ExpFloat64() * float64(unit.Millisecond))
		}
		flows = append(flows, f)
	}
	r, _ := inLab(t, "200 1000", Config{Flows: flows, Duration: 30 * unit.Second, UntilDone: true})
	if r.End != AllDone {
		t.Errorf("ended with %s", r.End)
	}
	least := 20*unit.Millisecond + unit.TransmitTime(6*frame, 200*unit.Mbps)
	for i, f := range r.Flows {
		if f.Failed != nil || f.FCT < least || f.FCT == unit.Never || f.Receiver.ReceivedBytes != size ||
			f.Sender.SentBytes != size || f.Start != flows[i].Start {
			t.Fatalf("flow %d: %+v", i, f)
		}
	}
	t.Logf("began late by %v (median), %v (99 %%)", r.StartLateness.quantile(0.5), r.StartLateness.quantile(0.99))
}

// TestRun_DeliversScheduledDatagrams checks that each pattern sends the scheduled number of datagrams, and all arrive,
// 5 ms and the send time later.
func TestRun_DeliversScheduledDatagrams(t *testing.T) { realtime.Test(t, allDatagrams) }

func allDatagrams(t *realtime.Try) {
	patterns := []udp.Config{
		{Pattern: udp.CBR, Rate: 10 * unit.Mbps, GapJitter: 0.1},
		{Pattern: udp.Burst, Rate: 10 * unit.Mbps, Interval: 5 * unit.Millisecond},
		{Pattern: udp.Poisson, Rate: 5 * unit.Mbps},
		{Pattern: udp.OnOff, Rate: 10 * unit.Mbps, On: 50 * unit.Millisecond, Off: 50 * unit.Millisecond},
	}
	make := func() (flows []Flow) {
		for i, p := range patterns {
			for _, version := range []uint8{4, 6} {
				f := Flow{Src: left, Dst: server, SrcPort: uint16(7000 + i), DstPort: 7, Version: version, TOS: 0x20, Payload: 1000,
					Start: 10 * unit.Millisecond, Stop: unit.Second}
				schedule(t, &f, p)
				flows = append(flows, f)
			}
		}
		return flows
	}
	const warmup = 300 * unit.Millisecond
	flows := make()
	delays := new(unit.Histogram)
	flows[0].UDPReceiver.Counters().Delays = delays
	c := Config{Flows: flows, Warmup: warmup, Duration: 2 * unit.Second,
		Samples: []Sample{{Window, 0, 100 * unit.Millisecond}}}
	for i := range flows {
		c.Samples = append(c.Samples, Sample{ReceivedBytes, i, 100 * unit.Millisecond})
	}
	r, report := inLab(t, "100 10000", c)
	all := uint64(0)
	for i, f := range make() {
		want, before := int64(0), int64(0)
		for at := f.UDP.NextSend(); at != unit.Never; at = f.UDP.NextSend() {
			var p packet.Packet
			if f.UDP.Emit(at, &p); at >= warmup {
				want++
			} else {
				before++
			}
			all++
		}
		got := &r.Flows[i]
		x := &got.Receiver
		t.Logf("%s, IPv%d: %d datagrams, delay %v to %v, jitter %.0f us", patterns[i/2].Pattern, f.Version, x.ReceivedPackets,
			x.DelayMin, x.DelayMax, x.Jitter/1e6)
		if got.Sender.SentPackets != want || got.Sender.SentBytes != unit.Bytes(1000*want) {
			t.Errorf("flow %d sent %d datagrams of %d in the schedule", i, got.Sender.SentPackets, want)
		}
		s := r.Sampled[1+i]
		if len(s) != 18 || s[17] != 1000*(before+want) || s[17]-s[0] != int64(x.ReceivedBytes) {
			t.Errorf("flow %d: samples %v of %d datagrams", i, s, before+want)
		}
		if x.ReceivedPackets < want || x.ReceivedBytes != unit.Bytes(1000*x.ReceivedPackets) || x.DuplicateCount() != 0 {
			t.Errorf("flow %d received %d of %d: %+v", i, x.ReceivedPackets, want, x)
		}
		if x.DelayMin < 5*unit.Millisecond || x.DelaySum < 5*unit.Millisecond*unit.Time(x.ReceivedPackets) ||
			x.DelayMax < x.DelayMin || x.DelaySum > unit.Time(x.ReceivedPackets)*x.DelayMax {
			t.Errorf("flow %d: delays %v to %v, in all %v", i, x.DelayMin, x.DelayMax, x.DelaySum)
		}
	}
	if n := r.Flows[0].Receiver.ReceivedPackets; int64(delays.Count()) != n ||
		flows[0].UDPReceiver.Counters().Delays != delays {
		t.Errorf("%d delays of %d datagrams", delays.Count(), n)
	}
	if r.SendLateness.Count() != all || report.Counts.In < all {
		t.Errorf("%d datagrams of %d, of which the data plane saw %d", r.SendLateness.Count(), all, report.Counts.In)
	}
	if s := r.Sampled[0]; len(s) != 17 || s[0] != -1 {
		t.Errorf("UDP has no window: %v", s)
	}
}

// TestRun_MissingPacketsEqualDrops checks that the missing packets equal the drops of a small buffer.
func TestRun_MissingPacketsEqualDrops(t *testing.T) { realtime.Test(t, loss) }

func loss(t *realtime.Try) {
	f := Flow{Src: left, Dst: server, SrcPort: 7000, DstPort: 7, Version: 4, Payload: 1472, Stop: unit.Second}
	schedule(t, &f, udp.Config{Pattern: udp.CBR, Rate: 60 * unit.Mbps, GapJitter: 0.1})
	r, report := inLab(t, "50 5", Config{Flows: []Flow{f}, Duration: 1600 * unit.Millisecond})
	x := &r.Flows[0]
	dropped := int64(report.Drops[dataplane.PortPacketLimit])
	t.Logf("%d sent, %d dropped, %d received", x.Sender.SentPackets, dropped, x.Receiver.ReceivedPackets)
	if dropped < x.Sender.SentPackets/10 || x.Sender.SentPackets != dropped+x.Receiver.ReceivedPackets {
		t.Errorf("%d sent, %d dropped, %d received", x.Sender.SentPackets, dropped, x.Receiver.ReceivedPackets)
	}
}

// TestRun_DeliversHighRateDatagrams checks that 17 and 35 thousand datagrams a second pass two cores with their data
// plane.
func TestRun_DeliversHighRateDatagrams(t *testing.T) {
	realtime.Test(t, func(t *realtime.Try) {
		var flows []Flow
		for i, rate := range []unit.Rate{200 * unit.Mbps, 400 * unit.Mbps} {
			f := Flow{Src: i, Dst: server, SrcPort: 7000, DstPort: 7, Version: 4, Payload: 1448, Stop: 2 * unit.Second}
			schedule(t, &f, udp.Config{Pattern: udp.CBR, Rate: rate, GapJitter: 0.1})
			flows = append(flows, f)
		}
		var before, after unix.Rusage
		unix.Getrusage(unix.RUSAGE_SELF, &before)
		r, _ := inLab(t, "1000 10000", Config{Flows: flows, Duration: 2500 * unit.Millisecond})
		unix.Getrusage(unix.RUSAGE_SELF, &after)
		t.Logf("%.0f %% of a core", float64(after.Utime.Nano()+
			after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano())/2e7)
		for i, f := range r.Flows {
			if f.Sender.SentPackets < 30_000 || f.Sender.SentPackets != f.Receiver.ReceivedPackets {
				t.Errorf("flow %d: %d of %d arrived", i, f.Receiver.ReceivedPackets, f.Sender.SentPackets)
			}
		}
	})
}

// TestRun_ReportsWaitsForProcessor checks that the thread of all TCP flows reports its waits for a processor, as the
// kernel counts them, and their times: it shares one with busy threads. The data plane and the machine's other work
// have the other processors. This holds under any load, so no disturbance excuses a failure.
func TestRun_ReportsWaitsForProcessor(t *testing.T) {
	needRoot(t)
	delays, start := unit.Time(0), time.Time{}
	r, report := runInLab(t, "100 100", Config{Flows: []Flow{through(stream(4, 0))}, Duration: 1500 * unit.Millisecond},
		func() {
			start = time.Now() // before time 0 of the run
			share(t)
			delays = runDelays(t)
		})
	delays = runDelays(t) - delays
	elapsed := unit.Time(time.Since(start)) * unit.Nanosecond
	w := &r.Waiting
	long, end := unit.Time(0), unit.Time(0)
	for i, x := range w.Waits {
		long += x.Length
		if x.Length < waitPeriod || x.At < end && i > 0 || x.At+x.Length > elapsed {
			t.Errorf("wait %d: %+v; the last one ended at %v, the run took %v", i, x, end, elapsed)
		}
		end = x.At + x.Length
	}
	part := report.WaitedShare(10 * unit.Millisecond)
	t.Logf("all threads waited for %v, that of TCP for %v, %d times for long, %v together, %d starved; %.3f of %v", delays,
		w.Sum, len(w.Waits), long, len(w.Starved), part, report.Measured)
	if w.Sum > delays || long > w.Sum || len(w.Starved) > len(w.Waits) {
		t.Error("that is more than there was")
	}
	if w.Sum < 20*unit.Millisecond || len(w.Waits) == 0 {
		t.Errorf("it waited for %v, and %d times for long, next to %d busy threads", w.Sum, len(w.Waits), busyThreads)
	}
}

// busyThreads is the number of threads that run without end on the processor of TestRun_ReportsWaitsForProcessor.
const busyThreads = 3

// share has all threads of this process share the first processor with busy ones of more weight, until the test ends.
func share(t testing.TB) {
	var all, first unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; first.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			first.Set(cpu)
		}
	}
	pin := func(to *unix.CPUSet) {
		tasks, _ := filepath.Glob("/proc/self/task/*")
		for _, task := range tasks {
			if id, err := strconv.Atoi(filepath.Base(task)); err == nil {
				unix.SchedSetaffinity(id, to) // one that has ended meanwhile needs none
			}
		}
	}
	t.Cleanup(func() { pin(&all) })
	pin(&first)
	for range busyThreads {
		busy := exec.Command("sh", "-c", "while kill -0 $PPID; do :; done") // no longer than this process lives
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			busy.Process.Kill()
			busy.Wait()
		})
		if err := unix.SchedSetaffinity(busy.Process.Pid, &first); err != nil {
			t.Fatal(err)
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, busy.Process.Pid, -10); err != nil {
			t.Log(err)
		}
	}
}

// runDelays returns the run delays of all threads of this process (proc(5), schedstat).
func runDelays(t testing.TB) (sum unit.Time) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/schedstat")
	if err != nil || len(files) == 0 {
		t.Skipf("left out: no schedstat: %v", err)
	}
	for _, name := range files {
		var ran, waited int64
		if b, err := os.ReadFile(name); err == nil {
			fmt.Sscan(string(b), &ran, &waited)
		}
		sum += unit.Time(waited) * unit.Nanosecond
	}
	return sum
}
