package collective

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/unit"
	"weir/internal/testkit/jobtest"
)

const us = unit.Microsecond

// every calls visit with jobs of every kind and size.
func every(t *testing.T, visit func(t *testing.T, c Config)) {
	for _, operation := range operations {
		for _, algorithm := range Algorithms(operation) {
			for _, n := range []int{2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17} {
				for _, parts := range [][2]int{{1, 1}, {2, 3}} {
					c := Config{Operation: operation, Algorithm: algorithm, Members: n, Size: 10007, Channels: parts[0],
						Chunks: parts[1], Batches: 3, Forward: us}
					if algorithm == Alternating {
						c.Backward = 2 * us
					}
					switch {
					case algorithm == HalvingDoubling && n&(n-1) != 0, operation == Pipeline && parts[0] > 1,
						n > 9 && parts[0] > 1:
						continue
					case algorithm == Hierarchical:
						for c.Local = 2; c.Local < n; c.Local++ {
							if n%c.Local == 0 {
								some(t, c, visit)
							}
						}
						continue
					}
					some(t, c, visit)
				}
			}
		}
	}
}

// some calls visit with a job, and for an all-to-all also with several limits of messages in flight.
func some(t *testing.T, c Config, visit func(t *testing.T, c Config)) {
	one(t, c, visit)
	if c.Operation == AllToAll {
		for _, c.AtOnce = range []int{1, 2, 3} {
			one(t, c, visit)
		}
	}
}

func one(t *testing.T, c Config, visit func(t *testing.T, c Config)) {
	t.Run(fmt.Sprintf("%s %s of %d in %d×%d, %d and %d", c.Operation, c.Algorithm, c.Members, c.Channels, c.Chunks,
		c.Local, c.AtOnce),
		func(t *testing.T) { visit(t, c) })
}

// set counts each member's contributions in a block.
type set map[int]int

func (s set) clone() set {
	out := set{}
	for k, v := range s {
		out[k] = v
	}
	return out
}

// mail names a message.
type mail struct {
	from, to int
	tag      uint32
}

// carrying is a job that runs without time.
type carrying struct {
	*testing.T
	j     *Job
	has   [][][]set // by part, member and block
	sent  map[mail][]set
	sizes map[mail]unit.Bytes
}

// carry runs a job without time, in a random order, and moves the data of its messages. It returns the data of each
// part, member and block.
func carry(t *testing.T, j *Job, random *rand.Rand) [][][]set {
	x := &carrying{T: t, j: j, sent: map[mail][]set{}, sizes: map[mail]unit.Bytes{}}
	for range j.parts {
		x.has = append(x.has, nil)
		for m := range j.Members {
			blocks := make([]set, j.algorithm.blockCount())
			for b := range blocks {
				if blocks[b] = (set{}); begins(j, m, b) {
					blocks[b][m] = 1
				}
			}
			x.has[len(x.has)-1] = append(x.has[len(x.has)-1], blocks)
		}
	}
	type ready struct {
		m  int
		at job.Ref
	}
	f := make([]*job.Frontier, j.Members)
	var open []ready
	left := int64(0)
	take := func(m int) {
		for _, at := range f[m].AppendReady(nil) {
			open = append(open, ready{m, at})
		}
	}
	for m := range f {
		f[m] = job.NewFrontier(j, m)
		f[m].Begin()
		take(m)
		left += f[m].CountLeft()
	}
	for tries := 0; len(open) > 0 && tries < 1000*len(open); tries++ {
		k := random.IntN(len(open))
		m, at := open[k].m, open[k].at
		if !x.move(m, at) {
			continue
		}
		open[k] = open[len(open)-1]
		open = open[:len(open)-1]
		f[m].SetBegun(at)
		f[m].SetEnded(at)
		left--
		take(m)
		tries = 0
	}
	if left > 0 || len(x.sent) > 0 {
		t.Fatalf("%d operations never run, %d messages are left", left, len(x.sent))
	}
	return x.has
}

