package tcp

import (
	"math"

	"weir/core/transport"
	"weir/core/unit"
)

// application describes the application that writes the data, and the send buffer between it and the sender.
type application struct {
	rate        unit.Rate // 0: it writes as fast as the buffer takes
	write       int64     // bytes of one write; 0: a full segment
	start, stop unit.Time
	first       int64 // its first byte
	end         int64 // the byte after its last; MaxInt64: not known yet
	stopped     bool
	finSent     bool

	buffer  int64 // bytes of memory of the send buffer
	segment int64 // memory that it counts for a segment
}

// newApplication returns the application of a flow. Its data begins at sequence number first.
func newApplication(f *transport.Flow, c *Config, first, mss int64) application {
	a := application{rate: c.Rate, write: int64(c.Write), start: f.Start, stop: f.Stop, first: first, end: math.MaxInt64}
	if f.Size > 0 {
		a.end = first + int64(f.Size)
	}
	for a.segment = 1; a.segment < mss+640; { // headers' room, a power of two, an sk_buff
		a.segment *= 2
	}
	a.segment += 256
	return a
}

// writtenEnd returns the end of the data that the application has written by now, and when it writes next; Never: it
// has closed the connection, or waits for the send buffer only. next is the first byte never sent. When the flow stops,
// writtenEnd fixes the end of the data.
func (a *application) writtenEnd(now unit.Time, next, mss int64) (end int64, more unit.Time) {
	if now >= a.stop && !a.stopped {
		a.stopped = true
		if end, _ := a.writtenByRate(a.stop, mss); end < a.end {
			a.end = max(next, end)
		}
		if a.rate == 0 {
			a.end = min(a.end, next)
		}
	}
	end, more = a.writtenByRate(now, mss)
	if end >= a.end {
		return a.end, unit.Never
	}
	return end, more
}

// writtenByRate returns the end of the data that an application of constant rate has written by t, and when it writes
// next. It writes app.write bytes or a full segment at a time, first at the start.
func (a *application) writtenByRate(t unit.Time, mss int64) (end int64, more unit.Time) {
	if a.write > 0 {
		mss = a.write
	}
	if a.rate == 0 {
		return math.MaxInt64, unit.Never
	}
	writes := int64(a.rate.BytesIn(t-a.start)) / mss
	more = a.start + unit.TransmitTime(unit.Bytes((writes+1)*mss), a.rate)
	if more <= t { // rounding
		writes++
		more = a.start + unit.TransmitTime(unit.Bytes((writes+1)*mss), a.rate)
	}
	return a.first + (writes+1)*mss, more
}

// growBuffer grows the buffer to memory for a number of packets, at most limit. It never shrinks. It returns the size.
func (a *application) growBuffer(packets, limit int64) int64 {
	a.buffer = max(a.buffer, min(packets*a.segment, limit))
	return a.buffer
}

// waitsForNagle reports whether left bytes, fewer than a segment holds, wait until the last small segment is
// acknowledged: Minshall's form of Nagle's algorithm (tcp_minshall_check). Without a size of writes all segments but
// the last are full, and it does not apply.
func (s *Sender) waitsForNagle(left int64) bool {
	return s.app.write > 0 && left < s.mss && s.next+left != s.app.end && s.queue.len() > 0 && s.burst.smallEnd > s.una
}

// sendBufferBytes returns the bytes that the send buffer holds: memory for two windows of small packets, three with
// BBR, up to the limit (tcp_sndbuf_expand).
func (s *Sender) sendBufferBytes() int64 {
	packets := int64(max(s.flow.CC.BufferedWindows, 2) * max(s.cwnd(), s.config.InitialWindow, s.rack.reordering+1))
	return s.app.growBuffer(packets, int64(s.config.SendBuffer))
}
