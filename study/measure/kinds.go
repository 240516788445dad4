package measure

import (
	"cmp"
	"slices"

	"weir/core/outcome"
	"weir/internal/document"
)

// Definitions returns Weir's own kinds of measures, sorted by name.
func Definitions() []Definition {
	all := slices.Concat(flowKinds(), senderKinds(), networkKinds())
	slices.SortFunc(all, func(a, b Definition) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// flowKinds returns the kinds that measure flows: their bytes, delays and times.
func flowKinds() []Definition {
	return []Definition{
		{Name: "collective", Doc: "time from a collective's start until the last of its data has arrived, by traffic [s]",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &collective{} }},
		{Name: "delay", Doc: "one-way delay of data packets, mean, largest and percentiles, by traffic [s]",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey(), percentilesKey("", "")},
			Better: Lower,
			New:    func() Measure { return &delay{} }},
		{Name: "fct", Doc: "flow completion time, from start to last byte acknowledged, mean and largest of the finished, " +
			"percentiles, by size, and to the last write's return (fct_written), by traffic, or by groups of senders or " +
			"receivers, of which fct_slowest is the largest of the hosts' means [s]",
			Keys: []Key{byKey("traffic", "traffic", bySender, byReceiver), limitKey(), percentilesKey("", ""), binsKey(),
				booleanKey("deviation", "also standard deviations, and when writes return")},
			Better: Lower, Also: map[string]Better{"fct_finished": Higher, "fct_sd": Neither, "fct_written_sd": Neither},
			New: func() Measure { return &fct{} }},
		{Name: "fct_last", Doc: "time from a traffic's first start until the last byte of all its flows has arrived [s], " +
			"and the sum of their sizes over that (incast_goodput [bit/s]), by traffic",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower, Also: map[string]Better{"incast_goodput": Higher},
			New: func() Measure { return &fctLast{} }},
		{Name: "goodput", Doc: "payload bits per second that were new to the receiver, of flows and of messages of jobs, " +
			"by traffic, in all, or by groups of senders or receivers, of which goodput_slowest is that of the host with the " +
			"least; with every over time too [bit/s]",
			Keys:   []Key{byKey("traffic", "traffic", "all", bySender, byReceiver), limitKey(), everyKey("")},
			Better: Higher,
			New:    func() Measure { return &goodput{} }, Ideal: true, Tolerance: Tolerance{Share: 0.10, Difference: 1e6}},
		jainKind(),
		{Name: "jitter", Doc: "smoothed difference of transit times (RFC 3550 §6.4.1), by traffic [s]",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &jitter{} }},
		jobKind(), timelineKind(),
		{Name: "loss", Doc: "share of the sent data packets that did not arrive within the measured part, by traffic",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &loss{} }},
		{Name: "max_min", Doc: "what flows that are there at the end would get of links that they share max-min fairly, as " +
			"payload [bit/s], and goodput over that (max_min_ratio), by traffic; among senders also how far the goodput of " +
			"a traffic is from it at most (max_min_apart), where datagrams want what was sent",
			Keys: []Key{byKey("traffic", "traffic"), limitKey(), {Name: "among", Form: document.OneOf("flow", "sender"),
				Doc:     "who has an equal part: each flow, or all flows of a host together",
				Default: "flow", Source: "ours"}},
			Also: map[string]Better{"max_min_apart": Lower},
			New:  func() Measure { return &maxMin{} }},
		{Name: "reaction", Doc: "time after which goodput, throughput or queue stays within a band around its target, from " +
			"a given time on [s]",
			Keys:   reactionKeys(),
			Better: Lower,
			New:    func() Measure { return &reaction{} }},
		{Name: "reordering", Doc: "share of the data packets that came after one that was sent later (RFC 4737 §4.1), and " +
			"the largest extent (§4.2; reordering_extent [packets]), by traffic",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &reordering{} }},
		{Name: "slowdown", Doc: "flow completion time over the ideal one of the flow alone: " + idealFormula +
			"; mean and percentiles of the finished, also by size, by traffic, or by groups of senders or receivers",
			Reads: "flow completion time over the ideal one of the flow alone: 1 is the shortest possible",
			Keys: []Key{byKey("traffic", "traffic", bySender, byReceiver), limitKey(), percentilesKey("[50, 95, 99]", "HPCC §5"),
				binsKey()},
			Better: Lower,
			New:    func() Measure { return &slowdown{} }},
		{Name: "time_to_fairness", Doc: "time until Jain's index of the goodputs is and stays above a level, from a " +
			"given time on [s]",
			Keys: []Key{byKey("flow", "traffic", "flow", "sender"), everyKey("10ms"), {Name: "index",
				Form: document.Value("share"),
				Doc:  "the level", Default: "95%", Source: "ours"}, holdKey("10"), timeKey("after", "from when on",
				"the warm-up's end")},
			Better: Lower,
			New:    func() Measure { return &timeToFairness{} }},
		{Name: "unfinished", Doc: "flows that have an end and did not reach it, by traffic, or by groups of senders or " +
			"receivers",
			Keys:   []Key{byKey("traffic", "traffic", bySender, byReceiver), limitKey()},
			Better: Lower,
			New:    func() Measure { return &unfinished{} }},
	}
}

