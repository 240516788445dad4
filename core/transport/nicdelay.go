package transport

import (
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// NICDelays are the times that a receiver's NIC takes to make ACKs, NACKs and CNPs.
type NICDelays struct{ Ack, Nack, CNP unit.Time }

// Params binds the options of the delays of ACKs and NACKs to the fields of d, which keep their values.
func (d *NICDelays) Params(p *scheme.Params) {
	p.Time(&d.Ack, "nic_ack_delay", "0s", "time in which the receiver's NIC creates an ACK; the ACK has the state and "+
		"telemetry from the arrival of its packet", "Weir").Max("1s")
	p.Time(&d.Nack, "nic_nack_delay", "0s", "time in which the receiver's NIC creates a NACK; the NACK has the state "+
		"from the arrival of its packet", "Weir").Max("1s")
}

// ParamsCNP binds the delay of CNPs.
func (d *NICDelays) ParamsCNP(p *scheme.Params) {
	p.Time(&d.CNP, "nic_cnp_delay", "0s", "time in which the receiver's NIC creates a CNP, from the arrival of the "+
		"marked packet on", "Weir").Max("1s")
}

// NIC is the pipeline in which a receiver's NIC makes answers of type T. An answer enters when the packet that causes
// it arrives, contains the state of that time, and departs after the delay of its kind. Answers of a kind keep their
// order, and several can be in the pipeline. An answer of another kind with a shorter delay overtakes.
type NIC[T any] struct {
	delay     [answerKinds]unit.Time
	queues    [answerKinds]Queue[pendingAnswer[T]]
	lastTaken T // the answer that TakeAnswer returned last
}

// pendingAnswer is an answer in the pipeline with the time at which it departs.
type pendingAnswer[T any] struct {
	readyAt unit.Time
	answer  T
}

// Kinds of answers. The first departs first at equal times: a CNP before the ACK of its packet.
const (
	cnpAnswer = iota
	ackAnswer
	nackAnswer
	answerKinds
)

// answerKind returns the kind of the answer to a packet of kind k, or the kind of an answer k.
func answerKind(k packet.Kind) int {
	switch k {
	case packet.Notice:
		return cnpAnswer
	case packet.Nack:
		return nackAnswer
	}
	return ackAnswer // also for answers to probes
}

// NewNIC returns the pipeline with these delays; nil if all are 0: then the receiver answers at once.
func NewNIC[T any](d NICDelays) *NIC[T] {
	if d == (NICDelays{}) {
		return nil
	}
	return &NIC[T]{delay: [answerKinds]unit.Time{cnpAnswer: d.CNP, ackAnswer: d.Ack, nackAnswer: d.Nack}}
}

// MustQueue reports whether an answer to a packet of kind k must enter the pipeline: it has a delay, or others precede
// it.
func (n *NIC[T]) MustQueue(k packet.Kind) bool {
	i := answerKind(k)
	return n.delay[i] > 0 || n.queues[i].Len() > 0 || k == packet.Probe && n.queues[nackAnswer].Len() > 0
}

// QueueAnswer puts in an answer to a packet of kind k that arrives now, and returns memory for it, which the caller
// must fill. It is valid until the next call. An answer to a probe does not overtake NACKs: senders declare lost what
// it and all answers before it do not report.
func (n *NIC[T]) QueueAnswer(now unit.Time, k packet.Kind) *T {
	i := answerKind(k)
	at := now + n.delay[i]
	if q := &n.queues[nackAnswer]; k == packet.Probe && q.Len() > 0 && q.Tail().readyAt > at {
		i, at = nackAnswer, q.Tail().readyAt
	}
	x := n.queues[i].Extend()
	x.readyAt = at
	return &x.answer
}

// NextReady returns when the next answer is ready; unit.Never if the pipeline is empty.
func (n *NIC[T]) NextReady() unit.Time {
	t := unit.Never
	for i := range n.queues {
		if q := &n.queues[i]; q.Len() > 0 {
			t = min(t, q.Head().readyAt)
		}
	}
	return t
}

// TakeAnswer removes and returns the answer that is ready first, even if its time has not come; there must be one. It
// is valid until the next call.
func (n *NIC[T]) TakeAnswer() *T {
	first := -1
	for i := range n.queues {
		if q := &n.queues[i]; q.Len() > 0 && (first < 0 || q.Head().readyAt < n.queues[first].Head().readyAt) {
			first = i
		}
	}
	n.lastTaken = n.queues[first].Head().answer
	n.queues[first].Pop()
	return &n.lastTaken
}
