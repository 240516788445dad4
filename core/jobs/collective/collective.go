package collective

import (
	"fmt"

	"weir/core/jobs/job"
	"weir/core/unit"
)

// Config is a job of a collective operation that repeats. Whoever makes one by hand fills in all that is not said to
// have a default.
type Config struct {
	Operation string
	Algorithm string // one of Algorithms; "": the first
	Members   int
	// Size is what each member has, or gets: the whole buffer. A member's block of an all-to-all, an all-gather or a
	// reduce-scatter is Size over Members. Of a pipeline it is a message between stages.
	Size       unit.Bytes
	Channels   int             // parts of the data that are independent of each other; 0: 1
	Chunks     int             // of a channel, which follow each other; 0: 1
	NICs       int             // channels take turns at so many of a rank; 0: 1
	Iterations int             // 0: 1
	Buckets    int             // parts of an iteration's computing, behind each of which there is an operation; 0: 1
	Compute    unit.Time       // of an iteration
	Align      unit.Time       // members begin each iteration together at a multiple of it; 0: when the one before is over
	Slow       map[int]float64 // by member, by how much its computing and reducing take longer: 1.1
	Reduce     unit.Rate       // at which a processor reduces what it receives; 0: at once
	Local      int             // of hierarchical: members of a group
	AtOnce     int             // of an all-to-all: others (groups) that a member sends to at a time; 0: all
	Batches    int             // of a pipeline
	Forward    unit.Time       // of a pipeline, for a batch at a stage
	Backward   unit.Time       // 0: there is none
}

// wrong is what is wrong with a configuration.
type wrong struct{ Key, Allowed, Msg string }

func (w *wrong) Error() string { return w.Msg }

// Job is a program by formula. Lane 0 of a rank computes, the others communicate: one for each chunk of each channel.
type Job struct {
	Config
	algorithm algorithm
	stride    int // operations of a step: itself, and what reduces
	parts     int // lanes that communicate
	streamed  bool
}

// mostSize lets products of sizes and parts be exact.
const mostSize unit.Bytes = 1 << 40

// New makes a job.
func New(c Config) (*Job, error) {
	if c.Algorithm == "" && len(Algorithms(c.Operation)) > 0 {
		c.Algorithm = Algorithms(c.Operation)[0]
	}
	for _, n := range []*int{&c.Channels, &c.Chunks, &c.NICs, &c.Iterations, &c.Buckets} {
		*n = max(*n, 1)
	}
	if c.Operation == Pipeline {
		c.Batches = max(c.Batches, 1)
	}
	j := &Job{Config: c, parts: c.Channels * c.Chunks, stride: 1}
	switch {
	case c.Members < 2:
		return nil, &wrong{"hosts", "two hosts or more", fmt.Sprintf("%s of %d members", c.Operation, c.Members)}
	case c.Size > mostSize:
		return nil, &wrong{"size", "up to " + mostSize.String(), fmt.Sprintf("%v is too much", c.Size)}
	case c.Operation == Pipeline && j.parts > 1:
		return nil, &wrong{"chunks", "batches", "the stages of a pipeline have batches in place of channels and chunks"}
	case c.AtOnce < 0:
		return nil, &wrong{"at_once", "0 or more", fmt.Sprintf("%d others at a time", c.AtOnce)}
	case c.Channels > 64 || c.Chunks > 4096:
		return nil, &wrong{"chunks", "up to 64 channels and 4096 chunks", "too many parts"}
	}
	var err error
	if j.algorithm, err = newAlgorithm(&c); err != nil {
		return nil, err
	}
	if c.Reduce > 0 {
		j.stride = 2
	}
	least := j.algorithm.blocks()
	if c.Operation == AllToAll {
		least = c.Members
	}
	if c.Size < unit.Bytes(least*j.parts) {
		return nil, &wrong{"size", unit.Bytes(least*j.parts).String() + " or more",
			fmt.Sprintf("%v cannot be shared among %d parts of %d blocks", c.Size, j.parts, least)}
	}
	most := 0
	for m := range min(c.Members, 64) {
		most = max(most, j.length(m))
	}
	if total := float64(most) * float64(c.Iterations) * float64(c.Buckets); total > job.MostOps {
		return nil, &wrong{"iterations", "fewer iterations or buckets",
			fmt.Sprintf("a channel of a member has %.3g operations, and up to %d are possible", total, job.MostOps)}
	}
	return j, nil
}

// Ranks is the number of members.
func (j *Job) Ranks() int { return j.Members }

// Lanes is one that computes and one for each part.
func (j *Job) Lanes(int) int { return 1 + j.parts }

// length is how many operations a part of one collective operation has: one before, and one behind.
func (j *Job) length(m int) int { return j.algorithm.steps(m)*j.stride + 2 }

// Ops is how many operations a lane has.
func (j *Job) Ops(m, lane int) int {
	if lane == 0 {
		return j.Iterations * j.each()
	}
	return j.Iterations * j.Buckets * j.length(m)
}

