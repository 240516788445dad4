package cc

import (
	"fmt"
	"strings"

	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// FlowContext describes the surroundings of the flows of one traffic: the network and the rest of the traffic, as far
// as the experiment determines them.
type FlowContext struct {
	MSS             int32             // payload of a full packet
	Paths           []FlowPath        // of the flows, each kind once
	MaxFlowSize     unit.Bytes        // payload of the largest flow; 0: not known, or flows have no end
	AppRate         unit.Rate         // payload that the application produces per second; 0: always more
	Telemetry       *telemetry.Format // that switches write; nil: no telemetry
	Uncongested     bool              // ports without congestion write no telemetry
	WhyUnmeasured   string            // why no delivery rate is measured; "": one is
	AcksDelayed     bool              // an acknowledgement waits for more than one packet
	Flowlets        bool              // packets of a flow take several paths, and change them after gaps
	Sprayed         bool              // they change them with each packet
	SlowestPath     SlowPath          // slowest of the paths that packets of a flow may take
	SlowestFlowPath SlowPath          // slowest of the paths that a flow may take with all its packets
	AwaitsSlowPath  bool              // the transport waits for packets in a slow path, and counts them as in flight
	Controller      *Scheme           // of the flows, for checks of their transport; nil: no controller
	Config          scheme.Config     // of the controller
}

// FlowPath is a path as the reader of an experiment file knows it; endpoints know only its Path. Where equal paths
// differ, NarrowLink is the link of the narrowest, and of several the one with the most flows. A property of switches
// holds if a switch has it at one of the ports where data can queue: the slowest of the switches' ports on the path.
type FlowPath struct {
	Path
	Name          string   // the hosts at its ends: "left0->right0"
	NarrowLink    Link     // the slowest link in the direction of data
	Flows         int      // flows without an end, of all traffics, that share NarrowLink, at least one; 0: not known
	Idle          bool     // data queues at no switch: no port receives more than it can send
	WhyLossless   string   // why no packet is lost; "": a port's buffer is finite
	WhyUnmarked   string   // why the controller receives no marks; "": it receives them
	WhyUnrecorded string   // why no telemetry of its queues returns; "": it does
	WhyUnanswered string   // why no switch answers requests; "": one does
	Opposing      Opposing // long flows in both directions
	Crossed       bool     // acknowledgements share ports with data of long flows
	Supplied      bool     // switches report the rate that they offer a flow (NCF), with any controller
	// DataQueueing is MaxQueueing at only the ports where data can queue, without pauses of the hosts' NICs. unit.Never:
	// some port has no limit. 0: no packet waits, or it is not known.
	DataQueueing  unit.Time
	Unlimited     string    // a switch's port that receives more than it can send and has no limit; "": no port
	Wait          unit.Time // behind the longest full buffer of a switch's port; 0: some buffer is unlimited, or not known
	Trims         bool      // a switch trims the payload of a packet without room, so that the receiver learns of it
	MaxQueueDelay unit.Time // max time for which a full queue of such a switch occupies its port; 0: not known
}

// SlowPath is the slowest of several ways for packets: a port of a switch among the ports that lead to the same host.
// Its rate is smaller than its part of the packets may need, so that packets wait there in the run's worst moment. In
// the zero value, no way is slower than another, or the slow way has room for its part.
type SlowPath struct {
	Port string
	Rate unit.Rate
	Part float64 // of the rate of the fastest way; 0: there is no slow path

	Flows int     // long flows of controllers that read telemetry (Opposing) that may take it
	Share float64 // of the packets of each of these flows that takes it
}

// KeepSlower sets p to the slower one of p and other, by Part. A SlowPath without a Part does not count.
func (p *SlowPath) KeepSlower(other SlowPath) {
	if other.Part > 0 && (p.Part == 0 || other.Part < p.Part) {
		*p = other
	}
}

// SpraysUnevenly reports whether packets of a flow are spread one by one over paths, and the slow path has less than a
// part of another's rate.
func (s *FlowContext) SpraysUnevenly(part float64) bool {
	return s.Sprayed && s.SlowestPath.Part > 0 && s.SlowestPath.Part < part
}

// WarnSlowPath returns a warning about the effect of a slow path on a flow that is spread. text describes the effect.
// There must be a slow path (SlowestPath.Part above 0).
func (s *FlowContext) WarnSlowPath(kind scheme.WarningKind, param, text string) scheme.Remark {
	return kind.NewRemark(param, "packets of a flow are spread over paths of different rates, and %s has %v, %.0f %% of "+
		"the rate of another: %s", s.SlowestPath.Port, s.SlowestPath.Rate, 100*s.SlowestPath.Part,
		text).WithPort(s.SlowestPath.Port, 1/s.SlowestPath.Part)
}

// Opposing counts the long flows of controllers that read telemetry in both directions of a path. Long flows have no
// end or take several round trips, and begin together. 0: not known.
type Opposing struct {
	Port    string // port that sends data of the most flows: "left->right"
	Aligned int    // flows through Port, with the path's own
	Opposed int    // flows through the port on the way back where most of them queue with acknowledgements
	Paths   int    // number of equal ports that share the packets; 1: Port sends all
}

// Link is a link in one direction.
type Link struct {
	Port    string    // port that sends into it: "left->right"
	Rate    unit.Rate // of frames, bit/s; 0: not known
	Payload unit.Rate // of payload in full packets
	Last    bool      // it leads to a host

	Buffer unit.Bytes // of Port; 0: it has no limit, or is not a switch's
}

// BandwidthDelayProduct returns the bytes of payload that the narrowest link carries in a base round trip. Checks
// compare windows, buffers and increases with it, not with the rate of the sender's link.
func (p *FlowPath) BandwidthDelayProduct() float64 {
	return float64(p.NarrowLink.Payload) / 8 * p.BaseRTT.Seconds()
}

// FairProduct returns BandwidthDelayProduct over the flows that share the narrowest link: the bytes that each flow
// needs in flight so that all fill the link.
func (p *FlowPath) FairProduct() float64 { return p.BandwidthDelayProduct() / float64(max(p.Flows, 1)) }

// DataMaxRTT returns the longest round trip with full buffers at the ports at which data can queue; unit.Never if it
// has no known bound.
func (p *FlowPath) DataMaxRTT() unit.Time {
	path := p.Path
	path.MaxQueueing = p.DataQueueing
	return path.MaxRTT()
}

// DescribeTrip returns a description of the round trip that BandwidthDelayProduct covers, for messages.
func (p *FlowPath) DescribeTrip() string {
	return fmt.Sprintf("a round trip of %s, %v: %v at %s, of %v", p.Name, unit.Bytes(p.BandwidthDelayProduct()),
		p.BaseRTT.RoundRough(),
		p.NarrowLink.Port, p.NarrowLink.Rate)
}

// Kinds of warnings that several controllers issue.
var (
	warnSilent = scheme.WarningKind{ID: "cc-no-signal",
		Condition: "a path provides none of the signals to which the controller reacts"}
	warnHops = scheme.WarningKind{ID: "telemetry-hops",
		Condition: "a path has more switches than the telemetry format has records (refused with format: hpcc)"}
	warnMinRatePath = scheme.WarningKind{ID: "min-rate-above-path",
		Condition: "min_rate of the file or the preset exceeds the rate of the slowest link of a path, for one flow or in " +
			"total for all endless flows that share the link"}
)

// WarningKinds returns the kinds of warnings that any controller may issue.
func WarningKinds() []scheme.WarningKind {
	return []scheme.WarningKind{warnSilent, warnHops, warnMinRatePath}
}

// Signals are the congestion signals that a scheme's law reacts to; bits.
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

// findPathWithoutSignal returns the first path that gives the law of x no signal, and the reasons; nil if every path
// gives one. Schemes that react to delay, or by design to no signal, always pass.
func (s *FlowContext) findPathWithoutSignal(x *Scheme) (path *FlowPath, why string) {
	if x.Signals == 0 || x.Signals&ByDelay != 0 {
		return nil, ""
	}
	for i := range s.Paths {
		p := &s.Paths[i]
		if p.Supplied || p.Idle {
			continue
		}
		var reasons []string
		hasSignal := false
		for _, r := range []struct {
			signal Signals
			why    string
		}{{ByLosses, p.WhyLossless}, {ByMarks, p.WhyUnmarked}, {ByTelemetry, p.WhyUnrecorded}, {ByDelivery, s.WhyUnmeasured},
			{ByRequests, p.WhyUnanswered}} {
			if x.Signals&r.signal != 0 {
				hasSignal = hasSignal || r.why == ""
				reasons = append(reasons, r.why)
			}
		}
		if !hasSignal {
			return p, fmt.Sprintf("the path has no congestion signal for it: %s (%s)", strings.Join(reasons, ", "), p.Name)
		}
	}
	return nil, ""
}

// CheckScheme returns the remarks about a controller's scheme x and its configuration c in a context.
func CheckScheme(x *Scheme, c scheme.Config, s *FlowContext) (all []scheme.Remark) {
	t := TraitsOf(c)
	if p, why := s.findPathWithoutSignal(x); p != nil && !t.FollowsLinux() {
		all = append(all, warnSilent.NewRemark("", "%s", why).WithPort(p.NarrowLink.Port, 0))
	}
	return append(all, Check(c, s)...)
}

// Checker is a configuration of a controller or transport that has to fit its flows and their network.
type Checker interface {
	// Check returns remarks about the configuration in a context. It is called when an experiment is read.
	Check(s *FlowContext) []scheme.Remark
}

// Check returns the remarks about a configuration in a context. It refuses a law that reads fields which the
// telemetry does not carry, and adds the remarks of a Checker.
func Check(c scheme.Config, s *FlowContext) (all []scheme.Remark) {
	if reads := TraitsOf(c).Reads; reads != 0 && s.Telemetry != nil {
		if lacks := s.Telemetry.MissingFields(reads); lacks != 0 {
			all = append(all, scheme.NewRefusal("", "the controller needs %v, which telemetry in format: %s does not carry",
				lacks,
				s.Telemetry.Profile.Name))
		} else if reads&^telemetry.Load != 0 {
			all = append(all, s.checkPathLength()...)
		}
	}
	if x, ok := c.(Checker); ok {
		all = append(all, x.Check(s)...)
	}
	return all
}

// checkPathLength returns a warning if a path has more switches than the format has room for records: the law does not
// see the queues of the others. With HPCC's header the remark is a refusal; other formats can have more records. It is
// nil for the relative format, which has no records. s.Telemetry must not be nil.
func (s *FlowContext) checkPathLength() []scheme.Remark {
	f := s.Telemetry
	longest, _ := s.findMaxPath(func(p *FlowPath) float64 { return float64(p.Hops) })
	maxHops := longest.Hops
	if f.IsRelative() || maxHops <= f.Hops {
		return nil
	}
	hint := "int-md and ifa-ext have room for 16"
	switch {
	case maxHops > telemetry.MaxHops:
		hint = fmt.Sprintf("none has more than %d; relative needs none", telemetry.MaxHops)
	case f.Hops < f.Profile.MaxHops:
		hint = fmt.Sprintf("hops of program telemetry can be up to %d", f.Profile.MaxHops)
	}
	r := warnHops.NewRemark("", "a path has %d switches (%s), but telemetry in format: %s has room for %d records, so "+
		"further queues are invisible; %s", maxHops, longest.Name, f.Profile.Name, f.Hops, hint)
	r.Refused = f.Profile.Name == "hpcc"
	return []scheme.Remark{r}
}

// FindLongestPath returns the path with the longest round trip without queues; false if no round trip is known.
func (s *FlowContext) FindLongestPath() (longest FlowPath, ok bool) {
	return s.findMaxPath(func(p *FlowPath) float64 { return float64(p.BaseRTT) })
}

// FindSmallestProduct returns the path with the smallest BandwidthDelayProduct above 0; false if no product is known.
func (s *FlowContext) FindSmallestProduct() (smallest FlowPath, ok bool) {
	return s.findMaxPath(func(p *FlowPath) float64 {
		if p.BandwidthDelayProduct() == 0 {
			return 0
		}
		return 1 / p.BandwidthDelayProduct()
	})
}

// findMaxPath returns the first path with the largest value above 0; false if no path has one.
func (s *FlowContext) findMaxPath(value func(p *FlowPath) float64) (largest FlowPath, ok bool) {
	maxValue := 0.0
	for i := range s.Paths {
		if v := value(&s.Paths[i]); v > maxValue {
			largest, ok, maxValue = s.Paths[i], true, v
		}
	}
	return largest, ok
}

// FindPath returns the first path that fulfils a condition; nil if no path does.
func (s *FlowContext) FindPath(holds func(p *FlowPath) bool) *FlowPath {
	for i := range s.Paths {
		if holds(&s.Paths[i]) {
			return &s.Paths[i]
		}
	}
	return nil
}

// WarnSmallWindow warns that a window or buffer of so many bytes of payload is below a part of a flow's share of a
// path, and does not hold the largest flow either. Otherwise it returns nil. The path with the largest FairProduct
// decides. The text begins with what, the value with its verb: "100kB are".
func (s *FlowContext) WarnSmallWindow(kind scheme.WarningKind, param, what string, bytes,
	part float64) []scheme.Remark {
	p, ok := s.findMaxPath((*FlowPath).FairProduct)
	if !ok || bytes >= part*p.FairProduct() || s.MaxFlowSize > 0 && bytes >= float64(s.MaxFlowSize) {
		return nil
	}
	portion := ""
	if p.Flows > 1 {
		portion = fmt.Sprintf("what each of %d flows has of ", p.Flows)
	}
	return []scheme.Remark{kind.NewRemark(param, "%s less than %s%s", what, portion, p.DescribeTrip()).
		WithPort(p.NarrowLink.Port, p.FairProduct()/bytes)}
}

// FindSlowestNIC returns the path with the slowest link of a sender; false if no link's rate is known.
func (s *FlowContext) FindSlowestNIC() (slowest FlowPath, ok bool) {
	return s.findMaxPath(func(p *FlowPath) float64 {
		if p.NICRate == 0 {
			return 0
		}
		return 1 / float64(p.NICRate)
	})
}

// payloadRate returns the rate of payload in full packets that the path's sender can send.
func (p *FlowPath) payloadRate() unit.Rate {
	if p.LineRate > 0 {
		return p.LineRate
	}
	return p.NICRate
}

// RefuseRateAboveNIC refuses the value of parameter param, a rate of payload, if it exceeds the slowest sender's link.
func (s *FlowContext) RefuseRateAboveNIC(param string, rate unit.Rate) (all []scheme.Remark) {
	if p, ok := s.FindSlowestNIC(); ok && rate > p.payloadRate() {
		all = []scheme.Remark{scheme.NewRefusal(param, "%v exceeds the rate of a sender's link of %v%s", rate, p.NICRate,
			p.describePayloadRate(rate))}
	}
	return all
}

// describePayloadRate returns words for the payload rate of a sender's link; empty if rate exceeds the link itself.
func (p *FlowPath) describePayloadRate(rate unit.Rate) string {
	if rate > p.NICRate {
		return ""
	}
	return fmt.Sprintf(" for payload, %v", p.payloadRate())
}

// RefusePresetAboveNIC refuses a preset's min_rate that exceeds the slowest sender's link. minRate returns the preset's
// value for a link's rate.
func (s *FlowContext) RefusePresetAboveNIC(minRate func(link unit.Rate) unit.Rate) []scheme.Remark {
	p, ok := s.FindSlowestNIC()
	if !ok || minRate(p.NICRate) <= p.payloadRate() {
		return nil
	}
	rate := minRate(p.NICRate)
	return []scheme.Remark{scheme.NewRefusal("min_rate",
		"the preset's value %v exceeds the rate of a sender's link of %v%s",
		rate,
		p.NICRate, p.describePayloadRate(rate))}
}

// WarnMinRateAbovePath warns of a min rate that, for all flows together, exceeds the rate of a path's narrowest link: a
// queue there never empties. minRate returns a flow's min rate for its sender's link. RefuseRateAboveNIC reports a rate
// above that link.
func (s *FlowContext) WarnMinRateAbovePath(param string, minRate func(link unit.Rate) unit.Rate) []scheme.Remark {
	total := func(p *FlowPath) float64 { return float64(minRate(p.NICRate)) * float64(max(p.Flows, 1)) }
	p, ok := s.findMaxPath(func(p *FlowPath) float64 {
		if p.NarrowLink.Rate == 0 || total(p) <= float64(p.NarrowLink.Rate) || minRate(p.NICRate) > p.NICRate {
			return 0
		}
		return total(p) / float64(p.NarrowLink.Rate)
	})
	if !ok {
		return nil
	}
	owner := "of a flow"
	if p.Flows > 1 {
		owner = fmt.Sprintf("of each of %d flows", p.Flows)
	}
	return []scheme.Remark{warnMinRatePath.NewRemark(param, "%v, the minimum rate %s, exceeds the rate of %s, %v, so a "+
		"queue there never empties", minRate(p.NICRate), owner, p.NarrowLink.Port, p.NarrowLink.Rate).
		WithPort(p.NarrowLink.Port, total(&p)/float64(p.NarrowLink.Rate))}
}
