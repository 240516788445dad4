package rdma

import (
	"math"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// A sender that chooses paths. Switches choose among equal paths by the hash of a packet's addresses and ports (ecmp).
// So the sender's source port, the entropy value, selects the path, and its packets stay on it in order. With
// Config.Paths above 1 a flow has that number of paths, and on each a controller, a window and a pacing rate. A packet
// goes to the path with room in its window that may send first. The receiver answers to the port from which the data
// came, by which the sender identifies the path. Within a path a packet is lost when one that was sent later on it has
// arrived, so that packets on a delayed path are not resent unnecessarily. A path without an answer for a
// retransmission timeout is given up: the packets in flight on it take the others, and probes without payload detect
// when it works again (MRC retires such an entropy value likewise).

// maxPaths is the maximum number of paths that a sender may choose among.
const maxPaths = 64

// firstEntropy is the first of the source ports that select paths: RoCEv2 uses 49152 … 65535.
const firstEntropy = 0xc000

// entropyPort returns the source port of path 0 of a flow. The other paths have the ports that follow. 256 successive
// flows of a pair of hosts have different ports.
func entropyPort(srcPort uint16) uint16 { return firstEntropy | srcPort*maxPaths }

// paths are the paths of one sender. Together they are a controller. Its methods are about the selected path.
type paths struct {
	each         []path
	selected     int   // the selected path, of the event in progress
	next         int   // the path of the planned packet
	probe        int   // the path of the controllers' latest probe
	maxInFlight  int64 // maximum bytes in flight on all together: the sum of their first windows
	keepsPending bool  // Config.Keeps
	allChanged   bool  // the latest event was about all paths
	sum          cc.Decision
}

// maxPerPath limits the window and rate of a path, so that the sum of all does not overflow.
const maxPerPath = math.MaxInt64 / maxPaths

// path is the sender's state of one path.
type path struct {
	control  cc.Controller
	decision cc.Decision
	hash     uint32
	port     uint16
	out      int64 // packets sent on it that are neither delivered nor declared lost

	sinceAsked int64 // Sender.sinceAsked

	pacer transport.Pacer

	timerFrom unit.Time
	backoff   int
	loss      transport.LossTimer
	probeSeq  int64     // sequence number of the latest probe of loss
	silent    bool      // given up until a probe is answered
	probeAt   unit.Time // when the next probe is sent
}

// newPaths makes the paths of a flow, one for each controller, with their source ports and hashes.
func newPaths(f *transport.Flow, c *Config, controls []cc.Controller) *paths {
	x := &paths{each: make([]path, len(controls)), keepsPending: c.Keeps}
	first := entropyPort(f.SrcPort)
	for k, control := range controls {
		p := &x.each[k]
		p.control, p.port = control, first+uint16(k)
		p.hash = packet.FlowHash(f.Src, f.Dst, p.port, f.DstPort, packet.ProtoRDMA)
	}
	x.allChanged = true
	x.maxInFlight = int64(x.Decision().Window)
	return x
}

// pathOf returns the path with this source port; −1: there is no such path.
func (x *paths) pathOf(port uint16) int {
	if k := int(port % maxPaths); k < len(x.each) && x.each[k].port == port {
		return k
	}
	return -1
}

// OnSend notifies the controller of the packet's path.
func (x *paths) OnSend(now unit.Time, s cc.Sent) { x.each[x.selected].control.OnSend(now, s) }

// OnAck notifies the controller of the acknowledgement's path.
func (x *paths) OnAck(now unit.Time, a *cc.Ack) { x.each[x.selected].control.OnAck(now, a) }

// OnNotice notifies the controller of the packet's path.
func (x *paths) OnNotice(now unit.Time, n cc.Notice) { x.each[x.selected].control.OnNotice(now, n) }

// OnLoss notifies the controllers of all paths, because the state of recovery is the flow's, or of the selected path
// for a timeout.
func (x *paths) OnLoss(now unit.Time, l cc.Loss) {
	if l.Kind == cc.RetransmissionTimeout {
		x.each[x.selected].control.OnLoss(now, l)
		return
	}
	x.allChanged = true
	for k := range x.each {
		x.each[k].control.OnLoss(now, l)
	}
}

// OnTimer calls the controllers of paths with timers that have expired.
func (x *paths) OnTimer(now unit.Time) {
	x.allChanged = true
	for k := range x.each {
		if p := &x.each[k]; p.decision.NextTimer <= now {
			p.control.OnTimer(now)
		}
	}
}

// Decision reads the decision of the selected path, or of all after an event about all. It moves the pending sends of
// paths with a new rate, and returns the sums.
func (x *paths) Decision() cc.Decision {
	if x.allChanged {
		x.allChanged, x.sum = false, cc.Decision{NextTimer: unit.Never}
		for k := range x.each {
			x.each[k].decision = cc.Decision{NextTimer: unit.Never}
		}
		for k := range x.each {
			x.readDecision(&x.each[k])
		}
		return x.sum
	}
	x.readDecision(&x.each[x.selected])
	return x.sum
}

// readDecision reads the decision of path p, and updates the sums. A new rate moves the path's pending send, unless
// keepsPending.
func (x *paths) readDecision(p *path) {
	old := p.decision
	d := p.control.Decision()
	d.Window, d.Rate = min(d.Window, maxPerPath), min(d.Rate, maxPerPath)
	p.decision = d
	x.sum.Window += d.Window - old.Window
	x.sum.Rate += d.Rate - old.Rate
	if d.Rate != old.Rate && !x.keepsPending {
		p.pacer.SetRate(d.Rate)
	}
	if d.NextTimer != old.NextTimer {
		x.sum.NextTimer = unit.Never
		for k := range x.each {
			x.sum.NextTimer = min(x.sum.NextTimer, x.each[k].decision.NextTimer)
		}
	}
}

// recordSend records that the next packet is sent on path k, with a gap of bytes after it.
func (x *paths) recordSend(now unit.Time, k int, bytes unit.Bytes) {
	p := &x.each[k]
	if p.out++; p.out == 1 {
		p.timerFrom = now
	}
	p.pacer.RecordSend(now, bytes)
	p.pacer.SetRate(p.decision.Rate)
}

// recordAnswer records an answer to a packet of path k: the path is not silent, and its timer restarts.
func (x *paths) recordAnswer(now unit.Time, k int) {
	p := &x.each[k]
	p.timerFrom, p.backoff, p.silent = now, 0, false
}

// choosePath returns the path for a packet of bytes bytes: of those with room in their window the one that may send
// first, and of several of these the next in turn. −1: no path has room, or all together have reached maxInFlight.
// inFlight is in packets of payload bytes.
func (x *paths) choosePath(inFlight, payload, bytes int64) (k int) {
	if inFlight > 0 && inFlight*payload+bytes > x.maxInFlight {
		return -1
	}
	k = -1
	for i := range x.each {
		at := x.next + 1 + i
		if at >= len(x.each) {
			at -= len(x.each)
		}
		p := &x.each[at]
		if p.silent || p.out > 0 && p.out*payload+bytes > int64(p.decision.Window) {
			continue
		}
		if k < 0 || p.pacer.NextSend() < x.each[k].pacer.NextSend() {
			k = at
		}
	}
	return k
}

// planPaths is the part of planNext that selects the next packet, its path and its time.
func (s *Sender) planPaths(now unit.Time) {
	x := s.paths
	n := s.nextLost()
	if n < 0 {
		if n = s.next; n >= s.packets || n-s.una >= maxOutstanding ||
			n > s.una && (n-s.una)*s.payload+s.requiredRoom(n) > s.bound {
			n = -1
		}
	}
	if n >= 0 {
		if k := x.choosePath(s.inFlight(), s.payload, s.requiredRoom(n)); k >= 0 {
			at := max(s.start, s.hold.NextSend(), x.each[k].pacer.NextSend())
			if n < s.top || max(at, now) < s.stop {
				x.next, s.plan, s.planAt = k, n, at
			}
		}
	}
	if s.plan < 0 && s.next == s.packets && x.choosePath(s.inFlight(), s.payload, s.payload) >= 0 {
		s.rate.LimitByApplication(s.inFlight())
	}
}

// schedulePaths is the part of planNext for probes and retransmission timers, one for each path.
func (s *Sender) schedulePaths() {
	for k := range s.paths.each {
		p := &s.paths.each[k]
		if p.silent {
			s.probe = min(s.probe, max(s.start, p.probeAt))
		}
		if p.out > 0 && s.timed {
			s.timerAt = min(s.timerAt, s.pathTimer(k))
		}
	}
}

// probePath returns the path of a probe: a path that was given up and is due for one, or else the next one in turn, for
// the controllers. It doubles the wait of a given-up path before its next probe.
func (r *recovery) probePath(now unit.Time) (k int) {
	x := r.paths
	for k := range x.each {
		if p := &x.each[k]; p.silent && p.probeAt <= now {
			p.probeAt = now + r.timeoutAfter(1, p.backoff)
			p.backoff++
			return k
		}
	}
	if x.probe++; x.probe >= len(x.each) {
		x.probe = 0
	}
	return x.probe
}

// giveUpSilentPaths gives up the paths without an answer for a timeout. Packets in flight on them are declared lost and
// resent elsewhere, and a probe is sent at once. The controller of such a path is notified of a timeout.
func (s *Sender) giveUpSilentPaths(now unit.Time) {
	x, repeated := s.paths, false
	for k := range x.each {
		p := &x.each[k]
		if p.out == 0 || s.pathTimer(k) > now {
			continue
		}
		if !p.silent {
			p.silent, p.probeAt = true, now
		}
		p.timerFrom = now
		lost := s.abandonPath(k, now-min(s.deadAfter(p), now+1))
		if lost == 0 && s.loss.Enabled { // the answer to the probe shows what is lost
			continue
		}
		repeated = true
		s.timer.Timeouts++
		s.lostTotal += int64(lost)
		x.selected = k
		s.enterState(now, cc.Timeout, cc.Loss{Kind: cc.RetransmissionTimeout, Lost: lost,
			Again: s.control.State == cc.Timeout})
	}
	if repeated {
		s.loss.DoubleLimit()
	}
}

// pathTimer returns when path k, which has packets in flight, is to be checked next: after a timeout without an answer,
// or when the first packet in flight on it must be lost.
func (r *recovery) pathTimer(k int) unit.Time {
	p := &r.paths.each[k]
	at := p.timerFrom + r.timeoutAfter(p.out, p.backoff)
	if !r.loss.Enabled {
		return at
	}
	if dead := r.deadAfter(p); dead < unit.Never {
		at = min(at, r.oldestOn(k)+dead)
	}
	return at
}

// pathProbes is the number of first waits for which a path without a limit is silent, while another one is not, before
// its packets in flight take other paths.
const pathProbes = 64

// deadAfter returns how long a packet can be in flight on path p until it must be lost; unit.Never: for any time. If
// the sender has a timeout of its own it is 0: then a silent path has lost all packets.
func (r *recovery) deadAfter(p *path) unit.Time {
	if !r.loss.Enabled {
		return 0
	}
	if r.loss.Limit < unit.Never {
		return r.loss.ExpiryOf(0)
	}
	for k := range r.paths.each {
		if !r.paths.each[k].silent {
			return pathProbes * r.timeoutAfter(p.out, 0)
		}
	}
	return unit.Never
}

// oldestOn returns when the first packet in flight on path k was sent; half of unit.Never without one.
func (r *recovery) oldestOn(k int) unit.Time {
	e := r.orders[k].OldestLive(func(e *transport.Flight) bool {
		return r.isInFlight(e) && int(r.packetState(e.Packet).path) == k
	})
	if e == nil {
		return unit.Never / 2
	}
	return e.SentAt
}

// abandonPath declares packets lost that were sent on path k up to the time upTo and are not acknowledged. It returns
// the number of packets newly lost.
func (r *recovery) abandonPath(k int, upTo unit.Time) (lost int) {
	for o := &r.orders[k]; r.oldestOn(k) <= upTo; o.RemoveOldest() {
		n := o.Oldest().Packet
		r.packetState(n).flags &^= resent
		lost += r.expirePacket(n)
		r.eligible = max(r.eligible, n+1)
	}
	return lost
}

// Ports returns the source ports of the data, to which acknowledgements return, of a sender that chooses paths.
func (r *Receiver) Ports() (ports []uint16) {
	for k := range r.config.paths {
		if r.entropy != 0 {
			ports = append(ports, r.entropy+uint16(k))
		}
	}
	return ports
}

// PathGauge returns the window and the packets in flight of path k, and whether it was given up, for tests and traces.
func (r *recovery) PathGauge(k int) (window unit.Bytes, out int, silent bool) {
	p := &r.paths.each[k]
	return p.decision.Window, int(p.out), p.silent
}
