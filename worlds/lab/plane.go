package lab

import (
	"encoding/binary"
	"fmt"

	"weir/core/dataplane"
	"weir/core/fabric"
	"weir/core/fabric/observe"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// A Gate is the way between the data plane and one host's kernel: a socket with a ring, or
// a script's. Frames are Ethernet frames without FCS.
type Gate interface {
	// Stamp is when the first of the frames that wait came in, in event time;
	// unit.Never if none waits.
	Stamp() unit.Time
	// Take appends that frame to b and gives its room back.
	Take(b []byte) []byte
	// Put adds a frame to those that are to leave; false: there is no room. Its bytes must stay as
	// they are until Flush has returned no error, or Drop was called.
	Put(frame []byte) bool
	// Flush lets them leave. EAGAIN and ENOBUFS say that some have to wait.
	Flush() error
	// Drop gives up what has not left, and says how many frames that were.
	Drop() int
	// Counts is what the gate has counted since the start.
	Counts() GateCounts
}

// plane is the data plane: the fabric with all switches and links, and the gates to the
// hosts. It has no clock of its own but to see how late frames leave.
type plane struct {
	departures
	config   *Config
	fabric   *fabric.Fabric
	pool     packet.Pool
	framing  packet.Framing
	room     int     // of a frame, in bytes
	any      bool    // frames of all types enter, not only what hosts of the lab send
	hosts    []*host // by node, nil for switches
	own      []bool  // by node: it has a host of Weir's own; nil: none has
	switches []*dataplane.Switch
	wiring   *wiring.Wiring
	flows    *flowTable // nil: no flows are known
	gated    []*host
	stamps   []unit.Time // of gated, in this step

	done     unit.Time // all before it has happened
	due      unit.Time // when the next event was to happen, at the end of the last step
	events   []Event
	marks    [2]unit.Time // begin and end of what is measured
	marked   int
	at       [2]wiring.Counts // at marks
	ended    unit.Time        // when what is measured did
	stopAt   unit.Time        // next of marks, events and samples
	watches  observe.Schedule
	watched  [][]int64 // by Config.Watches
	tally    outcome.Tally
	tallied  outcome.Tally // at the last mark
	taps     []*tap        // captured switches
	carriers []Carrier
	rises    []rise
	// Notices that links lose, since the start and at the marks, and bytes that captures may
	// still have.
	noticesLost   uint64
	noticesLostAt [2]uint64
	// With Config.Steers, what control planes had done at the experiment's time 0 and when what is measured ended.
	steering    [2][]*dataplane.Steering
	captureLeft int64
}

// framesReady is for how many packets there is room before anything happens.
const framesReady = 4096

// start makes the fabric.
func (d *plane) start(nodes []fabric.Node, links []fabric.Link, o trace.Observer) (err error) {
	for _, h := range d.hosts {
		if h != nil {
			d.gated = append(d.gated, h)
		}
	}
	d.stamps = make([]unit.Time, len(d.gated))
	d.due, d.give = unit.Never, d.pool.Put
	d.ready()
	var ready [framesReady]*packet.Packet
	room := d.room + packet.MostExtensions
	slab := make([]byte, framesReady*room) // one allocation: its pages are touched when they are used
	for i := range ready {
		ready[i] = d.pool.Get()
		ready[i].Data = slab[i*room : i*room : (i+1)*room]
	}
	for _, p := range ready {
		d.pool.Put(p)
	}
	d.stopAt = unit.Never
	if c := d.config; c != nil {
		d.events = c.Events
		d.marks = [2]unit.Time{c.Lead + c.Warmup, c.Lead + c.Duration}
		d.watched = make([][]int64, len(c.Watches))
		for i := range c.Watches {
			if w := &c.Watches[i]; !w.What.OfFlow() {
				ends := w.Ends()
				if ends < unit.Never {
					ends += c.Lead
				}
				d.watches.Add(i, w.Every, c.Lead+w.Begins(c.Warmup), ends)
				d.watched[i] = make([]int64, 0, w.Samples(c.Warmup, c.Duration))
			}
		}
		d.stopAt = d.nextStop()
	}
	d.fabric, err = fabric.New(fabric.Config{Nodes: nodes, Links: links, Pool: &d.pool, Observer: o})
	return err
}

// step does everything that is due at now, by the wall clock: it receives frames in the order of their
// stamps, runs the fabric's events, and sends what arrives at hosts. now must be read before. An error
// ends the run.
func (d *plane) step(now unit.Time) error {
	need := d.due
	for i, h := range d.gated {
		d.stamps[i] = h.gate.Stamp()
		need = min(need, d.stamps[i])
	}
	d.waited(need, now)
	for {
		first, at := 0, unit.Never
		for i, t := range d.stamps {
			if t < at {
				first, at = i, t
			}
		}
		if at > now {
			break
		}
		if at < d.done { // its stamp was not to be seen yet in the last step
			d.counts.Belated++
			d.counts.BelatedBy = max(d.counts.BelatedBy, d.done-at)
			at = d.done
		}
		d.advance(at)
		d.enter(d.gated[first], at)
		d.stamps[first] = d.gated[first].gate.Stamp()
	}
	if now >= d.done {
		d.advance(now + 1)
	}
	d.retryAt = unit.Never
	for _, h := range d.gated {
		h.flushAll()
	}
	d.due = d.next()
	return d.failed
}

// next is when step has something to do if nothing comes in; unit.Never if not.
func (d *plane) next() unit.Time {
	return min(d.fabric.Next(), d.retryAt, d.stopAt)
}

// advance carries out all that happens before until, and what the experiment has in
// store up to then.
func (d *plane) advance(until unit.Time) {
	for d.stopAt <= until {
		d.fabric.Run(d.stopAt, nil)
		d.stop()
	}
	d.fabric.Run(until, nil)
	d.done = max(d.done, until)
}

// nextStop is when the experiment has something in store: the measured part begins or ends,
// something is looked at, or happens to a link.
func (d *plane) nextStop() unit.Time {
	t := unit.Never
	if d.marked < len(d.marks) {
		t = min(d.marks[d.marked], d.watches.Next())
	}
	if len(d.events) > 0 {
		t = min(t, d.config.Lead+d.events[0].At)
	}
	if d.steers() && d.steering[0] == nil {
		t = min(t, d.config.Lead)
	}
	return min(t, d.nextRise())
}

// stop does what is due at stopAt, before which all has happened.
func (d *plane) stop() {
	now := d.stopAt
	if d.steers() && d.steering[0] == nil && now == d.config.Lead {
		d.steering[0] = d.wiring.Steering(now)
	}
	if d.marked == 0 && d.marks[0] == now {
		d.mark(now)
	}
	if d.marked == 1 {
		for _, i := range d.watches.Due(now) {
			w := &d.config.Watches[i]
			switch {
			case now == d.marks[1] && !w.What.Counts(): // what comes then belongs to no interval
			case w.What == outcome.BufferBytes:
				d.watched[i] = append(d.watched[i], int64(d.switches[w.Index].Buffered()))
			case w.What == outcome.ProgramMetric:
				d.watched[i] = append(d.watched[i], d.switches[w.Index].MetricBits(w.Name, now))
			default:
				d.watched[i] = append(d.watched[i], observe.ReadPort(w.What, d.wiring.Port(w.Index)))
			}
		}
		if d.marks[1] == now {
			d.mark(now)
		}
	}
	for len(d.events) > 0 && d.config.Lead+d.events[0].At <= now {
		d.wiring.Happen(d.fabric, &d.events[0], now)
		d.happened(now, &d.events[0])
		d.events = d.events[1:]
	}
	d.lookForRises(now)
	d.stopAt = d.nextStop()
}

// steers reports whether control planes are asked what they do.
func (d *plane) steers() bool { return d.config != nil && d.config.Steers }

// mark begins the measured part, or ends it.
func (d *plane) mark(now unit.Time) {
	d.at[d.marked], d.noticesLostAt[d.marked], d.tallied, d.ended = d.wiring.Counts(now, d.fabric), d.noticesLost,
		d.tally, now
	if d.steers() && d.marked == 1 {
		d.steering[1] = d.wiring.Steering(now)
	}
	d.marked++
	if d.tally = (outcome.Tally{}); d.flows != nil {
		d.flows.measure(part(d.marked))
	}
	if err := d.wiring.CheckConservation(d.fabric); err != nil && d.failed == nil {
		d.failed = fmt.Errorf("packets unaccounted for: %w", err)
	}
}

// enter takes the first frame of a host into the fabric.
func (d *plane) enter(h *host, now unit.Time) {
	p := d.pool.GetFrame(d.room + packet.MostExtensions)
	p.Data = h.gate.Take(p.Data)
	d.counts.In++
	if len(p.Data) < packet.EthernetHeader || !d.any && !known(binary.BigEndian.Uint16(p.Data[12:])) {
		d.counts.NonIP++
		d.pool.Put(p)
		return
	}
	p.Size = d.framing.Frame(int32(len(p.Data)), 0, false)
	if !d.any {
		d.parse(p)
	}
	h.enter(p)
	d.fabric.Wake(h.node, now)
}

// parse reads the frame of p, once for all switches and links on its way, and finds its flow.
func (d *plane) parse(p *packet.Packet) {
	p.Flow = packet.NoFlow
	switch err := p.Parse(d.book, p.Data); {
	case err != nil: // the first switch drops it; until then it is bytes
		p.ClearExtensions()
		p.Kind, p.Payload = packet.Data, 0
	case d.flows != nil && p.Kind != packet.Pause && p.Kind != packet.Resume:
		p.Flow = d.flows.flow(p)
	}
}

// known reports whether switches take frames of a type.
func known(etherType uint16) bool {
	return etherType == packet.EtherIPv4 || etherType == packet.EtherIPv6 || etherType == packet.EtherControl
}
