package traffic

import (
	"weir/core/unit"
	"weir/internal/sockdiag"
)

// takeSamples saves counters at the warm-up's end and takes all samples that are due by now. end is the end of the run,
// at which only received bytes are sampled.
func (c *connections) takeSamples(now, end unit.Time) error {
	for {
		at := c.nextSample()
		if at > now {
			return nil
		}
		if !c.marked && at == c.Warmup {
			c.mark()
		}
		for k := range c.periods {
			p := &c.periods[k]
			if p.next != at {
				continue
			}
			p.next += p.every
			c.sample(p, at, at == end && at != c.Warmup)
		}
	}
}

// nextSample returns the time at which counters or samples are due next.
func (c *connections) nextSample() unit.Time {
	next := unit.Never
	if !c.marked {
		next = c.Warmup
	}
	for k := range c.periods {
		next = min(next, c.periods[k].next)
	}
	return next
}

// mark saves the counters at the warm-up's end as baselines, and drops flows without sockets from the live ones.
func (c *connections) mark() {
	c.marked = true
	remaining := c.liveFlows[:0]
	for _, i := range c.liveFlows {
		x := &c.conn[i]
		c.readCounters(i)
		x.baseline = x.current
		if x.senderFD >= 0 || x.receiverFD >= 0 {
			remaining = append(remaining, i)
		}
	}
	c.liveFlows = remaining
}

// sample takes the samples of a period that are due at time due; −1 outside a flow's lifetime. atEnd limits them to
// received bytes.
func (c *connections) sample(p *period, due unit.Time, atEnd bool) {
	last, info := -1, (*sockdiag.Info)(nil)
	for _, k := range p.samples {
		s := &c.Samples[k]
		x := &c.conn[s.Flow]
		if s.Quantity == ReceivedBytes {
			c.result.Sampled[k] = append(c.result.Sampled[k], int64(x.received))
			continue
		}
		if atEnd {
			continue
		}
		f := &c.Flows[s.Flow]
		value := int64(-1)
		if x.senderFD >= 0 && x.phase >= opening && x.finished > due && (f.Stop == 0 || f.Size > 0 || f.Stop > due) {
			if last != s.Flow {
				last, info = s.Flow, c.readSender(s.Flow)
			}
			if info != nil {
				if x.phase == opening { // before the path MTU is known the kernel has small segments, and SYN counts as one
					info.SendMSS, info.Unacked = unit.Bytes(f.Payload), 0
				}
				value = sampleValue(s.Quantity, info)
			}
		}
		c.result.Sampled[k] = append(c.result.Sampled[k], value)
	}
}

// readSender returns the kernel's state of a sender: from sock_diag, else from the sender's socket; nil if both fail.
// It is valid until the next call.
func (c *connections) readSender(i int) *sockdiag.Info {
	f := &c.Flows[i]
	if d := c.diag[f.Src]; d != nil {
		if s, err := d.FindSocket(c.localAddr(f), c.remoteAddr(f)); err == nil && s.Info.Size > 0 {
			return &s.Info
		}
	}
	if c.info.ReadSocket(c.conn[i].senderFD) != nil {
		return nil
	}
	return &c.info
}

// sampleValue returns the value of a sample in the unit of its quantity. Segments count with the sender's MSS.
func sampleValue(quantity Quantity, t *sockdiag.Info) int64 {
	switch quantity {
	case Window:
		return int64(t.Window) * int64(t.SendMSS)
	case Rate:
		if t.PacingRate == sockdiag.NoLimit {
			return 0
		}
		return int64(t.PacingRate)
	case InFlight:
		return t.InFlight() * int64(t.SendMSS)
	case RTT:
		return int64(t.RTT)
	default:
		return int64(t.DeliveryRate)
	}
}

// conclude saves the last counters and completes the results of all flows, of the measured part.
func (c *connections) conclude() {
	if !c.marked {
		c.mark() // the run ended before the measured part
	}
	for _, i := range c.liveFlows {
		c.readCounters(i)
	}
	for _, i := range c.flows {
		x, out := &c.conn[i], &c.result.Flows[i]
		out.Sender, out.Receiver = x.current.sender.Since(&x.baseline.sender), x.current.receiver.Since(&x.baseline.receiver)
		out.Received = x.current.receiver.ReceivedBytes
		out.Timeouts = x.current.timeouts - x.baseline.timeouts
		out.Sender.Finished, out.Sender.Written, out.Sender.Unacked = x.finished, x.closing, x.unacked
		out.Receiver.Finished, out.Arrived = x.arrived, x.arrived
		if x.finished != unit.Never {
			out.FCT = x.finished - out.Start
		}
		if x.closing != unit.Never {
			out.Written = x.closing - out.Start
		}
	}
	c.result.StartLateness = c.startLateness
	c.lock.Lock()
	c.result.Lost.Strays += c.strays
	c.result.Lost.Unmarked += c.unmarked
	c.lock.Unlock()
}

// waitPeriod is the shortest time between readings of the run delay; waits in between count as one.
const waitPeriod = 500 * unit.Microsecond

// recordWait records the wait for a processor since the last reading, and whether a host starved meanwhile. It has no
// effect within waitPeriod of the last reading.
func (c *connections) recordWait() {
	before := c.delayReadAt
	if c.clock.now() < before+waitPeriod {
		return
	}
	length := c.delay.SinceLast()
	c.delayReadAt = c.clock.now()
	length = min(length, c.delayReadAt-before)
	c.result.Waiting.Sum = c.delay.Sum()
	if length >= waitPeriod {
		c.result.Waiting.AddWait(c.delayReadAt, length, c.hasStarved())
	}
}

// hasStarved reports whether a sender ran out of data although its application has more, or was limited by its
// receiver's window since the last call. Flows with a rate do not count. It reads the kernel's state of all live flows.
func (c *connections) hasStarved() (starved bool) {
	for _, i := range c.liveFlows {
		x := &c.conn[i]
		if x.senderFD < 0 || x.phase != established || c.Flows[i].TCP.Rate > 0 || c.info.ReadSocket(x.senderFD) != nil {
			continue
		}
		if c.info.NotSent == 0 || c.info.WindowLimited > c.windowLimited[i] && c.hasNoRoom(i) {
			starved = true
		}
		c.windowLimited[i] = c.info.WindowLimited
	}
	return starved
}

// hasNoRoom reports whether the window that limits a sender is the receiver's own. c.info must have the sender's state;
// unknown states count as no room.
func (c *connections) hasNoRoom(i int) bool {
	in := c.conn[i].receiverFD
	return in < 0 || c.peer.ReadSocket(in) != nil || isAnnounced(&c.info, &c.peer)
}

// isAnnounced reports whether a sender's window is the one that its receiver announces, as far as both ends show
// at one moment. A window below half of it comes from a switch that rewrites windows of acknowledgements (P4TE).
func isAnnounced(sender, receiver *sockdiag.Info) bool {
	return receiver.ReceiveWindow == 0 || 2*sender.SendWindow >= receiver.ReceiveWindow
}
