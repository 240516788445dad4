package dataplane

import (
	"slices"
	"testing"

	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// maker answers data by a NACK and by a copy, and notes when what is dropped was sent.
type maker struct{ sent [packet.Kinds]unit.Time }

func (*maker) Name() string { return "maker" }
func (k *maker) Ingress(env *Env, p *packet.Packet) Verdict {
	p.Meta.Out = 0
	if p.Kind == packet.Data && p.Meta.In != packet.NoPort {
		n := env.NewPacket()
		n.Kind, n.Size = packet.Nack, 64
		env.SendPacket(n, 0, 0)
		env.InjectPacket(env.ClonePacket(p, false))
	}
	return Accept
}
func (k *maker) OnDrop(_ *Env, p *packet.Packet, _ Reason) { k.sent[p.Kind] = p.Sent }

// TestSwitch_CountsMadePackets checks that packets that programs make are counted by kind, and at the place of their
// drop, also in another switch. A NACK has its own age, and a copy of data the data's age.
func TestSwitch_CountsMadePackets(t *testing.T) {
	var pool packet.Pool
	k := &maker{}
	port := tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{Packets: 1}), tm.NewFIFO(), unit.LinkRate{Bits: unit.Gbps})
	s, err := New(Config{Name: "s", Ports: []*tm.Port{port}, Programs: []Program{k}, Pool: &pool})
	if err != nil {
		t.Fatal(err)
	}
	arrive := func(kind packet.Kind, flags uint8) {
		p := pool.Get()
		p.Kind, p.Size, p.Sent, p.Meta.Flags = kind, 100, 5, flags
		s.Receive(7, 0, p)
	}
	arrive(packet.Data, 0) // it takes the only place
	want := [packet.Kinds]uint64{packet.Data: 1, packet.Nack: 1}
	if s.MadePackets() != want || s.MadeDrops() != want || k.sent != [packet.Kinds]unit.Time{packet.Data: 5,
		packet.Nack: 7} {
		t.Errorf("made %v, dropped %v, sent at %v", s.MadePackets(), s.MadeDrops(), k.sent)
	}
	arrive(packet.Nack, 0)               // of a receiver
	arrive(packet.Nack, packet.Internal) // of another switch
	if want[packet.Nack]++; s.MadeDrops() != want || s.MadePackets()[packet.Nack] != 1 {
		t.Errorf("made %v, dropped %v", s.MadePackets(), s.MadeDrops())
	}
}

// copier sends each packet by both ports, and then drops packets with a DSCP.
type copier struct{ admitted []packet.Metadata }

func (*copier) Name() string { return "copier" }
func (*copier) Ingress(env *Env, p *packet.Packet) Verdict {
	p.Meta.Out = 0
	env.ReplicateTo(1)
	p.Meta.Class, p.Meta.User = 0, uint32(p.Seq)
	if p.TOS > 0 {
		return Drop(Policed)
	}
	return Accept
}
func (c *copier) Admit(_ *Env, p *packet.Packet) Verdict {
	c.admitted = append(c.admitted, p.Meta)
	return Accept
}

// TestEnv_CopiesPassOwnAdmission checks that a copy is its sender's packet like its original. It has the ingress's
// findings, passes the admission of its own port, is not the switch's own, and is dropped with the ingress's drop.
func TestEnv_CopiesPassOwnAdmission(t *testing.T) {
	var pool packet.Pool
	c := &copier{}
	var ports []*tm.Port
	for range 2 {
		ports = append(ports, tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{Packets: 2}), tm.NewFIFO(),
			unit.LinkRate{Bits: unit.Gbps}))
	}
	s, err := New(Config{Name: "s", Ports: ports, Programs: []Program{c}, Pool: &pool})
	if err != nil {
		t.Fatal(err)
	}
	for i, tos := range []uint8{0, 4, 0} {
		p := pool.Get()
		p.Size, p.TOS, p.Seq = 100, tos, int64(i+1)
		s.Receive(unit.Time(i), 3, p)
	}
	want := []packet.Metadata{{In: 3, Out: 1, User: 1}, {In: 3, Out: 0, User: 1}, {In: 3, Out: 1, User: 3},
		{In: 3, Out: 0, User: 3}}
	if !slices.Equal(c.admitted, want) || ports[0].Packets() != 2 || ports[1].Packets() != 2 {
		t.Errorf("admitted %+v", c.admitted)
	}
	if l := s.Ledger(); l.Made != 2 || l.Ended != 1 || l.Held != 4 {
		t.Errorf("%+v", l)
	}
}
