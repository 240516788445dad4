package transport

import (
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// NICDelays are the times that a receiver's NIC takes to make its answers.
type NICDelays struct{ Ack, Nack, CNP unit.Time }

// Params binds those of ACKs and NACKs.
func (d *NICDelays) Params(p *scheme.Params) {
	p.Time(&d.Ack, "nic_ack_delay", "0s", "time that the receiver's NIC takes to make an ACK, which says what was so "+
		"when its packet came, with the telemetry of that", "ours").Max("1s")
	p.Time(&d.Nack, "nic_nack_delay", "0s", "time that it takes to make a NACK, likewise", "ours").Max("1s")
}

// ParamsCNP binds that of CNPs.
func (d *NICDelays) ParamsCNP(p *scheme.Params) {
	p.Time(&d.CNP, "nic_cnp_delay", "0s", "time that the receiver's NIC takes to make a CNP, from the marked packet on",
		"ours").Max("1s")
}

// NIC is the pipeline in which a receiver's NIC makes answers. An answer goes in when what causes it has come, says
// what was so then, and comes out as long behind that as its kind takes: those of a kind in their order, with several
// under way at once. An answer of another kind that takes less time overtakes. T is what an answer says.
type NIC[T any] struct {
	delay [answerKinds]unit.Time
	made  [answerKinds]Queue[answering[T]]
	taken T // out of these last
}

// answering is an answer that goes at a time.
type answering[T any] struct {
	at   unit.Time
	says T
}

// Kinds of answers, the one that goes first at one time first: a CNP before the ACK of its packet.
const (
	aCNP = iota
	anAck
	aNack
	answerKinds
)

func answerKind(k packet.Kind) int {
	switch k {
	case packet.Notice:
		return aCNP
	case packet.Nack:
		return aNack
	}
	return anAck // and answers to probes
}

// NewNIC makes one; nil: no answer takes any time, and a receiver asks no NIC.
func NewNIC[T any](d NICDelays) *NIC[T] {
	if d == (NICDelays{}) {
		return nil
	}
	return &NIC[T]{delay: [answerKinds]unit.Time{aCNP: d.CNP, anAck: d.Ack, aNack: d.Nack}}
}

// Takes reports whether an answer of this kind has to go through the pipeline: it takes time, or others are before it.
func (n *NIC[T]) Takes(k packet.Kind) bool {
	i := answerKind(k)
	return n.delay[i] > 0 || n.made[i].Len() > 0 || k == packet.Probe && n.made[aNack].Len() > 0
}

// Keep puts an answer in, whose cause has come now, and gives the room for what it says,
// all of which is to be written. It is good until the next call. An answer to a probe does not overtake NACKs: senders
// take for lost what it and all answers before it do not report.
func (n *NIC[T]) Keep(now unit.Time, k packet.Kind) *T {
	i := answerKind(k)
	at := now + n.delay[i]
	if q := &n.made[aNack]; k == packet.Probe && q.Len() > 0 && q.Tail().at > at {
		i, at = aNack, q.Tail().at
	}
	x := n.made[i].Extend()
	x.at = at
	return &x.says
}

// Next is when the next answer is ready; unit.Never without one.
func (n *NIC[T]) Next() unit.Time {
	t := unit.Never
	for i := range n.made {
		if q := &n.made[i]; q.Len() > 0 {
			t = min(t, q.Head().at)
		}
	}
	return t
}

// Take takes out what is ready first, which must be there. It is good until the next call.
func (n *NIC[T]) Take() *T {
	first := -1
	for i := range n.made {
		if q := &n.made[i]; q.Len() > 0 && (first < 0 || q.Head().at < n.made[first].Head().at) {
			first = i
		}
	}
	n.taken = n.made[first].Head().says
	n.made[first].Pop()
	return &n.taken
}
