package sim

import (
	"cmp"
	"fmt"
	"slices"

	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// A run continues to its duration unless no pending event can change anything: no endpoint wants to send or has a
// timer, no packet is in the network, no event of a link is scheduled, and no flow has yet to start. Repetitive events
// do not count: samples, stalls of idle hosts, renewed pauses, probes between switches, and ticks of programs that are
// idle (dataplane.Idler). Packets that PFC holds are in the network: if they block each other, deadlock finds them.

// hasPending reports whether an event can still affect an unfinished flow. It keeps the NIC that it finds busy in
// d.busy until the next call. All nodes must have reached the same time.
func (d *drive) hasPending() bool {
	if len(d.events) > 0 {
		return true
	}
	if h := d.hosts[d.busy]; h != nil && h.isBusy() { // the host that was last found is mostly still busy
		return true
	}
	for i, h := range d.hosts {
		if h != nil && h.isBusy() {
			d.busy = i
			return true
		}
	}
	for _, sw := range d.switches {
		if sw != nil && !sw.Idle() {
			return true
		}
	}
	for i := range d.linkOf {
		for p := range d.fabric.OnWire(i) {
			if d.isRelevant(i, p) {
				return true
			}
		}
	}
	return false
}

// isRelevant reports whether a packet on a link can change more than a switch's view of its paths. link is an index
// of linkOf.
func (r *Simulation) isRelevant(link int, p *packet.Packet) bool {
	switch p.Kind {
	case packet.Pause, packet.Resume:
		return false // they hold and release packets, and no packet waits
	case packet.Probe: // of a switch, to a switch
		return p.Meta.Flags&packet.Internal == 0 || !r.linkOf[link^1].OfSwitch
	}
	return true
}

// isBusy reports whether the host has events of its own: an endpoint sends, now or later, or has a timer, or packets
// wait.
func (h *host) isBusy() bool {
	return h.ready >= 0 || len(h.held) > 0 || len(h.kept) > 0 || h.port.Packets() > 0 ||
		h.nextSend() != unit.Never || h.nextTimer() != unit.Never || h.jobs != nil && h.jobs.next != unit.Never
}

// maxWaits is the maximum number of flows that a result explains.
const maxWaits = 20

// explainWaits explains what the first maxWaits unfinished flows wait for, and which links that are down lost packets
// of them. All nodes must have reached the same time.
func (r *Simulation) explainWaits(now unit.Time, unfinished []int) []outcome.Wait {
	if len(unfinished) > maxWaits {
		unfinished = unfinished[:maxWaits]
	}
	if len(unfinished) == 0 {
		return nil
	}
	packets := map[packet.FlowID]int{}
	r.eachPacket(func(p *packet.Packet) {
		if p.Kind != packet.Probe || p.Meta.Flags&packet.Internal == 0 { // a switch's probes are of no flow
			packets[p.Flow]++
		}
	})
	out, down := make([]outcome.Wait, 0, len(unfinished)), r.downLinks()
	for _, i := range unfinished {
		w := r.waitsFor(i, now)
		w.InNetwork = packets[packet.FlowID(i)]
		w.Down = r.lostAt(i, down)
		out = append(out, w)
	}
	return out
}

// downLinks returns the directions of links that are down, as indices of linkOf.
func (r *Simulation) downLinks() (down []int) {
	for i, d := range r.linkOf {
		if r.portOf(d).IsDown() {
			down = append(down, i)
		}
	}
	return down
}

// lostAt returns the directions of links, among some that are down, at which packets of a flow were lost since its
// start. Directions are indices of linkOf.
func (r *Simulation) lostAt(flow int, down []int) (found []int) {
	for _, i := range down {
		if last := r.fabric.LastLoss(i, packet.FlowID(flow)); last >= 0 && last >= r.outcome[flow].Start {
			found = append(found, i)
		}
	}
	return found
}

// maxMessageWaits limits the messages that a result explains for each job.
const maxMessageWaits = 3

// messageWaits explains up to maxMessageWaits messages of unfinished job j that are in flight, or that their senders
// wrote off. Messages with packets that were lost at links that are down come first, then the oldest ones. All nodes
// must have reached the same time.
func (r *Simulation) messageWaits(j int, now unit.Time) (out []outcome.MessageWait) {
	x, down := r.jobs, r.downLinks()
	var open, intact []int
	for k := range x.message {
		flow := r.listed + k
		s := r.sender[flow]
		if x.message[k].job == int32(j) && s >= 0 && (!r.isComplete(flow) ||
			r.hosts[r.config.Flows[flow].Src].slot[s].counters.Finished == unit.Never) {
			if r.lostAt(flow, down) != nil {
				open = append(open, flow)
			} else {
				intact = append(intact, flow)
			}
		}
	}
	for _, list := range [][]int{open, intact} {
		slices.SortFunc(list, func(a, b int) int {
			return cmp.Compare(x.message[a-r.listed].number, x.message[b-r.listed].number)
		})
	}
	open = append(open, intact...)
	open = open[:min(len(open), maxMessageWaits)]
	for i, w := range r.explainWaits(now, open) {
		m := &x.message[open[i]-r.listed]
		out = append(out, outcome.MessageWait{From: int(m.From), To: int(m.to), Size: m.Size,
			Received: r.receivedBytes(open[i]), Wait: w})
	}
	return out
}

// eachPacket visits the packets on links and in the queues of ports. It omits packets that hosts keep during a stall,
// and those that switches recirculate. visit must not change them.
func (r *Simulation) eachPacket(visit func(*packet.Packet)) {
	for i := range r.linkOf {
		if !r.fabric.IsLinkEmpty(i) {
			for p := range r.fabric.OnWire(i) {
				visit(p)
			}
		}
		port := r.portOf(r.linkOf[i])
		if port.Packets() == 0 {
			continue
		}
		for q := range port.Queues() {
			for p := range port.Queue(uint8(q)).All() {
				visit(p)
			}
		}
	}
}

// waitsFor explains what flow i waits for, without InNetwork and Down. It may make the flow's sender (senderSlot).
func (r *Simulation) waitsFor(i int, now unit.Time) outcome.Wait {
	f := &r.config.Flows[i]
	w := outcome.Wait{Flow: i, Until: unit.Never}
	if r.missing != nil && r.missing[i] > 0 {
		w.For = "its predecessors"
		for _, j := range f.After {
			if r.receivedBytes(j) < r.config.Flows[j].Size {
				w.For = fmt.Sprintf("its predecessor, flow %d", j)
				break
			}
		}
		return w
	}
	h, s := r.hosts[f.Src], r.senderSlot(i, now)
	if s == nil {
		if w.For = "no event: its sender could not be created"; now < r.outcome[i].Start {
			w.For, w.Until = "its start", r.outcome[i].Start
		}
		return w
	}
	e := s.endpoint
	send, timer, other := e.NextSend(), e.NextTimer(), unit.Never
	if d := r.receiverSlot(i); d != nil {
		other = d.endpoint.NextTimer()
	}
	switch {
	case now < r.outcome[i].Start:
		w.For, w.Until = "its start", r.outcome[i].Start
	case send <= now && h.port.PausedQueues()&(1<<s.class) != 0:
		w.For = fmt.Sprintf("its host, where PFC pauses class %d", s.class)
	case send <= now:
		w.For = "its host's link"
	case send != unit.Never && send <= timer:
		w.For, w.Until = "its pacing", send
	case timer != unit.Never:
		w.For, w.Until = "its timer", timer
	case other != unit.Never:
		w.For, w.Until = "its receiver's timer", other
	default:
		w.For = "no event: it has no timer and no data to send"
		if a, ok := e.(transport.Abandoner); ok && a.Abandoned() {
			w.For = "no event: its connection has timed out"
		}
	}
	return w
}
