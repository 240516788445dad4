package rdma

import (
	"fmt"
	"strings"
	"testing"

	"weir/cc"
	"weir/cc/cubic"
	"weir/cc/dctcp"
	"weir/cc/none"
	"weir/cc/reno"
	"weir/cc/swift"
	"weir/internal/testutil"
	"weir/packet"
	"weir/scheme"
	"weir/transport"
	"weir/unit"
)

// nackOf is what a switch makes of data packet p that it has trimmed, or of which it says
// something else (BS'19 §4.3: endpoints swapped, a flag, no payload).
func nackOf(p *packet.Packet, cause packet.Cause, more ...packet.Span) *packet.Packet {
	n := packet.Notification{Cause: cause, Supply: 10 * unit.Gbps, Demand: 20 * unit.Gbps, Spans: uint8(len(more))}
	if cause == packet.CauseTrimmed || cause == packet.CauseReclaimed {
		n.Lost = p.Payload
	}
	copy(n.More[:], more)
	q := *p
	q.ClearExtensions()
	q.TurnRound()
	q.Kind, q.Payload, q.Data = packet.Nack, 0, nil
	q.SetNotification(&n)
	q.Size = packet.Framings[0].Frame(50+q.ExtensionBytes(), 0, false)
	return &q
}

// defaults are those of a scheme.
func defaults(t testing.TB, s scheme.Scheme) scheme.Values {
	t.Helper()
	values := map[string]any{}
	for _, p := range s.Params {
		x, err := scheme.Parse(p.Kind, p.Default)
		if err != nil {
			t.Fatal(err)
		}
		values[p.Name] = x
	}
	return scheme.NewValues(s.Name, values)
}

// rack is an incast: hosts behind one switch with a link each, all of which send to one
// more, at 100 Gb/s and 1 µs a link. The switch holds room packets; what finds no room
// is trimmed, and the NACK is back after a link's delay.
type rack struct {
	senders   []*Sender
	receivers []*Receiver
	queue     []flight
	room      int
	events    []rackEvent // by time
	free      []unit.Time
	now       unit.Time
	link      unit.Time // when the bottleneck is free
	trims     int64
	dropped   int
	lossy     bool // it drops and says nothing
	delivered unit.Bytes
}
type rackEvent struct {
	at   unit.Time
	host int
	kind uint8 // 0: data at the switch, 1: data at the receiver, 2: back at the sender, 3: the bottleneck is free
	p    *packet.Packet
}

func (r *rack) push(e rackEvent) {
	i, j := 0, len(r.events)
	for i < j {
		if m := (i + j) / 2; r.events[m].at > e.at {
			j = m
		} else {
			i = m + 1
		}
	}
	r.events = append(r.events, rackEvent{})
	copy(r.events[i+1:], r.events[i:])
	r.events[i] = e
}

func newRack(t testing.TB, n, room int, size unit.Bytes, scheme *cc.Scheme, values scheme.Values, change func(*Config)) *rack {
	r := &rack{room: room, free: make([]unit.Time, n)}
	for i := range n {
		c := Defaults()
		c.Recovery = SelectiveRepeat
		if change != nil {
			change(&c)
		}
		f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(i + 2), Dst: 1, SrcPort: uint16(10 + i), DstPort: 20, Version: 4, Size: size, Payload: payload, Framing: packet.Framings[0],
			Stop: unit.Never, Path: cc.Path{NICRate: lineRate, LineRate: lineRate * 1000 / 1050, BaseRTT: 4*us + 3*84*unit.Nanosecond}, CC: scheme, CCValues: values, Random: unit.NewRandom(uint64(i), "flow")}
		s, rc, err := New(f, c)
		if err != nil {
			t.Fatal(err)
		}
		r.senders, r.receivers = append(r.senders, s), append(r.receivers, rc)
	}
	return r
}

