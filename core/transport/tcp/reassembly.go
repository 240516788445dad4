package tcp

import (
	"weir/core/packet"
	"weir/core/unit"
)

// holdSegment stores a segment that is out of order (tcp_data_queue_ofo); it merges the range with others, and records
// what had arrived before for DSACK. It returns false if all of it had arrived before.
func (r *Receiver) holdSegment(now unit.Time, p *packet.Packet, seq, end int64) bool {
	i := 0
	for i < len(r.ranges) && r.ranges[i].right < seq {
		i++
	}
	if i < len(r.ranges) && r.ranges[i].left <= seq && end <= r.ranges[i].right {
		r.counters.CountDuplicate(p)
		r.recordDuplicate(seq, end)
		r.putFirst(r.ranges[i])
		return false
	}
	merged := span{seq, end}
	k := i
	for k < len(r.ranges) && r.ranges[k].left <= end {
		o := r.ranges[k]
		if left, right := max(o.left, seq), min(o.right, end); left < right {
			r.recordDuplicate(left, right)
		}
		merged.left, merged.right = min(merged.left, o.left), max(merged.right, o.right)
		r.held -= o.right - o.left
		k++
	}
	r.held += merged.right - merged.left
	switch {
	case k == i:
		r.ranges = append(r.ranges, span{})
		copy(r.ranges[i+1:], r.ranges[i:])
	case k > i+1:
		r.ranges = append(r.ranges[:i+1], r.ranges[k:]...)
	}
	r.ranges[i] = merged
	r.putFirst(merged)
	r.counters.AddDelay(now - p.Sent)
	if r.threshold < r.clamp && p.Payload >= 128 {
		r.threshold = min(r.threshold+2*r.mss, r.clamp)
	}
	return true
}

// deliverData advances RCV.NXT to end and over the held ranges, and delivers the data to the application.
func (r *Receiver) deliverData(now unit.Time, p *packet.Packet, end int64) {
	before := r.next
	r.next = end
	n := 0
	for n < len(r.ranges) && r.ranges[n].left <= r.next {
		r.held -= r.ranges[n].right - r.ranges[n].left
		r.next = max(r.next, r.ranges[n].right)
		n++
	}
	if n > 0 {
		r.ranges = r.ranges[:copy(r.ranges, r.ranges[n:])]
		kept := 0
		for _, b := range r.blocks[:r.blockN] { // tcp_sack_remove
			if b.right > r.next {
				r.blocks[kept] = b
				kept++
			}
		}
		r.blockN = kept
	}
	r.counters.ReceivedBytes += unit.Bytes(min(r.next, r.finSeq) - min(before, r.finSeq))
	r.counters.AddDelay(now - p.Sent)
	if r.flow.Size > 0 && r.counters.Finished == unit.Never && r.counters.ReceivedBytes >= r.flow.Size {
		r.counters.Finished = now
	}
	r.adjustBuffer(now)
}

// recordDuplicate records a range for DSACK (tcp_dsack_set, tcp_dsack_extend): it extends the recorded one if they
// touch, and otherwise replaces it.
func (r *Receiver) recordDuplicate(left, right int64) {
	if d := &r.duplicate; d.right != 0 && left <= d.right && d.left <= right {
		d.left, d.right = min(d.left, left), max(d.right, right)
		return
	}
	r.duplicate = span{left, right}
}
