package job

import (
	"weir/core/unit"
)

// OpKind is the type of an operation.
type OpKind uint8

// Kinds of operations.
const (
	Calc OpKind = iota // occupies a processor
	Send               // a message to another rank
	Recv               // a message from another rank
	Wait               // at a barrier, until the time is a multiple of Op.Time (Barrier)
)

// String returns the kind's name in GOAL.
func (k OpKind) String() string { return [...]string{"calc", "send", "recv", "wait"}[k] }

// Wildcards of a receive for the rank and the tag.
const (
	AnyRank int32  = -1
	AnyTag  uint32 = 1<<32 - 1
)

// Mark is the meaning that the end of an operation has in a job with iterations.
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
	Peer int32      // rank to send to or receive from; AnyRank for a Recv from any rank
	Tag  uint32     // of a message; AnyTag for a Recv with any tag
	Part int32      // number of the Mark's operation or iteration
	CPU  uint8      // processor of the rank; each does one thing at a time
	NIC  uint8      // NIC; each sends one message at a time, and receives one
	Kind OpKind
	Mark Mark
}

// Dep is a dependency of an operation: on the end of another one of its rank or, with Begun, on its beginning.
type Dep struct {
	Lane, Op int32
	Begun    bool
}

// Earlier, in place of Dep.Op, stands for all earlier operations of the same lane.
const Earlier int32 = -1

// Ref identifies an operation of a rank.
type Ref struct{ Lane, Op int32 }

// Program defines the operations of a job's ranks. It may define them by formula, as there may be hundreds of
// millions. The operations of a rank are in lanes, each numbered from 0. Only listed dependencies define an order.
//
// A lane with a window is loaded in its order: an operation is loaded once all operations have ended that are a window
// or more before it. Dependencies within such a lane point backwards. The window is a part of the program's meaning:
// it is the number of operations of a lane that are posted at a time.
type Program interface {
	Ranks() int
	Lanes(rank int) int
	Ops(rank, lane int) int
	Window(rank, lane int) int // 0: the whole lane
	Op(rank int, at Ref) Op
	// After appends the dependencies of an operation, without duplicates.
	After(rank int, at Ref, to []Dep) []Dep
}

// aged is a Program with parts that follow each other. Among operations that wait for a processor or a NIC of an ideal
// network, the one with the lowest age goes first: the chunk that began earlier. Without ages the first operation of
// the program goes first.
type aged interface {
	Age(rank int, at Ref) int64
}

// Streamed is a Program with another form for networks on which a NIC sends one message at a time (Costs.Streams).
type Streamed interface {
	// Streamed returns a program with the same operations, in which a part may be sent once the sending of the part
	// before it has begun. Such NICs keep the order of Age, so a send does not need to end before the next.
	Streamed() Program
}

// named is a Program with names and places of operations for messages.
type named interface {
	// Where returns the place of an operation: the file with its line, or another description.
	Where(rank int, at Ref) string
}
