package transporttest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

func TestContract_HoldsForAllTransports(t *testing.T) {
	for _, k := range Transports() {
		t.Run(k.Name, func(t *testing.T) { Contract(t, k) })
	}
}

// impatient are transports that send packets twice because a queue or a pause is long.
var impatient = []string{"uet nscc", "uet rccc", "uet both", "uet estimated", "window"}

func TestImpatient_ListsSpuriousSenders(t *testing.T) {
	for _, k := range Transports() {
		err := noSpurious(k)
		if (err != nil) != slices.Contains(impatient, k.Name) {
			t.Errorf("%s: %v", k.Name, err)
		}
	}
}

// counter counts the errors of a contract, and keeps their texts.
type counter struct{ errors []string }

func (*counter) Helper() {}
func (c *counter) Errorf(format string, args ...any) {
	c.errors = append(c.errors, fmt.Sprintf(format, args...))
}

// altered is an end with single methods replaced.
type altered struct {
	transport.Endpoint
	receive func(now unit.Time, p *packet.Packet) bool
	emit    func(now unit.Time, p *packet.Packet)
	timer   func() unit.Time
	send    func() unit.Time
	advance func(now unit.Time)
	count   func() *transport.Counters
}

func (a *altered) Receive(now unit.Time, p *packet.Packet) bool {
	if a.receive != nil {
		return a.receive(now, p)
	}
	return a.Endpoint.Receive(now, p)
}

func (a *altered) Emit(now unit.Time, p *packet.Packet) {
	if a.Endpoint.NextSend() <= now { // a mutant may send at other times
		a.Endpoint.Emit(now, p)
	}
	if a.emit != nil {
		a.emit(now, p)
	}
}

func (a *altered) NextSend() unit.Time {
	if a.send != nil {
		return a.send()
	}
	return a.Endpoint.NextSend()
}

func (a *altered) NextTimer() unit.Time {
	if a.timer != nil {
		return a.timer()
	}
	return a.Endpoint.NextTimer()
}

func (a *altered) Advance(now unit.Time) {
	if a.advance != nil {
		a.advance(now)
		return
	}
	a.Endpoint.Advance(now)
}

func (a *altered) Counters() *transport.Counters {
	if a.count != nil {
		return a.count()
	}
	return a.Endpoint.Counters()
}

// opinion is a controller with changed decisions or acknowledgements.
type opinion struct {
	cc.Controller
	decide func(d *cc.Decision)
	ack    func(a *cc.Ack)
}

func (o *opinion) Decision() cc.Decision {
	d := o.Controller.Decision()
	if o.decide != nil {
		o.decide(&d)
	}
	return d
}

func (o *opinion) OnAck(now unit.Time, a *cc.Ack) {
	if o.ack != nil {
		o.ack(a)
	}
	o.Controller.OnAck(now, a)
}

// ofSender and ofReceiver change one end.
func ofSender(change func(a *altered)) func(s, r transport.Endpoint) (transport.Endpoint, transport.Endpoint) {
	return func(s, r transport.Endpoint) (transport.Endpoint, transport.Endpoint) {
		a := &altered{Endpoint: s}
		change(a)
		return a, r
	}
}

func ofReceiver(change func(a *altered)) func(s, r transport.Endpoint) (transport.Endpoint, transport.Endpoint) {
	return func(s, r transport.Endpoint) (transport.Endpoint, transport.Endpoint) {
		a := &altered{Endpoint: r}
		change(a)
		return s, a
	}
}

// mutant is a transport with one fault, and the promise that it breaks.
type mutant struct {
	name, promise string
	control       func(c cc.Controller) cc.Controller
	wrap          func(s, r transport.Endpoint) (transport.Endpoint, transport.Endpoint)
}

