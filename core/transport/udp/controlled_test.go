package udp

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/transport/transporttest/flowtest"
	"weir/core/unit"
)

const us = unit.Microsecond

// fixed is a controller with a window and a rate that the test sets.
type fixed struct {
	window unit.Bytes
	rate   unit.Rate
	acks   []cc.Ack
	losses []cc.Loss
	told   []cc.Notice
	sent   int
}

func (f *fixed) OnSend(unit.Time, cc.Sent)    { f.sent++ }
func (f *fixed) OnAck(_ unit.Time, a *cc.Ack) { f.acks = append(f.acks, *a) }
func (f *fixed) OnNotice(_ unit.Time, n cc.Notice) {
	f.told = append(f.told, n)
}
func (f *fixed) OnLoss(_ unit.Time, l cc.Loss) { f.losses = append(f.losses, l) }
func (f *fixed) OnTimer(unit.Time)             {}
func (f *fixed) Decision() cc.Decision {
	return cc.Decision{Window: f.window, Rate: f.rate, NextTimer: unit.Never}
}

// line is a path of 10 µs each way between the two ends.
type line struct {
	t   *testing.T
	s   *ControlledSender
	r   *ControlledReceiver
	c   *fixed
	now unit.Time
	way []struct { // in the order of arrival
		at   unit.Time
		p    *packet.Packet
		back bool
	}
	lose func(p *packet.Packet, back bool) bool
	sent []unit.Time
}

func newLine(t *testing.T, c *fixed, size unit.Bytes, change func(f *transport.Flow, c *ControlledConfig)) *line {
	t.Helper()
	f := flowtest.NewFlow(size)
	f.Path = cc.Path{BaseRTT: 20 * us}
	f.CC = &cc.Scheme{Build: func(cc.Flow, scheme.Config) (cc.Controller, error) { return c, nil }}
	config := scheme.Defaults[ControlledConfig]()
	config.RTOMin = 320 * us
	if change != nil {
		change(&f, &config)
	}
	s, r, err := NewControlled(f, config)
	if err != nil {
		t.Fatal(err)
	}
	return &line{t: t, s: s, r: r, c: c}
}

func (l *line) put(p *packet.Packet, back bool) {
	if l.lose != nil && l.lose(p, back) {
		return
	}
	l.way = append(l.way, struct {
		at   unit.Time
		p    *packet.Packet
		back bool
	}{l.now + 10*us, p, back})
}

// runUntil runs the events of the line until there is no further one, or until the given time.
func (l *line) runUntil(until unit.Time) {
	for range 1_000_000 {
		next := min(l.s.NextSend(), l.s.NextTimer(), l.r.NextTimer())
		if l.r.NextSend() == 0 {
			next = l.now
		}
		if len(l.way) > 0 {
			next = min(next, l.way[0].at)
		}
		if next = max(next, l.now); next >= until {
			return
		}
		l.now = next
		switch {
		case len(l.way) > 0 && l.way[0].at <= l.now:
			x := l.way[0]
			l.way = l.way[1:]
			if x.back {
				l.s.Receive(l.now, x.p)
			} else if l.r.Receive(l.now, x.p) {
				l.put(x.p, true)
			}
		case l.r.NextTimer() <= l.now:
			l.r.Advance(l.now)
		case l.r.NextSend() == 0:
			p := &packet.Packet{Src: 2, Dst: 1}
			l.r.Emit(l.now, p)
			l.put(p, true)
		case l.s.NextTimer() <= l.now:
			l.s.Advance(l.now)
		default:
			p := &packet.Packet{Src: 1, Dst: 2, Sent: l.now}
			l.s.Emit(l.now, p)
			if out := l.s.Gauge().InFlight; out > max(l.c.window, 1000) {
				l.t.Fatalf("%v: %v in flight, the window is %v", l.now, out, l.c.window)
			}
			l.sent = append(l.sent, l.now)
			l.put(p, false)
		}
	}
	l.t.Fatal("it does not end")
}

