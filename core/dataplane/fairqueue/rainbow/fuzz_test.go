package rainbow

import (
	"bytes"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/unit"
)

// judge follows the program in the list.
type judge struct {
	t *testing.T
	x *Program
}

func (*judge) Name() string { return "judge" }

// Ingress has some senders replaced by others.
func (j *judge) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if most := uint32(j.x.config.Colours - 1); p.Meta.User > most {
		j.t.Errorf("colour %d, the last is %d", p.Meta.User, most)
	}
	if p.Size%13 == 0 {
		j.x.EvictAddress(p.Src)
	}
	return dataplane.Accept
}

func (j *judge) Admit(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if k := j.x.ports[p.Meta.Out]; p.Meta.User > k.threshold || k.threshold >= uint32(j.x.config.Colours) {
		j.t.Errorf("colour %d passes the threshold %d", p.Meta.User, k.threshold)
	}
	return dataplane.Accept
}

func (j *judge) OnDrop(_ *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	if k := j.x.ports[p.Meta.Out]; why == dataplane.EarlyDrop && p.Meta.User <= k.threshold {
		j.t.Errorf("colour %d is dropped, the threshold is %d", p.Meta.User, k.threshold)
	}
}

// FuzzProgram_DropsOnlyAboveThreshold checks for any arrivals that packets that are dropped early have a colour above
// the threshold, and that all others pass.
func FuzzProgram_DropsOnlyAboveThreshold(f *testing.F) {
	f.Add([]byte{0, 255, 31, 200, 9, 250, 40, 31, 31, 31, 29, 30, 63, 63, 28, 0, 31})
	f.Add([]byte("a link that is congested, and then idle for some time, and congested again for longer"))
	f.Add(bytes.Repeat([]byte{28, 61, 30, 0, 93}, 60))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := ports(4, 10*unit.Mbps, 30)
		c := weighed(10)
		c.K, c.Interval = 5*unit.Millisecond, unit.Millisecond
		site := s.NewSite()
		x, err := New(site, c)
		if err != nil {
			t.Fatal(err)
		}
		s.Programs = []dataplane.Program{dataplanetest.NewForwarding(site), x, &judge{t, x}}
		script := dataplanetest.FuzzTraffic(b, 4, unit.Millisecond)
		dataplanetest.CheckConservation(t, script, dataplanetest.RunDirect(s, script))
	})
}
