package rdma

import (
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// chosen returns a flow with a sender that chooses among paths, with a window for each and a delay for each.
func chosen(t testing.TB, size unit.Bytes, windows []unit.Bytes, delays []unit.Time, more func(c *Config)) (*pipe,
	[]*fixed) {
	t.Helper()
	var each []*fixed
	f := newFlow(size, &fixed{}, 0)
	f.CC = &cc.Scheme{PerPath: true, Build: func(x cc.Flow, _ scheme.Config) (cc.Controller, error) {
		if x.Paths != len(windows) {
			t.Fatalf("the controller is told of %d paths", x.Paths)
		}
		each = append(each, &fixed{window: windows[len(each)], timer: unit.Never, keep: true})
		return each[len(each)-1], nil
	}}
	c := Defaults()
	c.Recovery, c.Paths, c.RTOMin = SelectiveRepeat, len(windows), 320*us
	if more != nil {
		more(&c)
	}
	s, r, err := New(f, c)
	if err != nil {
		t.Fatal(err)
	}
	w := &pipe{t: t, s: s, r: r, c: each[0]}
	w.onData = func(p *packet.Packet) (int, unit.Time) { return 1, delays[s.paths.pathOf(p.SrcPort)] }
	w.onBack = func(p *packet.Packet) (int, unit.Time) { return 1, delays[s.paths.pathOf(p.DstPort)] }
	return w, each
}

// TestSender_FillsWindowOfEachPath checks that packets use the paths with room: each path's window fills and none is
// exceeded. Paths with very different delays cause no retransmissions.
func TestSender_FillsWindowOfEachPath(t *testing.T) {
	w, each := chosen(t, 500_000, []unit.Bytes{10_000, 20_000, 5000}, []unit.Time{0, 7 * us, us}, nil)
	most, sent := [3]int{}, [3]int{}
	w.emitted = func(p *packet.Packet) {
		k := w.s.paths.pathOf(p.SrcPort)
		sent[k]++
		_, out, _ := w.s.PathGauge(k)
		most[k] = max(most[k], out)
	}
	w.runUntil(unit.Second)
	w.done(500_000)
	if most != [3]int{10, 20, 5} {
		t.Errorf("at most %v packets were out on the paths", most)
	}
	if c := w.s.Counters(); c.Retransmitted != 0 || w.s.Timeouts() != 0 || w.r.Counters().DuplicateCount() != 0 {
		t.Errorf("%d sent again", c.Retransmitted)
	}
	for k, c := range each {
		if c.sent != sent[k] {
			t.Errorf("path %d: %d packets, its controller knows of %d", k, sent[k], c.sent)
		}
	}
	// Windows over round trips of 4, 11 and 5 µs: packets of a slow path are acknowledged by the others, too.
	if !(sent[0] > sent[1] && sent[1] > sent[2]) {
		t.Errorf("%v packets went by the paths", sent)
	}
}

// TestPathLoss checks that on each path a packet is lost when a later one has arrived. Any path may resend it.
func TestPathLoss(t *testing.T) {
	w, _ := chosen(t, 300_000, []unit.Bytes{10_000, 10_000, 10_000, 10_000}, []unit.Time{0, 3 * us, us, 9 * us}, nil)
	delayed, n := w.onData, 0
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		_, later := delayed(p)
		if n++; n%17 == 0 && n < 250 {
			return 0, 0
		}
		return 1, later
	}
	w.runUntil(unit.Second)
	w.done(300_000)
	if c := w.s.Counters(); c.Retransmitted != 14 || w.s.Timeouts() != 0 || w.r.Counters().DuplicateCount() != 0 {
		t.Errorf("%d sent again, %d timeouts, %d came twice", c.Retransmitted, w.s.Timeouts(),
			w.r.Counters().DuplicateCount())
	}
}

