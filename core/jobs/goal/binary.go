package goal

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"weir/core/jobs/job"
	"weir/core/unit"
	"weir/core/workload"
)

// The binary form, all little endian and without gaps. It begins with the magic number. From byte 8 on it has the
// number of ranks, the largest cpu and nic, and the begin and end of each rank, counted from byte 8. The ranks follow.
// Each has its number of nodes, the number and the list of the nodes without dependencies, the nodes, and a list of
// node numbers to which the nodes point.
const (
	magic    = 4223
	origin   = 8  // offset from which positions count
	nodeSize = 39 // bytes of a node
	typeSend = 1
	typeRecv = 2
	typeCalc = 3
)

// isBinary reports whether data are of the binary form.
func isBinary(data []byte) bool { return len(data) >= 8 && binary.LittleEndian.Uint64(data) == magic }

// node is one node of the file.
type node struct {
	deps         uint32
	kind         uint8
	peer         uint32
	size         uint64
	tag          uint32
	cpu, nic     uint8
	after        [2]uint32 // number of nodes that depend on its end, and the first of them in the rank's list
	afterBegun   [2]uint32 // the same for its beginning
	offset       int       // offset in the file
	dependencies uint32    // dependencies found so far
}

// reader reads a file in binary form.
type reader struct {
	data []byte
	file string
}

// errorf returns an error at a byte offset.
func (r *reader) errorf(at int, format string, args ...any) error {
	return &workload.FormatError{File: r.file, Line: 1, Column: at + 1, Msg: fmt.Sprintf("byte %d: ", at) +
		fmt.Sprintf(format, args...)}
}

// u32 and u64 return the little-endian numbers at an offset.
func (r *reader) u32(at int) uint32 { return binary.LittleEndian.Uint32(r.data[at:]) }
func (r *reader) u64(at int) uint64 { return binary.LittleEndian.Uint64(r.data[at:]) }

// readBinary parses the binary form of a GOAL file. Errors are of type *workload.FormatError.
func readBinary(data []byte, file string) (*job.Listed, error) {
	r := &reader{data, file}
	if len(data) < origin+6 {
		return nil, r.errorf(len(data), "the file ends within its header of %d B", origin+6)
	}
	ranks := int(r.u32(origin))
	if ranks < 1 || ranks > maxRanks {
		return nil, r.errorf(origin, "%d ranks; from 1 to %d are allowed", ranks, maxRanks)
	}
	if most := (len(data) - origin - 6) / 16; ranks > most {
		return nil, r.errorf(origin, "%d ranks, and the file has room for the places of %d", ranks, most)
	}
	b := job.NewBuilder(file)
	b.KeepLogGOPSimOrder()
	for k := range ranks {
		at := origin + 6 + 16*k
		start, end := r.u64(at), r.u64(at+8)
		if size := uint64(len(data) - origin); start > end || end > size || start < uint64(6+16*ranks) {
			return nil, r.errorf(at, "rank %d is from %d to %d; places from %d to %d are allowed", k, start, end, 6+16*ranks,
				size)
		}
		b.BeginRank()
		if err := r.readRank(b, k, ranks, origin+int(start), origin+int(end)); err != nil {
			return nil, err
		}
	}
	return b.Build(), nil
}

// readRank parses the rank in the bytes from … to−1 of the file, and adds its operations and dependencies to b.
func (r *reader) readRank(b *job.Builder, rank, ranks, from, to int) error {
	if to-from < 8 {
		return r.errorf(from, "rank %d has %d B; it begins with 8 B, the number of its nodes", rank, to-from)
	}
	n, roots := int(r.u32(from)), int(r.u32(from+4))
	at := from + 8
	if roots > n || (to-at)/4 < roots || (to-at-4*roots)/nodeSize < n {
		return r.errorf(from, "rank %d has %d nodes, %d of them first ones, and no room for them in its %d B", rank, n, roots,
			to-from)
	}
	first, list := at, at+4*roots+nodeSize*n
	at += 4 * roots
	if b.CountOps()+n > job.MaxOps {
		return r.errorf(from, "more than %d operations", job.MaxOps)
	}
	nodes := make([]node, n)
	for i := range nodes {
		x := &nodes[i]
		*x = node{deps: r.u32(at), kind: r.data[at+4], peer: r.u32(at + 5), size: r.u64(at + 9), tag: r.u32(at + 17),
			cpu: r.data[at+21], nic: r.data[at+22], after: [2]uint32{r.u32(at + 23), r.u32(at + 27)},
			afterBegun: [2]uint32{r.u32(at + 31), r.u32(at + 35)}, offset: at}
		op, err := r.nodeOp(x, rank, i, ranks)
		if err != nil {
			return err
		}
		b.AddOp(op, "", 0)
		at += nodeSize
	}
	if err := r.readDependencies(b, nodes, rank, list, to); err != nil {
		return err
	}
	for k := range roots {
		if i := r.u32(first + 4*k); int(i) >= n || nodes[i].deps != 0 {
			return r.errorf(first+4*k, "rank %d: %d is no node without dependencies", rank, i)
		}
	}
	return nil
}

