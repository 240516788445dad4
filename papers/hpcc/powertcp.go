package hpcc

import (
	"errors"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// PowerConfig configures PowerTCP.
type PowerConfig struct {
	Gamma      float64   // weight of the new window
	Beta       unit.Rate // additive increase, as a rate: β is Beta·T
	N          int       // above 0: β is W_init/N instead
	Eta        float64   // target of the power; 1: the paper's
	MinCurrent float64   // minimum of λ, as a share of the port's rate
	T          unit.Time // as Config.T
	MinRate    unit.Rate // as Config.MinRate
}

// Params binds the options of powertcp to the fields of c, which keep their values.
func (c *PowerConfig) Params(p *scheme.Params) {
	p.Share(&c.Gamma, "gamma", "90%", "weight of a new window in the average; lower it for smoother windows that "+
		"respond later", "ns3-datacenter").Min("0.01%").Max("100%")
	p.Rate(&c.Beta, "beta", "150Mbps", "additive increase, as a rate", "ns3-datacenter").Min("0bps").
		When("n: 0", func() bool { return c.N == 0 })
	p.Int(&c.N, "n", "0", "number of flows expected at a host: β is W_init/n; 0: the option beta", "Weir").Min("0")
	p.Share(&c.Eta, "eta", "100%", "target of the normalised power; below 100%: a part of the capacity stays free, "+
		"and the queue is shorter",
		"Weir: the algorithm has none; ns3-datacenter: 95 %").Min("0.01%").Max("100%")
	p.Share(&c.MinCurrent, "floor", "0%", "minimum current, as a share of the port's rate; 0%: none; raise it if "+
		"windows grow too far when a port was idle",
		"Weir: the algorithm has none; ns3-datacenter: 50 %").Min("0%").Max("100%")
	bindPath(p, &c.T, &c.MinRate, "the path's time if it is known, or the minimum measured")
}

// Traits returns the fields of each hop's record that NORMPOWER needs.
func (c *PowerConfig) Traits() cc.Traits {
	return cc.Traits{Reads: telemetry.Time | telemetry.TxBytes | telemetry.Queue | telemetry.Rate}
}

// PowerTCP is algorithm 1 of the paper PowerTCP (Addanki and others, NSDI'22) on HPCC's records. The window follows the
// path's power, the product of its current λ = q̇ + µ and voltage ν = q + B·T, over the power of a full link without a
// queue, B²·T. The algorithm leaves first records, equal times, change of path, limits and timeouts open; PowerTCP
// handles them like Sender. Gamma and β's 150 Mb/s are from the authors' simulator, as are the values of eta (95 %) and
// floor (50 %) in the parameters' sources, which the paper does not have.
type PowerTCP struct {
	window
	roundTrip
	config PowerConfig
	paths  paths[float64] // smoothed power of a path's worst hop, normalised
	order  arrivalOrder
	power  float64 // of the worst path
	old    float64 // window a round trip ago
}

// PowerScheme returns the scheme for experiments: cc: powertcp.
func PowerScheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "powertcp", Doc: "window from the power of the path, by telemetry",
			Source: "PowerTCP (NSDI'22)", Warnings: append([]scheme.WarningKind{warnUnevenPower}, windowWarnings...)},
		OwnRecovery: true, PerPath: true, Telemetry: telemetry.HopRecords, Signals: cc.ByTelemetry,
		KeepsOnSend: true,
	}, NewPower)
}

// NewPower returns the controller of a flow. It fails if the telemetry has no records.
func NewPower(f cc.Flow, c PowerConfig) (*PowerTCP, error) {
	if f.Loads {
		return nil, errors.New("powertcp: needs records of hops; the network's format: relative has none")
	}
	p := &PowerTCP{window: newWindow(f, c.T, c.MinRate), config: c, power: 1}
	p.old = p.w
	p.paths.reset()
	return p, nil
}

