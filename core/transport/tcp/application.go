package tcp

import (
	"math"

	"weir/core/transport"
	"weir/core/unit"
)

// application is what writes the data, and the send buffer between it and the sender.
type application struct {
	rate        unit.Rate // 0: it writes as fast as the buffer takes
	write       int64     // bytes of one write; 0: a full segment
	start, stop unit.Time
	first       int64 // its first byte
	end         int64 // behind its last; MaxInt64: not known yet
	stopped     bool
	finSent     bool

	buffer  int64 // bytes that the send buffer holds
	segment int64 // memory that it reckons for a segment
}

// newApplication is that of a flow whose data begins at first.
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

// written is the end of what the application has written by now, and when it writes
// next; Never: it has closed the connection, or waits for the send buffer only. next is the
// first byte never sent.
func (a *application) written(now unit.Time, next, mss int64) (end int64, more unit.Time) {
	if now >= a.stop && !a.stopped {
		a.stopped = true
		if end, _ := a.writes(a.stop, mss); end < a.end {
			a.end = max(next, end)
		}
		if a.rate == 0 {
			a.end = min(a.end, next)
		}
	}
	end, more = a.writes(now, mss)
	if end >= a.end {
		return a.end, unit.Never
	}
	return end, more
}

// writes is what an application of constant rate has written by t, so many bytes or a full segment
// at a time, the first at the start.
func (a *application) writes(t unit.Time, mss int64) (end int64, more unit.Time) {
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

// expand grows the buffer to memory for so many packets, up to a limit; it never shrinks.
func (a *application) expand(packets, limit int64) int64 {
	a.buffer = max(a.buffer, min(packets*a.segment, limit))
	return a.buffer
}

// nagle reports whether left bytes, fewer than a segment holds, wait until the last small segment is acknowledged:
// Minshall's form of Nagle's algorithm (tcp_minshall_check). Without a size of writes there are only full segments and
// what comes last.
func (s *Sender) nagle(left int64) bool {
	return s.app.write > 0 && left < s.mss && s.next+left != s.app.end && s.queue.len() > 0 && s.burst.smallEnd > s.una
}

// buffered is how many bytes the send buffer holds: memory for two windows of small
// packets, three with BBR, up to the limit (tcp_sndbuf_expand).
func (s *Sender) buffered() int64 {
	packets := int64(max(s.flow.CC.BufferedWindows, 2) * max(s.cwnd(), s.config.InitialWindow, s.rack.reordering+1))
	return s.app.expand(packets, int64(s.config.SendBuffer))
}