// TestPathFails checks that a failed path is abandoned after a timeout and its packets use the other paths. Probes
// continue, and the path is used again after an answer. Only that path's controller is notified of the timeout.
func TestPathFails(t *testing.T) {
	const from, to = 100 * us, 3000 * us
	windows := []unit.Bytes{8000, 8000, 8000, 8000}
	w, each := chosen(t, 50_000_000, windows, make([]unit.Time, 4), nil)
	late, probes := 0, 0
	var first unit.Time
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		if w.s.paths.pathOf(p.SrcPort) != 2 {
			return 1, 0
		}
		if p.Kind == packet.Probe {
			probes++
		} else if w.now > to && first == 0 {
			first = w.now
		}
		if w.now >= from && w.now < to {
			if p.Kind == packet.Data {
				late++
			}
			return 0, 0
		}
		return 1, 0
	}
	w.runUntil(unit.Second)
	w.done(50_000_000)
	if late > 8 || w.s.Timeouts() != 1 || w.s.Counters().Retransmitted > 10 {
		t.Errorf("%d packets went by the dead path, %d timeouts, %d sent again", late, w.s.Timeouts(),
			w.s.Counters().Retransmitted)
	}
	if probes < 3 || probes > 6 || first > 2*to {
		t.Errorf("%d probes; the path is used again from %v on", probes, first)
	}
	for k, c := range each {
		timeouts := 0
		for _, l := range c.log {
			if l[len(l)-len("timeout"):] == "timeout" {
				timeouts++
			}
		}
		if timeouts != map[bool]int{true: 1}[k == 2] {
			t.Errorf("path %d's controller hears of %d timeouts", k, timeouts)
		}
	}
}

// TestPathAnswers checks that any packet from a path shows that it is not silent: also a switch's NACK, and an
// acknowledgement earlier than all before.
func TestPathAnswers(t *testing.T) {
	w, _ := chosen(t, 100_000, []unit.Bytes{4000, 4000}, make([]unit.Time, 2), nil)
	var out []*packet.Packet
	for range 8 {
		p := &packet.Packet{Src: 1, Dst: 2}
		w.s.Emit(0, p)
		out = append(out, p)
	}
	back := func(kind packet.Kind, ack, about int64, by *packet.Packet) *packet.Packet {
		p := answer(kind, ack, about)
		p.DstPort = by.SrcPort
		return p
	}
	a, b := out[0], out[1]
	if a.SrcPort == b.SrcPort {
		t.Fatal("the first two packets go by one path")
	}
	w.s.Receive(10*us, back(packet.Nack, 0, 1000, b))
	w.s.Receive(200*us, nackOf(a, packet.CauseTrimmed))
	if got := w.s.NextTimer(); got != 330*us {
		t.Errorf("a NACK has come by one path: the other one's timeout is at %v", got)
	}
	w.s.Receive(210*us, back(packet.Nack, 0, 3000, b))
	if got := w.s.NextTimer(); got != 520*us {
		t.Errorf("both have answered: the first timeout is at %v", got)
	}
	again := &packet.Packet{Src: 1, Dst: 2}
	if w.s.Emit(220*us, again); again.Seq != 0 {
		t.Fatalf("packet %d goes", again.Seq)
	}
	k := w.s.paths.pathOf(again.SrcPort)
	w.s.Receive(223*us, back(packet.Ack, 1000, 0, again))
	if got := w.s.paths.each[k].timerFrom; got != 223*us {
		t.Errorf("answered at 223us, path %d waits from %v", k, got)
	}
}

// TestPathsAllFail checks that with all paths dead only probes are sent. The flow continues after an answer.
func TestPathsAllFail(t *testing.T) {
	w, _ := chosen(t, 3_000_000, []unit.Bytes{8000, 8000}, make([]unit.Time, 2), nil)
	dead := 0
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		if w.now > 50*us && w.now < 2000*us {
			if p.Kind == packet.Data {
				dead++
			}
			return 0, 0
		}
		return 1, 0
	}
	w.runUntil(unit.Second)
	w.done(3_000_000)
	if dead > 16 || w.s.Timeouts() != 2 {
		t.Errorf("%d packets while all was dead, %d timeouts", dead, w.s.Timeouts())
	}
}

