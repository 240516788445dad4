package nscc

import (
	"weir/core/scheme"
	"weir/core/unit"
)

// Config are the constants of the law.
type Config struct {
	ReferenceRate unit.Rate // of the network that the constants are for
	ReferenceRTT  unit.Time
	Target        unit.Time // queueing delay that the law aims at; 0: TargetShare of the network's round trip
	TargetShare   float64
	Proportional  float64 // alpha: payloads that are added below the target, of a window's acknowledgements
	Fair          float64 // fi: payloads that are added above the target without a mark
	Step          float64 // eta: payloads that are added each round trip
	Fast          float64 // bytes that are added for each byte acknowledged when there is no queue
	FastDelay     unit.Time
	Gamma         float64 // of the excess delay's share, how much a decrease takes
	LeastKept     float64 // share of the window that a decrease leaves at least
	Weight        float64 // of a sample in the average delay
	Unmarked      float64 // share of the base round trip that a long delay without a mark counts as in the average
	MaxWindow     float64 // in products of bandwidth and round trip
	AdjustPackets int     // after more packets than this the window is adjusted, and after each round trip
	QuickAdapt    bool
	QuickDelay    float64 // targets: a longer delay lets the window adapt quickly
	QuickGate     int     // it does if less than the largest window over 2 to this has arrived
}

// simulator is what the defaults' sources are called.
const simulator = "UEC htsim uec.cpp: "

// Params binds the constants.
func (c *Config) Params(p *scheme.Params) {
	p.Rate(&c.ReferenceRate, "reference_rate", "100Gbps", "rate of the network that the law's constants are for",
		simulator+"100 Gb/s").Min("1Mbps")
	p.Time(&c.ReferenceRTT, "reference_rtt", "12us", "round-trip time of that network", simulator+"12 us").
		Min("10ns").Max("1s")
	p.Time(&c.Target, "target", "0s", "queueing delay that NSCC aims at; 0s: target_share of the network's round trip",
		simulator+"of the round trip").Max("1s")
	p.Share(&c.TargetShare, "target_share", "75%", "share of the network's round trip that is the target; the "+
		"simulator has 100% where nothing is trimmed", simulator+"0.75").Min("1%").Max("1000%")
	p.Float(&c.Proportional, "proportional", "4", "alpha: payloads, at the reference network, that are added for a "+
		"window of acknowledgements below the target", simulator+"4").Min("0").Max("1000")
	p.Float(&c.Fair, "fair", "5", "fi: payloads that are added above the target without a mark", simulator+"5").
		Min("0").Max("1000")
	p.Float(&c.Step, "step", "0.15", "eta: payloads that are added in each round trip", simulator+"0.15").
		Min("0").Max("1000")
	p.Float(&c.Fast, "fast", "0.25", "bytes that are added for a byte that was acknowledged without a queue",
		simulator+"0.25").Min("0").Max("1000")
	p.Time(&c.FastDelay, "fast_delay", "1us", "shorter delays are no queue", simulator+"1 us").Max("1s")
	p.Share(&c.Gamma, "gamma", "80%", "of the average delay's excess over the target, how much a decrease takes off",
		simulator+"0.8").Min("0%").Max("100%")
	p.Share(&c.LeastKept, "least_kept", "50%", "share of the window that a decrease leaves at least", simulator+"0.5").
		Min("1%").Max("100%")
	p.Share(&c.Weight, "delay_weight", "1.25%", "weight of a sample in the average delay", simulator+"0.0125").
		Min("0.01%").Max("100%")
	p.Share(&c.Unmarked, "unmarked_delay", "25%", "share of the base round trip that a delay above the target counts "+
		"as, in the average, if there is no mark", simulator+"0.25").Min("0%").Max("100%")
	p.Float(&c.MaxWindow, "max_window", "1.5", "largest window, and the first, in products of rate and round trip",
		simulator+"1.5").Min("0.01").Max("1000")
	p.Packets(&c.AdjustPackets, "adjust_packets", "8 packets",
		"the window is adjusted when more has arrived, and each round trip", simulator+"8").
		Min("0 packets").Max("1000000 packets")
	p.Bool(&c.QuickAdapt, "quick_adapt", "true", "loss and long delays set the window to what a round trip delivers",
		simulator+"on")
	p.Float(&c.QuickDelay, "quick_delay", "4", "targets; a longer delay lets the window adapt quickly", simulator+"4").
		Min("0").Max("1000")
	p.Int(&c.QuickGate, "quick_gate", "3", "it does if less than the largest window over 2^quick_gate has arrived",
		simulator+"3").Min("0").Max("30")
}

