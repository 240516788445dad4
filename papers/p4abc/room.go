package p4abc

import (
	"math"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/unit"
)

// room raises the thresholds of an egress port that empties after the AQM has dropped: the flows that reduced their
// rates left too short a queue. It applies with average: rate at ports with a rate in bit/s.
//
// The factor is 2^(level/137 ms), in steps of an eighth of a doubling. level is the time in which the port was empty
// within M_AM after a drop, less 1/128 of all time. A port that is empty for longer than M_AA, three round trips, has
// no reduced flows: their traffic has ended, so that time does not count. The factor settles where flows leave the link
// empty for 1/128 of the time, and halves in 18 s while the port is busy. Q_base grows up to half of the buffer; less
// active users have the other half. The factor is computed in integers in both arithmetics.
type room struct {
	byteTime product   // transmission time of bytes, in ps
	max      unit.Time // limit of level; 0: thresholds are as configured
	memory   unit.Time // M_AM
	pause    unit.Time // M_AA

	level         unit.Time
	sentTime      unit.Time // end of transmission of departed frames
	lastArrival   unit.Time // time of the last arrival
	dropMemoryEnd unit.Time // end of the time in which an empty port counts
}

const (
	// roomPlaces is log2 of the time in ps in which an empty port doubles its thresholds, 0.14 s.
	roomPlaces = 37
	// roomSteps is log2 of the number of steps in a doubling.
	roomSteps = 3
	// roomFade is −log2 of the part of all time that level loses.
	roomFade = 7
	// maxDoublings limits the factor, and so the shift of a Q in bytes.
	maxDoublings = 8
)

// roomPortions divide a queue by the steps of a doubling.
var roomPortions = newRoomPortions()

// newRoomPortions returns the portions 2^−(i/8).
func newRoomPortions() (p [1 << roomSteps]portion) {
	for i := range p {
		p[i] = newPortion(float64(i) / (1 << roomSteps))
	}
	return p
}

// maxRoom returns log2 of the largest factor of thresholds at a port with this buffer: Q_base becomes half of the
// buffer. Without a limit it becomes what the port sends in a third of M_AA, 100 ms by default. It is 0, so thresholds
// never grow, with average: packets or if Q_base is half of the buffer or more.
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
		half = float64(rate) / 8 * c.Average.Seconds() / minAverageTrips
	}
	if c.PerPacket || half <= base {
		return 0
	}
	return min(math.Log2(half/base), maxDoublings)
}

// newRoom returns the room of a site's port with a rate; a zero room, which never grows, without a rate.
func newRoom(c *Config, t *thresholds, site *dataplane.Site, port int, rate unit.Rate) room {
	if rate <= 0 || c.PerPacket {
		return room{}
	}
	doublings := c.maxRoom(t, site.PortLimit(port), fullFrame(site), rate)
	return room{byteTime: byteTime(rate), memory: c.Memory, pause: c.Average,
		max: unit.Time(doublings * (1 << roomPlaces))}
}

// byteTime returns the transmission time of a byte at a rate, in ps, as a product.
func byteTime(rate unit.Rate) product { return productBy(8e12 / float64(rate)) }

// recordArrival updates level at a packet's arrival at a queue; empty: no byte waits.
func (r *room) recordArrival(now unit.Time, empty bool) {
	if r.max == 0 {
		return
	}
	r.level -= (now - r.lastArrival) >> roomFade
	if from := max(r.sentTime, r.lastArrival); empty && from < min(now, r.dropMemoryEnd) && now-from <= r.pause {
		r.level += min(now, r.dropMemoryEnd) - from
	}
	r.level = min(max(r.level, 0), r.max)
	r.lastArrival = now
}

// recordDrop starts the time after a drop by the AQM.
func (r *room) recordDrop(now unit.Time) { r.dropMemoryEnd = now + r.memory }

// recordDeparture notes the end of transmission of a frame of size bytes that departs at now.
func (r *room) recordDeparture(now unit.Time, size int32) {
	if r.max > 0 {
		r.sentTime = now + unit.Time(r.byteTime.multiply(Fixed(size)))
	}
}

// reduceQueue returns a queue's length divided by the factor, for comparison with the configured thresholds.
func (r *room) reduceQueue(queue int64) int64 {
	if r.level == 0 {
		return queue
	}
	steps := r.level >> (roomPlaces - roomSteps)
	return int64(roomPortions[steps&(1<<roomSteps-1)].multiply(uint64(queue)) >> (steps >> roomSteps & maxShift))
}

// adoptFrom continues the room of an old program's port. A room that could not grow did not record empty times.
func (r *room) adoptFrom(now unit.Time, old *room) {
	if old.max == 0 {
		r.sentTime, r.lastArrival = now, now
		return
	}
	r.level, r.sentTime = min(old.level, r.max), old.sentTime
	r.lastArrival, r.dropMemoryEnd = old.lastArrival, old.dropMemoryEnd
}