// move applies an operation to the data. It returns false if the operation must wait for its message.
func (x *carrying) move(m int, at job.Ref) bool {
	op := x.j.Op(m, at)
	if op.Kind == job.Calc {
		return true
	}
	own := x.has[at.Lane-1][m]
	s := x.j.algorithm.stepAt(m, (x.j.positionOf(m, at).i-1)/x.j.stride)
	if op.Kind == job.Send {
		to := mail{m, int(op.Peer), op.Tag}
		if _, twice := x.sent[to]; twice {
			x.Fatalf("two messages %+v", to)
		}
		x.sizes[to] = op.Size
		for b := s.low; b < s.high; b++ {
			x.sent[to] = append(x.sent[to], own[b].clone())
		}
		return true
	}
	from := mail{int(op.Peer), m, op.Tag}
	data, there := x.sent[from]
	if !there {
		return false
	}
	if len(data) != s.high-s.low || x.sizes[from] != op.Size {
		x.Fatalf("%+v carries %d blocks and %v, not %d and %v", from, len(data), x.sizes[from], s.high-s.low, op.Size)
	}
	for i, d := range data {
		b := &own[s.low+i]
		if !s.reduces {
			*b = set{}
		}
		for who, n := range d {
			(*b)[who] += n
		}
	}
	delete(x.sent, from)
	return true
}

// begins reports whether a member has a contribution to a block at the start.
func begins(j *Job, m, b int) bool {
	switch j.Operation {
	case AllGather, Gather:
		return b == m
	case AllToAll:
		from, _ := ends(j, b)
		return from == m
	case Broadcast, Scatter:
		return m == 0
	}
	return true
}

// ends returns the members that have a block of an all-to-all at the start and at the end.
func ends(j *Job, b int) (from, to int) {
	if j.Algorithm == Direct {
		return b / j.Members, b % j.Members
	}
	l, groups := j.Local, j.Members/j.Local
	return b/(l*l*groups)*l + b%l, b/(l*l)%groups*l + b/l%l
}

// TestEveryContributionOnce checks that at the end every member has each of its contributions once, for any order of
// operations that the program allows.
func TestEveryContributionOnce(t *testing.T) {
	every(t, func(t *testing.T, c Config) {
		if c.Operation == Pipeline {
			return // its stages pass on what they compute
		}
		for seed := range uint64(2) {
			if c.Reduce = 0; seed == 1 {
				c.Reduce = unit.Gbps
			}
			j, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			has := carry(t, j, rand.New(rand.NewPCG(seed, 0)))
			for p := range has {
				for m := range has[p] {
					for b, got := range has[p][m] {
						want := set{}
						switch c.Operation {
						case AllReduce, ReduceScatter:
							for who := range c.Members {
								want[who] = 1
							}
							if c.Operation == ReduceScatter && b != m {
								continue
							}
						case AllGather:
							want[b] = 1
						case AllToAll:
							from, to := ends(j, b)
							if to != m {
								continue
							}
							want[from] = 1
						case Broadcast:
							want[0] = 1
						case Reduce, Gather: // only the first has it
							if m > 0 {
								continue
							}
							if want[b] = 1; c.Operation == Reduce {
								for who := range c.Members {
									want[who] = 1
								}
							}
						case Scatter:
							if b != m {
								continue
							}
							want[0] = 1
						}
						if fmt.Sprint(got) != fmt.Sprint(want) {
							t.Fatalf("part %d: member %d has %v of block %d, not %v", p, m, got, b, want)
						}
					}
				}
			}
		}
	})
}

// TestJob_SendsCountedBytesAndMessages checks that all members together send as many bytes and messages as the formulas
// give, over all iterations.
func TestJob_SendsCountedBytesAndMessages(t *testing.T) {
	every(t, func(t *testing.T, c Config) {
		c.Iterations, c.Buckets = 2, 2
		c.Size = unit.Bytes(c.Members * c.Members * 12)
		j, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		r := jobtest.RunJob(t, loggops.Model{}, j, job.Watch{})
		var bytes, messages float64
		for _, x := range r.Ranks {
			bytes += float64(x.Sent)
			messages += float64(x.Messages)
		}
		if math.Abs(bytes-j.CountBytes()) > 1e-6 || messages != j.CountMessages() {
			t.Errorf("%v B in %v messages, want %v in %v", bytes, messages, j.CountBytes(), j.CountMessages())
		}
		if len(r.Operations) != 4 || len(r.Iterations) != 2 {
			t.Errorf("%d operations, %d iterations", len(r.Operations), len(r.Iterations))
		}
		if c.Operation == AllReduce && c.Algorithm != DoubleTree && c.Channels == 1 {
			if n := float64(c.Members); r.Ranks[0].Sent != unit.Bytes(4*busFactor(AllReduce, c.Members)*float64(c.Size)) {
				t.Errorf("member 0 of %v sends %v", n, r.Ranks[0].Sent)
			}
		}
	})
}

