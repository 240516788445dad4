package tcp

import (
	"math/bits"

	"weir/core/packet"
	"weir/core/unit"
)

// selectWindow returns the window to announce in bytes, and stores it as announced: the free memory of the buffer, up
// to the slow-start threshold of the window. An announced window never shrinks (tcp_select_window, RFC 9293 §3.8.6).
func (r *Receiver) selectWindow() int64 {
	free := max(min(r.clamp-r.held, r.threshold), 0)
	r.window = max(r.wholeUnits(free), r.wholeUnits(r.windowEnd-r.next)) // a part of a unit stays announced as well
	r.windowEnd = max(r.windowEnd, r.next+r.window)
	return r.window
}

// wholeUnits rounds a window up to a multiple of the scale, at most the largest value of the header.
func (r *Receiver) wholeUnits(window int64) int64 {
	u := int64(1) << r.scale
	return min((window+u-1)&^(u-1), 65535<<r.scale)
}

// measureSegment measures the interval of data, the size of its segments, and the round trip, and grows the window's
// threshold (tcp_event_data_recv).
func (r *Receiver) measureSegment(now unit.Time, p *packet.Packet, payload int64, stamped bool) {
	if payload >= r.segment || payload >= 536 {
		if payload > r.segment {
			r.measureShare(payload)
		}
		r.segment = min(max(payload, 88), r.mss)
	}
	if r.timeout == 0 {
		r.quick = max(r.quick, r.quickFor(maxQuickAcks))
		r.timeout = r.config.DelayedACK
	} else if since := now - r.lastData; since <= r.config.DelayedACK/2 {
		r.timeout = r.timeout/2 + r.config.DelayedACK/2
	} else if since < r.timeout {
		r.timeout = min(r.timeout/2+since, r.config.DelayedACK)
	} else if since > max(r.rtt/8, 200*unit.Millisecond) { // longer than an RTO: slow start again, most likely
		r.quick = max(r.quick, r.quickFor(maxQuickAcks))
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

// adjustBuffer grows the buffer once a round trip with the data that the application has read (dynamic right-sizing,
// tcp_rcv_space_adjust).
func (r *Receiver) adjustBuffer(now unit.Time) {
	if !r.config.Autotuning || r.rtt == 0 || now-r.spaceAt < r.rtt/8 {
		return
	}
	if copied := r.next - r.spaceSeq; copied > r.space {
		window := 2 * copied // the sender may double its rate
		window += 2 * window * (copied - r.space) / r.space
		if n := len(r.ranges); n > 0 {
			window += r.ranges[n-1].right - r.next
		}
		if buffer := min(window*memoryParts/int64(r.share), int64(r.config.ReceiveBuffer)); buffer > r.buffer {
			r.buffer, r.clamp = buffer, r.windowFrom(buffer)
		}
		r.space = copied
	}
	r.spaceSeq, r.spaceAt = r.next, now
}

// windowFrom returns the part of memory that holds data (tcp_win_from_space).
func (r *Receiver) windowFrom(memory int64) int64 { return memory * int64(r.share) / memoryParts }

// measureShare handles a segment that is larger than earlier ones: its share of memory becomes that of the whole buffer
// (tcp_measure_rcv_mss). Without it a window of few large segments would keep its first size: the ten segments that
// autotuning waits for do not fit.
func (r *Receiver) measureShare(payload int64) {
	share := shareOf(payload, packet.IPHeader(r.flow.Version))
	if share == int64(r.share) {
		return
	}
	r.share = uint16(share)
	r.clamp = r.windowFrom(r.buffer)
	r.space = min(r.space, r.clamp)
}

// shareOf returns the part of a segment's memory that is data, in 256ths. Packets of at most 802.3's length are assumed
// to need twice their payload: more than ten fit into half a buffer.
func shareOf(payload int64, ipHeader int32) int64 {
	ip := payload + packet.TCPHeader + timestampBytes + int64(ipHeader)
	if ip <= largestOrdinary {
		return memoryParts / 2
	}
	return payload * memoryParts / memoryOf(ip+packet.EthernetHeader)
}

// memoryOf returns the bytes that a frame takes of the receive buffer (truesize): one block with a size that is a power
// of two, or whole pages if it is larger than a page.
func memoryOf(frame int64) int64 {
	if frame < page {
		return 1<<bits.Len64(uint64(frame+blockState-1)) + blockHead
	}
	return (frame+page-1)/page*page + pagesState
}
