package cc

import "weir/core/unit"

// Unlimited is the slow-start threshold in packets before the first reduction (RFC 5681 §3.1: "as high as possible").
const Unlimited = 1 << 30

// Window is the congestion window of Reno, CUBIC, DCTCP and other controllers of the AIMD family, counted in packets
// as in Linux.
type Window struct {
	Packets   int // cwnd
	Threshold int // ssthresh
	MSS       int32

	credit         float64 // packets acknowledged since the last increase
	priorPackets   int     // window before the last reduction
	priorThreshold int
	reduced        bool
}

// NewWindow returns the window of a new flow.
func NewWindow(f Flow) Window {
	return Window{Packets: f.InitialWindow, Threshold: Unlimited, MSS: f.MSS}
}

// InSlowStart reports whether the window is below the threshold (RFC 5681 §3.1).
func (w *Window) InSlowStart() bool { return w.Packets < w.Threshold }

// SlowStart grows the window, which must not be above the threshold, by acked packets up to the threshold. It returns
// the packets that remain for congestion avoidance (RFC 5681 §3.1, with appropriate byte counting, RFC 3465).
func (w *Window) SlowStart(acked int) int {
	grown := min(w.Packets+acked, w.Threshold)
	acked -= grown - w.Packets
	w.Packets = grown
	return acked
}

// AddAcked grows the window by one packet for each ackedPerPacket acknowledged packets, at least 1. It keeps the
// remainder for later calls.
func (w *Window) AddAcked(ackedPerPacket float64, acked int) {
	ackedPerPacket = max(ackedPerPacket, 1)
	if w.credit >= ackedPerPacket { // ackedPerPacket has become smaller
		w.credit = 0
		w.Packets++
	}
	if w.credit += float64(acked); w.credit >= ackedPerPacket {
		n := int(w.credit / ackedPerPacket)
		w.credit -= float64(float64(n) * ackedPerPacket)
		w.Packets += n
	}
	w.Packets = min(w.Packets, Unlimited)
}

// ReduceTo lowers the window and the threshold to target packets, at least 2 (RFC 5681 equation 4). A smaller window
// stays. UndoReduction restores both.
func (w *Window) ReduceTo(target int) {
	w.savePrior()
	w.Threshold = max(target, 2)
	w.Packets = min(w.Packets, w.Threshold)
	w.credit = 0
}

// ApplyTimeout applies a retransmission timeout. The threshold falls to target packets, at least 2, unless l is within
// a reduction. The window falls to the packets in flight and the one that is sent again (RFC 5681 §3.1; Linux'
// tcp_enter_loss).
func (w *Window) ApplyTimeout(target int, l Loss) {
	if !l.Again {
		w.savePrior()
		w.Threshold = max(target, 2)
	}
	w.Packets = l.InFlight + 1
	w.credit = 0
}

// savePrior stores the window and the threshold for UndoReduction.
func (w *Window) savePrior() {
	w.priorPackets, w.priorThreshold, w.reduced = w.Packets, w.Threshold, true
}

// UndoReduction restores the window and the threshold from before the last reduction, and reports whether there was a
// reduction. It lowers neither of them.
func (w *Window) UndoReduction() bool {
	if !w.reduced {
		return false
	}
	w.Packets = max(w.Packets, w.priorPackets)
	w.Threshold = max(w.Threshold, w.priorThreshold)
	w.reduced = false
	return true
}

// WarnedShare is the share of the window that Reno and its relatives keep in a reduction without a loss (RFC 8511
// §3.1, for marks).
const WarnedShare = 0.8

// HandleLoss applies a change of the transport's recovery state as Reno and its relatives do. A loss or mark reduces
// the window to target packets. A warning reduces it to the largest of target, its part WarnedShare, and l.Window, but
// never raises it. A timeout applies ApplyTimeout, a spurious loss UndoReduction, and an idle time ReduceIdle.
// Recovered and LossInReduction have no effect.
func (w *Window) HandleLoss(l Loss, target int) {
	switch l.Kind {
	case FastRecovery, ECNEcho:
		w.ReduceTo(target)
	case Warned:
		w.ReduceTo(max(target, int(float64(WarnedShare*float64(w.Packets))+1e-9), min(l.Window, w.Packets)))
	case RetransmissionTimeout:
		w.ApplyTimeout(target, l)
	case Spurious:
		w.UndoReduction()
	case Idled:
		w.ReduceIdle(l.Window)
	}
}

// ReduceIdle lowers an unused window to target packets, at least 1. The threshold keeps three quarters of the old
// window (RFC 2861 §3). A smaller window stays.
func (w *Window) ReduceIdle(target int) {
	if target < w.Packets {
		w.Threshold = max(w.Threshold, w.Packets/2+w.Packets/4)
		w.Packets = max(target, 1)
	}
}

// Decision returns the window as a controller's decision, without a rate and a timer.
func (w *Window) Decision() Decision {
	return Decision{Window: unit.Bytes(w.Packets) * unit.Bytes(w.MSS), NextTimer: unit.Never, SlowStart: w.InSlowStart()}
}
