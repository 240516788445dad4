package transporttest

import (
	"fmt"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/transport/transporttest/flowtest"
	"weir/core/unit"
)

// packetPayload is the payload of a full packet in bytes.
const packetPayload = flowtest.Payload

// Transport is a transport with the parameters and properties that the contract tests.
type Transport struct {
	Name   string
	Scheme transport.Scheme
	Params []string   // name, value, name, value, as an experiment file has them
	CC     *cc.Scheme // controller of a controlled transport

	SlowStart bool // it has a window that begins at ten packets and doubles each round trip
	Repairs   bool // it sends again what is lost
	Reports   bool // it passes cc.Ack.Limited to its controller
	Patient   bool // it sends no packet twice because a queue or a pause is long
	Probes    bool // without an answer it probes, and learns what is lost
	Backoff   bool // its timer doubles while no answer arrives
	Steady    bool // its timer is always the same
	Nacks     bool // it responds to NACKs of switches
	GoBack    bool // it sends again all that was sent after a lost packet

	// Waits are how long the sender waits for an answer: before the first reply, and then, after replies, for each
	// packet in a row; nil: it has no timer.
	Waits []Wait
	Rate  unit.Rate // payload per second that it sends on any path; 0: it has feedback

	// Script returns the datagrams of a flow of size bytes, for transports of captures; nil: the flow has its size only.
	Script func(size unit.Bytes) *transport.Script
	// MinSize is the payload of the smallest flow; 0: one byte.
	MinSize unit.Bytes

	// Control replaces a controller, for mutants; nil: it does not.
	Control func(c cc.Controller) cc.Controller
	// Wrap replaces the ends of a flow, for mutants; nil: it does not.
	Wrap func(sender, receiver transport.Endpoint) (transport.Endpoint, transport.Endpoint)
}

// networkPath is the network between the two ends: the sender's NIC, one queue in front of a link, and a way back
// without queues. The zero value of a field leaves that part out.
type networkPath struct {
	NIC      unit.Rate // of both hosts; 0: Rate
	Rate     unit.Rate // of the link
	Delay    unit.Time // each way
	Busy     unit.Time // how long what is in the queue at the beginning takes
	Limit    unit.Bytes
	Queueing unit.Time // what the flow knows of the queues (cc.Path.MaxQueueing)

	// when the link may start a packet that it could start at time at
	Pause func(at unit.Time) unit.Time
	Data  func(n int, p *packet.Packet) (fate packetFate)  // the fate of the n-th packet of the sender, from 0
	Reply func(n int, p *packet.Packet) (fate packetFate)  // of the receiver's
	Seen  func(at unit.Time, p *packet.Packet, reply bool) // called for each packet when it is sent
}

// packetFate is what the network does with a packet.
type packetFate struct {
	Lost   bool
	Nacked bool      // it is lost, and a switch next to the sender's NIC reports that by a NACK
	Later  unit.Time // how much later it arrives
}

// passage is a packet that arrives at a time; order keeps packets of one time in their order.
type passage struct {
	at    unit.Time
	order int
	p     *packet.Packet
	reply bool
}

// pipe is a flow on a path.
type pipe struct {
	Now      unit.Time
	Sender   transport.Endpoint
	Receiver transport.Endpoint
	Drops    int // at the queue's limit
	Sent     int // packets of the sender

	path              networkPath
	flow              transport.Flow
	air               []passage
	nicFree, linkFree unit.Time
	backFree          unit.Time
	replies, order    int
	steps             int
}

// A pipe that does not end after so many steps is at fault: minSteps, or with large flows maxStepsPerPacket each.
const (
	minSteps          = 300_000
	maxStepsPerPacket = 30
)

// newPipe makes a flow of size bytes with transport k on a path. It fails if k cannot be configured or built.
func newPipe(k Transport, path networkPath, size unit.Bytes) (*pipe, error) {
	if path.NIC == 0 {
		path.NIC = path.Rate
	}
	w := &pipe{path: path, linkFree: path.Busy}
	frame := unit.Bytes(packetPayload + 100)
	w.flow = flowtest.NewFlow(size)
	w.flow.Seed, w.flow.Host = 1, &cc.Host{}
	w.flow.Path = cc.Path{NICRate: path.NIC, LineRate: path.NIC, ReceiverRate: path.NIC, Hops: 1,
		MaxQueueing: path.Queueing,
		BaseRTT:     2*path.Delay + unit.TransmitTime(frame, path.NIC) + unit.TransmitTime(frame, path.Rate)}
	if k.Script != nil {
		w.flow.Script = k.Script(size)
	}
	config, err := k.Scheme.Configure(k.Params...)
	if err != nil {
		return nil, err
	}
	if k.CC != nil {
		controlled := *k.CC
		controlled.Rebuild = nil
		if k.Control != nil {
			controlled.Build = func(f cc.Flow, c scheme.Config) (cc.Controller, error) {
				x, err := k.CC.Build(f, c)
				if err != nil {
					return nil, err
				}
				return k.Control(x), nil
			}
		}
		w.flow.CC = &controlled
		if w.flow.CCConfig, err = k.CC.Configure(); err != nil {
			return nil, err
		}
	}
	if w.Sender, w.Receiver, err = k.Scheme.Build(w.flow, config); err != nil {
		return nil, err
	}
	if k.Wrap != nil {
		w.Sender, w.Receiver = k.Wrap(w.Sender, w.Receiver)
	}
	return w, nil
}

