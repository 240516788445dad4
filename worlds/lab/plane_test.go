package lab

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/testkit/gatetest"
	"weir/worlds/live"
)

// How live retries frames that a kernel does not take.
const (
	retryAfter = 100 * unit.Microsecond
	maxRetries = 100
)

// dumbbell returns two hosts at one switch: 100 Mb/s from and 50 Mb/s to the second one, 5 ms each, as in P4-ABC
// §6.1.3, with 24 packets of buffer.
func dumbbell() *Config {
	n := &topology.Network{
		Nodes: []topology.Node{{Name: "client"}, {Name: "s1", Switch: true}, {Name: "server"}},
		Links: []topology.Link{
			{Ends: [2]int{0, 1}, Rate: unit.LinkRate{Bits: 100 * unit.Mbps}, Delay: 5 * unit.Millisecond},
			{Ends: [2]int{1, 2}, Rate: unit.LinkRate{Bits: 50 * unit.Mbps}, Delay: 5 * unit.Millisecond,
				Buffer: unit.Length{Packets: 24}},
		},
	}
	book := n.Addresses()
	routes := n.Routes()
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: n, Hosts: book, Switches: make([]wiring.SwitchConfig, 3)},
		Duration: 10 * unit.Second}
	c.Wiring.Framing, _ = packet.FramingByName("l2")
	c.Wiring.Switches[1] = wiring.SwitchConfig{Routes: dataplane.HostRoutes(book, routes.PathsFrom(1)),
		Programs: func(site *dataplane.Site) ([]dataplane.Program, error) {
			return []dataplane.Program{forward.New(site)}, nil
		}}
	return c
}

// script is a gate whose kernel follows a script.
type script = gatetest.Script[live.GateCounts]

// memory makes the plane of a configuration with gates in memory.
func memory(t testing.TB, c *Config, now *unit.Time) (*plane, []*script) {
	t.Helper()
	var gates []*script
	all := make([]live.Gate, len(c.Wiring.Network.Nodes))
	for i, n := range c.Wiring.Network.Nodes {
		gates = append(gates, &script{})
		if !n.Switch {
			all[i] = gates[i]
		}
	}
	d, err := c.buildPlane(all, func() unit.Time { return *now })
	if err != nil {
		t.Fatal(err)
	}
	return d, gates
}

