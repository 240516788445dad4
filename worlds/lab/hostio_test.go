package lab

import (
	"encoding/binary"
	"errors"
	"strings"
	"syscall"
	"testing"

	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
	"weir/worlds/live"
)

// scriptedEdge has hosts that send a datagram for each one that arrives, and one at a time of their own.
type scriptedEdge struct {
	t     *testing.T
	send  func(node int, now unit.Time, p *packet.Packet)
	book  *packet.Book
	came  []unit.Time
	nodes []int
	back  int
	wakes unit.Time // sends then
	ends  unit.Time
	done  unit.Time
	now   unit.Time
	wrong error
}

func (e *scriptedEdge) DeliverFrame(now unit.Time, node int, frame []byte) bool {
	e.Advance(now)
	e.done = now
	var p packet.Packet
	if p.Parse(e.book, frame) != nil || p.SrcPort == 99 {
		return false
	}
	e.came, e.nodes = append(e.came, now), append(e.nodes, node)
	e.send(node, now, &packet.Packet{Src: packet.Addr(node + 1), Dst: p.Src, Version: 4, HopLimit: 9, SrcPort: 2,
		DstPort: 1,
		Proto:   packet.ProtoUDP, Payload: 20})
	return true
}

func (e *scriptedEdge) Advance(until unit.Time) bool {
	e.now = max(e.now, until)
	if e.wakes < until {
		e.send(0, e.wakes, &packet.Packet{Src: 1, Dst: 3, Version: 4, HopLimit: 9, SrcPort: 7, DstPort: 8,
			Proto: packet.ProtoUDP, Payload: 20})
		e.wakes = unit.Never
	}
	return until <= e.ends
}

func (e *scriptedEdge) Next() unit.Time {
	if e.done >= e.ends {
		return unit.Never
	}
	return min(e.wakes, e.ends)
}

func (e *scriptedEdge) ReturnPacket(*packet.Packet) { e.back++ }

func (e *scriptedEdge) Now() unit.Time { return e.now }

func (e *scriptedEdge) Err() error { return e.wrong }

// stand returns the I/O of the dumbbell's two hosts.
func stand(t *testing.T, now *unit.Time) (*hostIO, *scriptedEdge, *script, *Config) {
	t.Helper()
	s, e, g, c, _ := standing(t, now, nil)
	return s, e, g, c
}

// ofScripted returns scripted hosts.
func ofScripted(t *testing.T, c *Config) (*HostsConfig, *scriptedEdge) {
	e := &scriptedEdge{t: t, book: c.Wiring.Hosts, wakes: unit.Never, ends: unit.Second}
	return &HostsConfig{Network: c.Wiring.Network, Hosts: c.Wiring.Hosts, Make: func(send func(node int, now unit.Time,
		p *packet.Packet)) (Edge, func() any, error) {
		e.send = send
		return e, func() any { return 7 }, nil
	}}, e
}

func standing(t *testing.T, now *unit.Time, capture *Capture) (*hostIO, *scriptedEdge, *script, *Config,
	*HostsConfig) {
	t.Helper()
	c := dumbbell()
	h, e := ofScripted(t, c)
	h.Capture = capture
	g := &script{}
	s, result, err := h.newHostIO([]live.Gate{g, nil, &script{}}, func() unit.Time { return *now })
	if err != nil || result().(int) != 7 {
		t.Fatal(err)
	}
	return s, e, g, c, h
}

// to returns a datagram that arrives at node 0, addressed to a MAC.
func to(t *testing.T, c *Config, mac [6]byte, port uint16) []byte {
	t.Helper()
	p := packet.Packet{Src: 3, Dst: 1, Version: 4, HopLimit: 9, Proto: packet.ProtoUDP, SrcPort: port, DstPort: 2,
		Payload: 50}
	b, err := p.Emit(c.Wiring.Hosts, nil)
	if err != nil {
		t.Fatal(err)
	}
	copy(b, mac[:])
	return b
}

