package p4abc

import (
	"math"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/unit"
)

// room raises the thresholds of an egress port that is empty for a while after the AQM has dropped: flows that gave way
// left it too short a queue. It works with average: rate, and where the port has a rate in bit/s. The factor is
// 2^(level/137 ms), in steps of an eighth of a doubling. level is the time in which the port was empty and had dropped
// within M_AM, less a 128th of all time. A port that is empty for longer than M_AA, three round trips, has no flows
// that gave way: their traffic has ended, and such a time does not count. So the factor settles where flows leave a
// 128th of the link empty, and halves in 18 s while the port is busy. Q_base grows up to half of the buffer: less
// active users have the other half. The dependence on packets is in integers alone, and the same in both arithmetics.
type room struct {
	byteTime product   // transmission time of bytes, in ps
	max      unit.Time // of level, 0: the thresholds are as configured
	memory   unit.Time // M_AM
	pause    unit.Time // M_AA

	level unit.Time
	free  unit.Time // when the frames that have departed are sent
	last  unit.Time // the last arrival
	until unit.Time // an empty port counts until then
}

const (
	// roomPlaces are the binary places of the time in which an empty port doubles its thresholds, 0.14 s.
	roomPlaces = 37
	// roomSteps are the binary places of the steps of a doubling.
	roomSteps = 3
	// roomFade are the binary places of the part of all time that level loses.
	roomFade = 7
	// maxDoublings limits the factor: a Q in bytes is shifted by so many places at most.
	maxDoublings = 8
)

// roomPortions reduce a queue by the steps of a doubling.
var roomPortions = newRoomPortions()

func newRoomPortions() (p [1 << roomSteps]portion) {
	for i := range p {
		p[i] = portionOf(float64(i) / (1 << roomSteps))
	}
	return p
}

// maxRoom returns log2 of the largest factor of thresholds at a port with this buffer: Q_base becomes half of it.
// Without a limit it becomes what the port sends in a third of M_AA, 100 ms by default.
func (c *Config) maxRoom(t *thresholds, buffer tm.Limit, frame unit.Bytes, rate unit.Rate) float64 {
	base, half := t.qBase, math.Inf(1)
	if !c.inBytes() {
		base *= float64(frame)
	}
	if buffer.Packets > 0 {
		half = float64(buffer.Packets) * float64(frame) / 2
	}
	if buffer.Bytes > 0 {
		half = min(half, float64(buffer.Bytes)/2)
	}
	if buffer.Packets <= 0 && buffer.Bytes <= 0 {
		half = float64(rate) / 8 * c.Average.Seconds() / leastAverage
	}
	if c.PerPacket || half <= base {
		return 0
	}
	return min(math.Log2(half/base), maxDoublings)
}

// newRoom returns the room of a site's port with a rate.
func newRoom(c *Config, t *thresholds, site *dataplane.Site, port int, rate unit.Rate) room {
	if rate <= 0 || c.PerPacket {
		return room{}
	}
	doublings := c.maxRoom(t, site.Limit(port), fullFrame(site), rate)
	return room{byteTime: byteTime(rate), memory: c.Memory, pause: c.Average,
		max: unit.Time(doublings * (1 << roomPlaces))}
}

// byteTime returns the transmission time of bytes at a rate, in ps.
func byteTime(rate unit.Rate) product { return productBy(8e12 / float64(rate)) }

// arrive counts the time since the last arrival, at a packet's arrival at a queue.
func (r *room) arrive(now unit.Time, empty bool) {
	if r.max == 0 {
		return
	}
	r.level -= (now - r.last) >> roomFade
	if from := max(r.free, r.last); empty && from < min(now, r.until) && now-from <= r.pause {
		r.level += min(now, r.until) - from
	}
	r.level = min(max(r.level, 0), r.max)
	r.last = now
}

// drop counts a drop by the AQM.
func (r *room) drop(now unit.Time) { r.until = now + r.memory }

// depart counts a frame that starts to be sent.
func (r *room) depart(now unit.Time, size int32) {
	if r.max > 0 {
		r.free = now + unit.Time(r.byteTime.of(Fixed(size)))
	}
}

// reduce returns a queue as the given thresholds are compared with it: divided by the factor.
func (r *room) reduce(queue int64) int64 {
	if r.level == 0 {
		return queue
	}
	steps := r.level >> (roomPlaces - roomSteps)
	return int64(roomPortions[steps&(1<<roomSteps-1)].of(uint64(queue)) >> (steps >> roomSteps & last))
}

// adopt continues the room of an old program's port. One that could not grow has not seen when it was empty.
func (r *room) adopt(now unit.Time, old *room) {
	if old.max == 0 {
		r.free, r.last = now, now
		return
	}
	r.level, r.free, r.last, r.until = min(old.level, r.max), old.free, old.last, old.until
}
