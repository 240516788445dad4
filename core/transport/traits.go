package transport

import (
	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Traits describe properties of a transport that follow from its parameters alone. Scheme has the properties that hold
// for all parameters. Experiments and warnings read the traits before a run, never per packet. The zero value of a
// field means no, so that a configuration sets only the fields that apply. Functions are traits that depend on the
// path, the controller or the TOS of a flow.
type Traits struct {
	// AppRate is the rate of payload at which the application has data; 0: always more.
	AppRate unit.Rate
	// OwnStack: in the lab Weir's own hosts run it instead of the kernel, although kernels have the transport.
	OwnStack bool
	// Paths is the number of paths among which its senders choose, with a controller on each (cc.Scheme.PerPath); 0 or 1:
	// they do not choose.
	Paths int
	// WhyInOrder is the reason why packets that overtake each other slow it down; "": they do not.
	WhyInOrder string
	// KeepsSlow: a packet that others have overtaken counts as in flight until it arrives or is lost.
	KeepsSlow bool

	// Timer returns what it does on a path when no answer arrives; nil: it has no timer.
	Timer func(p *cc.Path) Timer
	// MinTimeout is the shortest time after which the retransmission timer of rdma or the report timer of udp_controlled
	// expires, by rto_min; unit.Never: it probes. 0: the transport has no such parameter.
	MinTimeout unit.Time
	// DelaysAcks: a receiver waits for more packets before it acknowledges one.
	DelaysAcks bool
	// AckDelay is the time that the receiver's NIC takes to acknowledge. It adds to the round trip of the path.
	AckDelay unit.Time
	// SeparatesAcks reports whether switches can distinguish acknowledgements from data with this TOS. nil: they cannot.
	SeparatesAcks func(tos uint8) bool

	// Telemetry is how it asks for telemetry; nil: it carries no telemetry.
	Telemetry *TelemetryOptions
	// WhyUnmarked returns the reason why a controller that uses ECN in this mode gets no marks; "": it gets them. nil:
	// the transport does not report marks.
	WhyUnmarked func(mode cc.ECNMode) string
	// WhyUnmeasured is the reason why its controller gets no rates of delivery; "": it gets them.
	WhyUnmeasured string
	// CarriesRequests: its packets can carry requests to switches (cc.Scheme.Requests).
	CarriesRequests bool
	// WhyUnanswered is the reason why a controller gets no answers to the requests that packets carry; "": it gets them.
	WhyUnanswered string
	// TakesSupply: it takes rates from NACKs of the network.
	TakesSupply bool
}

// TraitsOf returns the traits of a transport's configuration, which has a method Traits. Without it they are zero.
func TraitsOf(c scheme.Config) (t Traits) {
	if x, ok := c.(interface{ Traits() Traits }); ok {
		t = x.Traits()
	}
	return t
}

// ReasonUnmarked returns the reason why a controller that uses ECN in this mode gets no marks; "": it gets them.
func (t *Traits) ReasonUnmarked(mode cc.ECNMode) (why string) {
	if t.WhyUnmarked == nil {
		return "the transport reports no marks to it"
	}
	return t.WhyUnmarked(mode)
}

// ReasonUnanswered returns the reason why a controller gets no answers to its requests; "": it gets them.
func (t *Traits) ReasonUnanswered() (why string) {
	if !t.CarriesRequests {
		return "its transport carries no requests to switches; rdma does"
	}
	return t.WhyUnanswered
}

// AsksUponCongestion reports whether the transport asks for telemetry of congested ports only.
func (t *Traits) AsksUponCongestion() bool {
	return t.Telemetry != nil && t.Telemetry.When == AskCongestion
}

// ReasonUnrecorded returns the reason why a controller gets no telemetry; "": it gets it.
func (t *Traits) ReasonUnrecorded() (why string) {
	switch {
	case t.Telemetry == nil:
		return "its transport asks for no telemetry"
	case t.Telemetry.When == AskNever:
		return "telemetry: none of its transport asks for none, so that it keeps its first window"
	}
	return ""
}
