package fabric

import (
	"math"

	"weir/core/packet"
	"weir/core/unit"
)

// victims has, by flow, the latest time at which a link that is down lost one of its packets.
type victims map[packet.FlowID]unit.Time

// maxVictims limits the number of flows with stored losses, per link.
const maxVictims = 1024

// addLoss records the loss of a packet of a flow. It ignores new flows beyond maxVictims.
func (v *victims) addLoss(flow packet.FlowID, now unit.Time) {
	if *v == nil {
		*v = victims{}
	}
	if _, known := (*v)[flow]; known || len(*v) < maxVictims {
		(*v)[flow] = now
	}
}

// LastLoss returns the time at which link i, which is down, last lost a packet of a flow. It returns −1 if the link is
// up, has lost no packet of the flow, or had lost packets of 1024 other flows before. All nodes must have reached the
// same time.
func (f *Fabric) LastLoss(i int, flow packet.FlowID) unit.Time {
	if at, lost := f.extras[i].victims[flow]; lost {
		return at
	}
	return -1
}

// SetDown takes link i down or up: a link that is down loses all new frames. Frames that are already on the link still
// arrive. A link that comes up forgets the times of LastLoss. The network must not run at the same time.
func (f *Fabric) SetDown(i int, down bool) {
	x := &f.extras[i]
	x.down = down
	if !down {
		x.victims = nil
	}
	f.ports[i].special = down || x.loss > 0 || x.jitter > 0 || x.spaced || f.observed
}

// SetRate changes the rate of link i, to one above 0, at now. That also holds for the rest of the frame that is being
// sent: its arrival moves, unless the link is spaced. The network must have run all events before now, and no event at
// or after now.
func (f *Fabric) SetRate(i int, rate unit.LinkRate, now unit.Time) {
	f.takeIn()
	pt, x := &f.ports[i], &f.extras[i]
	was := x.rate
	f.setRate(i, rate)
	f.limitStride()
	if pt.freeAt <= now {
		return
	}
	left := convertRemaining(pt.freeAt-now, was, rate)
	old, free := pt.freeAt, now+left
	pt.freeAt = free
	if pt.armedAt != unit.Never { // an early event finds the port busy, and is postponed
		f.armPort(x.from.group, pt, free, portFree)
	}
	switch {
	case x.lost == old:
		x.lost = free
	case !x.spaced: // otherwise it has left already
		f.moveLast(i, free-old)
	}
	f.updateNext()
}

// setRate sets the rate of link i, for frames that are sent from now on.
func (f *Fabric) setRate(i int, rate unit.LinkRate) {
	x := &f.extras[i]
	x.ser, x.rate = unit.NewSerialiser(rate), rate
	f.ports[i].perByte = x.ser.TimePerByte()
}

// convertRemaining converts a remaining transmission time from oldRate to rate. A rate in bits and one in packets
// cannot be converted: the time then stays the same.
func convertRemaining(remaining unit.Time, oldRate, rate unit.LinkRate) unit.Time {
	from, to := float64(oldRate.Bits), float64(rate.Bits)
	if oldRate.Packets > 0 && rate.Packets > 0 {
		from, to = float64(oldRate.Packets), float64(rate.Packets)
	}
	if from <= 0 || to <= 0 {
		return remaining
	}
	return unit.Time(min(math.Round(float64(remaining)*(from/to)), float64(unit.Never/4)))
}

// moveLast delays the arrival of the frame that link i is sending, which must be on the wire, by shift, which may be
// below 0, but to a time after the frame before it.
func (f *Fabric) moveLast(i int, shift unit.Time) {
	w := &f.wires[i]
	mask := uint32(len(w.ring) - 1)
	last := &w.ring[(w.head+w.count-1)&mask]
	at := last.at + shift
	if w.count > 1 {
		at = max(at, w.ring[(w.head+w.count-2)&mask].at+1)
	}
	last.at, f.ports[i].last = at, at
	if g := w.to.group; w.count == 1 && g.single == nil { // the first frame has an event
		g.heap.Move(uint64(arrival)|uint64(i), at)
	}
}
