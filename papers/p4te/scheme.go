package p4te

import (
	"fmt"
	"strconv"

	"weir/core/dataplane"
	"weir/core/scheme"
)

// words of parameters
const (
	wordOff, wordLastAck, wordNextByte, wordEnforced = "off", "last_ack", "next_byte", "enforced"
	wordPaper, wordCode                              = "paper", "code"
	wordStep, wordRange                              = "step", "range"
	wordFlow, wordFlowlet                            = "flow", "flowlet"
)

// Scheme is what an experiment names: switch: [p4te].
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "p4te", Doc: "in-band traffic engineering in fat trees: monitoring, routing groups, " +
			"flowlets by class, fake ACKs; hop limit", Source: "Robin, Khan: P4TE", Params: []scheme.Param{
			{Name: "monitoring", Kind: scheme.Bool, Default: "true",
				Doc: "of queue depth, hop delay, utilisation and the classes' rates; without it nothing moves and no " +
					"rate is changed", Source: "P4TE §6.1"},
			{Name: "depth_delta", Kind: scheme.Packets, Default: "2 packets", Min: "1 packet",
				Doc: "Δ of the egress queue depth", Source: "P4TE §7.1"},
			{Name: "delay_delta", Kind: scheme.Duration, Default: "15ms", Min: "1ns", Doc: "Δ of the hop-to-hop delay",
				Source: "P4TE §7.1"},
			{Name: "committed", Kind: scheme.Share, Default: "70%", Min: "0.1%", Max: "100%",
				Doc: "CIR of a link's meter: up to here a link is not over-utilised", Source: "P4TE §7.1; the code has 90%"},
			{Name: "peak", Kind: scheme.Share, Default: "90%", Min: "0.1%", Max: "100%", Doc: "PIR: from here on it is red",
				Source: "P4TE §7.1; the code has 100%"},
			{Name: "burst", Kind: scheme.Duration, Default: "100ms", Min: "1ns", Max: "10s",
				Doc:    "CBS and PBS of all meters: what their rates carry in it, a frame at the least",
				Source: "facts E1: 0.1 of the rate"},
			{Name: "classes", Kind: scheme.Map, Of: scheme.Text,
				Doc: "low_delay, high_throughput or other by TOS byte, as {0x10: low_delay}; {0x10: low_delay, 0x08: " +
					"high_throughput} if nothing is given", Source: "P4TE §7; the code has DSCP 4, 5, 6"},
			{Name: "safe_low_delay", Kind: scheme.Share, Default: "65%", Min: "0.1%", Max: "100%",
				Doc: "safe rate of the class at each port", Source: "P4TE §7.1"},
			{Name: "safe_high_throughput", Kind: scheme.Share, Default: "35%", Min: "0.1%", Max: "100%",
				Doc: "safe rate of the class at each port", Source: "P4TE §7.1: the rest"},
			{Name: "paths", Kind: scheme.Bool, Default: "true",
				Doc: "path control; without it flows go up by their hash, as with ecmp", Source: "P4TE §6.2, §6.3"},
			{Name: "delay_groups", Kind: scheme.Int, Default: "3", Min: "1", Max: "1024", Doc: "n routing groups by hop delay",
				Source: "P4TE §7.1; the code has 4"},
			{Name: "depth_groups", Kind: scheme.Int, Default: "3", Min: "1", Max: "1024", Doc: "n routing groups by queue depth",
				Source: "P4TE §7.1; the code has 4"},
			{Name: "utilisation_groups", Kind: scheme.Int, Default: "3", Min: "1", Max: "1024",
				Doc: "n routing groups by utilisation", Source: "P4TE §7.1"},
			{Name: "mapping", Kind: scheme.Text, Words: []string{wordStep, wordRange}, Default: wordStep,
				Doc:    "a port's group: one further with each event, or that of the value's sub-range",
				Source: "step: P4TE algorithm 4; range: §6.2.1.2"},
			{Name: "depth_range", Kind: scheme.Packets, Default: "10 packets", Min: "1 packet",
				Doc: "with mapping: range, the deepest queue", Source: "P4TE §7.1: 10/3"},
			{Name: "delay_range", Kind: scheme.Duration, Default: "75ms", Min: "1ns",
				Doc: "with mapping: range, the largest delay", Source: "facts E1: PORT_TO_PORT_DELAY_LEVELS"},
			{Name: "control_latency", Kind: scheme.Duration, Default: "1ms", Max: "60s",
				Doc: "of the control plane, from an event to its first write", Source: "ours"},
			{Name: "table_write", Kind: scheme.Duration, Default: "100us", Max: "60s",
				Doc: "that one change of a table takes; a move is two", Source: "ours; P4TE §4.3: not atomic"},
			{Name: "control_queue", Kind: scheme.Int, Default: "64", Min: "1", Max: "1048576",
				Doc: "events whose writes may wait; one that comes then is lost", Source: "ours"},
			{Name: "gap", Kind: scheme.Duration, Default: "40ms", Max: "60s", Doc: "that ends a flowlet",
				Source: "facts E1: the code's 40000 us"},
			{Name: "flowlet_cells", Kind: scheme.Int, Default: "8192", Min: "1", Max: "16777216",
				Doc: "of the flowlet table, rounded up to a power of two", Source: "facts E1"},
			{Name: "member", Kind: scheme.Text, Words: []string{wordFlow, wordFlowlet}, Default: wordFlow,
				Doc:    "what the hash within a group is of: the flow, or each flowlet anew",
				Source: "P4TE §6.2.1.2; the code hashes the time as well"},
			{Name: "selection", Kind: scheme.Text, Words: []string{wordPaper, wordCode}, Default: wordPaper,
				Doc:    "of a flowlet's port; code: by utilisation or queue only, and all classes keep flowlets",
				Source: "P4TE algorithm 3; code: facts E2"},
			{Name: "detect", Kind: scheme.Duration, Default: "10ms", Max: "60s",
				Doc:    "how often links are looked at: a failed one leaves its groups; 0s: never",
				Source: "ours; P4TE §6.5: the operator"},
			{Name: "rate", Kind: scheme.Text, Words: []string{wordLastAck, wordNextByte, wordEnforced, wordOff},
				Default: wordLastAck, Doc: "fake ACKs with the last acknowledgement; with ack = seq + 1; a window that the leaf " +
					"holds; none", Source: "P4TE §6.4, §7.2.1; next_byte: its code; enforced: ours, as AC/DC"},
			{Name: "decision", Kind: scheme.Text, Words: []string{wordPaper, wordCode}, Default: wordPaper,
				Doc: "whose rate is changed; code: lower where class and port are red, raise where neither is, by meters of " +
					"three colours", Source: "P4TE §6.4.1; code: facts E3"},
			{Name: "safe_peak", Kind: scheme.Share, Default: "95%", Min: "0.1%", Max: "100%",
				Doc: "with decision: code, PIR of the classes' meters", Source: "facts E1"},
			{Name: "bytes", Kind: scheme.Size, Default: "5000 B", Max: "500MB",
				Doc:    "B: so much a flow sends before its rate is changed again",
				Source: "facts E1: the code; the paper has no value"},
			{Name: "lower", Kind: scheme.Int, Default: "2", Min: "1", Max: "15", Doc: "a window loses 1/2^lower",
				Source: "P4TE §6.4.2: 1/4; the code has 16"},
			{Name: "raise", Kind: scheme.Int, Default: "8", Min: "1", Max: "15", Doc: "a window gains 1/2^raise",
				Source: "P4TE §6.4.2: 1/256; the code has 1"},
			{Name: "round", Kind: scheme.Text, Words: []string{"down", "up"}, Default: "down",
				Doc: "changes below one unit of the window field: none, or one unit", Source: "ours; P4's shift rounds down"},
			{Name: "flows", Kind: scheme.Int, Default: "65536", Min: "1", Max: "16777216",
				Doc: "cells of a leaf's register of flows, rounded up to a power of two", Source: "ours; P4TE §6.6 counts 1 M"},
			{Name: "repeats", Kind: scheme.Bool, Default: "false",
				Doc: "fake ACKs reach the sender also for packets within B bytes of the last change, which were on their way by " +
					"then; else its leaf drops them", Source: "ours; P4TE §6.4.1: once in B bytes"},
			{Name: "within_leaf", Kind: scheme.Bool, Default: "false",
				Doc: "flows between two hosts of one leaf have their rates adapted too, by packets that touch two cells of the " +
					"register of flows, which P4TE §4.2 rules out", Source: "ours; P4TE does not speak of them"},
			{Name: "mark", Kind: scheme.Bool, Default: "true", Doc: "packets for which a rate is lowered get a congestion mark",
				Source: "P4TE §6.4.1"},
		}},
		NeedsNetwork: dataplane.Always(dataplane.ChoosesPaths),
		Build: func(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) {
			c, err := configOf(v)
			if err != nil {
				return nil, fmt.Errorf("p4te: %w", err)
			}
			return New(site, c)
		},
	}
}