// run runs until all flows are done.
func (r *rack) run(t testing.TB, until unit.Time) {
	for {
		at, host, what := unit.Never, -1, 0
		for i, s := range r.senders {
			if x := s.NextTimer(); x < at {
				at, host, what = x, i, 1
			}
			if x := s.NextSend(); x != unit.Never && max(x, r.free[i], r.now) < at {
				at, host, what = max(x, r.free[i], r.now), i, 2
			}
		}
		if len(r.events) > 0 && r.events[0].at <= at {
			e := r.events[0]
			r.events = r.events[1:]
			r.now = max(r.now, e.at)
			switch e.kind {
			case 0:
				if len(r.queue) >= r.room {
					if r.trims++; !r.lossy {
						r.push(rackEvent{r.now + us, e.host, 2, nackOf(e.p, packet.CauseTrimmed)})
					}
				} else {
					r.queue = append(r.queue, flight{unit.Time(e.host), e.p})
					r.start()
				}
			case 1:
				if r.receivers[e.host].Receive(r.now, e.p) {
					r.push(rackEvent{r.now + 2*us, e.host, 2, e.p})
				}
			case 2:
				r.senders[e.host].Receive(r.now, e.p)
			case 3:
				r.start()
			}
			continue
		}
		if host < 0 || at > until {
			return
		}
		r.now = max(r.now, at)
		if what == 1 {
			r.senders[host].Advance(r.now)
			continue
		}
		p := &packet.Packet{Src: packet.Addr(host + 2), Dst: 1, Sent: r.now}
		r.senders[host].Emit(r.now, p)
		r.free[host] = r.now + unit.TransmitTime(unit.Bytes(p.Size), lineRate)
		r.push(rackEvent{r.free[host] + us, host, 0, p})
	}
}

// start lets the bottleneck send the next packet.
func (r *rack) start() {
	if len(r.queue) == 0 || r.link > r.now {
		return
	}
	x := r.queue[0]
	r.queue = r.queue[1:]
	r.link = r.now + unit.TransmitTime(unit.Bytes(x.p.Size), lineRate)
	r.push(rackEvent{r.link + us, int(x.at), 1, x.p})
	r.push(rackEvent{r.link, 0, 3, nil})
}

// The incast that NCF wants to help (BS'19 §4.3): each sender starts with a window of a
// BDP, and yet nobody waits for a timeout, whatever the switch has of room.
func TestNackIncast(t *testing.T) {
	for _, x := range []cc.Scheme{reno.Scheme(), cubic.Scheme(), dctcp.Scheme(), swift.Scheme(), none.Scheme()} {
		values := defaults(t, x.Scheme)
		if x.Name == "swift" {
			continue
		}
		if x.Name == "none" {
			x.Build = func(f cc.Flow, _ scheme.Values) (cc.Controller, error) { return none.New(f, 0, 1), nil }
		}

		for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
			for _, n := range []int{8, 256} {
				for _, room := range []int{20, 200} {
					const size = 20_000
					r := newRack(t, n, room, size, &x, values, func(c *Config) { c.Recovery = recovery })
					r.run(t, 100*unit.Millisecond)
					var last unit.Time
					var timeouts, again, taken, refused, duplicates int64
					for i, s := range r.senders {
						c := s.Counters()
						last = max(last, c.Finished)
						timeouts += s.Timeouts()
						again += c.Retransmitted
						taken += c.NacksTaken
						refused += c.NacksRefused
						duplicates += r.receivers[i].Counters().Duplicates
					}
					ideal := unit.TransmitTime(unit.Bytes(n)*size*1050/1000, lineRate)
					t.Logf("%s %s %d into %d: last %v of %v, timeouts %d, again %d of %d, taken %d, refused %d, duplicates %d", x.Name, recovery, n, room, last, ideal, timeouts, again, n*20, taken, refused, duplicates)
				}
			}
		}
	}
	_ = fmt.Sprint
	_ = strings.Split
	_ = testutil.Golden
}