// mutants are the faults that the contract must notice.
var mutants = []mutant{
	{"ignores slow start", "slow start doubles", func(c cc.Controller) cc.Controller {
		return &opinion{Controller: c, ack: func(a *cc.Ack) { a.Limited = a.Limited && a.Flight.Before == a.Flight.After }}
	}, nil},
	{"reports a limit always", "limited by the window", func(c cc.Controller) cc.Controller {
		return &opinion{Controller: c, ack: func(a *cc.Ack) { a.Limited = true }}
	}, nil},
	{"reports a limit never", "limited by the window", func(c cc.Controller) cc.Controller {
		return &opinion{Controller: c, ack: func(a *cc.Ack) { a.Limited = false }}
	}, nil},
	{"counts the half after the acknowledgement", "limited by the window", func(c cc.Controller) cc.Controller {
		return &opinion{Controller: c, ack: func(a *cc.Ack) {
			d := c.Decision()
			a.Limited = d.IsLimited(int64(a.Flight.After)*packetPayload, packetPayload)
		}}
	}, nil},
	{"sends its latest packet each 20 us", "dead link", nil, ofSender(func(a *altered) {
		due, last := unit.Never, packet.Packet{}
		a.emit = func(now unit.Time, p *packet.Packet) {
			if due <= now {
				*p = last
				p.Sent, p.Resent = now, packet.ResentTimeout
			}
			last, due = *p, now+20*us
		}
		a.receive = func(now unit.Time, p *packet.Packet) bool {
			due = unit.Never
			return a.Endpoint.Receive(now, p)
		}
		a.send = func() unit.Time { return min(due, a.Endpoint.NextSend()) }
	})},
	{"asks every 100 us", "timeout doubles", nil, ofSender(func(a *altered) {
		due, expired := unit.Never, false
		a.emit = func(now unit.Time, _ *packet.Packet) { due, expired = now+100*us, false }
		a.timer = func() unit.Time { return min(due, a.Endpoint.NextTimer()) }
		a.send = func() unit.Time {
			if t := a.Endpoint.NextSend(); !expired || t == unit.Never {
				return t
			}
			return 0
		}
		a.advance = func(now unit.Time) {
			due, expired = unit.Never, true
			a.Endpoint.Advance(max(now, a.Endpoint.NextTimer()))
		}
	})},
	{"waits three times too long at first", "first wait", nil, ofSender(scalesFirstWait(3, 1))},
	{"waits a third of the time at first", "first wait", nil, ofSender(scalesFirstWait(1, 3))},
	{"waits longer each time", "timeout stays", nil, ofSender(func(a *altered) {
		more := unit.Time(0)
		a.timer = func() unit.Time {
			if t := a.Endpoint.NextTimer(); t < unit.Never {
				return t + more
			}
			return unit.Never
		}
		a.advance = func(now unit.Time) {
			more += us
			a.Endpoint.Advance(now)
		}
	})},
	{"has a timer that stays due", "loss repaired", nil, ofSender(func(a *altered) {
		a.timer = func() unit.Time { return min(a.Endpoint.NextTimer(), 100*us) }
	})},
	{"has no timer", "loss repaired", nil, ofSender(func(a *altered) {
		a.timer = func() unit.Time { return unit.Never }
	})},
	{"sends the last packet again after 1 ms", "no spurious packets", nil, ofSender(func(a *altered) {
		due, last := unit.Never, packet.Packet{}
		a.emit = func(now unit.Time, p *packet.Packet) {
			if due <= now {
				flow, src, dst := p.Flow, p.Src, p.Dst
				*p = last
				p.Flow, p.Src, p.Dst, p.Sent = flow, src, dst, now
			}
			last, due = *p, now+ms
		}
		a.send = func() unit.Time { return min(due, a.Endpoint.NextSend()) }
	})},
	{"loses the answers of probes", "last packet repaired", nil, ofSender(func(a *altered) {
		a.receive = func(now unit.Time, p *packet.Packet) bool {
			return p.Kind != packet.Probe && a.Endpoint.Receive(now, p)
		}
		a.timer = func() unit.Time { return a.Endpoint.NextTimer() + 100*ms }
	})},
	{"sends the last packet again at each tenth reply", "no early copies", nil, ofSender(func(a *altered) {
		last, due, replies := packet.Packet{}, false, 0
		a.receive = func(now unit.Time, p *packet.Packet) bool {
			replies++
			due = replies%10 == 0 && last.Payload > 0
			return a.Endpoint.Receive(now, p)
		}
		a.emit = resends(&last, &due)
		a.send = func() unit.Time {
			if due {
				return 0
			}
			return a.Endpoint.NextSend()
		}
	})},
	{"sends a packet for each NACK of a switch", "hold-off", nil, ofSender(func(a *altered) {
		last, due := packet.Packet{}, 0
		a.receive = func(now unit.Time, p *packet.Packet) bool {
			if _, notified := p.Extension(packet.ExtNotification); notified {
				due++
			}
			return a.Endpoint.Receive(now, p)
		}
		a.emit = func(now unit.Time, p *packet.Packet) {
			again := due > 0
			if resends(&last, &again)(now, p); !again && due > 0 {
				due--
			}
		}
		a.send = func() unit.Time {
			if due > 0 {
				return 0
			}
			return a.Endpoint.NextSend()
		}
	})},
	{"loses short packets", "sizes", nil, ofReceiver(func(a *altered) {
		a.receive = func(now unit.Time, p *packet.Packet) bool {
			return (p.Payload == 0 || p.Payload == packetPayload) && a.Endpoint.Receive(now, p)
		}
	})},
	{"counts bytes twice", "sizes", nil, ofReceiver(func(a *altered) {
		a.count = func() *transport.Counters {
			c := *a.Endpoint.Counters()
			c.ReceivedBytes *= 2
			return &c
		}
	})},
	{"counts late packets as new ones", "order", nil, ofReceiver(func(a *altered) {
		highest, late := int64(-1), unit.Bytes(0)
		a.receive = func(now unit.Time, p *packet.Packet) bool {
			if p.Payload > 0 && p.Seq < highest {
				late += unit.Bytes(p.Payload)
			}
			highest = max(highest, p.Seq)
			return a.Endpoint.Receive(now, p)
		}
		a.count = func() *transport.Counters {
			c := *a.Endpoint.Counters()
			c.ReceivedBytes += late
			return &c
		}
	})},
	{"waits longer after each timeout for good", "heavy loss repaired", nil, ofSender(func(a *altered) {
		more := ms
		a.timer = func() unit.Time {
			if t := a.Endpoint.NextTimer(); t < unit.Never {
				return t + more
			}
			return unit.Never
		}
		a.advance = func(now unit.Time) {
			more *= 4
			a.Endpoint.Advance(now)
		}
	})},
	{"sends a packet twice", "sent once", nil, ofSender(func(a *altered) {
		last, count := packet.Packet{}, 0
		a.emit = func(now unit.Time, p *packet.Packet) {
			count++
			again := count == 100
			resends(&last, &again)(now, p)
		}
	})},
	{"sends a hundredth less than its rate", "rate", nil, ofSender(func(a *altered) {
		a.send = func() unit.Time {
			if t := a.Endpoint.NextSend(); t < unit.Never {
				return t + t/100
			}
			return unit.Never
		}
	})},
	{"sends at random", "determinism", nil, ofSender(func(a *altered) {
		a.emit = func(_ unit.Time, p *packet.Packet) {
			sequence++
			p.Size += sequence % 1009
		}
	})},
}