// Window is how many of them are posted at a time.
func (j *Job) Window(m, lane int) int {
	if lane == 0 {
		return j.each()
	}
	if n := j.algorithm.open(); n > 0 {
		return min(n*j.stride, j.length(m))
	}
	return j.length(m)
}

// each is how many operations of lane 0 an iteration has: with Align one that waits; what computes; its end.
func (j *Job) each() int { return j.lead() + j.Buckets + 1 }

// lead is how many of them come before what computes.
func (j *Job) lead() int {
	if j.Align > 0 {
		return 1
	}
	return 0
}

// Each is how many operations of a lane an iteration has: iterations are alike (job.Alike).
func (j *Job) Each(m, lane int) int { return j.Ops(m, lane) / j.Iterations }

// Ahead is one: what computes in the next one is looked at, too.
func (j *Job) Ahead() int { return 1 }

// Traits returns what the members send, how many NICs channels take turns at, and the iterations. Bus is Size times
// Factor for collective operations.
func (j *Job) Traits() job.Traits {
	t := job.Traits{Messages: j.Messages(), Bytes: j.Bytes(), Iterations: j.Iterations, Period: j.Align}
	if j.Operation != Pipeline {
		t.Bus = factor(j.Operation, j.Members) * float64(j.Size)
	}
	if j.NICs > 1 {
		t.NICs, t.RequiresNICs = j.NICs, true
	}
	return t
}

// count is how many collective operations there are.
func (j *Job) count() int { return j.Iterations * j.Buckets }

// bytes is the size of some blocks of a part.
func (j *Job) bytes(part, low, high int) unit.Bytes {
	total := unit.Bytes(j.Size)*unit.Bytes(part+1)/unit.Bytes(j.parts) - unit.Bytes(j.Size)*unit.Bytes(part)/
		unit.Bytes(j.parts)
	blocks := unit.Bytes(j.algorithm.blocks())
	if j.Operation == AllToAll { // of each member
		blocks /= unit.Bytes(j.Members)
		low, high = low%j.Members, low%j.Members+high-low
	}
	return total*unit.Bytes(high)/blocks - total*unit.Bytes(low)/blocks
}

// where is what an operation of a part is.
type where struct {
	number int // of the collective operation
	i      int // of its operations: 0 before, last behind
	last   int
	first  int32 // the lane's operation that is 0
}

func (j *Job) where(m int, at job.Ref) where {
	n := j.length(m)
	w := where{number: int(at.Op) / n, i: int(at.Op) % n, last: n - 1}
	w.first = at.Op - int32(w.i)
	return w
}

// Age orders what waits on an ideal network (job.Aged): by collective operation, chunk and channel.
func (j *Job) Age(m int, at job.Ref) int64 {
	if at.Lane == 0 {
		return 0
	}
	part := int(at.Lane) - 1
	chunk, channel := part%j.Chunks, part/j.Chunks
	return int64(int(at.Op)/j.length(m)*j.parts + chunk*j.Channels + channel)
}

// Streamed returns the job for an ideal network (job.Streamed): a chunk may be sent once the chunk before it has begun
// to be, so that a send of more than S bytes does not cost a latency a chunk.
func (j *Job) Streamed() job.Program {
	s := *j
	s.streamed = true
	return &s
}

// communicates is the processor of all that communicates, so that computing does not hold it up.
const communicates = 1

// Op is what an operation does.
func (j *Job) Op(m int, at job.Ref) job.Op {
	if at.Lane == 0 {
		t, x := int(at.Op)/j.each(), int(at.Op)%j.each()-j.lead()
		switch {
		case x < 0:
			return job.Op{Kind: job.Wait, Time: j.Align, Mark: job.Begins, Part: int32(t)}
		case x == j.Buckets:
			return job.Op{Kind: job.Calc, Mark: job.Iterates, Part: int32(t)}
		}
		return job.Op{Kind: job.Calc, Time: j.computing(m, x)}
	}
	w := j.where(m, at)
	switch w.i {
	case 0:
		return job.Op{Kind: job.Calc, CPU: communicates, Mark: job.Opens, Part: int32(w.number)}
	case w.last:
		return job.Op{Kind: job.Calc, CPU: communicates, Mark: job.Closes, Part: int32(w.number)}
	}
	part := int(at.Lane) - 1
	s := j.algorithm.step(m, (w.i-1)/j.stride)
	op := job.Op{Kind: s.kind, Peer: int32(s.peer), CPU: communicates, NIC: uint8(part / j.Chunks % j.NICs)}
	if s.kind == job.Calc {
		return job.Op{Kind: job.Calc, Time: j.slowed(m, s.time)}
	}
	op.Size = j.bytes(part, s.low, s.high)
	if (w.i-1)%j.stride == 1 {
		op = job.Op{Kind: job.Calc, CPU: communicates}
		if s.kind == job.Recv && s.reduces {
			op.Time = j.slowed(m, unit.TransmitTime(j.bytes(part, s.low, s.high), j.Reduce))
		}
		return op
	}
	tag := (uint64(w.number)*uint64(j.parts)+uint64(part))*uint64(j.algorithm.tags()) + uint64(s.tag)
	op.Tag = uint32(tag % uint64(job.AnyTag))
	return op
}

