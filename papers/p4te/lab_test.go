package p4te_test

import (
	"testing"

	"weir/internal/testkit/runtest"
	"weir/study/experiment"
)

// means are the means over seeds of a measure at a point, by group.
func means(t *testing.T, name, measure string, o experiment.Options) map[string]map[string]float64 {
	t.Helper()
	all, n := map[string]map[string]float64{}, map[string]float64{}
	for _, r := range runtest.ExecuteAll(t, library(), name, o).Runs {
		at := ""
		for _, c := range r.Point {
			at += c.Text + " "
		}
		if all[at] == nil {
			all[at] = map[string]float64{}
		}
		n[at]++
		for _, m := range r.Measures {
			for _, g := range m.Groups {
				if m.Name == measure {
					all[at][g.Group] += g.Value
				}
			}
		}
	}
	for at, groups := range all {
		for g := range groups {
			groups[g] /= n[at]
		}
	}
	return all
}

// TestCommittedRate checks that windows limited by a leaf cost as much as its meter calls over-utilised. A class above
// its safe rate has the committed share of two links of 20 Mb/s with the paper's rise, for any share, and nearly all
// with Weir's. P4TE's header uses 2 % of a frame.
func TestCommittedRate(t *testing.T) { committedRate(t, "repeat=2") }

// committedRate compares the goodput of the two classes with what the meter commits, with the given number of seeds.
func committedRate(t *testing.T, repeat string) {
	t.Helper()
	for at, groups := range means(t, "p4te/lab", "goodput", experiment.Options{Quick: true, Set: []string{"load=heavy",
		"scheme=[enforced, share, code_rates]", repeat}}) {
		t.Run(at, func(t *testing.T) {
			share := map[string]float64{"heavy share ": 0.7, "heavy code_rates ": 0.9, "heavy enforced ": 0.98}
			want := share[at] * 40e6 * 1448 / 1546
			if got := groups["bulk"] + groups["fast"]; got < 0.93*want || got > 1.02*want {
				t.Errorf("%.2f Mb/s, want %.2f", got/1e6, want/1e6)
			}
		})
	}
}

// TestMovesOff checks that a second after a link has failed, all traffic of the leaf uses another. Acknowledgements
// arrive by the leaf without the information, and flows survive if flowlets are hashed again, or if that leaf is
// notified.
func TestMovesOff(t *testing.T) { movesOff(t, "repeat=1") }

// movesOff compares what arrives after a failure, with the given number of seeds.
func movesOff(t *testing.T, repeat string) {
	t.Helper()
	all := means(t, "p4te/lab-failure", "goodput", experiment.Options{Set: []string{"failure=[link, spine]", repeat}})
	for _, x := range []struct {
		at, group string
		low, high float64 // of 8 Mb/s
	}{
		{"link p4te ", "udp", 0.99, 1.01}, {"spine p4te ", "udp", 0.99, 1.01}, {"spine p4te ", "tcp", 0.97, 1.01},
		{"link p4te ", "tcp", 0, 0.9}, {"link flowlet ", "tcp", 0.95, 1.1}, {"link tell ", "tcp", 0.97, 1.1},
		{"link ecmp ", "udp", 0, 0.9},
	} {
		t.Run(x.at+x.group, func(t *testing.T) {
			if got := all[x.at][x.group] / 8e6; got < x.low || got > x.high {
				t.Errorf("%.3f of what is sent arrives, want %v to %v", got, x.low, x.high)
			}
		})
	}
}
