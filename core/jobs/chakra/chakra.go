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

// Options say what traces leave open.
type Options struct {
	Groups map[string][]int // ranks of process groups, by name
	Dims   []int            // sizes of dimensions, the first of which goes from rank to rank; their product is the ranks
	// Algorithms are those of operations, by their names in package collective; others have their first one.
	Algorithms map[string]string
}

// Processors of a rank: what does not wait for each other.
const (
	ofHost = iota
	ofDevice
	ofMessages
)

// types are the collective operations by their numbers.
var types = [...]string{collective.AllReduce, collective.Reduce, collective.AllGather, collective.Gather,
	collective.Scatter, collective.Broadcast, collective.AllToAll, collective.ReduceScatter, collective.ReduceScatter,
	barrier}

const barrier = "barrier"

// limits of what a node may say.
const (
	mostBytes  = 1 << 40
	mostMicros = 1e12 // 11 days
	mostTag    = 1<<31 - 1
)

// Read makes a job of traces, one a rank; names are for errors, which are of type *workload.FormatError. A node begins
// when all that it depends on has ended. What the host computes, what the device computes, and messages have a
// processor each; collective operations do not wait for each other. A duration of 0 is a nanosecond.
func Read(traces [][]byte, names []string, o Options) (*job.Listed, error) {
	b := &building{Builder: job.NewBuilder(strings.TrimSuffix(names[0], ".0.et")), ranks: len(traces), options: o,
		tag: mostTag + 1, same: map[string]*operation{}}
	for rank, data := range traces {
		b.file, b.rank, b.begun = names[rank], rank, map[string]int{}
		nodes, err := trace(data, b.file)
		if err == nil {
			err = b.addRank(nodes)
		}
		if err != nil {
			return nil, err
		}
	}
	return b.Job(), nil
}

// building is a job while its traces are read.
type building struct {
	*job.Builder
	options Options
	ranks   int
	file    string // in hand
	rank    int
	begun   map[string]int        // collective operations of this rank so far, by who takes part
	same    map[string]*operation // by who takes part, and the how manieth of theirs it is
	tag     uint64                // next one of collective operations
}

// operation is a collective operation that several ranks have.
type operation struct {
	kind   string
	size   unit.Bytes
	job    *collective.Job
	tag    uint64
	number int32
	file   string // where it was met first
	id     uint64
}

func (b *building) errorf(x *node, format string, args ...any) error {
	name := ""
	if x.name != "" {
		name = fmt.Sprintf(" (%s)", x.name)
	}
	return &workload.FormatError{File: b.file, Line: 1, Column: x.at + 1, Msg: fmt.Sprintf("node %d%s of rank %d: %s",
		x.id, name, b.rank, fmt.Sprintf(format, args...))}
}

// addRank adds the operations of a rank.
func (b *building) addRank(nodes []node) error {
	b.Rank()
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
			e.first, e.last, err = b.collective(x)
		} else {
			e.first, err = b.single(x)
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
			b.After(at[x.id].first, other.last, false)
		}
	}
	return nil
}

// single adds the operation of a node that is one.
func (b *building) single(x *node) (int32, error) {
	if b.Total() >= job.MostOps {
		return 0, b.errorf(x, "more than %d operations", job.MostOps)
	}
	label := fmt.Sprintf("node %d", x.id)
	switch x.kind {
	case metadata:
		return b.Add(job.Op{Kind: job.Calc, CPU: ofHost}, label, 0), nil
	case memoryLoad, memoryStore, compute:
		if x.micros > mostMicros {
			return 0, b.errorf(x, "it takes %d us; up to %d are allowed", x.micros, int64(mostMicros))
		}
		op := job.Op{Kind: job.Calc, Time: max(unit.Time(x.micros)*unit.Microsecond, unit.Nanosecond), CPU: ofDevice}
		if v, _ := x.number("is_cpu_op"); v != 0 {
			op.CPU = ofHost
		}
		return b.Add(op, label, 0), nil
	case send, receive:
		op, err := b.message(x)
		if err != nil {
			return 0, err
		}
		return b.Add(op, label, 0), nil
	}
	return 0, b.errorf(x, "type %d; 1 (metadata), 2 and 3 (memory), 4 (compute), 5 (send), 6 (receive) and 7 "+
		"(collective) are possible; leave the node out, or give it type 1", x.kind)
}

// message is a send or a receive.
func (b *building) message(x *node) (op job.Op, err error) {
	op = job.Op{Kind: job.Send, CPU: ofMessages}
	own, other := "comm_src", "comm_dst"
	if x.kind == receive {
		op.Kind, own, other = job.Recv, other, own
	}
	if v, known := x.number(own); known && v != int64(b.rank) {
		return op, b.errorf(x, "its %s is %d, and the trace that of rank %d", own, v, b.rank)
	}
	peer, known := x.number(other)
	if !known || peer < 0 || peer >= int64(b.ranks) {
		return op, b.errorf(x, "its %s is %s; 0 to %d are allowed", other, said(peer, known), b.ranks-1)
	}
	if op.Size, err = b.size(x); err != nil {
		return op, err
	}
	tag, _ := x.number("comm_tag")
	if tag < 0 || tag > mostTag {
		return op, b.errorf(x, "its comm_tag is %d; 0 to %d are allowed", tag, mostTag)
	}
	op.Peer, op.Tag = int32(peer), uint32(tag)
	return op, nil
}

