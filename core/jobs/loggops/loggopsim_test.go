package loggops_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/unit"
)

// schedule builds a GOAL text.
type schedule struct {
	ranks []strings.Builder
	count int
}

func newSchedule(n int) *schedule { return &schedule{ranks: make([]strings.Builder, n)} }

// add writes an operation of a rank that follows others, and returns its label.
func (s *schedule) add(rank int, what string, after ...string) string {
	s.count++
	label := fmt.Sprintf("l%d", s.count)
	fmt.Fprintf(&s.ranks[rank], "%s: %s\n", label, what)
	for _, a := range after {
		fmt.Fprintf(&s.ranks[rank], "%s requires %s\n", label, a)
	}
	return label
}

func (s *schedule) send(rank, to, size, tag int, after ...string) string {
	return s.add(rank, fmt.Sprintf("send %db to %d tag %d", size, to, tag), after...)
}

func (s *schedule) receive(rank, from, size, tag int, after ...string) string {
	return s.add(rank, fmt.Sprintf("recv %db from %d tag %d", size, from, tag), after...)
}

func (s *schedule) String() string {
	text := fmt.Sprintf("num_ranks %d\n", len(s.ranks))
	for i := range s.ranks {
		text += fmt.Sprintf("rank %d {\n%s}\n", i, s.ranks[i].String())
	}
	return text
}

// reduction returns a reduction over a binomial tree to rank 0: a rank receives from ranks 2^k further on, and then
// sends.
func reduction(n, size int) *schedule {
	s := newSchedule(n)
	for r := range n {
		var received []string
		for k := 1; k < n; k *= 2 {
			if k > r && r+k < n {
				received = append(received, s.receive(r, r+k, size, 1))
			}
		}
		if r > 0 {
			s.send(r, r-1<<(bits.Len(uint(r))-1), size, 1, received...)
		}
	}
	return s
}

// tree returns the way back of a reduction: a rank receives, and then sends to ranks 2^k further on.
func tree(n, size int) *schedule {
	s := newSchedule(n)
	for r := range n {
		var received []string
		if r > 0 {
			received = append(received, s.receive(r, r-1<<(bits.Len(uint(r))-1), size, 1))
		}
		for k := 1; k < n; k *= 2 {
			if k > r && r+k < n {
				s.send(r, r+k, size, 1, received...)
			}
		}
	}
	return s
}

// ring sends a block around 2(n−1) times. Each send waits for the previous receive.
func ring(n, size int) *schedule {
	s := newSchedule(n)
	for r := range n {
		var before []string
		for k := range 2 * (n - 1) {
			s.send(r, (r+1)%n, size, k, before...)
			before = []string{s.receive(r, (r+n-1)%n, size, k)}
		}
	}
	return s
}

// doubling exchanges with partners at distance 1, 2, 4, …, each time all data of a rank.
func doubling(n, size int) *schedule {
	s := newSchedule(n)
	for r := range n {
		var before []string
		for k := 1; k < n; k *= 2 {
			s.send(r, r^k, size*k, k, before...)
			before = []string{s.receive(r, r^k, size*k, k, before...)}
		}
	}
	return s
}

// halving is an all-reduce as LogGOPSim's Schedgen2 writes it (pattern recdoub): partners at distance 1, 2, 4, …
// exchange halves, quarters, …, and on the way back the other way round.
func halving(n, size int) *schedule {
	s := newSchedule(n)
	steps := bits.Len(uint(n)) - 1
	for r := range n {
		var before []string
		for k := range 2 * steps {
			i := min(k, 2*steps-1-k)
			s.send(r, r^1<<i, size>>(i+1), k, before...)
			before = []string{s.receive(r, r^1<<i, size>>(i+1), k, before...)}
		}
	}
	return s
}

// allToAll sends to every other rank, in the order of ranks; size is by rank and peer.
func allToAll(n int, size func(from, to int) int) *schedule {
	s := newSchedule(n)
	for r := range n {
		for to := range n {
			if to != r {
				s.send(r, to, size(r, to), 1)
			}
		}
		for from := range n {
			if from != r {
				s.receive(r, from, size(from, r), 1)
			}
		}
	}
	return s
}

// incast sends to rank 0 from all others. With out, rank 0 sends to all others.
func incast(n, size int, out bool) *schedule {
	s := newSchedule(n)
	for r := 1; r < n; r++ {
		from, to := r, 0
		if out {
			from, to = 0, r
		}
		s.send(from, to, size, 1)
		s.receive(to, from, size, 1)
	}
	return s
}

// late posts receives after computing, so that messages are unexpected.
func late(size int) *schedule {
	s := newSchedule(3)
	w := s.add(0, "calc 900000")
	a := s.receive(0, 1, size, 1, w)
	s.receive(0, 2, size, 1, a)
	for r := 1; r < 3; r++ {
		sent := s.send(r, 0, size, 1)
		s.add(r, "calc 100", sent)
	}
	return s
}

