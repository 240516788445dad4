package job

import (
	"fmt"
	"slices"
)

// Listed is a Program operation by operation, in one lane a rank.
type Listed struct {
	File    string
	ops     []Op
	first   []int32 // operations of rank r are first[r] … first[r+1]−1
	after   []Dep
	at      []int32  // operation i comes after after[at[i]] … after[at[i+1]−1]
	line    []int32  // of the file; nil: not known
	label   []string // nil: there are none
	traits  Traits
	several map[route]struct{} // routes of several messages, which Check notes
}

// MostOps is how many operations can be listed.
const MostOps = 1<<31 - 2

// Ranks is how many there are.
func (l *Listed) Ranks() int { return len(l.first) - 1 }

// Lanes is one.
func (l *Listed) Lanes(int) int { return 1 }

// Ops is how many operations a rank has.
func (l *Listed) Ops(rank, _ int) int { return int(l.first[rank+1] - l.first[rank]) }

// Window is 0: all are looked at.
func (l *Listed) Window(int, int) int { return 0 }

// Op is one of them.
func (l *Listed) Op(rank int, at Ref) Op { return l.ops[l.first[rank]+at.Op] }

// After appends what one of them comes after.
func (l *Listed) After(rank int, at Ref, to []Dep) []Dep {
	i := l.first[rank] + at.Op
	return append(to, l.after[l.at[i]:l.at[i+1]]...)
}

// Label is the name of an operation within its rank; "" if it has none.
func (l *Listed) Label(rank int, op int32) string {
	if l.label == nil {
		return ""
	}
	return l.label[l.first[rank]+op]
}

// Line is that of an operation in its file, from 1; 0: not known.
func (l *Listed) Line(rank int, op int32) int {
	if l.line == nil {
		return 0
	}
	return int(l.line[l.first[rank]+op])
}

// Where is the place of an operation: "x.goal:4: s0 of rank 1".
func (l *Listed) Where(rank int, at Ref) string {
	name := l.called(rank, at.Op)
	name += fmt.Sprintf(" of rank %d", rank)
	if line := l.Line(rank, at.Op); line > 0 {
		return fmt.Sprintf("%s:%d: %s", l.File, line, name)
	}
	if l.File != "" {
		return l.File + ": " + name
	}
	return name
}

// called is the label of an operation for messages, or its number: a label is as long as its file allows.
func (l *Listed) called(rank int, op int32) string {
	const most = 40
	name := []rune(l.Label(rank, op))
	switch {
	case len(name) == 0:
		return fmt.Sprintf("operation %d", op)
	case len(name) > most:
		return string(name[:most/2]) + "…" + string(name[len(name)-most/2+1:])
	}
	return string(name)
}

// Total is how many operations there are.
func (l *Listed) Total() int { return len(l.ops) }

// Any reports whether a receive takes what comes from any rank, or with any tag.
func (l *Listed) Any() bool {
	return slices.ContainsFunc(l.ops, func(o Op) bool { return o.Kind == Recv && (o.Peer == AnyRank || o.Tag == AnyTag) })
}

// Traits returns what the ranks send, and how many NICs the operations name if one of them names another than the
// first. A list does not know the hosts, nor which of its operations belong together.
func (l *Listed) Traits() Traits { return l.traits }

// Same reports whether two lists have the same operations in the same order, whatever these are called.
func (l *Listed) Same(o *Listed) bool {
	return slices.Equal(l.ops, o.ops) && slices.Equal(l.first, o.first) && slices.Equal(l.at, o.at) &&
		slices.Equal(l.after, o.after)
}

// Builder makes a Listed job, rank by rank.
type Builder struct {
	l     Listed
	edges []edge
}

// edge says that an operation comes after another one of the same rank; both count over all ranks.
type edge struct {
	op, after int32
	begun     bool
}

// NewBuilder makes a builder of a job of this file.
func NewBuilder(file string) *Builder { return &Builder{l: Listed{File: file}} }

// KeepLogGOPSimOrder gives the job the trait LogGOPSimOrder, as jobs of GOAL files have it.
func (b *Builder) KeepLogGOPSimOrder() { b.l.traits.LogGOPSimOrder = true }

// Rank begins the next rank.
func (b *Builder) Rank() { b.l.first = append(b.l.first, int32(len(b.l.ops))) }

// Add adds an operation to the rank that was begun last, and returns its number there. A line of 0 is not known.
func (b *Builder) Add(op Op, label string, line int) int32 {
	if label != "" && b.l.label == nil {
		b.l.label = make([]string, len(b.l.ops))
	}
	if line != 0 && b.l.line == nil {
		b.l.line = make([]int32, len(b.l.ops))
	}
	b.l.ops = append(b.l.ops, op)
	if b.l.label != nil {
		b.l.label = append(b.l.label, label)
	}
	if b.l.line != nil {
		b.l.line = append(b.l.line, int32(line))
	}
	return int32(len(b.l.ops)-1) - b.l.first[len(b.l.first)-1]
}

// Total is how many operations were added.
func (b *Builder) Total() int { return len(b.l.ops) }

// After has an operation of the rank that was begun last come after another one of it.
func (b *Builder) After(op, after int32, begun bool) {
	first := b.l.first[len(b.l.first)-1]
	b.edges = append(b.edges, edge{first + op, first + after, begun})
}

// Job is what was built. What comes after something twice, comes after it once; after its beginning and its end, after
// its end.
func (b *Builder) Job() *Listed {
	l := &b.l
	l.first = append(l.first, int32(len(l.ops)))
	rank := make([]int32, len(l.ops)) // first operation of its rank, by operation
	for r := range len(l.first) - 1 {
		for i := l.first[r]; i < l.first[r+1]; i++ {
			rank[i] = l.first[r]
		}
	}
	slices.SortFunc(b.edges, func(x, y edge) int {
		switch {
		case x.op != y.op:
			return int(x.op) - int(y.op)
		case x.after != y.after:
			return int(x.after) - int(y.after)
		case x.begun == y.begun:
			return 0
		case y.begun:
			return -1
		}
		return 1
	})
	l.at = make([]int32, len(l.ops)+1)
	l.after = make([]Dep, 0, len(b.edges))
	k := 0
	for i := range l.ops {
		l.at[i] = int32(len(l.after))
		for last := int32(-1); k < len(b.edges) && b.edges[k].op == int32(i); k++ {
			if e := b.edges[k]; e.after != last {
				last = e.after
				l.after = append(l.after, Dep{Op: e.after - rank[i], Begun: e.begun})
			}
		}
	}
	l.at[len(l.ops)] = int32(len(l.after))
	b.edges = nil
	l.countTraits()
	return l
}

// countTraits sums up the operations.
func (l *Listed) countTraits() {
	maxNIC := uint8(0)
	for i := range l.ops {
		op := &l.ops[i]
		if maxNIC = max(maxNIC, op.NIC); op.Kind == Send {
			l.traits.Messages++
			l.traits.Bytes += float64(op.Size)
		}
	}
	if maxNIC > 0 {
		l.traits.NICs = int(maxNIC) + 1
	}
}
