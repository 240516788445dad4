package lab

import (
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/packet"
	"weir/core/unit"
)

// leak forgets a copy of each packet.
type leak struct{ kept []*packet.Packet }

func (*leak) Name() string { return "leak" }
func (l *leak) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	l.kept = append(l.kept, env.ClonePacket(p, true))
	return dataplane.Accept
}

// TestPlane_AccountsForEveryPacket checks that the data plane accounts for every packet at the start and the end of
// the measured part, as the simulator does.
func TestPlane_AccountsForEveryPacket(t *testing.T) {
	for _, c := range []struct {
		name  string
		leaks bool
	}{{"all is accounted for", false}, {"a program forgets its copies", true}} {
		t.Run(c.name, func(t *testing.T) {
			config, now := dumbbell(), unit.Time(0)
			if c.leaks {
				config.Wiring.Switches[1].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
					return []dataplane.Program{&leak{}, forward.New(site)}, nil
				}
			}
			d, gates := memory(t, config, &now)
			var err error
			for k := 0; now < config.Duration+unit.Second && err == nil; k++ {
				if k < 100 {
					gates[0].Frames = append(gates[0].Frames, datagram(t, config, int64(k), 1000))
					gates[0].Stamps = append(gates[0].Stamps, now)
				}
				err = d.Step(now)
				now += 50 * unit.Millisecond
			}
			if (err != nil) != c.leaks || c.leaks && !strings.Contains(err.Error(), "unaccounted for: switch s1") {
				t.Errorf("%v", err)
			}
		})
	}
}
