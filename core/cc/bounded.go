package cc

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/unit"
)

// Values of the parameter window: the window that bounds a rate-based controller.
const (
	NoWindow       = "none"     // no window: only the rate limits the sender
	BDPWindow      = "bdp"      // a bandwidth-delay product
	VariableWindow = "variable" // a bandwidth-delay product at the current rate
)

// RateConfig holds the parameters that every rate-based controller has: the properties of the path that it assumes,
// and a window.
type RateConfig struct {
	PathConfig
	Window string // NoWindow, BDPWindow, VariableWindow
}

// Params binds the options of the bounds of a rate to the fields of c, which keep their values.
func (c *RateConfig) Params(p *scheme.Params) {
	c.PathConfig.Params(p)
	p.Text(&c.Window, "window", NoWindow,
		"limit of the payload in flight; bdp: line rate × base RTT; variable: current rate × base RTT; none: no limit",
		"HPCC §5.1: +win; HPCC simulator: HAS_WIN, VAR_WIN").Words(NoWindow, BDPWindow, VariableWindow)
}

// WrapController returns controller k within the configured window, or k itself with NoWindow. A bandwidth-delay
// product needs f.LineRate, f.BaseRTT and f.MSS; without one of them WrapController returns an error.
func (c *RateConfig) WrapController(k Controller, f Flow) (Controller, error) {
	if c.Window == NoWindow {
		return k, nil
	}
	return NewBoundedWindow(k, f, c.Window == VariableWindow)
}

// PathConfig overrides a Flow's LineRate and BaseRTT. A zero field keeps the flow's value.
type PathConfig struct {
	LineRate unit.Rate
	BaseRTT  unit.Time
}

// Params binds the options of the path to the fields of c, which keep their values.
func (c *PathConfig) Params(p *scheme.Params) {
	p.Rate(&c.LineRate, "line_rate", "0bps", "maximum rate of payload; 0bps: the rate of the sender's link", "Weir")
	p.Time(&c.BaseRTT, "base_rtt", "0s", "round-trip time without queues; 0s: that time of the flow's path", "Weir")
}

// ApplyTo returns f with the LineRate and BaseRTT of c in place of its own, where c's are above 0.
func (c *PathConfig) ApplyTo(f Flow) Flow {
	if c.LineRate > 0 {
		f.LineRate = c.LineRate
	}
	if c.BaseRTT > 0 {
		f.BaseRTT = c.BaseRTT
	}
	return f
}

// BoundedWindow wraps a rate-based controller and limits its window to a bandwidth-delay product: the "+win" variants
// of HPCC §5.1. So the bytes in flight stay bounded until the rate has fallen. It lowers the controller's window and
// never raises it.
type BoundedWindow struct {
	Controller
	bdp        int64
	lineRate   int64
	mss        int64
	variable   bool
	windowRate unit.Rate  // pacing rate that maxWindow was computed for
	maxWindow  unit.Bytes // the limit
}

// NewBoundedWindow limits c's window to f.LineRate·f.BaseRTT or, if variable, to the current rate times f.BaseRTT. It
// returns an error if f's LineRate, BaseRTT or MSS is not above 0.
func NewBoundedWindow(c Controller, f Flow, variable bool) (*BoundedWindow, error) {
	if f.LineRate <= 0 || f.BaseRTT <= 0 || f.MSS <= 0 {
		return nil, fmt.Errorf("a window of a bandwidth-delay product needs line_rate and base_rtt, which are %v and %v here",
			f.LineRate, f.BaseRTT)
	}
	b := &BoundedWindow{Controller: c, bdp: int64(f.LineRate.BytesIn(f.BaseRTT)), lineRate: int64(f.LineRate),
		mss: int64(f.MSS), variable: variable}
	b.maxWindow = b.roundUpToPackets(b.bdp)
	return b, nil
}

// roundUpToPackets rounds a window in bytes up to whole packets, at least one. The HPCC simulator sends while less
// than m_win·rate/max_rate, at least a byte, is in flight (rdma-queue-pair.cc: GetWin, IsWinBound). In whole packets
// that is the window rounded up.
func (b *BoundedWindow) roundUpToPackets(window int64) unit.Bytes {
	window = min(window, Unlimited*b.mss)
	return unit.Bytes(max((window+b.mss-1)/b.mss, 1) * b.mss)
}

// Decision returns the controller's decision with the smaller of the two windows. A controller without a rate counts
// as paced at line rate.
func (b *BoundedWindow) Decision() Decision {
	d := b.Controller.Decision()
	if b.variable && d.Rate != b.windowRate {
		b.windowRate = d.Rate
		window := b.bdp
		if d.Rate > 0 {
			window = unit.MulDiv(b.bdp, int64(d.Rate), b.lineRate)
		}
		b.maxWindow = b.roundUpToPackets(window)
	}
	d.Window = min(d.Window, b.maxWindow)
	return d
}

// FreeWindow returns the window in bytes of a controller that has only a rate: Unlimited packets.
func (f Flow) FreeWindow() unit.Bytes { return Unlimited * unit.Bytes(f.MSS) }
