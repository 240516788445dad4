package ppv

import (
	"bytes"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
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
	if n := j.x.config.regionCount(); p.Meta.User >= uint32(n) {
		j.t.Errorf("rank %d of %d", p.Meta.User, n)
	}
	if p.Size%13 == 0 {
		j.x.EvictAddress(p.Src)
	}
	return dataplane.Accept
}

func (j *judge) Admit(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if k := j.x.ports[p.Meta.Out]; !j.x.config.Smallest && (p.Meta.User > k.threshold || k.partAtThreshold < 0 ||
		k.partAtThreshold > 1 ||
		k.probability < 0 || k.probability > 1 || k.currentBytes[p.Meta.User] < int64(p.Size)) {
		j.t.Errorf("rank %d passes threshold %d, part %g, probability %g", p.Meta.User, k.threshold, k.partAtThreshold,
			k.probability)
	}
	return dataplane.Accept
}

func (j *judge) OnDrop(_ *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	k := j.x.ports[p.Meta.Out]
	if why == dataplane.EarlyDrop && (p.Meta.User < k.threshold || k.probability == 0) {
		j.t.Errorf("rank %d is dropped, the threshold is %d, the probability %g", p.Meta.User, k.threshold, k.probability)
	}
}

// FuzzProgram_DropsOnlyAboveThreshold checks for any arrivals that packets that are dropped early are not below the
// threshold, and are dropped only while PIE has a probability.
func FuzzProgram_DropsOnlyAboveThreshold(f *testing.F) {
	f.Add(true, []byte{0, 255, 31, 200, 9, 250, 40, 31, 31, 31, 29, 30, 63, 63, 28, 0, 31})
	f.Add(false, []byte("a link that is congested, and then idle for some time, and congested again for longer"))
	f.Add(false, bytes.Repeat([]byte{28, 61, 30, 0, 93}, 60))
	f.Fuzz(func(t *testing.T, smallest bool, b []byte) {
		s := dataplanetest.NewSetup(4, dataplanetest.Port{Rate: unit.LinkRate{Bits: 10 * unit.Mbps},
			Total: tm.Limit{Packets: 30}}, shape(smallest))
		c := weighed(smallest, 10)
		c.K, c.Target, c.Update, c.Window = 5*unit.Millisecond, 5*unit.Millisecond, 2*unit.Millisecond,
			10*unit.Millisecond
		c.Alpha, c.Beta = 10, 100
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
