package hpcc

import (
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/unit"
)

// ofAgent is the flow of a sender whose frames of 1514 bytes have 1268 of payload, on a link of 100 Mb/s and a path of
// 10 ms: W_init, B·T, is 125,000 bytes.
func ofAgent() cc.Flow {
	return cc.Flow{MSS: 1268, Frame: 1514, InitialWindow: 10, Path: cc.Path{NICRate: 100 * unit.Mbps,
		LineRate: 100 * unit.Mbps * 1268 / 1514, BaseRTT: 10 * unit.Millisecond}}
}

// W counts frames: ceil(W/frame) segments are in flight, two at least, paced at W/T, of which the payload's part
// counts; more than the link carries in T is not obeyed (§9.1). Until there is a W it is CUBIC's, from the transport's
// own window and in slow start, and again when there was none for two round trips: from the window that it has, without
// slow start.
func TestAgentFollower(t *testing.T) {
	x, err := RxScheme().Build(ofAgent(), &RxConfig{Config{Preset: Agent, Eta: 0.95}})
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
	for _, c := range []struct{ told, segments, w unit.Bytes }{{1514, 2, 1514}, {3 * 1514, 3, 3 * 1514},
		{3*1514 + 1, 4, 3*1514 + 1}, {1, 2, 1}, {125_000, 83, 125_000}, {1 << 30, 83, 125_000}} {
		x.OnAck(0, &cc.Ack{Bytes: 1268, Packets: 1, Feedback: cc.Feedback{Window: c.told}})
		want := unit.Rate(float64(c.w) * 8 / 10e-3 * 1268 / 1514)
		if d := x.Decision(); d.Window != c.segments*1268 || d.Rate < want-1 || d.Rate > want+1 || d.SlowStart {
			t.Errorf("told %v: %+v, want %d segments at %v", c.told, d, c.segments, want)
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
	x.OnAck(30*unit.Millisecond, &cc.Ack{Bytes: 1268, Packets: 1, Feedback: cc.Feedback{Window: 5 * 1514}})
	if d := x.Decision(); d.Window != 5*1268 || d.Rate == 0 {
		t.Errorf("told again: %+v", d)
	}
}

// The receiver knows nothing of the sender's link: it begins with ten segments of 1,460 bytes, tells nothing before it
// has measured for T, never causes an acknowledgement, and has the rate of the slowest port: W_ai is its B·T·(1−eta)/n
// (§5), and W is B·T at most.
func TestAgentReceiver(t *testing.T) {
	c := RxConfig{Config{Preset: Agent, Eta: 0.95, N: 5, MaxStage: 0, WAI: standardWAI, Census: true}}
	x, err := RxScheme().Receiver(ofAgent(), &c, &cc.Host{})
	if err != nil {
		t.Fatal(err)
	}
	r := x.(*Receiver)
	if f := r.Feedback(); f.Window != 0 || !r.Patient() || r.w != agentInitial || r.Coalesce(7) != 7 {
		t.Errorf("at first: %+v, W %v", f, r.w)
	}
	// A port of 50 Mb/s, half of which is used: 31,250 bytes in T.
	tell := func(ms, tx uint64) cc.Feedback {
		at := unit.Time(ms) * unit.Millisecond
		f, now := r.OnData(at, path(telemetry.Hop{Time: at, TxBytes: tx, Rate: 50 * unit.Mbps}))
		if now || r.NextTimer() != unit.Never {
			t.Fatal("it causes an acknowledgement")
		}
		return f
	}
	for ms := uint64(0); ms <= 10; ms++ {
		if f := tell(ms, 3125*ms); f.Window != 0 {
			t.Fatalf("after %d ms it tells %v", ms, f.Window)
		}
	}
	u := 1.0
	for range 11 { // lines 8 and 9, with tau/T of 0.1
		u = 0.9*u + 0.1*0.5
	}
	want := agentInitial/(u/0.95) + 62_500*0.05/5
	if f := tell(11, 3125*11); f.Window != unit.Bytes(want) {
		t.Errorf("after 11 ms it tells %v, want %.0f B", f.Window, want)
	}
	for ms := uint64(12); ms < 400; ms++ { // an idle link: W is bounded
		tell(ms, 3125*11+ms)
	}
	if f := r.Feedback(); f.Window != 62_500 || r.flows != 0 {
		t.Errorf("the most is %+v", f)
	}
	for n := range 20 {
		if f := r.Feedback(); (f.Window == 0) != (n >= 16) {
			t.Errorf("after %d packets without records it tells %v", n, f.Window)
		}
		r.OnData(400*unit.Millisecond, path())
	}
	tell(401, 3125*11+401)
	if f := r.Feedback(); f.Window == 0 {
		t.Error("with records again it tells nothing")
	}
	r.OnData(501*unit.Millisecond, path())
	if f := r.Feedback(); f.Window != 0 {
		t.Errorf("100 ms after the last records it tells %v", f.Window)
	}
}

// The receiver takes the rate of the slowest port from records: without them it is refused.
func TestAgentNeedsRecords(t *testing.T) {
	f := ofAgent()
	f.Loads = true
	c := RxConfig{Config{Preset: Agent, Eta: 0.95}}
	if _, err := RxScheme().Receiver(f, &c, &cc.Host{}); err == nil || !strings.Contains(err.Error(), "format: relative") {
		t.Errorf("the error is %v", err)
	}
}

// What Linux' own TCP can follow is the preset, with n, eta, max_stage and t; all else of it is refused by name.
func TestFollows(t *testing.T) {
	c := RxConfig{Config{Preset: Agent, Eta: 0.9, MaxStage: -1, WAI: standardWAI, Census: true}}
	if a, remarks := c.Follows(); len(remarks) > 0 || a != (cc.Agent{Eta: 0.9, Flows: 8, MaxStage: 5}) {
		t.Errorf("%+v, %v", a, remarks)
	}
	c.N, c.MaxStage, c.T = 3, 2, unit.Millisecond
	if a, _ := c.Follows(); a != (cc.Agent{Eta: 0.9, Flows: 3, MaxStage: 2, T: unit.Millisecond}) {
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
		_, remarks := d.Follows()
		if len(remarks) != 1 || !remarks[0].Refused || remarks[0].Param != x.param ||
			strings.Contains(remarks[0].Text, "%!") {
			t.Errorf("%s: %+v", x.param, remarks)
		}
	}
}
