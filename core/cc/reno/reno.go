// Package reno is TCP's AIMD of RFC 5681, as Linux' tcp_cong.c has it.
package reno

import (
	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Scheme is what an experiment names: cc: reno.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme:  scheme.Scheme{Name: "reno", Doc: "one packet more a round trip, half at a loss", Source: "RFC 5681"},
		Signals: cc.ByLosses | cc.ByMarks, KeepsOnSend: true,
		Kernel: "reno",
	}, func(f cc.Flow, _ scheme.None) (*Reno, error) { return New(f), nil })
}

// Reno is the controller of one flow.
type Reno struct{ window cc.Window }

// New makes the controller of a flow.
func New(f cc.Flow) *Reno { return &Reno{cc.NewWindow(f)} }

// OnSend does nothing.
func (r *Reno) OnSend(unit.Time, cc.Sent) {}

// OnAck grows the window: by what is acknowledged in slow start, else by a packet
// a window (RFC 5681 §3.1), and only if the window is what limits the sender (RFC
// 7661 §4.2).
func (r *Reno) OnAck(_ unit.Time, a *cc.Ack) { Grow(&r.window, a) }

// Grow is Reno's increase, which others share.
func Grow(w *cc.Window, a *cc.Ack) {
	if a.Losses.State == cc.Reduced || a.Losses.State == cc.Recovery || !a.Advanced || !a.Limited {
		return
	}
	acked := a.Packets
	if w.InSlowStart() {
		if acked = w.SlowStart(acked); acked == 0 {
			return
		}
	}
	w.Increase(float64(w.Packets), acked)
}

// OnNotice takes the network's word for a congestion mark.
func (r *Reno) OnNotice(unit.Time, cc.Notice) {}

// OnLoss halves (RFC 5681 equation 4, with the window in the place of FlightSize, as
// in Linux: the window does not grow while it is not used).
func (r *Reno) OnLoss(_ unit.Time, l cc.Loss) { r.window.Lose(l, r.window.Packets/2) }

// OnTimer is never called.
func (r *Reno) OnTimer(unit.Time) {}

// Decision is the window.
func (r *Reno) Decision() cc.Decision { return r.window.Decision() }