// model returns a network of 400 Gb/s with a latency of 1 us.
func model() loggops.Model {
	return loggops.Model{Latency: us, Costs: job.Costs{ByteGap: 20, Eager: 1 << 50}}
}

// runJob runs the job of a configuration on the network of model.
func runJob(t *testing.T, c Config) job.Outcome {
	t.Helper()
	j, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return jobtest.RunJob(t, model(), j, job.Watch{})
}

// TestLikeGiven checks that the generators give the same times as the given files with the same operations. A ring of
// eight with 8 MiB that are reduced at 51.2 GB/s takes 450,954 ns, and four stages with six batches 965,913 ns.
func TestLikeGiven(t *testing.T) {
	r := runJob(t, Config{Operation: AllReduce, Members: 8, Size: 8 << 20, Reduce: 409600 * unit.Mbps})
	if got := r.Operations[0].End; got != 450954*unit.Nanosecond {
		t.Errorf("the ring takes %v", got)
	}
	r = runJob(t, Config{Operation: Pipeline, Members: 4, Size: 1 << 20, Batches: 6, Forward: 100 * us})
	for m, want := range []unit.Time{600000, 721971, 843942, 965913} {
		if got := r.Ranks[m].End; got != want*unit.Nanosecond {
			t.Errorf("stage %d ends at %v, not %vns", m, got, int64(want))
		}
	}
}

// TestAtOnce checks the limit of messages in flight of an all-to-all. With a limit of one, a member waits for each
// message. With two, one is on its way while the NIC has the other. A limit that is never reached is the same as no
// limit.
func TestAtOnce(t *testing.T) {
	const n, block = 8, 50001
	const wire = 1000 * unit.Nanosecond // (block−1)·G
	for atOnce, want := range map[int]unit.Time{
		1:     (n - 1) * (us + wire),
		2:     (n-1)/2*(us+wire) + us + wire, // the second follows the first by wire, which is the latency here
		n - 1: us + (n-1)*wire,
		0:     us + (n-1)*wire,
		1000:  us + (n-1)*wire,
	} {
		r := runJob(t, Config{Operation: AllToAll, Members: n, Size: n * block, AtOnce: atOnce})
		if got := r.Operations[0].End; got != want {
			t.Errorf("%d at once: %v, want %v", atOnce, got, want)
		}
	}
}

// TestPipelineBack checks a pipeline with batches forward and back. The last stage is never idle between batches, and
// the first waits for the way there and back.
func TestPipelineBack(t *testing.T) {
	const f, b, n, m = 100 * us, 200 * us, 4, 8
	r := runJob(t, Config{Operation: Pipeline, Members: n, Size: 1000, Batches: m, Forward: f, Backward: b})
	hop := us + 19*unit.Nanosecond
	want := (n-1+m)*f + 2*(n-1)*hop + (m+n-1)*b
	if got := r.Ranks[0].End; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	for i := range n {
		if got := r.Ranks[i].Computing; got != m*(f+b) {
			t.Errorf("stage %d computes for %v", i, got)
		}
	}
}

