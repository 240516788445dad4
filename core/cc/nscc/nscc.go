package nscc

import (
	"weir/core/scheme"
	"weir/core/unit"
)

// Config holds the constants of the law.
type Config struct {
	ReferenceRate unit.Rate // of the network that the constants are for
	ReferenceRTT  unit.Time
	Target        unit.Time // queueing delay that the law aims at; 0: TargetShare of the network's round trip
	TargetShare   float64
	Proportional  float64 // alpha: payloads added for a window of acknowledgements below the target
	FairIncrease  float64 // fi: payloads added above the target without a mark
	Step          float64 // eta: payloads added each round trip
	FastIncrease  float64 // bytes added for each byte acknowledged without a queue
	FastDelay     unit.Time
	Gamma         float64 // share of the average delay's relative excess that a decrease takes
	MinKept       float64 // min share of the window that remains after a decrease
	Weight        float64 // of a sample in the average delay
	Unmarked      float64 // share of the base round trip that a long delay without a mark counts as in the average
	MaxWindow     float64 // in products of bandwidth and round trip
	AdjustPackets int     // the window is adjusted after more packets than this, and after each round trip
	QuickAdapt    bool
	QuickDelay    float64 // in targets: a longer delay triggers quick adapt
	QuickGate     int     // quick adapt happens if less than the largest window over 2 to this has arrived
}

// simulator is the prefix of the sources of the defaults.
const simulator = "UEC htsim uec.cpp: "

// Params binds the options of NSCC to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	p.Rate(&c.ReferenceRate, "reference_rate", "100Gbps", "reference rate: the network rate to which the constants of "+
		"the algorithm apply",
		simulator+"100 Gb/s").Min("1Mbps")
	p.Time(&c.ReferenceRTT, "reference_rtt", "12us", "reference round-trip time: the network's time to which the "+
		"constants of the algorithm apply", simulator+"12 us").
		Min("10ns").Max("1s")
	p.Time(&c.Target, "target", "0s", "target queueing delay of NSCC; 0s: target_share of the network's round-trip time",
		simulator+"target_share × round-trip time").Max("1s")
	p.Share(&c.TargetShare, "target_share", "75%", "target queueing delay as a share of the network's round-trip "+
		"time; the simulator uses 100% where switches do not trim", simulator+"0.75").Min("1%").Max("1000%")
	p.Float(&c.Proportional, "proportional", "4", "alpha: increase per window of acknowledgements with a delay below "+
		"the target [payloads, at the reference network]", simulator+"4").Min("0").Max("1000")
	p.Float(&c.FairIncrease, "fair", "5", "fi: increase above the target without a mark [payloads]", simulator+"5").
		Min("0").Max("1000")
	p.Float(&c.Step, "step", "0.15", "eta: increase in each round trip [payloads]", simulator+"0.15").
		Min("0").Max("1000")
	p.Float(&c.FastIncrease, "fast", "0.25", "increase per byte that was acknowledged without a queue [bytes]",
		simulator+"0.25").Min("0").Max("1000")
	p.Time(&c.FastDelay, "fast_delay", "1us", "delay below which the queue counts as empty", simulator+"1 us").Max("1s")
	p.Share(&c.Gamma, "gamma", "80%", "share of the average delay's relative excess over the target by which a "+
		"decrease lowers the window",
		simulator+"0.8").Min("0%").Max("100%")
	p.Share(&c.MinKept, "least_kept", "50%", "minimum share of the window that remains after a decrease",
		simulator+"0.5").
		Min("1%").Max("100%")
	p.Share(&c.Weight, "delay_weight", "1.25%", "weight of a sample in the average delay", simulator+"0.0125").
		Min("0.01%").Max("100%")
	p.Share(&c.Unmarked, "unmarked_delay", "25%", "value that the average uses for a delay above the target without a "+
		"mark, as a share of the base round-trip time", simulator+"0.25").Min("0%").Max("100%")
	p.Float(&c.MaxWindow, "max_window", "1.5", "initial and maximum window in bandwidth-delay products",
		simulator+"1.5").Min("0.01").Max("1000")
	p.Packets(&c.AdjustPackets, "adjust_packets", "8 packets",
		"bytes after which the window is adjusted, in addition to once per round trip", simulator+"8").
		Min("0 packets").Max("1000000 packets")
	p.Bool(&c.QuickAdapt, "quick_adapt", "true", "quick adapt: loss and long delays set the window to the bytes "+
		"delivered in a round trip",
		simulator+"on")
	p.Float(&c.QuickDelay, "quick_delay", "4", "delay that triggers quick adapt, in multiples of the target",
		simulator+"4").
		Min("0").Max("1000")
	p.Int(&c.QuickGate, "quick_gate", "3", "quick adapt requires that less than the maximum window / 2^quick_gate has "+
		"arrived",
		simulator+"3").Min("0").Max("30")
}

