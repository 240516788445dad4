package softswitch

import (
	"sort"
	"strings"
	"testing"

	plans "weir/core/dataplane/plan"
	"weir/core/unit"
	"weir/internal/testkit/frametest"
)

// TestPlan_GivesUsersTheirRates checks plans of 10 and 40 Mb/s on a link of 30: the first user has its plan and no
// more, the second the rest, for any excess of either, and in both directions.
func TestPlan_GivesUsersTheirRates(t *testing.T) {
	const file = `
ports: {left: {interface: a, rate: 30Mbps}, right: {interface: b, rate: 30Mbps}}
users: {behind: left}
switch:
  - plan: {rates: {10.0.0.1: 10Mbps, 10.0.0.2: 40Mbps}}
  - forward
  - abc: {}
metrics: none
`
	s := schemes()
	s.Programs = append(s.Programs, plans.Scheme())
	c, err := Decode(s, "switch.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	const frame, length = 1000, 3 * unit.Second
	for name, from := range map[string]int{"up": 0, "down": 1} {
		for _, x := range []struct {
			name  string
			a, b  int // Mb/s that are sent
			least [2]float64
		}{
			{"both too fast", 35, 45, [2]float64{9.4, 18.5}},
			{"A below its plan", 5, 45, [2]float64{4.7, 22}},
			{"B below what is left", 45, 15, [2]float64{9.4, 14.3}},
		} {
			t.Run(name+", "+x.name, func(t *testing.T) {
				b := newBench(t, c)
				for user, mbps := range []int{x.a, x.b} {
					gap := unit.Time(8000 * int64(unit.Second) / int64(mbps*1_000_000))
					for at := unit.Time(user) * 7 * unit.Microsecond; at < length; at += gap {
						f := frametest.NewDatagram(t, byte(user+1), 9, 0, frame)
						if from == 1 {
							f = frametest.NewDatagram(t, 9, byte(user+1), 0, frame)
						}
						b.send(from, at, f)
					}
				}
				b.order(from)
				b.stepUntil(t, length)
				var got [2]float64
				for i, f := range b.gates[1-from].out {
					if b.gates[1-from].when[i] < unit.Second {
						continue // the bursts
					}
					user := f[29] // last byte of the source's address
					if from == 1 {
						user = f[33]
					}
					got[user-1] += 8 * frame / 1e6 / (length - unit.Second).Seconds()
				}
				if got[0] < x.least[0] || got[1] < x.least[1] || got[0] > 10.1 || got[1] > 30 {
					t.Errorf("the users get %.1f Mb/s, want %v at least, and A 10 at most", got, x.least)
				}
			})
		}
	}
	if _, err := Decode(s, "switch.yaml", []byte(strings.Replace(file, "10Mbps, 10.0.0.2", "10Mbps, 10.0.0.1/32",
		1))); err == nil ||
		!strings.Contains(err.Error(), "switch.yaml:5:38") {
		t.Error(err)
	}
}

// order sorts the arriving frames of a port by time.
func (b *bench) order(port int) {
	g := b.gates[port]
	sort.Stable(byTime{g})
}

type byTime struct{ *gate }

func (x byTime) Len() int           { return len(x.in) }
func (x byTime) Less(i, j int) bool { return x.at[i] < x.at[j] }
func (x byTime) Swap(i, j int) {
	x.in[i], x.in[j] = x.in[j], x.in[i]
	x.at[i], x.at[j] = x.at[j], x.at[i]
}
