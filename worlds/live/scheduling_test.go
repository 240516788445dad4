package live

import (
	"slices"
	"testing"
)

// TestDivideCores_LeavesCoresToOthers checks for any kind and number of processors that some are left to all other
// threads. SCHED_FIFO never has all processors, no thread waits for a missing processor, and on one processor all are
// nice.
func TestDivideCores_LeavesCoresToOthers(t *testing.T) {
	for n := 1; n <= 5; n++ {
		var cores []int
		for i := range n {
			cores = append(cores, 2*i) // as if a cpuset had left every second one
		}
		for _, s := range append(slices.Clone(Schedulings), "") {
			plane, hosts, rest := s.DivideCores(cores)
			for _, d := range []Duty{plane, hosts} {
				if (d.Kind == FIFO || d.Kind == Deadline) && (len(d.Cores) == 0 || len(d.Cores) >= n) {
					t.Errorf("%q on %d: FIFO on %v", s, n, d.Cores)
				}
				for _, c := range d.Cores {
					if !slices.Contains(cores, c) {
						t.Errorf("%q on %d: %v", s, n, d.Cores)
					}
				}
				if n == 1 && d.Kind != Nice {
					t.Errorf("%q on one: %v", s, d)
				}
				want := s
				if want == "" {
					want = DefaultScheduling
				}
				if n > 1 && d.Kind != want {
					t.Errorf("%q on %d: %v", s, n, d)
				}
			}
			if s != Core || n == 1 {
				if rest != nil {
					t.Errorf("%q on %d keeps others to %v", s, n, rest)
				}
				continue
			}
			if len(rest) == 0 || slices.Contains(rest, plane.Cores[0]) || n > 2 && (slices.Contains(rest, hosts.Cores[0]) ||
				plane.Cores[0] == hosts.Cores[0]) {
				t.Errorf("own cores of %d: %v, %v, rest %v", n, plane, hosts, rest)
			}
		}
	}
}

func TestParseScheduling(t *testing.T) {
	for _, s := range Schedulings {
		if got, err := parseScheduling(string(s)); got != s || err != nil {
			t.Errorf("%s: %s, %v", s, got, err)
		}
	}
	if _, err := parseScheduling("rr"); err == nil ||
		err.Error() != `scheduling "rr" is unknown; allowed: nice, fifo, deadline, core` {
		t.Error(err)
	}
}
