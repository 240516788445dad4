package collective

import (
	"fmt"

	"weir/core/jobs/job"
	"weir/core/unit"
)

// Config is a job of a collective operation that repeats. Fields without a default must be set.
type Config struct {
	Operation string
	Algorithm string // one of Algorithms; "": the first
	Members   int
	// Size is the whole buffer that each member has or gets. A member's block of an all-to-all, an all-gather or a
	// reduce-scatter is Size over Members. In a pipeline it is a message between stages.
	Size       unit.Bytes
	Channels   int             // parts of the data that are independent of each other; 0: 1
	Chunks     int             // parts of a channel, which follow each other; 0: 1
	NICs       int             // number of a rank's NICs that channels use in turn; 0: 1
	Iterations int             // 0: 1
	Buckets    int             // parts of an iteration's computing, each followed by an operation; 0: 1
	Compute    unit.Time       // of an iteration
	Align      unit.Time       // members begin each iteration together at a multiple; 0: when the previous one is over
	Slow       map[int]float64 // by member, factor on its computing and reducing time: 1.1
	Reduce     unit.Rate       // at which a processor reduces received data; 0: at once
	Local      int             // hierarchical: members of a group
	AtOnce     int             // all-to-all: members (groups) that a member sends to at a time; 0: all
	Batches    int             // pipeline: micro-batches
	Forward    unit.Time       // pipeline: time of a batch at a stage
	Backward   unit.Time       // pipeline: backward time of a batch; 0: no backward pass
}

// configError is an error in a configuration.
type configError struct{ Key, Allowed, Msg string }

func (w *configError) Error() string { return w.Msg }

// Job is a program by formula. Lane 0 of a rank computes; each other lane communicates one chunk of one channel.
type Job struct {
	Config
	algorithm algorithm
	stride    int // operations of a step: the transfer, and the reduction if there is one
	parts     int // lanes that communicate
	streamed  bool
}

// maxSize limits sizes, so that products of sizes and parts are exact.
const maxSize unit.Bytes = 1 << 40

// New returns the job of a configuration, after filling in the defaults. The error is a *configError, with the
// parameter.
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
		return nil, &configError{"hosts", "two hosts or more", fmt.Sprintf("%s of %d members", c.Operation, c.Members)}
	case c.Size > maxSize:
		return nil, &configError{"size", "up to " + maxSize.String(), fmt.Sprintf("%v is too much", c.Size)}
	case c.Operation == Pipeline && j.parts > 1:
		return nil, &configError{"chunks", "batches", "the stages of a pipeline have batches in place of channels and chunks"}
	case c.AtOnce < 0:
		return nil, &configError{"at_once", "0 or more", fmt.Sprintf("%d others at a time", c.AtOnce)}
	case c.Channels > 64 || c.Chunks > 4096:
		return nil, &configError{"chunks", "up to 64 channels and 4096 chunks", "too many parts"}
	}
	var err error
	if j.algorithm, err = newAlgorithm(&c); err != nil {
		return nil, err
	}
	if c.Reduce > 0 {
		j.stride = 2
	}
	least := j.algorithm.blockCount()
	if c.Operation == AllToAll {
		least = c.Members
	}
	if c.Size < unit.Bytes(least*j.parts) {
		return nil, &configError{"size", unit.Bytes(least*j.parts).String() + " or more",
			fmt.Sprintf("%v cannot be shared among %d parts of %d blocks", c.Size, j.parts, least)}
	}
	most := 0
	for m := range min(c.Members, 64) {
		most = max(most, j.opsPerPart(m))
	}
	if total := float64(most) * float64(c.Iterations) * float64(c.Buckets); total > job.MaxOps {
		return nil, &configError{"iterations", "fewer iterations or buckets",
			fmt.Sprintf("a channel of a member has %.3g operations, and up to %d are possible", total, job.MaxOps)}
	}
	return j, nil
}

