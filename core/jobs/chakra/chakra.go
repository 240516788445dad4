package chakra

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"weir/core/jobs/collective"
	"weir/core/jobs/job"
	"weir/core/unit"
	"weir/core/workload"
)

// Options have the settings that traces do not contain.
type Options struct {
	Groups map[string][]int // ranks of process groups, by name
	Dims   []int            // sizes of dimensions, the first between adjacent ranks; their product is the number of ranks
	// Algorithms are the algorithms of operations by their names in package collective. Other operations use their
	// default.
	Algorithms map[string]string
}

// Processors of a rank, which do not wait for each other.
const (
	hostCPU = iota
	deviceCPU
	messageCPU
)

// operationTypes are the collective operations by their numbers in traces.
var operationTypes = [...]string{collective.AllReduce, collective.Reduce, collective.AllGather, collective.Gather,
	collective.Scatter, collective.Broadcast, collective.AllToAll, collective.ReduceScatter, collective.ReduceScatter,
	barrier}

const barrier = "barrier"

// Limits of values in a node.
const (
	maxBytes  = 1 << 40
	maxMicros = 1e12 // 11 days
	maxTag    = 1<<31 - 1
)

// ReadTraces makes a job from traces, one per rank and at least one. names are the files' names for errors, which are
// of type *workload.FormatError. A node begins when all its dependencies have ended. Host computing, device computing
// and messages have a processor each; collective operations do not wait for each other. A duration of 0 counts as a
// nanosecond.
func ReadTraces(traces [][]byte, names []string, o Options) (*job.Listed, error) {
	b := &jobBuilder{Builder: job.NewBuilder(strings.TrimSuffix(names[0], ".0.et")), ranks: len(traces), options: o,
		tag: maxTag + 1, same: map[string]*operation{}}
	for rank, data := range traces {
		b.file, b.rank, b.begun = names[rank], rank, map[string]int{}
		nodes, err := readTrace(data, b.file)
		if err == nil {
			err = b.addRank(nodes)
		}
		if err != nil {
			return nil, err
		}
	}
	return b.Build(), nil
}

// jobBuilder is a job while its traces are read.
type jobBuilder struct {
	*job.Builder
	options Options
	ranks   int
	file    string // current file
	rank    int
	begun   map[string]int        // collective operations of this rank so far, by members
	same    map[string]*operation // by members and count of their operations
	tag     uint64                // next tag of collective operations
}

// operation is a collective operation of several ranks.
type operation struct {
	kind   string
	size   unit.Bytes
	job    *collective.Job
	tag    uint64
	number int32
	file   string // file that has it first
	id     uint64
}

// errorf returns an error at a node.
func (b *jobBuilder) errorf(x *node, format string, args ...any) error {
	name := ""
	if x.name != "" {
		name = fmt.Sprintf(" (%s)", x.name)
	}
	return &workload.FormatError{File: b.file, Line: 1, Column: x.offset + 1, Msg: fmt.Sprintf("node %d%s of rank %d: %s",
		x.id, name, b.rank, fmt.Sprintf(format, args...))}
}

// addRank adds the operations of the current rank's nodes and their dependencies. It fails on a repeated number and on
// a dependency on a missing node.
func (b *jobBuilder) addRank(nodes []node) error {
	b.BeginRank()
	type ends struct{ first, last int32 }
	at := make(map[uint64]ends, len(nodes))
	for i := range nodes {
		x := &nodes[i]
		if _, twice := at[x.id]; twice {
			return b.errorf(x, "the number is another node's already")
		}
		var e ends
		var err error
		if x.kind == collectiveNode {
			e.first, e.last, err = b.addCollective(x)
		} else {
			e.first, err = b.addSingle(x)
			e.last = e.first
		}
		if err != nil {
			return err
		}
		at[x.id] = e
	}
	for i := range nodes {
		x := &nodes[i]
		for _, d := range x.deps {
			other, known := at[d]
			if !known {
				return b.errorf(x, "it depends on node %d, which the rank has not", d)
			}
			b.AddDependency(at[x.id].first, other.last, false)
		}
	}
	return nil
}

