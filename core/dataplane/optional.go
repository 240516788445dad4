package dataplane

import (
	"fmt"
	"net/netip"
	"strings"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Adopter is a program that keeps state over a reload, in which the switch continues with the same
// programs, some with other parameters or between ports with other rates.
type Adopter interface {
	Program
	// Adopt takes over the state of old, a program of the same name that has run in this switch until now.
	// kept names what it took over, for the log ("its meters"); "" means nothing, and the program starts
	// afresh. lost names what has no place here.
	Adopt(now unit.Time, old Program) (kept string, lost []string)
}

// Restorer is a program that sets how its ports share their rate (tm.Port.SetAsNeeded).
type Restorer interface {
	Program
	// Restore sets its ports back to the defaults. SetPrograms calls it for a program that the new list lacks, before
	// any new program runs.
	Restore(env *Env)
}

// Forgetter is a program that keeps state by address. A switch that learns its hosts has room for a
// limited number of them: it reassigns the number of one to another.
type Forgetter interface {
	Program
	// Forget drops the state of an address, which is reassigned to another host.
	Forget(a packet.Addr)
}

// Namer is the configuration of a program that names users. A switch that numbers its users as they appear
// gives all addresses of such a prefix one number, which it never reassigns, and knows who is not named.
type Namer interface {
	// Names returns the prefixes of users. An address belongs to the longest one that has it.
	Names() []netip.Prefix
	// Peers returns the prefixes by which the program tells the other ends of a user's traffic apart.
	Peers() []netip.Prefix
}

// Idler is a Ticker whose ticks may go on for ever without changing anything: probes between switches, pauses
// that are renewed. A run without anything else to come ends; a Ticker that is no Idler may always do
// something, and keeps the run going to its duration.
type Idler interface {
	Ticker
	// Idle reports whether no tick to come sends anything to a host, unless a packet of a host comes in first.
	Idle() bool
}

// Rememberer is a program that may make a packet for a flow later on, when it has none of the flow's in hand. A driver
// whose flows end asks which: their ends are to be there then.
type Rememberer interface {
	Program
	// Remembered calls see with each flow for which it may.
	Remembered(see func(flow packet.FlowID))
}

// Metered is a program with metrics of its own, which a running switch shows beside its own.
type Metered interface {
	Program
	// Metrics describes them. They depend on the program's parameters at most.
	Metrics() []Metric
	// Sample fills to with the values at now, the most important ones first if there is no room for all,
	// and returns their number. It runs between two packets, so it must be fast and must not allocate.
	Sample(now unit.Time, to []Sample) int
}

// Metric is one of a program's metrics: a gauge, or a Counter, which never falls while the
// program runs.
type Metric struct {
	Name    string // in full, as Prometheus has it: weir_abc_user_activity
	Help    string // one sentence
	Label   string // what tells its samples apart, such as user; "": it has one sample
	ByPort  bool   // samples differ by Sample.Port
	Counter bool
}

// Sample is one value of a metric. Of one metric, no two samples have the same label.
type Sample struct {
	Metric int          // index into Metrics
	Port   PortID       // label of a metric by port
	Prefix netip.Prefix // label of others: an address or a prefix,
	Word   string       // or a word, if Prefix is not valid
	Before string       // stands before either
	Value  float64
}

// Label returns the label of a sample that is not by port.
func (s *Sample) Label(to []byte) []byte {
	to = append(to, s.Before...)
	switch {
	case !s.Prefix.IsValid():
		return append(to, s.Word...)
	case s.Prefix.IsSingleIP():
		return s.Prefix.Addr().AppendTo(to)
	}
	return s.Prefix.AppendTo(to)
}

// CheckMetrics returns what is wrong with a program's metrics: names that Prometheus does not accept,
// duplicates, or missing labels.
func CheckMetrics(all []Metric) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	word := func(s string) bool {
		return s != "" && strings.Trim(s, letters+"0123456789") == "" && strings.Contains(letters, s[:1])
	}
	names := map[string]bool{}
	for _, m := range all {
		switch {
		case !word(m.Name):
			return fmt.Errorf("metric %q: a name has letters, digits and _, and starts with no digit", m.Name)
		case names[m.Name]:
			return fmt.Errorf("metric %s is there a second time", m.Name)
		case m.Help == "":
			return fmt.Errorf("metric %s has no help", m.Name)
		case m.Label != "" && (!word(m.Label) || strings.HasPrefix(m.Label, "__")):
			return fmt.Errorf("metric %s: %q cannot be a label", m.Name, m.Label)
		case m.ByPort && m.Label == "":
			return fmt.Errorf("metric %s is by port and has no label", m.Name)
		}
		names[m.Name] = true
	}
	return nil
}

// Telemeter is the configuration of a program that writes telemetry.
type Telemeter interface {
	// Telemetry is the format that hosts must know, in a network with links of these rates.
	Telemetry(rates []unit.Rate) (telemetry.Format, error)
}