// scalesFirstWait multiplies the first wait of a sender after each packet that it sends or receives.
func scalesFirstWait(factor, divisor unit.Time) func(a *altered) {
	return func(a *altered) {
		began, expired := unit.Time(0), false
		a.emit = func(now unit.Time, _ *packet.Packet) {
			if !expired {
				began = now
			}
		}
		a.receive = func(now unit.Time, p *packet.Packet) bool {
			began, expired = now, false
			return a.Endpoint.Receive(now, p)
		}
		a.timer = func() unit.Time {
			t := a.Endpoint.NextTimer()
			if expired || t == unit.Never {
				return t
			}
			return began + max(t-began, 0)*factor/divisor
		}
		a.send = func() unit.Time {
			if t := a.Endpoint.NextSend(); !expired || t == unit.Never {
				return t
			}
			return 0
		}
		a.advance = func(now unit.Time) {
			expired = true
			a.Endpoint.Advance(max(now, a.Endpoint.NextTimer()))
		}
	}
}

// resends replaces what a sender emits by the last packet of its, once it is due.
func resends(last *packet.Packet, due *bool) func(now unit.Time, p *packet.Packet) {
	return func(now unit.Time, p *packet.Packet) {
		if *due && last.Payload > 0 {
			*p = *last
			p.Sent, *due = now, false
		}
		*last = *p
	}
}

var sequence int32 // of the packets of a mutant

// TestContract_DetectsMutants checks that the check of a promise detects each mutant that breaks it, for each transport
// that gives the promise.
func TestContract_DetectsMutants(t *testing.T) {
	for _, m := range mutants {
		i := slices.IndexFunc(promises, func(p promise) bool { return p.name == m.promise })
		if i < 0 {
			t.Fatalf("%s: there is no promise %q", m.name, m.promise)
		}
		tried := 0
		for _, k := range Transports() {
			if p := promises[i]; p.applies != nil && !p.applies(&k) {
				continue
			}
			tried++
			k.Control, k.Wrap = m.control, m.wrap
			if err := promises[i].check(k); err == nil {
				t.Errorf("%s: %s: the check of %q does not notice", k.Name, m.name, m.promise)
			}
		}
		if tried == 0 {
			t.Errorf("%s: no transport promises %q", m.name, m.promise)
		}
	}
}

// TestPromisesHaveMutants checks that each promise has a mutant that breaks it.
func TestPromisesHaveMutants(t *testing.T) {
	for _, p := range promises {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.promise == p.name }) {
			t.Errorf("no mutant breaks %q", p.name)
		}
	}
}

// TestContractReports checks that Contract reports the promise and the transport that breaks it.
func TestContractReports(t *testing.T) {
	k := Transports()[2] // rdma, selective repeat
	k.Wrap = ofSender(func(a *altered) { a.timer = func() unit.Time { return unit.Never } })
	var c counter
	Contract(&c, k)
	if !slices.ContainsFunc(c.errors, func(e string) bool { return strings.HasPrefix(e, k.Name+": loss repaired: ") }) {
		t.Errorf("a sender without a timer: %q", c.errors)
	}
}