// Ranks returns the number of members.
func (j *Job) Ranks() int { return j.Members }

// Lanes returns 1 for the computing lane plus one for each part.
func (j *Job) Lanes(int) int { return 1 + j.parts }

// opsPerPart returns the number of operations of a part in one collective operation: its steps, with one operation
// before and one behind them.
func (j *Job) opsPerPart(m int) int { return j.algorithm.stepCount(m)*j.stride + 2 }

// Ops returns the number of operations of a lane of member m: 0 computes, the others communicate.
func (j *Job) Ops(m, lane int) int {
	if lane == 0 {
		return j.Iterations * j.opsPerIteration()
	}
	return j.Iterations * j.Buckets * j.opsPerPart(m)
}

// Window returns the number of operations of a lane that are posted at a time.
func (j *Job) Window(m, lane int) int {
	if lane == 0 {
		return j.opsPerIteration()
	}
	if n := j.algorithm.maxPosted(); n > 0 {
		return min(n*j.stride, j.opsPerPart(m))
	}
	return j.opsPerPart(m)
}

// opsPerIteration returns the number of operations of lane 0 in an iteration: with Align one that waits, the computing
// ones, and the end.
func (j *Job) opsPerIteration() int { return j.leadingOps() + j.Buckets + 1 }

// leadingOps returns the number of operations of an iteration before the computing ones.
func (j *Job) leadingOps() int {
	if j.Align > 0 {
		return 1
	}
	return 0
}

// Each returns the number of operations of a lane in an iteration; all iterations are alike (job.RecurringProgram).
func (j *Job) Each(m, lane int) int { return j.Ops(m, lane) / j.Iterations }

// Ahead returns 1: a rank also looks at the computing of the next iteration.
func (j *Job) Ahead() int { return 1 }

// Traits returns the job's messages and bytes, the number of NICs that channels use in turn, and the iterations. Bus
// is Size times busFactor for collective operations.
func (j *Job) Traits() job.Traits {
	t := job.Traits{Messages: j.CountMessages(), Bytes: j.CountBytes(), Iterations: j.Iterations, Period: j.Align}
	if j.Operation != Pipeline {
		t.Bus = busFactor(j.Operation, j.Members) * float64(j.Size)
	}
	if j.NICs > 1 {
		t.NICs, t.RequiresNICs = j.NICs, true
	}
	return t
}

// operationCount returns the number of collective operations.
func (j *Job) operationCount() int { return j.Iterations * j.Buckets }

// blockBytes returns the bytes of blocks low … high−1 of a part, which is a lane less 1. The blocks of all parts add up
// to Size exactly.
func (j *Job) blockBytes(part, low, high int) unit.Bytes {
	total := unit.Bytes(j.Size)*unit.Bytes(part+1)/unit.Bytes(j.parts) - unit.Bytes(j.Size)*unit.Bytes(part)/
		unit.Bytes(j.parts)
	blocks := unit.Bytes(j.algorithm.blockCount())
	if j.Operation == AllToAll { // of each member
		blocks /= unit.Bytes(j.Members)
		low, high = low%j.Members, low%j.Members+high-low
	}
	return total*unit.Bytes(high)/blocks - total*unit.Bytes(low)/blocks
}

// position is the position of an operation of a part.
type position struct {
	number int // of the collective operation
	i      int // index among the operations of the collective operation: 0 is before it, last is behind it
	last   int
	first  int32 // the lane's operation with index 0
}

// positionOf returns the position of an operation of member m in a lane that communicates.
func (j *Job) positionOf(m int, at job.Ref) position {
	n := j.opsPerPart(m)
	w := position{number: int(at.Op) / n, i: int(at.Op) % n, last: n - 1}
	w.first = at.Op - int32(w.i)
	return w
}