// datagram returns a frame from node 0 to node 2 with size bytes of payload.
func datagram(t testing.TB, c *Config, seq int64, size int32) []byte {
	t.Helper()
	p := packet.Packet{Src: 1, Dst: 3, Version: 4, HopLimit: 9, Proto: packet.ProtoUDP, SrcPort: 1, DstPort: 2, Seq: seq,
		Payload: size}
	b, err := p.Emit(c.Wiring.Hosts, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEventTime checks that frames arrive at the times of links and delays, whenever the thread runs: 1514 bytes at 100
// and at 50 Mb/s are 121.12 and 242.24 µs, 5 ms each.
func TestEventTime(t *testing.T) {
	for _, step := range []unit.Time{unit.Microsecond, 777 * unit.Microsecond, unit.Second} {
		t.Run(fmt.Sprint("steps of ", step), func(t *testing.T) {
			c, now := dumbbell(), unit.Time(0)
			d, gates := memory(t, c, &now)
			for k := range int64(3) {
				gates[0].Frames = append(gates[0].Frames, datagram(t, c, k, 1472))
				gates[0].Stamps = append(gates[0].Stamps, unit.Millisecond)
			}
			var out strings.Builder
			for now < 100*unit.Millisecond {
				now += step
				before := len(gates[2].Sent)
				if err := d.Step(now); err != nil {
					t.Fatal(err)
				}
				for range len(gates[2].Sent) - before {
					due := 11*unit.Millisecond + unit.Time(121120+242240*len(strings.Fields(out.String()))+242240)*unit.Nanosecond
					if now < due || now-due >= step {
						t.Errorf("step %v: a frame that is due at %v left at %v", step, due, now)
					}
					out.WriteString("x ")
				}
			}
			r := d.buildReport(now)
			if len(gates[2].Sent) != 3 || r.Counts.In != 3 || r.Counts.Out != 3 || r.Lateness.Frames != 3 ||
				r.Lateness.Max >= step || d.LivePackets() != 0 {
				t.Errorf("step %v: %d frames left; %+v", step, len(gates[2].Sent), r)
			}
		})
	}
}

// TestPlane_CountsUnsendableFrames checks that invalid packets are counted and dropped. Frames that cannot be sent
// wait, and are dropped in the end. Measures cover the measured part.
func TestPlane_CountsUnsendableFrames(t *testing.T) {
	c, now := dumbbell(), unit.Time(0)
	c.Lead, c.Warmup, c.Duration = unit.Millisecond, 20*unit.Millisecond, 40*unit.Millisecond
	c.Wiring.Events = []wiring.Event{{At: 30 * unit.Millisecond, Link: 0, Down: true}}
	d, gates := memory(t, c, &now)
	arp := datagram(t, c, 0, 100)
	binary.BigEndian.PutUint16(arp[12:], 0x0806)
	g := gates[0]
	enter := func(at unit.Time, f []byte) { g.Frames, g.Stamps = append(g.Frames, f), append(g.Stamps, at) }
	enter(unit.Millisecond, arp)
	enter(unit.Millisecond, []byte{1, 2, 3})
	enter(2*unit.Millisecond, datagram(t, c, 1, 100))  // before the warm-up's end
	enter(25*unit.Millisecond, datagram(t, c, 2, 100)) // measured
	enter(32*unit.Millisecond, datagram(t, c, 3, 100)) // the link is down
	gates[2].Errors = []error{syscall.ENOBUFS, syscall.EAGAIN, nil}
	for now < 100*unit.Millisecond {
		now = max(now+1, min(d.Next(), now+unit.Millisecond))
		if err := d.Step(now); err != nil {
			t.Fatal(err)
		}
	}
	r := d.buildReport(now)
	if r.Counts.NonIP != 2 || r.Counts.In != 5 || r.Counts.Out != 2 || r.Counts.SendLost != 0 || len(gates[2].Sent) != 2 {
		t.Errorf("%+v; %d left", r.Counts, len(gates[2].Sent))
	}
	if r.Lateness.Max < 2*retryAfter || r.Lateness.Max > 3*retryAfter {
		t.Errorf("what was refused twice left %v late", r.Lateness.Max)
	}
	if r.Measured != 20*unit.Millisecond || r.Ports[0].TxPackets != 2 || r.Ports[2].TxPackets != 1 ||
		r.Ports[2].TxBytes != 142 || r.Drops[dataplane.LinkDown] != 1 {
		t.Errorf("measured: %v, %+v, %v", r.Measured, r.Ports, r.Drops)
	}
	gates[2].Errors = make([]error, 2*maxRetries)
	for i := range gates[2].Errors {
		gates[2].Errors[i] = syscall.ENOBUFS
	}
	d.Fabric().SetDown(0, false)
	enter(now, datagram(t, c, 4, 100))
	for end := now + unit.Second; now < end; now += retryAfter {
		if err := d.Step(now); err != nil {
			t.Fatal(err)
		}
	}
	r = d.buildReport(now)
	if r.Counts.SendLost != 1 || len(r.Errors()) != 1 || len(r.Disturbed(nil, unit.Second)) != 1 {
		t.Errorf("a frame that no kernel takes: %+v, %v", r.Counts, r.Errors())
	}
	before := r.Counts
	gates[2].Errors = nil
	enter(now, datagram(t, c, 6, 100))
	for end := now + unit.Second; now < end; now += retryAfter {
		if err := d.Step(now); err != nil {
			t.Fatal(err)
		}
	}
	if r = d.buildReport(now); r.Counts.Out != before.Out+1 || r.Counts.SendLost != 1 || len(gates[2].Sent) != 3 {
		t.Errorf("the frame after one that was given up: %+v, %d left", r.Counts, len(gates[2].Sent))
	}
	gates[2].Errors = []error{syscall.ENETDOWN}
	enter(now, datagram(t, c, 5, 100))
	now += unit.Second
	if err := d.Step(now); err == nil || !strings.Contains(err.Error(), "server") {
		t.Errorf("the interface is gone: %v", err)
	}
}

// TestPlane_TakesOldStampsAsPresent checks that a stamp older than the last event counts as the present: time never
// runs back.
func TestPlane_TakesOldStampsAsPresent(t *testing.T) {
	c, now := dumbbell(), 5*unit.Millisecond
	d, gates := memory(t, c, &now)
	if err := d.Step(now); err != nil {
		t.Fatal(err)
	}
	gates[0].Frames = [][]byte{datagram(t, c, 1, 100)}
	gates[0].Stamps = []unit.Time{4 * unit.Millisecond}
	now = unit.Second
	if err := d.Step(now); err != nil {
		t.Fatal(err)
	}
	if d.Counts.Belated != 1 || d.Counts.BelatedBy != unit.Millisecond+1 || len(gates[2].Sent) != 1 {
		t.Errorf("%+v, %d left", d.Counts, len(gates[2].Sent))
	}
}

// TestReport_DisturbedNamesReasons checks that only lost frames, lateness and waits that can have changed measures, and
// steps of the clock disturb a run. Other events do not, such as CPU time that the hypervisor takes without a wait.
func TestReport_DisturbedNamesReasons(t *testing.T) {
	for _, x := range []struct {
		change func(r *Report)
		want   string
	}{
		{func(*Report) {}, "[]"},
		{func(r *Report) { r.Gates.RingLost = 1 }, "[rings lost 1 frames]"},
		{func(r *Report) { r.VethLost = 2 }, "[rings lost 2 frames]"},
		{func(r *Report) { r.Lateness.P99, r.Lateness.P999 = 2*unit.Millisecond, unit.Second }, "[]"},
		{func(r *Report) { r.Lateness.P99 = 2*unit.Millisecond + 1000 }, "[1 % of frames were sent 2.0 ms late or more]"},
		{waits(6*unit.Millisecond, 9, 10), "[]"},  // longer than a quarter of 20 ms, but 10 · 26 ms is .01 of 26 s
		{waits(2*unit.Millisecond, 500, 0), "[]"}, // short enough each
		{waits(6*unit.Millisecond, 11, 0), "[stalls disturbed 1.1 % of the time, the longest for 6.0 ms]"},
		{func(r *Report) {
			waits(6*unit.Millisecond, 11, 0)(r)
			r.Steal, r.Waited = 0.03, 40*unit.Millisecond
		}, "[stalls disturbed 1.1 % of the time, the longest for 6.0 ms (other processes used the processor for 40 ms, the " +
			"hypervisor took 3.0 % of all cores)]"},
		{starving(6*unit.Millisecond, 11), "[stalls disturbed 1.1 % of the time, the longest for 6.0 ms (hosts waited for " +
			"a processor for 66 ms, and starved 11 times)]"},
		{func(r *Report) {
			starving(6*unit.Millisecond, 11)(r)
			r.Kernels.Starved = nil
		}, "[]"},
		{func(r *Report) { r.Counts.SendLost = 3 }, "[rings lost 3 frames]"},
		{func(r *Report) { r.Steal = 0.5 }, "[]"},
		{func(r *Report) { r.Steps = 1 }, "[the clock was set 1 times]"},
	} {
		var r Report
		x.change(&r)
		if got := fmt.Sprint(r.Disturbed(nil, 20*unit.Millisecond)); got != x.want {
			t.Errorf("got %s, want %s", got, x.want)
		}
		strained := x.want != "[]" || 4*max(r.Stall, maxWait(r.Kernels.Waits)) > 20*unit.Millisecond ||
			r.Lateness.P999 > 2*unit.Millisecond
		if all := r.DisturbedStrictly(nil, 20*unit.Millisecond); strained != (len(all) > 0) {
			t.Errorf("%s at all: %s", x.want, all)
		}
	}
}

// TestWaitedShare checks that hosts that waited for a processor can have changed their traffic for that time and a
// round trip each time, where that is longer than the buffers cover.
func TestWaitedShare(t *testing.T) {
	for _, x := range []struct {
		length unit.Time
		n      int
		want   float64
	}{{6 * unit.Millisecond, 11, 11 * 26e-3 / 26}, {2 * unit.Millisecond, 500, 0}, {0, 0, 0}} {
		var r Report
		if got := r.WaitedShare(20 * unit.Millisecond); got != 0 {
			t.Errorf("%v of nothing", got)
		}
		starving(x.length, x.n)(&r)
		if got := r.WaitedShare(20 * unit.Millisecond); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%d waits of %v: %v, want %v", x.n, x.length, got, x.want)
		}
	}
	var w Waiting
	w.AddWait(unit.Second, 499*unit.Microsecond, true)
	w.AddWait(unit.Second, 3*unit.Millisecond, false)
	w.AddWait(2*unit.Second, 4*unit.Millisecond, true)
	first := live.SchedulingDelay{At: 997 * unit.Millisecond, Length: 3 * unit.Millisecond}
	if len(w.Waits) != 2 || w.Waits[0] != first || len(w.Starved) != 1 ||
		w.Starved[0] != w.Waits[1] {
		t.Errorf("%+v", w)
	}
}

// starving adds waits of hosts to a report of 26 s, after a lead of half a second and a warm-up of 10 s.
func starving(length unit.Time, n int) func(r *Report) {
	return func(r *Report) {
		r.Lead, r.From, r.Measured = unit.Second/2, 10*unit.Second+unit.Second/2, 26*unit.Second
		for i := range n {
			r.Kernels.AddWait(r.From-r.Lead+unit.Time(i)*50*unit.Millisecond+length, length, true)
			r.Kernels.Sum += length
		}
	}
}

// waits adds waits of a length to a report of 26 s, after a warm-up of 10 s: some within the measured part, and
// some before it.
func waits(length unit.Time, within, before int) func(r *Report) {
	return func(r *Report) {
		r.From, r.Measured, r.Stall = 10*unit.Second, 26*unit.Second, length
		for i := range before {
			r.Waits = append(r.Waits, live.SchedulingDelay{At: unit.Time(i)*unit.Second + unit.Millisecond, Length: length})
		}
		for i := range within {
			r.Waits = append(r.Waits, live.SchedulingDelay{At: r.From + unit.Time(i)*50*unit.Millisecond, Length: length})
		}
	}
}

// TestDisturbedTime checks that waits count once if they, or the round trips after them, overlap, in any order, and
// only within the measured part.
func TestDisturbedTime(t *testing.T) {
	const ms = unit.Millisecond
	for _, x := range []struct {
		waits [][2]unit.Time // at, length
		want  unit.Time
	}{
		{nil, 0},
		{[][2]unit.Time{{200 * ms, 10 * ms}}, 30 * ms},
		{[][2]unit.Time{{210 * ms, 10 * ms}, {200 * ms, 10 * ms}}, 40 * ms},                // 200 … 240
		{[][2]unit.Time{{200 * ms, 70 * ms}, {210 * ms, 10 * ms}}, 90 * ms},                // one within the other
		{[][2]unit.Time{{85 * ms, 10 * ms}}, 15 * ms},                                      // 100 … 115
		{[][2]unit.Time{{295 * ms, 100 * ms}, {500 * ms, 9 * ms}}, 5 * ms},                 // 295 … 300
		{[][2]unit.Time{{150 * ms, 2 * ms}, {160 * ms, 2*ms + 1}}, 22*ms + 1},              // observe.MaxLateness
		{[][2]unit.Time{{0, 10 * ms}, {50 * ms, 10 * ms}, {70 * ms, 10*ms + 1}}, 0*ms + 1}, // until the measured part begins
	} {
		var waits []live.SchedulingDelay
		for _, w := range x.waits {
			waits = append(waits, live.SchedulingDelay{At: w[0], Length: w[1]})
		}
		if got := disturbedTime(waits, 20*ms, 100*ms, 300*ms); got != x.want {
			t.Errorf("%v: %v, want %v", x.waits, got, x.want)
		}
	}
	r := Report{From: 100 * ms, Measured: 200 * ms, Lead: 10 * ms,
		Waits: []live.SchedulingDelay{{At: 50 * ms, Length: 90 * ms}, {At: 150 * ms, Length: ms + 1}, {At: 180 * ms,
			Length: ms}}}
	hosts := &HostsReport{Waits: []live.SchedulingDelay{{At: 240 * ms, Length: 4 * ms}}}
	for differ, want := range map[unit.Time]unit.Time{ // 100 … 171, 180 … 201, 250 … 274
		0: 116*ms + 1, ms: 95*ms + 1, ms + 1: 84 * ms, 4 * ms: 60 * ms, 90 * ms: 0,
	} {
		if got := r.HeldShare(hosts, differ, 20*ms); math.Abs(got-want.Seconds()/0.2) > 1e-12 {
			t.Errorf("queues may differ by %v: %v held back, want %v of 200 ms", differ, got, want)
		}
	}
	if got := r.DisturbedShare(hosts, 20*ms); math.Abs(got-0.42) > 1e-12 {
		t.Errorf("%v upset", got)
	}
}

// TestPlane_RecordsLongestStall checks that a stall is the longest time between the due time of an event or frame and
// its step.
func TestPlane_RecordsLongestStall(t *testing.T) {
	step := func(d *plane, now *unit.Time, at unit.Time) {
		*now = at
		if err := d.Step(at); err != nil {
			t.Fatal(err)
		}
	}
	c, now := dumbbell(), unit.Time(0)
	d, gates := memory(t, c, &now)
	step(d, &now, 500*unit.Millisecond) // nothing was to be done
	if d.Stall != 0 {
		t.Errorf("a stall of %v in which nothing was to be done", d.Stall)
	}
	gates[0].Frames = [][]byte{datagram(t, c, 1, 1472)}
	gates[0].Stamps = []unit.Time{600 * unit.Millisecond}
	step(d, &now, 607*unit.Millisecond)
	if d.Stall != 7*unit.Millisecond {
		t.Errorf("a frame waited for 7 ms: a stall of %v", d.Stall)
	}
	step(d, &now, 608*unit.Millisecond)
	due := d.Next() // the frame's last bit at the server, after 10 ms and two links
	step(d, &now, due+9*unit.Millisecond)
	if d.Stall != 9*unit.Millisecond || len(gates[2].Sent) != 1 {
		t.Errorf("an event was 9 ms late: a stall of %v", d.Stall)
	}
	gates[0].Frames, gates[0].Stamps = append(gates[0].Frames, datagram(t, c, 2, 100)), append(gates[0].Stamps, now)
	step(d, &now, now+unit.Millisecond)
	if d.buildReport(now).Stall != 9*unit.Millisecond {
		t.Errorf("the longest stall is %v", d.buildReport(now).Stall)
	}
}

// TestErrorsOfRun checks that frames lost or damaged outside of the experiment's network are an error of the run, by
// number (issue "The lab": frames larger than a slot, partial checksums, ring losses).
func TestErrorsOfRun(t *testing.T) {
	for want, change := range map[string]func(r *Report){
		"1 frames did not fit into a ring":                 func(r *Report) { r.Gates.RingLost = 1 },
		"2 frames were dropped by the kernel on their way": func(r *Report) { r.VethLost = 2 },
		"3 frames were longer than a slot of the ring":     func(r *Report) { r.Gates.TooLong = 3 },
		"4 frames arrived without a checksum":              func(r *Report) { r.Gates.Partial = 4 },
		"5 frames arrived with a VLAN tag":                 func(r *Report) { r.Gates.Tagged = 5 },
		"6 frames were not accepted by a host's kernel":    func(r *Report) { r.Counts.SendLost = 6 },
		"7 packets of switches cannot be written":          func(r *Report) { r.Counts.Unwritable = 7 },
		"the capture could not be written: full":           func(r *Report) { r.Captured = &CaptureSummary{Error: "full"} },
	} {
		t.Run(want, func(t *testing.T) {
			r := Report{Captured: &CaptureSummary{}}
			if e := r.Errors(); len(e) > 0 {
				t.Errorf("nothing was wrong: %v", e)
			}
			change(&r)
			if e := r.Errors(); len(e) != 1 || !strings.Contains(e[0], want) {
				t.Errorf("got %q, want %q", e, want)
			}
		})
	}
}

func TestBadConfig(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		"warm-up":  func(c *Config) { c.Warmup = c.Duration },
		"framing":  func(c *Config) { c.Wiring.Framing, _ = packet.FramingByName("hpcc") },
		"MTU":      func(c *Config) { c.MTU = 100 },
		"an event": func(c *Config) { c.Wiring.Events = []wiring.Event{{Link: 2}} },
		"one NIC":  func(c *Config) { c.Wiring.Network.Links = append(c.Wiring.Network.Links, c.Wiring.Network.Links[0]) },
		"flow 0":   func(c *Config) { c.Flows = []Flow{{Src: 0, Dst: 1, Version: 4, Proto: packet.ProtoTCP}} },
		"IPv5":     func(c *Config) { c.Flows = []Flow{{Src: 0, Dst: 2, Version: 5, Proto: packet.ProtoTCP}} },
		"same": func(c *Config) {
			f := Flow{Src: 0, Dst: 2, Version: 4, Proto: packet.ProtoTCP}
			c.Flows = []Flow{f, f}
		},
		"watch 0":          func(c *Config) { c.Watches = []outcome.Watch{{Index: 4, Every: 1}} },
		"watch":            func(c *Config) { c.Watches = []outcome.Watch{{What: outcome.BufferBytes, Index: 0, Every: 1}} },
		"s7":               func(c *Config) { c.Capture = &Capture{Switches: []string{"s7"}} },
		"without a switch": func(c *Config) { c.Capture = &Capture{} },
		"a limit of -1":    func(c *Config) { c.Capture = &Capture{Switches: []string{"*"}, Limit: -1} },
		"addresses":        func(c *Config) { c.Wiring.Hosts = packet.NewBook() },
	} {
		t.Run(want, func(t *testing.T) {
			c := dumbbell()
			change(c)
			_, err := c.buildPlane([]live.Gate{&script{}, nil, &script{}}, nil)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
		})
	}
}