// configOf reads the parameters.
func configOf(v scheme.Values) (Config, error) {
	c := Config{
		Monitor: v.Bool("monitoring"), DepthDelta: int64(v.Int("depth_delta")), DelayDelta: v.Time("delay_delta"),
		Committed: v.Float("committed"), Peak: v.Float("peak"), Burst: v.Time("burst"),
		Safe:  [TrafficClasses]float64{LowDelay: v.Float("safe_low_delay"), HighThroughput: v.Float("safe_high_throughput")},
		Paths: v.Bool("paths"), Gap: v.Time("gap"), Cells: v.Int("flowlet_cells"), Spread: v.Text("member") == wordFlowlet,
		Detect: v.Time("detect"),
		Control: ControlConfig{
			Groups: [Metrics]int{Delay: v.Int("delay_groups"), QueueDepth: v.Int("depth_groups"),
				Utilisation: v.Int("utilisation_groups")},
			Range: [Metrics]int64{Delay: int64(v.Time("delay_range")), QueueDepth: int64(v.Int("depth_range")),
				Utilisation: int64(dataplane.Red) + 1},
			Latency: v.Time("control_latency"), Write: v.Time("table_write"), Queue: v.Int("control_queue"),
		},
		Rate: RateConfig{Bytes: v.Bytes("bytes"), Lower: v.Int("lower"), Raise: v.Int("raise"),
			RoundUp: v.Text("round") == "up", Flows: v.Int("flows"), Mark: v.Bool("mark"), Repeats: v.Bool("repeats"),
			Within: v.Bool("within_leaf")},
	}
	if v.Text("mapping") == wordRange {
		c.Control.Mapping = ByRange
	}
	c.CodePaths, c.Rate.Code = v.Text("selection") == wordCode, v.Text("decision") == wordCode
	if c.Rate.Code {
		c.SafePeak = v.Float("safe_peak")
	}
	switch v.Text("rate") {
	case wordLastAck:
		c.Rate.Mode = LastAck
	case wordNextByte:
		c.Rate.Mode = NextByte
	case wordEnforced:
		c.Rate.Mode = Enforced
	}
	if c.Committed > c.Peak {
		return c, fmt.Errorf("committed (%g) is above peak (%g)", c.Committed, c.Peak)
	}
	for class := LowDelay; class < TrafficClasses; class++ {
		if !(c.Safe[class] > 0) {
			return c, fmt.Errorf("class %v has no rate; safe_%v must be above 0%%", class, class)
		}
	}
	classes := v.Map("classes")
	if len(classes) == 0 {
		c.Class[0x10>>2], c.Class[0x08>>2] = LowDelay, HighThroughput
	}
	var by [len(c.Class)]string
	for _, e := range classes {
		tos, err := strconv.ParseUint(e.Key, 0, 8)
		if err != nil {
			return c, fmt.Errorf("classes: %q is not a TOS byte; 0 … 255 are possible, also as 0x10", e.Key)
		}
		class, word := TrafficClasses, e.Value.(string)
		for x := range TrafficClasses {
			if x.String() == word {
				class = x
			}
		}
		if class == TrafficClasses {
			return c, fmt.Errorf("classes: TOS %s is of class %q; low_delay, high_throughput and other are possible",
				e.Key, word)
		}
		if of := &by[tos>>2]; *of == "" {
			*of = e.Key
		} else {
			return c, fmt.Errorf("classes: TOS %s and %s are of one code point: the last two bits are ECN's", *of, e.Key)
		}
		c.Class[tos>>2] = class
	}
	return c, nil
}