// TestControlledWindow checks draft-miao §9.3: datagrams go within the window, and as reports arrive: 5 an RTT of 20
// µs. A report has the number of arrived datagrams; the RTT is the datagram's.
func TestControlledWindow(t *testing.T) {
	l := newLine(t, &fixed{window: 5999}, 99_500, nil)
	l.runUntil(unit.Second)
	c := l.s.Counters()
	if c.SentPackets != 100 || c.SentBytes != 99_500 || c.Finished != 20*20*us || l.r.Counters().ReceivedBytes != 99_500 ||
		l.r.Counters().Finished != 19*20*us+10*us {
		t.Errorf("%+v\n%+v", c, l.r.Counters())
	}
	for i, a := range l.c.acks {
		if a.Packets != 1 || a.RTT.Sample != 20*us || a.FirstUnacked != int64(i+1)*1000 || a.Delivered != int64(i+1) ||
			a.Losses.New != 0 {
			t.Fatalf("report %d: %+v", i, a)
		}
	}
}

// TestControlledRate checks that a rate spaces datagrams. The application's rate does too, and the lower one counts.
func TestControlledRate(t *testing.T) {
	for _, x := range []struct{ control, application, gap unit.Time }{{2 * us, 0, 2 * us}, {2 * us, 8 * us, 8 * us},
		{8 * us, 2 * us, 8 * us}} {
		t.Run(fmt.Sprintf("control %v, application %v", x.control, x.application), func(t *testing.T) {
			l := newLine(t, &fixed{window: 1e6, rate: unit.Rate(8000 / x.control.Seconds())}, 50_000, func(_ *transport.Flow,
				c *ControlledConfig) {
				if x.application > 0 {
					c.Rate = unit.Rate(8000 / x.application.Seconds())
				}
			})
			l.runUntil(unit.Second)
			if n := len(l.sent); n != 50 || l.sent[49] != 49*x.gap {
				t.Errorf("%+v: %d datagrams, the last at %v", x, n, l.sent[n-1])
			}
		})
	}
}

// TestControlledLosses checks that later datagrams reveal lost ones, once, and no datagram is resent. If all datagrams
// or all reports are lost, the flight is written off after a timeout, which doubles.
func TestControlledLosses(t *testing.T) {
	l := newLine(t, &fixed{window: 10_000}, 100_000, nil)
	l.lose = func(p *packet.Packet, back bool) bool { return !back && p.Seq%10 == 3 }
	l.runUntil(unit.Second)
	if l.s.lost != 10 || l.s.Counters().SentPackets != 100 || l.s.Counters().Finished == unit.Never ||
		l.r.Counters().ReceivedPackets != 90 {
		t.Errorf("%d lost, %+v", l.s.lost, l.s.Counters())
	}
	reductions := 0
	for _, x := range l.c.losses {
		if x.Kind == cc.FastRecovery {
			reductions++
		}
	}
	if reductions < 5 || reductions > 10 { // one a window of 10
		t.Errorf("%d reductions", reductions)
	}
	l = newLine(t, &fixed{window: 10_000}, 30_000, nil)
	l.lose = func(*packet.Packet, bool) bool { return true }
	l.runUntil(unit.Second)
	want := []unit.Time{0, 320 * us, 960 * us}
	for i, at := range want {
		if l.sent[10*i] != at {
			t.Errorf("window %d is sent at %v, want %v", i, l.sent[10*i], at)
		}
	}
	if len(l.sent) != 30 || len(l.c.losses) != 3 || l.c.losses[0].Kind != cc.RetransmissionTimeout ||
		l.c.losses[0].Lost != 10 || l.s.inFlight() != 0 {
		t.Errorf("%d sent, %+v", len(l.sent), l.c.losses)
	}
}

// TestControlledReports checks reports for several datagrams, or after a delay. Marks are counted and echoed.
func TestControlledReports(t *testing.T) {
	l := newLine(t, &fixed{window: 10_000}, 25_000, func(f *transport.Flow, c *ControlledConfig) {
		c.ReportEvery,
			f.CC.ECN = 4, cc.DCTCPMode
	})
	marked := int64(0)
	l.lose = func(p *packet.Packet, back bool) bool {
		if !back && p.TOS != packet.ECT0 || back && p.TOS != 0 {
			t.Errorf("TOS %d", p.TOS)
		}
		if !back && p.Seq >= 12 {
			p.TOS |= packet.CE
			marked++
		}
		return false
	}
	l.runUntil(unit.Second)
	a := l.c.acks
	if len(a) < 7 || len(a) > 10 || a[0].Packets != 4 || a[0].ECN.Echo || !a[len(a)-1].ECN.Echo ||
		a[len(a)-1].ECN.Delivered != marked {
		t.Errorf("%d reports, %+v", len(a), a)
	}
}

