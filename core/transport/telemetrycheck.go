package transport

import (
	"errors"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// maxWindowsBetweenRequests is the number of first windows that may pass between packets that ask for telemetry without
// a warning.
const maxWindowsBetweenRequests = 30

// warnAsks is issued for a controller that needs telemetry.
var warnAsks = scheme.WarningKind{ID: "telemetry-asks",
	Condition: "telemetry_packets leaves more than 30 round trips of a path, at the rate of its slowest link, between " +
		"two packets that request telemetry"}

// WarningKinds returns the kinds of warnings that any transport may issue.
func WarningKinds() []scheme.WarningKind { return []scheme.WarningKind{warnAsks, warnShortTimer} }

// CheckTelemetry returns the remarks about how a transport asks for telemetry: those about the transport, and those
// about the controller. Combinations that it refuses NewTelemetryRequester refuses, too. a may be nil.
func CheckTelemetry(a *TelemetryOptions, s *cc.FlowContext) (ofTransport, ofControl []scheme.Remark) {
	if a == nil || s.Controller == nil || s.Telemetry == nil {
		return nil, nil
	}
	want := s.Controller.Telemetry
	if want == telemetry.NoRequest || a.When == AskNever || a.When == "" {
		return nil, nil
	}
	if err := a.checkCombination(s.Telemetry, want); err != nil {
		if r := scheme.NewRefusal("", "%v", err); a.When != AskCongestion {
			ofControl = append(ofControl, r)
		} else {
			r.Param = "telemetry"
			ofTransport = append(ofTransport, r)
		}
	}
	if p, ok := s.FindSmallestProduct(); ok && a.When == AskPackets {
		between := unit.Bytes(a.Packets) * unit.Bytes(s.MSS)
		if trips := float64(between) / p.BandwidthDelayProduct(); trips > maxWindowsBetweenRequests {
			ofTransport = append(ofTransport, warnAsks.NewRemark("telemetry_packets",
				"one packet in %v requests telemetry, so queues grow unnoticed for %.0f times %s", between, trips,
				p.DescribeTrip()).
				WithPort(p.NarrowLink.Port, trips/maxWindowsBetweenRequests))
		}
	}
	return ofTransport, ofControl
}

// checkCombination returns an error if the way of asking, the format f and what a controller wants do not go together.
func (a *TelemetryOptions) checkCombination(f *telemetry.Format, want telemetry.Request) error {
	switch {
	case f.LoadInterval == 0 && (a.When == AskCongestion || want == telemetry.PathLoad || f.IsRelative()):
		return errors.New("switches must average loads: the program telemetry needs its parameter t for format: " +
			"relative, for telemetry: congestion and for controllers that want loads")
	case a.When == AskCongestion && f.IsRelative():
		return errors.New("telemetry: congestion is of records; format: relative has none")
	case a.When == AskCongestion && want == telemetry.PathLoad:
		return errors.New("telemetry: congestion is of records; the controller wants a load")
	}
	return nil
}
