package bolt_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/bolt"
	"weir/core/cc/cctest"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/testkit"
)

const (
	us  = unit.Microsecond
	mss = 1000
)

func TestDocNamesTests(t *testing.T) { testkit.CheckDocTests(t, 9) }

// newFlow returns a flow with a window of 80 packets of 1000 B and a round trip of 8 µs, that is 80 Gb/s of payload, on
// a link of 100 Gb/s.
func newFlow() cc.Flow {
	f := cctest.NewFlow(1, cctest.SetInitialWindow(80), cctest.SetPath(cc.Path{NICRate: 100 * unit.Gbps,
		LineRate: 80 * unit.Gbps, BaseRTT: 8 * us}))
	f.MTU = mss
	return f
}

func build(t testing.TB, c bolt.Config) *bolt.Bolt {
	t.Helper()
	b, err := bolt.New(newFlow(), c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ack acknowledges n packets behind una, of next that were sent, after 8 µs.
func ack(una, next int64, flags uint8) *cc.Ack {
	return &cc.Ack{Packets: 1, FirstUnacked: una, Next: next, RTT: cc.RTT{Sample: 8 * us},
		Telemetry: cc.Telemetry{Answer: flags}}
}

func notice(queue unit.Bytes, sent unit.Time) cc.Notice {
	return cc.Notice{Kind: cc.QueueNotice, Queue: queue, Link: 100 * unit.Gbps, Sent: sent}
}

func is(t *testing.T, what string, b *bolt.Bolt, window float64) {
	t.Helper()
	if w := b.Window(); w != window {
		t.Errorf("%s: a window of %v B, want %v", what, w, window)
	}
}

// TestBolt_QueueNoticeTakesPacket follows Algorithm 2, HandleSRC: share = rate / link, interval = rtt_src / (share ×
// queue in packets), and one packet less if that has passed since the last decrease. Before any acknowledgement the
// rate is the sender's link's.
func TestBolt_QueueNoticeTakesPacket(t *testing.T) {
	b := build(t, bolt.Defaults())
	is(t, "at the start", b, 80_000)
	b.OnNotice(2*us, notice(4000, 0)) // share 1, 4 packets: 2 µs / 4
	is(t, "the first word", b, 79_000)
	b.OnAck(8*us, ack(1000, 80_000, 0)) // and AI, so that the rate is 80 packets in 8 µs: 80 Gb/s
	is(t, "an acknowledgement", b, 80_000)
	b.OnNotice(10*us, notice(0, 0))
	b.OnNotice(10*us, cc.Notice{Kind: cc.QueueNotice, Queue: 4000}) // without a link
	b.OnNotice(10*us, cc.Notice{Kind: cc.CNPNotice})
	is(t, "what is no queue", b, 80_000)
	b.OnNotice(10*us, notice(10_000, 6*us))
	is(t, "a queue of 10 packets", b, 79_000)
}

// TestDecreaseInterval checks the minimum time between decreases. The window has 80 of the link's 100 packets in 8 µs,
// and notices of 10 queued packets take 4 µs. They count once in 4 µs / (0.8 × 10) = 0.5 µs, for any events between.
func TestDecreaseInterval(t *testing.T) {
	b := build(t, bolt.Defaults())
	b.OnNotice(7*us, notice(1000, 0))
	b.OnAck(8*us, ack(1000, 80_000, 0))
	is(t, "before", b, 80_000)
	b.OnNotice(10*us, notice(10_000, 6*us))
	is(t, "the first", b, 79_000)
	// The window is 79 now: 4 µs / (0.79 × 10) = 506.33 ns.
	b.OnNotice(10*us+506_329, notice(10_000, 6*us+506_329))
	is(t, "within the interval", b, 79_000)
	b.OnNotice(10*us+506_330, notice(10_000, 6*us+506_330))
	is(t, "after it", b, 78_000)
}

// TestBelowPacket checks that each notice halves a window of a packet or less, down to min_cwnd. A decrease may end
// below a packet.
func TestBelowPacket(t *testing.T) {
	c := bolt.Defaults()
	f := newFlow()
	f.InitialWindow = 2
	b, err := bolt.New(f, c)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1000, 500, 250, 144, 144} {
		now := unit.Time(i+1) * us
		b.OnNotice(now, notice(100_000, now-us))
		is(t, fmt.Sprint("word ", i), b, want)
	}
}

// TestBolt_IncreaseFlagAddsPacket checks that INC of an acknowledgement adds a packet, unless the packet found a queue.
// Without requests no packet carries the flag.
func TestBolt_IncreaseFlagAddsPacket(t *testing.T) {
	c := bolt.Defaults()
	c.AI = 0
	b := build(t, c)
	b.OnAck(8*us, ack(1000, 80_000, packet.BoltIncrease))
	is(t, "INC", b, 81_000)
	b.OnAck(8*us, ack(2000, 80_000, packet.BoltIncrease|packet.BoltDecrease))
	b.OnAck(8*us, ack(3000, 80_000, 0))
	b.OnAck(8*us, ack(4000, 80_000, packet.BoltLast))
	is(t, "none", b, 81_000)
	for range 1000 {
		b.OnAck(8*us, ack(4000, 80_000, packet.BoltIncrease))
	}
	is(t, "the largest: four products of 100 Gb/s and 8 us", b, 400_000)
	c.MaxWindow = 82_000
	b = build(t, c)
	for range 3 {
		b.OnAck(8*us, ack(4000, 80_000, packet.BoltIncrease))
	}
	is(t, "max_cwnd", b, 82_000)
}

// TestBolt_AddsAIOncePerWindow checks that AI adds a packet when the data sent at the last increase is acknowledged. An
// acknowledgement that delivers no data adds no packet.
func TestBolt_AddsAIOncePerWindow(t *testing.T) {
	for _, ai := range []float64{1, 0.25, 0} {
		t.Run(fmt.Sprint(ai), func(t *testing.T) {
			c := bolt.Defaults()
			c.AI = ai
			b := build(t, c)
			b.OnAck(8*us, ack(1000, 80_000, 0))
			is(t, "the first", b, 80_000+1000*ai)
			for una := int64(2000); una < 80_000; una += 1000 {
				b.OnAck(9*us, ack(una, 80_000+una, 0))
			}
			is(t, "within the round trip", b, 80_000+1000*ai)
			none := ack(80_000, 160_000, 0)
			none.Packets = 0
			b.OnAck(16*us, none)
			is(t, "nothing is delivered", b, 80_000+1000*ai)
			b.OnAck(16*us, ack(80_000, 160_000, 0))
			is(t, "the next round trip", b, 80_000+2000*ai)
			b.OnAck(16*us, ack(159_000, 239_000, 0))
			is(t, "which has not ended", b, 80_000+2000*ai)
		})
	}
}

// TestBolt_SetsFlagsOfPackets checks the flags: FIRST until the first acknowledgement, LAST if the remaining data fits
// into the window or the packet. Otherwise flows beyond their first window set INC.
func TestBolt_SetsFlagsOfPackets(t *testing.T) {
	c := bolt.Defaults()
	c.AI = 0
	first, last, inc := packet.BoltFirst, packet.BoltLast, packet.BoltIncrease
	for _, x := range []struct {
		acked bool
		bytes unit.Bytes
		left  unit.Bytes
		want  uint8
	}{
		{false, 1000, 1 << 40, first}, {false, 1000, 80_001, first}, {false, 1000, 80_000, first | last},
		{false, 400, 400, first | last}, {true, 1000, 1 << 40, inc}, {true, 1000, 80_001, inc}, {true, 1000, 80_000, last},
		{true, 1, 1, last},
	} {
		t.Run(fmt.Sprintf("%+v", x), func(t *testing.T) {
			b := build(t, c)
			if x.acked {
				b.OnAck(8*us, ack(1000, 80_000, 0))
			}
			b.OnSend(9*us, cc.Sent{Bytes: x.bytes, Left: x.left})
			if got := b.Decision().Request; got != x.want {
				t.Errorf("%#x, want %#x", got, x.want)
			}
		})
	}
	c.RequestsOff = true
	b := build(t, c)
	b.OnAck(8*us, ack(1000, 80_000, 0))
	b.OnSend(9*us, cc.Sent{Bytes: 1000, Left: 1 << 40})
	if got := b.Decision().Request; got != 0 {
		t.Errorf("without requests %#x", got)
	}
}

// TestBolt_PacesWindowPerRoundTrip checks that the rate is a window per round trip. The round trip is the last sample
// or, below a packet and without a sample, the path's.
func TestBolt_PacesWindowPerRoundTrip(t *testing.T) {
	for pacing, want := range map[string]string{"always": "80kB 0bps, 81kB 81Gbps, 1kB 500Mbps",
		"below_packet": "80kB 0bps, 81kB 0bps, 1kB 500Mbps"} {
		t.Run(pacing, func(t *testing.T) {
			var got []string
			note := func(c cc.Controller) {
				d := c.Decision()
				got = append(got, fmt.Sprint(d.Window, " ", d.Rate))
			}
			c, err := cctest.BuildController(bolt.Scheme(), newFlow(), "pacing", pacing)
			if err != nil {
				t.Fatal(err)
			}
			note(c)
			c.OnAck(8*us, ack(1000, 80_000, 0))
			note(c)
			f := newFlow()
			f.InitialWindow = 1
			if c, err = cctest.BuildController(bolt.Scheme(), f, "pacing", pacing); err != nil {
				t.Fatal(err)
			}
			c.OnNotice(us, notice(100_000, 0))
			note(c)
			if text := strings.Join(got, ", "); text != want {
				t.Errorf("%s, want %s", text, want)
			}
		})
	}
}

// TestBolt_LossReducesOncePerRoundTrip checks that a loss reduces by max_md, once a round trip. A decrease by a notice
// about a lost packet counts as well.
func TestBolt_LossReducesOncePerRoundTrip(t *testing.T) {
	b := build(t, bolt.Defaults())
	b.OnAck(8*us, ack(1000, 80_000, 0))
	is(t, "before", b, 81_000)
	b.OnLoss(9*us, cc.Loss{Kind: cc.FastRecovery})
	is(t, "a loss", b, 40_500)
	b.OnLoss(17*us-1, cc.Loss{Kind: cc.RetransmissionTimeout})
	is(t, "within the round trip", b, 40_500)
	b.OnLoss(17*us, cc.Loss{Kind: cc.RetransmissionTimeout})
	is(t, "a timeout", b, 20_250)
	b.OnNotice(30*us, notice(100_000, 26*us))
	is(t, "an answer about one", b, 19_250)
	b.OnLoss(31*us, cc.Loss{Kind: cc.FastRecovery})
	for _, k := range []cc.LossKind{cc.Recovered, cc.Spurious, cc.Idled, cc.ECNEcho, cc.Warned} {
		b.OnLoss(60*us, cc.Loss{Kind: k})
	}
	is(t, "what is no loss", b, 19_250)
}

// TestBolt_DecreaseFlagTakesPacket checks that without SRC the acknowledgement carries the queue. It counts as a notice
// after a full round trip.
func TestBolt_DecreaseFlagTakesPacket(t *testing.T) {
	c := bolt.Defaults()
	c.AI = 0
	b := build(t, c)
	a := ack(1000, 80_000, packet.BoltDecrease)
	a.Telemetry.Drain = 800 // 10 packets at 100 Gb/s
	b.OnAck(8*us, a)        // 8 µs / (0.8 × 10) = 1 µs since the start
	is(t, "its word", b, 79_000)
	b.OnAck(9*us, a) // 8 µs / (0.79 × 10) = 1.013 µs
	is(t, "too soon", b, 79_000)
	b.OnAck(10*us, a)
	is(t, "again", b, 78_000)
}

// TestBolt_MatchesTranscriptByHand compares the controller with a sequence of events that was calculated by hand, with
// the numbers of each step.
//
//	t [µs]  event                                   window [B]
//	0       80 packets leave: FIRST                 80000
//	2       SRC, sent 0, 50 packets wait:
//	        share 1, 2/50 = 0.04 µs since 0         79000
//	2.01    SRC, sent 0.08, 51 packets: 1.93/51
//	        = 0.0378 µs, 0.01 have passed           79000
//	2.05    SRC, sent 0.1, 52 packets: 1.95/52
//	        = 0.0375 µs, 0.05 have passed           78000
//	12      ACK of 1 of 80: RTT 12, DEC; AI         79000
//	13      SRC, sent 11, 1 packet: rate 79000 B
//	        in 12 µs, 52.7 Gb/s; 2/0.527 = 3.8 µs;
//	        10.95 have passed                       78000
//	14      ACK of 2, INC kept                      79000
//	15      SRC, sent 13, 1 packet: 2/0.527,
//	        2 have passed                           79000
//	24      ACK of 81, the round trip's end         80000
//	25      a loss: halved                          40000
func TestBolt_MatchesTranscriptByHand(t *testing.T) {
	b := build(t, bolt.Defaults())
	at := func(ns int64) unit.Time { return unit.Time(ns) * unit.Nanosecond }
	b.OnSend(0, cc.Sent{Bytes: mss, Left: 1 << 30})
	if b.Decision().Request != packet.BoltFirst {
		t.Errorf("the first packet asks for %#x", b.Decision().Request)
	}
	for _, x := range []struct {
		ns    int64
		event func(now unit.Time)
		want  float64
	}{
		{2000, func(now unit.Time) { b.OnNotice(now, notice(50_000, 0)) }, 79_000},
		{2010, func(now unit.Time) { b.OnNotice(now, notice(51_000, at(80))) }, 79_000},
		{2050, func(now unit.Time) { b.OnNotice(now, notice(52_000, at(100))) }, 78_000},
		{12_000, func(now unit.Time) {
			a := ack(1000, 80_000, packet.BoltDecrease|packet.BoltNotified|packet.BoltIncrease)
			a.RTT.Sample = 12 * us
			b.OnAck(now, a)
		}, 79_000},
		{13_000, func(now unit.Time) { b.OnNotice(now, notice(1000, at(11_000))) }, 78_000},
		{14_000, func(now unit.Time) {
			a := ack(2000, 80_000, packet.BoltIncrease)
			a.RTT.Sample = 12 * us
			b.OnAck(now, a)
		}, 79_000},
		{15_000, func(now unit.Time) { b.OnNotice(now, notice(1000, at(13_000))) }, 79_000},
		{24_000, func(now unit.Time) {
			a := ack(81_000, 160_000, 0)
			a.RTT.Sample = 12 * us
			b.OnAck(now, a)
		}, 80_000},
		{25_000, func(now unit.Time) { b.OnLoss(now, cc.Loss{Kind: cc.FastRecovery}) }, 40_000},
	} {
		x.event(at(x.ns))
		is(t, fmt.Sprint(x.ns, " ns"), b, x.want)
	}
}

func TestBolt_RejectsBadConfigAndFlow(t *testing.T) {
	c := bolt.Defaults()
	c.MaxWindow = 100
	if scheme.Validate(&c) == nil {
		t.Error("max_cwnd below min_cwnd is taken")
	}
	if _, err := bolt.New(cc.Flow{}, bolt.Defaults()); err == nil {
		t.Error("a flow without packets")
	}
}

// TestConfig_CheckRemarksUnsuitableSites checks the warnings about a site: switches that send no notices, packets over
// several paths, windows and clocks.
func TestConfig_CheckRemarksUnsuitableSites(t *testing.T) {
	paths := func(change func(p *cc.FlowPath)) []cc.FlowPath {
		p := cc.FlowPath{Path: cc.Path{NICRate: unit.Tbps, LineRate: unit.Tbps, BaseRTT: 8 * us},
			NarrowLink: cc.Link{Port: "s->b", Rate: 100 * unit.Gbps, Payload: 95 * unit.Gbps}}
		change(&p)
		return []cc.FlowPath{p}
	}
	usual := paths(func(*cc.FlowPath) {})
	for _, x := range []struct {
		name string
		site cc.FlowContext
		most unit.Bytes
		want string
	}{
		{"all is well", cc.FlowContext{Paths: usual}, 0, ""},
		{"nobody answers", cc.FlowContext{Paths: paths(func(p *cc.FlowPath) { p.WhyUnanswered = "no switch" })}, 0,
			"no switch: only losses"},
		{"spray", cc.FlowContext{Paths: usual, Sprayed: true}, 0, "several paths"},
		{"too small", cc.FlowContext{Paths: usual}, 90 * unit.KB, "max_cwnd 90kB are less than"},
		{"large enough", cc.FlowContext{Paths: usual}, 95 * unit.KB, ""},
		{"a long way", cc.FlowContext{Paths: paths(func(p *cc.FlowPath) { p.BaseRTT = 5 * unit.Second })}, 0,
			"exceeds the range of the clock"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := bolt.Defaults()
			c.MaxWindow = x.most
			var got []string
			for _, r := range c.Check(&x.site) {
				got = append(got, r.Param+" "+r.Text)
			}
			text := strings.Join(got, "; ")
			if x.want == "" && text != "" || !strings.Contains(text, x.want) {
				t.Errorf("%q, want %q", text, x.want)
			}
		})
	}
}
