// Package reno is TCP's AIMD of RFC 5681, as in Linux' tcp_cong.c.
package reno

import (
	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Scheme returns the scheme of cc: reno.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "reno", Doc: "window that grows by one packet per round trip and halves at a loss",
			Source: "RFC 5681"},
		Signals: cc.ByLosses | cc.ByMarks, KeepsOnSend: true,
		Kernel: "reno",
	}, func(f cc.Flow, _ scheme.None) (*Reno, error) { return New(f), nil })
}

// Reno is the controller of one flow.
type Reno struct{ window cc.Window }

// New returns the controller of a flow.
func New(f cc.Flow) *Reno { return &Reno{cc.NewWindow(f)} }

// OnSend ignores sent packets.
func (r *Reno) OnSend(unit.Time, cc.Sent) {}

// OnAck grows the window by the acknowledged packets in slow start, else by a packet a window (RFC 5681 §3.1). It
// does so only if the window limits the sender (RFC 7661 §4.2).
func (r *Reno) OnAck(_ unit.Time, a *cc.Ack) { GrowWindow(&r.window, a) }

// GrowWindow grows w by Reno's increase for an acknowledgement: slow start, then one packet a window. w stays in
// recovery, if it does not limit the flow, or if a does not advance. Other controllers share it.
func GrowWindow(w *cc.Window, a *cc.Ack) {
	if a.Losses.State == cc.Reduced || a.Losses.State == cc.Recovery || !a.Advanced || !a.Limited {
		return
	}
	acked := a.Packets
	if w.InSlowStart() {
		if acked = w.SlowStart(acked); acked == 0 {
			return
		}
	}
	w.AddAcked(float64(w.Packets), acked)
}

// OnNotice ignores notices, since RFC 5681 has only losses and echoes.
func (r *Reno) OnNotice(unit.Time, cc.Notice) {}

// OnLoss applies l to the window (cc.Window.HandleLoss). A loss or an echo halves it, to at least two packets (RFC 5681
// equation 4). After a timeout the window starts again from the packets in flight and one, a warning takes at most a
// fifth, a spurious loss restores the window, and an idle time lowers it to l.Window. The window stands for FlightSize,
// as in Linux, since an unused window does not grow.
func (r *Reno) OnLoss(_ unit.Time, l cc.Loss) { r.window.HandleLoss(l, r.window.Packets/2) }

// OnTimer is never called.
func (r *Reno) OnTimer(unit.Time) {}

// Decision returns the window.
func (r *Reno) Decision() cc.Decision { return r.window.Decision() }
