package dataplane

import (
	"strings"

	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// A Program is one part of a switch's function: routing, an AQM, telemetry. It has a name and any of the hooks below.
// The switch sorts the hooks into one slice per hook when it is built, so that absent hooks cost no time. Programs
// run in the order of the experiment's list.
//
// A hook borrows the packet: it must neither free it nor keep it after it returns. The switch's metadata (ports,
// class, queue) is in p.Meta.
type Program interface {
	Name() string
}

// Ingresser processes a packet after the parser. It chooses the egress port (p.Meta.Out), meters, marks, or drops.
type Ingresser interface {
	Ingress(env *Env, p *packet.Packet) Verdict
}

// Admitter decides, before the queue, whether a packet may enter it: limits, ECN, ABC, trimming. It must not book the
// packet, since a later hook or the queue's limit may still refuse it. Booking belongs in Book.
type Admitter interface {
	Admit(env *Env, p *packet.Packet) Verdict
}

// Booker accounts for a packet that has entered its queue. All hooks and limits have accepted it, so no booking has
// to be undone.
type Booker interface {
	Book(env *Env, p *packet.Packet)
}

// Unbooker accounts for a booked packet that has left its queue, to be sent, to be dropped by a Releaser, or as
// Evicted. It runs before Releasers, exactly once for every Book, with the packet and its metadata as they were then.
type Unbooker interface {
	Unbook(env *Env, p *packet.Packet)
}

// Releaser processes a packet that has left its queue (CoDel, accounting) and may still drop it. The port then serves
// the next one at once.
type Releaser interface {
	Release(env *Env, p *packet.Packet) Verdict
}

// Egresser processes a packet just before it goes onto the wire: telemetry, marks.
type Egresser interface {
	Egress(env *Env, p *packet.Packet) Verdict
}

// Dropper handles every packet that this switch drops, before it is freed: mirror on drop, NACKs.
type Dropper interface {
	OnDrop(env *Env, p *packet.Packet, why Reason)
}

// Ticker is called at the time that it returned last (first at time 0). It returns the time of the next call or
// unit.Never. Env.TickAt requests an earlier call.
type Ticker interface {
	Tick(env *Env) (next unit.Time)
}

// Verdict is the result of a hook: Accept, Trim, Consume, or a drop with its Reason.
type Verdict uint8

// Accept passes the packet on. Trim asks the switch to cut off the payload, move the packet to the trim queue and
// admit it again. Consume, for an Ingresser only, accepts a message for the switch itself (a probe, a neighbour's
// feedback): the packet ends here and does not count as dropped. Only a Pipe returns Passed and ByHooks.
const (
	Accept  Verdict = 0
	Passed  Verdict = 0xfc
	ByHooks Verdict = 0xfd
	Consume Verdict = 0xfe
	Trim    Verdict = 0xff
)

// Drop returns the verdict that drops the packet for a reason.
func Drop(why Reason) Verdict { return Verdict(why) }

// Reason is the reason of a drop. Every drop has one, and drops are counted by it.
type Reason uint8

// Reasons of drops, in the order of the packet's way through the switch. NotDropped is no drop.
const (
	NotDropped        Reason = iota
	Malformed                // the parser could not read the packet
	InputLoss                // the switch's input lost it (P4-ABC §6.1.3, the loss program)
	NoRoute                  // no table entry for the destination
	HopLimitExceeded         // hop limit reached 0
	Policed                  // a meter's colour
	ActivityExceeded         // P4-ABC equation (2)
	EarlyDrop                // another AQM's decision
	QueuePacketLimit         // the queue's limit in packets
	QueueByteLimit           // the queue's limit in bytes
	PortPacketLimit          // the port's limit in packets
	PortByteLimit            // the port's limit in bytes
	BufferFull               // the shared buffer was full
	EgressThreshold          // the queue's share of the shared buffer was used up
	HeadroomFull             // PFC's headroom was full: the neighbour did not stop in time
	Evicted                  // removed from a queue, by a program or for another flow's packet (tm.NewFQ)
	TrimFailed               // trimmed, and then refused again
	RecirculationFull        // the recirculation port's queue was full
	Notified                 // trimmed, and the sender notified by a NACK (BS'19 §4.3)
	Returned                 // trimmed, and its header sent back to the sender (NDP §3.2.4)
	LinkLost                 // the link lost it (spec key loss)
	LinkDown                 // the link was down
	TooLong                  // longer than the link's MTU with a program's additions; Meta.User: max IP length
	NotExpected              // it arrived at a host's NIC where its flow has no endpoint; a program never drops for this
	Reasons                  // number of reasons
)

var reasonNames = [Reasons]string{
	"none", "malformed", "input loss", "no route", "hop limit", "policed", "activity", "early drop",
	"queue packets", "queue bytes", "port packets", "port bytes", "buffer full", "egress threshold", "headroom full",
	"evicted", "trim failed",
	"recirculation full", "notified", "returned", "link loss", "link down", "too long",
	"not expected",
}

// String returns the reason in lower case, such as "queue bytes"; "unknown" for Reasons and above.
func (r Reason) String() string {
	if r < Reasons {
		return reasonNames[r]
	}
	return "unknown"
}

// reasonWords holds reasonNames as one word each.
var reasonWords = func() (words [Reasons]string) {
	for r, name := range reasonNames {
		words[r] = strings.ReplaceAll(name, " ", "_")
	}
	return words
}()

// OneWord returns the reason's name as one word, as in expressions and traces.
func (r Reason) OneWord() string {
	if r < Reasons {
		return reasonWords[r]
	}
	return "unknown"
}

// refusals maps the refusals of a buffer to reasons.
var refusals = [...]Reason{
	tm.Fits: NotDropped, tm.QueuePackets: QueuePacketLimit, tm.QueueBytes: QueueByteLimit,
	tm.PortPackets: PortPacketLimit, tm.PortBytes: PortByteLimit,
}

// A Normalizer has state that loses its effect with age.
type Normalizer interface {
	Program
	// Normalize brings state without effect from now on into one form, so that states with equal effect are equal.
	Normalize(now unit.Time)
}

// A Redrawer draws random numbers when it is created.
type Redrawer interface {
	Program
	// Redraw draws them again.
	Redraw()
}
