package ncf_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/internal/testkit/runtest"
	"weir/study/experiment"
	"weir/study/results"
	"weir/study/run"
)

// megabits is a traffic's goodput in Mb/s, in the only run of an outcome.
func megabits(t *testing.T, out *results.Outcome, traffic string) float64 {
	t.Helper()
	return megabitsOf(t, out, "goodput", traffic)
}

// megabitsOf is a measure's value for a group in Mb/s, in the only run of an outcome.
func megabitsOf(t *testing.T, out *results.Outcome, measure, group string) float64 {
	t.Helper()
	if len(out.Runs) != 1 {
		t.Fatalf("%d runs", len(out.Runs))
	}
	for _, m := range out.Runs[0].Measures {
		for _, g := range m.Groups {
			if m.Name == measure && g.Group == group {
				return g.Value / 1e6
			}
		}
	}
	t.Fatalf("no %s of %s", measure, group)
	return 0
}

// TestAttack_MiceLeaveElephantsTheirHalf checks NCF §4.4: a flood of mice, at twice the port's rate, leaves responsive
// elephants, by TCP, 0.9 of their fair half at each round trip. Without the budgets, or with one that n·d renews, it
// takes part of it. TestAttackFull has all round trips and longer runs.
func TestAttack_MiceLeaveElephantsTheirHalf(t *testing.T) {
	attacked(t, "duration=1s", []underAttack{{"1ms", "2", "twice", "ncf", 0.9 * half, 1.05 * half},
		{"4ms", "2", "twice", "ncf", 0.9 * half, 1.05 * half}, {"4ms", "2", "twice", "windows", 0, 0.88 * half}})
}

// TestAttackOfManyTimes checks that floods of several times the port leave elephants as much, and each of ten a quarter
// of its part or more, by loss and by supply. TestAttackFull has more.
func TestAttackOfManyTimes(t *testing.T) {
	attacked(t, "duration=500ms", []underAttack{{"1ms", "10", "10_times", "ncf", 0.9 * half, 1.05 * half},
		{"1ms", "10", "10_times", "ncf_supply", 0.9 * half, 1.1 * half},
		{"4ms", "10", "10_times", "ncf", 0.9 * half, 1.05 * half},
		{"4ms", "10", "10_times", "ncf_supply", 0.9 * half, 1.1 * half}})
}

const half = 478 // Mb/s of payload, of a port of 1 Gb/s

// underAttack is a scheme at a round trip with elephants and a flood, and the range of the elephants' goodput.
type underAttack struct {
	rtt, elephants, load, scheme string
	from, to                     float64
}

// attacked runs cases. Each elephant has at least a quarter of its part of the elephants' half.
func attacked(t *testing.T, duration string, cases []underAttack) {
	t.Helper()
	for _, c := range cases {
		t.Run(strings.Join([]string{c.rtt, c.elephants, c.load, c.scheme}, " "), func(t *testing.T) {
			out := runtest.ExecuteAll(t, library(), "ncf/attack", experiment.Options{Quick: true, Set: []string{"rtt=" + c.rtt,
				"elephants=" + c.elephants, "load=" + c.load, "scheme=" + c.scheme, duration}})
			if got := megabits(t, out, "elephants"); got < c.from || got > c.to {
				t.Errorf("elephants have %.1f Mb/s, want %.0f to %.0f", got, c.from, c.to)
			}
			n, err := strconv.Atoi(c.elephants)
			if err != nil {
				t.Fatal(err)
			}
			slowest := megabitsOf(t, out, "goodput_slowest", "senders")
			if want := half / float64(n) / 4; c.from > 0 && slowest < want {
				t.Errorf("the slowest of %d has %.2f Mb/s, want %.2f", n, slowest, want)
			}
		})
	}
}

// TestAttack_PulsedMiceAreBounded checks that mice in pulses, with n·d between them in which they keep their balance,
// are bounded, too.
func TestAttack_PulsedMiceAreBounded(t *testing.T) {
	pulses(t, "1ms", "duration=1500ms", "traffic.burst.sets={count: 60, interval: 24ms}")
}

