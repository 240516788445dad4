package dataplane

import (
	"fmt"
	"net/netip"
	"strings"

	"weir/core/packet"
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

// AddressEvictor is a program that keeps state by address. A switch that learns its hosts has room for a
// limited number of them: it reassigns the number of one to another.
type AddressEvictor interface {
	Program
	// EvictAddress drops the state of an address, which is reassigned to another host.
	EvictAddress(a packet.Addr)
}

// Idler is a Ticker whose ticks may go on for ever without changing anything: probes between switches, pauses
// that are renewed. A run without anything else to come ends; a Ticker that is no Idler may always do
// something, and keeps the run going to its duration.
type Idler interface {
	Ticker
	// Idle reports whether no tick to come sends anything to a host, unless a packet of a host comes in first.
	Idle() bool
}

// PacketOriginator is a program that may make a packet for a flow later on, without a packet of the flow at hand. A
// driver keeps the endpoints of such flows.
type PacketOriginator interface {
	Program
	// PendingFlows calls see with each such flow.
	PendingFlows(see func(flow packet.FlowID))
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
	Metric int           // index into Metrics
	Port   packet.PortID // label of a metric by port
	Prefix netip.Prefix  // label of others: an address or a prefix,
	Word   string        // or a word, if Prefix is not valid
	Before string        // stands before either
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
