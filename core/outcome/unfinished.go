package outcome

import (
	"fmt"

	"weir/core/dataplane/tm"
	"weir/core/unit"
)

// Stuck is a queue that is not served.
type Stuck struct {
	Port   int // index into Result.Ports
	Queue  tm.QueueID
	Since  unit.Time // its head waits since then
	Paused bool      // PFC holds it
}

// Stray is a flow, or a message of a job, with packets that arrived at a NIC where no endpoint expects them, and
// without any packet that arrived at its receiver.
type Stray struct {
	Group    int    // Flow.Group
	Flow     int    // index into Load.Flows; −1: a message of a job
	From, To int    // of a message, the ranks
	Src, Dst int    // the NICs of its sender and its receiver (topology.NICs)
	NIC      int    // where the packets arrived
	Packets  uint64 // that arrived there, whole run
}

// Wait is what an unfinished flow was waiting for when the run ended.
type Wait struct {
	Flow int
	For  string // in words: "its timer"
	// Until is when that comes; unit.Never if the time is not known, or the flow waits for no time.
	Until unit.Time
	// InNetwork is the number of its packets on links and in queues.
	InNetwork int
	// Down are the directions of links (Result.Ports) that are down when the run ends and lost packets of the flow.
	Down []int
}

// String returns the wait in words, with its time if that is known and with its packets in the network if there are
// any.
func (w Wait) String() string {
	s := w.For
	if w.Until != unit.Never {
		s += fmt.Sprintf(" at %.9g s", w.Until.Seconds())
	}
	switch {
	case w.InNetwork == 1:
		s += ", with a packet in the network"
	case w.InNetwork > 1:
		s += fmt.Sprintf(", with %d packets in the network", w.InNetwork)
	}
	return s
}

// MessageWait is what a message of a job that did not end was waiting for when the run ended.
type MessageWait struct {
	From, To       int // ranks
	Size, Received unit.Bytes
	Wait
}
