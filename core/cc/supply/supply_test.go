package supply_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"weir/core/cc"
	"weir/core/cc/bbr"
	"weir/core/cc/cctest"
	"weir/core/cc/cubic"
	"weir/core/cc/dcqcn"
	"weir/core/cc/dctcp"
	"weir/core/cc/none"
	"weir/core/cc/reno"
	"weir/core/cc/supply"
	"weir/core/cc/swift"
	"weir/core/cc/timely"
	"weir/core/unit"
)

const (
	ms   = unit.Millisecond
	us   = unit.Microsecond
	mbps = unit.Mbps
)

// newFlow returns a flow on a path with the given round trip. Its frames of 1250 B have 1000 B of payload, 4/5.
func newFlow(rtt unit.Time) cc.Flow {
	f := cctest.NewFlow(1, cctest.SetRandom(1, "flow"), cctest.SetPath(cc.Path{NICRate: unit.Gbps, LineRate: 800 * mbps,
		BaseRTT: rtt}))
	f.MTU = 1236
	return f
}

func wrap(t testing.TB, c cc.Controller, f cc.Flow) cc.Controller {
	t.Helper()
	s, err := supply.NewBounded(c, f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func nack(s unit.Rate) cc.Notice {
	return cc.Notice{Kind: cc.NackNotice, Lost: 1000, Supply: s}
}

func ack(packets int, srtt unit.Time) *cc.Ack {
	return &cc.Ack{Packets: packets, Bytes: unit.Bytes(packets) * 1000, Advanced: true, Limited: true,
		RTT: cc.RTT{Smoothed: srtt,
			Min: srtt, Sample: srtt}}
}

func is(t *testing.T, what string, c cc.Controller, window unit.Bytes, rate unit.Rate) {
	t.Helper()
	if d := c.Decision(); d.Window != window || d.Rate != rate {
		t.Errorf("%s: window %v, rate %v; want %v, %v", what, d.Window, d.Rate, window, rate)
	}
}

// TestSupply_SupplyBoundsRateAndWindow checks Weir's rule that supply becomes B = s·payload/frame, with rate ≤ B and
// window ≤ ⌈B·T⌉ + 1 packets. 100 Mb/s of frames are 80 Mb/s of payload, 10 kB in 1 ms.
func TestSupply_SupplyBoundsRateAndWindow(t *testing.T) {
	for _, c := range []struct {
		name   string
		f      cc.Flow
		s      unit.Rate
		window unit.Bytes
		rate   unit.Rate
	}{
		{"10 packets", newFlow(ms), 100 * mbps, 11_000, 80 * mbps},
		{"9.6 packets", newFlow(ms), 96 * mbps, 11_000, 76_800_000},
		{"a tenth of a packet", newFlow(10 * us), 100 * mbps, 2000, 80 * mbps},
		{"T is not known", newFlow(0), 100 * mbps, 1000_000, 80 * mbps},
		{"shares of MSS and MTU", cc.Flow{MSS: 1000, MTU: 1236, Path: cc.Path{BaseRTT: 10 * ms}}, 100 * mbps, 101_000,
			80 * mbps},
		{"more than the inner one wants", newFlow(10 * ms), 100 * unit.Gbps, 1000_000, 80 * unit.Gbps},
		{"the least: a 64th of the line", newFlow(ms), 1, 3000, 12_500_000}, // 1562 B in a round trip
		{"a 64th of the window", newFlow(100 * ms), unit.Kbps, 17_000, 1_250_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := wrap(t, none.New(cc.Flow{MSS: 1000}, none.Config{Packets: 1000}), c.f)
			is(t, c.name+", before", s, 1000_000, 0)
			s.OnNotice(0, nack(c.s))
			is(t, c.name, s, c.window, c.rate)
		})
	}
	for what, n := range map[string]cc.Notice{
		"half of the demand":      {Kind: cc.NackNotice, Demand: 200 * mbps},
		"of what is allowed":      {Kind: cc.NackNotice, Lost: 1000}, // 20 packets in a millisecond: 160 Mb/s
		"an elephant's, not lost": {Kind: cc.NackNotice, Supply: 100 * mbps, Demand: unit.Gbps},
	} {
		t.Run(what, func(t *testing.T) {
			s := wrap(t, none.New(cc.Flow{MSS: 1000}, none.Config{Packets: 20}), newFlow(ms))
			s.OnNotice(0, n)
			is(t, what, s, 11_000, 80*mbps)
		})
	}
	s := wrap(t, none.New(cc.Flow{MSS: 1000}, none.Config{Packets: 20}), cc.Flow{MSS: 1000})
	s.OnNotice(0, cc.Notice{Kind: cc.NackNotice, Lost: 1000})
	is(t, "nothing is known", s, 20_000, 0)
	s.OnNotice(0, nack(8*mbps))
	is(t, "T is not known", s, 20_000, 8*mbps)
	s.OnAck(us, ack(1, ms))
	is(t, "T is measured", s, 2000, 8*mbps)
	for rtt, want := range map[unit.Time]unit.Rate{ms: 800_000, 100 * ms: 10_000} {
		s = wrap(t, none.New(cc.Flow{MSS: 1000}, none.Config{Packets: 1}), newFlow(rtt))
		for at := unit.Time(0); at < 10*rtt; at += rtt {
			s.OnNotice(at, nack(1))
		}
		is(t, "the least: a packet in 10 ms or 8 round trips", s, 1000, want)
	}
}

// TestOneReduction checks that a round trip has one reduction. The minimum of the supplies named within it counts.
func TestOneReduction(t *testing.T) {
	s := wrap(t, none.New(cc.Flow{MSS: 1000}, none.Config{Packets: 1000}), newFlow(ms))
	s.OnNotice(0, nack(400*mbps))
	is(t, "the first", s, 41_000, 320*mbps)
	s.OnNotice(ms/4, nack(200*mbps))
	is(t, "a scarcer switch", s, 21_000, 160*mbps)
	s.OnNotice(ms/2, nack(300*mbps))
	is(t, "a less scarce one", s, 21_000, 160*mbps)
	for at := ms / 2; at < ms; at += ms / 16 {
		s.OnNotice(at, cc.Notice{Kind: cc.NackNotice, Lost: 1000}) // would halve
	}
	is(t, "further ones in the round trip", s, 21_000, 160*mbps)
	s.OnNotice(ms, cc.Notice{Kind: cc.NackNotice, Lost: 1000})
	is(t, "after the round trip", s, 11_500-500, 80*mbps)
	s.OnNotice(2*ms, nack(300*mbps))
	is(t, "a supply above the bound raises nothing", s, 11_000, 80*mbps)
	s.OnNotice(3*ms, nack(50*mbps))
	is(t, "a supply below it", s, 6000, 40*mbps)
	// The smoothed round trip counts where it is longer than T.
	s.OnAck(3*ms, ack(1, 5*ms))
	s.OnNotice(4*ms, cc.Notice{Kind: cc.NackNotice, Lost: 1000})
	is(t, "within the smoothed round trip", s, 6000, 40*mbps)
}

// TestSupply_OpensAfterRoundTrip checks that after a round trip the bound opens by 1/64 of the delivered bytes, and by
// 1/8 after 16 round trips without a notice. In terms of windows, Δ(B·T) = g·delivered.
func TestSupply_OpensAfterRoundTrip(t *testing.T) {
	s := wrap(t, none.New(cc.Flow{MSS: 1000}, none.Config{Packets: 100}), newFlow(10*ms))
	s.OnNotice(0, nack(64*mbps)) // 51.2 Mb/s, 64 packets
	is(t, "reduced", s, 65_000, 51_200_000)
	s.OnAck(10*ms-1, ack(64, 10*ms))
	is(t, "held", s, 65_000, 51_200_000)
	s.OnAck(10*ms, ack(64, 10*ms))
	is(t, "64 packets open a packet a round trip", s, 66_000, 52_000_000)
	s.OnNotice(20*ms, nack(100*mbps))
	is(t, "a notice of more", s, 66_000, 52_000_000)
	s.OnAck(20*ms, ack(64, 10*ms))
	is(t, "opens on", s, 67_000, 52_800_000)
	s.OnAck(180*ms-1, ack(64, 10*ms))
	is(t, "not yet quiet", s, 68_000, 53_600_000)
	s.OnAck(180*ms, ack(64, 10*ms))
	is(t, "quiet for 16 round trips: 8 packets", s, 76_000, 60_000_000)
	s.OnAck(190*ms, ack(0, 10*ms))
	is(t, "nothing is delivered", s, 76_000, 60_000_000)
	for range 23 {
		s.OnAck(200*ms, ack(8, 10*ms))
	}
	is(t, "all but there", s, 99_000, 78_400_000)
	s.OnAck(200*ms, ack(8, 10*ms))
	is(t, "the inner controller is what limits", s, 100_000, 0)
	s.OnNotice(210*ms, nack(64*mbps))
	is(t, "the next congestion", s, 65_000, 51_200_000)
}

// TestOpensInTime checks that the bound opens in time: by a 64th of the bytes delivered in 10 ms, or in a shorter round
// trip, and by at most a 48th a round trip.
func TestOpensInTime(t *testing.T) {
	for _, x := range []struct {
		rtt  unit.Time
		want float64 // part of the bound, in a round trip
	}{{ms / 10, 1. / 64}, {ms, 1. / 64}, {10 * ms, 1. / 64}, {12 * ms, 1.2 / 64}, {50 * ms, 1. / 48},
		{500 * ms, 1. / 48}} {
		t.Run(x.rtt.String(), func(t *testing.T) {
			s := wrap(t, none.New(cc.Flow{MSS: 1000}, none.Config{Packets: 1 << 20}), newFlow(x.rtt))
			s.OnNotice(0, nack(800*mbps))
			before := float64(s.Decision().Rate)
			bytes := before / 8 * x.rtt.Seconds()
			a := ack(1, x.rtt)
			a.Bytes = unit.Bytes(bytes)
			s.OnAck(x.rtt, a)
			if got := float64(s.Decision().Rate)/before - 1; got > x.want*1.01 || got < x.want*0.99 {
				t.Errorf("opens by %.4f, want %.4f", got, x.want)
			}
		})
	}
}

// TestSupply_HidesNacksFromInner checks that the inner controller receives no NACKs, and does not grow beyond its use.
// It receives losses, echoes and CNPs.
func TestSupply_HidesNacksFromInner(t *testing.T) {
	f := newFlow(10 * ms)
	r := reno.New(f)
	s := wrap(t, r, f)
	s.OnAck(0, ack(90, 10*ms))
	is(t, "slow start", s, 100_000, 0)
	s.OnNotice(0, nack(40*mbps)) // 32 Mb/s, 40 packets
	is(t, "supply", s, 41_000, 32*mbps)
	if s.Decision().SlowStart {
		t.Error("the notice does not end slow start")
	}
	a := ack(40, 10*ms)
	a.Losses.State, a.Losses.Total = cc.Recovery, 1
	for at := unit.Time(0); at <= 160*ms; at += 10 * ms {
		s.OnAck(at, a)
	}
	if w := r.Decision().Window; w != 100_000 {
		t.Errorf("the inner window is %v; it was 100 kB and is not in use", w)
	}
	for at := 170 * ms; at < 400*ms; at += 10 * ms {
		before := s.Decision().Window
		a := ack(int(before/1000), 10*ms)
		s.OnAck(at, a)
		if w := s.Decision().Window; w > before*7/6+1000 {
			t.Fatalf("the window grows from %v to %v in a round trip", before, w)
		}
	}
	if w := s.Decision().Window; w < 200_000 {
		t.Errorf("after 23 quiet round trips the window is %v", w)
	}
	s.OnLoss(400*ms, cc.Loss{Kind: cc.RetransmissionTimeout})
	if w := s.Decision().Window; w != 1000 {
		t.Errorf("after a timeout the window is %v", w)
	}
	d, err := dcqcn.New(cctest.NewDatacentreFlow(1), dcqcn.PaperConfig())
	if err != nil {
		t.Fatal(err)
	}
	c := wrap(t, d, cctest.NewDatacentreFlow(1))
	c.OnNotice(0, nack(20*unit.Gbps))
	if got := d.Decision().Rate; got != 40*unit.Gbps {
		t.Errorf("a NACK gets through to DCQCN: %v", got)
	}
	c.OnNotice(0, cc.Notice{Kind: cc.CNPNotice})
	if got := d.Decision().Rate; got != 20*unit.Gbps {
		t.Errorf("a CNP does not get through to DCQCN: %v", got)
	}
}

// spy records the notices that it receives.
type spy struct {
	none.None
	ack  cc.Ack
	loss cc.Loss
}

func (s *spy) OnAck(_ unit.Time, a *cc.Ack)  { s.ack = *a }
func (s *spy) OnLoss(_ unit.Time, l cc.Loss) { s.loss = l }

// TestSupply_HidesLossesThatNacksReport checks that losses that NACKs report are not in LostTotal and State. Losses
// that SACK and timeouts find are.
func TestSupply_HidesLossesThatNacksReport(t *testing.T) {
	s := &spy{None: *none.New(cc.Flow{MSS: 1000}, none.Config{Packets: 100})}
	c := wrap(t, s, newFlow(ms))
	a := ack(1, ms)
	a.Losses.State, a.Losses.Total = cc.Recovery, 7
	c.OnAck(0, a)
	if s.ack.Losses.Total != 7 || s.ack.Losses.State != cc.Recovery || !s.ack.Limited {
		t.Errorf("without a NACK: %+v", s.ack)
	}
	for range 3 {
		c.OnNotice(0, nack(80*mbps))
	}
	c.OnNotice(0, cc.Notice{Kind: cc.NackNotice, Supply: 80 * mbps}) // of an elephant
	a.Losses.Total = 10
	c.OnAck(0, a)
	if s.ack.Losses.Total != 7 || s.ack.Losses.State != cc.Open || s.ack.Limited {
		t.Errorf("after three NACKs: %+v", s.ack)
	}
	if a.Losses.Total != 10 || a.Losses.State != cc.Recovery || !a.Limited {
		t.Error("the caller's Ack is changed")
	}
	c.OnLoss(0, cc.Loss{Kind: cc.FastRecovery, LostTotal: 11}) // the same congestion, once
	if s.loss.LostTotal != 0 {
		t.Errorf("a second reaction: %+v", s.loss)
	}
	c.OnLoss(0, cc.Loss{Kind: cc.Recovered, LostTotal: 11})
	if s.loss.Kind == cc.Recovered && s.loss.LostTotal > 0 {
		t.Errorf("the end of what it was not told: %+v", s.loss)
	}
	c.OnLoss(0, cc.Loss{Kind: cc.FastRecovery, LostTotal: 11})
	a.Losses.Total = 11
	c.OnAck(0, a)
	if s.loss.LostTotal != 8 || s.ack.Losses.Total != 8 || s.ack.Losses.State != cc.Recovery {
		t.Errorf("after a real loss: %+v, %+v", s.loss, s.ack)
	}
	c.OnLoss(0, cc.Loss{Kind: cc.Recovered})
	c.OnAck(0, a)
	if s.ack.Losses.State != cc.Open {
		t.Errorf("after its end: %v", s.ack.Losses.State)
	}
}

type maker struct {
	name string
	make func(f cc.Flow) (cc.Controller, error)
}

var makers = []maker{
	{"reno", func(f cc.Flow) (cc.Controller, error) { return reno.New(f), nil }},
	{"cubic", func(f cc.Flow) (cc.Controller, error) { return cubic.New(f, cubic.Defaults()), nil }},
	{"dctcp", func(f cc.Flow) (cc.Controller, error) {
		return dctcp.New(f, dctcp.Config{G: 1 / 16., InitialAlpha: 1, SlowStart: true}), nil
	}},
	{"bbr", func(f cc.Flow) (cc.Controller, error) { return bbr.New(f), nil }},
	{"swift", func(f cc.Flow) (cc.Controller, error) { return swift.New(f, swift.Defaults()) }},
	{"timely", func(f cc.Flow) (cc.Controller, error) {
		return timely.New(f, timely.PresetConfig(timely.Paper, f.LineRate))
	}},
	{"dcqcn", func(f cc.Flow) (cc.Controller, error) { return dcqcn.New(f, dcqcn.PaperConfig()) }},
	{"none", func(f cc.Flow) (cc.Controller, error) { return none.New(f, none.Config{}), nil }},
}

// watch is the property: never above the inner window and rate, never below a packet.
type watch struct {
	cc.Controller
	inner cc.Controller
	wrong string
}

func (w *watch) Decision() cc.Decision {
	d, i := w.Controller.Decision(), w.inner.Decision()
	if d.Window > i.Window || d.Window < cctest.MSS || i.Rate > 0 && (d.Rate > i.Rate || d.Rate < 1) ||
		d.NextTimer != i.NextTimer ||
		d.AppLimited != i.AppLimited || d.SlowStart && !i.SlowStart {
		w.wrong = fmt.Sprintf("%+v, the inner one has %+v", d, i)
	}
	return d
}

func model(t testing.TB, m maker, f cc.Flow, speed unit.Time, story []byte) (cc.Decision, error) {
	t.Helper()
	inner, err := m.make(f)
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{Controller: wrap(t, inner, f), inner: inner}
	err = (&cctest.Model{Controller: w, OwnRecovery: true, FreeAfterTimeout: true, Speed: speed,
		Nacks: true}).PlayStory(story)
	if err == nil && w.wrong != "" {
		err = fmt.Errorf("%s", w.wrong)
	}
	return w.Controller.Decision(), err
}

func paths() []cc.Flow {
	known, unknown := cctest.NewDatacentreFlow(7), cctest.NewDatacentreFlow(7)
	unknown.BaseRTT = 0
	return []cc.Flow{known, unknown}
}

// TestSupply_HoldsModelInvariants checks that every controller below the bound keeps the model's invariants and the
// wrapper's property.
func TestSupply_HoldsModelInvariants(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, m := range makers {
		for i := range 80 {
			story := make([]byte, 3000)
			for j := range story {
				story[j] = byte(r.IntN(256))
			}
			speed := unit.Time(1000)
			if i%4 == 0 {
				speed = 1
			}
			a, err := model(t, m, paths()[i%2], speed, story)
			if err != nil {
				t.Errorf("%s, story %d: %v", m.name, i, err)
				break
			}
			if b, _ := model(t, m, paths()[i%2], speed, story); a != b {
				t.Errorf("%s, story %d: %+v and %+v", m.name, i, a, b)
			}
		}
	}
}

func FuzzSupply_HoldsModelInvariants(f *testing.F) {
	f.Add(uint8(0), []byte{0, 31, 15, 110, 3, 2, 15, 150, 4, 0, 14, 200, 5, 3, 10, 1, 12, 0, 13, 0, 3, 3})
	f.Add(uint8(3), []byte{0, 31, 15, 159, 3, 2, 15, 97, 4, 0, 14, 255, 5, 3, 15, 200, 11, 3, 3, 3})
	f.Fuzz(func(t *testing.T, which uint8, story []byte) {
		m := makers[int(which)%len(makers)]
		if _, err := model(t, m, paths()[which>>7], 1000, story); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	})
}

// TestSupply_ChangesNoDecisionWithoutNack checks that without a NACK the wrapper changes no decision.
func TestSupply_ChangesNoDecisionWithoutNack(t *testing.T) {
	for _, m := range makers {
		f := cctest.NewDatacentreFlow(7)
		a, err := m.make(f)
		if err != nil {
			t.Fatal(err)
		}
		f = cctest.NewDatacentreFlow(7)
		b, _ := m.make(f)
		b = wrap(t, b, f)
		story := make([]byte, 4000)
		r := rand.New(rand.NewPCG(5, 6))
		for j := range story {
			story[j] = byte(r.IntN(256))
		}
		x, y := &cctest.Model{Controller: a, OwnRecovery: true, FreeAfterTimeout: true, Speed: 1000},
			&cctest.Model{Controller: b, OwnRecovery: true,
				FreeAfterTimeout: true, Speed: 1000}
		for i := 0; i < len(story); i += 2 {
			if err := x.PlayStory(story[i : i+2]); err != nil {
				t.Fatal(err)
			}
			if err := y.PlayStory(story[i : i+2]); err != nil {
				t.Fatal(err)
			}
			if a.Decision() != b.Decision() {
				t.Fatalf("%s: %+v and %+v", m.name, a.Decision(), b.Decision())
			}
		}
	}
}

func TestSupply_DoesNotAllocate(t *testing.T) {
	for _, m := range makers {
		f := cctest.NewDatacentreFlow(7)
		inner, err := m.make(f)
		if err != nil {
			t.Fatal(err)
		}
		c := wrap(t, inner, f)
		a := ack(1, 20*us)
		now := unit.Time(0)
		if n := testing.AllocsPerRun(1000, func() {
			now += 20 * us
			c.OnSend(now, cc.Sent{Bytes: 1000})
			c.OnAck(now, a)
			c.OnNotice(now, nack(unit.Gbps))
			c.OnLoss(now, cc.Loss{Kind: cc.FastRecovery})
			c.Decision()
		}); n > 0 {
			t.Errorf("%s: %v allocations a packet", m.name, n)
		}
	}
}

func TestWrapRefuses(t *testing.T) {
	r := reno.New(newFlow(ms))
	for _, f := range []cc.Flow{{}, {MSS: -1}, {MSS: 1000, Path: cc.Path{BaseRTT: -1}}} {
		t.Run(fmt.Sprintf("MSS %d, base RTT %v", f.MSS, f.BaseRTT), func(t *testing.T) {
			if _, err := supply.NewBounded(r, f); err == nil {
				t.Errorf("%+v is taken", f)
			}
		})
	}
	if _, err := supply.NewBounded(nil, newFlow(ms)); err == nil {
		t.Error("no controller is taken")
	}
}

// bottleneck is a loop of 100 Mb/s of frames, 1250 B each: 0.1 ms a packet.
func bottleneck(buffer int, flows ...*cctest.Sender) *cctest.Bottleneck {
	return &cctest.Bottleneck{Rate: 100 * mbps, Frame: 1250, Buffer: buffer, Flows: flows,
		Supply: func(b *cctest.Bottleneck, _ *cctest.Sender) unit.Rate { return b.Rate / unit.Rate(len(b.Flows)) }}
}

func sender(t testing.TB, m maker, rtt unit.Time, wrapped bool) *cctest.Sender {
	t.Helper()
	f := newFlow(rtt)
	c, err := m.make(f)
	if err != nil {
		t.Fatal(err)
	}
	s := &cctest.Sender{Controller: c, RTT: rtt, NIC: unit.Gbps, Nacks: cctest.Reduce}
	if wrapped {
		s.Controller, s.Nacks = wrap(t, c, f), cctest.Resend
	}
	return s
}

// TestSupply_FlightMeetsSupplyInRoundTrip checks that the flight of a flow beyond its supply meets it within a round
// trip after the first notice: 100 Mb/s for 10 ms are 100 packets. The switch's buffer accounts for the longer RTT.
func TestSupply_FlightMeetsSupplyInRoundTrip(t *testing.T) {
	const rtt, buffer = 10 * ms, 50
	for _, m := range []maker{makers[0], makers[1], makers[7]} {
		s := sender(t, m, rtt, true)
		b := bottleneck(buffer, s)
		for b.Trimmed == 0 {
			b.Run(b.Now + ms/10)
		}
		b.Run(b.Now + rtt/4) // the notice has come
		trimmed := b.Now
		b.Run(trimmed + rtt + buffer*ms/10)
		if n := s.InFlight(); n > 102 {
			t.Errorf("%s: %d packets are in flight a round trip later; the path holds 100", m.name, n)
		}
		b.MaxQueue = 0
		before, delivered := b.Trimmed, s.Delivered
		b.Run(b.Now + rtt)
		if b.Trimmed > before || b.MaxQueue > 10 {
			t.Errorf("%s: in the second round trip %d packets wait, %d are trimmed", m.name, b.MaxQueue, b.Trimmed-before)
		}
		if n := s.Delivered - delivered; n < 95 {
			t.Errorf("%s: in the second round trip %d packets are delivered, 100 could be", m.name, n)
		}
	}
}

// TestSlowStartSpike checks that a slow start that meets its supply loses about the packets in flight at that time,
// once. It does not restart.
func TestSlowStartSpike(t *testing.T) {
	const rtt = 50 * ms // 500 packets
	most := func(wrapped bool) (int, float64) {
		s := sender(t, makers[0], rtt, wrapped)
		b := bottleneck(100, s)
		b.Run(unit.Second)
		first := b.Trimmed
		b.Run(20 * unit.Second)
		t.Logf("wrapped %v: %d trimmed in the first second, %d later; %d delivered", wrapped, first, b.Trimmed-first,
			s.Delivered)
		return first, float64(s.Delivered) / 200_000
	}
	first, use := most(true)
	alone, _ := most(false)
	if use < 0.95 || float64(first) > 1.1*float64(alone) { // what the bound opens by within the second
		t.Errorf("%d packets are trimmed in the first second (%d without), %.3f of the link used", first, alone, use)
	}
}

// TestSupply_HoldsRateInIncast checks that the rate limits many senders with shares below a packet a round trip.
func TestSupply_HoldsRateInIncast(t *testing.T) {
	const n = 64
	var flows []*cctest.Sender
	for range n {
		flows = append(flows, sender(t, makers[0], ms, true)) // 10 packets a round trip for 64
	}
	b := bottleneck(20, flows...)
	b.Run(100 * ms)
	at := b.Trimmed
	var before int64
	for _, s := range flows {
		before += s.Delivered
	}
	b.Run(1100 * ms)
	sum, squares := 0., 0.
	var after int64
	for _, s := range flows {
		x := float64(s.Delivered)
		after += s.Delivered
		sum, squares = sum+x, squares+x*x
	}
	use, jain, lost := float64(after-before)/10_000, sum*sum/n/squares, float64(b.Trimmed-at)/10_000
	t.Logf("use %.3f, Jain %.3f, trimmed %.3f", use, jain, lost)
	if use < 0.9 || jain < 0.95 || lost > 0.1 || math.IsNaN(jain) {
		t.Errorf("use %.3f, Jain %.3f, trimmed %.3f", use, jain, lost)
	}
}

func ExampleNewBounded() {
	f := cc.Flow{MSS: 1000, MTU: 1236, InitialWindow: 100, Path: cc.Path{BaseRTT: unit.Millisecond}}
	c, _ := supply.NewBounded(reno.New(f), f)
	c.OnNotice(0, cc.Notice{Kind: cc.NackNotice, Lost: 1000, Supply: 100 * unit.Mbps, Demand: unit.Gbps})
	fmt.Println(c.Decision().Rate, c.Decision().Window)
	// Output: 80Mbps 11kB
}