// senderKinds returns the kinds that measure the actions and the state of senders.
func senderKinds() []Definition {
	return []Definition{
		{Name: "cwnd", Doc: "congestion window over time of a traffic's first flows, and its mean by traffic " +
			"[bytes of payload]",
			Keys: gaugeKeys(),
			New:  newGauge("cwnd", outcome.Window, "bytes", false)},
		{Name: "delivery_rate", Doc: "latest rate at which payload was delivered over time, as senders of a traffic's " +
			"first flows see it, and its mean by traffic [bit/s]",
			Keys: gaugeKeys(),
			New:  newGauge("delivery_rate", outcome.DeliveryRate, "bps", true)},
		{Name: "in_flight", Doc: "payload in flight over time of a traffic's first flows, and its mean by traffic [bytes]",
			Keys: gaugeKeys(),
			New:  newGauge("in_flight", outcome.InFlight, "bytes", false)},
		{Name: "overshoot", Doc: "largest payload in flight of a sender over its path's bandwidth-delay product (base RTT " +
			"times the slowest link's rate of payload): mean and largest (overshoot_max) of the flows, by traffic",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &overshoot{} }},
		{Name: "rate", Doc: "pacing rate over time of a traffic's first flows, and its mean by traffic [bit/s]",
			Keys: gaugeKeys(),
			New:  newGauge("rate", outcome.Rate, "bps", false)},
		{Name: "reduction", Doc: "time from congestion, which begins at a given time or when a queue grows beyond a length " +
			"(reduction_from), until the first sender, or all, have reduced window or rate by a share, by traffic [s]",
			Keys:   reductionKeys(),
			Better: Lower, Also: map[string]Better{"reduction_from": Neither},
			New: func() Measure { return &reduction{} }},
		{Name: "retransmissions", Doc: "data packets sent again, by traffic; by flow: also mean and standard deviation " +
			"over its flows",
			Keys:   []Key{byKey("traffic", "traffic", "flow"), limitKey()},
			Better: Lower, Also: map[string]Better{"retransmissions_sd": Neither},
			New: func() Measure { return &retransmissions{} }},
		{Name: "rtt", Doc: "round-trip time over time, as senders of a traffic's first flows have smoothed it, and its " +
			"mean by traffic [s]",
			Keys:   gaugeKeys(),
			Better: Lower,
			New:    newGauge("rtt", outcome.RTT, "s", true)},
		{Name: "spurious", Doc: "data packets that were sent again although they had arrived, and these by the cause of " +
			"the copy that arrived in addition: spurious_timeout, spurious_probe, spurious_receiver (its acknowledgements " +
			"and NACKs), spurious_switch (its NACKs, trimmed packets), and spurious_overtaken (the first copy, which came " +
			"last; in the lab all), by traffic",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &spurious{} }},
		{Name: "timeouts", Doc: "retransmission timeouts of senders, by traffic",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &timeouts{} }},
		{Name: "unacked", Doc: "payload that was not acknowledged when the application's last write returned, mean and " +
			"largest over the flows, by traffic [bytes]",
			Keys: []Key{byKey("traffic", "traffic"), limitKey()},
			New:  func() Measure { return &unacked{} }},
	}
}