// Defaults returns the simulator's constants.
func Defaults() Config { return scheme.Defaults[Config]() }

// Conditions are the properties of a flow that the law scales to: its frames, rate and round trip.
type Conditions struct {
	Frame   int64 // bytes of a full packet on the wire: the minimum window
	Payload int64 // bytes of payload in it
	Rate    unit.Rate
	RTT     unit.Time // round trip of the network: the longest without queues
	Credit  bool      // the receiver grants credit, too, and handles trims at the last hop
}

// Law is the window of one sender. New or Restart initializes it.
type Law struct {
	config     *Config
	conditions Conditions

	target, quickDelay unit.Time
	scale              float64 // ratio of the network's bandwidth-delay product to the reference's
	alpha, fair, step  float64

	window       int64
	maxWindow    int64     // largest window
	baseRTT      unit.Time // shortest round trip
	averageDelay unit.Time // of delays

	increase  int64 // sum of increases, to be divided by the window
	received  int64 // bytes since the last adjustment
	achieved  int64 // bytes in this round trip
	ignored   int64 // bytes since the last quick adapt, up to ignore
	ignore    int64
	fastBytes int64 // consecutive bytes without a queue
	rising    bool
	lossy     bool // a NACK has arrived since the last quick adapt
	decreased unit.Time
	adjusted  unit.Time
	quickAt   unit.Time // earliest time of the next quick adapt; 0: no round trip has begun
}

// New returns the law of a sender. The first window is the largest.
func New(c Config, s Conditions) *Law {
	l := &Law{}
	l.Restart(&c, s)
	return l
}

// Restart makes l the law of a new sender, as New does. It keeps c, which must not change afterwards.
func (l *Law) Restart(c *Config, s Conditions) {
	rtt := s.RTT.Seconds()
	bdp := int64(float64(rtt * float64(s.Rate) / 8))
	*l = Law{config: c, conditions: s, target: c.Target, baseRTT: s.RTT}
	if l.target == 0 {
		l.target = unit.Time(float64(s.RTT) * c.TargetShare)
	}
	l.target = max(l.target, 1)
	l.quickDelay = unit.Time(c.QuickDelay * float64(l.target))
	reference := int64(float64(c.ReferenceRTT.Seconds() * float64(c.ReferenceRate) / 8))
	l.scale = float64(bdp) / float64(max(reference, 1))
	payload := float64(s.Payload)
	l.alpha = c.Proportional * payload * l.scale * (float64(l.target) / float64(c.ReferenceRTT)) / float64(l.target)
	l.fair = c.FairIncrease * payload * l.scale
	l.step = c.Step * payload * l.scale
	l.maxWindow = max(int64(c.MaxWindow*float64(bdp)), s.Frame)
	l.window = l.maxWindow
}

// Window returns the bytes of frames that may be in flight.
func (l *Law) Window() int64 { return l.window }

// MaxWindow returns the largest window in bytes.
func (l *Law) MaxWindow() int64 { return l.maxWindow }

// BaseRTT returns the shortest round trip.
func (l *Law) BaseRTT() unit.Time { return l.baseRTT }

// TargetDelay returns the queueing delay that the law aims at.
func (l *Law) TargetDelay() unit.Time { return l.target }

// AverageDelay returns the average queueing delay.
func (l *Law) AverageDelay() unit.Time { return l.averageDelay }

// Ack is the content of an acknowledgement.
type Ack struct {
	Bytes    int64 // bytes of frames that the receiver has received since the last one
	Marked   bool
	RTT      unit.Time // 0: no sample
	InFlight int64     // bytes of frames in flight, without Bytes
}

// OnAck applies an acknowledgement to the window. Without a mark it collects increases, or raises the window at once if
// there is no queue. With a mark and a delay above the target it lowers the window. Few arrived bytes may replace it
// (adaptQuickly).
func (l *Law) OnAck(now unit.Time, a Ack) {
	l.achieved += a.Bytes
	l.received += a.Bytes
	l.ignored += a.Bytes
	delay := l.averageDelay
	if a.RTT > 0 {
		l.updateBaseRTT(a.RTT)
		delay = a.RTT - l.baseRTT
		counted := float64(delay)
		if !a.Marked && delay > l.target {
			counted = float64(l.baseRTT) * l.config.Unmarked
		}
		l.averageSample(counted)
	}
	if l.adaptQuickly(now, false, a.Marked, delay, a.InFlight) {
		return
	}
	switch {
	case !a.Marked && delay >= l.target:
		l.addIncrease(l.fair * float64(a.Bytes))
	case !a.Marked:
		if l.increaseFast(a.Bytes, delay); !l.rising {
			l.addIncrease(l.alpha * float64(a.Bytes) * float64(l.target-delay))
		}
	case delay >= l.target:
		l.decreaseWindow(now)
	}
	l.clampWindow()
	if l.received > int64(l.config.AdjustPackets)*l.conditions.Frame || now-l.adjusted > l.conditions.RTT {
		l.adjustWindow(now)
	}
	l.clampWindow()
}