// echo is a gate that always has frames.
type echo struct {
	script
	frame []byte
	next  unit.Time
}

func (g *echo) Stamp() unit.Time     { return g.next }
func (g *echo) Take(b []byte) []byte { g.next += 100 * unit.Microsecond; return append(b, g.frame...) }
func (g *echo) Put([]byte) bool      { return true }
func (g *echo) Flush() error         { return nil }
func (g *echo) Drop() int            { return 0 }

// measured returns a configuration with every measure of the data plane, with other flows next to the datagrams.
// Port 2 leads from the switch to the server.
func measured() *Config {
	c := dumbbell()
	c.Warmup, c.Duration = 0, 1000*unit.Second
	for i := range uint16(99) {
		c.Flows = append(c.Flows, Flow{Src: 0, Dst: 2, SrcPort: 7000 + i, DstPort: 2, Version: 4, Proto: packet.ProtoUDP})
	}
	c.Flows = append(c.Flows, Flow{Src: 0, Dst: 2, SrcPort: 1, DstPort: 2, Version: 4, Proto: packet.ProtoUDP})
	c.Watches = []outcome.Watch{{What: outcome.QueuePackets, Index: 2, Every: 10 * unit.Millisecond},
		{What: outcome.SentBytes,
			Index: 2, Every: 10 * unit.Millisecond}}
	c.Delays, c.Ordering, c.Notices = true, true, true
	return c
}

