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

// Params binds the options of ncf to the fields of o, which keep their values.
func (o *Options) Params(p *scheme.Params) {
	o.bindSketch(p)
	o.bindMemory(p)
	o.bindFeedback(p)
}

// bindSketch binds the parameters of finding elephants (BS'19 §4.1).
func (o *Options) bindSketch(p *scheme.Params) {
	p.Int(&o.Sketch.Windows, "windows", "4", "n: number of windows of the rolling sketch",
		"Weir; BS'19 §4.1, figure 2: three").Min("1").Max("15")
	o.bindDuration(p)
	p.BoolWords(&o.Sketch.Packets, [2]string{"bytes", "packets"}, "count", "bytes", "unit that the sketch counts",
		"Weir; packets: BS'19 §4.1")
	p.Share(&o.Epsilon, "epsilon", "1%", "error of the sketch as a share of a window's total; its width is e/epsilon; "+
		"lower it, well below threshold, if mice count as elephants",
		"Weir: the limits; Count-min sketch §3").Above("0%").Below("100%")
	p.Share(&o.Delta, "delta", "1%", "probability that the error is larger; the depth is ln(1/delta)",
		"Weir: the limits; Count-min sketch §3").Above("0%").Below("100%")
	p.Int(&o.Sketch.Bits, "counter_bits", "32", "bits of a counter, which stops at its maximum",
		"Weir").Min("8").Max("32")
	p.Text(&o.Scope, "sketch", PerPort, "total traffic to which a flow's share refers; port: the port's; switch: the "+
		"switch's", "Weir; BS'19 §4.1: total traffic").Words(PerPort, PerSwitch)
	scheme.Choice(p, &o.Detector.Form, formNames[:], "elephants", "average",
		"how windows decide; average: share of all windows together; mean_of_shares: mean of the windows' shares; any: "+
			"one window; all: every window", "BS'19 §4.1 and footnote 1")
	p.Share(&o.Detector.Threshold, "threshold", "5%", "share above which a flow is an elephant; raise it if few flows "+
		"share a port, lower it if each of many has a small share", "BS'19 §4.1").
		Above("0%").Max("100%")
	p.Size(&o.MinTraffic, "least", "30kB", "minimum traffic of an elephant in all windows together",
		"Weir: more than slow start sends first, since BS'19 has no minimum")
	p.Size(&o.MinWindowTotal, "floor", "15kB",
		"with elephants: any, all and mean_of_shares: minimum traffic of a window that is evaluated", "Weir")

	p.AddRule("epsilon", o.checkSketch)
}

// checkSketch returns an error if the sketch exceeds its maximum size.
func (o *Options) checkSketch() error {
	w, d := dimensions(o.Epsilon, o.Delta)
	if w > maxWidth || d > maxDepth {
		return fmt.Errorf("with delta %s the sketch has %.0f counters in each of %.0f rows; allowed: at most %d in %d",
			unit.FormatShare(o.Delta), w, d, maxWidth, maxDepth)
	}
	if w*d > float64(maxQuads/quads(o.Sketch.Windows)) {
		return fmt.Errorf("with delta %s the sketch has %.0f counters in each of %.0f rows for %d windows; "+
			"allowed: at most 1 GiB", unit.FormatShare(o.Delta), w, d, o.Sketch.Windows)
	}
	return nil
}

