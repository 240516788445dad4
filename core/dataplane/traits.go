package dataplane

import (
	"net/netip"

	"weir/core/dataplane/tm"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Traits describe what a program or a port's scheduler does with its parameters. Experiments, warnings and standalone
// switches read them before a run; no driver reads them per packet. The zero value of a field means no, so that a
// configuration sets only what holds for it. Functions are traits that depend on a port or a flow.
type Traits struct {
	// WhyNotStandalone is the reason why the program cannot run in a switch of its own, a bridge between hosts that do
	// not expect it. "": it can. The program cannot give the reason, since Build may fail without a network.
	WhyNotStandalone string
	// Forwards: it chooses the egress port of packets in any switch. A standalone switch needs such a program.
	Forwards bool
	// SelectsPath: it chooses among the paths of a network.
	SelectsPath bool
	// Spreads is how often it changes the path of a flow.
	Spreads Spreading
	// UsesPort: its Ingress uses the egress port (Out of packet.Metadata). It must stand after the programs that choose
	// that port.
	UsesPort bool

	// MarksFrom returns the queue length above which a port of this rate may mark packets with ECN, or notify their
	// senders. At 0 the length does not decide (AtAnyLength). nil: it does not mark.
	MarksFrom func(rate unit.Rate) unit.Bytes
	// MarksFromPackets is that length where a queue is counted in packets; 0: it is counted in bytes.
	MarksFromPackets int32
	// DropsEarly: it drops packets where queues grow, also at ports without a limit. A program that only chooses which
	// packets a full buffer drops does not have it.
	DropsEarly bool
	// TargetParam is the parameter with the delay to which it leads queues; "": it has no such target, or checks it
	// itself (Checker).
	TargetParam string
	// Target is that delay.
	Target unit.Time
	// RaisesTarget: at slow ports it raises the target to the time of a frame.
	RaisesTarget bool

	// LimitsQueues: it has several queues at a port, in a known order and with limits of its own.
	LimitsQueues bool
	// Trims: it cuts off the payload of packets without room.
	Trims bool
	// MaxQueueDelay is the time that a full queue of data occupies its port, if the program trims; 0: not known.
	MaxQueueDelay unit.Time
	// MaxBacklog returns the maximum data that waits at a port. frame is the largest frame in bytes. turns comes from
	// Turns of the scheduler; nil: the port has one queue, or strict priority.
	MaxBacklog func(frame unit.Bytes, turns []int64) Backlog
	// MaxQueue returns the longest queue in bytes at a switch with this number of ports, counted as a single queue.
	MaxQueue func(ports int) unit.Bytes
	// Turns returns the maximum number of packets that each queue of a port sends in its turn, for a scheduler that takes
	// turns.
	Turns func(queues int) []int64
	// Pauses: it pauses its neighbours before queues are full.
	Pauses bool
	// Reorders: it may change the order of packets of a flow on one path: packets without payload overtake others, or
	// some overtake the rest.
	Reorders bool

	// Telemetry returns the format of the telemetry that it writes in a network with links of these rates.
	Telemetry func(rates []unit.Rate) (telemetry.Format, error)
	// AnswersRequests: it answers requests in packets (packet.Bolt).
	AnswersRequests bool
	// Supplies reports whether it sends NACKs to senders of an IP protocol (packet.ProtoTCP and so on) with the rate
	// that it offers their flows.
	Supplies func(proto uint8) bool

	// NamedUsers returns the prefixes of the users that it names, and the prefixes that separate the other ends of a
	// user's traffic. An address belongs to the longest prefix that contains it. A switch that numbers its users as they
	// appear gives each prefix one fixed number.
	NamedUsers func() (names, peers []netip.Prefix)
	// PolicesUsers: it limits users also at ports without a queue.
	PolicesUsers bool
}

// TraitsOf returns the traits of the configuration of a program, by its method Traits with a result Traits, or of a
// port's scheduler, with a result tm.Traits. Without the method they are zero.
func TraitsOf(c scheme.Config) (t Traits) {
	switch x := c.(type) {
	case interface{ Traits() Traits }:
		t = x.Traits()
	case interface{ Traits() tm.Traits }:
		s := x.Traits()
		t = Traits{DropsEarly: s.DropsEarly, TargetParam: s.TargetParam, Target: s.Target, RaisesTarget: s.RaisesTarget,
			Turns: s.Turns}
		if s.Marks {
			t.MarksFrom = AtAnyLength
		}
	}
	return t
}

// DeclaresTraits reports whether a program's configuration has a method Traits. Without one it is unknown what the
// program does, and TraitsOf returns zero values.
func DeclaresTraits(c scheme.Config) bool {
	_, ok := c.(interface{ Traits() Traits })
	return ok
}

// ChoosesPort reports whether the program chooses the egress port in its Ingress, in a standalone switch or in a
// network.
func (t *Traits) ChoosesPort(standalone bool) bool { return t.Forwards || !standalone && t.SelectsPath }

// AtAnyLength is MarksFrom of programs with marks that do not depend on the length of a queue.
func AtAnyLength(unit.Rate) unit.Bytes { return 0 }

// Reasons in WhyNotStandalone that several programs have.
const (
	ChoosesPaths  = "it chooses among paths, but a bridge has one path"
	NotifiesHosts = "it sends messages that hosts must support"
)

// Spreading is how often a flow changes its path.
type Spreading uint8

// Ways to spread a flow.
const (
	OnePath     Spreading = iota // only when routes change
	EachFlowlet                  // after a gap; packets overtake if paths differ by more than the gap
	EachPacket                   // with each packet; packets overtake
)
