package wiring

import (
	"weir/core/dataplane"
	"weir/core/fabric"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/unit"
)

// CounterSnapshot is a snapshot of all counters of ports, links and switches.
type CounterSnapshot struct {
	ports []outcome.PortResult // since the start
	// Drops are the drops of all switches and links, since the start.
	Drops [dataplane.Reasons]uint64
	// Made counts the notices that switches have made (packet.Nack and packet.Notice), and NoticeDrops those that
	// switches have dropped.
	Made, NoticeDrops uint64
}

// ReadCounters reads all counters at now. All switches and NICs must exist. f may be nil while there is no fabric;
// links then have no losses.
func (w *Wiring) ReadCounters(now unit.Time, f *fabric.Fabric) CounterSnapshot {
	c := CounterSnapshot{ports: make([]outcome.PortResult, 0, len(w.Directions))}
	for i, d := range w.Directions {
		p := w.ports[i]
		r := outcome.PortResult{Node: d.Node, Link: d.Link, End: d.End, TxBytes: p.TxBytes(), TxPackets: p.TxPackets(),
			Pauses: p.Pauses(now)}
		if f != nil {
			l := f.LinkCounters(i)
			r.Lost = l.Lost
			c.Drops[dataplane.LinkLost] += l.Lost - l.Down
			c.Drops[dataplane.LinkDown] += l.Down
		}
		if d.OfSwitch {
			r.Drops = w.Switches[d.Node].PortDrops(d.Port)
		}
		c.ports = append(c.ports, r)
	}
	for _, sw := range w.Switches {
		if sw == nil {
			continue
		}
		for why, n := range sw.DropCounts() {
			c.Drops[why] += n
		}
		made, dropped := sw.MadePackets(), sw.MadeDrops()
		c.Made += made[packet.Nack] + made[packet.Notice]
		c.NoticeDrops += dropped[packet.Nack] + dropped[packet.Notice]
	}
	return c
}

// Port returns the counters since the start of the port of Directions i.
func (c *CounterSnapshot) Port(i int) *outcome.PortResult { return &c.ports[i] }

// PortResults returns the difference between two snapshots: first is of startTime and last of endTime, both in the
// experiment's time. The capacities are of the time between.
func (w *Wiring) PortResults(first, last *CounterSnapshot, startTime, endTime unit.Time) (ports []outcome.PortResult,
	drops [dataplane.Reasons]uint64) {
	ports = make([]outcome.PortResult, len(last.ports))
	for i := range ports {
		p, f := last.ports[i], &first.ports[i]
		p.TxBytes -= f.TxBytes
		p.TxPackets -= f.TxPackets
		p.Lost -= f.Lost
		for k := range p.Drops {
			p.Drops[k] -= f.Drops[k]
		}
		p.Pauses.Frames -= f.Pauses.Frames
		p.Pauses.Any -= f.Pauses.Any
		for k := range p.Pauses.Time {
			p.Pauses.Time[k] -= f.Pauses.Time[k]
		}
		p.Capacity = w.linkCapacity(p.Link, p.End, startTime, endTime)
		ports[i] = p
	}
	for k := range drops {
		drops[k] = last.Drops[k] - first.Drops[k]
	}
	return ports, drops
}

// linkCapacity returns the amount that a link can carry from an end between startTime and endTime, in bits or packets.
// It follows the events that change the rate.
func (w *Wiring) linkCapacity(link, end int, startTime, endTime unit.Time) float64 {
	perSecond := func(l unit.LinkRate) float64 { return float64(max(int64(l.Bits), int64(l.Packets))) }
	rate, total := perSecond(w.config.Network.Links[link].Rate), 0.0
	for i := range w.config.Events {
		e := &w.config.Events[i]
		if e.Link != link || !e.affects(end) || e.Rate == (unit.LinkRate{}) || e.At >= endTime {
			continue
		}
		if e.At > startTime {
			total += float64(rate * (e.At - startTime).Seconds())
			startTime = e.At
		}
		rate = perSecond(e.Rate)
	}
	return total + float64(rate*max(endTime-startTime, 0).Seconds())
}

// AddRepeated adds n times the difference between two other snapshots, first and last. All three have the same ports.
func (c *CounterSnapshot) AddRepeated(n uint64, first, last *CounterSnapshot) {
	for i := range c.ports {
		p, a, b := &c.ports[i], &first.ports[i], &last.ports[i]
		p.TxBytes += n * (b.TxBytes - a.TxBytes)
		p.TxPackets += n * (b.TxPackets - a.TxPackets)
		p.Lost += n * (b.Lost - a.Lost)
		for k := range p.Drops {
			p.Drops[k] += n * (b.Drops[k] - a.Drops[k])
		}
		p.Pauses.Frames += n * (b.Pauses.Frames - a.Pauses.Frames)
		p.Pauses.Any += unit.Time(n) * (b.Pauses.Any - a.Pauses.Any)
		for k := range p.Pauses.Time {
			p.Pauses.Time[k] += unit.Time(n) * (b.Pauses.Time[k] - a.Pauses.Time[k])
		}
	}
	for k := range c.Drops {
		c.Drops[k] += n * (last.Drops[k] - first.Drops[k])
	}
	c.Made += n * (last.Made - first.Made)
	c.NoticeDrops += n * (last.NoticeDrops - first.NoticeDrops)
}

// FindUneven returns the index in Directions of the first port with sent bytes since the snapshot base that are not a
// multiple of bytes, or −1. A port without sent bytes passes. bytes must be above 0, and both snapshots must be of
// one Wiring.
func (c *CounterSnapshot) FindUneven(base *CounterSnapshot, bytes unit.Bytes) int {
	for i := range c.ports {
		if (c.ports[i].TxBytes-base.ports[i].TxBytes)%uint64(bytes) != 0 {
			return i
		}
	}
	return -1
}
