package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weir/core/unit"
)

// JobFault is the reason why a job cannot run, with the line of its file, 0 if unknown, and the affected rank, −1 for
// several.
type JobFault struct {
	Line int
	Msg  string
	Rank int
}

func (f *JobFault) Error() string { return f.Msg }

// Check returns the errors of a listed job: cycles of dependencies, messages without a partner, and sends and receives
// of one message that differ in size. A job that passes may still deadlock, which only a run shows (DescribeDeadlock).
// Check also records which messages must not overtake each other, so it must be called before a run on packets.
func (l *Listed) Check() (faults []JobFault) {
	if f := l.findCycle(); f != nil {
		return []JobFault{*f}
	}
	return l.checkPartners()
}

// findCycle returns a fault if dependencies form a cycle, else nil.
func (l *Listed) findCycle() *JobFault {
	held := make([]int32, len(l.ops))
	var begun []int32
	waiting := make([][]int32, 0)
	for r := range l.Ranks() {
		first, last := l.first[r], l.first[r+1]
		waiting = slices.Grow(waiting[:0], int(last-first))[:last-first]
		clear(waiting)
		begun = begun[:0]
		for i := first; i < last; i++ {
			deps := l.after[l.at[i]:l.at[i+1]]
			if held[i] = int32(len(deps)); held[i] == 0 {
				begun = append(begun, i)
			}
			for _, d := range deps {
				waiting[d.Op] = append(waiting[d.Op], i)
			}
		}
		for k := 0; k < len(begun); k++ {
			for _, i := range waiting[begun[k]-first] {
				if held[i]--; held[i] == 0 {
					begun = append(begun, i)
				}
			}
		}
		if len(begun) < int(last-first) {
			return l.describeCycle(r, held)
		}
	}
	return nil
}

// describeCycle describes a cycle of a rank. held counts the unmet dependencies of operations; some of the rank's are
// held.
func (l *Listed) describeCycle(rank int, held []int32) *JobFault {
	first := l.first[rank]
	at := first
	for held[at] == 0 {
		at++
	}
	seen := map[int32]int{}
	var path []int32
	for {
		if begin, again := seen[at]; again {
			path = path[begin:]
			break
		}
		seen[at] = len(path)
		path = append(path, at)
		for _, d := range l.after[l.at[at]:l.at[at+1]] {
			if held[first+d.Op] > 0 {
				at = first + d.Op
				break
			}
		}
	}
	least := slices.Index(path, slices.Min(path))
	path = append(path[least:], path[:least]...)
	var names []string
	for i, x := range append(path, path[0]) {
		if i == 8 && len(path) > 9 {
			names = append(names, fmt.Sprintf("… (%d more)", len(path)-8))
		}
		if i < 8 || i == len(path) || len(path) <= 9 {
			names = append(names, l.describeOp(rank, x-first))
		}
	}
	return &JobFault{l.Line(rank, path[0]-first), fmt.Sprintf("rank %d: %s: these come after each other in a circle, so "+
		"none begins", rank, strings.Join(names, " after ")), rank}
}

// describeOp returns the name of an operation for messages.
func (l *Listed) describeOp(rank int, op int32) string {
	name := l.shortLabel(rank, op)
	if line := l.Line(rank, op); line > 0 {
		name += fmt.Sprintf(" (line %d)", line)
	}
	return name
}

// side is one side of a message: a send or a receive.
type side struct {
	src, dst int32
	tag      uint32
	rank     int32 // rank that has the operation
	op       int32
}

// maxFaults limits the number of reported faults of a job.
const maxFaults = 20

