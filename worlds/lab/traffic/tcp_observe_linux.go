package traffic

import (
	"weir/core/unit"
	"weir/internal/sockdiag"
)

// takeSamples reads counters at the warm-up's end, and all samples that are due.
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

// nextSample returns the time at which counters or samples are due.
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

// mark notes what was counted up to the warm-up's end.
func (c *connections) mark() {
	c.marked = true
	left := c.live[:0]
	for _, i := range c.live {
		x := &c.conn[i]
		c.count(i)
		x.first = x.now
		if x.out >= 0 || x.in >= 0 {
			left = append(left, i)
		}
	}
	c.live = left
}

// sample looks at the flows of a period.
func (c *connections) sample(p *period, at unit.Time, atEnd bool) {
	last, info := -1, (*sockdiag.Info)(nil)
	for _, k := range p.samples {
		s := &c.Samples[k]
		x := &c.conn[s.Flow]
		if s.What == ReceivedBytes {
			c.result.Sampled[k] = append(c.result.Sampled[k], int64(x.received))
			continue
		}
		if atEnd {
			continue
		}
		f := &c.Flows[s.Flow]
		value := int64(-1)
		if x.out >= 0 && x.phase >= opening && x.finished > at && (f.Stop == 0 || f.Size > 0 || f.Stop > at) {
			if last != s.Flow {
				last, info = s.Flow, c.ask(s.Flow)
			}
			if info != nil {
				if x.phase == opening { // without knowing the way, the kernel has small segments, and SYN counts as one
					info.SendMSS, info.Unacked = unit.Bytes(f.Payload), 0
				}
				value = quantity(s.What, info)
			}
		}
		c.result.Sampled[k] = append(c.result.Sampled[k], value)
	}
}

// ask asks the kernel what it knows of a sender: by sock_diag, or by the sender's socket
// where that does not find it any more.
func (c *connections) ask(i int) *sockdiag.Info {
	f := &c.Flows[i]
	if d := c.diag[f.Src]; d != nil {
		if s, err := d.Socket(c.local(f), c.remote(f)); err == nil && s.Info.Size > 0 {
			return &s.Info
		}
	}
	if c.info.Get(c.conn[i].out) != nil {
		return nil
	}
	return &c.info
}

// quantity is what a sample looks at.
func quantity(what What, t *sockdiag.Info) int64 {
	switch what {
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

// conclude takes the last counters and closes everything.
func (c *connections) conclude(end unit.Time) error {
	if !c.marked {
		c.mark() // it ended before anything was measured
	}
	for _, i := range c.live {
		c.count(i)
	}
	for _, i := range c.flows {
		x, out := &c.conn[i], &c.result.Flows[i]
		out.Sender, out.Receiver = x.now.sender.Since(&x.first.sender), x.now.receiver.Since(&x.first.receiver)
		out.Received = x.now.receiver.ReceivedBytes
		out.Timeouts = x.now.timeouts - x.first.timeouts
		out.Sender.Finished, out.Sender.Written, out.Sender.Unacked = x.finished, x.closing, x.unacked
		out.Receiver.Finished, out.Arrived = x.arrived, x.arrived
		if x.finished != unit.Never {
			out.FCT = x.finished - out.Start
		}
		if x.closing != unit.Never {
			out.Written = x.closing - out.Start
		}
	}
	c.result.Begun = c.begun
	c.lock.Lock()
	c.result.Lost.Strays += c.strays
	c.result.Lost.Unmarked += c.unmarked
	c.lock.Unlock()
	return nil
}

// askEvery is how often the kernel is asked for how long this thread has waited for a processor: waits in between are
// one.
const askEvery = 500 * unit.Microsecond

// waited notes for how long that was, and whether a host starved meanwhile.
func (c *connections) waited() {
	before := c.asked
	if c.clock.now() < before+askEvery {
		return
	}
	length := c.delay.Since()
	c.asked = c.clock.now()
	length = min(length, c.asked-before)
	c.result.Waiting.Sum = c.delay.Sum()
	if length >= askEvery {
		c.result.Waiting.Add(c.asked, length, c.starved())
	}
}

// starved reports whether a sender has sent all that its application, which has more, could write, or was held back
// since the last time for its receiver's application had not read.
func (c *connections) starved() (any bool) {
	for _, i := range c.live {
		x := &c.conn[i]
		if x.out < 0 || x.phase != established || c.Flows[i].TCP.Rate > 0 || c.info.Get(x.out) != nil {
			continue
		}
		if c.info.NotSent == 0 || c.info.WindowLimited > c.barred[i] && c.noRoom(i) {
			any = true
		}
		c.barred[i] = c.info.WindowLimited
	}
	return any
}

// noRoom reports whether the window that the sender last asked of obeys is the receiver's own.
func (c *connections) noRoom(i int) bool {
	in := c.conn[i].in
	return in < 0 || c.peer.Get(in) != nil || announced(&c.info, &c.peer)
}

// announced reports whether the window that a sender obeys is what its receiver announces, as far as one can tell from
// both ends at a moment: one of less than half of that is a switch's, which rewrites windows of acknowledgements
// (P4TE).
func announced(sender, receiver *sockdiag.Info) bool {
	return receiver.ReceiveWindow == 0 || 2*sender.SendWindow >= receiver.ReceiveWindow
}