// Defaults are the simulator's.
func Defaults() Config { return scheme.Defaults[Config]() }

// Conditions are what the law is scaled to: a flow's frames, rate and round trip.
type Conditions struct {
	Frame   int64 // bytes of a full packet on the wire: the smallest window
	Payload int64 // of it
	Rate    unit.Rate
	RTT     unit.Time // round trip of the network: the longest without queues
	Credit  bool      // the receiver gives credit as well: trims at the last hop are its business
}

// Law is the window of one sender. It is made by New, or Begin.
type Law struct {
	config *Config
	site   Conditions

	target, quick    unit.Time
	scale            float64 // a: how much larger the network is than the reference
	alpha, fair, eta float64

	window  int64
	most    int64     // largest window
	base    unit.Time // shortest round trip
	average unit.Time // of delays

	increase  int64 // to be divided by the window and added to it
	received  int64 // since the last adjustment
	achieved  int64 // in this round trip
	ignored   int64 // since the last quick adapt, of ignore
	ignore    int64
	fast      int64 // bytes in a row that met no queue
	rising    bool
	lossy     bool // a NACK has come since the last quick adapt
	decreased unit.Time
	adjusted  unit.Time
	quickAt   unit.Time // after which the window may adapt quickly; 0: no round trip has begun
}

// New makes the law of a sender, whose first window is its largest.
func New(c Config, s Conditions) *Law {
	l := &Law{}
	l.Begin(&c, s)
	return l
}

// Begin makes it the law of a sender as New does, whatever it was. The constants must stay as they are.
func (l *Law) Begin(c *Config, s Conditions) {
	rtt := s.RTT.Seconds()
	bdp := int64(float64(rtt * float64(s.Rate) / 8))
	*l = Law{config: c, site: s, target: c.Target, base: s.RTT}
	if l.target == 0 {
		l.target = unit.Time(float64(s.RTT) * c.TargetShare)
	}
	l.target = max(l.target, 1)
	l.quick = unit.Time(c.QuickDelay * float64(l.target))
	reference := int64(float64(c.ReferenceRTT.Seconds() * float64(c.ReferenceRate) / 8))
	l.scale = float64(bdp) / float64(max(reference, 1))
	payload := float64(s.Payload)
	l.alpha = c.Proportional * payload * l.scale * (float64(l.target) / float64(c.ReferenceRTT)) / float64(l.target)
	l.fair = c.Fair * payload * l.scale
	l.eta = c.Step * payload * l.scale
	l.most = max(int64(c.MaxWindow*float64(bdp)), s.Frame)
	l.window = l.most
}

// Window is how many bytes of frames may be in flight.
func (l *Law) Window() int64 { return l.window }

// Most is the largest window.
func (l *Law) Most() int64 { return l.most }

// Base is the shortest round trip.
func (l *Law) Base() unit.Time { return l.base }

// Target is the queueing delay that the law aims at.
func (l *Law) Target() unit.Time { return l.target }

// Average is that of delays.
func (l *Law) Average() unit.Time { return l.average }

// Ack is what an acknowledgement says.
type Ack struct {
	Bytes    int64 // of frames, that the receiver has got since the last one
	Marked   bool
	RTT      unit.Time // 0: it gives no sample
	InFlight int64     // bytes of frames, without those
}

// OnAck takes an acknowledgement.
func (l *Law) OnAck(now unit.Time, a Ack) {
	l.achieved += a.Bytes
	l.received += a.Bytes
	l.ignored += a.Bytes
	delay := l.average
	if a.RTT > 0 {
		l.shorten(a.RTT)
		delay = a.RTT - l.base
		counts := float64(delay)
		if !a.Marked && delay > l.target {
			counts = float64(l.base) * l.config.Unmarked
		}
		l.sample(counts)
	}
	if l.adapts(now, false, a.Marked, delay, a.InFlight) {
		return
	}
	switch {
	case !a.Marked && delay >= l.target:
		l.add(l.fair * float64(a.Bytes))
	case !a.Marked:
		if l.speed(a.Bytes, delay); !l.rising {
			l.add(l.alpha * float64(a.Bytes) * float64(l.target-delay))
		}
	case delay >= l.target:
		l.decrease(now)
	}
	l.bound()
	if l.received > int64(l.config.AdjustPackets)*l.site.Frame || now-l.adjusted > l.site.RTT {
		l.adjust(now)
	}
	l.bound()
}

