package rdma

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/reno"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
)

// lossCounter counts the losses that a controller is notified of.
type lossCounter struct {
	cc.Controller
	losses *int
}

func (h lossCounter) OnLoss(now unit.Time, l cc.Loss) {
	if l.Kind == cc.FastRecovery || l.Kind == cc.ECNEcho {
		*h.losses++
	}
	h.Controller.OnLoss(now, l)
}

// attack is a rack on which NACKs are forged.
type attack struct {
	t      *testing.T
	scheme cc.Scheme
	losses int // that the controllers are told of
	forged int // NACKs
}

const attacked = 500_000 // bytes of the flow that is attacked

func newAttack(t *testing.T) *attack {
	a := &attack{t: t, scheme: reno.Scheme()}
	build := a.scheme.Build
	a.scheme.Build = func(f cc.Flow, config scheme.Config) (cc.Controller, error) {
		c, err := build(f, config)
		return lossCounter{c, &a.losses}, err
	}
	return a
}

// runFlows runs n flows under the attack until they end. It returns the rack, and the flows' ends, retransmissions and
// timeouts as text.
func (a *attack) runFlows(n, room int, size unit.Bytes, begin func(r *rack), change func(*Config)) (*rack, string) {
	a.losses, a.forged = 0, 0
	r := newRack(a.t, n, room, size, &a.scheme, change)
	if begin != nil {
		begin(r)
	}
	r.runUntil(a.t, 100*unit.Millisecond)
	var b strings.Builder
	for i, s := range r.senders {
		if s.Counters().Finished == unit.Never {
			a.t.Errorf("flow %d is not finished", i)
		}
		fmt.Fprintln(&b, s.Counters().Finished, s.Counters().Retransmitted, s.Timeouts())
	}
	return r, b.String()
}

// forge returns a function that makes a rack return a NACK, altered by change, for each data packet.
func (a *attack) forge(change func(p *packet.Packet)) func(r *rack) {
	return func(r *rack) {
		r.onData = func(host int, p *packet.Packet) {
			q := nackOf(p, packet.CauseTrimmed)
			change(q)
			a.forged++
			r.push(rackEvent{r.now + us, host, 2, q})
		}
	}
}

// TestNackAttacks checks attackers (BS'19 §5) that lack the ports, the sequence number or the number of the
// transmission. None of their NACKs counts. Of random sequence numbers, packets / 2²⁴ would hit.
func TestNackAttacks(t *testing.T) {
	random := unit.NewRandom(1, "attacker")
	a := newAttack(t)
	_, quiet := a.runFlows(1, 1000, attacked, nil, nil)
	for name, change := range map[string]func(p *packet.Packet){
		"without the tuple":       func(p *packet.Packet) { p.SrcPort, p.DstPort = p.SrcPort+uint16(a.forged), p.DstPort+1 },
		"random sequence numbers": func(p *packet.Packet) { p.Seq = random.Int64N(1 << 24) },
		"another number":          func(p *packet.Packet) { p.Ack = 1 + int64(a.forged%127) },
	} {
		t.Run(name, func(t *testing.T) {
			r, got := a.runFlows(1, 1000, attacked, a.forge(change), nil)
			if c := r.senders[0].Counters(); got != quiet || a.forged < 500 || c.NacksTaken != 0 ||
				c.NacksRefused != int64(a.forged) {
				t.Errorf("%d attacks, %d taken, %d refused; %s, in quiet %s", a.forged, c.NacksTaken, c.NacksRefused, got,
					quiet)
			}
		})
	}
}

