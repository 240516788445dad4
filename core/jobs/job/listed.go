package job

import (
	"fmt"
	"slices"
)

// Listed is a Program that lists its operations, in one lane per rank.
type Listed struct {
	File    string
	ops     []Op
	first   []int32 // operations of rank r are first[r] … first[r+1]−1
	after   []Dep
	at      []int32  // operation i comes after after[at[i]] … after[at[i+1]−1]
	line    []int32  // lines of the file; nil: unknown
	label   []string // nil: no labels
	traits  Traits
	several map[route]struct{} // routes with several messages, which Check records
}

// MaxOps is the maximum number of operations of a list.
const MaxOps = 1<<31 - 2

// Ranks returns the number of ranks.
func (l *Listed) Ranks() int { return len(l.first) - 1 }

// Lanes returns 1.
func (l *Listed) Lanes(int) int { return 1 }

// Ops returns the number of operations of a rank.
func (l *Listed) Ops(rank, _ int) int { return int(l.first[rank+1] - l.first[rank]) }

// Window returns 0: all operations are posted.
func (l *Listed) Window(int, int) int { return 0 }

// Op returns an operation.
func (l *Listed) Op(rank int, at Ref) Op { return l.ops[l.first[rank]+at.Op] }

// After appends the operations that an operation depends on.
func (l *Listed) After(rank int, at Ref, to []Dep) []Dep {
	i := l.first[rank] + at.Op
	return append(to, l.after[l.at[i]:l.at[i+1]]...)
}

// Label returns the name of an operation within its rank; "" without a name.
func (l *Listed) Label(rank int, op int32) string {
	if l.label == nil {
		return ""
	}
	return l.label[l.first[rank]+op]
}

// Line returns the line of an operation in its file, from 1; 0: unknown.
func (l *Listed) Line(rank int, op int32) int {
	if l.line == nil {
		return 0
	}
	return int(l.line[l.first[rank]+op])
}

// Where returns the place of an operation: "x.goal:4: s0 of rank 1".
func (l *Listed) Where(rank int, at Ref) string {
	name := l.shortLabel(rank, at.Op)
	name += fmt.Sprintf(" of rank %d", rank)
	if line := l.Line(rank, at.Op); line > 0 {
		return fmt.Sprintf("%s:%d: %s", l.File, line, name)
	}
	if l.File != "" {
		return l.File + ": " + name
	}
	return name
}

// shortLabel returns the label of an operation for messages, or its number. It shortens labels, which a file may make
// arbitrarily long.
func (l *Listed) shortLabel(rank int, op int32) string {
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

// CountOps returns the number of operations.
func (l *Listed) CountOps() int { return len(l.ops) }

// HasWildcards reports whether a receive takes messages from any rank or with any tag.
func (l *Listed) HasWildcards() bool {
	return slices.ContainsFunc(l.ops, func(o Op) bool { return o.Kind == Recv && (o.Peer == AnyRank || o.Tag == AnyTag) })
}

// Traits returns the totals that the ranks send, and the number of NICs if an operation names another one than the
// first. A list knows neither the hosts nor which operations form an iteration.
func (l *Listed) Traits() Traits { return l.traits }

// HasSameOps reports whether two lists have the same operations in the same order, without comparing labels.
func (l *Listed) HasSameOps(o *Listed) bool {
	return slices.Equal(l.ops, o.ops) && slices.Equal(l.first, o.first) && slices.Equal(l.at, o.at) &&
		slices.Equal(l.after, o.after)
}

// Builder builds a Listed job, rank by rank.
type Builder struct {
	l     Listed
	edges []edge
}

// edge is a dependency between two operations of the same rank. Operations are counted over all ranks.
type edge struct {
	op, after int32
	begun     bool
}

// NewBuilder returns a builder of a job from this file.
func NewBuilder(file string) *Builder { return &Builder{l: Listed{File: file}} }

// KeepLogGOPSimOrder sets the trait LogGOPSimOrder, which jobs of GOAL files have.
func (b *Builder) KeepLogGOPSimOrder() { b.l.traits.LogGOPSimOrder = true }

// BeginRank begins the next rank.
func (b *Builder) BeginRank() { b.l.first = append(b.l.first, int32(len(b.l.ops))) }

// AddOp adds an operation to the current rank and returns its number in the rank. A line of 0 means that it is unknown.
func (b *Builder) AddOp(op Op, label string, line int) int32 {
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

// CountOps returns the number of operations added so far.
func (b *Builder) CountOps() int { return len(b.l.ops) }

// AddDependency makes an operation of the current rank depend on another one of it: on its beginning if begun is set,
// else on its end.
func (b *Builder) AddDependency(op, after int32, begun bool) {
	first := b.l.first[len(b.l.first)-1]
	b.edges = append(b.edges, edge{first + op, first + after, begun})
}

// Build returns the built job. Duplicate dependencies are merged; a dependency on an operation's end replaces one on
// its beginning. The builder must not be used afterwards.
func (b *Builder) Build() *Listed {
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

// countTraits computes the number of messages and bytes over all operations, and the number of NICs if any other than 0
// is used.
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
