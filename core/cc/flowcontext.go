package cc

import (
	"fmt"
	"strings"

	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// FlowContext is where the flows of one traffic run: what an experiment says of the network and of the rest of the
// traffic.
type FlowContext struct {
	MSS         int32             // payload of a full packet
	Paths       []FlowPath        // of the flows, each kind once
	Largest     unit.Bytes        // payload of the largest flow; 0: not known, or flows have no end
	Sending     unit.Rate         // payload that the application has per second; 0: always more
	Telemetry   *telemetry.Format // that switches write; nil: none does
	Uncongested bool              // a packet gets no telemetry of ports that are not congested
	Unmeasured  string            // why no rate of delivery is measured; "": one is
	AcksDelayed bool              // an acknowledgement waits for more packets than one
	Flowlets    bool              // packets of a flow take several paths: after gaps
	Sprayed     bool              // or one by one
	Slow        SlowPath          // of the paths that packets of a flow may take
	SlowWhole   SlowPath          // of those that a flow may take with all its packets
	Keeps       bool              // the transport waits for what is in a slow path, and counts it as in flight
	Controller  *Scheme           // of the flows, of which their transport asks; nil: there is none
	Config      scheme.Config     // of the controller
}

// FlowPath is a path as a file's reader knows it. Endpoints know its Path only. Where equal paths differ, Narrow is
// of the narrowest, of several the one with the most flows, and a property of switches is there if a switch has it at
// one of the ports where data can queue: the slowest of the switches' ports on the path.
type FlowPath struct {
	Path
	Name       string   // the hosts at its ends: "left0->right0"
	Narrow     Link     // the slowest link in the direction of data
	Flows      int      // flows that share Narrow: of all traffics those without an end, at least one; 0: not known
	Idle       bool     // data queues at no switch: no port receives more than it can send
	Lossless   string   // why no packet is lost; "": a port's buffer ends
	Unmarked   string   // why the controller gets no marks; "": it does
	Unrecorded string   // why no telemetry of its queues comes back; "": it does
	Unanswered string   // why no switch answers requests; "": one does
	Opposing   Opposing // long flows in both directions
	Crossed    bool     // acknowledgements share ports with data of long flows
	Supplied   bool     // switches report what they have for a flow (NCF), whatever the controller
	// DataQueueing is Queueing at the ports at which data can queue alone, without pauses of the hosts' NICs; unit.Never:
	// some port has no limit. 0: no packet waits, or it is not known.
	DataQueueing unit.Time
	Unlimited    string    // a switch's port that gets more than it can send and has no limit; "": no port
	Wait         unit.Time // behind the longest full buffer of a switch's port; 0: some is unlimited, or not known
	Trims        bool      // a switch cuts off the payload of a packet without room, so that the receiver learns of it
	Holds        unit.Time // max time that a queue of such a switch holds at its port's rate; 0: not known
}

// SlowPath is the slowest of several ways on which packets can go: its port of a switch, next to the ports
// that lead to the same host. It has less than its part can be, so that packets wait there, in the run's worst moment.
// The zero value: no way is slower than another, or it has room for its part.
type SlowPath struct {
	Port string
	Rate unit.Rate
	Part float64 // of the rate of the fastest of them; 0: there is no slow path

	Flows int     // flows that may take it: long ones of controllers that read telemetry, as Opposing counts them
	Share float64 // of the packets of each that it gets
}

// Keep keeps the slower one of two paths.
func (p *SlowPath) Keep(other SlowPath) {
	if other.Part > 0 && (p.Part == 0 || other.Part < p.Part) {
		*p = other
	}
}

// Uneven reports whether packets of a flow go one by one over paths, and a slow one has less than a part of
// another's rate.
func (s *FlowContext) Uneven(part float64) bool {
	return s.Sprayed && s.Slow.Part > 0 && s.Slow.Part < part
}

// OnSlow warns of what a slow path does to a flow that is spread.
func (s *FlowContext) OnSlow(kind scheme.WarningKind, param, text string) scheme.Remark {
	return kind.Remark(param, "packets of a flow take paths of different rates one by one, and %s has %v, %.0f %% of "+
		"another's rate: %s", s.Slow.Port, s.Slow.Rate, 100*s.Slow.Part, text).At(s.Slow.Port, 1/s.Slow.Part)
}

// Opposing counts long flows of controllers that read telemetry in both directions of a path: flows without an end, or
// of several round trips, that begin together. 0: not known.
type Opposing struct {
	Port    string // that sends data of most flows: "left->right"
	Aligned int    // flows through Port, with the path's own
	Opposed int    // flows through the port on the way back where most of them queue with acknowledgements
	Paths   int    // number of equal ports that share the packets; 1: Port sends all
}

// Link is a link in one direction.
type Link struct {
	Port    string    // that sends to it: "left->right"
	Rate    unit.Rate // of frames, bit/s; 0: not known
	Payload unit.Rate // of payload in full packets
	Last    bool      // it leads to a host

	Buffer unit.Bytes // of Port; 0: it has no limit, or is not a switch's
}

// Product returns the bytes of payload that the narrowest link carries in a base round trip. Windows, buffers and
// increases are compared with it, and not with what the sender's link carries.
func (p *FlowPath) Product() float64 { return float64(p.Narrow.Payload) / 8 * p.BaseRTT.Seconds() }

// Share is Product over the flows that share the narrowest link: what each must have in flight, so that all fill it.
func (p *FlowPath) Share() float64 { return p.Product() / float64(max(p.Flows, 1)) }

// DataMaxRTT returns the longest round trip with full buffers at the ports at which data can queue; unit.Never if it
// has no known bound.
func (p *FlowPath) DataMaxRTT() unit.Time {
	path := p.Path
	path.Queueing = p.DataQueueing
	return path.MaxRTT()
}

// Trip describes the round trip that Product counts.
func (p *FlowPath) Trip() string {
	return fmt.Sprintf("a round trip of %s, %v: %v at %s, of %v", p.Name, unit.Bytes(p.Product()), p.BaseRTT.Rough(),
		p.Narrow.Port, p.Narrow.Rate)
}

// Kinds of warnings that several controllers issue.
var (
	warnSilent = scheme.WarningKind{ID: "cc-no-signal",
		Condition: "a path gives none of the signals that the controller reacts to"}
	warnHops = scheme.WarningKind{ID: "telemetry-hops",
		Condition: "a path has more switches than the telemetry format has records (refused with format: hpcc)"}
	warnMinRatePath = scheme.WarningKind{ID: "min-rate-above-path",
		Condition: "min_rate, of the file or of the preset, is above the slowest link of a path, or is of all flows " +
			"without an end that share it"}
)

// WarningKinds returns the kinds of warnings that any controller may issue.
func WarningKinds() []scheme.WarningKind {
	return []scheme.WarningKind{warnSilent, warnHops, warnMinRatePath}
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

// unsignalled returns a path without any of the signals that a scheme reacts to, and why; nil if each has some, or if
// the scheme has no signals by design.
func (s *FlowContext) unsignalled(x *Scheme) (path *FlowPath, why string) {
	if x.Signals == 0 || x.Signals&ByDelay != 0 {
		return nil, ""
	}
	for i := range s.Paths {
		p := &s.Paths[i]
		if p.Supplied || p.Idle {
			continue
		}
		var reasons []string
		heard := false
		for _, r := range []struct {
			signal Signals
			why    string
		}{{ByLosses, p.Lossless}, {ByMarks, p.Unmarked}, {ByTelemetry, p.Unrecorded}, {ByDelivery, s.Unmeasured},
			{ByRequests, p.Unanswered}} {
			if x.Signals&r.signal != 0 {
				heard = heard || r.why == ""
				reasons = append(reasons, r.why)
			}
		}
		if !heard {
			return p, fmt.Sprintf("nothing tells it of congestion: %s (%s)", strings.Join(reasons, ", "), p.Name)
		}
	}
	return nil, ""
}

// CheckScheme returns the remarks about a controller's scheme and its configuration in a context.
func CheckScheme(x *Scheme, c scheme.Config, s *FlowContext) (all []scheme.Remark) {
	t := TraitsOf(c)
	if p, why := s.unsignalled(x); p != nil && !t.FollowsLinux() {
		all = append(all, warnSilent.Remark("", "%s", why).At(p.Narrow.Port, 0))
	}
	return append(all, Check(c, s)...)
}

// Checker is the configuration of a controller or transport that depends on its flows and their network.
type Checker interface {
	// Check returns remarks about the configuration in a context. It is called when an experiment is read.
	Check(s *FlowContext) []scheme.Remark
}

// Check returns the remarks about a configuration in a context: its law reads what telemetry does not carry, and those
// of a Checker.
func Check(c scheme.Config, s *FlowContext) (all []scheme.Remark) {
	if reads := TraitsOf(c).Reads; reads != 0 && s.Telemetry != nil {
		if lacks := s.Telemetry.Lacks(reads); lacks != 0 {
			all = append(all, scheme.Refuse("", "its law reads %v, which telemetry in format: %s does not carry", lacks,
				s.Telemetry.Profile.Name))
		} else if reads&^telemetry.Load != 0 {
			all = append(all, s.tooLong()...)
		}
	}
	if x, ok := c.(Checker); ok {
		all = append(all, x.Check(s)...)
	}
	return all
}

// tooLong says that a path has more switches than the format has room for records: a queue behind those is not seen.
// HPCC's header has no more; of other formats more can be asked for.
func (s *FlowContext) tooLong() []scheme.Remark {
	f := s.Telemetry
	longest, _ := s.max(func(p *FlowPath) float64 { return float64(p.Hops) })
	most := longest.Hops
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
	r := warnHops.Remark("", "a path has %d switches (%s), and telemetry in format: %s has room for %d, and sees no "+
		"other queues; %s", most, longest.Name, f.Profile.Name, f.Hops, say)
	r.Refused = f.Profile.Name == "hpcc"
	return []scheme.Remark{r}
}

// Longest is the path with the longest round trip without queues; false if none is known.
func (s *FlowContext) Longest() (longest FlowPath, ok bool) {
	return s.max(func(p *FlowPath) float64 { return float64(p.BaseRTT) })
}

// Smallest is the path with the smallest product; false if no path is known.
func (s *FlowContext) Smallest() (smallest FlowPath, ok bool) {
	return s.max(func(p *FlowPath) float64 {
		if p.Product() == 0 {
			return 0
		}
		return 1 / p.Product()
	})
}

// max is the first path with the largest value above 0; false if no value is.
func (s *FlowContext) max(value func(p *FlowPath) float64) (largest FlowPath, ok bool) {
	most := 0.0
	for i := range s.Paths {
		if v := value(&s.Paths[i]); v > most {
			largest, ok, most = s.Paths[i], true, v
		}
	}
	return largest, ok
}

// Find is the first path for which a condition holds; nil if there is no such path.
func (s *FlowContext) Find(holds func(p *FlowPath) bool) *FlowPath {
	for i := range s.Paths {
		if holds(&s.Paths[i]) {
			return &s.Paths[i]
		}
	}
	return nil
}

// Below warns that a window or buffer of so many bytes of payload is below a part of a flow's share of a path, and does
// not hold the largest flow either. The text begins with what, its value with a verb: "100kB are".
func (s *FlowContext) Below(kind scheme.WarningKind, param, what string, bytes, part float64) []scheme.Remark {
	p, ok := s.max((*FlowPath).Share)
	if !ok || bytes >= part*p.Share() || s.Largest > 0 && bytes >= float64(s.Largest) {
		return nil
	}
	of := ""
	if p.Flows > 1 {
		of = fmt.Sprintf("what each of %d flows has of ", p.Flows)
	}
	return []scheme.Remark{kind.Remark(param, "%s less than %s%s", what, of, p.Trip()).At(p.Narrow.Port, p.Share()/bytes)}
}

// SlowestNIC is the path with the slowest link of a sender; false if no path is known.
func (s *FlowContext) SlowestNIC() (slowest FlowPath, ok bool) {
	return s.max(func(p *FlowPath) float64 {
		if p.NICRate == 0 {
			return 0
		}
		return 1 / float64(p.NICRate)
	})
}

// carries returns what the path's sender can send of payload in full packets.
func (p *FlowPath) carries() unit.Rate {
	if p.LineRate > 0 {
		return p.LineRate
	}
	return p.NICRate
}

// TooFast refuses a rate of payload, bound to a parameter, that the slowest sender's link does not have.
func (s *FlowContext) TooFast(param string, rate unit.Rate) (all []scheme.Remark) {
	if p, ok := s.SlowestNIC(); ok && rate > p.carries() {
		all = []scheme.Remark{scheme.Refuse(param, "%v is more than a sender's link of %v has%s", rate, p.NICRate,
			p.payload(rate))}
	}
	return all
}

// payload names what a link carries of payload. It is empty if the rate exceeds the link itself.
func (p *FlowPath) payload(rate unit.Rate) string {
	if rate > p.NICRate {
		return ""
	}
	return fmt.Sprintf(" for payload, %v", p.carries())
}

// PresetTooFast refuses a preset's min_rate that the slowest sender's link does not have. minRate returns the preset's
// value for a link.
func (s *FlowContext) PresetTooFast(minRate func(link unit.Rate) unit.Rate) []scheme.Remark {
	p, ok := s.SlowestNIC()
	if !ok || minRate(p.NICRate) <= p.carries() {
		return nil
	}
	rate := minRate(p.NICRate)
	return []scheme.Remark{scheme.Refuse("min_rate", "%v, the preset's, is more than a sender's link of %v has%s", rate,
		p.NICRate, p.payload(rate))}
}

// Unstoppable warns of a least rate that is, of all flows together, above the rate of a path's narrowest link: a queue
// that they have made there never empties. minRate returns the rate of a flow for its sender's link; a rate above that
// link is TooFast's.
func (s *FlowContext) Unstoppable(param string, minRate func(link unit.Rate) unit.Rate) []scheme.Remark {
	all := func(p *FlowPath) float64 { return float64(minRate(p.NICRate)) * float64(max(p.Flows, 1)) }
	p, ok := s.max(func(p *FlowPath) float64 {
		if p.Narrow.Rate == 0 || all(p) <= float64(p.Narrow.Rate) || minRate(p.NICRate) > p.NICRate {
			return 0
		}
		return all(p) / float64(p.Narrow.Rate)
	})
	if !ok {
		return nil
	}
	of := "of a flow"
	if p.Flows > 1 {
		of = fmt.Sprintf("of each of %d flows", p.Flows)
	}
	return []scheme.Remark{warnMinRatePath.Remark(param, "%v, the least rate %s, are more than %s has, %v: a "+
		"queue there never empties", minRate(p.NICRate), of, p.Narrow.Port, p.Narrow.Rate).
		At(p.Narrow.Port, all(&p)/float64(p.Narrow.Rate))}
}
