package ncf

import (
	"fmt"
	"strconv"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Options are the parameters of a Config in an experiment.
type Options struct {
	Config                                // except for the fields below; NoticeInterval and MaxChangeDelay 0: a window
	Epsilon, Delta             float64    // determine the sketch's width and depth
	MinTraffic, MinWindowTotal unit.Bytes // of the Detector, also when the sketch counts packets
	Size                       unit.Length
	AcksAreMice                bool
	RoundTrip                  unit.Time // of the flows, without queues; determines d
	Senders                    int       // N
}

// Traits returns that NCF drops early, reorders packets (mice overtake elephants, control packets both), and counts
// flows by egress port. With form: ece it notifies senders like marks, where memory decides.
func (o *Options) Traits() dataplane.Traits {
	t := dataplane.Traits{WhyNotStandalone: o.whyNotStandalone(), DropsEarly: true, Reorders: true, UsesPort: true,
		Supplies: o.supplies}
	if o.Form == AsECE && o.Nack != NackNone {
		t.MarksFrom = dataplane.AtAnyLength
	}
	return t
}

// supplies reports whether NACKs to a flow of the protocol carry the switch's rate. UDP gets NACKs only with udp: true,
// and copies of acknowledgements for TCP (form: ece) have no room for it.
func (o *Options) supplies(proto uint8) bool {
	switch {
	case o.Nack == NackNone:
		return false
	case proto == packet.ProtoTCP:
		return o.Form != AsECE
	default:
		return proto != packet.ProtoUDP || o.UDP
	}
}

// Params binds the parameters.
func (o *Options) Params(p *scheme.Params) {
	o.bindSketch(p)
	o.bindMemory(p)
	o.bindFeedback(p)
}

// bindSketch binds the parameters of finding elephants (BS'19 §4.1).
func (o *Options) bindSketch(p *scheme.Params) {
	p.Int(&o.Sketch.Windows, "windows", "4", "n: windows of the rolling sketch",
		"ours; BS'19 §4.1, figure 2: three").Min("1").Max("15")
	o.bindDuration(p)
	p.BoolWords(&o.Sketch.Packets, [2]string{"bytes", "packets"}, "count", "bytes", "what the sketch counts",
		"ours; packets: BS'19 §4.1")
	p.Share(&o.Epsilon, "epsilon", "1%", "the sketch's error as a share of a window's total; its width is e/epsilon",
		"ours: the bounds; Count-min sketch §3").Above("0%").Below("100%")
	p.Share(&o.Delta, "delta", "1%", "how often the error is larger; its depth is ln(1/delta)",
		"ours: the bounds; Count-min sketch §3").Above("0%").Below("100%")
	p.Int(&o.Sketch.Bits, "counter_bits", "32", "of a counter, which stays at its largest value",
		"ours").Min("8").Max("32")
	p.Text(&o.Scope, "sketch", PerPort, "whose traffic a flow's share is of",
		"ours; BS'19 §4.1: total traffic").Words(PerPort, PerSwitch)
	scheme.Choice(p, &o.Detector.Form, formNames[:], "elephants", "average",
		"how windows are judged: share of all together, mean of the shares, one, all", "BS'19 §4.1 and footnote 1")
	p.Share(&o.Detector.Threshold, "threshold", "5%", "an elephant has more than this share", "BS'19 §4.1").
		Above("0%").Max("100%")
	p.Size(&o.MinTraffic, "least", "30kB", "and so much in all windows at the least",
		"ours: beyond what slow start sends first, for BS'19 has none")
	p.Size(&o.MinWindowTotal, "floor", "15kB",
		"with any, all and mean_of_shares: least traffic of a window that is judged", "ours")

	p.AddRule("epsilon", o.checkSketch)
}

// checkSketch returns an error if the sketch exceeds its maximum size.
func (o *Options) checkSketch() error {
	w, d := dimensions(o.Epsilon, o.Delta)
	if w > maxWidth || d > maxDepth {
		return fmt.Errorf("with delta %s the sketch has %.0f counters in each of %.0f rows; at most %d in %d are possible",
			unit.FormatShare(o.Delta), w, d, maxWidth, maxDepth)
	}
	if w*d > float64(maxQuads/quads(o.Sketch.Windows)) {
		return fmt.Errorf("with delta %s the sketch has %.0f counters in each of %.0f rows for %d windows; at most 1 GiB is "+
			"possible", unit.FormatShare(o.Delta), w, d, o.Sketch.Windows)
	}
	return nil
}

// bindMemory binds the parameters of memory on demand (BS'19 §4.2).
func (o *Options) bindMemory(p *scheme.Params) {
	p.Length(&o.Size, "memory", "0 B", "that there is; 0 B: what the ports' buffers hold", "ours")
	p.Text(&o.Pool, "pool", PerPort, "whose memory it is",
		"ours; BS'19 §4.2: the switch's, §2: per port").Words(PerPort, PerSwitch)
	p.Share(&o.Memory.Limit, "limit", "95%", "of the memory that mice and elephants may use", "BS'19 §4.2").
		Above("0%").Max("100%")
	p.Share(&o.Memory.Reserved[Control], "control", "5%", "of the memory that is reserved for control packets",
		"BS'19 §4.2").Max("100%")
	p.Share(&o.Memory.Reserved[Mice], "mice", "10%", "that is reserved for mice", "BS'19 §4.2").Max("100%")
	p.Share(&o.Memory.Reserved[Elephants], "reserve", "10%", "that is reserved for elephants", "BS'19 §4.2").Max("100%")
	p.Share(&o.Memory.Tilt, "tilt", "50%", "share of mice in what is not reserved, when memory is the bottleneck",
		"ours; BS'19 §4.4: towards mice for incast").Max("100%")
	p.Share(&o.Memory.Spike, "spike", "25%", "share of n·d for which elephants that keep to their balance are throttled "+
		"for mice: pushed back to their reservation, or told", "ours; BS'19 §4.4: a short time period").Max("100%")
	p.BoolWords(&o.Memory.Rolling, [2]string{"balance", "windows"}, "renew", "balance",
		"what gives that time back: windows in which mice keep to their balance, or all that pass",
		"ours; BS'19 §4.4: to maintain a balance")
	p.Time(&o.Memory.Restore, "restore", "0s", "renew: balance: how long mice keep to their balance until all of it is "+
		"back; 0s: ten times n·d", "ours").Max("1h")
	p.Share(&o.MiceBudget, "mice_budget", "50%", "share of what the port sends in n·d that mice may bring before "+
		"elephants no longer pay for them", "ours; BS'19 §4.4: how many mice packets have been handled").Max("1000%")
	p.BoolWords(&o.EqualBandwidth, [2]string{"as_needed", "equal"}, "bandwidth", "as_needed",
		"what mice and elephants have of the bandwidth beyond their guarantees (scheduler ncf): mice what they need unless "+
			"they flood the port, and elephants the rest; or both the same", "BS'19 §4.2: as needed")
	p.Share(&o.Memory.Congested, "congested", "95%", "use of the memory at which congestion begins; also when something "+
		"finds no room", "ours; BS'19 §4.3: lack of available memory").Above("0%").Max("100%")
	p.Share(&o.Memory.Calm, "calm", "50%", "use below which it ends",
		"ours; BS'19 §4.4: until the load decreases").Above("0%").Max("100%")

	p.AddRule("reserve", func() error {
		if sum := o.Memory.reservedData() + o.Memory.Reserved[Control]; sum > 1+rounding {
			return fmt.Errorf("with control and mice %.4g%% of the memory are reserved; at most 100%% is possible", 100*sum)
		}
		return nil
	})
	p.AddRule("limit", func() error {
		sum := o.Memory.reservedData()
		if sum+o.Memory.Reserved[Control] <= 1+rounding && sum > o.Memory.Limit+rounding { // else the rule of reserve
			return fmt.Errorf("%s is below what mice and elephants have reserved, %.4g%%", unit.FormatShare(o.Memory.Limit),
				100*sum)
		}
		return nil
	})
	p.AddRule("calm", func() error {
		if o.Memory.Calm > o.Memory.Congested {
			return fmt.Errorf("%s is above congested, which is %s", unit.FormatShare(o.Memory.Calm),
				unit.FormatShare(o.Memory.Congested))
		}
		return nil
	})
}

// minEvery is the minimum time between two notices to an elephant: a frame of 1250 bytes at 10 Gb/s.
const minEvery = unit.Microsecond

// reservedData returns the share that is reserved for mice and elephants.
func (c *MemoryConfig) reservedData() float64 { return c.Reserved[Mice] + c.Reserved[Elephants] }

// rounding is the allowed error of a sum of shares.
const rounding = 1e-9

// bindFeedback binds the parameters of NACKs and queues (BS'19 §4.3, §4.4).
func (o *Options) bindFeedback(p *scheme.Params) {
	p.Text(&o.Nack, "nack", NackAll, "whose senders are told of packets that found no room",
		"all: BS'19 §4.3; elephants: §5").Words(NackAll, NackElephants, NackNone)
	p.Int(&o.NackBudget, "nack_budget", "1",
		"NACKs that each packet that leaves gives its flow, beyond what the port can send in n·d and hold; 0: no limit",
		"ours; BS'19 §4.3: limited overhead, §5: no new opportunity to overload").Min("0").Max("64")
	p.Time(&o.Coalesce, "coalesce", "0s", "how long a NACK waits for further packets of its flow to be gone",
		"BS'19 §4.3: they are not combined").Max("1s")
	scheme.Choice(p, &o.Form, nackForms[:], "form", "tcp_option",
		"how senders of TCP are told: by an option of an old ACK, which NATs pass and other hosts discard; by extensions, "+
			"protocol 253 over IPv4 and hop-by-hop over IPv6; or by a copy of the flow's last ACK with ECE, once in a window, "+
			"which any TCP with ECN obeys; other transports have extensions", "ours; ece: RFC 3168 §6.1.2")
	p.Bool(&o.Signed, "signed", "false", "NACKs say which switch sends them, which shows hosts where there is congestion",
		"BS'19 §5")
	p.Bool(&o.UDP, "udp", "false", "UDP is answered by NACKs, too: for udp_controlled; nobody else knows them", "ours")
	p.BoolWords(&o.AcksAreMice, [2]string{"control", "mice"}, "acks", "control",
		"which queue is that of packets without payload", "ours; BS'19 §4.2: control packets")
	p.Int(&o.Top, "top", "20", "N: so many elephants of a port are told during congestion; 0: only those whose packets "+
		"find no room", "BS'19 §4.4").Min("0").Max(strconv.Itoa(maxTop))
	p.Time(&o.NoticeInterval, "every", "0s", "each at most once so often; 0s: once a window", "ours")
	p.BoolWords(&o.NotifiesAll, [2]string{"above_share", "all"}, "tell", "above_share",
		"which of the N heaviest are told: those that send more than they are offered, or all, so that who listens pays for "+
			"who does not", "ours; all: BS'19 §4.4")
	p.BoolWords(&o.TrimsAlike, [2]string{"first", "alike"}, "deaf", "first",
		"packets of elephants that go on after NACKs, beyond what they are offered, are trimmed before others' when memory "+
			"lacks, or like others'", "ours; BS'19 §5: hosts acknowledge the signal")
	p.Share(&o.EarlyShare, "early", "0%", "elephants that send are told when their packets use this share of the "+
		"memory; 0%: not", "ours; NCF follow-up (TNSM 2026): the elephants' queue").Max("100%")
	p.Share(&o.TargetShare, "target", "95%", "share of a port's rate that is offered to mice and elephants",
		"ours: HPCC's eta").Above("0%").Max("100%")
	p.BoolWords(&o.MaxMin, [2]string{"equal", "max_min"}, "supply", "equal",
		"what NACKs offer: the same for each elephant, or with what others do not use", "ours")
	p.BoolWords(&o.ChangesByFlowlet, [2]string{"at_once", "flowlet"}, "change", "at_once",
		"when a flow that becomes an elephant, or a mouse, changes its queue: with its next packet, or when its packets "+
			"have left the other", "ours")
	p.Time(&o.MaxChangeDelay, "change_wait", "0s", "flowlet: it changes at the latest after this; 0s: a window", "ours")

	p.AddRule("every", func() error {
		if o.NoticeInterval != 0 && o.NoticeInterval < minEvery {
			return fmt.Errorf("%v: %v and more are possible, or 0s", o.NoticeInterval, minEvery)
		}
		return nil
	})
}

// Scheme returns the scheme for experiments: queues: 3, scheduler: ncf, programs: [ecmp, ncf].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{
		Name: "ncf", Doc: "network-assisted congestion feedback: elephants by rolling sketches, queues for control, mice " +
			"and elephants, memory on demand, NACKs straight to senders", Source: "NCF (Feldmann et al., BS 2019)",
		Warnings: []scheme.WarningKind{warnMemory, warnTop, warnElephants, warnWindows, warnMemoryIdle, warnEarlyLate,
			warnEarlyIdle, warnEarlyWait, warnUnresponsive}},
		New)
}

// resolve returns the configuration that follows from the options.
func (o *Options) resolve() Config {
	c := o.Config
	c.Sketch.Width, c.Sketch.Depth = Dimensions(o.Epsilon, o.Delta)
	c.Detector.MinTraffic, c.Detector.MinWindowTotal = o.toSketchUnits(o.MinTraffic), o.toSketchUnits(o.MinWindowTotal)
	c.Memory.Size, c.Memory.Packets = o.Size.Bytes, int(o.Size.Packets)
	if c.Acks = Control; o.AcksAreMice {
		c.Acks = Mice
	}
	if c.MaxChangeDelay == 0 {
		c.MaxChangeDelay = c.Sketch.Duration
	}
	return c
}

// toSketchUnits converts bytes into the sketch's unit: bytes, or full frames.
func (o *Options) toSketchUnits(b unit.Bytes) uint64 {
	if o.Sketch.Packets {
		return (uint64(b) + defaultFrame - 1) / defaultFrame
	}
	return uint64(b)
}
