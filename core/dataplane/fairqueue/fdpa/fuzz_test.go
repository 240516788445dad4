package fdpa

import (
	"bytes"
	"math"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/unit"
)

// judge follows the program in the list.
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
	k, sum := &j.x.ports[p.Meta.Out], 0.0
	for i, last := range k.lastSent {
		if last != 0 {
			sum += j.x.rates.WeightOf(i)
		}
	}
	if math.Abs(sum-k.weight) > 1e-9 || sum < j.x.rates.Weight(j.x.rates.UserOf(p)) {
		j.t.Errorf("weight %g, of all who are active %g", k.weight, sum)
	}
	rate := j.x.rates.Value(j.x.rates.UserOf(p))
	if q := p.Meta.Queue; int(q) >= j.x.queues || rate <= 10e6/sum && q != 0 {
		j.t.Errorf("queue %d at a rate of %g", q, rate)
	}
	return dataplane.Accept
}

// FuzzProgram_WeightMatchesActiveUsers checks for any arrivals that the weight counts active users only, also when a
// source moves to another host. A user at or below the share of a weight of 1 never waits in a later queue.
func FuzzProgram_WeightMatchesActiveUsers(f *testing.F) {
	f.Add([]byte{0, 255, 31, 200, 9, 250, 40, 31, 31, 31, 29, 30, 63, 63, 28, 0, 31})
	f.Add([]byte("a link that is congested, and then idle for some time, and congested again for longer"))
	f.Add(bytes.Repeat([]byte{28, 61, 30, 0, 93}, 60))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := ports(4, 4, 10*unit.Mbps, 10, 30)
		c := weighed(20)
		c.K, c.Active = 5*unit.Millisecond, 10*unit.Millisecond
		site := s.NewSite()
		x, err := newProgram(site, c)
		if err != nil {
			t.Fatal(err)
		}
		s.Programs = []dataplane.Program{dataplanetest.NewForwarding(site), x, &judge{t, x}}
		script := dataplanetest.FuzzTraffic(b, 4, unit.Millisecond)
		dataplanetest.CheckConservation(t, script, dataplanetest.RunDirect(s, script))
	})
}
