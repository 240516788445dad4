package bolt

import (
	"cmp"
	"fmt"
	"math"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config holds the parameters of the sender.
type Config struct {
	AI          float64    // additive increase a round trip [packets]
	MaxDecrease float64    // of a window of a packet or less, and after losses
	MinWindow   unit.Bytes // also below a packet
	MaxWindow   unit.Bytes // 0: follows from the path
	RequestsOff bool       // INC is never set
	Paced       bool       // every window is also a rate, not only those below a packet
}

// Params binds the options of bolt to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Float(&c.AI, "ai", "1", "additive increase [packets per round trip]; raise it to reach a fair share sooner, "+
		"lower it if many flows share a link, since each adds this to the queue", "Bolt algorithm 2").Min("0").Max("1000")
	p.Share(&c.MaxDecrease, "max_md", "50%", "maximum decrease: of a window of at most one packet at a switch's "+
		"notice, and of any window at a loss", "Bolt simulator: MaxMd").Min("0%").Max("99%")
	p.Size(&c.MinWindow, "min_cwnd", "144 B", "minimum window; below one packet it is a pacing rate; lower it if so "+
		"many flows share a link that their minimum windows fill its queue",
		"Weir: a tenth of a packet; Bolt simulator: MinCwnd, 15 B").
		Min("1 B").Max("1GB")
	p.Size(&c.MaxWindow, "max_cwnd", "0 B",
		"maximum window, not below min_cwnd; 0 B: four bandwidth-delay products of the path, but at least 256 packets; "+
			"lower it to bound the queue that a flow can cause, raise it if a path holds more",
		"Bolt simulator: MaxCwnd, 256 packets (its bandwidth-delay product: 69 packets); Weir: derived from the path")
	p.BoolWords(&c.RequestsOff, [2]string{"on", "off"}, "requests", "on",
		"on: packets ask the switches for one more packet (INC); off: the window grows by ai alone",
		"Bolt §3.2, §3.3; Weir: off")
	p.BoolWords(&c.Paced, [2]string{"below_packet", "always"}, "pacing", "always",
		"which windows are also a pacing rate of one window per round trip; below_packet: those below one packet; "+
			"always: all, so that packets do not arrive in bursts and a flow responds to all of the queue that it causes",
		"Bolt simulator: SendDown; Weir: always")

	p.AddRule("max_cwnd", func() error {
		if c.MaxWindow > 0 && c.MaxWindow < c.MinWindow {
			return fmt.Errorf("%v is below min_cwnd, which is %v", c.MaxWindow, c.MinWindow)
		}
		return nil
	})
}

// Defaults returns the parameters of the authors' simulator, except for MaxWindow, MinWindow and Paced.
func Defaults() Config { return scheme.Defaults[Config]() }

// Kinds of warnings.
var (
	warnUnanswered = scheme.WarningKind{ID: "bolt-unanswered",
		Condition: "no switch answers requests, so only losses reduce the window"}
	warnPaths = scheme.WarningKind{ID: "bolt-paths",
		Condition: "packets of a flow take several paths, and an answer about one path changes the window of all"}
	warnMaxWindow = scheme.WarningKind{ID: "bolt-max-cwnd",
		Condition: "max_cwnd is below 95 % of a round trip of a path at its slowest link"}
)

// Check warns of switches that do not answer, of several paths, and of a window that does not fill the path. It
// refuses a round trip beyond the clock.
func (c *Config) Check(s *cc.FlowContext) (all []scheme.Remark) {
	if p := s.FindPath(func(p *cc.FlowPath) bool { return p.WhyUnanswered != "" && !p.Idle }); p != nil {
		all = append(all, warnUnanswered.NewRemark("", "%s: only losses lower its window",
			p.WhyUnanswered).WithPort(p.NarrowLink.Port, 0))
	}
	if s.Sprayed {
		all = append(all, warnPaths.NewRemark("",
			"packets of a flow take several paths, and an answer about one of them reduces the window of all"))
	}
	if c.MaxWindow > 0 {
		all = append(all, s.WarnSmallWindow(warnMaxWindow, "max_cwnd", c.MaxWindow.String()+" are", float64(c.MaxWindow),
			0.95)...)
	}
	if p, ok := s.FindLongestPath(); ok && p.BaseRTT > maxClock {
		all = append(all, scheme.NewRefusal("", "a round trip of %v exceeds the range of the clock in its packets, %v",
			p.BaseRTT, maxClock))
	}
	return all
}

// maxClock is the time that 32 bits of nanoseconds count.
const maxClock = (1 << 32) * unit.Nanosecond

// Scheme returns the scheme of cc: bolt.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "bolt", Doc: "window that switches with the program bolt lower in proportion to the " +
			"flow's share of a queue and raise by one packet where a link has capacity to spare", Source: "Bolt (NSDI 2023)",
			Warnings: []scheme.WarningKind{warnUnanswered, warnPaths, warnMaxWindow}},
		Signals:     cc.ByRequests | cc.ByLosses,
		OwnRecovery: true,
		Requests:    true,
		Tick:        unit.Nanosecond,
	}, New)
}

// Bolt is the controller of one flow.
type Bolt struct {
	config    Config
	mss       float64
	mtu       float64
	linkRate  float64 // rate of the sender's link [bit/s]; 0: not known
	maxWindow float64

	window      float64   // cwnd [bytes]
	rtt         unit.Time // the last sample; 0: no sample yet
	baseRTT     unit.Time // round trip of the path, for pacing before the first sample
	hasAck      bool      // an acknowledgement has arrived
	decreasedAt unit.Time // when the window was lowered last, or the flow began
	addAt       int64     // the window grows by AI when bytes up to here are acknowledged
	request     uint8
}

