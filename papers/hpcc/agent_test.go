package hpcc

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
)

// ofAgent returns the flow of a sender whose frames of 1514 bytes have 1268 of payload, on a link of 100 Mb/s and a
// path of 10 ms: W_init, B·T, is 125,000 bytes.
func ofAgent() cc.Flow {
	return cc.Flow{MSS: 1268, Frame: 1514, InitialWindow: 10, Bursts: true, Path: cc.Path{NICRate: 100 * unit.Mbps,
		LineRate: 100 * unit.Mbps * 1268 / 1514, BaseRTT: 10 * unit.Millisecond}}
}

// TestAgentFollower checks the window of an agent's follower. W counts frames: ceil(W/frame) segments are in flight,
// four at least, paced at the payload's part of W/T. A W above what the link carries in T has no effect (§9.1). T is
// the receiver's, 10.24 ms. Where the smoothed round trip and the empty path's are together below T, and the host sends
// in bursts, the bytes sent in them are in flight, and four segments. Before the first W the window is CUBIC's, from
// the transport's own window and in slow start. After two round trips without a W it is CUBIC's again, from the current
// window, without slow start.
func TestAgentFollower(t *testing.T) {
	short := ofAgent()
	short.BaseRTT = unit.Millisecond
	x, err := RxScheme().Build(short, &RxConfig{Config{Preset: Agent, Eta: 0.95}})
	if err != nil {
		t.Fatal(err)
	}
	if d := x.Decision(); d.Window != 10*1268 || d.Rate != 0 || !d.SlowStart {
		t.Errorf("at first: %+v", d)
	}
	x.OnSend(0, cc.Sent{Bytes: 1268})
	x.OnAck(0, &cc.Ack{Bytes: 4 * 1268, Packets: 4, Advanced: true, Limited: true})
	if d := x.Decision(); d.Window != 14*1268 || d.Rate != 0 {
		t.Errorf("after four segments: %+v", d)
	}
	code := encodeAgentT(10 * unit.Millisecond)
	for _, c := range []struct {
		told, segments, w unit.Bytes
		trip              unit.Time
	}{{1514, 4, 1514, 10_000}, {3 * 1514, 4, 3 * 1514, 10_000}, {4*1514 + 1, 5, 4*1514 + 1, 10_000}, {1, 4, 1, 10_000},
		{1 << 30, 85, 128_000, 10_000}, {128_000, 85, 128_000, 9240}, {128_000, 21, 128_000, 1048}, {128_000, 13, 128_000, 0},
		{5 * 1514, 5, 5 * 1514, 1000}, {125_000, 83, 125_000, 10_000}} {
		a := &cc.Ack{Bytes: 1268, Packets: 1, Feedback: cc.Feedback{Window: c.told, Flows: code}}
		a.RTT.Smoothed = c.trip * unit.Microsecond
		x.OnAck(0, a)
		want := unit.Rate(float64(c.w) * 8 / 10.24e-3 * 1268 / 1514)
		if d := x.Decision(); d.Window != c.segments*1268 || d.Rate < want-1 || d.Rate > want+1 || d.SlowStart {
			t.Errorf("told %v after %v: %+v, want %d segments at %v", c.told, a.RTT.Smoothed, d, c.segments, want)
		}
	}
	ack := func(at unit.Time) cc.Decision {
		a := &cc.Ack{Bytes: 1268, Packets: 1, Advanced: true, Limited: true}
		a.RTT.Smoothed = 10 * unit.Millisecond
		x.OnAck(at, a)
		return x.Decision()
	}
	if d := ack(20 * unit.Millisecond); d.Window != 83*1268 || d.Rate == 0 {
		t.Errorf("after two round trips: %+v", d)
	}
	ack(20*unit.Millisecond + 1)
	if d := ack(20*unit.Millisecond + 2); d.Window != 83*1268 || d.Rate != 0 || d.SlowStart {
		t.Errorf("after more: %+v", d)
	}
	x.OnLoss(20*unit.Millisecond+3, cc.Loss{Kind: cc.FastRecovery})
	if d := x.Decision(); d.Window != 58*1268 { // RFC 9438 §4.6: 0.7 of it
		t.Errorf("after a loss: %+v", d)
	}
	again := &cc.Ack{Bytes: 1268, Packets: 1, Feedback: cc.Feedback{Window: 5 * 1514}} // in the short form, without T
	again.RTT.Smoothed = 10 * unit.Millisecond
	x.OnAck(30*unit.Millisecond, again)
	if d := x.Decision(); d.Window != 5*1268 || x.(*agentFollower).t != 10_240*unit.Microsecond ||
		math.Abs(float64(d.Rate)-5*1514*8/10.24e-3*1268/1514) > 1 {
		t.Errorf("told again: %+v", d)
	}
}