// checkPartners returns faults for sends without a receive and receives without a send, and for differing sizes
// (checkSizes). It records the routes with several messages. Ranks with receives from any rank or with any tag are
// compared by count only, because time decides which message such a receive takes.
func (l *Listed) checkPartners() (faults []JobFault) {
	var sends, recvs []side
	open := make([]int64, l.Ranks()) // by rank, receives of any that have no send left
	anyOf := make([]bool, l.Ranks()) // by rank, whether it has receives of any
	for r := range l.Ranks() {
		for k := range l.Ops(r, 0) {
			op := l.ops[l.first[r]+int32(k)]
			switch {
			case op.Kind == Send:
				sends = append(sends, side{int32(r), op.Peer, op.Tag, int32(r), int32(k)})
			case op.Kind == Recv && (op.Peer == AnyRank || op.Tag == AnyTag):
				open[r]++
				anyOf[r] = true
			case op.Kind == Recv:
				recvs = append(recvs, side{op.Peer, int32(r), op.Tag, int32(r), int32(k)})
			}
		}
	}
	order := func(a, b side) int {
		return cmp.Or(cmp.Compare(a.dst, b.dst), cmp.Compare(a.src, b.src), cmp.Compare(a.tag, b.tag),
			cmp.Compare(a.op, b.op))
	}
	slices.SortFunc(sends, order)
	slices.SortFunc(recvs, order)
	l.noteSeveral(sends)
	var lonely []side
	i, k := 0, 0
	for i < len(sends) || k < len(recvs) {
		switch {
		case k == len(recvs) || i < len(sends) && compareMessages(sends[i], recvs[k]) < 0:
			lonely = append(lonely, sends[i])
			i++
		case i == len(sends) || compareMessages(sends[i], recvs[k]) > 0:
			lonely = append(lonely, recvs[k])
			k++
		default:
			i, k = i+1, k+1
		}
	}
	kept := lonely[:0]
	for _, s := range lonely {
		if s.rank == s.src && s.rank != s.dst || s.rank == s.src && l.ops[l.first[s.rank]+s.op].Kind == Send {
			if open[s.dst] > 0 {
				open[s.dst]--
				continue
			}
		}
		kept = append(kept, s)
	}
	for r := range open { // receives of any without a message
		if open[r] > 0 {
			faults = append(faults, JobFault{0, fmt.Sprintf("rank %d: %d of its receives from any rank or with any tag have "+
				"no message left to take", r, open[r]), r})
		}
	}
	for n, s := range kept {
		if n == maxFaults {
			faults = append(faults, JobFault{0, fmt.Sprintf("%d more messages have no partner", len(kept)-n), -1})
			break
		}
		faults = append(faults, l.lonelyFault(s, sends, recvs))
	}
	return append(faults, l.checkSizes(sends, recvs, func(rank int32) bool { return anyOf[rank] })...)
}

// checkSizes returns faults for sends and receives of one message that differ in size, in lists sorted by message.
// Several messages with the same ranks and tag are compared in any order, because time decides which send meets which
// receive; Rank compares them during the run. The same holds for ranks that receive from any rank or with any tag.
func (l *Listed) checkSizes(sends, recvs []side, any func(rank int32) bool) (faults []JobFault) {
	size := func(s side) unit.Bytes { return l.ops[l.first[s.rank]+s.op].Size }
	for len(sends) > 0 && len(recvs) > 0 {
		s, r := recvs[0], recvs[0]
		if compareMessages(sends[0], recvs[0]) < 0 {
			s = sends[0]
		}
		n, m := countLeading(sends, s), countLeading(recvs, s)
		if n == m && !any(r.dst) && !sameSizes(sends[:n], recvs[:n], size) {
			if len(faults) == maxFaults {
				return append(faults, JobFault{0, "the sizes of more messages differ", -1})
			}
			k := 0
			for size(sends[k]) == size(recvs[k]) {
				k++
			}
			s, r = sends[k], recvs[k]
			faults = append(faults, JobFault{l.Line(int(r.rank), r.op), fmt.Sprintf("rank %d: %s awaits %d B from rank %d with "+
				"tag %d, and %s there sends %d B; give both the same size", r.rank, l.describeOp(int(r.rank), r.op), size(r),
				r.src, r.tag, l.describeOp(int(s.rank), s.op), size(s)), int(r.rank)})
		}
		sends, recvs = sends[n:], recvs[m:]
	}
	return faults
}