// TestNackSweep checks a sweep over all places at which packets can begin, at once. It hits the packets in flight and
// causes one reduction. Of packets that arrive meanwhile, none is resent.
func TestNackSweep(t *testing.T) {
	a := newAttack(t)
	_, quiet := a.runFlows(1, 1000, attacked, nil, nil)
	swept, out := int64(0), 0
	r, got := a.runFlows(1, 1000, attacked, func(r *rack) {
		r.onData = func(host int, p *packet.Packet) {
			if p.Seq != 250 || p.Ack != 0 {
				return
			}
			out = int(r.senders[0].inFlight())
			for seq := range int64(100_000) {
				q := *p
				q.Seq = seq
				r.senders[0].Receive(r.now, nackOf(&q, packet.CauseTrimmed))
				swept++
			}
		}
	}, nil)
	c := r.senders[0].Counters()
	t.Logf("a sweep of %d sequence numbers: %d of the %d packets in flight, %d reductions; FCT %s, in quiet %s", swept,
		c.NacksTaken, out, a.losses, strings.Fields(got)[0], strings.Fields(quiet)[0])
	if c.NacksTaken != int64(out) || c.Retransmitted > int64(out) || c.Retransmitted < int64(out)/2 || a.losses != 1 {
		t.Errorf("%d packets were in flight, %d NACKs taken, %d packets sent again, %d reductions", out, c.NacksTaken,
			c.Retransmitted, a.losses)
	}
}

// TestNackReplays checks that replays of genuine NACKs change no state.
func TestNackReplays(t *testing.T) {
	a := newAttack(t)
	_, quiet := a.runFlows(8, 20, 100_000, nil, nil)
	replays := int64(0)
	r, got := a.runFlows(8, 20, 100_000, func(r *rack) {
		r.onNack = func(host int, p *packet.Packet) {
			for _, later := range []unit.Time{0, 1, us, 3 * us, 10 * us, 30 * us} {
				q := *p
				replays++
				r.push(rackEvent{r.now + us + later, host, 2, &q})
			}
		}
	}, nil)
	_, _, _, taken, refused := r.sum()
	if got != quiet || taken != r.trims || refused < replays*9/10 || replays < 1000 {
		t.Errorf("replays: %d NACKs, %d taken, %d of %d replays refused;\n%s\nwithout:\n%s", r.trims, taken, refused, replays,
			got, quiet)
	}
}

// TestNackOfDelivered checks that NACKs for delivered packets cost at most one reduction per round trip.
func TestNackOfDelivered(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat} {
		t.Run(recovery, func(t *testing.T) {
			a := newAttack(t)
			r, _ := a.runFlows(1, 1000, attacked, a.forge(func(*packet.Packet) {}), func(c *Config) { c.Recovery = recovery })
			c, fct := r.senders[0].Counters(), r.senders[0].Counters().Finished
			t.Logf("a NACK for each packet that is delivered: %d of %d taken, %d reductions in %v (%.1f round trips), %d "+
				"packets sent again", c.NacksTaken, a.forged, a.losses, fct, float64(fct)/float64(4*us), c.Retransmitted)
			if c.NacksTaken == 0 || float64(a.losses) > float64(fct)/float64(4*us)+1 || recovery == SelectiveRepeat &&
				c.Retransmitted > c.NacksTaken {
				t.Errorf("%d taken, %d reductions in %v, %d packets sent again", c.NacksTaken, a.losses, fct, c.Retransmitted)
			}
		})
	}
}

// TestNackKeyed checks that with a key NACKs of switches, which have no key, are refused. Timeouts repair instead.
func TestNackKeyed(t *testing.T) {
	r, _ := newAttack(t).runFlows(8, 20, 100_000, nil,
		func(c *Config) { c.Telemetry.Integrity = transport.IntegrityKeyed })
	if _, timeouts, _, taken, refused := r.sum(); taken != 0 || refused != r.trims || timeouts == 0 {
		t.Errorf("with a key: %d NACKs, %d taken, %d refused, %d timeouts", r.trims, taken, refused, timeouts)
	}
}