// said is a value for messages.
func said(v int64, known bool) string {
	if !known {
		return "missing"
	}
	return strconv.FormatInt(v, 10)
}

// size is what a message or an operation carries.
func (b *building) size(x *node) (unit.Bytes, error) {
	v, known := x.number("comm_size")
	if !known || v < 0 || v > mostBytes {
		return 0, b.errorf(x, "its comm_size is %s; 0 to %d are allowed", said(v, known), int64(mostBytes))
	}
	return unit.Bytes(v), nil
}

// collective adds the operations of a collective one; first begins it, and with last it is over.
func (b *building) collective(x *node) (first, last int32, err error) {
	v, known := x.number("comm_type")
	if !known || v < 0 || v >= int64(len(types)) {
		remedy := ""
		if host, _ := x.number("is_cpu_op"); !known && host != 0 {
			remedy = "; a host's side of the operation is a node of type 4 (compute)"
		}
		return 0, 0, b.errorf(x, "its comm_type is %s; 0 (all-reduce), 1 (reduce), 2 (all-gather), 3 (gather), 4 (scatter), "+
			"5 (broadcast), 6 (all-to-all), 7 and 8 (reduce-scatter) and 9 (barrier) are possible%s", said(v, known), remedy)
	}
	members, who, err := b.members(x)
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
		return 0, 0, b.errorf(x, "it is among ranks %v, of which this is none", members)
	}
	size := unit.Bytes(0)
	if types[v] != barrier {
		if size, err = b.size(x); err != nil {
			return 0, 0, err
		}
	}
	if len(members) == 1 {
		first = b.Add(job.Op{Kind: job.Calc, CPU: ofMessages}, fmt.Sprintf("node %d", x.id), 0)
		return first, first, nil
	}
	key := fmt.Sprintf("%s %d", who, b.begun[who])
	b.begun[who]++
	op := b.same[key]
	if op == nil {
		if op, err = b.newOperation(x, types[v], size, len(members)); err != nil {
			return 0, 0, err
		}
		b.same[key] = op
	}
	empty := op.kind == collective.Scatter && own > 0 && size == 0 // only the first has an input
	if op.kind != types[v] || op.size != size && !empty {
		remedy := "give both the same comm_type and comm_size"
		if op.kind == collective.Scatter && op.size == 0 {
			remedy = "a scatter is from its first rank"
		}
		return 0, 0, b.errorf(x, "%s of %v, where node %d of %s, the same operation, is %s of %v; %s", types[v], size, op.id,
			op.file, op.kind, op.size, remedy)
	}
	return b.expand(x, op, members, own)
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

// newOperation makes what ranks do together.
func (b *building) newOperation(x *node, kind string, size unit.Bytes, members int) (*operation, error) {
	o := &operation{kind: kind, size: size, number: int32(len(b.same)), tag: b.tag, file: b.file, id: x.id}
	whole := wholeBuffer(kind, size, members)
	if whole > mostBytes {
		return nil, b.errorf(x, "its comm_size is the block of %v that each of %d ranks has, which are %v; up to %d B "+
			"are allowed for all", size, members, whole, int64(mostBytes))
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

// expand adds what a member does in a collective operation.
func (b *building) expand(x *node, o *operation, members []int, own int) (first, last int32, err error) {
	const lane = 1
	n := o.job.Ops(own, lane)
	if b.Total()+n > job.MostOps {
		return 0, 0, b.errorf(x, "more than %d operations", job.MostOps)
	}
	var deps []job.Dep
	waited := make([]bool, n) // something comes after it
	for i := range n {
		at := job.Ref{Lane: lane, Op: int32(i)}
		op := o.job.Op(own, at)
		op.CPU = ofMessages
		if op.Kind != job.Calc {
			op.Peer, op.Tag = int32(members[op.Peer]), uint32(o.tag+uint64(op.Tag))
		}
		if op.Mark != job.NoMark {
			op.Part = o.number
		}
		last = b.Add(op, fmt.Sprintf("node %d, step %d", x.id, i), 0)
		if i == 0 {
			first = last
		}
		deps = o.job.After(own, at, deps[:0])
		for _, d := range deps {
			switch {
			case d.Op == job.Earlier:
				for k := range i {
					if !waited[k] {
						b.After(last, first+int32(k), false)
					}
				}
			case d.Lane == lane:
				waited[d.Op] = true
				b.After(last, first+d.Op, false)
			}
		}
	}
	return first, last, nil
}

// members are the ranks that take part in a collective operation, and a name for them.
func (b *building) members(x *node) (ranks []int, who string, err error) {
	if name := x.texts["pg_name"]; name != "" {
		group, known := b.options.Groups[name]
		if !known {
			return nil, "", b.errorf(x, "its process group %q is none of those whose ranks are known; name them in the "+
				"job, such as groups: groups.json with {%q: [0, 1]}", name, name)
		}
		return group, "group " + name, nil
	}
	if _, known := x.number("pg_name"); known {
		return nil, "", b.errorf(x, "its pg_name is a number; a string is allowed (string_val)")
	}
	if x.everywhere() {
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
		if d >= len(x.involved) || x.involved[d] { // all places of the dimension
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

// readGroups reads the ranks of process groups: {"1": [0, 1], …}.
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

// parseDims reads sizes of dimensions, such as 8x4.
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
