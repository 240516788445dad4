package experiment

import (
	"fmt"
	"slices"

	"weir/core/dataplane"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/switchfile"
	"weir/study/measure"
)

// limitWaits notes what can wait at the ports of switches with these programs. The longest round trip of a path follows
// from it.
func (p *Point) limitWaits(programs [][]switchfile.Program) {
	n, frame := p.seen.Network, max(unit.Bytes(p.LargestFrame()), ethernetFrame)
	w := &measure.Waits{Ports: make([][2]dataplane.Backlog, len(n.Links))}
	for i := range n.Links {
		l := &n.Links[i]
		for end, node := range l.Ends {
			if n.Nodes[node].Switch {
				w.Ports[i][end] = p.backlogOf(node, l.Buffer, programs[node], frame)
			}
		}
	}
	for node, list := range programs {
		if !n.Nodes[node].Switch {
			continue
		}
		for i := range list {
			t := &list[i].Traits
			if t.Pauses && w.Memory == nil {
				w.Memory = make([]unit.Bytes, len(n.Nodes))
			}
			w.Spreads = w.Spreads || t.Spreads != dataplane.OnePath
			w.Reorders = w.Reorders || t.Reorders || t.Trims || w.Spreads
		}
	}
	for node := range w.Memory {
		if p.switches[node].Queues > 1 || p.hasScheduler(node) { // a class may starve
			continue
		}
		for i := range programs[node] {
			if t := &programs[node][i].Traits; t.MaxBacklog != nil {
				w.Memory[node] = t.MaxBacklog(frame, nil).Bytes
			}
		}
	}
	p.seen.Waits = w
	p.limitChanges()
}

// backlogOf returns what can wait at a port of a switch. Schedulers may starve a queue, so that its packets wait for
// any time; only programs that can trim have several queues with a known order and limits, in strict priority or in
// turns of packets, also where they drop instead.
func (p *Point) backlogOf(node int, buffer unit.Length, programs []switchfile.Program,
	frame unit.Bytes) (b dataplane.Backlog) {
	sc, ordered := &p.switches[node], false
	lower := func(x dataplane.Backlog) {
		if x.Bytes > 0 && (b.Bytes == 0 || x.Bytes < b.Bytes) {
			b.Bytes = x.Bytes
		}
		if x.Packets > 0 && (b.Packets == 0 || x.Packets < b.Packets) {
			b.Packets = x.Packets
		}
		if x.Wait > 0 {
			b.Wait = x.Wait
		}
	}
	turns, served := []int64(nil), p.hasScheduler(node)
	if served {
		if t := &p.served[node].Traits; t.Turns != nil {
			turns = t.Turns(max(sc.Queues, 1))
		}
	}
	for i := range programs {
		t := &programs[i].Traits
		if t.MaxBacklog != nil {
			lower(t.MaxBacklog(frame, turns))
		}
		ordered = ordered || t.LimitsQueues
	}
	if served && (turns == nil || !ordered) || sc.Queues > 1 && !ordered || sc.Recirculation.Queue > 0 {
		return dataplane.Backlog{}
	}
	lower(dataplane.Backlog{Bytes: buffer.Bytes, Packets: int64(buffer.Packets)})
	queues := int64(max(sc.Queues, 1))
	lower(dataplane.Backlog{Bytes: sc.QueueLimit.Bytes * unit.Bytes(queues),
		Packets: int64(sc.QueueLimit.Packets) * queues})
	return b
}

// limitChanges notes what happens to links and hosts during the run: lower rates, and hosts that stall for any time.
func (p *Point) limitChanges() {
	w := p.seen.Waits
	for i := range p.seen.Events {
		e := &p.seen.Events[i]
		if e.Link < 0 || e.Rate == (unit.LinkRate{}) { // of a link that the file gets wrong
			continue
		}
		lowest, changed := w.Rates[e.Link]
		if !changed {
			lowest = p.seen.Network.Links[e.Link].Rate
		}
		if e.Rate.Bits < lowest.Bits || e.Rate.Packets < lowest.Packets {
			if w.Rates == nil {
				w.Rates = map[int]unit.LinkRate{}
			}
			w.Rates[e.Link] = e.Rate
		}
	}
	w.Endless = p.stalls.Every > 0
	p.seen.PrepareWaits()
}

// Timer is what the transport of a traffic does when no answer arrives.
type Timer struct {
	Traffic, Transport string
	transport.TimerReport
	Points []string // of the sweep, by their names
}

func (t *Timer) String() string {
	return fmt.Sprintf("timer of traffic %s (%s): %s", t.Traffic, t.Transport, t.Text)
}

// Timers returns what the transports of all traffics do when no answer arrives. Points of a sweep in which a traffic
// does the same share an entry.
func (s *Spec) Timers() (timers []Timer) {
	for _, p := range s.points {
		for i := range p.entries {
			tr := &p.entries[i]
			if !tr.timed {
				continue
			}
			t := Timer{Traffic: tr.seen.Name, Transport: tr.seen.Transport.Name, TimerReport: tr.timer}
			k := slices.IndexFunc(timers, func(x Timer) bool {
				return x.Traffic == t.Traffic && x.Transport == t.Transport && x.TimerReport == t.TimerReport
			})
			if k < 0 {
				k = len(timers)
				timers = append(timers, t)
			}
			timers[k].Points = append(timers[k].Points, measure.PointName(p.at))
		}
	}
	return timers
}
