package cc

import "weir/core/unit"

// Unlimited is the slow-start threshold before there is any (RFC 5681 §3.1: "as
// high as possible").
const Unlimited = 1 << 30

// Window is the congestion window of a controller of the AIMD family, counted in
// packets as Linux counts it: what Reno, CUBIC and DCTCP share.
type Window struct {
	Packets   int // cwnd
	Threshold int // ssthresh
	MSS       int32

	credit         float64 // packets acknowledged since the last increase
	priorPackets   int     // before the last reduction
	priorThreshold int
	reduced        bool
}

// NewWindow returns the window of a new flow.
func NewWindow(f Flow) Window {
	return Window{Packets: f.InitialWindow, Threshold: Unlimited, MSS: f.MSS}
}

// InSlowStart reports whether the window is below the threshold (RFC 5681 §3.1).
func (w *Window) InSlowStart() bool { return w.Packets < w.Threshold }

// SlowStart grows the window by the packets acknowledged, up to the threshold, and
// returns what is left of them for congestion avoidance (RFC 5681 §3.1, with
// appropriate byte counting, RFC 3465).
func (w *Window) SlowStart(acked int) int {
	grown := min(w.Packets+acked, w.Threshold)
	acked -= grown - w.Packets
	w.Packets = grown
	return acked
}

// Increase grows the window by one packet for every `every` acknowledged ones;
// what does not make a packet is kept for later calls.
func (w *Window) Increase(every float64, acked int) {
	every = max(every, 1)
	if w.credit >= every { // every has become smaller
		w.credit = 0
		w.Packets++
	}
	if w.credit += float64(acked); w.credit >= every {
		n := int(w.credit / every)
		w.credit -= float64(float64(n) * every)
		w.Packets += n
	}
	w.Packets = min(w.Packets, Unlimited)
}

// Reduce is a reduction to so many packets, at least 2 (RFC 5681 equation 4).
func (w *Window) Reduce(to int) {
	w.save()
	w.Threshold = max(to, 2)
	w.Packets = min(w.Packets, w.Threshold)
	w.credit = 0
}

// Collapse is what a timeout does: the threshold falls to `to`, unless this is
// within a reduction, and the window to what is in flight and the one packet that
// is sent again (RFC 5681 §3.1; Linux' tcp_enter_loss).
func (w *Window) Collapse(to int, l Loss) {
	if !l.Again {
		w.save()
		w.Threshold = max(to, 2)
	}
	w.Packets = l.InFlight + 1
	w.credit = 0
}

func (w *Window) save() {
	w.priorPackets, w.priorThreshold, w.reduced = w.Packets, w.Threshold, true
}

// Undo restores what was before the last reduction, and reports whether there was one.
func (w *Window) Undo() bool {
	if !w.reduced {
		return false
	}
	w.Packets = max(w.Packets, w.priorPackets)
	w.Threshold = max(w.Threshold, w.priorThreshold)
	w.reduced = false
	return true
}

// WarnedShare is what a reduction leaves to Reno and its relatives that follows no loss (RFC 8511 §3.1, for marks).
const WarnedShare = 0.8

// Lose is what Reno and its relatives do when the transport's state changes; a
// reduction goes down to `to`, or by WarnedShare if that is more and nothing was lost.
func (w *Window) Lose(l Loss, to int) {
	switch l.Kind {
	case FastRecovery, ECNEcho:
		w.Reduce(to)
	case Warned:
		w.Reduce(max(to, int(float64(WarnedShare*float64(w.Packets))+1e-9), min(l.Window, w.Packets)))
	case RetransmissionTimeout:
		w.Collapse(to, l)
	case Spurious:
		w.Undo()
	case Idled:
		w.Idle(l.Window)
	}
}

// Idle lowers a window that was not used; three quarters of it stay known as the
// threshold (RFC 2861 §3).
func (w *Window) Idle(to int) {
	if to < w.Packets {
		w.Threshold = max(w.Threshold, w.Packets/2+w.Packets/4)
		w.Packets = max(to, 1)
	}
}

// Decision is the window as a controller's answer.
func (w *Window) Decision() Decision {
	return Decision{Window: unit.Bytes(w.Packets) * unit.Bytes(w.MSS), NextTimer: unit.Never, SlowStart: w.InSlowStart()}
}
