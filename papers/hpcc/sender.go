package hpcc

import (
	"weir/core/cc"
	"weir/core/unit"
)

// Sender is HPCC++ at the sender of one flow.
type Sender struct {
	law
	roundTrip
}

// New returns the controller of a flow. It fails if the configuration needs records that the telemetry lacks, or counts
// flows without a T.
func New(f cc.Flow, c Config) (*Sender, error) { return Renew(f, c, nil) }

// Renew is New, but may reuse the memory of old, the controller of a finished flow without other users. old may be nil,
// or of another scheme; after an error it must not be used.
func Renew(f cc.Flow, c Config, old cc.Controller) (*Sender, error) {
	s, is := old.(*Sender)
	if !is {
		s = &Sender{}
	}
	s.roundTrip = roundTrip{}
	if err := s.law.start(f, c); err != nil {
		return nil, err
	}
	return s, nil
}

// OnAck is NewAck, lines 21 to 27: it sets W from the acknowledgement's telemetry, and commits once per round trip (or
// by Mode). An acknowledgement without a measurement neither commits nor moves lastUpdateSeq; after a timeout it grows
// the restarted window. One with the first records of a path begins a round trip.
func (s *Sender) OnAck(now unit.Time, a *cc.Ack) {
	if s.updateBaseRTT(a) {
		s.rescale()
	}
	if a.Telemetry.Hops == nil && a.Telemetry.Load == 0 {
		s.withoutTelemetry(a)
		return
	}
	commit := s.isRoundTripOver(a) // line 22
	p := &a.Telemetry
	s.order.countAck(a)
	if p.Load > 0 {
		commit = commit && s.order.isRoundTripOver(a, s.lastUpdateSeq)
	}
	switch s.config.Mode {
	case PerACK:
		commit = true
	case PerRTT:
		if !commit && len(p.Hops) == 0 {
			return
		}
		if !commit && s.paths.contains(p) {
			return
		}
	}
	switch s.newRecords(now, p, commit) {
	case unusable:
		s.withoutTelemetry(a)
		return
	case firstRecords:
		s.withoutTelemetry(a)
		commit = true
	case measured:
		s.withTelemetry()
		if s.config.Census {
			s.updateIncrease(p, int(a.Feedback.Flows))
		}
	}
	if commit {
		s.beginRoundTrip(a) // line 24
	}
}

// OnLoss forgets paths after a timeout: the records are old, and no packet sent before will be acknowledged, so the
// next acknowledgement ends the round trip.
func (s *Sender) OnLoss(_ unit.Time, l cc.Loss) {
	s.onLoss(l)
	if l.Kind == cc.RetransmissionTimeout {
		s.paths.reset()
		s.lastUpdateSeq = s.una
	}
}

// State is the controller's state, for tests and traces.
type State struct {
	U             float64   // normalised bytes in flight of the path, averaged
	W, Wc         float64   // window and reference window, bytes
	WAI           float64   // additive increase, bytes
	Stage         int       // incStage
	Bottleneck    int       // hop with the largest load in the last measurement
	T             unit.Time // base round-trip time; 0: not known
	LastUpdateSeq int64
}

// State returns the present state.
func (s *Sender) State() State {
	return State{U: s.ref.u, W: s.w, Wc: s.ref.wc, WAI: s.wai, Stage: s.ref.stage, Bottleneck: s.bottleneck, T: s.t,
		LastUpdateSeq: s.lastUpdateSeq}
}
