package cc

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/unit"
)

// Windows that a rate-based controller can be put into: values of the parameter
// window.
const (
	NoWindow       = "none"     // the rate alone decides
	BDPWindow      = "bdp"      // a bandwidth-delay product
	VariableWindow = "variable" // a bandwidth-delay product at the present rate
)

// RateConfig is what every rate-based controller has beside its own parameters: what it
// shall take the path for, and its window.
type RateConfig struct {
	PathConfig
	Window string // NoWindow, BDPWindow, VariableWindow
}

// Params binds them.
func (c *RateConfig) Params(p *scheme.Params) {
	c.PathConfig.Params(p)
	p.Text(&c.Window, "window", NoWindow,
		"bound of what is in flight: line rate × base RTT with bdp, present rate × base RTT with variable",
		"HPCC §5.1: +win; HPCC simulator: HAS_WIN, VAR_WIN").Words(NoWindow, BDPWindow, VariableWindow)
}

// Bound puts a controller into the window. A bandwidth-delay product needs the flow's
// LineRate and BaseRTT.
func (c *RateConfig) Bound(k Controller, f Flow) (Controller, error) {
	if c.Window == NoWindow {
		return k, nil
	}
	return NewBoundedWindow(k, f, c.Window == VariableWindow)
}

// PathConfig overrides a Flow's LineRate and BaseRTT.
type PathConfig struct {
	LineRate unit.Rate
	BaseRTT  unit.Time
}

// Params binds them.
func (c *PathConfig) Params(p *scheme.Params) {
	p.Rate(&c.LineRate, "line_rate", "0bps", "highest rate, of payload; 0bps: what the sender's link carries", "ours")
	p.Time(&c.BaseRTT, "base_rtt", "0s", "round-trip time without queues; 0s: the path's", "ours")
}

// Override returns f with the LineRate and BaseRTT that c has.
func (c *PathConfig) Override(f Flow) Flow {
	if c.LineRate > 0 {
		f.LineRate = c.LineRate
	}
	if c.BaseRTT > 0 {
		f.BaseRTT = c.BaseRTT
	}
	return f
}

// BoundedWindow is a rate-based controller with a window of a bandwidth-delay product,
// the "+win" variants of HPCC §5.1: what is in flight stays bounded while the rate
// has not come down yet. It makes the controller's own window smaller, never larger.
type BoundedWindow struct {
	Controller
	bdp      int64
	line     int64
	mss      int64
	variable bool
	rate     unit.Rate  // that window is for
	window   unit.Bytes // the bound
}

// NewBoundedWindow bounds a controller's window by LineRate·BaseRTT, or, if variable,
// by the present rate's share of it. It is an error if one of the two is not known.
func NewBoundedWindow(c Controller, f Flow, variable bool) (*BoundedWindow, error) {
	if f.LineRate <= 0 || f.BaseRTT <= 0 || f.MSS <= 0 {
		return nil, fmt.Errorf("a window of a bandwidth-delay product needs line_rate and base_rtt, which are %v and %v here",
			f.LineRate, f.BaseRTT)
	}
	b := &BoundedWindow{Controller: c, bdp: int64(f.LineRate.BytesIn(f.BaseRTT)), line: int64(f.LineRate),
		mss: int64(f.MSS), variable: variable}
	b.window = b.packets(b.bdp)
	return b, nil
}

// packets rounds a window: the HPCC simulator sends while less than m_win·rate/max_rate,
// at least a byte, is in flight (rdma-queue-pair.cc: GetWin, IsWinBound), which is, in
// whole packets, the window rounded up.
func (b *BoundedWindow) packets(window int64) unit.Bytes {
	window = min(window, Unlimited*b.mss)
	return unit.Bytes(max((window+b.mss-1)/b.mss, 1) * b.mss)
}

// Decision is the controller's with the smaller window. A controller that does not
// pace counts as one at line rate.
func (b *BoundedWindow) Decision() Decision {
	d := b.Controller.Decision()
	if b.variable && d.Rate != b.rate {
		b.rate = d.Rate
		window := b.bdp
		if d.Rate > 0 {
			window = unit.MulDiv(b.bdp, int64(d.Rate), b.line)
		}
		b.window = b.packets(window)
	}
	d.Window = min(d.Window, b.window)
	return d
}

// FreeWindow is a window that bounds nothing: of controllers that only have a rate.
func (f Flow) FreeWindow() unit.Bytes { return Unlimited * unit.Bytes(f.MSS) }