// computing is how long a member computes in a part of an iteration.
func (j *Job) computing(m, bucket int) unit.Time {
	n := unit.Time(j.Buckets)
	return j.slowed(m, j.Compute*unit.Time(bucket+1)/n-j.Compute*unit.Time(bucket)/n)
}

func (j *Job) slowed(m int, t unit.Time) unit.Time {
	if f, slow := j.Slow[m]; slow {
		return unit.Time(float64(float64(t) * f))
	}
	return t
}

// After appends what an operation comes after.
func (j *Job) After(m int, at job.Ref, to []job.Dep) []job.Dep {
	if at.Lane == 0 {
		return j.afterComputing(m, at, to)
	}
	w := j.where(m, at)
	dep := func(i int) { to = append(to, job.Dep{Lane: at.Lane, Op: w.first + int32(i)}) }
	switch w.i {
	case 0:
		t, x := w.number/j.Buckets, w.number%j.Buckets
		to = append(to, job.Dep{Op: int32(t*j.each() + j.lead() + x)})
		if w.number > 0 {
			dep(-1)
		}
		return to
	case w.last:
		return append(to, job.Dep{Lane: at.Lane, Op: job.Earlier})
	}
	i := (w.i - 1) / j.stride
	if (w.i-1)%j.stride == 1 { // what reduces comes after what it reduces
		dep(w.i - 1)
		return to
	}
	before := j.algorithm.after(m, i)
	for _, k := range before.at[:before.n] {
		dep(1 + int(k)*j.stride + j.stride - 1)
	}
	if before.n == 0 {
		dep(0)
	}
	if s := j.algorithm.step(m, i); s.kind == job.Send && (int(at.Lane)-1)%j.Chunks > 0 { // chunks follow each other
		to = append(to, job.Dep{Lane: at.Lane - 1, Op: at.Op, Begun: j.streamed})
	}
	return to
}

// afterComputing appends what computing comes after: the part before it, and all operations of the iteration before.
func (j *Job) afterComputing(m int, at job.Ref, to []job.Dep) []job.Dep {
	t, x := int(at.Op)/j.each(), int(at.Op)%j.each()-j.lead()
	if at.Op > 0 {
		to = append(to, job.Dep{Op: at.Op - 1})
	}
	if x == j.Buckets {
		last := (t+1)*j.Buckets*j.length(m) - 1
		for part := range j.parts {
			to = append(to, job.Dep{Lane: int32(1 + part), Op: int32(last)})
		}
	}
	return to
}

// factor is what a member sends at the least, as a share of Size: the time of an operation times the bandwidth of its
// links, over Size. What NCCL's tests call the bus bandwidth is Size over the time, times this.
func factor(operation string, members int) float64 {
	n := float64(members)
	switch operation {
	case AllReduce:
		return 2 * (n - 1) / n
	case AllGather, ReduceScatter, AllToAll, Gather, Scatter:
		return (n - 1) / n
	}
	return 1
}

// Messages is how many messages all members send.
func (j *Job) Messages() (n float64) {
	each := 0.0
	switch a := j.algorithm.(type) {
	case *ring, *halving, *hierarchical, *direct, *relayed:
		each = float64(a.steps(0)) / 2 * float64(j.Members)
	case *doubleTree:
		each = 4 * float64(j.Members-1)
	case *chain, *binomial, *up, *reduceTree, *star:
		each = float64(j.Members - 1)
	case *pipeline:
		each = float64(a.ways()*a.batches) * float64(j.Members-1)
	case *alternating:
		each = float64(2*a.batches) * float64(j.Members-1)
	}
	return each * float64(j.parts) * float64(j.count())
}

// Bytes is how much they send.
func (j *Job) Bytes() float64 {
	n, s := float64(j.Members), float64(j.Size)
	total := 0.0
	switch a := j.algorithm.(type) {
	case *hierarchical:
		groups := n / float64(a.local)
		total = n * s * (2*float64(a.local-1)/float64(a.local) + 2*(groups-1)/groups/float64(a.local))
	case *relayed:
		total = s * float64((a.local-1)*a.groups()+(a.groups()-1)*a.local)
	case *pipeline:
		total = float64(a.ways()*a.batches) * (n - 1) * s
	case *alternating:
		total = float64(2*a.batches) * (n - 1) * s
	case *chain, *binomial, *up, *reduceTree:
		total = (n - 1) * s
	case *star:
		total = (n - 1) / n * s
	default:
		total = n * factor(j.Operation, j.Members) * s
	}
	return total * float64(j.count())
}