// Networked is the configuration of a program that may need a network around it.
type Networked interface {
	// NeedsNetwork says why the program cannot run in a switch on its own, a bridge between hosts that do
	// not expect it; "": it can. The configuration answers and not the program, for it is asked before
	// Build, which may fail at a site without a network.
	NeedsNetwork() (why string)
}

// Forwarder is the configuration of a program that chooses the egress port of packets in any switch. A standalone
// switch needs one. Programs that choose among the paths of a network are no use to it.
type Forwarder interface {
	// Forwards does nothing: having it is the answer, which is needed before Build, too.
	Forwards()
}

// PortUser is the configuration of a program that uses the egress port of packets (Meta.Out) in its Ingress. Lists of
// programs must have it after the programs that choose that port.
type PortUser interface {
	// UsesPort marks the configuration; it is not called.
	UsesPort()
}

// ChoosesPort reports whether a program of this configuration chooses the egress port in its Ingress, in a standalone
// switch or in a network.
func ChoosesPort(c scheme.Config, standalone bool) bool {
	_, forwards := c.(Forwarder)
	return forwards || !standalone && ChoosesPath(c)
}

// Spreader is the configuration of a program that sends packets of one flow by different paths. Who runs such
// programs under a transport that needs packets in order (transport.Ordered) can say so before the run.
type Spreader interface {
	Spreads() Spreading
}

// Spreading is how often a flow changes its path.
type Spreading uint8

// Ways to spread a flow.
const (
	OnePath     Spreading = iota // only with the routes
	EachFlowlet                  // after a gap; packets overtake where paths differ by more than that
	EachPacket                   // with each packet: they overtake
)

// Spreads is how a program of this configuration spreads flows.
func Spreads(c scheme.Config) Spreading {
	if x, ok := c.(Spreader); ok {
		return x.Spreads()
	}
	return OnePath
}

// Reasons of programs that need a network with any parameters.
const (
	ChoosesPaths  = "it chooses among the paths of a network, and a bridge has one"
	NotifiesHosts = "it sends messages to hosts that have to know what they mean"
)

// Chooser is the configuration of a program that chooses among the paths of a network where there is one, and can do
// without.
type Chooser interface {
	// ChoosesPaths does nothing: having it is the answer.
	ChoosesPaths()
}

// ChoosesPath reports whether a program of this configuration chooses among the paths of a network.
func ChoosesPath(c scheme.Config) bool {
	if _, ok := c.(Chooser); ok {
		return true
	}
	x, ok := c.(Networked)
	return ok && x.NeedsNetwork() == ChoosesPaths
}

// Alone returns why a program of this configuration cannot run in a switch on its own; "":
// it can.
func Alone(c scheme.Config) (why string) {
	if x, ok := c.(Networked); ok {
		return x.NeedsNetwork()
	}
	return ""
}

// Marker is the configuration of a program or scheduler that marks packets with ECN, or notifies their senders instead.
type Marker interface {
	// MarksFrom returns the queue length above which a port with this rate may mark. At 0 the queue length does not
	// decide; a negative length means that these parameters do not mark.
	MarksFrom(rate unit.Rate) unit.Bytes
}

// PacketMarker is the configuration of a Marker that may count a queue in packets.
type PacketMarker interface {
	Marker
	// MarksFromPackets returns the queue length in packets above which it may mark; 0: it counts bytes.
	MarksFromPackets() int32
}

// Answering is the configuration of a program that answers requests in packets (packet.Bolt).
type Answering interface {
	// AnswersRequests does nothing: having it is the answer.
	AnswersRequests()
}

// Loser is the configuration of a program or scheduler that drops packets where queues grow, whatever the buffers of
// ports are.
type Loser interface {
	// Loses does nothing: having it is the answer.
	Loses()
}

// Trimmer is the configuration of a program that may cut off the payload of packets that find no room.
type Trimmer interface {
	// Trims reports whether it does so with these parameters.
	Trims() bool
}

// Holding is the configuration of a program that lets queues of data grow up to an end of its own.
type Holding interface {
	// Holds is that end, as the time that it takes at the rate of its port.
	Holds() unit.Time
}

// Reorderer is the configuration of a program that may send packets of a flow in another order than they arrived in,
// although they take one path: packets without payload before those with it, or some before others.
type Reorderer interface {
	// Reorders marks the configuration; it is not called.
	Reorders()
}

// Supplier is the configuration of a program that tells senders by NACKs what it has for their flows.
type Supplier interface {
	// Supplies reports whether it does so for flows of an IP protocol (packet.ProtoTCP and so on).
	Supplies(proto uint8) bool
}

// Pauser is the configuration of a program that pauses its neighbours before queues end.
type Pauser interface {
	// Pauses does nothing: having it is the answer.
	Pauses()
}