// nodeOp returns the operation of node i of a rank. It fails on a type, size or peer that is not allowed.
func (r *reader) nodeOp(x *node, rank, i, ranks int) (op job.Op, err error) {
	op = job.Op{CPU: x.cpu, NIC: x.nic}
	where := func(format string, args ...any) error {
		return r.errorf(x.offset, "node %d of rank %d: %s", i, rank, fmt.Sprintf(format, args...))
	}
	switch x.kind {
	case typeCalc:
		if x.size > maxNanos {
			return op, where("%d ns; up to %d are allowed", x.size, int64(maxNanos))
		}
		op.Kind, op.Time, op.NIC = job.Calc, unit.Time(x.size)*unit.Nanosecond, 0
		return op, nil
	case typeSend:
		op.Kind = job.Send
	case typeRecv:
		op.Kind = job.Recv
	default:
		return op, where("type %d; 1 (send), 2 (recv) and 3 (calc) are allowed", x.kind)
	}
	if x.size > maxBytes {
		return op, where("a message of %d B; up to %d are allowed", x.size, int64(maxBytes))
	}
	if x.peer >= uint32(ranks) && !(op.Kind == job.Recv && x.peer == math.MaxUint32) {
		return op, where("rank %d; 0 to %d are allowed", int32(x.peer), ranks-1)
	}
	op.Size, op.Peer, op.Tag = unit.Bytes(x.size), int32(x.peer), x.tag
	return op, nil
}

// readDependencies adds the dependencies between nodes, which are lists of dependent nodes.
func (r *reader) readDependencies(b *job.Builder, nodes []node, rank, list, to int) error {
	numbers := (to - list) / 4
	for i := range nodes {
		x := &nodes[i]
		for k, part := range [2][2]uint32{x.after, x.afterBegun} {
			count, first := int64(part[0]), int64(part[1])
			if count == 0 {
				continue
			}
			if first+count > int64(numbers) {
				return r.errorf(x.offset, "node %d of rank %d points to %d numbers from %d on, and the rank has %d", i, rank, count,
					first, numbers)
			}
			for n := first; n < first+count; n++ {
				other := r.u32(list + 4*int(n))
				if int(other) >= len(nodes) {
					return r.errorf(list+4*int(n), "rank %d has no node %d", rank, other)
				}
				nodes[other].dependencies++
				b.AddDependency(int32(other), int32(i), k == 1)
			}
		}
	}
	for i := range nodes {
		if x := &nodes[i]; x.deps != x.dependencies {
			return r.errorf(x.offset, "node %d of rank %d has %d dependencies, but its count is %d", i, rank,
				x.dependencies, x.deps)
		}
	}
	return nil
}

// writeBinary writes a job in binary form, without its labels. Times are rounded up to nanoseconds.
func writeBinary(w io.Writer, l *job.Listed) error {
	b := bufio.NewWriter(w)
	var fixed [8]byte
	u32 := func(v uint32) {
		binary.LittleEndian.PutUint32(fixed[:], v)
		b.Write(fixed[:4])
	}
	u64 := func(v uint64) {
		binary.LittleEndian.PutUint64(fixed[:], v)
		b.Write(fixed[:])
	}
	u64(magic)
	u32(uint32(l.Ranks()))
	var cpu, nic uint8
	for r := range l.Ranks() {
		for i := range l.Ops(r, 0) {
			op := l.Op(r, job.Ref{Op: int32(i)})
			cpu, nic = max(cpu, op.CPU), max(nic, op.NIC)
		}
	}
	b.Write([]byte{cpu, nic})
	at := uint64(6 + 16*l.Ranks())
	for r := range l.Ranks() {
		u64(at)
		n, roots, after := l.Ops(r, 0), 0, 0
		for i := range n {
			k := len(l.After(r, job.Ref{Op: int32(i)}, nil))
			if after += k; k == 0 {
				roots++
			}
		}
		at += uint64(8 + 4*roots + nodeSize*n + 4*after)
		u64(at)
	}
	for r := range l.Ranks() {
		writeRank(b, l, r, u32, u64)
	}
	return b.Flush()
}

// writeRank writes a rank. u32 and u64 write a number to b.
func writeRank(b *bufio.Writer, l *job.Listed, rank int, u32 func(uint32), u64 func(uint64)) {
	n := l.Ops(rank, 0)
	before := make([]uint32, n) // number of dependencies
	ends, begun := make([][]uint32, n), make([][]uint32, n)
	var roots []uint32
	var deps []job.Dep
	for i := range n {
		deps = l.After(rank, job.Ref{Op: int32(i)}, deps[:0])
		if before[i] = uint32(len(deps)); len(deps) == 0 {
			roots = append(roots, uint32(i))
		}
		for _, d := range deps {
			if d.Begun {
				begun[d.Op] = append(begun[d.Op], uint32(i))
			} else {
				ends[d.Op] = append(ends[d.Op], uint32(i))
			}
		}
	}
	u32(uint32(n))
	u32(uint32(len(roots)))
	for _, i := range roots {
		u32(i)
	}
	first := uint32(0)
	for i := range n {
		op := l.Op(rank, job.Ref{Op: int32(i)})
		u32(before[i])
		kind, size := byte(typeCalc), uint64((op.Time+unit.Nanosecond-1)/unit.Nanosecond)
		switch op.Kind {
		case job.Send:
			kind, size = typeSend, uint64(op.Size)
		case job.Recv:
			kind, size = typeRecv, uint64(op.Size)
		}
		b.WriteByte(kind)
		u32(uint32(op.Peer))
		u64(size)
		u32(op.Tag)
		b.Write([]byte{op.CPU, op.NIC})
		for _, list := range [2][]uint32{ends[i], begun[i]} {
			u32(uint32(len(list)))
			u32(first)
			first += uint32(len(list))
		}
	}
	for i := range n {
		for _, list := range [2][]uint32{ends[i], begun[i]} {
			for _, other := range list {
				u32(other)
			}
		}
	}
}