// TestAgentWithoutBursts checks that without bursts W is in flight, also where the round trips are below T: it bridges
// times in which hosts stall.
func TestAgentWithoutBursts(t *testing.T) {
	for _, c := range []struct {
		bursts   bool
		segments unit.Bytes
	}{{true, 21}, {false, 85}} {
		f := ofAgent()
		f.Bursts, f.BaseRTT = c.bursts, unit.Millisecond
		x, err := RxScheme().Build(f, &RxConfig{Config{Preset: Agent, Eta: 0.95}})
		if err != nil {
			t.Fatal(err)
		}
		a := &cc.Ack{Bytes: 1268, Packets: 1, Feedback: cc.Feedback{Window: 128_000, Flows: encodeAgentT(10_240 *
			unit.Microsecond)}}
		a.RTT.Smoothed = 1048 * unit.Microsecond
		x.OnAck(0, a)
		want := unit.Rate(100 * unit.Mbps * 1268 / 1514)
		if d := x.Decision(); d.Window != c.segments*1268 || d.Rate < want-1 || d.Rate > want+1 {
			t.Errorf("bursts %v: %+v, want %d segments at %v", c.bursts, d, c.segments, want)
		}
	}
}

// TestAgentClaims checks a receiver that claims a wrong T. At its rate, at most the host's link of 100 Mb/s, the flight
// is at most the bytes in the sender's own round trip at that rate: 1 ms and 10 ms, rounded up to 11.264 ms; with 1
// Mb/s 1 ms and 484.48 ms, rounded up to 491.52 ms.
func TestAgentClaims(t *testing.T) {
	const longest = 31 << 15 * unit.Microsecond
	for _, c := range []struct {
		window unit.Bytes
		t      unit.Time
		rate   unit.Rate
	}{
		{1 << 30, 11_264 * unit.Microsecond, 100 * unit.Mbps},
		{unit.Bytes(longest * 125 / unit.Millisecond), 491_520 * unit.Microsecond, unit.Mbps},
	} {
		f := ofAgent()
		f.Bursts, f.BaseRTT = false, unit.Millisecond
		x, err := RxScheme().Build(f, &RxConfig{Config{Preset: Agent, Eta: 0.95}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // a second acknowledgement changes nothing
			x.OnAck(0, &cc.Ack{Bytes: 1268, Packets: 1, Feedback: cc.Feedback{Window: c.window,
				Flows: encodeAgentT(longest)}})
			segments := unit.Bytes(math.Ceil(float64(c.rate) * c.t.Seconds() / 8 / 1514))
			want := c.rate * 1268 / 1514
			if d := x.Decision(); d.Window != segments*1268 || d.Rate < want-1 || d.Rate > want+1 {
				t.Errorf("claimed %v in %v: %+v, want %d segments at %v", c.window, longest, d, segments, want)
			}
		}
	}
}

// TestAgentT checks that T is the empty path's round trip and ten of Linux's paced bursts: the bytes sent in 1 ms, at
// least four segments and at most 64 kB. The option stores it to one part in 16.
func TestAgentT(t *testing.T) {
	for _, c := range []struct {
		trip, least unit.Time
		rate        unit.Rate
	}{
		{100 * unit.Microsecond, 10 * unit.Millisecond, 0},
		{100 * unit.Microsecond, 484_480 * unit.Microsecond, unit.Mbps},
		{100 * unit.Microsecond, 24_224 * unit.Microsecond, 20 * unit.Mbps},
		{20 * unit.Millisecond, 10 * unit.Millisecond, 100 * unit.Mbps},
		{unit.Second, 10 * unit.Millisecond, 400 * unit.Mbps},
		{unit.Microsecond, 5_242_880 * unit.Nanosecond, unit.Gbps},
		{unit.Microsecond, 524_288 * unit.Nanosecond, 10 * unit.Gbps},
		{unit.Nanosecond, 3_276_800 * unit.Picosecond, 1600 * unit.Gbps},
	} {
		if got := agentMinT(c.rate); got != c.least {
			t.Errorf("of %v it is %v at least, want %v", c.rate, got, c.least)
		}
		got, want := agentT(c.trip, c.rate), max(c.trip+c.least, 17*unit.Microsecond)
		if got < want || float64(got) > float64(want)*17/16+float64(unit.Microsecond) {
			t.Errorf("of %v and %v it is %v, want %v", c.trip, c.rate, got, want)
		}
	}
	for code := int32(1); code < 256; code++ {
		if got := encodeAgentT(decodeAgentT(code)); got != code {
			t.Errorf("%d is encoded as %d", code, got)
		}
	}
}

// TestAgentReceiver checks a receiver without information about the sender's link. It begins with ten segments of 1,460
// bytes, reports no window before it has measured for T, never causes an acknowledgement, and has the rate of the
// slowest port. T is 20 ms, encoded as 20.48 ms, W_ai is B·T·(1−eta)/n (draft-miao §5), and W is at most B·T. The first
// of the preset's five stages is an increase.
func TestAgentReceiver(t *testing.T) {
	for _, stage := range []int{-1, 0} {
		t.Run(fmt.Sprint("max_stage ", stage), func(t *testing.T) { agentReceives(t, stage) })
	}
}

func agentReceives(t *testing.T, stage int) {
	c := RxConfig{Config{Preset: Agent, Eta: 0.95, N: 5, MaxStage: stage, WAI: standardWAI, Census: true}}
	x, err := RxScheme().Receiver(ofAgent(), &c, &cc.Host{})
	if err != nil {
		t.Fatal(err)
	}
	r := x.(*Receiver)
	if f := r.Feedback(); f.Window != 0 || !r.isAgent || r.w != agentInitial || r.Coalesce(7) != 7 {
		t.Errorf("at first: %+v, W %v", f, r.w)
	}
	// A port of 50 Mb/s, with half of it in use: 64,000 bytes in T.
	tell := func(ms, tx uint64) cc.Feedback {
		at := unit.Time(ms) * unit.Millisecond
		f, now := r.OnData(at, path(telemetry.Hop{Time: at, TxBytes: tx, Rate: 50 * unit.Mbps}))
		if now || r.NextTimer() != unit.Never {
			t.Fatal("it causes an acknowledgement")
		}
		return f
	}
	for ms := uint64(0); ms <= 20; ms++ {
		if f := tell(ms, 3125*ms); f.Window != 0 {
			t.Fatalf("after %d ms it tells %v", ms, f.Window)
		}
	}
	u := 1.0
	for range 21 { // lines 8 and 9
		u = (1-1/20.48)*u + 0.5/20.48
	}
	want := agentInitial + 128_000*0.05/5
	if stage == 0 {
		want += agentInitial/(u/0.95) - agentInitial
	}
	if f := tell(21, 3125*21); f.Window != unit.Bytes(want) || decodeAgentT(f.Flows) != 20_480*unit.Microsecond {
		t.Errorf("after 21 ms it tells %+v, want %.0f B", f, want)
	}
	for ms := uint64(22); ms < 400; ms++ { // an idle link: W is bounded
		tell(ms, 3125*21+ms)
	}
	if f := r.Feedback(); f.Window != 128_000 || r.flows != 0 {
		t.Errorf("the most is %+v", f)
	}
	for n := range 20 {
		if f := r.Feedback(); (f.Window == 0) != (n >= 16) {
			t.Errorf("after %d packets without records it tells %v", n, f.Window)
		}
		r.OnData(400*unit.Millisecond, path())
	}
	tell(401, 3125*21+401)
	if f := r.Feedback(); f.Window == 0 {
		t.Error("with records again it tells nothing")
	}
	r.OnData(501*unit.Millisecond, path())
	if f := r.Feedback(); f.Window != 0 {
		t.Errorf("100 ms after the last records it tells %v", f.Window)
	}
}

// TestAgentNeedsRecords checks that a receiver without records is refused, since it takes the rate of the slowest port
// from them.
func TestAgentNeedsRecords(t *testing.T) {
	f := ofAgent()
	f.Loads = true
	c := RxConfig{Config{Preset: Agent, Eta: 0.95}}
	if _, err := RxScheme().Receiver(f, &c, &cc.Host{}); err == nil || !strings.Contains(err.Error(), "format: relative") {
		t.Errorf("the error is %v", err)
	}
}

// TestRxConfig_AgentRejectsOtherParameters checks that Linux's own TCP can follow the preset, with n, eta, max_stage
// and t. Other parameters are refused by name.
func TestRxConfig_AgentRejectsOtherParameters(t *testing.T) {
	c := RxConfig{Config{Preset: Agent, Eta: 0.9, MaxStage: -1, WAI: standardWAI, Census: true}}
	if a, remarks := c.agent(); len(remarks) > 0 || a != (cc.AgentParams{Eta: 0.9, Flows: 8, MaxStage: 5}) {
		t.Errorf("%+v, %v", a, remarks)
	}
	c.N, c.MaxStage, c.T = 3, 2, unit.Millisecond
	if a, _ := c.agent(); a != (cc.AgentParams{Eta: 0.9, Flows: 3, MaxStage: 2, T: unit.Millisecond}) {
		t.Errorf("%+v", a)
	}
	for _, x := range []struct {
		param  string
		change func(*Config)
	}{{"preset", func(c *Config) { c.Preset = Draft }}, {"min_rate", func(c *Config) { c.MinRate = 1 }},
		{"eta", func(c *Config) { c.Eta = 0.009 }}, {"n, max_stage, t", func(c *Config) { c.N = 1<<16 + 1 }},
		{"n, max_stage, t", func(c *Config) { c.T = unit.Second + 1 }}} {
		d := c
		x.change(&d.Config)
		_, remarks := d.agent()
		if len(remarks) != 1 || !remarks[0].Refused || remarks[0].Param != x.param ||
			strings.Contains(remarks[0].Text, "%!") {
			t.Errorf("%s: %+v", x.param, remarks)
		}
	}
}
