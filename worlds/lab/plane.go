package lab

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/fabric"
	"weir/core/fabric/observe"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/unit"
	"weir/worlds/live"
)

// plane is the data plane of one run, with what the experiment measures and does at it (live.Monitor).
type plane struct {
	*live.Plane
	config  *Config
	wiring  *wiring.Wiring
	flows   *flowTable // nil: no flows are known
	watches []*queueWatch
	taps    []*tap // captured switches

	events   []wiring.Event
	marks    [2]unit.Time // begin and end of what is measured
	marked   int
	at       [2]wiring.CounterSnapshot // at marks
	ended    unit.Time                 // when what is measured did
	schedule observe.Schedule          // of samples
	samples  [][]int64                 // by Config.Watches
	tally    outcome.Tally
	tallied  outcome.Tally // at the last mark
	carriers []Carrier
	// Notices that links lose, since the start and at the marks, and bytes that captures may
	// still have.
	noticesLost   uint64
	noticesLostAt [2]uint64
	// With Config.Steers, what control planes had done at the experiment's time 0 and when what is measured ended.
	steering    [2][]*dataplane.Steering
	captureLeft int64
}

// build makes the data plane of a configuration; gates are those of the hosts, by node.
func (c *Config) build(gates []live.Gate, clock func() unit.Time) (*plane, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	n := c.Wiring.Network
	d := &plane{config: c, wiring: c.wire(), events: c.Wiring.Events, samples: make([][]int64, len(c.Watches)),
		marks: [2]unit.Time{c.Lead + c.Warmup, c.Lead + c.Duration}}
	captured, err := c.Capture.nodes(n)
	if err != nil {
		return nil, err
	}
	if d.flows, err = newFlowTable(c); err != nil {
		return nil, err
	}
	d.watchQueues()
	for i := range c.Watches {
		if w := &c.Watches[i]; !w.What.OfFlow() {
			ends := w.Ends()
			if ends < unit.Never {
				ends += c.Lead
			}
			d.schedule.Add(i, w.Every, c.Lead+w.Begins(c.Warmup), ends)
			d.samples[i] = make([]int64, 0, w.Samples(c.Warmup, c.Duration))
		}
	}
	d.Plane, err = live.NewPlane(live.PlaneConfig{
		Network: n, Wiring: d.wiring, Book: c.Wiring.Hosts, Framing: c.Wiring.Framing, MaxFrame: c.room(), Gates: gates,
		Clock:   clock,
		Monitor: d, Own: c.Own(), Observer: c.Observer, Programs: d.queueWatches,
		Links: observe.NewLinks(&c.Selection, c.Observer, &d.tally, &d.noticesLost, d.wiring.Port),
		Wrap: func(node int, sw *dataplane.Switch) fabric.Node {
			if !captured[node] {
				return sw
			}
			t := d.newTap(node, sw)
			d.taps = append(d.taps, t)
			return t
		},
	})
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	d.ScheduleAct(d.nextAct())
	return d, nil
}

// Identify returns the flow of a packet.
func (d *plane) Identify(p *packet.Packet) packet.FlowID {
	if d.flows == nil {
		return packet.NoFlow
	}
	return d.flows.flow(p)
}

// Arrive records a packet of a flow.
func (d *plane) Arrive(now unit.Time, node int, p *packet.Packet) (own bool) {
	if d.flows == nil {
		return false
	}
	d.flows.arrived(node, now, p)
	return d.flows.own(p)
}

// nextAct returns when the experiment acts next: the measured part begins or ends, a sample is due, a queue is to be
// checked, or an event happens to a link.
func (d *plane) nextAct() unit.Time {
	t := unit.Never
	if d.marked < len(d.marks) {
		t = min(d.marks[d.marked], d.schedule.Next())
	}
	if len(d.events) > 0 {
		t = min(t, d.config.Lead+d.events[0].At)
	}
	if d.config.Steers && d.steering[0] == nil {
		t = min(t, d.config.Lead)
	}
	return min(t, d.nextQueueCheck())
}

// Act does what is due at now.
func (d *plane) Act(now unit.Time) (next unit.Time) {
	if d.config.Steers && d.steering[0] == nil && now == d.config.Lead {
		d.steering[0] = d.wiring.Steering(now)
	}
	if d.marked == 0 && d.marks[0] == now {
		d.mark(now)
	}
	if d.marked == 1 {
		for _, i := range d.schedule.Due(now) {
			w := &d.config.Watches[i]
			switch {
			case now == d.marks[1] && !w.What.Counts(): // what comes then belongs to no interval
			case w.What == outcome.BufferBytes:
				d.samples[i] = append(d.samples[i], int64(d.wiring.Switches[w.Index].Buffered()))
			case w.What == outcome.ProgramMetric:
				d.samples[i] = append(d.samples[i], d.wiring.Switches[w.Index].MetricBits(w.Name, now))
			default:
				d.samples[i] = append(d.samples[i], observe.ReadPort(w.What, d.wiring.Port(w.Index)))
			}
		}
		if d.marks[1] == now {
			d.mark(now)
		}
	}
	for len(d.events) > 0 && d.config.Lead+d.events[0].At <= now {
		d.happen(now, &d.events[0])
		d.events = d.events[1:]
	}
	d.checkQueues(now)
	return d.nextAct()
}

// happen applies an event to a link, and records it.
func (d *plane) happen(now unit.Time, e *wiring.Event) {
	d.wiring.Happen(d.Fabric(), e, now)
	d.recordEvent(now, e)
}

// mark begins the measured part, or ends it.
func (d *plane) mark(now unit.Time) {
	d.at[d.marked], d.noticesLostAt[d.marked], d.tallied, d.ended = d.wiring.Counts(now, d.Fabric()), d.noticesLost,
		d.tally, now
	if d.config.Steers && d.marked == 1 {
		d.steering[1] = d.wiring.Steering(now)
	}
	d.marked++
	if d.tally = (outcome.Tally{}); d.flows != nil {
		d.flows.measure(part(d.marked))
	}
	if err := d.wiring.CheckConservation(d.Fabric()); err != nil {
		d.Fail(fmt.Errorf("packets unaccounted for: %w", err))
	}
}