// OnAck is NEWACK of algorithm 1: it measures the power and sets the window. First records of a path, records that
// cannot be measured, and acknowledgements without any leave the window as it is, except after a timeout.
func (p *PowerTCP) OnAck(now unit.Time, a *cc.Ack) {
	if p.updateBaseRTT(a) {
		p.old = p.clamp(p.old)
	}
	p.order.countAck(a)
	if len(a.Telemetry.Hops) == 0 && a.Telemetry.Load > 0 && p.perTime > 0 {
		// telemetry upon congestion: without a congested hop the power is below this
		p.power = p.order.loadAfter(now, p.t, a.Telemetry.Load)
		if p.order.isMany() { // records of other paths are kept
			for k := range 1 + len(p.paths.more) {
				if x := p.paths.pathAt(k); x.n > 0 && now-x.track.arrival <= p.t {
					p.power = max(p.power, x.known)
				}
			}
		} else {
			p.paths.reset()
		}
		p.withTelemetry()
		p.updateWindow(a)
		return
	}
	if len(a.Telemetry.Hops) == 0 || p.perTime == 0 {
		p.withoutTelemetry(a)
		return
	}
	path := &a.Telemetry
	k, known := p.paths.find(path)
	what := k.compare(known, now, p.t, path)
	switch what {
	case unusable:
		p.withoutTelemetry(a)
		return
	case firstRecords:
		p.withoutTelemetry(a)
		if p.flow.NICRate == 0 {
			p.rate = slowest(path)
			p.setBaseRTT(p.t)
			p.old = p.clamp(p.old)
		}
		p.power, k.known = 1, 1
		p.beginRoundTrip(a)
	case measured:
		if !p.normPower(now, k, path) {
			p.withoutTelemetry(a)
			return
		}
		p.withTelemetry()
		p.updateWindow(a)
	}
	k.store(now, path, what)
}

// normPower updates the power of path k and of the flow by NORMPOWER, from the records path. It returns false, without
// an effect, if no hop can be measured.
func (p *PowerTCP) normPower(now unit.Time, k *pathState[float64], path *cc.Telemetry) bool {
	power, tau := -1.0, 0.0
	for i := range path.Hops[:k.n] {
		h, old := path.Hops[i], &k.hops[i]
		dt := float64(h.Time - old.Time)
		perByte := k.byteIn[i]
		if dt <= 0 || perByte == 0 {
			continue
		}
		lambda := (float64(h.Queue-old.Queue) + float64(h.TxBytes-old.TxBytes)) / dt * perByte // λ/B
		nu := float64(float64(h.Queue)*perByte*p.perTime) + 1                                  // ν/(B·T)
		if v := max(lambda, p.config.MinCurrent) * nu; v > power {
			power, tau = v, dt
		}
	}
	if tau == 0 {
		return false
	}
	average(&k.known, max(power, 0), tau*p.perTime)
	p.power = k.known
	for i := range p.paths.more { // the worst of the paths seen within T
		if x := p.paths.otherPath(i); now-x.track.arrival <= p.t {
			p.power = max(p.power, x.known)
		}
	}
	return true
}

// updateWindow is UPDATEWINDOW and UPDATEOLD: it sets W from the power and, once a round trip, the old window to W
// before.
func (p *PowerTCP) updateWindow(a *cc.Ack) {
	if p.isRoundTripOver(a) {
		p.old = p.w
		p.beginRoundTrip(a)
	}
	beta := float64(p.config.Beta) * float64(p.t) / 8e12
	if p.config.N > 0 {
		beta = p.maxWindow / float64(p.config.N)
	}
	fresh := p.clamp(p.old/(p.power/p.config.Eta) + float64(beta*p.share))
	p.w = p.clamp(float64(p.config.Gamma*fresh) + float64((1-p.config.Gamma)*p.w))
}

// OnLoss forgets paths and ends the round trip after a timeout, as Sender does.
func (p *PowerTCP) OnLoss(_ unit.Time, l cc.Loss) {
	p.onLoss(l)
	if l.Kind == cc.RetransmissionTimeout {
		p.paths.reset()
		p.lastUpdateSeq = p.una
	}
}
