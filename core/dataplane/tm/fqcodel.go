package tm

import (
	"strconv"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// FQCoDel is how a port shares each of its queues among flows and keeps each flow's delay short (RFC 8290): FQ with
// NewFirst and FromHead, and CoDel on each list. What CoDel drops leaves its list as if it were sent, and is dropped
// then: it costs its flow no credit.
type FQCoDel struct {
	Flows   int
	Quantum unit.Bytes
	CoDel
}

// Params binds the configuration.
func (c *FQCoDel) Params(p *scheme.Params) {
	p.Int(&c.Flows, "flows", "1024", "places for flows in a queue, by their hash",
		"RFC 8290 §5.2.5").Min("1").Max(strconv.Itoa(maxFlows))
	p.Size(&c.Quantum, "quantum", "1514 B", "bytes that a flow may send a turn; at least the largest frame",
		"RFC 8290 §5.2.4").Min("64 B").Max("1MB")
	c.CoDel.Params(p)
}

// Traits returns the target of delay (RFC 8289 §4), by which it marks and drops.
func (c *FQCoDel) Traits() Traits {
	return Traits{Marks: true, DropsEarly: true, TargetParam: "target", Target: c.Target}
}

// NewFQCoDel returns the scheduler of a port whose queues are fair among flows, with CoDel on each flow. Otherwise it
// is as NewFQ's.
func NewFQCoDel(c FQCoDel, rate unit.LinkRate) Scheduler {
	return &fq{config: FQ{Flows: c.Flows, Quantum: c.Quantum, NewFirst: true, FromHead: true}, law: &c.CoDel, rate: rate}
}

// SetRate says what the port's rate is from now on.
func (f *fq) SetRate(rate unit.LinkRate) { f.rate = rate }

// takes is how long the port sends a frame.
func (f *fq) takes(size int32) unit.Time {
	if f.rate.Bits > 0 {
		return unit.TransmitTime(unit.Bytes(size), f.rate.Bits)
	} else if f.rate.Packets > 0 {
		return unit.Second / unit.Time(f.rate.Packets)
	}
	return 0
}

// unjudged is a time for packets that leave a fair queue but not to be sent.
const unjudged unit.Time = -1

// judge marks a packet that leaves list i, or returns that it is to be dropped.
func (f *flows) judge(i int32, now unit.Time, p *packet.Packet) bool {
	switch f.states[i].Leaves(f.law, now, now-p.Enqueued, unit.Bytes(f.lists[i].bytes),
		p.TOS&packet.ECN != packet.NotECT) {
	case Mark:
		p.TOS |= packet.CE
	case Drop:
		return true
	}
	return false
}

// Drops reports whether the port's scheduler drops packets that leave their queue: Doomed then says which.
func (p *Port) Drops() bool {
	f, ok := p.scheduler.(interface{ fair() *fq })
	return ok && (f.fair().law != nil || f.fair().cake != nil)
}

// Doomed reports whether what Next returned last is to be dropped, in place of being sent.
func (p *Port) Doomed() bool { return p.doomed }
