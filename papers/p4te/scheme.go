package p4te

import (
	"fmt"
	"strconv"

	"weir/core/dataplane"
	"weir/core/scheme"
	"weir/core/unit"
)

// Options are the parameters of a Config in an experiment.
type Options struct {
	Config     // except for the fields below
	RoundTrip  unit.Time
	DepthDelta int
	Classes    []scheme.Pair[uint8, Class] // by TOS byte; empty: low delay and high throughput as in P4TE §7
	DepthRange int
	DelayRange unit.Time
}

// Traits returns that marks come at any queue length and that the program selects paths; with or without path control,
// a fabric's flows go up by this program.
func (o *Options) Traits() dataplane.Traits {
	return dataplane.Traits{WhyNotStandalone: o.whyNotStandalone(), MarksFrom: dataplane.AtAnyLength, SelectsPath: true}
}

// Params binds the options of p4te to the fields of o, which keep their values.
func (o *Options) Params(p *scheme.Params) {
	p.Bool(&o.Monitor, "monitoring", "true", "monitor queue depth, hop delay, utilisation and the classes' rates; "+
		"false: no flow changes its path and no rate is changed", "P4TE §6.1")
	o.bindDeltas(p)
	p.Share(&o.Committed, "committed", "70%", "CIR of a link's meter: rate up to which a link is not over-utilised",
		"P4TE §7.1; P4TE code: 90%").Min("0.1%").Max("100%")
	p.Share(&o.Peak, "peak", "90%", "PIR of a link's meter: rate from which on it is red",
		"P4TE §7.1; P4TE code: 100%").Min("0.1%").Max("100%")
	scheme.MapOf(p, &o.Classes, parseTOS, scheme.Enum[Class](classNames[:]...), "classes",
		"class by TOS byte, low_delay, high_throughput or other: {0x10: low_delay}; without it, {0x10: low_delay, 0x08: "+
			"high_throughput}", "P4TE §7; P4TE code: DSCP 4, 5, 6").Words(classWords...)
	p.Share(&o.Safe[LowDelay], "safe_low_delay", "65%", "safe rate of the low-delay class at each port",
		"P4TE §7.1").Min("0.1%").Max("100%")
	p.Share(&o.Safe[HighThroughput], "safe_high_throughput", "35%", "safe rate of the high-throughput class at each "+
		"port", "P4TE §7.1: the rest").Min("0.1%").Max("100%")
	p.Bool(&o.Paths, "paths", "true", "control paths; false: flows use upward ports by their hash, as with ecmp",
		"P4TE §6.2, §6.3")
	p.Int(&o.Control.Groups[Delay], "delay_groups", "3", "n: number of routing groups by hop delay",
		"P4TE §7.1; P4TE code: 4").Min("1").Max("1024")
	p.Int(&o.Control.Groups[QueueDepth], "depth_groups", "3", "n: number of routing groups by queue depth",
		"P4TE §7.1; P4TE code: 4").Min("1").Max("1024")
	p.Int(&o.Control.Groups[Utilisation], "utilisation_groups", "3", "n: number of routing groups by utilisation",
		"P4TE §7.1").Min("1").Max("1024")
	scheme.Choice(p, &o.Control.Mapping, []string{"step", "range", "fit"}, "mapping", "fit",
		"group of a port; step: the next group with each event; range: the group of the value's sub-range; fit: range, "+
			"or step at ports in packets/s, whose times are the paper's", "step: P4TE algorithm 4; range: §6.2.1.2; fit: Weir")
	p.Packets(&o.DepthRange, "depth_range", "0 packets", "with mapping: range: maximum queue depth; 0 packets: Δ per "+
		"group, or 10 packets at ports in packets/s", "P4TE §7.1: 10/3; Weir").Min("0 packets")
	p.Time(&o.DelayRange, "delay_range", "0s", "with mapping: range: maximum delay; 0s: Δ per group, or 75ms at ports "+
		"in packets/s", "P4TE code: PORT_TO_PORT_DELAY_LEVELS; Weir").Min("0s")
	p.Time(&o.Control.Latency, "control_latency", "1ms", "latency of the control plane, from an event to its first "+
		"write", "Weir").Max("60s")
	p.Time(&o.Control.WriteTime, "table_write", "100us", "duration of one change of a table; a move takes two changes",
		"Weir; P4TE §4.3: not atomic").Max("60s")
	p.Int(&o.Control.Queue, "control_queue", "64", "maximum number of events that wait for their writes; further "+
		"events are lost", "Weir").Min("1").Max("1048576")
	p.Time(&o.FlowletGap, "gap", "0s", "idle time that ends a flowlet; 0s: five round-trip times, or 40ms at ports in "+
		"packets/s", "Weir; P4TE code: 40000 us").Max("60s")
	p.Int(&o.FlowletCells, "flowlet_cells", "8192", "entries of the flowlet table, rounded up to a power of two; "+
		"far more than flows at a time, since flows of one entry share a path", "P4TE code").Min("1").Max("16777216")
	p.BoolWords(&o.Spread, [2]string{"flow", "flowlet"}, "member", "flow",
		"input of the hash within a group; flow: the flow; flowlet: each new flowlet",
		"P4TE §6.2.1.2; P4TE code: hashes the time as well")
	p.BoolWords(&o.CodePaths, [2]string{"paper", "code"}, "selection", "paper",
		"selection of a flowlet's port; paper: algorithm 3; code: by utilisation or queue only, and all classes keep "+
			"flowlets", "P4TE algorithm 3; code: P4TE code")
	p.Time(&o.IdleAge, "age", "0s",
		"time after which an upward port without packets returns to its first groups; 0s: never, it keeps the groups of "+
			"its last packet", "Weir; P4TE §6.1: only packets report").Max("60s")
	p.Time(&o.LinkCheckInterval, "detect", "10ms",
		"period between checks of links; a failed link leaves its groups; 0s: no checks",
		"Weir; P4TE §6.5: the operator").Max("60s")
	p.Bool(&o.ReportsFailures, "tell", "false",
		"a switch without a path to a leaf, because of a failed link, notifies its neighbours at each check of links "+
			"(detect), and they send traffic for that leaf over other switches", "Weir; P4TE §6.5: the operator")
	o.bindRate(p)

	p.AddRule("tell", func() error {
		if o.ReportsFailures && o.LinkCheckInterval == 0 {
			return fmt.Errorf("needs detect above 0s")
		}
		return nil
	})
	p.AddRule("committed", func() error {
		if o.Committed > o.Peak {
			return fmt.Errorf("%s is above peak, which is %s", unit.FormatShare(o.Committed), unit.FormatShare(o.Peak))
		}
		return nil
	})
	p.AddRule("classes", func() error {
		for i, x := range o.Classes {
			for _, y := range o.Classes[:i] {
				if x.Key>>2 == y.Key>>2 {
					return fmt.Errorf("TOS %#02x and %#02x are of one code point: the last two bits are ECN's", y.Key, x.Key)
				}
			}
		}
		return nil
	})
}