// FuzzControlledSender_IgnoresBadReports checks that impossible reports change no state.
func FuzzControlledSender_IgnoresBadReports(f *testing.F) {
	f.Add(uint64(3), uint64(2), uint64(0), uint64(0), false)
	f.Fuzz(func(t *testing.T, upTo, received, marked, sent uint64, short bool) {
		l := newLine(t, &fixed{window: 5000}, 0, nil)
		l.runUntil(15 * us) // five are out, none is reported
		l.now = 15 * us
		var b [reportBytes]byte
		for i, v := range []uint64{upTo, received, marked, sent} {
			binary.BigEndian.PutUint64(b[8*i:], v)
		}
		p := &packet.Packet{SrcPort: 20, DstPort: 10, Proto: packet.ProtoUDP}
		if p.SetExtension(Report, b[:]); short {
			p.SetExtension(Report, b[:9])
		}
		l.s.Receive(15*us, p)
		if l.s.inFlight() < 0 || l.s.inFlight() > 5 || l.s.lost < 0 || l.s.lost > 5 ||
			(short || upTo > 5 || received > upTo) && len(l.c.acks) > 0 {
			t.Errorf("%d in flight, %d lost, %+v", l.s.inFlight(), l.s.lost, l.c.acks)
		}
	})
}

func TestControlledRefused(t *testing.T) {
	good := transport.Flow{Payload: 1000, CC: &cc.Scheme{Build: func(cc.Flow, scheme.Config) (cc.Controller, error) {
		return &fixed{}, nil
	}}}
	for _, change := range []func(f *transport.Flow, c *ControlledConfig){
		func(f *transport.Flow, _ *ControlledConfig) { f.Payload = 0 },
		func(f *transport.Flow, _ *ControlledConfig) { f.CC = nil },
		func(f *transport.Flow, _ *ControlledConfig) { f.Size = -1 },
	} {
		f, c := good, scheme.Defaults[ControlledConfig]()
		change(&f, &c)
		if _, _, err := NewControlled(f, c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	if _, _, err := NewControlled(good, scheme.Defaults[ControlledConfig]()); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(c *ControlledConfig){
		"rate":         func(c *ControlledConfig) { c.Rate = -1 },
		"report_every": func(c *ControlledConfig) { c.ReportEvery = 0 },
		"report_delay": func(c *ControlledConfig) { c.ReportDelay = 61 * unit.Second },
		"rto_min":      func(c *ControlledConfig) { c.RTOMin = -1 },
		"nacks":        func(c *ControlledConfig) { c.Nacks = "x" },
	} {
		t.Run(name, func(t *testing.T) {
			c := scheme.Defaults[ControlledConfig]()
			change(&c)
			if err := scheme.Validate(&c); err == nil || !strings.HasPrefix(err.Error(), name+" is ") {
				t.Error(err)
			}
		})
	}
}

// TestReportsMerge checks that a report that is longer than its datagram waits until the NIC is free, and covers all
// that has arrived by then.
func TestReportsMerge(t *testing.T) {
	for _, x := range []struct {
		payload int32
		merges  bool
	}{{1, true}, {20, true}, {longestMerged, true}, {longestMerged + 1, false}, {1000, false}} {
		f := flowtest.NewFlow(10 * unit.Bytes(x.payload))
		f.Payload = x.payload
		f.CC = &cc.Scheme{Build: func(cc.Flow, scheme.Config) (cc.Controller, error) {
			return &fixed{window: 1_000_000}, nil
		}}
		s, r, err := NewControlled(f, scheme.Defaults[ControlledConfig]())
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			p := &packet.Packet{}
			s.Emit(0, p)
			if at := r.Receive(us, p); at == x.merges {
				t.Errorf("payload of %d bytes: reported at once: %v", x.payload, at)
			}
		}
		if due := r.NextSend() <= us; due != x.merges || r.Replies() != x.merges || r.NextTimer() != unit.Never {
			t.Errorf("payload of %d bytes: a report is due: %v", x.payload, due)
		}
		if !x.merges {
			continue
		}
		report := &packet.Packet{}
		if r.Emit(us, report); r.NextSend() != unit.Never {
			t.Errorf("payload of %d bytes: a second report is due", x.payload)
		}
		if s.Receive(2*us, report); s.inFlight() != 0 || s.received != 3 {
			t.Errorf("payload of %d bytes: %d in flight, %d reported", x.payload, s.inFlight(), s.received)
		}
	}
}

// longestMerged is the payload of the longest datagrams that are shorter than a report.
const longestMerged = 39