// Nack is what the notice of a trimmed packet says.
type Nack struct {
	Bytes    int64     // of the packet's frame
	RTT      unit.Time // since it was sent
	InFlight int64     // with the packet
	LastHop  bool      // it was trimmed at the port to the receiver
}

// OnNack takes the notice that a packet was trimmed. How long it would have waited is not known: the network's round
// trip is a guess.
func (l *Law) OnNack(now unit.Time, n Nack) {
	if n.RTT > 0 {
		l.shorten(n.RTT)
	}
	l.ignored += n.Bytes
	l.sample(float64(l.site.RTT))
	l.lossy = true
	if l.adapts(now, true, true, 0, n.InFlight) || l.site.Credit && n.LastHop {
		return
	}
	l.window -= n.Bytes
	l.bound()
}

// OnTimeout takes the loss of a packet of which nothing was heard.
func (l *Law) OnTimeout(bytes int64) { l.window = max(l.window-bytes, l.site.Frame) }

// Penalise takes what the receiver wants taken off: all of the bytes that have arrived with 0, nothing with 255.
func (l *Law) Penalise(bytes int64, penalty uint8) {
	if penalty < 255 {
		l.window = max(l.window-(bytes-bytes*int64(penalty)/255), l.site.Frame)
	}
}

// shorten takes in a round trip, which may be the shortest.
func (l *Law) shorten(rtt unit.Time) {
	if rtt >= l.base {
		return
	}
	l.base = rtt
	bdp := int64(float64(rtt) / 1e6 * float64(l.site.Rate) / 8e6)
	l.most = max(int64(l.config.MaxWindow*float64(bdp)), l.site.Frame)
}

// sample moves the average delay, in whole picoseconds.
func (l *Law) sample(delay float64) {
	w := l.config.Weight
	l.average = unit.Time(float64(w*delay) + float64((1-w)*float64(l.average)))
}

// add collects what the next adjustment divides by the window.
func (l *Law) add(bytes float64) { l.increase = int64(float64(l.increase) + bytes) }

// speed adds to the window at once when whole windows meet no queue.
func (l *Law) speed(bytes int64, delay unit.Time) {
	if delay >= l.config.FastDelay {
		l.fast, l.rising = 0, false
		return
	}
	l.fast += bytes
	if l.rising = l.rising || l.fast > l.window; l.rising {
		l.window += int64(float64(bytes) * (l.config.Fast * l.scale))
	}
}

// decrease takes off the share of the average delay that is above the target, once a round trip.
func (l *Law) decrease(now unit.Time) {
	l.rising, l.fast = false, 0
	if l.average <= l.target || now-l.decreased <= l.base {
		return
	}
	kept := 1 - float64(l.config.Gamma*float64(l.average-l.target))/float64(l.average)
	l.window = max(int64(float64(l.window)*max(kept, l.config.LeastKept)), l.site.Frame)
	l.decreased = now
}

// adjust adds what was collected.
func (l *Law) adjust(now unit.Time) {
	l.window += l.increase / l.window
	if now-l.adjusted >= l.site.RTT {
		l.window += int64(l.eta)
		l.adjusted = now
	}
	l.increase, l.received = 0, 0
}

func (l *Law) bound() { l.window = min(max(l.window, l.site.Frame), l.most) }

// adapts sets the window to what has arrived in a round trip if that was little, and says whether it has, or whether
// this is about packets that were out then.
func (l *Law) adapts(now unit.Time, loss, marked bool, delay unit.Time, inFlight int64) (done bool) {
	if !l.config.QuickAdapt {
		return false
	}
	if l.ignored < l.ignore && marked {
		done = true
	} else if now > l.quickAt {
		if l.quickAt != 0 && (l.lossy || loss || delay > l.quick) && l.achieved < l.most>>l.config.QuickGate {
			l.window = max(l.achieved, l.site.Frame)
			l.ignore, l.ignored, l.lossy = inFlight, 0, false
			done = true
		}
		l.achieved = 0
		l.quickAt = now + l.base + l.target
	}
	if done {
		l.increase, l.received = 0, 0
	}
	return done
}