// FuzzSender_FinishesDespiteForgedNacks runs scripts of events, two bytes each: packets are sent, arrive, are trimmed
// or lost, and NACKs arrive late, twice or forged. All counts agree. The flow then ends over a path without faults,
// because a NACK never makes it lose data. The exception is a silent loss where only NACKs repair.
func FuzzSender_FinishesDespiteForgedNacks(f *testing.F) {
	f.Add(uint8(0), uint16(9000), []byte{0, 9, 2, 0, 2, 0, 3, 0, 3, 0, 0, 9, 1, 0})
	f.Add(uint8(1), uint16(20_500), []byte{0, 20, 2, 3, 2, 3, 3, 0, 3, 1, 0, 5, 6, 0, 0, 3, 2, 0, 5, 0, 1, 0, 4, 0})
	f.Add(uint8(2), uint16(65_535), []byte{0, 30, 2, 0, 1, 2, 1, 5, 3, 9, 8, 3, 9, 200, 0, 9, 10, 77, 10, 3, 0, 9})
	f.Add(uint8(4+1), uint16(30_000), []byte{0, 30, 2, 0, 2, 0, 2, 0, 6, 0, 0, 9, 1, 0, 3, 0, 9, 44, 9, 2, 9, 16})
	f.Add(uint8(8+2), uint16(30_000), []byte{0, 30, 11, 1, 3, 0, 6, 0, 0, 9, 7, 0, 3, 0, 9, 44, 10, 0, 0, 9})
	f.Fuzz(func(t *testing.T, mode uint8, size uint16, story []byte) {
		if size == 0 || len(story) > 1000 {
			return
		}
		c := &fixed{window: 20_000}
		w := script{pipe: newPipe(t, unit.Bytes(size), func(c *Config) {
			c.Recovery = []string{GoBackN, SelectiveRepeat, NoRecovery}[int(mode&3)%3]
			c.Nacks = []string{transport.NacksLoss, transport.NacksResend, transport.NacksSupply}[int(mode>>2&3)%3]
			c.Resends = []string{resendFirst, resendAll}[mode>>4&1]
		}, c, cc.CNPMode), c: c}
		for i := 0; i+1 < len(story); i += 2 {
			w.now += unit.Time(1+int(story[i+1])) * 10
			w.nackEvent(story[i:])
			w.check()
			if s := w.s.Counters(); s.NacksTaken+s.NacksRefused > s.ReceivedPackets {
				t.Fatalf("%d NACKs taken and %d refused of %d packets", s.NacksTaken, s.NacksRefused, s.ReceivedPackets)
			}
		}
		c.window = 20_000
		if w.silent && w.s.config.Recovery == NoRecovery {
			return
		}
		sortFlights(w.pipe)
		w.runUntil(unit.Never - 1)
		w.done(unit.Bytes(size))
	})
}

// nackEvent plays one event of a story: its kind, its strength, and the bytes that follow.
func (w *script) nackEvent(story []byte) {
	n := int(story[1])
	switch story[0] % 12 {
	case 0:
		w.send(n)
	case 1:
		w.arrive(n)
	case 2: // one is trimmed, or had room, and its NACK is on its way
		if p := take(&w.data, n); p != nil {
			w.back = append(w.back, flight{w.now, nackOf(p, packet.Cause(n>>6&1))})
		}
	case 3:
		w.answered(n)
	case 4:
		if take(&w.back, n) != nil {
			w.silent = true
		}
	case 5:
		w.answer()
	case 6:
		w.timer()
	case 7:
		if take(&w.data, n) != nil {
			w.silent = true
		}
	case 8: // what comes back comes twice
		if len(w.back) > 0 {
			p := *w.back[n%len(w.back)].p
			w.back = append(w.back, flight{w.now, &p})
		}
	case 9: // a NACK, made up: of a packet of the flow, or of anything
		p := &packet.Packet{Seq: int64(n >> 2), Ack: int64(n & 3), SrcPort: 10, DstPort: 20,
			Proto: packet.ProtoRDMA, Payload: payload}
		q := nackOf(p, packet.Cause(n%int(packet.Causes)), packet.Span{Offset: int32(n-128) / 2, Lost: payload},
			packet.Span{Offset: int32(n) << 23, Lost: int32(n)})
		if n&1 == 1 {
			q.SetExtension(packet.ExtNotification, story[:min(len(story), n)])
		}
		w.s.Receive(w.now, q)
	case 10:
		w.c.window, w.c.rate = unit.Bytes(1+n*100), unit.Rate(n%5)*20*unit.Gbps
	default: // a NACK of what is not gone
		if len(w.data) > 0 {
			w.back = append(w.back, flight{w.now, nackOf(w.data[n%len(w.data)].p, packet.Cause(n>>5)%packet.Causes)})
		}
	}
}