// Age orders the operations that wait on an ideal network (aged of package job): by collective operation, chunk and
// channel.
func (j *Job) Age(m int, at job.Ref) int64 {
	if at.Lane == 0 {
		return 0
	}
	part := int(at.Lane) - 1
	chunk, channel := part%j.Chunks, part/j.Chunks
	return int64(int(at.Op)/j.opsPerPart(m)*j.parts + chunk*j.Channels + channel)
}

// Streamed returns the job for an ideal network (job.Streamed). A chunk may be sent once the sending of the chunk
// before it has begun. A send of more than S bytes then does not cost one latency per chunk.
func (j *Job) Streamed() job.Program {
	s := *j
	s.streamed = true
	return &s
}

// communicationCPU is the processor of all communication, separate from the one of computing so that neither delays the
// other.
const communicationCPU = 1

// Op returns an operation of member m, computed from the algorithm's step at its position.
func (j *Job) Op(m int, at job.Ref) job.Op {
	if at.Lane == 0 {
		t, x := int(at.Op)/j.opsPerIteration(), int(at.Op)%j.opsPerIteration()-j.leadingOps()
		switch {
		case x < 0:
			return job.Op{Kind: job.Wait, Time: j.Align, Mark: job.Begins, Part: int32(t)}
		case x == j.Buckets:
			return job.Op{Kind: job.Calc, Mark: job.Iterates, Part: int32(t)}
		}
		return job.Op{Kind: job.Calc, Time: j.computeTime(m, x)}
	}
	w := j.positionOf(m, at)
	switch w.i {
	case 0:
		return job.Op{Kind: job.Calc, CPU: communicationCPU, Mark: job.Opens, Part: int32(w.number)}
	case w.last:
		return job.Op{Kind: job.Calc, CPU: communicationCPU, Mark: job.Closes, Part: int32(w.number)}
	}
	part := int(at.Lane) - 1
	s := j.algorithm.stepAt(m, (w.i-1)/j.stride)
	op := job.Op{Kind: s.kind, Peer: int32(s.peer), CPU: communicationCPU, NIC: uint8(part / j.Chunks % j.NICs)}
	if s.kind == job.Calc {
		return job.Op{Kind: job.Calc, Time: j.slowTime(m, s.time)}
	}
	op.Size = j.blockBytes(part, s.low, s.high)
	if (w.i-1)%j.stride == 1 {
		op = job.Op{Kind: job.Calc, CPU: communicationCPU}
		if s.kind == job.Recv && s.reduces {
			op.Time = j.slowTime(m, unit.TransmitTime(j.blockBytes(part, s.low, s.high), j.Reduce))
		}
		return op
	}
	tag := (uint64(w.number)*uint64(j.parts)+uint64(part))*uint64(j.algorithm.tagCount()) + uint64(s.tag)
	op.Tag = uint32(tag % uint64(job.AnyTag))
	return op
}

// computeTime returns the time that a member computes in a part of an iteration.
func (j *Job) computeTime(m, bucket int) unit.Time {
	n := unit.Time(j.Buckets)
	return j.slowTime(m, j.Compute*unit.Time(bucket+1)/n-j.Compute*unit.Time(bucket)/n)
}

// slowTime returns t multiplied by the member's factor in Slow.
func (j *Job) slowTime(m int, t unit.Time) unit.Time {
	if f, slow := j.Slow[m]; slow {
		return unit.Time(float64(float64(t) * f))
	}
	return t
}