// tallied has the overhead as well, for which links have an observer.
func tallied() *Config {
	c := measured()
	c.Tally = true
	return c
}

// captured writes down all that the switch does.
func captured() *Config {
	c := dumbbell()
	c.Capture = &Capture{Switches: []string{"s1"}, Limit: 1 << 40}
	return c
}

var configs = []struct {
	name   string
	config func() *Config
}{{"plain", dumbbell}, {"measured", measured}, {"tallied", tallied}, {"captured", captured}}

// TestNoAllocationPerPacket checks that no packet allocates memory, for any measures. A capture's room grows by whole
// slabs.
func TestNoAllocationPerPacket(t *testing.T) {
	for _, x := range configs {
		c, now := x.config(), unit.Time(0)
		gates := []live.Gate{&echo{frame: datagram(t, c, 0, 1000)}, nil, &echo{next: unit.Never}}
		d, err := c.buildPlane(gates, func() unit.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		step := func() {
			now += 100 * unit.Millisecond
			if err := d.Step(now); err != nil {
				t.Fatal(err)
			}
		}
		for range 6 { // until what grows has its size: 4096 arrivals in their order
			step()
		}
		most := 0.0
		if x.name == "captured" {
			most = 4 // 2.2 MB
		}
		if n := testing.AllocsPerRun(20, step); n > most || d.Counts.Out < 10000 {
			t.Errorf("%s: %g allocations per 1000 packets, %d packets", x.name, n, d.Counts.Out)
		}
	}
}

// BenchmarkPacket measures a packet from one kernel to the other, without the kernels.
func BenchmarkPacket(b *testing.B) {
	for _, x := range configs {
		b.Run(x.name, func(b *testing.B) {
			c, now := x.config(), unit.Time(0)
			gates := []live.Gate{&echo{frame: datagram(b, c, 0, 1000)}, nil, &echo{next: unit.Never}}
			d, err := c.buildPlane(gates, func() unit.Time { return now })
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for range b.N {
				now += 100 * unit.Microsecond
				if err := d.Step(now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
