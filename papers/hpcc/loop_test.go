package hpcc

import (
	"slices"
	"testing"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
)

// incast is HPCC §5.4's: a number of senders at one switch, links of 100 Gb/s and 1 µs, packets of 1000 B, an ACK for
// each. All start at time 0 and never end.
type incast struct {
	events  []incastEvent // by time
	flows   []incastFlow
	queue   []incastEvent
	busy    bool
	now     unit.Time
	tx      uint64
	settled unit.Time    // from here on:
	samples []unit.Bytes // queue behind each packet
	acked   []int64      // bytes, by flow
}

type incastFlow struct {
	control   cc.Controller
	una, next int64
	last      unit.Time // pacing: when the last packet went
	waiting   bool      // a send is scheduled, by the rate that holds
}

type incastEvent struct {
	at   unit.Time
	kind byte // 's' send, 'q' into the queue, 'd' the port is free, 'a' ACK
	flow int
	end  int64
	hop  telemetry.Hop
}

const (
	incastPacket = 80 * ns // of a packet at 100 Gb/s
	incastT      = 4*us + 2*incastPacket
)

// add puts an event into its place by time, behind all others of that time.
func (n *incast) add(e incastEvent) {
	i, _ := slices.BinarySearchFunc(n.events, e.at, func(e incastEvent, at unit.Time) int {
		if e.at <= at {
			return -1
		}
		return 1
	})
	n.events = slices.Insert(n.events, i, e)
}

func (n *incast) send(i int) {
	f := &n.flows[i]
	d := f.control.Decision()
	if f.waiting || f.next-f.una >= int64(d.Window) {
		return
	}
	if free := f.last + unit.TransmitTime(1000, d.Rate); f.next > 0 && free > n.now {
		f.waiting = true
		n.add(incastEvent{at: free, kind: 's', flow: i})
		return
	}
	f.next += 1000
	f.last = n.now
	n.add(incastEvent{at: n.now + incastPacket + us, kind: 'q', flow: i, end: f.next})
	n.send(i)
}

func (n *incast) serve() {
	if len(n.queue) == 0 {
		n.busy = false
		return
	}
	p := n.queue[0]
	n.queue = n.queue[1:]
	n.busy = true
	h := hop(1, n.now, n.tx, unit.Bytes(len(n.queue))*1000)
	n.tx += 1000
	if n.now >= n.settled {
		n.samples = append(n.samples, h.Queue)
	}
	n.add(incastEvent{at: n.now + incastPacket, kind: 'd'})
	n.add(incastEvent{at: n.now + incastPacket + 3*us, kind: 'a', flow: p.flow, end: p.end, hop: h})
}

// runIncast runs 16 flows to one receiver for the given number of round trips, and measures after the first settle
// ones.
func runIncast(t *testing.T, settle, trips int, change func(c *Config)) *incast {
	const flows = 16
	n := &incast{acked: make([]int64, flows), settled: unit.Time(settle) * incastT}
	for range flows {
		f := newFlow()
		f.BaseRTT = incastT
		n.flows = append(n.flows, incastFlow{control: newSender(t, f, change)})
	}
	for i := range n.flows {
		n.send(i)
	}
	for len(n.events) > 0 && n.now < unit.Time(trips)*incastT {
		e := n.events[0]
		n.events = n.events[1:]
		n.now = e.at
		f := &n.flows[e.flow]
		switch e.kind {
		case 's':
			f.waiting = false
			n.send(e.flow)
		case 'q':
			n.queue = append(n.queue, e)
			if !n.busy {
				n.serve()
			}
		case 'd':
			n.serve()
		case 'a':
			if n.now >= n.settled {
				n.acked[e.flow] += e.end - f.una
			}
			f.una = e.end
			f.control.OnAck(n.now, &cc.Ack{FirstUnacked: f.una, Next: f.next, Bytes: 1000, Packets: 1,
				Telemetry: cc.Telemetry{Hops: []telemetry.Hop{e.hop},
					Path: 1}})
			f.waiting = false // a new rate moves the pending send
			n.send(e.flow)
		}
	}
	return n
}

// p95 is the queue's, in bytes.
func (n *incast) p95() unit.Bytes {
	slices.Sort(n.samples)
	return n.samples[len(n.samples)*95/100]
}

// utilisation returns the utilisation of the port.
func (n *incast) utilisation() float64 {
	sum := int64(0)
	for _, x := range n.acked {
		sum += x
	}
	return float64(sum) * 8 / (n.now - n.settled).Seconds() / 100e9
}

// TestSender_IncastDrainsToShortQueue checks HPCC §5.4, a 16-to-1 incast of flows that start at line rate, which first
// leaves 16 B·T in the queue. After 40 round trips the queue is short, the port full, and flows share it. The paper's
// queues at the 95th percentile are at most 4 kB with increases up to 150 B, and 13 kB with 300 B. Here they are 3, 5
// and 12 kB with 25, 150 and 300 B. They are 11 kB with 150 B if a new rate does not move the pending send, because
// packets then bunch.
func TestSender_IncastDrainsToShortQueue(t *testing.T) {
	small, large := runIncast(t, 40, 400, func(c *Config) { c.WAI = 25 }), runIncast(t, 40, 400,
		func(c *Config) { c.WAI = 300 })
	middle := runIncast(t, 40, 400, func(c *Config) { c.WAI = 150 })
	t.Logf("W_ai 25 B: %v, %.3f; 150 B: %v, %.3f; 300 B: %v, %.3f", small.p95(), small.utilisation(), middle.p95(),
		middle.utilisation(), large.p95(), large.utilisation())
	if small.p95() > 4000 || small.utilisation() < 0.9 {
		t.Errorf("W_ai of 25 B: a queue of %v at the 95th percentile, utilisation %.3f", small.p95(), small.utilisation())
	}
	if middle.p95() > 6000 || middle.utilisation() < 0.95 {
		t.Errorf("W_ai of 150 B: a queue of %v, utilisation %.3f", middle.p95(), middle.utilisation())
	}
	if large.p95() < 10000 || large.p95() > 16000 || large.utilisation() < 0.95 {
		t.Errorf("W_ai of 300 B: a queue of %v, utilisation %.3f", large.p95(), large.utilisation())
	}
	sum, squares := 0.0, 0.0
	for _, x := range large.acked {
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	if jain := sum * sum / (16 * squares); jain < 0.95 {
		t.Errorf("Jain's index is %.3f", jain)
	}
}

// TestSender_PerACKReactionOverreacts checks HPCC §3.2 and §5.4: a commit at each ACK overreacts, and throughput falls.
// One commit per round trip drains the first burst slowly.
func TestSender_PerACKReactionOverreacts(t *testing.T) {
	early := func(mode Mode) (unit.Bytes, float64) {
		n := runIncast(t, 10, 60, func(c *Config) { c.Mode, c.WAI = mode, 25 })
		return n.p95(), n.utilisation()
	}
	queue, used := early(PlusPlus)
	queueACK, usedACK := early(PerACK)
	queueRTT, usedRTT := early(PerRTT)
	t.Logf("hpcc++: %v, %.3f; per_ack: %v, %.3f; per_rtt: %v, %.3f", queue, used, queueACK, usedACK, queueRTT, usedRTT)
	if usedACK > used-0.2 {
		t.Errorf("utilisation: %.3f per ACK, %.3f of HPCC++", usedACK, used)
	}
	if queueRTT < queue {
		t.Errorf("queue: %v per round trip, %v of HPCC++", queueRTT, queue)
	}
}