// TestPathsTogether checks that all paths together have no more in flight than their first windows.
func TestPathsTogether(t *testing.T) {
	w, each := chosen(t, 0, []unit.Bytes{4000, 4000}, make([]unit.Time, 2), nil)
	for _, c := range each {
		c.window = 100_000
	}
	w.s.Emit(0, &packet.Packet{})
	for n := 1; w.s.NextSend() <= unit.Time(n); n++ {
		w.s.Emit(unit.Time(n), &packet.Packet{})
		if n > 8 {
			break
		}
	}
	if n := int(w.s.inFlight()); n != 8 {
		t.Errorf("%d packets are in flight", n)
	}
}

// TestPathsNeed checks that only missing requirements of paths are refused: selective repeat, and a controller made for
// paths.
func TestPathsNeed(t *testing.T) {
	f := newFlow(1000, &fixed{}, 0)
	f.CC = &cc.Scheme{Scheme: scheme.Scheme{Name: "x"}}
	c := Defaults()
	c.Recovery, c.Paths = SelectiveRepeat, 2
	if _, _, err := New(f, c); err == nil {
		t.Error("a controller that is not made for paths is taken")
	}
	if c.Traits().WhyInOrder == "" || c.Traits().Paths != 2 {
		t.Error("within a path packets are in order")
	}
}

// TestPathPorts checks that acknowledgements return to the port of the path, by hash and number. Those of other ports
// are refused.
func TestPathPorts(t *testing.T) {
	w, each := chosen(t, 0, []unit.Bytes{4000, 4000, 4000}, make([]unit.Time, 3), nil)
	if ports := w.r.Ports(); len(ports) != 3 || ports[0] != w.s.paths.each[0].port || ports[2] != w.s.paths.each[2].port {
		t.Fatalf("ports %v", ports)
	}
	for n := range 6 {
		p := &packet.Packet{Src: 1, Dst: 2}
		w.s.Emit(unit.Time(n), p)
		sent := p.SrcPort
		if want := packet.FlowHash(1, 2, sent, 20, packet.ProtoRDMA); p.Hash != want {
			t.Errorf("hash %x, want %x", p.Hash, want)
		}
		if !w.r.Receive(us, p) || p.DstPort != sent || p.SrcPort != 20 ||
			p.Hash != packet.FlowHash(2, 1, 20, sent, packet.ProtoRDMA) {
			t.Errorf("the answer is %+v", p)
		}
		wrong := *p
		wrong.DstPort = 10
		w.s.Receive(4*us, &wrong)
		wrong.DstPort = w.s.paths.each[2].port + 1
		w.s.Receive(4*us, &wrong)
		w.s.Receive(4*us, p)
	}
	for k, c := range each {
		if len(c.acks) != 2 {
			t.Errorf("path %d has had %d acknowledgements", k, len(c.acks))
		}
	}
}

func TestPaths_DoNotAllocate(t *testing.T) {
	f := newFlow(0, &fixed{}, 0)
	f.CC = &cc.Scheme{PerPath: true, Telemetry: telemetry.HopRecords, Build: func(cc.Flow, scheme.Config) (cc.Controller,
		error) {
		return &fixed{window: 4000, rate: 10 * unit.Gbps, timer: unit.Never}, nil
	}}
	c := Defaults()
	c.Recovery, c.Paths, c.Reordering = SelectiveRepeat, 8, reorderAdaptive
	s, r, err := New(f, c)
	if err != nil {
		t.Fatal(err)
	}
	var pool packet.Pool
	now := unit.Time(0)
	trip := func() {
		p := pool.Get()
		p.Src, p.Dst, p.Sent = 1, 2, now
		s.Emit(now, p)
		now += us
		r.Receive(now, p)
		s.Receive(now, p)
		pool.Put(p)
	}
	for range 100 {
		trip()
	}
	if n := testing.AllocsPerRun(1000, trip); n != 0 || s.una != s.top {
		t.Errorf("%v allocations a round trip; %d of %d acknowledged", n, s.una, s.top)
	}
}
