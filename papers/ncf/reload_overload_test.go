package ncf

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// reloaded runs mice at the given multiple of the port's rate next to an elephant at the port's rate, which begin 20
// n·d before a reload. It returns what mice have of the port in the n·d before and after the reload. Frames are as long
// as a quantum of the scheduler's rounds, so that elephants have no deficit left over when mice take what they need.
func reloaded(t *testing.T, mice float64, given []string, reload func(r *rig, site *dataplane.Site)) (before,
	after float64) {
	t.Helper()
	r := newRig(t, setup{ports: 4, queues: 3, rates: map[int]unit.Rate{0: 10 * unit.Gbps, 2: 10 * unit.Gbps},
		given: given})
	const span = 4 * ms // n·d
	const change, end = 20 * span, 21 * span
	r.sent = func(at unit.Time, _ packet.PortID, p *packet.Packet) {
		share := float64(p.Size) / float64(unit.Gbps.BytesIn(span))
		switch {
		case p.Src != 3 || p.IsNotification():
		case at > change-span && at <= change:
			before += share
		case at > change && at <= end:
			after += share
		}
	}
	gap := unit.TransmitTime(1514, unit.Gbps)
	due := [2]unit.Time{0, 1}
	for i := 0; ; i++ {
		k := 0
		if due[1] < due[0] {
			k = 1
		}
		now := due[k]
		if now > end {
			break
		}
		if reload != nil && now >= change {
			r.until(now)
			site := &dataplane.Site{Switch: "s", ID: 7, Ports: 4, Queues: 3, Book: r.book, MaxFrame: 1514,
				Random: func(entity string) unit.Random { return unit.NewRandom(1, entity) }}
			for i := range 4 {
				site.At = append(site.At, r.sw.Port(packet.PortID(i)))
			}
			reload(r, site)
			reload = nil
		}
		if k == 0 {
			due[0] += unit.Time(float64(gap) / mice)
			r.come(now, 2, r.data(3, 2, many(i), int64(i)*1448, 1448, asDatagram))
		} else {
			due[1] += gap
			r.come(now, 0, r.data(1, 2, 9, int64(i)*1448, 1448))
		}
	}
	return before, after
}

func asDatagram(p *packet.Packet) { p.Proto = packet.ProtoUDP }

// TestReloadWithout checks that a reload without ncf removes its scheduling from the ports: elephants have an equal
// part, as without the program, for any mice. A program that the switch keeps retains it.
func TestReloadWithout(t *testing.T) {
	given := []string{"memory", "200kB", "least", "15kB", "duration", "1ms"}
	for _, mice := range []float64{0.8, 0.9, 3} {
		for _, stays := range []bool{false, true} {
			t.Run(fmt.Sprintf("%g of the port, ncf stays: %v", mice, stays), func(t *testing.T) {
				before, after := reloaded(t, mice, given, func(r *rig, _ *dataplane.Site) {
					list := []dataplane.Program{r.first, byPort{}}
					if stays {
						list = []dataplane.Program{r.first, r.g}
					} else {
						r.g = nil
					}
					if err := r.sw.SetPrograms(20*4*ms, list); err != nil {
						t.Fatal(err)
					}
				})
				want := min(mice, 1)
				if mice > 1 {
					want = 0.5
				}
				if before < want-0.05 || before > want+0.05 {
					t.Errorf("mice have %.3f of the port before the reload, want %.2f", before, want)
				}
				if !stays {
					want = 0.5
				}
				if after < want-0.05 || after > want+0.05 {
					t.Errorf("mice have %.3f of the port after the reload, want %.2f", after, want)
				}
			})
		}
	}
}

// byPort puts packets into the queues that NCF would have them in.
type byPort struct{}

func (byPort) Name() string { return "by port" }

func (byPort) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Class = 2; p.Src == 3 {
		p.Meta.Class = 1
	}
	return dataplane.Accept
}

// TestReloadInOverload checks that an overload continues over a reload with other parameters. Mice keep their equal
// part, and do not get all of the port for the time until an overload begins.
func TestReloadInOverload(t *testing.T) {
	given := []string{"memory", "200kB", "least", "15kB", "duration", "1ms"}
	for _, x := range []struct {
		name  string
		given []string
		want  float64 // of mice, after the reload
	}{
		{"other target", append(given, "target", "80%"), 0.5},
		{"other windows", []string{"memory", "200kB", "least", "15kB", "duration", "2ms"}, 0.5},
	} {
		for _, mice := range []float64{1.05, 1.5} {
			t.Run(fmt.Sprintf("%s, %g of the port", x.name, mice), func(t *testing.T) {
				before, after := reloaded(t, mice, given, func(r *rig, site *dataplane.Site) {
					g, err := dataplanetest.BuildProgram(Scheme(), site, x.given...)
					if err != nil {
						t.Fatal(err)
					}
					fresh := g.(*Program)
					fresh.Adopt(20*4*ms, r.g)
					if err := r.sw.SetPrograms(20*4*ms, []dataplane.Program{r.first, fresh}); err != nil {
						t.Fatal(err)
					}
					r.g = fresh
				})
				if before < 0.45 || before > 0.55 || after < x.want-0.05 || after > x.want+0.05 {
					t.Errorf("mice have %.3f of the port before the reload and %.3f after it, want 0.50 and %.2f", before,
						after, x.want)
				}
			})
		}
	}
}

// TestReloadOfOnePort checks that a reload keeps the drops of mice that were not yet resent, and the flows' counts
// where the port's d is the same, here with another rate of one port. That port counts its flows from 0, in windows for
// its rate.
func TestReloadOfOnePort(t *testing.T) {
	given := []string{"round_trip", "1ms", "least", "15kB"}
	const changed = 2
	ports := func(rate unit.Rate, given ...string) *rig {
		return newRig(t, setup{ports: 3, queues: 3, limit: tm.Limit{Bytes: 100_000},
			rates: map[int]unit.Rate{0: 100 * unit.Mbps, changed: rate}, given: given})
	}
	for _, x := range []struct {
		name  string
		given []string
		lost  string
		kept  [4]bool // what flows have sent, by port; the last is for flows without a port
	}{
		{"the rate alone", given, "what flows have sent to ports whose windows have another length",
			[4]bool{true, true, false, true}},
		{"round_trip, too", append(given, "round_trip", "2ms"), "what flows have sent", [4]bool{}},
	} {
		t.Run(x.name, func(t *testing.T) {
			old, fresh := ports(unit.Gbps, given...).g, ports(500*unit.Mbps, x.given...).g
			want := fresh.ports[changed].sketch.Duration()
			for i := range old.ports {
				old.ports[i].repeats.add(7, segment(i))
			}
			if _, lost := fresh.Adopt(0, old); len(lost) != 1 || lost[0] != x.lost {
				t.Errorf("lost: %q", lost)
			}
			for i := range fresh.ports {
				p, q := &fresh.ports[i], &old.ports[i]
				if !p.repeats.remove(7, segment(i)) {
					t.Errorf("port %d has forgotten a packet that it dropped", i)
				}
				if (p.sketch == q.sketch) != x.kept[i] || (p.top == q.top) != x.kept[i] ||
					p.mice.duration != p.sketch.Duration() {
					t.Errorf("port %d keeps what flows have sent: %v, and mice are counted in windows of %v", i, !x.kept[i],
						p.mice.duration)
				}
			}
			if got := fresh.ports[changed].sketch.Duration(); got != want {
				t.Errorf("d of the port with another rate is %v, want %v", got, want)
			}
		})
	}
}
