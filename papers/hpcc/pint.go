package hpcc

import (
	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// PINT is HPCC-PINT at the sender (Ben Basat et al., SIGCOMM'20): HPCC's law on a load that switches average and
// packets carry as one number (telemetry.PINT). The sender does not average again.
type PINT struct {
	law
	roundTrip
	share float64
}

// PINTConfig configures HPCC-PINT.
type PINTConfig struct {
	Config         // without Mode, Sojourn and SamplesQueues
	Share  float64 // share of acknowledgements that are used
}

// Params binds the options of hpcc_pint to the fields of c, which keep their values.
func (c *PINTConfig) Params(p *scheme.Params) {
	c.bindLaw(p, presets[:Agent])
	c.bindWindow(p)
	p.Share(&c.Share, "share", "100%", "share of acknowledgements that are evaluated, chosen at random; below 100%: "+
		"as if only a part of the packets carried telemetry",
		"HPCC simulator: PINT_PROB").Min("0%").Max("100%")
}

// Traits returns HPCC's traits, except that the law reads only loads, which each format has in addition to its records.
func (c *PINTConfig) Traits() cc.Traits {
	t := c.Config.Traits()
	t.Reads = 0
	return t
}

// PINTScheme returns the scheme for experiments: cc: hpcc_pint.
func PINTScheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "hpcc_pint", Doc: "HPCC with probabilistic telemetry (PINT) of one or two bytes",
			Source: "PINT (SIGCOMM'20)", Warnings: windowWarnings},
		OwnRecovery: true, PerPath: true, Telemetry: telemetry.PathLoad, Signals: cc.ByTelemetry,
		KeepsOnSend: true,
	}, NewPINT)
}

// NewPINT returns the controller of a flow. It fails as New does.
func NewPINT(f cc.Flow, c PINTConfig) (*PINT, error) {
	l, err := newLaw(f, c.Config)
	if err != nil {
		return nil, err
	}
	return &PINT{law: l, share: c.Share}, nil
}

// OnAck is NewAck (draft-miao §4.2 line 21) with the load as U. With Share below 1 it takes a random number for each
// load, and treats the others as acknowledgements without telemetry.
func (p *PINT) OnAck(now unit.Time, a *cc.Ack) {
	if p.updateBaseRTT(a) {
		p.rescale()
	}
	if !(a.Telemetry.Load > 0) || p.share < 1 && p.flow.Random.Float64() >= p.share {
		p.withoutTelemetry(a)
		return
	}
	p.withTelemetry()
	p.order.countAck(a)
	commit := p.isRoundTripOver(a) && p.order.isRoundTripOver(a, p.lastUpdateSeq)
	p.ref.u = p.order.loadAfter(now, p.t, a.Telemetry.Load)
	p.w = p.computeWind(&p.ref, commit)
	if commit {
		p.beginRoundTrip(a)
	}
}

// OnLoss handles a timeout as Sender does; other losses change no window.
func (p *PINT) OnLoss(_ unit.Time, l cc.Loss) {
	p.onLoss(l)
	if l.Kind == cc.RetransmissionTimeout {
		p.lastUpdateSeq = p.una
	}
}