// networkKinds returns the kinds that measure switches and links.
func networkKinds() []Definition {
	return []Definition{
		{Name: "control", Doc: "what control planes of switches do: events that they were told of, that they had no room " +
			"for, and changes of tables, in all; share of the time that they write (control_busy), and that ports are in " +
			"each routing group (control_groups), on average over switches that have upward ports",
			Keys: []Key{switchesKey()},
			New:  func() Measure { return &control{} }},
		{Name: "balance", Doc: "Jain's index of the packets that a switch's upward ports have sent, by switch, and these " +
			"packets by port (port_packets, with every also over time) of a fat tree",
			Keys:   []Key{switchesKey(), everyKey("")},
			Better: Higher, Also: map[string]Better{"port_packets": Neither},
			New: func() Measure { return &balance{} }},
		{Name: "buffer", Doc: "what waits in all ports of a switch: mean, largest, percentiles and distribution over the " +
			"switches of a pattern [bytes]",
			Keys:   []Key{switchesKey(), everyKey("10ms"), percentilesKey("[99]", "ours")},
			Better: Lower,
			New:    func() Measure { return &buffer{} }},
		{Name: "drops", Doc: "packets dropped in switches, on links and at hosts that do not expect them, by reason",
			Better: Lower,
			New:    func() Measure { return &drops{} }, Ideal: true, Sparse: true},
		{Name: "metric", Doc: "a metric that programs of switches have (weir_ecn_marked_total, or one of your own " +
			"program's), by switch, the sum over its labels: of a counter, whose name ends in _total, what it has " +
			"counted; of others the mean. It is called metric_ecn_marked; with every also over time, of a counter its " +
			"growth (metric_ecn_marked_rate [1/s])",
			Keys: []Key{{Name: "name", Form: document.Value("name"), Doc: "of the metric", Required: true,
				Example: "metric: {name: weir_ecn_marked_total}"}, switchesKey(), everyKey("")},
			New: func() Measure { return &metric{} }},
		{Name: "nacks", Doc: "notices that switches made: packets made, dropped, delivered to senders, taken and refused " +
			"by them [packets], share dropped (nacks_lost), delay from switch to sender (nacks_delay): mean, largest, " +
			"percentiles [s]; what they cost (nacks_cost): per data packet that arrived (made), and payload sent, also " +
			"again, per payload that arrived (sent)",
			Keys: []Key{percentilesKey("[50, 99]", "ours")},
			New:  func() Measure { return &nacks{} }},
		{Name: "overhead", Doc: "what the frames on all links consist of: payload (also sent again), headers, extensions, " +
			"ack, nack, notice, pfc, probe [bytes, counted on every link]",
			New: func() Measure { return &overhead{} }, Sparse: true},
		{Name: "packet_rate", Doc: "packets per second that a port has sent; with every over time too [packets/s]",
			Keys: []Key{portKey("packet_rate: {port: switch->node}"), everyKey("")},
			New:  func() Measure { return &packetRate{} }},
		{Name: "pfc_pause", Doc: "share of the time for which PFC held a port, mean of all ports, by port, or of the NICs " +
			"of a traffic's senders in its class; and the Pause frames that they got (pfc_pauses)",
			Keys:   []Key{byKey("all", "all", "port", "traffic"), booleanKey("log", "keeps every frame, for weir export")},
			Better: Lower, Also: map[string]Better{"pfc_pauses": Lower},
			New: func() Measure { return &pause{} }},
		{Name: "queue", Doc: "length of a port's queue without the frame on the wire, or of all ports of switches, mean, " +
			"largest, percentiles and distribution [packets or bytes]",
			Keys: []Key{portKey(`queue: {port: s1->server}, or queue: {switches: "*"}`),
				{Name: "switches", Form: document.Value("name or pattern"), Doc: "of which it is, in place of port"},
				everyKey("10ms"),
				timeKey("from", "when it begins", "the end of the warm-up"), timeKey("until", "when it ends", "the end"),
				{Name: "unit", Form: document.OneOf("packets", "bytes"), Doc: "of the length", Default: "packets",
					Source: "ours"}, percentilesKey("[99]", "ours"),
				booleanKey("log", "keeps how many samples of each port there are in each kB, for weir export")},
			Better: Lower,
			New:    func() Measure { return &queue{} }, Queues: true, Tolerance: Tolerance{Share: 0.25, Difference: 2},
			Judged: []string{"p50", "p99"}},
		{Name: "state", Doc: "what programs and schedulers of switches keep, by switch [bits], and for one packet at most: " +
			"reads and writes of it (state_accesses), tables looked up (state_lookups), operations that a P4 pipeline has " +
			"(state_p4_operations: sums of shifted numbers, copies) and such that it lacks (state_lacked_operations: " +
			"divisions, fractions, logarithms, loops, …); comparing and adding is free",
			Keys:   []Key{switchesKey()},
			Better: Lower,
			New:    func() Measure { return &state{} }},
		{Name: "throughput", Doc: "bits of frames per second that a port has sent; with every over time too [bit/s]",
			Keys: []Key{portKey("throughput: {port: switch->node}"), everyKey("")},
			New:  func() Measure { return &throughput{} }},
		{Name: "utilisation", Doc: "share of what a port's link could have carried; with every over time too",
			Keys:   []Key{portKey("utilisation: {port: switch->node}"), everyKey("")},
			Better: Higher,
			New:    func() Measure { return &utilisation{} }},
	}
}