// bindMemory binds the parameters of memory on demand (BS'19 §4.2).
func (o *Options) bindMemory(p *scheme.Params) {
	p.Length(&o.Size, "memory", "0 B", "size of the memory; 0 B: the sum of the ports' buffers", "Weir")
	p.Text(&o.Pool, "pool", PerPort, "scope of the memory; port: each port has its own; switch: the ports share one",
		"Weir; BS'19 §4.2: the switch's, §2: per port").Words(PerPort, PerSwitch)
	p.Share(&o.Memory.Limit, "limit", "95%", "share of the memory that mice and elephants may use", "BS'19 §4.2").
		Above("0%").Max("100%")
	p.Share(&o.Memory.Reserved[Control], "control", "5%", "share of the memory that is reserved for control packets",
		"BS'19 §4.2").Max("100%")
	p.Share(&o.Memory.Reserved[Mice], "mice", "10%", "share of the memory that is reserved for mice",
		"BS'19 §4.2").Max("100%")
	p.Share(&o.Memory.Reserved[Elephants], "reserve", "10%", "share of the memory that is reserved for elephants",
		"BS'19 §4.2").Max("100%")
	p.Share(&o.Memory.Tilt, "tilt", "50%", "mice's share of the memory that is not reserved, when memory is the "+
		"bottleneck", "Weir; BS'19 §4.4: more for mice during incast").Max("100%")
	p.Share(&o.Memory.Spike, "spike", "25%", "share of n·d for which elephants within their balance are throttled in "+
		"favour of mice: limited to their reservation, or notified", "Weir; BS'19 §4.4: a short time period").Max("100%")
	p.BoolWords(&o.Memory.Rolling, [2]string{"balance", "windows"}, "renew", "balance",
		"what restores that time; balance: windows in which mice stay within their balance; windows: every window",
		"Weir; BS'19 §4.4: to maintain a balance")
	p.Time(&o.Memory.Restore, "restore", "0s", "with renew: balance: time within the balance after which all of the "+
		"time is restored; 0s: ten times n·d", "Weir").Max("1h")
	p.Share(&o.MiceBudget, "mice_budget", "50%", "traffic of mice in the last n·d (windows × duration), as a share "+
		"of what the port can send in that time, above which elephants within their balance are no longer throttled in "+
		"favour of mice; 0%: they never are; above 100%: several ports send mice to this one",
		"Weir; BS'19 §4.4: the number of mice packets handled").Max("1000%")
	p.BoolWords(&o.EqualBandwidth, [2]string{"as_needed", "equal"}, "bandwidth", "as_needed",
		"bandwidth beyond the guarantees of the scheduler ncf; as_needed: mice get what they need unless they flood the "+
			"port, and elephants get the rest; equal: both get the same", "BS'19 §4.2: as needed")
	p.Share(&o.Memory.Congested, "congested", "95%", "use of the memory at which congestion begins; it also begins "+
		"when a packet does not fit", "Weir; BS'19 §4.3: lack of available memory").Above("0%").Max("100%")
	p.Share(&o.Memory.Calm, "calm", "50%", "use of the memory below which congestion ends",
		"Weir; BS'19 §4.4: until the load decreases").Above("0%").Max("100%")

	p.AddRule("reserve", func() error {
		if sum := o.Memory.reservedData() + o.Memory.Reserved[Control]; sum > 1+rounding {
			return fmt.Errorf("with control and mice %.4g%% of the memory are reserved; allowed: at most 100%%", 100*sum)
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
	p.Text(&o.Nack, "nack", NackAll, "senders that are notified of packets that did not fit; all: of all flows; "+
		"elephants: of elephants; none: no senders", "all: BS'19 §4.3; elephants: §5").Words(NackAll, NackElephants, NackNone)
	p.Int(&o.NackBudget, "nack_budget", "1",
		"number of NACKs that each packet sent allows its flow, in addition to the packets that the port can send in "+
			"n·d and hold; 0: no limit",
		"Weir; BS'19 §4.3: limited overhead, §5: no new opportunity to overload").Min("0").Max("64")
	p.Time(&o.Coalesce, "coalesce", "0s", "time that a NACK waits to report further lost packets of its flow",
		"BS'19 §4.3: NACKs are not combined").Max("1s")
	scheme.Choice(p, &o.Form, nackForms[:], "form", "tcp_option",
		"form of notices to senders of TCP; tcp_option: an option in an old ACK, which NATs forward and other hosts "+
			"discard; extension: extensions, protocol 253 over IPv4 and hop-by-hop over IPv6; ece: a copy of the flow's "+
			"last ACK with ECE, once per window, which any TCP with ECN follows; other transports always use extensions",
		"Weir; ece: RFC 3168 §6.1.2")
	p.Bool(&o.Signed, "signed", "false", "NACKs contain the switch that sends them, which shows hosts the place of "+
		"congestion", "BS'19 §5")
	p.Bool(&o.UDP, "udp", "false", "send NACKs also to senders of UDP, for udp_controlled; other senders do not "+
		"support them", "Weir")
	p.BoolWords(&o.AcksAreMice, [2]string{"control", "mice"}, "acks", "control",
		"queue of packets without payload", "Weir; BS'19 §4.2: control packets")
	p.Int(&o.Top, "top", "20", "N: number of elephants per port that are notified during congestion; 0: only those "+
		"with packets that do not fit", "BS'19 §4.4").Min("0").Max(strconv.Itoa(maxTop))
	p.Time(&o.NoticeInterval, "every", "0s", "minimum time between notices to the same elephant; 0s: one window", "Weir")
	p.BoolWords(&o.NotifiesAll, [2]string{"above_share", "all"}, "tell", "above_share",
		"which of the N heaviest flows are notified; above_share: those that send more than their offered rate; all: "+
			"every one, so that responsive flows yield to unresponsive ones", "Weir; all: BS'19 §4.4")
	p.BoolWords(&o.TrimsAlike, [2]string{"first", "alike"}, "deaf", "first",
		"packets of elephants that exceed their offered rate after NACKs, when memory is short; first: trimmed before "+
			"other packets; alike: treated like other packets", "Weir; BS'19 §5: hosts acknowledge the signal")
	p.Share(&o.EarlyShare, "early", "0%", "share of the memory from which on elephants are notified when they send; "+
		"0%: never", "Weir; NCF follow-up (TNSM 2026): the elephants' queue").Max("100%")
	p.Share(&o.TargetShare, "target", "95%", "share of a port's rate that is offered to mice and elephants",
		"Weir: HPCC's eta").Above("0%").Max("100%")
	p.BoolWords(&o.MaxMin, [2]string{"equal", "max_min"}, "supply", "equal",
		"rate that NACKs offer; equal: the same for each elephant; max_min: with the part that other flows leave unused",
		"Weir")
	p.BoolWords(&o.ChangesByFlowlet, [2]string{"at_once", "flowlet"}, "change", "at_once",
		"when a flow that becomes an elephant or a mouse changes its queue; at_once: with its next packet; flowlet: "+
			"when the other queue has sent the flow's packets", "Weir")
	p.Time(&o.MaxChangeDelay, "change_wait", "0s", "with change: flowlet: maximum time until the flow changes its "+
		"queue; 0s: one window", "Weir")

	p.AddRule("every", func() error {
		if o.NoticeInterval != 0 && o.NoticeInterval < minEvery {
			return fmt.Errorf("%v; allowed: %v and more, or 0s", o.NoticeInterval, minEvery)
		}
		return nil
	})
}

// Scheme returns the scheme for experiments: queues: 3, scheduler: ncf, programs: [ecmp, ncf].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{
		Name: "ncf", Doc: "network-assisted congestion feedback: elephants by rolling sketches, queues for control, " +
			"mice and elephants, memory on demand, NACKs directly to senders", Source: "NCF (Feldmann et al., BS 2019)",
		Warnings: []scheme.WarningKind{warnMemory, warnTop, warnElephants, warnWindows, warnMemoryIdle, warnEarlyLate,
			warnEarlyIdle, warnEarlyWait, warnUnresponsive}},
		New)
}

// resolve returns the configuration that follows from the options, which must have their d (setDurations). Its field
// Sketch has no seed yet.
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
