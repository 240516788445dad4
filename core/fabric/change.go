package fabric

import (
	"math"

	"weir/core/packet"
	"weir/core/unit"
)

// victims holds when a link that is down last lost a packet of each flow.
type victims map[packet.FlowID]unit.Time

// maxVictims limits the flows that a link remembers.
const maxVictims = 1024

// add notes the loss of a packet of a flow.
func (v *victims) add(flow packet.FlowID, now unit.Time) {
	if *v == nil {
		*v = victims{}
	}
	if _, known := (*v)[flow]; known || len(*v) < maxVictims {
		(*v)[flow] = now
	}
}

// LostLast returns when link i, which is down, last lost a packet of a flow. It returns −1 if the link is up, has lost
// no packet of the flow, or had lost packets of 1024 other flows before. All nodes must have reached the same time.
func (f *Fabric) LostLast(i int, flow packet.FlowID) unit.Time {
	if at, lost := f.extras[i].victims[flow]; lost {
		return at
	}
	return -1
}

// SetDown takes link i down or up: a link that is down loses what is put on it.
func (f *Fabric) SetDown(i int, down bool) {
	x := &f.extras[i]
	x.down = down
	if !down {
		x.victims = nil
	}
	f.ports[i].special = down || x.loss > 0 || x.jitter > 0 || x.spaced || f.observed
}

// SetRate changes the rate of link i at now: also for what is left of the frame that is being sent. Everything
// before now must have been carried out, and nothing after it.
func (f *Fabric) SetRate(i int, rate unit.LinkRate, now unit.Time) {
	f.takeIn()
	pt, x := &f.ports[i], &f.extras[i]
	was := x.rate
	f.setRate(i, rate)
	f.pace()
	if pt.freeAt <= now {
		return
	}
	left := remaining(pt.freeAt-now, was, rate)
	old, free := pt.freeAt, now+left
	pt.freeAt = free
	if pt.armedAt != unit.Never { // an event that comes too early finds the port busy, and is put off
		f.arm(x.from.group, pt, free, portFree)
	}
	switch {
	case x.lost == old:
		x.lost = free
	case !x.spaced: // else it has left already
		f.moveLast(i, free-old)
	}
	f.lookUp()
}

// setRate gives link i a rate.
func (f *Fabric) setRate(i int, rate unit.LinkRate) {
	x := &f.extras[i]
	x.ser, x.rate = unit.NewSerialiser(rate), rate
	f.ports[i].perByte = x.ser.PerByte()
}

// remaining is how long what took left at a rate takes at another one. A rate in bits and one in packets have
// nothing in common: then nothing changes.
func remaining(left unit.Time, was, rate unit.LinkRate) unit.Time {
	from, to := float64(was.Bits), float64(rate.Bits)
	if was.Packets > 0 && rate.Packets > 0 {
		from, to = float64(was.Packets), float64(rate.Packets)
	}
	if from <= 0 || to <= 0 {
		return left
	}
	return unit.Time(min(math.Round(float64(left)*(from/to)), float64(unit.Never/4)))
}

// moveLast has the frame that link i is sending arrive later by shift.
func (f *Fabric) moveLast(i int, shift unit.Time) {
	w := &f.wires[i]
	mask := uint32(len(w.ring) - 1)
	last := &w.ring[(w.head+w.count-1)&mask]
	at := last.at + shift
	if w.count > 1 {
		at = max(at, w.ring[(w.head+w.count-2)&mask].at+1)
	}
	last.at, f.ports[i].last = at, at
	if g := w.to.group; w.count == 1 && g.single == nil { // the first one has an event
		g.heap.Move(uint64(arrival)|uint64(i), at)
	}
}
