package p4abc_test

import (
	"context"
	"math"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/internal/testkit/runtest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/run"
)

// shadowed is an exact program that decides, and an integer one that sees the same packets.
type shadowed struct {
	*p4abc.Program
	whole *p4abc.Program
	seen  *seen
}

// seen is by how much the two differed at most.
type seen struct {
	packets           int
	activity, average float64
}

func (s *shadowed) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	s.whole.Ingress(env, p)
	v := s.Program.Ingress(env, p)
	if p.Meta.Flags&packet.Internal == 0 {
		s.seen.packets++
		s.seen.activity = max(s.seen.activity, math.Abs(s.whole.Activity()-s.Program.Activity()))
	}
	return v
}

func (s *shadowed) Book(env *dataplane.Env, p *packet.Packet) {
	s.whole.Book(env, p)
	s.Program.Book(env, p)
	s.seen.average = max(s.seen.average,
		math.Abs(s.whole.AverageActivity(p.Meta.Out)-s.Program.AverageActivity(p.Meta.Out)))
}

// TestRecordedArrivals checks that for every packet of figures 4, 5 and 6, constant rates, TCP and both, the integer
// activity is within the bound, and A_avg with it. (An average may differ by more than its samples while they change:
// its slots are 1/32 of M_AA.).
func TestRecordedArrivals(t *testing.T) { recordedArrivals(t, "duration=2s") }

// recordedArrivals compares the integer activity with the exact one during the given duration.
func recordedArrivals(t *testing.T, duration string) {
	t.Helper()
	for name, set := range map[string][]string{"p4abc/fig4": {"scheme=abc"}, "p4abc/fig5": {"scheme=abc"},
		"p4abc/fig6": {"scheme=abc"}} {
		t.Run(name, func(t *testing.T) {
			found := &seen{}
			r := registry()
			for i, x := range r.Programs {
				if x.Name == "abc" {
					r.Programs[i] = shadow(found)
				}
			}
			s := runtest.Load(t, r, name, experiment.Options{Quick: true, Set: append(set, duration, "warmup=1s")})
			if o, err := run.Execute(context.Background(), s, run.Options{Jobs: 1}); err != nil || len(o.Failed) > 0 {
				t.Fatal(err, o.Failed)
			}
			if found.packets < 20_000 || found.activity > p4abc.IntegerBound || found.average > 0.1 {
				t.Errorf("%d packets: activity is off by up to %.4f, A_avg by %.4f", found.packets, found.activity, found.average)
			}
			t.Logf("%d packets: activity is off by up to %.4f, A_avg by %.4f", found.packets, found.activity, found.average)
		})
	}
}

// shadow is abc with a shadow.
func shadow(found *seen) dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "abc", Doc: "both arithmetics", Source: "Weir"},
		func(site *dataplane.Site, c p4abc.Config) (dataplane.Program, error) {
			exact, err := p4abc.New(site, c)
			if err != nil {
				return nil, err
			}
			c.Integer = true
			whole, err := p4abc.New(site, c)
			return &shadowed{exact, whole, found}, err
		})
}