// New returns the controller of a flow. It fails if f.MSS is not above 0.
func New(f cc.Flow, c Config) (*Bolt, error) {
	if f.MSS <= 0 {
		return nil, fmt.Errorf("cc bolt: packets of %d B; allowed: above 0", f.MSS)
	}
	b := &Bolt{config: c, mss: float64(f.MSS), mtu: float64(max(f.MTU, f.MSS)), linkRate: float64(f.NICRate),
		decreasedAt: f.Start,
		baseRTT:     f.BaseRTT, maxWindow: float64(c.MaxWindow)}
	if b.linkRate == 0 {
		b.linkRate = float64(f.LineRate)
	}
	b.window = float64(f.InitialWindow) * b.mss
	if c.MaxWindow == 0 {
		b.maxWindow = max(maxWindowPackets*b.mss, maxWindowProducts*max(b.window, b.linkRate/8*f.BaseRTT.Seconds()))
	}
	b.maxWindow = min(b.maxWindow, cc.Unlimited*b.mss)
	b.clampWindow()
	return b, nil
}

// Limits of the default max window, which is the larger of both.
const (
	maxWindowProducts = 4
	maxWindowPackets  = 256
)

// Window returns the congestion window in bytes. Below a packet it acts as a rate.
func (b *Bolt) Window() float64 { return b.window }

// OnSend sets the request of the packet. Data in the last window brings no further packet, so that a switch may give
// its place away (PRU). A flow that ends in its first window has no acknowledgement yet.
func (b *Bolt) OnSend(_ unit.Time, s cc.Sent) {
	b.request = 0
	if !b.hasAck {
		b.request = packet.BoltFirst
	}
	switch {
	case s.Left <= s.Bytes || float64(s.Left) <= b.window:
		b.request |= packet.BoltLast
	case b.hasAck && !b.config.RequestsOff:
		b.request |= packet.BoltIncrease
	}
}

// OnAck is Bolt's HandleAck. It adds AI packets to the window once a round trip, and a packet if switches granted the
// acknowledged packet's request. Without a notice from a switch, the queue that the packet found lowers the window.
func (b *Bolt) OnAck(now unit.Time, a *cc.Ack) {
	b.hasAck = true
	if a.RTT.Sample > 0 {
		b.rtt = a.RTT.Sample
	}
	if a.Telemetry.Drain > 0 && b.rtt > 0 {
		b.drainShare(now, b.rtt, float64(a.Telemetry.Drain)/1e9)
	}
	if a.FirstUnacked >= b.addAt && a.Packets > 0 {
		b.window += float64(b.config.AI * b.mss)
		b.addAt = max(a.Next, a.FirstUnacked+1)
	}
	if a.Telemetry.Answer&(packet.BoltIncrease|packet.BoltDecrease) == packet.BoltIncrease {
		b.window += b.mss
	}
	b.clampWindow()
}

// OnNotice is Bolt's HandleSRC: the queue in a switch's notice lowers the window (drainShare). Other notices have no
// effect.
func (b *Bolt) OnNotice(now unit.Time, n cc.Notice) {
	if n.Kind == cc.QueueNotice && n.Queue > 0 && n.Link > 0 {
		b.drainShare(now, max(now-n.Sent, 1), float64(n.Queue)*8/float64(n.Link))
		b.clampWindow()
	}
}

// drainShare lowers the window by a packet, unless the last decrease was less than an interval ago. The flow drains its
// share of the queue within rtt, the time that the notice took. The share is rate / link, so the flow's part of the
// queue is what it sends in drain, the seconds that the queue takes to drain. A window of a packet or less falls by
// max_md.
func (b *Bolt) drainShare(now, rtt unit.Time, drain float64) {
	if b.window <= b.mss {
		b.window = float64(b.window * (1 - b.config.MaxDecrease))
		return
	}
	rate := b.linkRate
	if b.rtt > 0 {
		rate = b.window * 8 / b.rtt.Seconds()
	}
	packets := rate * drain / 8 / b.mtu
	if float64(now-b.decreasedAt)*packets >= float64(rtt) {
		b.window -= b.mss
		b.decreasedAt = now
	}
}

// clampWindow limits the window to min_cwnd and the maximum window.
func (b *Bolt) clampWindow() {
	b.window = min(max(b.window, float64(b.config.MinWindow)), b.maxWindow)
}

// OnLoss lowers the window by max_md, at most once a round trip.
func (b *Bolt) OnLoss(now unit.Time, l cc.Loss) {
	switch l.Kind {
	case cc.FastRecovery, cc.LossInReduction, cc.RetransmissionTimeout:
		if now-b.decreasedAt >= b.rtt {
			b.window = float64(b.window * (1 - b.config.MaxDecrease))
			b.decreasedAt = now
			b.clampWindow()
		}
	}
}

// OnTimer is never called.
func (b *Bolt) OnTimer(unit.Time) {}

// Decision returns the window. Below a packet it is one packet, with a rate of a window a round trip.
func (b *Bolt) Decision() cc.Decision {
	d := cc.Decision{Window: unit.Bytes(max(b.window, b.mss)), NextTimer: unit.Never, Request: b.request}
	if rtt := cmp.Or(b.rtt, b.baseRTT); (b.window < b.mss || b.config.Paced && b.rtt > 0) && rtt > 0 {
		d.Rate = max(unit.Rate(min(b.window*8/rtt.Seconds(), math.MaxInt64/2)), 1)
	}
	return d
}