// pulses compares the default restoring time of a budget with 10 ms, at the given round trip, with the given settings.
func pulses(t *testing.T, rtt string, set ...string) {
	t.Helper()
	share := map[string]float64{}
	for _, budget := range []string{"ncf", "10ms"} {
		out := runtest.ExecuteAll(t, library(), "ncf/attack-budget", experiment.Options{Quick: true, Set: append(set,
			"rtt="+rtt,
			"load=pulses", "budget="+budget)})
		share[budget] = megabits(t, out, "elephants")
	}
	if share["ncf"] < 0.9*478 || share["10ms"] > 0.88*share["ncf"] {
		t.Errorf("elephants have %.0f Mb/s, and %.0f with a balance of 10 ms", share["ncf"], share["10ms"])
	}
}

// TestNoStarvation checks NCF §4.2, "elephant flows cannot starve mice flows and vice versa", with responsive senders
// in one port, in any number and with any windows, by loss and by supply. Each class gets a good part of its half when
// both need it, and nearly all of the port without the other.
func TestNoStarvation(t *testing.T) {
	sharesOfClasses(t, []roundTrip{{"2ms", "500us", "500kB"}},
		[]string{"four elephants", "ten elephants", "elephants alone"})
}

// roundTrip is a star's: its name, the delay of its links and its buffer.
type roundTrip struct{ name, delay, buffer string }

// sharesOfClasses runs the named kinds of traffic at the given round trips.
func sharesOfClasses(t *testing.T, trips []roundTrip, kinds []string) {
	t.Helper()
	const (
		elephants = "{name: elephants, from: [h0, h1], to: h5, flows: %d, transport: {tcp: {nacks: %s}}, cc: cubic, " +
			"start: 0s..20ms}"
		// mice that wait for their ACKs: twice the port, in flows of 20 kB, if they had room
		mice = ", {name: mice, from: [h2, h3], to: h5, transport: {tcp: {nacks: %s}}, cc: cubic, size: 20kB, load: 100%%, " +
			"start: 500ms}"
	)
	for _, rtt := range trips {
		for _, c := range []struct {
			name, nacks string
			flows       int     // a host, of elephants
			fat, thin   float64 // least share of the port
		}{
			{"both", "loss", 1, 0.4, 0.4},
			{"both", "supply", 1, 0.4, 0.4},
			{"four elephants", "loss", 2, 0.4, 0.4},
			{"four elephants", "supply", 2, 0.4, 0.4},
			{"ten elephants", "loss", 5, 0.4, 0.4},
			{"ten elephants", "supply", 5, 0.4, 0.4},
			{"elephants alone", "loss", 1, 0.9, 0},
			{"elephants alone", "supply", 1, 0.9, 0},
		} {
			if !slices.Contains(kinds, c.name) {
				continue
			}
			t.Run(rtt.name+" "+c.name+", "+c.nacks, func(t *testing.T) {
				traffic := fmt.Sprintf(elephants, c.flows, c.nacks)
				if c.thin > 0 {
					traffic += fmt.Sprintf(mice, c.nacks)
				}
				text := fmt.Sprintf("duration: 500ms\nwarmup: 1s\n"+
					"topology: {star: {hosts: 6, rate: 500Mbps, delay: %s, buffer: %s}}\n"+
					"switches: {s: {queues: 3, scheduler: ncf, programs: [forward, {ncf: {round_trip: %s}}]}}\ntraffic: [%s]\n",
					rtt.delay, rtt.buffer, strings.Replace(rtt.name, "0.2ms", "200us", 1), traffic)
				s := plantest.Load(t, library(), text, experiment.Options{})
				out, err := run.Execute(context.Background(), s, run.Options{Threads: 1})
				if err != nil || len(out.Failed) > 0 {
					t.Fatal(err, out.Failed)
				}
				const port = 478
				fat, thin := megabits(t, out, "elephants")/port, 0.0
				if c.thin > 0 {
					thin = megabits(t, out, "mice") / port
				}
				t.Logf("elephants have %.3f of the port, mice %.3f", fat, thin)
				if fat < c.fat || thin < c.thin {
					t.Errorf("elephants have %.3f of the port, mice %.3f", fat, thin)
				}
			})
		}
	}
}