// TestJob_IterationsComputeThenCommunicate checks that iterations follow each other, and that each computes and then
// communicates. With buckets, a computed bucket communicates during further computing, and only the rest is exposed. A
// straggler makes all members wait.
func TestJob_IterationsComputeThenCommunicate(t *testing.T) {
	c := Config{Operation: AllReduce, Members: 4, Size: 4 << 20, Iterations: 3, Compute: 400 * us}
	alone := runJob(t, Config{Operation: AllReduce, Members: 4, Size: 4 << 20}).Operations[0].End
	r := runJob(t, c)
	for i, x := range r.Iterations {
		if want := unit.Time(i+1) * (400*us + alone); x.First != want || x.Last != want {
			t.Errorf("iteration %d is over at %v and %v, not %v", i, x.First, x.Last, want)
		}
	}
	if got := r.Ranks[2].Exposed(); got != 3*alone {
		t.Errorf("%v are exposed, not %v", got, 3*alone)
	}
	c.Buckets = 4
	part := runJob(t, Config{Operation: AllReduce, Members: 4, Size: 4 << 20}).Operations[0].End
	if r = runJob(t, c); r.Iterations[0].Last != 400*us+3*part && r.Iterations[0].Last != 100*us+4*part {
		t.Errorf("with buckets it is over at %v; a part takes %v", r.Iterations[0].Last, part)
	}
	c.Buckets, c.Slow = 1, map[int]float64{2: 1.5}
	r = runJob(t, c)
	if want := 3 * (600*us + alone); r.Iterations[2].Last < want-6*us || r.Iterations[2].Last > want {
		t.Errorf("with a straggler it takes %v, not about %v", r.Iterations[2].Last, want)
	}
	if got := r.Operations[0]; got.Begin != 400*us {
		t.Errorf("%+v", got)
	}
}