// TestHostIO checks that frames for the hosts' own addresses are received at their stamps, in order, with pauses, and
// those for the kernel's are not. Sent frames are late by the clock's lateness.
func TestHostIO(t *testing.T) {
	now := unit.Time(0)
	s, e, g, c := stand(t, &now)
	own := live.OwnMAC(1)
	if own == packet.MAC(1) {
		t.Fatal("the same address as the kernel's")
	}
	pause := to(t, c, [6]byte{1, 0x80, 0xc2, 0, 0, 1}, 1)
	binary.BigEndian.PutUint16(pause[12:], packet.EtherControl)
	for _, f := range []struct {
		at   unit.Time
		data []byte
	}{{10, to(t, c, own, 1)}, {20, to(t, c, packet.MAC(1), 1)}, {25, []byte{1, 2}}, {30, to(t, c, own, 99)},
		{40, to(t, c, own, 1)}, {45, pause}, {unit.Millisecond, to(t, c, own, 1)}} {
		g.Frames, g.Stamps = append(g.Frames, f.data), append(g.Stamps, f.at*unit.Nanosecond)
	}
	g.Stamps[len(g.Stamps)-1] = unit.Millisecond
	e.wakes = 35 * unit.Nanosecond
	now = 100 * unit.Nanosecond
	if !s.step(now) || len(e.came) != 2 || e.came[0] != 10*unit.Nanosecond || e.came[1] != 40*unit.Nanosecond ||
		len(g.Sent) != 3 || e.back != 3 {
		t.Errorf("taken at %v, %d frames sent, %d packets came back", e.came, len(g.Sent), e.back)
	}
	if p := (packet.Packet{}); p.Parse(c.Wiring.Hosts, g.Sent[1]) != nil || p.SrcPort != 7 { // between the two answers
		t.Errorf("the second frame is %x", g.Sent[1])
	}
	g.Stamps[0] = 50 * unit.Nanosecond // it was not to be seen yet
	now = 2 * unit.Millisecond
	if !s.step(now) || len(e.came) != 3 || e.came[2] != 100*unit.Nanosecond+2 {
		t.Errorf("the belated frame came at %v", e.came)
	}
	r := s.buildReport(now)
	if r.Counts.In != 5 || r.Strays != 2 || r.Counts.Out != 4 || r.Counts.Belated != 1 || r.Lateness.Frames != 4 ||
		r.Lateness.Max < 1999*unit.Microsecond || r.Stall < unit.Millisecond {
		t.Errorf("%+v", r)
	}
}

// TestHostIOEnds checks that the hosts' end, their failure and a ring's failure end their I/O.
func TestHostIOEnds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *scriptedEdge, g *script)
		failed string
	}{
		"done":   {func(e *scriptedEdge, _ *script) { e.ends = 5 }, ""},
		"host":   {func(e *scriptedEdge, _ *script) { e.wrong = errors.New("no endpoint") }, "no endpoint"},
		"ring":   {func(e *scriptedEdge, g *script) { e.wakes, g.Errors = 1, []error{syscall.ENETDOWN} }, "host client"},
		"nobody": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			now := unit.Time(0)
			s, e, g, _ := stand(t, &now)
			if c.change != nil {
				c.change(e, g)
			}
			now = 10
			if more := s.step(now); more != (c.change == nil) {
				t.Errorf("more: %v", more)
			}
			if (s.Err == nil) != (c.failed == "") || s.Err != nil && !strings.Contains(s.Err.Error(), c.failed) {
				t.Errorf("%v, want %q", s.Err, c.failed)
			}
		})
	}
}

