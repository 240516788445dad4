package dataplane_test

import (
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// keeper books what waits.
type keeper struct{ booked, ticks int }

func (*keeper) Name() string                            { return "keeper" }
func (k *keeper) Book(*dataplane.Env, *packet.Packet)   { k.booked++ }
func (k *keeper) Unbook(*dataplane.Env, *packet.Packet) { k.booked-- }
func (k *keeper) Tick(env *dataplane.Env) unit.Time {
	k.ticks++
	return env.Now() +
		unit.Second
}

// outer sends everything to port 0.
type outer struct{}

func (*outer) Name() string { return "outer" }
func (*outer) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Out = 0
	return dataplane.Accept
}

// TestSetPrograms checks that programs change between two packets. A new program books the waiting packets. A remaining
// one does not do so again and keeps its ticks. A removed one is not called again.
func TestSetPrograms(t *testing.T) {
	var pool packet.Pool
	out, first, second := &outer{}, &keeper{}, &keeper{}
	port := tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(), unit.LinkRate{Bits: unit.Gbps})
	s, err := dataplane.New(dataplane.Config{Name: "s", Ports: []*tm.Port{port}, Pool: &pool,
		Programs: []dataplane.Program{out, first}})
	if err != nil {
		t.Fatal(err)
	}
	s.Advance(0)
	receive := func(now unit.Time) {
		p := pool.Get()
		p.Size = 1000
		s.Receive(now, 0, p)
	}
	for range 3 {
		receive(1)
	}
	if err := s.SetPrograms(2, []dataplane.Program{out, first, second}); err != nil {
		t.Fatal(err)
	}
	if first.booked != 3 || second.booked != 3 || s.Wants().Timer != 0 {
		t.Errorf("%d and %d packets are booked, next timer %v", first.booked, second.booked, s.Wants().Timer)
	}
	s.Advance(2)
	if first.ticks != 1 || second.ticks != 1 || s.Wants().Timer != unit.Second {
		t.Errorf("%d and %d ticks, the next at %v", first.ticks, second.ticks, s.Wants().Timer)
	}
	p, _ := s.Dequeue(3, 0)
	pool.Put(p)
	if err := s.SetPrograms(4, []dataplane.Program{out, second}); err != nil {
		t.Fatal(err)
	}
	receive(5)
	for range 3 {
		p, _ := s.Dequeue(6, 0)
		pool.Put(p)
	}
	if first.booked != 2 || second.booked != 0 || pool.LiveCount() != 0 || port.Packets() != 0 {
		t.Errorf("%d and %d are booked, %d live, %d wait", first.booked, second.booked, pool.LiveCount(), port.Packets())
	}
}

// turned is a codec of frames that are one byte: the size of a made-up packet.
type turned struct{ parsed, deparsed int }

func (c *turned) Parse(_ unit.Time, in packet.PortID, p *packet.Packet) error {
	c.parsed++
	p.TOS = p.Data[0] + byte(in)
	return nil
}

func (c *turned) Deparse(p *packet.Packet) error {
	c.deparsed++
	p.Data[0] = p.TOS
	return nil
}

func (c *turned) Opposite(p *packet.Packet) uint32 { return ^p.Hash }

// TestSwitch_CodecTakesUnknownFrames checks that a switch with a codec accepts frames that packet.Parse does not
// support.
func TestSwitch_CodecTakesUnknownFrames(t *testing.T) {
	var pool packet.Pool
	c := &turned{}
	ports := []*tm.Port{}
	for range 2 {
		ports = append(ports, tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(),
			unit.LinkRate{Bits: unit.Gbps}))
	}
	s, err := dataplane.New(dataplane.Config{Name: "s", Ports: ports, Pool: &pool, Programs: []dataplane.Program{&outer{}},
		Codec: c})
	if err != nil {
		t.Fatal(err)
	}
	p := pool.GetFrame(10)
	p.Data = append(p.Data, 41)
	s.Receive(0, 1, p)
	got, _ := s.Dequeue(0, 0)
	if got == nil || got.Data[0] != 42 || c.parsed != 1 || c.deparsed != 1 ||
		s.DropCounts() != [dataplane.Reasons]uint64{} {
		t.Errorf("%+v, %+v", got, c)
	}
}