// random returns a random graph of messages and computing, with up to 16 operations of a rank that are ready at a time:
// LogGOPSim sorts that many stably. With equal sizes, many events have the same time.
func random(seed uint64, equal bool) *schedule {
	r := rand.New(rand.NewPCG(seed, 1))
	n := 2 + r.IntN(8)
	s := newSchedule(n)
	labels := make([][]string, n)
	open := make([]int, n)
	deps := func(rank int, likely float64) []string {
		if had := labels[rank]; len(had) > 0 && (r.Float64() < likely || open[rank] == 12) {
			return []string{had[r.IntN(len(had))]}
		}
		open[rank]++
		return nil
	}
	for k := range 3 + r.IntN(38) {
		from := r.IntN(n)
		to := (from + 1 + r.IntN(n-1)) % n
		size := 4096
		if !equal {
			size = []int{1, 100, 4096, 20000, 70000, 131072}[r.IntN(6)] + r.IntN(97)
		}
		labels[from] = append(labels[from], s.send(from, to, size, k, deps(from, 0.6)...))
		labels[to] = append(labels[to], s.receive(to, from, size, k, deps(to, 0.6)...))
		if r.Float64() < 0.3 {
			c, time := r.IntN(n), 1+r.IntN(60000)
			if equal {
				time = []int{1000, 5000}[r.IntN(2)]
			}
			labels[c] = append(labels[c], s.add(c, fmt.Sprint("calc ", time), deps(c, 0.8)...))
		}
	}
	return s
}

// schedules are the GOAL texts of testdata/loggopsim.txt, by name.
func schedules() map[string]*schedule {
	all := map[string]*schedule{
		"reduce8": reduction(8, 1024), "reduce11": reduction(11, 5000),
		"scatter8": tree(8, 4096), "broadcast8": tree(8, 131072),
		"ring8": ring(8, 8192), "ring5": ring(5, 70000), "doubling8": doubling(8, 8192), "doubling16": doubling(16, 1000),
		"alltoall8":  allToAll(8, func(int, int) int { return 4096 }),
		"alltoallv8": allToAll(8, func(from, to int) int { return 3500 + (from*977+to*613)%1000 }),
		"incast8":    incast(8, 20000, false), "incast9": incast(9, 20000, false), "incast15": incast(15, 70000, false),
		"outcast9": incast(9, 20000, true), "late": late(20000), "late rendezvous": late(70000),
	}
	for seed := range uint64(24) {
		all[fmt.Sprintf("random%d", seed)] = random(seed, false)
		all[fmt.Sprintf("equal%d", seed)] = random(seed, true)
	}
	return all
}

// TestLastRank checks when the last rank ends with the defaults of LogGOPSim, g of 1000 and 0, in ns. The figures are
// LogGOPSim's for its own example, which is a tree of 32 ranks with 1 B, and for schedules as Schedgen2 writes them.
func TestLastRank(t *testing.T) {
	for name, x := range map[string]struct {
		s    *schedule
		want int64
	}{
		"binary_tree_32":     {tree(32, 1), 27500},
		"reduce8":            {reduction(8, 1024), 34914},
		"ring":               {ring(8, 8192), 765044},
		"recursive doubling": {halving(8, 65536), 721092},
		"scatter":            {tree(8, 4096), 90210},
		"bcast":              {tree(16, 100000), 2421976},
		"all-to-all":         {allToAll(8, func(int, int) int { return 4096 }), 354410},
		"incast":             {incast(9, 20000, false), 975952},
	} {
		for _, gap := range []unit.Time{1000 * ns, 0} {
			t.Run(fmt.Sprint(name, ", g ", gap), func(t *testing.T) {
				m := loggops.Model{Latency: 2500 * ns, Costs: job.Costs{Overhead: 1500 * ns, Gap: gap, ByteGap: 6 * ns,
					Eager: 65535}}
				if got := slices.Max(ends(t, parse(t, x.s.String(), name), m)); got != x.want {
					t.Errorf("%d, want %d", got, x.want)
				}
			})
		}
	}
}

// TestLogGOPSim checks the times of testdata/loggopsim.txt. A line has the name of a schedule, L, o, g, G and O in ns
// and S in bytes, and when spcl/LogGOPSim 76451de has each of its ranks end, in ns. They cover o, g, G and L above 0,
// several senders to one receiver, and eager and rendezvous messages, expected and unexpected ones.
func TestLogGOPSim(t *testing.T) {
	data, err := os.ReadFile("testdata/loggopsim.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, used := schedules(), map[string]bool{}
	for line := range strings.Lines(string(data)) {
		head, times, _ := strings.Cut(strings.TrimSpace(line), ": ")
		var name string
		var v [6]int64
		words := strings.Fields(head)
		name = strings.Join(words[:len(words)-6], " ")
		for i, w := range words[len(words)-6:] {
			fmt.Sscan(w, &v[i])
		}
		used[name] = true
		t.Run(head, func(t *testing.T) {
			m := loggops.Model{Latency: unit.Time(v[0]) * ns, Costs: job.Costs{Overhead: unit.Time(v[1]) * ns,
				Gap: unit.Time(v[2]) * ns, ByteGap: unit.Time(v[3]) * ns, PerByte: unit.Time(v[4]) * ns, Eager: unit.Bytes(v[5])}}
			if got := strings.Trim(fmt.Sprint(ends(t, parse(t, all[name].String(), name), m)), "[]"); got != times {
				t.Errorf("%s, want %s", got, times)
			}
		})
	}
	if len(used) != len(all) {
		t.Errorf("%d schedules have times, and there are %d", len(used), len(all))
	}
}