// countLeading returns the number of sides at the beginning of the list that have the message of s.
func countLeading(sides []side, s side) int {
	n := 0
	for n < len(sides) && compareMessages(sides[n], s) == 0 {
		n++
	}
	return n
}

// sameSizes reports whether sends and receives have the same sizes in the same numbers, in any order.
func sameSizes(sends, recvs []side, size func(s side) unit.Bytes) bool {
	if len(sends) == 1 {
		return size(sends[0]) == size(recvs[0])
	}
	sorted := func(sides []side) (out []unit.Bytes) {
		for _, s := range sides {
			out = append(out, size(s))
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(sorted(sends), sorted(recvs))
}

// compareMessages compares the messages of two sides.
func compareMessages(a, b side) int {
	return cmp.Or(cmp.Compare(a.dst, b.dst), cmp.Compare(a.src, b.src), cmp.Compare(a.tag, b.tag))
}

// lonelyFault returns the fault of a side without a partner. It names the tags of possible partners.
func (l *Listed) lonelyFault(s side, sends, recvs []side) JobFault {
	op := l.ops[l.first[s.rank]+s.op]
	what, others := "rank %[2]d receives nothing from rank %[1]d", recvs
	verb := fmt.Sprintf("sends %d B to rank %d", op.Size, s.dst)
	if op.Kind == Recv {
		what, others = "rank %[1]d sends nothing to rank %[2]d", sends
		verb = fmt.Sprintf("awaits %d B from rank %d", op.Size, s.src)
	}
	what = fmt.Sprintf(what, s.src, s.dst)
	var tags []string
	same := 0
	for _, o := range others {
		if o.src != s.src || o.dst != s.dst {
			continue
		}
		if o.tag == s.tag {
			same++
			continue
		}
		if t := fmt.Sprint(o.tag); len(tags) < 5 && !slices.Contains(tags, t) {
			tags = append(tags, t)
		}
	}
	doing := map[OpKind]string{Send: "receives", Recv: "sends"}[op.Kind]
	switch {
	case same > 0:
		what = fmt.Sprintf("the other side %s only %d with this tag", doing, same)
	case len(tags) > 0:
		what = fmt.Sprintf("the other side %s with tag %s", doing, strings.Join(tags, ", "))
	}
	return JobFault{l.Line(int(s.rank), s.op), fmt.Sprintf("rank %d: %s %s with tag %d, and %s", s.rank,
		l.describeOp(int(s.rank), s.op), verb, s.tag, what), int(s.rank)}
}

// DescribeDeadlock describes the operations of an outcome that never ran; "" if all ran.
func DescribeDeadlock(p Program, o *Outcome) string {
	if o.Left == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d operations of %d of %d ranks never run", o.Left, o.Unfinished, p.Ranks())
	for _, s := range o.Stuck {
		verb := "waits to send to"
		if s.Op.Kind == Recv {
			verb = "waits for a message from"
		}
		who := fmt.Sprintf("rank %d", s.Op.Peer)
		if s.Op.Peer == AnyRank {
			who = "any rank"
		}
		where := fmt.Sprintf("operation %d of lane %d of rank %d", s.At.Op, s.At.Lane, s.Rank)
		if n, is := p.(named); is {
			where = n.Where(s.Rank, s.At)
		}
		tag := fmt.Sprintf("with tag %d", s.Op.Tag)
		if s.Op.Tag == AnyTag {
			tag = "with any tag"
		}
		switch s.Op.Kind {
		case Calc:
			fmt.Fprintf(&b, "\n%s waits for its processor", where)
			continue
		case Wait:
			fmt.Fprintf(&b, "\n%s waits until all ranks begin iteration %d", where, s.Op.Part+1)
			continue
		}
		fmt.Fprintf(&b, "\n%s %s %s %s, and %d others of the rank wait", where, verb, who, tag, s.Behind)
	}
	if n := o.Unfinished - len(o.Stuck); n > 0 {
		fmt.Fprintf(&b, "\nand so do %d more ranks", n)
	}
	return b.String()
}