// bindRate binds the parameters of rate adaptation (P4TE §6.4).
func (o *Options) bindRate(p *scheme.Params) {
	scheme.Choice(p, &o.Rate.Mode, []string{"off", "last_ack", "next_byte", "enforced", "marks"}, "rate", "last_ack",
		"how rates are controlled; last_ack: fake ACKs with the last acknowledgement; next_byte: fake ACKs with ack = "+
			"seq + 1; enforced: a window that the leaf enforces; marks: congestion marks only; off: no control",
		"P4TE §6.4, §7.2.1; next_byte: P4TE code; enforced: AC/DC; marks: Weir").
		Words("last_ack", "next_byte", "enforced", "marks", "off")
	scheme.Choice(p, &o.Rate.Decision, []string{"fit", "paper", "code", "queue"}, "decision", "fit",
		"flows whose rate is changed; paper: of a class above its safe rate, lower at an over-utilised port, otherwise "+
			"higher; code: lower where class and port are red, higher where neither is, by meters of three colours; queue: "+
			"as paper, but lower only where half of depth_delta or of the buffer also waits; fit: queue with rate: enforced "+
			"in a fabric, otherwise paper",
		"paper: P4TE §6.4.1; code: P4TE code; queue: Weir").Words("fit", "paper", "queue", "code")
	p.Share(&o.SafePeak, "safe_peak", "95%", "with decision: code: PIR of the classes' meters",
		"P4TE code").Min("0.1%").Max("100%")
	p.Size(&o.Rate.Bytes, "bytes", "0 B", "B: bytes that a flow sends between two changes of its rate; 0 B: the bytes "+
		"that its host's link carries in a round-trip time, or 5000 B at links in packets/s",
		"Weir; P4TE code: the paper has no value").
		Max("500MB")
	p.Int(&o.Rate.Lower, "lower", "2", "a window shrinks by 1/2^lower",
		"P4TE §6.4.2: 1/4; P4TE code: 16").Min("1").Max("15")
	p.Int(&o.Rate.Raise, "raise", "8", "a window grows by 1/2^raise",
		"P4TE §6.4.2: 1/256; P4TE code: 1").Min("1").Max("15")
	p.BoolWords(&o.Rate.RoundUp, [2]string{"down", "up"}, "round", "down",
		"changes below one unit of the window field; down: no change; up: one unit", "Weir: P4's shift rounds down")
	p.Int(&o.Rate.Flows, "flows", "65536", "cells of a leaf's register of flows, rounded up to a power of two",
		"Weir; P4TE §6.6: counts 1 M").Min("1").Max("16777216")
	p.Bool(&o.Rate.Repeats, "repeats", "false", "fake ACKs reach the sender also for packets within B bytes of the "+
		"last change, which were already in flight; false: the leaf drops them", "Weir; P4TE §6.4.1: once in B bytes")
	p.Bool(&o.Rate.WithinLeaf, "within_leaf", "false",
		"adapt also the rates of flows between two hosts of one leaf, with packets that access two cells of the "+
			"register of flows, which P4TE §4.2 excludes", "Weir: P4TE does not cover them")
	p.Int(&o.Rate.MinSegments, "least", "2",
		"with rate: enforced: minimum of a window in segments; with one segment, the receiver delays the "+
			"acknowledgement by about 40 ms", "Weir").Min("1").Max("1000")
	p.BoolWords(&o.Rate.RaisesByShare, [2]string{"segment", "share"}, "rise", "segment",
		"with rate: enforced: growth of a window; segment: one segment, as with additive increase; share: 1/2^raise of "+
			"the window", "Weir; P4TE §6.4.2")
	p.Bool(&o.Rate.Mark, "mark", "true", "mark packets (congestion mark) for which a rate is lowered", "P4TE §6.4.1")
	p.AddRule("mark", func() error {
		if o.Rate.Mode == Marks && !o.Rate.Mark {
			return fmt.Errorf("with rate: marks, false leaves senders without a signal")
		}
		return nil
	})
}

// Names of the classes in specs, in the order of Class, and in the order in which they are listed.
var (
	classNames = [ClassCount]string{"other", "low_delay", "high_throughput"}
	classWords = []string{"low_delay", "high_throughput", "other"}
)

// parseTOS reads a TOS byte, 0 to 255, decimal, or hexadecimal with 0x.
func parseTOS(s string) (uint8, error) {
	tos, err := strconv.ParseUint(s, 0, 8)
	if err != nil {
		return 0, fmt.Errorf("%q is not a valid TOS byte; allowed: 0 … 255, also as 0x10", s)
	}
	return uint8(tos), nil
}

// Scheme returns the scheme for experiments: switch: [p4te].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "p4te",
		Doc: "in-band traffic engineering in fat trees: monitoring, routing groups, flowlets by class, fake ACKs; " +
			"decrements the hop limit", Source: "P4TE (Robin, Khan)",
		Warnings: []scheme.WarningKind{warnClasses, warnSafeLate, warnRoundTrip, warnDelayDelta, warnBurst, warnGap,
			warnBytes, warnDrift}},
		newAt)
}
