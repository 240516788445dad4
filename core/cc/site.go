package cc

import (
	"fmt"
	"strings"

	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Site is where the flows of one traffic run: what an experiment says of the network and of the rest of the
// traffic.
type Site struct {
	MSS        int32             // payload of a full packet
	Paths      []Path            // of the flows, each once
	Sending    unit.Rate         // payload that the application has per second; 0: always more
	Telemetry  *telemetry.Format // that switches write; nil: none does
	Unmarked   string            // why the controller hears of no marks; "": it does
	Unrecorded string            // why no telemetry comes back; "": it does
	Unmeasured string            // why no rate of delivery is measured; "": one is
	Unanswered string            // why no switch answers requests; "": one does
	Lossless   string            // why no packet is ever lost; "": queues end
	Supplied   bool              // switches tell what they have for a flow (NCF), whatever the controller
	Wait       unit.Time         // behind the longest queue that a switch port holds; 0: queues do not end, or not known
	Flowlets   bool              // packets of a flow take several paths: after gaps
	Sprayed    bool              // or one by one
	Trims      bool              // a switch cuts off the payload of what finds no room, so that receivers hear of it
	Holds      unit.Time         // what a queue of such a switch holds at most, in time at its port's rate; 0: not known
	Controller *Scheme           // of the flows, of which their transport asks; nil: there is none
	Config     scheme.Config     // of the controller
}

// Kinds of warnings that several controllers issue.
var (
	warnSilent = scheme.WarningKind{ID: "cc-no-signal",
		Condition: "a path gives none of the signals that the controller reacts to"}
	warnHops = scheme.WarningKind{ID: "telemetry-hops",
		Condition: "a path has more switches than the telemetry format has records (refused with format: hpcc)"}
	warnPresetMinRate = scheme.WarningKind{ID: "min-rate-preset",
		Condition: "the preset's min_rate is more than the rate of a sender's link"}
)

// WarningKinds returns the kinds of warnings that any controller may issue.
func WarningKinds() []scheme.WarningKind {
	return []scheme.WarningKind{warnSilent, warnHops, warnPresetMinRate}
}

// Signals are what a scheme's law reacts to; bits.
type Signals uint8

// Signals of congestion.
const (
	ByLosses    Signals = 1 << iota
	ByMarks             // ECN, or CNPs
	ByDelay             // round-trip times
	ByDelivery          // rates of delivery
	ByTelemetry         // what switches write into packets
	ByRequests          // what they answer to requests of packets
)

// silent is why a site has none of the signals that a scheme reacts to; "": it has some, or the scheme reacts to none
// by design.
func (s *Site) silent(x *Scheme) (why string) {
	if x.Signals == 0 || x.Signals&ByDelay != 0 || s.Supplied {
		return ""
	}
	var reasons []string
	for _, r := range []struct {
		signal Signals
		why    string
	}{{ByLosses, s.Lossless}, {ByMarks, s.Unmarked}, {ByTelemetry, s.Unrecorded}, {ByDelivery, s.Unmeasured},
		{ByRequests, s.Unanswered}} {
		if x.Signals&r.signal != 0 {
			if r.why == "" {
				return ""
			}
			reasons = append(reasons, r.why)
		}
	}
	return "nothing tells it of congestion: " + strings.Join(reasons, ", ")
}

// SuitsScheme is what a controller's scheme and its configuration say of a site.
func SuitsScheme(x *Scheme, c scheme.Config, s *Site) (all []scheme.Remark) {
	if why := s.silent(x); why != "" && !fallsBack(c) {
		all = append(all, warnSilent.Remark("", "%s", why))
	}
	return append(all, Suits(c, s)...)
}

// fallsBack reports whether a configuration is one of Linux' own TCP, which is CUBIC's where nothing tells a window.
func fallsBack(c scheme.Config) bool {
	x, ok := c.(Followed)
	if !ok {
		return false
	}
	_, remarks := x.Follows()
	return len(remarks) == 0
}

// Settled is the configuration of a controller or transport that has something to say of where it stands. It is
// asked when an experiment is read.
type Settled interface {
	Suits(s *Site) []scheme.Remark
}

// Suits is what a configuration says of a site: of any configuration, that its law reads what telemetry does not
// carry, and of a Settled one what it says itself.
func Suits(c scheme.Config, s *Site) (all []scheme.Remark) {
	if r, ok := c.(telemetry.Reader); ok && s.Telemetry != nil {
		if lacks := s.Telemetry.Lacks(r.Reads()); lacks != 0 {
			all = append(all, scheme.Refuse("", "its law reads %v, which telemetry in format: %s does not carry", lacks,
				s.Telemetry.Profile.Name))
		} else if r.Reads()&^telemetry.Load != 0 {
			all = append(all, s.tooLong()...)
		}
	}
	if x, ok := c.(Settled); ok {
		all = append(all, x.Suits(s)...)
	}
	return all
}

// tooLong says that a path has more switches than the format has room for records: a queue behind those is not seen.
// HPCC's header has no more; of other formats more can be asked for.
func (s *Site) tooLong() []scheme.Remark {
	f, most := s.Telemetry, 0
	for _, p := range s.Paths {
		most = max(most, p.Hops)
	}
	if f.Relative() || most <= f.Hops {
		return nil
	}
	say := "int-md and ifa-ext have room for 16"
	switch {
	case most > telemetry.MaxHops:
		say = fmt.Sprintf("none has more than %d; relative needs none", telemetry.MaxHops)
	case f.Hops < f.Profile.MostHops:
		say = fmt.Sprintf("hops of program telemetry can be up to %d", f.Profile.MostHops)
	}
	r := warnHops.Remark("", "a path has %d switches, and telemetry in format: %s has room for %d, and sees no other "+
		"queues; %s", most, f.Profile.Name, f.Hops, say)
	r.Refused = f.Profile.Name == "hpcc"
	return []scheme.Remark{r}
}

// Longest is the path with the longest round trip without queues; false if none is known.
func (s *Site) Longest() (longest Path, ok bool) {
	for _, p := range s.Paths {
		if p.BaseRTT > longest.BaseRTT {
			longest, ok = p, true
		}
	}
	return longest, ok
}

// Slowest is the path whose sender's link is the slowest; false if none is known.
func (s *Site) Slowest() (slowest Path, ok bool) {
	for _, p := range s.Paths {
		if p.NICRate > 0 && (!ok || p.NICRate < slowest.NICRate) {
			slowest, ok = p, true
		}
	}
	return slowest, ok
}

// Fastest is the path whose sender's link is the fastest; false if none is known.
func (s *Site) Fastest() (fastest Path, ok bool) {
	for _, p := range s.Paths {
		if p.NICRate > fastest.NICRate {
			fastest, ok = p, true
		}
	}
	return fastest, ok
}

// TooFast refuses a rate, bound to a parameter, that the slowest sender's link does not have.
func (s *Site) TooFast(param string, rate unit.Rate) (all []scheme.Remark) {
	if p, ok := s.Slowest(); ok && rate > p.NICRate {
		all = []scheme.Remark{scheme.Refuse(param, "%v is more than a sender's link of %v has", rate, p.NICRate)}
	}
	return all
}

// PresetTooFast warns of a preset's min_rate that the slowest sender's link does not have. minRate returns the preset's
// value for a link.
func (s *Site) PresetTooFast(minRate func(link unit.Rate) unit.Rate) []scheme.Remark {
	p, ok := s.Slowest()
	if !ok || minRate(p.NICRate) <= p.NICRate {
		return nil
	}
	return []scheme.Remark{warnPresetMinRate.Remark("min_rate", "%v, the preset's, is more than a sender's link of %v has",
		minRate(p.NICRate), p.NICRate)}
}
