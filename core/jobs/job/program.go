package job

import (
	"weir/core/unit"
)

// OpKind is the type of an operation.
type OpKind uint8

// Kinds of operations.
const (
	Calc OpKind = iota // keeps a processor busy
	Send               // a message to another rank
	Recv               // a message from another rank
	Wait               // at a barrier, until the time is a multiple of Op.Time (Barrier)
)

// String names it as GOAL does.
func (k OpKind) String() string { return [...]string{"calc", "send", "recv", "wait"}[k] }

// What a receive takes from whichever rank, or with whichever tag.
const (
	AnyRank int32  = -1
	AnyTag  uint32 = 1<<32 - 1
)

// Mark is what the end of an operation says of a job that is made of iterations.
type Mark uint8

// Marks.
const (
	NoMark   Mark = iota
	Opens         // collective operation Op.Part begins at this rank
	Closes        // collective operation Op.Part is over at this rank
	Iterates      // iteration Op.Part is over at this rank
	Begins        // iteration Op.Part begins at this rank: a Wait has ended
)

// Op is one operation of a rank.
type Op struct {
	Size unit.Bytes // of a message
	Time unit.Time  // of a Calc; of a Wait, above 0
	Peer int32      // to or from whom; of a Recv perhaps AnyRank
	Tag  uint32     // of a message; perhaps AnyTag
	Part int32      // that its Mark is about
	CPU  uint8      // a rank's processor does one thing at a time
	NIC  uint8      // sends one message at a time, and receives one
	Kind OpKind
	Mark Mark
}

// Dep is what an operation comes after: the end of another one of its rank or, with Begun, its beginning.
type Dep struct {
	Lane, Op int32
	Begun    bool
}

// Earlier in place of Dep.Op stands for all operations of the same lane that come before.
const Earlier int32 = -1

// Ref names an operation of a rank.
type Ref struct{ Lane, Op int32 }

// Program is what the ranks of a job do. It may have its operations by formula, as there may be hundreds of millions.
// The operations of a rank are in lanes, each numbered from 0. What is listed nowhere as an order has none.
//
// A lane with a window is looked at in its order: an operation is not before all have ended that are a window or more
// before it. What operations of such a lane come after in it stands before them. A window is part of what the
// program means: it is how many operations of a lane are posted at a time.
type Program interface {
	Ranks() int
	Lanes(rank int) int
	Ops(rank, lane int) int
	Window(rank, lane int) int // 0: all of the lane
	Op(rank int, at Ref) Op
	// After appends what an operation comes after, nothing twice.
	After(rank int, at Ref, to []Dep) []Dep
}

// aged is a Program with parts that follow each other. Of what waits for a processor or a NIC of an ideal network the
// part with the lowest age goes first: a chunk that was begun earlier. Without ages the first operation of the program
// does.
type aged interface {
	Age(rank int, at Ref) int64
}

// Streamed is a Program with another form for networks on which a NIC sends one message at a time (Costs.Streams).
type Streamed interface {
	// Streamed returns a program with the same operations, in which a part may be sent once the part before it has begun
	// to be. Such NICs keep the order of Age, so a send needs no time to end before the next.
	Streamed() Program
}

// named is a Program whose operations have names and places for messages.
type named interface {
	// Where is the place of an operation: the file with its line, or what else finds it.
	Where(rank int, at Ref) string
}