// Nack is the notice of a trimmed packet.
type Nack struct {
	Bytes    int64     // of the packet's frame
	RTT      unit.Time // since it was sent
	InFlight int64     // bytes of frames in flight, with the packet
	LastHop  bool      // it was trimmed at the receiver's port
}

// OnNack applies the notice of a trimmed packet. The packet's delay is unknown, and the network's round trip stands
// for it.
func (l *Law) OnNack(now unit.Time, n Nack) {
	if n.RTT > 0 {
		l.updateBaseRTT(n.RTT)
	}
	l.ignored += n.Bytes
	l.averageSample(float64(l.conditions.RTT))
	l.lossy = true
	if l.adaptQuickly(now, true, true, 0, n.InFlight) || l.conditions.Credit && n.LastHop {
		return
	}
	l.window -= n.Bytes
	l.clampWindow()
}

// OnTimeout applies the loss of a packet of so many bytes without any notice.
func (l *Law) OnTimeout(bytes int64) { l.window = max(l.window-bytes, l.conditions.Frame) }

// ApplyPenalty lowers the window by the receiver's penalty: by all bytes that have arrived with 0, not at all with 255.
func (l *Law) ApplyPenalty(bytes int64, penalty uint8) {
	if penalty < 255 {
		l.window = max(l.window-(bytes-bytes*int64(penalty)/255), l.conditions.Frame)
	}
}

// updateBaseRTT stores a round trip if it is the shortest, and then sets the largest window by it.
func (l *Law) updateBaseRTT(rtt unit.Time) {
	if rtt >= l.baseRTT {
		return
	}
	l.baseRTT = rtt
	bdp := int64(float64(rtt) / 1e6 * float64(l.conditions.Rate) / 8e6)
	l.maxWindow = max(int64(l.config.MaxWindow*float64(bdp)), l.conditions.Frame)
}

// averageSample adds a delay in picoseconds to the average delay.
func (l *Law) averageSample(delay float64) {
	w := l.config.Weight
	l.averageDelay = unit.Time(float64(w*delay) + float64((1-w)*float64(l.averageDelay)))
}

// addIncrease adds to the sum that the next adjustment divides by the window.
func (l *Law) addIncrease(bytes float64) { l.increase = int64(float64(l.increase) + bytes) }

// increaseFast raises the window at once when a whole window has met no queue.
func (l *Law) increaseFast(bytes int64, delay unit.Time) {
	if delay >= l.config.FastDelay {
		l.fastBytes, l.rising = 0, false
		return
	}
	l.fastBytes += bytes
	if l.rising = l.rising || l.fastBytes > l.window; l.rising {
		l.window += int64(float64(bytes) * (l.config.FastIncrease * l.scale))
	}
}

// decreaseWindow lowers the window by the average delay's relative excess over the target, once a round trip.
func (l *Law) decreaseWindow(now unit.Time) {
	l.rising, l.fastBytes = false, 0
	if l.averageDelay <= l.target || now-l.decreased <= l.baseRTT {
		return
	}
	kept := 1 - float64(l.config.Gamma*float64(l.averageDelay-l.target))/float64(l.averageDelay)
	l.window = max(int64(float64(l.window)*max(kept, l.config.MinKept)), l.conditions.Frame)
	l.decreased = now
}

// adjustWindow adds the collected increases to the window, and once a round trip eta.
func (l *Law) adjustWindow(now unit.Time) {
	l.window += l.increase / l.window
	if now-l.adjusted >= l.conditions.RTT {
		l.window += int64(l.step)
		l.adjusted = now
	}
	l.increase, l.received = 0, 0
}

// clampWindow limits the window to a frame and the largest window.
func (l *Law) clampWindow() { l.window = min(max(l.window, l.conditions.Frame), l.maxWindow) }

// adaptQuickly sets the window to the bytes that arrived in a round trip if they are few. done reports that it has
// done so, or that this event concerns packets that were in flight at that time.
func (l *Law) adaptQuickly(now unit.Time, loss, marked bool, delay unit.Time, inFlight int64) (done bool) {
	if !l.config.QuickAdapt {
		return false
	}
	if l.ignored < l.ignore && marked {
		done = true
	} else if now > l.quickAt {
		if l.quickAt != 0 && (l.lossy || loss || delay > l.quickDelay) && l.achieved < l.maxWindow>>l.config.QuickGate {
			l.window = max(l.achieved, l.conditions.Frame)
			l.ignore, l.ignored, l.lossy = inFlight, 0, false
			done = true
		}
		l.achieved = 0
		l.quickAt = now + l.baseRTT + l.target
	}
	if done {
		l.increase, l.received = 0, 0
	}
	return done
}
