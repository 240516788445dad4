package tcp

import (
	"weir/core/packet"
	"weir/core/unit"
)

// selectWindow is tcp_select_window: what is free in the buffer, up to the slow-start
// threshold of the window; a window that was announced never shrinks (RFC 9293
// §3.8.6).
func (r *Receiver) selectWindow() int64 {
	free := max(min(r.clamp-r.held, r.threshold), 0)
	r.window = max(r.wholeUnits(free), r.wholeUnits(r.windowEnd-r.next)) // also the part of a unit stays announced
	r.windowEnd = max(r.windowEnd, r.next+r.window)
	return r.window
}

// wholeUnits rounds a window up to what the header can say.
func (r *Receiver) wholeUnits(window int64) int64 {
	u := int64(1) << r.scale
	return min((window+u-1)&^(u-1), 65535<<r.scale)
}

// measure is tcp_event_data_recv: how often data comes, how large its segments are,
// and how the window may grow.
func (r *Receiver) measure(now unit.Time, p *packet.Packet, payload int64, stamped bool) {
	if payload >= r.segment || payload >= 536 {
		r.segment = min(max(payload, 88), r.mss)
	}
	if r.timeout == 0 {
		r.quick = max(r.quick, r.quickFor(mostQuick))
		r.timeout = r.config.DelayedACK
	} else if since := now - r.lastData; since <= r.config.DelayedACK/2 {
		r.timeout = r.timeout/2 + r.config.DelayedACK/2
	} else if since < r.timeout {
		r.timeout = min(r.timeout/2+since, r.config.DelayedACK)
	} else if since > max(r.rtt/8, 200*unit.Millisecond) { // longer than an RTO: slow start again, most likely
		r.quick = max(r.quick, r.quickFor(mostQuick))
	}
	r.lastData = now
	if stamped && p.TCP.TSEcho != 0 && p.TCP.TSEcho != r.lastEcho && payload >= r.segment { // tcp_rcv_rtt_measure_ts
		r.lastEcho = p.TCP.TSEcho
		if ticks := int32(stampOf(now) - p.TCP.TSEcho); ticks >= 0 {
			sample := unit.Time(max(ticks, 1)) * tick
			if r.rtt == 0 {
				r.rtt = 8 * sample
			} else {
				r.rtt += sample - r.rtt/8
			}
		}
	}
	if payload >= 128 { // tcp_grow_window
		if room := min(r.clamp, r.clamp-r.held) - r.threshold; room > 0 {
			r.threshold += min(room, max(2*r.mss, payload))
			r.quick = max(r.quick, 1)
		}
	}
}

// adjust is tcp_rcv_space_adjust: once a round trip the buffer grows with what the
// application has read (dynamic right-sizing).
func (r *Receiver) adjust(now unit.Time) {
	if !r.config.Autotuning || r.rtt == 0 || now-r.spaceAt < r.rtt/8 {
		return
	}
	if copied := r.next - r.spaceSeq; copied > r.space {
		window := 2 * copied // the sender may double its rate
		window += 2 * window * (copied - r.space) / r.space
		if n := len(r.ranges); n > 0 {
			window += r.ranges[n-1].right - r.next
		}
		if buffer := min(2*window, int64(r.config.ReceiveBuffer)); buffer > r.buffer {
			r.buffer, r.clamp = buffer, buffer/2
		}
		r.space = copied
	}
	r.spaceSeq, r.spaceAt = r.next, now
}