// addSingle adds the operation of a node that is a single operation. It returns the operation's number in the rank, and
// fails for another type of node.
func (b *jobBuilder) addSingle(x *node) (int32, error) {
	if b.CountOps() >= job.MaxOps {
		return 0, b.errorf(x, "more than %d operations", job.MaxOps)
	}
	label := fmt.Sprintf("node %d", x.id)
	switch x.kind {
	case metadata:
		return b.AddOp(job.Op{Kind: job.Calc, CPU: hostCPU}, label, 0), nil
	case memoryLoad, memoryStore, compute:
		if x.micros > maxMicros {
			return 0, b.errorf(x, "it takes %d us; up to %d are allowed", x.micros, int64(maxMicros))
		}
		op := job.Op{Kind: job.Calc, Time: max(unit.Time(x.micros)*unit.Microsecond, unit.Nanosecond), CPU: deviceCPU}
		if v, _ := x.number("is_cpu_op"); v != 0 {
			op.CPU = hostCPU
		}
		return b.AddOp(op, label, 0), nil
	case send, receive:
		op, err := b.messageOp(x)
		if err != nil {
			return 0, err
		}
		return b.AddOp(op, label, 0), nil
	}
	return 0, b.errorf(x, "type %d; allowed: 1 (metadata), 2 and 3 (memory), 4 (compute), 5 (send), 6 (receive), "+
		"7 (collective); leave the node out, or give it type 1", x.kind)
}

// messageOp returns the operation of a node that is a send or a receive.
func (b *jobBuilder) messageOp(x *node) (op job.Op, err error) {
	op = job.Op{Kind: job.Send, CPU: messageCPU}
	own, other := "comm_src", "comm_dst"
	if x.kind == receive {
		op.Kind, own, other = job.Recv, other, own
	}
	if v, known := x.number(own); known && v != int64(b.rank) {
		return op, b.errorf(x, "its %s is %d, but the trace is for rank %d", own, v, b.rank)
	}
	peer, known := x.number(other)
	if !known || peer < 0 || peer >= int64(b.ranks) {
		return op, b.errorf(x, "its %s is %s; 0 to %d are allowed", other, formatValue(peer, known), b.ranks-1)
	}
	if op.Size, err = b.sizeOf(x); err != nil {
		return op, err
	}
	tag, _ := x.number("comm_tag")
	if tag < 0 || tag > maxTag {
		return op, b.errorf(x, "its comm_tag is %d; 0 to %d are allowed", tag, maxTag)
	}
	op.Peer, op.Tag = int32(peer), uint32(tag)
	return op, nil
}

// formatValue formats a value for errors.
func formatValue(v int64, known bool) string {
	if !known {
		return "missing"
	}
	return strconv.FormatInt(v, 10)
}

// sizeOf returns the size of a message or an operation in bytes, its comm_size. It fails if that is missing or out of
// range.
func (b *jobBuilder) sizeOf(x *node) (unit.Bytes, error) {
	v, known := x.number("comm_size")
	if !known || v < 0 || v > maxBytes {
		return 0, b.errorf(x, "its comm_size is %s; 0 to %d are allowed", formatValue(v, known), int64(maxBytes))
	}
	return unit.Bytes(v), nil
}

