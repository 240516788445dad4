package csfq

import (
	"bytes"
	"math"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/unit"
)

// judge precedes the program in the list: it sees the alpha that decides about the packet.
type judge struct {
	t *testing.T
	x *program
}

func (*judge) Name() string { return "judge" }

// Ingress has some senders replaced by others.
func (j *judge) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Size%13 == 0 {
		j.x.EvictAddress(p.Src)
	}
	return dataplane.Accept
}

func (j *judge) Admit(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	k := &j.x.ports[p.Meta.Out]
	if a := k.alpha; a < 0 || math.IsNaN(a) || math.IsInf(a, 0) || k.updated*0.7499 > a {
		j.t.Errorf("alpha is %g, and was %g at its last update", a, k.updated)
	}
	if l := j.x.label; l <= 0 || math.IsInf(l, 0) || k.DropProbability(l) < 0 || k.DropProbability(l) >= 1 ||
		k.DropProbability(l) > k.DropProbability(2*l) {
		j.t.Errorf("label %g, probability %g", l, k.DropProbability(l))
	}
	return dataplane.Accept
}

func (j *judge) OnDrop(_ *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	if a := j.x.ports[p.Meta.Out].alpha; why == dataplane.EarlyDrop && (a <= 0 || j.x.label <= a) {
		j.t.Errorf("a packet with label %g is dropped, alpha is %g", j.x.label, a)
	}
}

// FuzzProgram_SparesUsersBelowFairRate checks for any arrivals that a user at or below the fair rate never loses a
// packet by chance, and that the fair rate stays a valid one.
func FuzzProgram_SparesUsersBelowFairRate(f *testing.F) {
	f.Add([]byte{0, 255, 31, 200, 9, 250, 40, 31, 31, 31, 29, 30, 63, 63, 28, 0, 31})
	f.Add([]byte("a link that is congested, and then idle for some time, and congested again for longer"))
	f.Add(bytes.Repeat([]byte{28, 61, 30, 0, 93}, 60))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := dataplanetest.NewLinks(4, 10*unit.Mbps, 0)
		s.Ports[3].Total.Packets = 20
		c := weighed(10)
		c.K, c.KAlpha, c.KC = 5*unit.Millisecond, 10*unit.Millisecond, 10*unit.Millisecond
		site := s.NewSite()
		x, err := newProgram(site, c)
		if err != nil {
			t.Fatal(err)
		}
		s.Programs = []dataplane.Program{dataplanetest.NewForwarding(site), &judge{t, x}, x}
		script := dataplanetest.FuzzTraffic(b, 4, unit.Millisecond)
		dataplanetest.CheckConservation(t, script, dataplanetest.RunDirect(s, script))
	})
}
