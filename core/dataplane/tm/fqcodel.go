package tm

import (
	"strconv"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// FQCoDel configures a port that shares each of its queues among flows, with a short delay for each flow (RFC 8290):
// FQ with NewFirst and FromHead, and CoDel on each list. A packet dropped by CoDel leaves its list as if it were
// sent, and is dropped then, without cost to its flow's credit.
type FQCoDel struct {
	Flows   int
	Quantum unit.Bytes
	CoDel
}

// Params binds the options of fq_codel to the fields of c, which keep their values.
func (c *FQCoDel) Params(p *scheme.Params) {
	p.Int(&c.Flows, "flows", "1024", "number of hash buckets for flows in a queue; flows in one bucket share its "+
		"part, so raise it far above the number of flows",
		"RFC 8290 §5.2.5").Min("1").Max(strconv.Itoa(maxFlows))
	p.Size(&c.Quantum, "quantum", "1514 B", "bytes that a flow may send per round; at least the largest frame",
		"RFC 8290 §5.2.4").Min("64 B").Max("1MB")
	c.CoDel.Params(p)
}

// Traits returns the target delay (RFC 8289 §4), by which the scheduler marks and drops.
func (c *FQCoDel) Traits() Traits {
	return Traits{Marks: true, DropsEarly: true, TargetParam: "target", Target: c.Target}
}

// NewFQCoDel returns the scheduler of a port with queues that are fair among flows, with CoDel on each flow. rate is
// the port's, and gives the time of a frame; it shapes no traffic. Priority and drops at a limit are as in NewFQ.
func NewFQCoDel(c FQCoDel, rate unit.LinkRate) Scheduler {
	return &fq{config: FQ{Flows: c.Flows, Quantum: c.Quantum, NewFirst: true, FromHead: true}, law: &c.CoDel, rate: rate}
}

// SetRate sets the port's rate from now on.
func (f *fq) SetRate(rate unit.LinkRate) { f.rate = rate }

// sendTime returns the time that the port needs for a frame of size bytes; 0 without a rate.
func (f *fq) sendTime(size int32) unit.Time {
	if f.rate.Bits > 0 {
		return unit.TransmitTime(unit.Bytes(size), f.rate.Bits)
	} else if f.rate.Packets > 0 {
		return unit.Second / unit.Time(f.rate.Packets)
	}
	return 0
}

// unjudged is the time for packets that leave a fair queue without being sent.
const unjudged unit.Time = -1

// judgePacket applies CoDel to p, which leaves list i at now, and updates the list's state. It sets CE in p, or returns
// true if p must be dropped.
func (f *flows) judgePacket(i int32, now unit.Time, p *packet.Packet) bool {
	switch f.states[i].JudgePacket(f.law, now, now-p.Enqueued, unit.Bytes(f.lists[i].bytes),
		p.TOS&packet.ECN != packet.NotECT) {
	case Mark:
		p.TOS |= packet.CE
	case Drop:
		return true
	}
	return false
}

// DropsAtDequeue reports whether the port's scheduler drops packets that leave their queue. MustDrop reports which.
func (p *Port) DropsAtDequeue() bool {
	f, ok := p.scheduler.(interface{ fair() *fq })
	return ok && (f.fair().law != nil || f.fair().cake != nil)
}

// MustDrop reports whether the last packet from DequeueNext must be dropped, not sent.
func (p *Port) MustDrop() bool { return p.dropNext }
