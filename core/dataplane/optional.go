package dataplane

import (
	"fmt"
	"net/netip"
	"strings"

	"weir/core/packet"
	"weir/core/unit"
)

// Adopter is a program that keeps state across a reload, in which the switch continues with the same programs, some
// with other parameters or between ports with other rates.
type Adopter interface {
	Program
	// Adopt takes over the state of old, a program of the same name that has run in this switch until now. kept names
	// the adopted state, for the log ("its meters"); "": the program starts without old state. lost names state without
	// a place here.
	Adopt(now unit.Time, old Program) (kept string, lost []string)
}

// Restorer is a program that sets how its ports share their rate (tm.Port.SetAsNeeded).
type Restorer interface {
	Program
	// Restore resets its ports to the defaults. SetPrograms calls it for a program that the new list lacks, before any
	// new program runs.
	Restore(env *Env)
}

// AddressEvictor is a program that keeps state by address. A switch that learns its hosts has a limited number of
// addresses, and reassigns the address of one host to another.
type AddressEvictor interface {
	Program
	// EvictAddress drops the state of an address that is reassigned to another host.
	EvictAddress(a packet.Addr)
}

// Idler is a Ticker with ticks that may go on for ever without changes: probes between switches, renewed pauses. A
// run ends if only such ticks remain. A Ticker that is no Idler may always act, and keeps the run going to its
// duration.
type Idler interface {
	Ticker
	// Idle reports whether no future tick sends anything to a host, unless a packet of a host arrives first.
	Idle() bool
}

// PacketOriginator is a program that may make a packet for a flow later, without a packet of the flow in hand. A
// driver keeps the endpoints of such flows.
type PacketOriginator interface {
	Program
	// PendingFlows calls see with each such flow.
	PendingFlows(see func(flow packet.FlowID))
}

// Metered is a program with metrics, which a running switch shows with its own.
type Metered interface {
	Program
	// Metrics returns the descriptions of the metrics. They may depend only on the program's parameters.
	Metrics() []Metric
	// Sample fills samples with the values at now, the most important ones first if there is no room for all, and returns
	// their number. It runs between two packets, so it must be fast and must not allocate.
	Sample(now unit.Time, samples []Sample) int
}

// Metric describes a metric of a program: a gauge, or a Counter, which never falls while the program runs.
type Metric struct {
	Name    string // full name, as in Prometheus: weir_abc_user_activity
	Help    string // one sentence
	Label   string // label of its samples, such as user; "": it has one sample
	ByPort  bool   // samples differ by Sample.Port
	Counter bool
}

// Sample is one value of a metric. Of one metric, no two samples have the same label.
type Sample struct {
	Metric int           // index into Metrics
	Port   packet.PortID // label of a metric by port
	Prefix netip.Prefix  // label of others: an address or a prefix,
	Word   string        // or a word, if Prefix is not valid
	Before string        // precedes either
	Value  float64
}

// AppendLabel appends the label of a sample that is not by port to b: Before and then the prefix, an address without
// length, or Word.
func (s *Sample) AppendLabel(b []byte) []byte {
	b = append(b, s.Before...)
	switch {
	case !s.Prefix.IsValid():
		return append(b, s.Word...)
	case s.Prefix.IsSingleIP():
		return s.Prefix.Addr().AppendTo(b)
	}
	return s.Prefix.AppendTo(b)
}

// CheckMetrics returns an error for invalid metrics: names that Prometheus does not accept, duplicates, missing help,
// labels that Prometheus does not accept, or no label for a metric by port.
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
