// Package cubic is CUBIC (RFC 9438) with fast convergence, and with Linux' HyStart or HyStart++ (RFC 9406).
package cubic

import (
	"math"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Names of slow starts and variants.
const (
	LinuxHyStart = "linux"
	Linux44      = "linux-4.4" // as in Ubuntu 16.04, which P4-ABC's testbed used
	PlusPlus     = "hystart++"
	NoHyStart    = "off"

	RFC9438 = "rfc9438"
	Linux   = "linux"
)

// Config holds the parameters of RFC 9438 §4.1 and §4.6 to §4.7.
type Config struct {
	C               float64 // packets / s³
	Beta            float64 // β_cubic
	FastConvergence bool
	HyStart         string // LinuxHyStart, Linux44, PlusPlus, NoHyStart
	Variant         string // RFC9438, Linux
}

// Params binds the options of cubic to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Float(&c.C, "c", "0.4", "growth of the window, C [packets/s³]; raise it to regain the last maximum sooner",
		"RFC 9438 §5").Min("0.001").Max("1000")
	p.Float(&c.Beta, "beta", "0.7", "factor by which a loss multiplies the window; nearer to 1, the queue stays "+
		"longer and the rate steadier",
		"RFC 9438 §4.6").Min("0.1").Max("0.95")
	p.Bool(&c.FastConvergence, "fast_convergence", "true",
		"lower W_max further if the window has shrunk since the last loss (fast convergence)", "RFC 9438 §4.7")
	p.Text(&c.HyStart, "hystart", LinuxHyStart, "how slow start ends before a loss; hystart++ is RFC 9406; linux-4.4 "+
		"uses a clock of 1 ms and does not accept bursts as trains of ACKs",
		"Linux 6.18: hystart=1, hystart_detect=3").Words(LinuxHyStart, Linux44, PlusPlus, NoHyStart)
	p.Text(&c.Variant, "variant", Linux,
		"linux: growth of at least 5 % per round trip until the first loss, and an undone loss keeps W_max; rfc9438: "+
			"from the last maximum on, the Reno-friendly window grows by 1 packet per round trip",
		"Linux 6.18; RFC 9438 §4.3").Words(Linux, RFC9438)
}

// Defaults returns Linux' parameters: RFC 9438 except for the two differences of Variant.
func Defaults() Config { return scheme.Defaults[Config]() }

// Scheme returns the scheme of cc: cubic.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "cubic", Doc: "window that is a cubic function of the time since the last loss",
			Source: "RFC 9438"},
		Signals: cc.ByLosses | cc.ByMarks, KeepsOnSend: true,
		Kernel: "cubic", Tick: tick,
	}, func(f cc.Flow, c Config) (*Cubic, error) { return New(f, c), nil })
}

// Cubic is the controller of one flow.
type Cubic struct {
	config Config
	window cc.Window
	paced  bool

	cwnd          float64   // the window with its fraction, in congestion avoidance
	wMax          float64   // W_max; 0: not known
	epoch         unit.Time // t_epoch, start of this stage of congestion avoidance; Never: not started
	k             float64   // K [s]
	origin        float64   // W_max of the cubic function of this stage
	wEst          float64   // W_est of §4.3
	cwndPrior     float64   // window before the last reduction
	delayMin      unit.Time
	slowStartEnds bool
	linuxStart    linuxHyStart
	plusPlus      hyStartPlusPlus
	hasStarted    bool

	prior priorState
}

// priorState is the state that Spurious restores (RFC 9438 §4.9).
type priorState struct {
	cwnd, wMax, k, origin, wEst, cwndPrior float64
	epoch                                  unit.Time
}

// New returns the controller of a flow.
func New(f cc.Flow, c Config) *Cubic {
	return &Cubic{config: c, window: cc.NewWindow(f), paced: f.Paced, epoch: unit.Never}
}

