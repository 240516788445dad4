//go:build slow

package agent_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/core/unit"
	"weir/internal/testkit/realtime"
	"weir/worlds/lab"
)

// bounded is a case of TestFigureNCF.
type bounded struct {
	rate  unit.Rate
	rtt   unit.Time
	flows int
}

func (b bounded) String() string {
	return fmt.Sprintf("%v, %v ms, flows %d", b.rate, int(b.rtt/unit.Millisecond), b.flows)
}

// measureFlows runs the flows of a case with agents that follow NACKs of the given kind; "": without agents.
func (b bounded) measureFlows(t testing.TB, nacks string) (o figures, timeouts int, disturbed []string) {
	t.Helper()
	product := unit.Bytes(float64(b.rate) / 8 * b.rtt.Seconds())
	window := max(10*unit.Millisecond, b.rtt*3/4) // 1.5 round trips with a full queue, in four
	s := star{Hosts: b.flows + 1, Rate: b.rate, RTT: b.rtt, Buffer: unit.Length{Bytes: max(product, 100_000)},
		NCF: []string{"duration", window.String()}}
	r := s.startLab(t)
	for i := range b.flows {
		if nacks != "" {
			r.agent(i, followNCF(nacks))
		}
		r.open(i, "cubic", 4+2*(i%2))
	}
	before := r.timeouts()
	o, report := r.measure(time.Second, 5*time.Second)
	return o, r.timeouts() - before, report.Disturbed(nil, b.rtt)
}

// TestFigureNCF measures senders of Linux with NCF's switch, without an agent and with one that takes NACKs as losses
// or follows their supply: over links of 100 and 200 Mb/s, round trips of 2, 10 and 50 ms, one flow and eight, a buffer
// of one bandwidth-delay product, at least 100 kB. Responding costs at most a fifth of the goodput.
func TestFigureNCF(t *testing.T) {
	needAgent(t)
	for _, rate := range []unit.Rate{100 * unit.Mbps, 200 * unit.Mbps} {
		for _, rtt := range []unit.Time{2 * unit.Millisecond, 10 * unit.Millisecond, 50 * unit.Millisecond} {
			for _, flows := range []int{1, 8} {
				b := bounded{rate, rtt, flows}
				t.Run(b.String(), func(t *testing.T) {
					alone, disturbedAlone := 0., []string(nil)
					for _, nacks := range []string{"", "loss", "supply"} {
						o, timeouts, disturbed := b.measureFlows(t, nacks)
						least, most := slices.Min(o.Mbps), slices.Max(o.Mbps)
						t.Logf("| %v | %-6s | %.1f (%.1f to %.1f) | %d, %d | %d | %d | %s", b, nacks, o.total(), least, most, o.P50,
							o.P99, o.Again, timeouts, strings.Join(disturbed, ", "))
						if nacks == "" {
							alone, disturbedAlone = o.total(), disturbed
						} else if o.total() < 0.8*alone && len(disturbed)+len(disturbedAlone) == 0 {
							t.Errorf("nacks %s: %.1f Mb/s, without %.1f", nacks, o.total(), alone)
						}
					}
				})
			}
		}
	}
}

// TestNacks_ResponsiveFlowIsNotStarved checks that a responsive flow is not starved by one that ignores NACKs: of two
// flows one host has an agent.
func TestNacks_ResponsiveFlowIsNotStarved(t *testing.T) {
	for _, nacks := range []string{"loss", "supply"} {
		t.Run(nacks, func(t *testing.T) {
			shallow().judge(t, func(r *running) (figures, *lab.Report) {
				r.agent(0, followNCF(nacks))
				for i := range 2 {
					r.open(i, "cubic", 4)
				}
				return r.measure(2*time.Second, 10*time.Second)
			}, func(try *realtime.Try, o figures) {
				if o.Mbps[0] < o.Mbps[1]/3 {
					try.Errorf("it has %.1f Mb/s, the other %.1f", o.Mbps[0], o.Mbps[1])
				}
			})
		})
	}
}

// timeouts returns the number of timeouts of all senders since their start.
func (r *running) timeouts() (n int) {
	for i := range r.Hosts - 1 {
		r.in(i, func() error { n += counters(r.t)["TCPTimeouts"]; return nil })
	}
	return n
}

// TestKernel_ResendsLossesLaterThanNACK checks that the kernel resends a lost segment after SACK has reported it: that
// long after a NACK could have caused it.
func TestKernel_ResendsLossesLaterThanNACK(t *testing.T) {
	const delay = 5 * time.Millisecond
	r := lay(t, path{Rate: 50e6, Back: 1e9, Delay: delay, Buffer: 60}, 1)
	came := map[uint32]time.Time{}
	var after []time.Duration
	seen := func(b []byte) {
		if g, ok := segmentOf(b); ok && len(g.data) > 0 && binary.BigEndian.Uint16(b[12:]) == 0x86dd {
			if first, again := came[g.seq]; again {
				after = append(after, time.Since(first))
			} else {
				came[g.seq] = time.Now()
			}
		}
	}
	r.node.watch.Store(&seen)
	f := r.open("a1")
	f.send()
	time.Sleep(6 * time.Second)
	r.node.mu.Lock()
	defer r.node.mu.Unlock()
	if len(after) < 5 {
		t.Skipf("%d segments were sent again", len(after))
	}
	slices.Sort(after)
	t.Logf("%d segments were sent again, in the median %v after they were lost; a NACK is there after %v", len(after),
		after[len(after)/2], delay)
	if after[0] < delay {
		t.Errorf("one was sent again after %v", after[0])
	}
}
