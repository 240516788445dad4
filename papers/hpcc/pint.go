package hpcc

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// PINT is HPCC-PINT at the sender (Ben Basat et al., SIGCOMM'20): HPCC's law on the load
// that switches average and packets carry as one number (telemetry.PINT). The sender
// does not average again.
type PINT struct {
	law
	trip
	share float64
}

// PINTScheme is what an experiment names: cc: hpcc_pint.
func PINTScheme() cc.Scheme {
	return cc.Scheme{
		Scheme: scheme.Scheme{Name: "hpcc_pint", Doc: "HPCC on probabilistic telemetry of one or two bytes",
			Source: "PINT (SIGCOMM'20)", Params: []scheme.Param{
				etaParam, maxStageParam, waiParam, nParam, tParam, minRateParam,
				{Name: "share", Kind: scheme.Share, Default: "100%", Min: "0%", Max: "100%",
					Doc:    "share of acknowledgements that are looked at, chosen at random",
					Source: "the authors' simulator (PINT_PROB)"},
			}},
		OwnRecovery: true, Telemetry: telemetry.PathLoad,
		Build: func(f cc.Flow, v scheme.Values) (cc.Controller, error) {
			return build(NewPINT(f, config(v), v.Float("share")))
		},
	}
}

// NewPINT makes the controller of a flow, which looks at a share of the acknowledgements.
func NewPINT(f cc.Flow, c Config, share float64) (*PINT, error) {
	if !(share >= 0 && share <= 1) {
		return nil, fmt.Errorf("hpcc_pint: share is %v; it is from 0%% to 100%%", share)
	}
	l, err := newLaw(f, c)
	if err != nil {
		return nil, err
	}
	return &PINT{law: l, share: share}, nil
}

// OnAck is NewAck (draft-miao §4.2 line 21) with the load as U.
func (p *PINT) OnAck(_ unit.Time, a *cc.Ack) {
	if p.learn(a) {
		p.rebase()
	}
	if !(a.Telemetry.Load > 0) || p.share < 1 && p.flow.Random.Float64() >= p.share {
		p.unsteered(a)
		return
	}
	p.steered()
	commit := p.over(a)
	p.ref.u = a.Telemetry.Load
	p.w = p.compute(&p.ref, commit)
	if commit {
		p.begin(a)
	}
}

// OnLoss is as the Sender's.
func (p *PINT) OnLoss(_ unit.Time, l cc.Loss) {
	p.lose(l)
	if l.Kind == cc.RetransmissionTimeout {
		p.lastUpdateSeq = p.una
	}
}