// send puts packet p of an end on its way at Now: reply: it is the receiver's. The hooks of the path
// decide its fate.
func (w *pipe) send(p *packet.Packet, reply bool) {
	if w.path.Seen != nil {
		w.path.Seen(w.Now, p, reply)
	}
	n, fate, hook := &w.Sent, packetFate{}, w.path.Data
	if reply {
		n, hook = &w.replies, w.path.Reply
	}
	if hook != nil {
		fate = hook(*n, p)
	}
	*n++
	var at unit.Time
	if reply {
		w.backFree = max(w.backFree, w.Now) + unit.TransmitTime(unit.Bytes(p.Size), w.path.NIC)
		at = w.backFree + w.path.Delay
	} else {
		w.nicFree = w.Now + unit.TransmitTime(unit.Bytes(p.Size), w.path.NIC)
		start := max(w.nicFree, w.linkFree)
		if w.path.Limit > 0 && w.path.Rate.BytesIn(start-w.nicFree) > w.path.Limit {
			w.Drops++
			return
		}
		if w.path.Pause != nil {
			start = w.path.Pause(start)
		}
		w.linkFree = start + unit.TransmitTime(unit.Bytes(p.Size), w.path.Rate)
		at = w.linkFree + w.path.Delay
	}
	if fate.Nacked {
		fate.Lost, reply, p, at = false, true, nackOf(p), w.nicFree
	}
	if fate.Lost {
		return
	}
	w.order++
	x := passage{at + fate.Later, w.order, p, reply}
	i := len(w.air)
	for i > 0 && w.air[i-1].at > x.at {
		i--
	}
	w.air = append(w.air, passage{})
	copy(w.air[i+1:], w.air[i:])
	w.air[i] = x
}

// nackOf returns the NACK that a switch makes of a data packet without room (BS'19 §4.3): its headers with the ends
// swapped, and the notice.
func nackOf(p *packet.Packet) *packet.Packet {
	q := *p
	q.ClearExtensions()
	q.SwapEnds()
	q.Kind, q.Payload, q.Data = packet.Nack, 0, nil
	q.SetNotification(&packet.Notification{Cause: packet.CauseTrimmed, Lost: p.Payload})
	return &q
}

// next returns the time of the next event, at least Now; unit.Never − 1 or later without one.
func (w *pipe) next() unit.Time {
	at := min(w.Sender.NextTimer(), w.Receiver.NextTimer())
	if t := w.Sender.NextSend(); t < unit.Never {
		at = min(at, max(t, w.nicFree))
	}
	at = min(at, w.Receiver.NextSend())
	if len(w.air) > 0 {
		at = min(at, w.air[0].at)
	}
	return max(at, w.Now)
}

// runUntil continues until the deadline, or until no event is left before it. The error is a fault of the transport: a
// timer that stays due, or steps without end.
func (w *pipe) runUntil(deadline unit.Time) error {
	for {
		at := w.next()
		if at > deadline || at >= unit.Never-1 {
			return nil
		}
		w.Now = at
		if w.steps++; w.steps > max(minSteps, maxStepsPerPacket*int(w.flow.Size/packetPayload)) {
			return fmt.Errorf("%v: no end after %d steps", w.Now, w.steps)
		}
		if err := w.step(); err != nil {
			return err
		}
	}
}

// step runs one event that is due: an arrival, a timer, or a packet that an end sends. It returns the error of a timer
// that stays due.
func (w *pipe) step() error {
	switch {
	case len(w.air) > 0 && w.air[0].at <= w.Now:
		x := w.air[0]
		w.air = w.air[1:]
		to := w.Receiver
		if x.reply {
			to = w.Sender
		}
		if to.Receive(w.Now, x.p) {
			w.send(x.p, !x.reply)
		}
	case w.Receiver.NextSend() <= w.Now:
		p := &packet.Packet{Flow: w.flow.ID, Src: 2, Dst: 1, Sent: w.Now}
		w.Receiver.Emit(w.Now, p)
		w.send(p, true)
	case w.Receiver.NextTimer() <= w.Now:
		return advance(w.Now, w.Receiver, "receiver")
	case w.Sender.NextTimer() <= w.Now:
		return advance(w.Now, w.Sender, "sender")
	case w.Sender.NextSend() <= w.Now && w.nicFree <= w.Now:
		p := &packet.Packet{Flow: w.flow.ID, Src: 1, Dst: 2, Sent: w.Now}
		w.Sender.Emit(w.Now, p)
		w.send(p, false)
	}
	return nil
}

// advance calls a timer that is due. It may shorten itself once, but must not stay due while the end does not
// send: a host would call it for ever.
func advance(now unit.Time, e transport.Endpoint, who string) error {
	for range 3 {
		if e.Advance(now); e.NextTimer() > now || e.NextSend() <= now {
			return nil
		}
	}
	return fmt.Errorf("%v: the %s's timer stays due", now, who)
}

// timeouts returns how often the sender's retransmission timer expired.
func (w *pipe) timeouts() int64 {
	if x, ok := w.Sender.(transport.Retransmitter); ok {
		return x.Timeouts()
	}
	return 0
}

// whole reports a flow that is not complete: each byte has to arrive, and both ends have to notice.
func (w *pipe) whole() error {
	s, r := w.Sender.Counters(), w.Receiver.Counters()
	if r.ReceivedBytes != w.flow.Size || s.Finished == unit.Never || r.Finished == unit.Never {
		return fmt.Errorf("%v: %v of %v arrived; finished at %v and %v", w.Now, r.ReceivedBytes, w.flow.Size, s.Finished,
			r.Finished)
	}
	return nil
}