// NewResumed returns the controller of a flow that continues from its InitialWindow without slow start, as Linux' does
// when another controller hands a connection over.
func NewResumed(f cc.Flow, c Config) *Cubic {
	x := New(f, c)
	x.window.Threshold = max(f.InitialWindow, 2)
	return x
}

// OnSend excludes the time in which no packet was in flight from t (RFC 9438 §5.8; Linux' cubictcp_cwnd_event).
func (c *Cubic) OnSend(now unit.Time, s cc.Sent) {
	if !c.hasStarted {
		c.hasStarted = true
		c.linuxStart.startRound(now, 0)
	}
	if s.Idle > 0 && c.epoch != unit.Never {
		c.epoch = min(c.epoch+s.Idle, now)
	}
}

// OnAck updates the min RTT and HyStart, and grows the window by slow start or avoidCongestion. The window stays while
// it is reduced, does not limit the flow, or the acknowledgement does not advance.
func (c *Cubic) OnAck(now unit.Time, a *cc.Ack) {
	w := &c.window
	reduced := a.Losses.State == cc.Reduced || a.Losses.State == cc.Recovery
	// no samples right after recovery, as in Linux
	if a.RTT.Sample > 0 && !(c.epoch != unit.Never && now-c.epoch < unit.Second) {
		if c.delayMin == 0 || a.RTT.Sample < c.delayMin {
			c.delayMin = a.RTT.Sample
		}
		if !c.slowStartEnds && w.InSlowStart() && c.endsSlowStart(now, a) {
			c.slowStartEnds = true
			w.Threshold = w.Packets
		}
	}
	if reduced || !a.Advanced {
		return
	}
	// "only for the initial slow start" (RFC 9406 §4.3)
	if w.InSlowStart() && c.config.HyStart == PlusPlus && w.Threshold == cc.Unlimited {
		growth, done := c.plusPlus.onAck(a, c.paced) // rounds and samples also where the window does not limit
		if a.Limited {
			w.Packets += growth
		}
		if done {
			w.Threshold = w.Packets
		}
		return
	}
	if !a.Limited {
		return
	}
	acked := a.Packets
	if w.InSlowStart() {
		if acked = w.SlowStart(acked); acked == 0 {
			return
		}
	}
	c.avoidCongestion(now, a, acked)
}

// endsSlowStart reports whether Linux' HyStart, in either form, ends slow start. It updates HyStart with the
// acknowledgement.
func (c *Cubic) endsSlowStart(now unit.Time, a *cc.Ack) bool {
	switch c.config.HyStart {
	case LinuxHyStart:
		return c.linuxStart.endsSlowStart(now, a, c.delayMin, c.window.Packets, c.window.MSS, c.paced)
	case Linux44:
		return c.linuxStart.endsSlowStart44(now, a, c.delayMin, c.window.Packets)
	}
	return false
}

// avoidCongestion grows the window by acked packets in congestion avoidance (RFC 9438 §4.2 to §4.5).
func (c *Cubic) avoidCongestion(now unit.Time, a *cc.Ack, acked int) {
	if c.epoch == unit.Never {
		c.epoch = now
		c.cwnd = float64(c.window.Packets)
		c.wEst = c.cwnd
		if c.wMax <= c.cwnd { // also slow start's exit without a loss (§4.10): K = 0, W_max = cwnd
			c.k, c.origin = 0, c.cwnd
		} else {
			c.k, c.origin = math.Cbrt((c.wMax-c.cwnd)/c.config.C), c.wMax // equation 2
		}
		if c.cwndPrior == 0 { // never reduced (§4.10)
			c.cwndPrior = c.cwnd
		}
	}
	// §4.2: the target is W_cubic(t + RTT), within [cwnd, 1.5 cwnd].
	target := c.CubicWindow(now - c.epoch + max(a.RTT.Smoothed, 0))
	target = min(max(target, c.cwnd), 1.5*c.cwnd)
	if c.config.Variant == Linux && c.wMax == 0 {
		target = max(target, 1.05*c.cwnd)
	}
	grown := c.cwnd + float64(acked)*(target-c.cwnd)/c.cwnd // §4.4, §4.5

	// §4.3, equation 4: what Reno with this β would have.
	alpha := 3 * (1 - c.config.Beta) / (1 + c.config.Beta)
	if c.config.Variant == RFC9438 && c.wEst >= c.cwndPrior {
		alpha = 1
	}
	c.wEst += alpha * float64(acked) / c.cwnd
	if c.CubicWindow(now-c.epoch) < c.wEst && grown < c.wEst { // the Reno-friendly region
		grown = min(c.wEst, 1.5*c.cwnd)
	}
	c.cwnd = min(grown, cc.Unlimited)
	c.window.Packets = int(c.cwnd)
}

