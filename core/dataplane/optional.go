package dataplane

import (
	"fmt"
	"net/netip"
	"strings"

	"weir/core/packet"
	"weir/core/unit"
)

// Adopter is a program that keeps state over a reload: the switch goes on with the same
// programs, some with other parameters or between ports with other rates.
type Adopter interface {
	Program
	// Adopt takes over the state of old, a program of the same name that ran in this switch
	// up to now. kept names what it took over, for the log ("its meters"); "" is nothing, and
	// the program starts afresh. lost names what has no place here.
	Adopt(now unit.Time, old Program) (kept string, lost []string)
}

// Forgetter is a program that keeps state by the packets' addresses. A switch that learns
// its hosts as they come has room for so many of them: it gives the number of one to another.
type Forgetter interface {
	Program
	// Forget drops the state of an address: from now on it is another host's.
	Forget(a packet.Addr)
}

// Metered is a program with metrics of its own, which a running switch shows beside its own.
type Metered interface {
	Program
	// Metrics describes them. They depend on the program's parameters at most.
	Metrics() []Metric
	// Sample fills to with the values at now, the most telling ones first if there is no room
	// for all, and returns how many there are. It runs between two packets: it keeps short
	// and allocates nothing.
	Sample(now unit.Time, to []Sample) int
}

// Metric is one of a program's metrics: a gauge, or a Counter, which never falls while the
// program runs.
type Metric struct {
	Name    string // in full, as Prometheus has it: weir_abc_user_activity
	Help    string // one sentence
	Label   string // what tells its samples apart, such as user; "": it has one sample
	ByPort  bool   // they are told apart by Sample.Port
	Counter bool
}

// Sample is one value of a metric. Of one metric, no two samples have the same label.
type Sample struct {
	Metric int          // index into Metrics
	Port   PortID       // label of a metric by port
	Prefix netip.Prefix // label of others: an address or a prefix,
	Word   string       // or a word, if Prefix is not valid
	Value  float64
}

// Label returns the label of a sample that is not by port.
func (s *Sample) Label(to []byte) []byte {
	switch {
	case !s.Prefix.IsValid():
		return append(to, s.Word...)
	case s.Prefix.IsSingleIP():
		return s.Prefix.Addr().AppendTo(to)
	}
	return s.Prefix.AppendTo(to)
}

// CheckMetrics says what is wrong with a program's metrics: names that Prometheus does not
// take, one twice, or labels that are missing.
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