// TestHostIORetries checks that a frame that rings refuse is offered again, and failures are reported.
func TestHostIORetries(t *testing.T) {
	now := unit.Time(1)
	s, e, g, _ := stand(t, &now)
	e.wakes = 0
	g.Errors = []error{syscall.EAGAIN, syscall.ENOBUFS}
	for range 3 {
		s.step(now)
		now = max(now+1, s.nextStep())
	}
	if len(g.Sent) != 1 || now < 2*retryAfter {
		t.Errorf("%d frames sent by %v", len(g.Sent), now)
	}
	r := HostsReport{Gates: live.GateCounts{RingLost: 1, TooLong: 2, Partial: 3, Tagged: 4}, Strays: 6,
		Stall: 3 * unit.Millisecond}
	r.Counts.SendLost, r.Counts.Unwritable, r.Lateness.P99 = 5, 7, unit.Second
	if all := r.Errors(); len(all) != 7 {
		t.Errorf("%q", all)
	}
	plane := Report{Lead: unit.Second, From: 2 * unit.Second, Measured: unit.Second}
	// in the experiment's time: as the measured part begins
	r.Waits = []live.SchedulingDelay{{At: unit.Second - 1, Length: 3 * unit.Millisecond}}
	if all := plane.Disturbed(&r, 10*unit.Millisecond); len(all) != 3 {
		t.Errorf("%q", all)
	}
	r.Waits[0].At = 0
	if all := plane.Disturbed(&r, 10*unit.Millisecond); len(all) != 2 {
		t.Errorf("%q", all)
	}
}

// TestOwnAddresses checks that the data plane gives a flow between hosts of Weir to their addresses, and any other
// packet to the kernel's.
func TestOwnAddresses(t *testing.T) {
	c, now := dumbbell(), unit.Time(0)
	c.Flows = []Flow{{Src: 0, Dst: 2, SrcPort: 1, DstPort: 2, Version: 4, Proto: packet.ProtoUDP, Own: true,
		Ports: []uint16{5}},
		{Src: 0, Dst: 2, SrcPort: 3, DstPort: 2, Version: 4, Proto: packet.ProtoUDP}}
	d, gates := memory(t, c, &now)
	for _, port := range []uint16{1, 3, 5, 7} {
		p := packet.Packet{Src: 1, Dst: 3, Version: 4, HopLimit: 9, Proto: packet.ProtoUDP, SrcPort: port, DstPort: 2,
			Payload: 100}
		b, err := p.Emit(c.Wiring.Hosts, nil)
		if err != nil {
			t.Fatal(err)
		}
		gates[0].Frames, gates[0].Stamps = append(gates[0].Frames, b), append(gates[0].Stamps, unit.Millisecond)
	}
	now = 100 * unit.Millisecond
	if err := d.Step(now); err != nil {
		t.Fatal(err)
	}
	if len(gates[2].Sent) != 4 {
		t.Fatalf("%d frames", len(gates[2].Sent))
	}
	for i, want := range [][6]byte{live.OwnMAC(3), packet.MAC(3), live.OwnMAC(3), packet.MAC(3)} {
		if got := [6]byte(gates[2].Sent[i]); got != want {
			t.Errorf("frame %d is addressed to %x, want %x", i, got, want)
		}
	}
}

// TestBadRehearsals checks that Rehearse refuses the configurations that the lab refuses.
func TestBadRehearsals(t *testing.T) {
	c := dumbbell()
	never := func(func(int, unit.Time, *packet.Packet)) (Edge, func() any, error) {
		return nil, nil, errors.New("no hosts")
	}
	if _, _, _, err := Rehearse(c, &HostsConfig{Network: c.Wiring.Network, Hosts: c.Wiring.Hosts,
		Make: never}); err == nil ||
		!strings.Contains(err.Error(), "no hosts") {
		t.Error(err)
	}
	if _, _, _, err := Rehearse(c, &HostsConfig{Network: &topology.Network{}, Hosts: c.Wiring.Hosts,
		Make: never}); err == nil {
		t.Error("hosts of another network")
	}
	c.Duration = 0
	if _, _, _, err := Rehearse(c, &HostsConfig{Network: c.Wiring.Network, Hosts: c.Wiring.Hosts,
		Make: never}); err == nil {
		t.Error("a run without a duration")
	}
}