// CubicWindow returns W_cubic(t) in packets (RFC 9438 equation 1).
func (c *Cubic) CubicWindow(t unit.Time) float64 {
	x := t.Seconds() - c.k
	return float64(c.config.C*x*x*x) + c.origin
}

// OnNotice ignores notices.
func (c *Cubic) OnNotice(unit.Time, cc.Notice) {}

// OnLoss reduces the window and restarts the cubic function after a loss, a mark or a timeout, or lowers an idle
// window. A spurious loss is undone (RFC 9438 §4.6 to §4.9).
func (c *Cubic) OnLoss(now unit.Time, l cc.Loss) {
	w := &c.window
	switch l.Kind {
	case cc.FastRecovery, cc.ECNEcho:
		w.ReduceTo(c.reduceTo(c.config.Beta))
	case cc.Warned:
		w.ReduceTo(max(c.reduceTo(max(c.config.Beta, warnedBeta)), min(l.Window, w.Packets)))
	case cc.RetransmissionTimeout:
		if !l.Again {
			w.ApplyTimeout(c.reduceTo(c.config.Beta), l)
		} else {
			w.ApplyTimeout(0, l)
		}
		c.epoch = unit.Never
		c.wMax = 0 // K = 0 in the next stage (§4.8; Linux' bictcp_reset)
		c.delayMin = 0
		c.slowStartEnds = false
		c.linuxStart.startRound(now, l.Next)
	case cc.Spurious:
		if !w.UndoReduction() {
			return
		}
		if c.config.Variant == Linux { // it restores window and threshold only (tcp_reno_undo_cwnd)
			c.epoch = unit.Never
			return
		}
		p := c.prior
		c.cwnd, c.wMax, c.k, c.origin, c.wEst, c.cwndPrior, c.epoch = p.cwnd, p.wMax, p.k, p.origin, p.wEst,
			p.cwndPrior, p.epoch
		c.cwnd = max(c.cwnd, float64(w.Packets))
	case cc.Idled:
		w.ReduceIdle(l.Window)
		c.cwnd = min(c.cwnd, float64(w.Packets))
		c.epoch = unit.Never
	}
}

// warnedBeta is β of a reduction that follows no loss (RFC 8511 §3.1, for marks).
const warnedBeta = 0.85

// reduceTo returns the threshold in packets after a loss, the window times beta. It also sets W_max to the window, or
// to less if the window has shrunk since the last loss (RFC 9438 §4.7), and stores the old state for Spurious.
func (c *Cubic) reduceTo(beta float64) int {
	c.prior = priorState{c.cwnd, c.wMax, c.k, c.origin, c.wEst, c.cwndPrior, c.epoch}
	cwnd := float64(c.window.Packets)
	c.cwndPrior = cwnd
	if cwnd < c.wMax && c.config.FastConvergence {
		c.wMax = cwnd * (1 + beta) / 2
	} else {
		c.wMax = cwnd
	}
	c.epoch = unit.Never
	return max(int(float64(cwnd*beta)+1e-9), 2)
}

// OnTimer is never called.
func (c *Cubic) OnTimer(unit.Time) {}

// Decision returns the window.
func (c *Cubic) Decision() cc.Decision { return c.window.Decision() }
