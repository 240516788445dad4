package tm

import "weir/core/unit"

// weighted is weighted round robin by packets: in its turn a queue sends up to its weight of packets, of any length.
// A queue that cannot send is skipped.
type weighted struct {
	weight []int32
	turn   int   // queue that has the turn
	left   int32 // packets that it may still send in this turn
}

// NewWRR returns weighted round robin by packets: queue i sends up to weights[i] packets a turn. All weights are
// above 0.
func NewWRR(weights []int32) Scheduler {
	return &weighted{weight: weights, left: weights[0]}
}

// Next returns the queue in turn, or passes the turn to the next ready queue. At least one queue must be ready.
func (w *weighted) Next(_ unit.Time, b *Buffer) (QueueID, unit.Time) {
	ready := b.readyQueues()
	for w.left == 0 || ready&(1<<w.turn) == 0 {
		if w.turn++; w.turn == len(w.weight) {
			w.turn = 0
		}
		w.left = w.weight[w.turn]
	}
	w.left--
	return QueueID(w.turn), unit.Never
}