// TestJob_ChunksPassChainPipelined checks that chunks pass a chain one behind the other: it takes n−1+k of their times,
// not k·(n−1).
func TestJob_ChunksPassChainPipelined(t *testing.T) {
	const n, k = 5, 8
	r := runJob(t, Config{Operation: Broadcast, Members: n, Size: k << 20, Chunks: k})
	wire := 20971 * unit.Nanosecond
	if got, want := r.Operations[0].End, (n-1)*(us+wire)+(k-1)*wire; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestJob_ChannelsUseEachNIC checks that two channels with a NIC each take half the time of one channel. With one NIC
// they take the same time.
func TestJob_ChannelsUseEachNIC(t *testing.T) {
	one := runJob(t, Config{Operation: AllReduce, Members: 8, Size: 64 << 20}).Operations[0].End
	two := runJob(t, Config{Operation: AllReduce, Members: 8, Size: 64 << 20, Channels: 2}).Operations[0].End
	both := runJob(t, Config{Operation: AllReduce, Members: 8, Size: 64 << 20, Channels: 2, NICs: 2}).Operations[0].End
	if math.Abs(two.Seconds()/one.Seconds()-1) > 0.02 || math.Abs(both.Seconds()/one.Seconds()-0.5) > 0.02 {
		t.Errorf("%v with one, %v with two at one NIC, %v at two", one, two, both)
	}
}

// TestNew_RejectsBadConfigByKey checks that the error about an impossible configuration has the wrong key and what is
// allowed.
func TestNew_RejectsBadConfigByKey(t *testing.T) {
	for name, x := range map[string]struct {
		c   Config
		key string
	}{
		"one member": {Config{Operation: AllReduce, Members: 1, Size: 100}, "hosts"},
		"halving":    {Config{Operation: AllReduce, Algorithm: HalvingDoubling, Members: 6, Size: 100}, "hosts"},
		"pairs":      {Config{Operation: AllToAll, Algorithm: Hierarchical, Members: 6, Local: 6, Size: 100}, "local"},
		"local":      {Config{Operation: AllReduce, Algorithm: Hierarchical, Members: 6, Local: 4, Size: 100}, "local"},
		"small":      {Config{Operation: AllReduce, Members: 8, Size: 7}, "size"},
		"large":      {Config{Operation: AllReduce, Members: 8, Size: 1 << 41}, "size"},
		"pipeline":   {Config{Operation: Pipeline, Members: 8, Size: 100, Chunks: 2}, "chunks"},
		"parts":      {Config{Operation: AllReduce, Members: 8, Size: 1 << 20, Channels: 65}, "chunks"},
		"at once":    {Config{Operation: AllToAll, Members: 8, Size: 1 << 20, AtOnce: -1}, "at_once"},
		"endless":    {Config{Operation: AllReduce, Members: 1024, Size: 1 << 20, Iterations: 1 << 30}, "iterations"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(x.c)
			if w, ok := err.(*configError); !ok || w.Key != x.key || w.Allowed == "" || w.Error() == "" {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := New(Config{Operation: AllToAll, Algorithm: Ring, Members: 4, Size: 100}); err == nil {
		t.Error("an all-to-all in a ring")
	}
}

// TestFrontier_FollowsLargeRingLazily checks that a ring of 8,192 members with 134,201,344 messages is built at once.
// Following it takes memory only for messages in flight.
func TestFrontier_FollowsLargeRingLazily(t *testing.T) {
	j, err := New(Config{Operation: AllReduce, Members: 8192, Size: 32 << 20})
	if err != nil || j.CountMessages() != 134201344 {
		t.Fatal(err, j.CountMessages())
	}
	f := job.NewFrontier(j, 5000)
	f.Begin()
	n := 0
	for open := f.AppendReady(nil); len(open) > 0; open = f.AppendReady(open[1:]) {
		if op := j.Op(5000, open[0]); op.Kind == job.Send && op.Size != 4096 {
			t.Fatalf("%v", op)
		}
		f.SetBegun(open[0])
		f.SetEnded(open[0])
		n++
	}
	if n != 4*8191+2+2 || f.CountLeft() != 0 {
		t.Errorf("%d operations, %d left", n, f.CountLeft())
	}
}

func ExampleNew() {
	j, err := New(Config{Operation: AllReduce, Members: 8, Size: 1 << 20, Iterations: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(j.CountMessages(), "messages,", j.CountBytes(), "bytes")
	_, err = New(Config{Operation: AllReduce, Algorithm: HalvingDoubling, Members: 6, Size: 1 << 20})
	fmt.Println(err)
	// Output:
	// 224 messages, 2.9360128e+07 bytes
	// halving and doubling is among 2, 4, 8, … members, not 6
}

// TestJob_PipelineSchedulesBoundOpenBatches checks that under 1F1B stage m of n has at most n−m batches in flight, and
// under GPipe all of them. Where messages take no time, both take (batches + n − 1) times a batch forward and back, as
// in GPipe's analysis (§3.2 there).
func TestJob_PipelineSchedulesBoundOpenBatches(t *testing.T) {
	const stages, batches = 4, 7
	for _, schedule := range Algorithms(Pipeline) {
		j, err := New(Config{Operation: Pipeline, Algorithm: schedule, Members: stages, Size: 1, Batches: batches,
			Forward: 3 * us, Backward: 5 * us, Iterations: 2})
		if err != nil {
			t.Fatal(err)
		}
		open, most := make([]int, stages), make([]int, stages)
		r := jobtest.RunJob(t, loggops.Model{}, j, job.Watch{OnSpan: func(s job.Span) {
			switch {
			case s.Op.Kind == job.Calc && s.Op.Time == 3*us:
				open[s.Rank]++
				most[s.Rank] = max(most[s.Rank], open[s.Rank])
			case s.Op.Kind == job.Calc && s.Op.Time == 5*us:
				open[s.Rank]--
			}
		}})
		if got, want := r.Ranks[0].End, 2*(batches+stages-1)*8*us; got != want {
			t.Errorf("%s: %v, not %v", schedule, got, want)
		}
		for m, got := range most {
			want := batches
			if schedule == Alternating {
				want = stages - m
			}
			if got != want {
				t.Errorf("%s: stage %d has %d batches under way, not %d", schedule, m, got, want)
			}
		}
	}
	_, err := New(Config{Operation: Pipeline, Algorithm: Alternating, Members: 2, Size: 1, Forward: us})
	var w *configError
	if !errors.As(err, &w) || w.Key != "backward" {
		t.Errorf("without a way back: %v", err)
	}
}

// TestSlowReduces checks that a straggler reduces more slowly, too, and that all wait for it.
func TestSlowReduces(t *testing.T) {
	c := Config{Operation: AllReduce, Members: 4, Size: 4 << 20, Reduce: 400 * unit.Gbps}
	even := runJob(t, c)
	c.Slow = map[int]float64{1: 3}
	odd := runJob(t, c)
	for m := range c.Members {
		want := even.Ranks[m].Computing
		if m == 1 {
			want *= 3
		}
		if got := odd.Ranks[m].Computing; got != want || want == 0 {
			t.Errorf("member %d computes for %v, not %v", m, got, want)
		}
	}
	if odd.Operations[0].End <= even.Operations[0].End {
		t.Errorf("it takes %v, and %v without a straggler", odd.Operations[0].End, even.Operations[0].End)
	}
}