// After appends the operations that an operation of member m depends on to the list to, and returns it. Computing
// operations are in lane 0. The others depend on the steps that the algorithm names, and the send of a chunk also on
// that of the chunk before.
func (j *Job) After(m int, at job.Ref, to []job.Dep) []job.Dep {
	if at.Lane == 0 {
		return j.afterComputing(m, at, to)
	}
	w := j.positionOf(m, at)
	dep := func(i int) { to = append(to, job.Dep{Lane: at.Lane, Op: w.first + int32(i)}) }
	switch w.i {
	case 0:
		t, x := w.number/j.Buckets, w.number%j.Buckets
		to = append(to, job.Dep{Op: int32(t*j.opsPerIteration() + j.leadingOps() + x)})
		if w.number > 0 {
			dep(-1)
		}
		return to
	case w.last:
		return append(to, job.Dep{Lane: at.Lane, Op: job.Earlier})
	}
	i := (w.i - 1) / j.stride
	if (w.i-1)%j.stride == 1 { // a reduction depends on the receive of its data
		dep(w.i - 1)
		return to
	}
	before := j.algorithm.dependencies(m, i)
	for _, k := range before.indices[:before.n] {
		dep(1 + int(k)*j.stride + j.stride - 1)
	}
	if before.n == 0 {
		dep(0)
	}
	if s := j.algorithm.stepAt(m, i); s.kind == job.Send && (int(at.Lane)-1)%j.Chunks > 0 { // chunks follow each other
		to = append(to, job.Dep{Lane: at.Lane - 1, Op: at.Op, Begun: j.streamed})
	}
	return to
}

// afterComputing appends the operations that a computing operation depends on: the computing before it, and all
// operations of the previous iteration.
func (j *Job) afterComputing(m int, at job.Ref, to []job.Dep) []job.Dep {
	t, x := int(at.Op)/j.opsPerIteration(), int(at.Op)%j.opsPerIteration()-j.leadingOps()
	if at.Op > 0 {
		to = append(to, job.Dep{Op: at.Op - 1})
	}
	if x == j.Buckets {
		last := (t+1)*j.Buckets*j.opsPerPart(m) - 1
		for part := range j.parts {
			to = append(to, job.Dep{Lane: int32(1 + part), Op: int32(last)})
		}
	}
	return to
}

// busFactor returns the minimum number of bytes that a member sends, as a share of Size. It is the time of an operation
// times the bandwidth of its links, over Size. The bus bandwidth of NCCL's tests is Size over the time, times this
// factor.
func busFactor(operation string, members int) float64 {
	n := float64(members)
	switch operation {
	case AllReduce:
		return 2 * (n - 1) / n
	case AllGather, ReduceScatter, AllToAll, Gather, Scatter:
		return (n - 1) / n
	}
	return 1
}

// CountMessages returns the number of messages that all members send in all iterations.
func (j *Job) CountMessages() (n float64) {
	each := 0.0
	switch a := j.algorithm.(type) {
	case *ring, *halving, *hierarchical, *direct, *relayed:
		each = float64(a.stepCount(0)) / 2 * float64(j.Members)
	case *doubleTree:
		each = 4 * float64(j.Members-1)
	case *chain, *binomial, *reduceChain, *reduceTree, *rootedExchange:
		each = float64(j.Members - 1)
	case *pipeline:
		each = float64(a.directionCount()*a.batches) * float64(j.Members-1)
	case *alternating:
		each = float64(2*a.batches) * float64(j.Members-1)
	}
	return each * float64(j.parts) * float64(j.operationCount())
}

// CountBytes returns the number of bytes that all members send in all iterations.
func (j *Job) CountBytes() float64 {
	n, s := float64(j.Members), float64(j.Size)
	total := 0.0
	switch a := j.algorithm.(type) {
	case *hierarchical:
		groups := n / float64(a.local)
		total = n * s * (2*float64(a.local-1)/float64(a.local) + 2*(groups-1)/groups/float64(a.local))
	case *relayed:
		total = s * float64((a.local-1)*a.groupCount()+(a.groupCount()-1)*a.local)
	case *pipeline:
		total = float64(a.directionCount()*a.batches) * (n - 1) * s
	case *alternating:
		total = float64(2*a.batches) * (n - 1) * s
	case *chain, *binomial, *reduceChain, *reduceTree:
		total = (n - 1) * s
	case *rootedExchange:
		total = (n - 1) / n * s
	default:
		total = n * busFactor(j.Operation, j.Members) * s
	}
	return total * float64(j.operationCount())
}