// addCollective adds the operations of a collective node. first is their first operation, and last their last. The
// first rank of an operation creates its shared state; later ranks must have the same kind and size.
func (b *jobBuilder) addCollective(x *node) (first, last int32, err error) {
	v, known := x.number("comm_type")
	if !known || v < 0 || v >= int64(len(operationTypes)) {
		remedy := ""
		if host, _ := x.number("is_cpu_op"); !known && host != 0 {
			remedy = "; a host's side of the operation is a node of type 4 (compute)"
		}
		return 0, 0, b.errorf(x, "its comm_type is %s; allowed: 0 (all-reduce), 1 (reduce), 2 (all-gather), 3 (gather), "+
			"4 (scatter), 5 (broadcast), 6 (all-to-all), 7 and 8 (reduce-scatter), 9 (barrier)%s",
			formatValue(v, known), remedy)
	}
	members, who, err := b.membersOf(x)
	if err != nil {
		return 0, 0, err
	}
	own := -1
	for i, m := range members {
		if m == b.rank {
			own = i
		}
	}
	if own < 0 {
		return 0, 0, b.errorf(x, "its group has ranks %v, without rank %d", members, b.rank)
	}
	size := unit.Bytes(0)
	if operationTypes[v] != barrier {
		if size, err = b.sizeOf(x); err != nil {
			return 0, 0, err
		}
	}
	if len(members) == 1 {
		first = b.AddOp(job.Op{Kind: job.Calc, CPU: messageCPU}, fmt.Sprintf("node %d", x.id), 0)
		return first, first, nil
	}
	key := fmt.Sprintf("%s %d", who, b.begun[who])
	b.begun[who]++
	op := b.same[key]
	if op == nil {
		if op, err = b.newOperation(x, operationTypes[v], size, len(members)); err != nil {
			return 0, 0, err
		}
		b.same[key] = op
	}
	empty := op.kind == collective.Scatter && own > 0 && size == 0 // only the first has an input
	if op.kind != operationTypes[v] || op.size != size && !empty {
		remedy := "give both the same comm_type and comm_size"
		if op.kind == collective.Scatter && op.size == 0 {
			remedy = "a scatter is from its first rank"
		}
		return 0, 0, b.errorf(x, "%s of %v, where node %d of %s, the same operation, is %s of %v; %s",
			operationTypes[v], size, op.id, op.file, op.kind, op.size, remedy)
	}
	return b.addMember(x, op, members, own)
}

// wholeBuffer returns the largest buffer of a rank in a collective operation, which is the size of package collective.
// A comm_size is a rank's input (mlcommons/chakra 21585d8, src/converter/pytorch_node.py:213-232). The input of an
// all-gather and of a gather is a rank's own block (astra-sim 518bd51, Ring.cc:75-77 and HalvingDoubling.cc:61-64), and
// of any other operation the buffer (Ring.cc:71-86). The product of a comm_size and a number of ranks is exact.
func wholeBuffer(kind string, size unit.Bytes, members int) unit.Bytes {
	if kind == collective.AllGather || kind == collective.Gather {
		return size * unit.Bytes(members)
	}
	return size
}

// newOperation returns the shared state of a new collective operation, and reserves tags for its messages. size is the
// comm_size of node x in bytes. It fails if the operation or its algorithm does not fit.
func (b *jobBuilder) newOperation(x *node, kind string, size unit.Bytes, members int) (*operation, error) {
	o := &operation{kind: kind, size: size, number: int32(len(b.same)), tag: b.tag, file: b.file, id: x.id}
	whole := wholeBuffer(kind, size, members)
	if whole > maxBytes {
		return nil, b.errorf(x, "its comm_size is the block of %v that each of %d ranks has, which are %v; up to %d B "+
			"are allowed for all", size, members, whole, int64(maxBytes))
	}
	c := collective.Config{Operation: kind, Members: members, Size: max(whole, unit.Bytes(members)),
		Algorithm: b.options.Algorithms[kind], Local: 8}
	if kind == barrier {
		c.Operation, c.Algorithm = collective.AllReduce, collective.DoubleTree
	}
	var err error
	if o.job, err = collective.New(c); err != nil {
		return nil, b.errorf(x, "%v", err)
	}
	if b.tag += uint64(2*members + 4); b.tag >= uint64(job.AnyTag) {
		return nil, b.errorf(x, "there are too many collective operations for the numbers of their messages")
	}
	return o, nil
}

