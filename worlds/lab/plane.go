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

// plane is the data plane of one run with its measurements and events (live.Monitor).
type plane struct {
	*live.Plane
	config  *Config
	wiring  *wiring.Wiring
	flows   *flowTable // nil: no flows are known
	watches []*queueWatch
	taps    []*capturedSwitch // captured switches

	events []wiring.Event
	marks  [2]unit.Time // start and end of the measured part
	// marksPassed counts the marks that are past.
	marksPassed   int
	countsAtMarks [2]wiring.CounterSnapshot // at the marks
	ended         unit.Time                 // actual end of the measured part
	schedule      observe.Schedule          // of samples
	samples       [][]int64                 // by Config.Watches
	tally         outcome.FrameTally
	tallied       outcome.FrameTally // at the last mark
	carriers      []CarrierChange
	// Notices lost by links since the start and at the marks, and remaining bytes of captures.
	noticesLost   uint64
	noticesLostAt [2]uint64
	// Control planes' counts at the experiment's time 0 and at the end of the measured part, with Config.Steers.
	steering    [2][]*dataplane.Steering
	captureLeft int64
}

// buildPlane creates the data plane of a configuration; gates are the hosts' gates by node. clock returns event time.
// It schedules the first action, but starts no thread. It fails for an impossible configuration.
func (c *Config) buildPlane(gates []live.Gate, clock func() unit.Time) (*plane, error) {
	if err := c.checkConfig(); err != nil {
		return nil, err
	}
	n := c.Wiring.Network
	d := &plane{config: c, wiring: c.buildWiring(), events: c.Wiring.Events, samples: make([][]int64, len(c.Watches)),
		marks: [2]unit.Time{c.Lead + c.Warmup, c.Lead + c.Duration}}
	captured, err := c.Capture.matchNodes(n)
	if err != nil {
		return nil, err
	}
	if d.flows, err = newFlowTable(c); err != nil {
		return nil, err
	}
	d.watchQueues()
	for i := range c.Watches {
		if w := &c.Watches[i]; !w.What.OfFlow() {
			ends := w.EndOfSamples()
			if ends < unit.Never {
				ends += c.Lead
			}
			d.schedule.Add(i, w.Every, c.Lead+w.FirstSample(c.Warmup), ends)
			d.samples[i] = make([]int64, 0, w.Samples(c.Warmup, c.Duration))
		}
	}
	d.Plane, err = live.NewPlane(live.PlaneConfig{
		Network: n, Wiring: d.wiring, Book: c.Wiring.Hosts, Framing: c.Wiring.Framing,
		MaxFrame: c.maxFrameBytes(), Gates: gates, Clock: clock,
		Monitor: d, Own: c.OwnHosts(), Observer: c.Observer, Programs: d.queueWatches,
		Links: observe.NewLinks(&c.Selection, c.Observer, &d.tally, &d.noticesLost, d.wiring.Port),
		Wrap: func(node int, sw *dataplane.Switch) fabric.Node {
			if !captured[node] {
				return sw
			}
			t := d.newCapturedSwitch(node, sw)
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

// Identify returns the flow of a packet, packet.NoFlow without a flow (live.Monitor).
func (d *plane) Identify(p *packet.Packet) packet.FlowID {
	if d.flows == nil {
		return packet.NoFlow
	}
	return d.flows.identifyFlow(p)
}

// Arrive counts a packet of a flow at the host of a node. It reports whether the host is one of Weir's own; false
// without flows.
func (d *plane) Arrive(now unit.Time, node int, p *packet.Packet) (own bool) {
	if d.flows == nil {
		return false
	}
	d.flows.recordArrival(node, now, p)
	return d.flows.isOwn(p)
}

// nextAct returns the time of the next action: a start or end of the measured part, a sample, a check of a queue,
// or an event of a link.
func (d *plane) nextAct() unit.Time {
	t := unit.Never
	if d.marksPassed < len(d.marks) {
		t = min(d.marks[d.marksPassed], d.schedule.NextSample())
	}
	if len(d.events) > 0 {
		t = min(t, d.config.Lead+d.events[0].At)
	}
	if d.config.Steers && d.steering[0] == nil {
		t = min(t, d.config.Lead)
	}
	return min(t, d.nextQueueCheck())
}

// Act performs the actions due at now and returns the time of the next one: it starts or ends the measured part, takes
// samples, applies events of links and checks queues. Samples and marks need a call at exactly their time.
func (d *plane) Act(now unit.Time) (next unit.Time) {
	if d.config.Steers && d.steering[0] == nil && now == d.config.Lead {
		d.steering[0] = d.wiring.Steering(now)
	}
	if d.marksPassed == 0 && d.marks[0] == now {
		d.markPart(now)
	}
	if d.marksPassed == 1 {
		for _, i := range d.schedule.Due(now) {
			w := &d.config.Watches[i]
			switch {
			case now == d.marks[1] && !w.What.IsCounter(): // values at the end belong to no interval
			case w.What == outcome.BufferBytes:
				d.samples[i] = append(d.samples[i], int64(d.wiring.Switches[w.Index].BufferedBytes()))
			case w.What == outcome.ProgramMetric:
				d.samples[i] = append(d.samples[i], d.wiring.Switches[w.Index].MetricBits(w.Name, now))
			default:
				d.samples[i] = append(d.samples[i], observe.ReadPort(w.What, d.wiring.Port(w.Index)))
			}
		}
		if d.marks[1] == now {
			d.markPart(now)
		}
	}
	for len(d.events) > 0 && d.config.Lead+d.events[0].At <= now {
		d.applyEvent(now, &d.events[0])
		d.events = d.events[1:]
	}
	d.checkQueues(now)
	return d.nextAct()
}

// applyEvent applies an event to a link and records it in captures.
func (d *plane) applyEvent(now unit.Time, e *wiring.Event) {
	d.wiring.ApplyEvent(d.Fabric(), e, now)
	d.recordEvent(now, e)
}

// markPart starts the measured part with the first call, and ends it with the second. It saves all counters and
// checks that no packet is unaccounted for, which fails the run.
func (d *plane) markPart(now unit.Time) {
	d.countsAtMarks[d.marksPassed] = d.wiring.ReadCounters(now, d.Fabric())
	d.noticesLostAt[d.marksPassed], d.tallied, d.ended = d.noticesLost, d.tally, now
	if d.config.Steers && d.marksPassed == 1 {
		d.steering[1] = d.wiring.Steering(now)
	}
	d.marksPassed++
	if d.tally = (outcome.FrameTally{}); d.flows != nil {
		d.flows.setPart(runPart(d.marksPassed))
	}
	if err := d.wiring.CheckConservation(d.Fabric()); err != nil {
		d.Fail(fmt.Errorf("packets unaccounted for: %w", err))
	}
}