// addMember adds the operations of a member in a collective operation: the rank members[member]. It returns the first
// and the last of them.
func (b *jobBuilder) addMember(x *node, o *operation, members []int, member int) (first, last int32, err error) {
	const lane = 1
	n := o.job.Ops(member, lane)
	if b.CountOps()+n > job.MaxOps {
		return 0, 0, b.errorf(x, "more than %d operations", job.MaxOps)
	}
	var deps []job.Dep
	waited := make([]bool, n) // by operation, whether another one depends on it
	for i := range n {
		at := job.Ref{Lane: lane, Op: int32(i)}
		op := o.job.Op(member, at)
		op.CPU = messageCPU
		if op.Kind != job.Calc {
			op.Peer, op.Tag = int32(members[op.Peer]), uint32(o.tag+uint64(op.Tag))
		}
		if op.Mark != job.NoMark {
			op.Part = o.number
		}
		last = b.AddOp(op, fmt.Sprintf("node %d, step %d", x.id, i), 0)
		if i == 0 {
			first = last
		}
		deps = o.job.After(member, at, deps[:0])
		for _, d := range deps {
			switch {
			case d.Op == job.Earlier:
				for k := range i {
					if !waited[k] {
						b.AddDependency(last, first+int32(k), false)
					}
				}
			case d.Lane == lane:
				waited[d.Op] = true
				b.AddDependency(last, first+d.Op, false)
			}
		}
	}
	return first, last, nil
}

// membersOf returns the ranks that take part in a collective operation, in their order, and a key that is the same at
// all of them.
func (b *jobBuilder) membersOf(x *node) (ranks []int, who string, err error) {
	if name := x.texts["pg_name"]; name != "" {
		group, known := b.options.Groups[name]
		if !known {
			return nil, "", b.errorf(x, "its process group %q has unknown ranks; name them in the "+
				"job, such as groups: groups.json with {%q: [0, 1]}", name, name)
		}
		return group, "group " + name, nil
	}
	if _, known := x.number("pg_name"); known {
		return nil, "", b.errorf(x, "its pg_name is a number; a string is allowed (string_val)")
	}
	if x.hasAllDimensions() {
		all := make([]int, b.ranks)
		for i := range all {
			all[i] = i
		}
		return all, "all", nil
	}
	if len(b.options.Dims) < len(x.involved) {
		return nil, "", b.errorf(x, "it is among some of %d dimensions, and the sizes of %d are known (dims)",
			len(x.involved), len(b.options.Dims))
	}
	base, step := b.rank, 1
	ranks = []int{0}
	for d, size := range b.options.Dims {
		if d >= len(x.involved) || x.involved[d] { // all positions of the dimension
			base -= b.rank / step % size * step
			var more []int
			for k := range size {
				for _, r := range ranks {
					more = append(more, r+k*step)
				}
			}
			ranks = more
		}
		step *= size
	}
	for i := range ranks {
		ranks[i] += base
	}
	return ranks, fmt.Sprint("dims ", x.involved, base), nil
}

// readGroups parses the ranks of process groups: {"1": [0, 1], …}. It fails on a rank that is repeated in a group or
// not below ranks.
func readGroups(data []byte, file string, ranks int) (map[string][]int, error) {
	var groups map[string][]int
	fail := func(format string, args ...any) error {
		return &workload.FormatError{File: file, Line: 1, Column: 1, Msg: fmt.Sprintf(format, args...)}
	}
	if err := json.Unmarshal(data, &groups); err != nil {
		return nil, fail(`no map of groups, such as {"1": [0, 1]}: %v`, err)
	}
	//weir:unordered an error names any of several
	for name, list := range groups {
		seen := map[int]bool{}
		for _, r := range list {
			if r < 0 || r >= ranks || seen[r] {
				return nil, fail("group %q has rank %d twice, or it is none of 0 to %d", name, r, ranks-1)
			}
			seen[r] = true
		}
	}
	return groups, nil
}

// parseDims parses sizes of dimensions, such as 8x4. Their product must equal ranks. "" gives nil.
func parseDims(text string, ranks int) (dims []int, err error) {
	if text == "" {
		return nil, nil
	}
	product := 1
	for _, s := range strings.Split(text, "x") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > math.MaxInt32/product {
			return nil, fmt.Errorf("%q has no sizes of dimensions", text)
		}
		dims, product = append(dims, n), product*n
	}
	if product != ranks {
		return nil, fmt.Errorf("dimensions of %s are %d ranks, and there are %d", text, product, ranks)
	}
	return dims, nil
}
