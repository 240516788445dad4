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
		{Name: "collective", Doc: "time from a collective's start until all of its data has arrived, by traffic [s]",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &collective{} }},
		{Name: "delay", Doc: "one-way delay of data packets: mean, maximum and percentiles, by traffic [s]",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey(), percentilesKey("", "")},
			Better: Lower,
			New:    func() Measure { return &delay{} }},
		{Name: "fct", Doc: "flow completion time from start to the last acknowledged byte: mean and maximum of finished " +
			"flows, percentiles, by size; and the time until the last write returned (fct_written); by traffic, or by " +
			"groups of senders or receivers, where fct_slowest is the maximum of the hosts' means [s]",
			Keys: []Key{byKey("traffic", "traffic", bySender, byReceiver), limitKey(), percentilesKey("", ""), binsKey(),
				booleanKey("deviation", "also standard deviations and the times at which writes return")},
			Better: Lower, Also: map[string]Better{"fct_finished": Higher, "fct_sd": Neither, "fct_written_sd": Neither},
			New: func() Measure { return &fct{} }},
		{Name: "fct_last", Doc: "time from a traffic's first start until the last byte of all its flows has arrived " +
			"[s], and the sum of their sizes divided by this time (incast_goodput [bit/s]), by traffic",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower, Also: map[string]Better{"incast_goodput": Higher},
			New: func() Measure { return &fctLast{} }},
		{Name: "goodput", Doc: "new payload bits per second at the receiver, of flows and of messages of jobs: by " +
			"traffic, in total, or by groups of senders or receivers, where goodput_slowest is the minimum of the hosts; " +
			"with every also over time [bit/s]",
			Keys:   []Key{byKey("traffic", "traffic", "all", bySender, byReceiver), limitKey(), everyKey("")},
			Better: Higher,
			New:    func() Measure { return &goodput{} }, Ideal: true, Tolerance: Tolerance{Share: 0.10, Difference: 1e6}},
		jainKind(),
		{Name: "jitter", Doc: "smoothed difference of transit times (RFC 3550 §6.4.1), by traffic [s]",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &jitter{} }},
		jobKind(), timelineKind(),
		{Name: "loss", Doc: "share of data packets sent in the measured time that did not arrive in it, by traffic",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &loss{} }},
		{Name: "max_min", Doc: "goodput that the flows present at the end would get from max-min fair sharing of links " +
			"[bit/s], and the actual goodput divided by it (max_min_ratio), by traffic; with among: sender also the " +
			"maximum deviation of a traffic's goodput from it (max_min_apart), where datagrams demand their sent rate",
			Keys: []Key{byKey("traffic", "traffic"), limitKey(), {Name: "among", Form: document.OneOf("flow", "sender"),
				Doc:     "unit with an equal share: each flow, or all flows of a host together",
				Default: "flow", Source: "Weir"}},
			Also: map[string]Better{"max_min_apart": Lower},
			New:  func() Measure { return &maxMin{} }},
		{Name: "reaction", Doc: "time until goodput, throughput or queue remains within a band around its target, from " +
			"a given time on [s]",
			Keys:   reactionKeys(),
			Better: Lower,
			New:    func() Measure { return &reaction{} }},
		{Name: "reordering", Doc: "share of data packets that arrived after a packet that was sent later (RFC 4737 " +
			"§4.1), and the maximum extent (§4.2; reordering_extent [packets]), by traffic",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &reordering{} }},
		{Name: "slowdown", Doc: "flow completion time divided by the flow's ideal time in an empty network: " + idealFormula +
			"; mean and percentiles of finished flows, also by size; by traffic, or by groups of senders or receivers",
			Reads: "flow completion time divided by the ideal time in an empty network: 1 is the minimum",
			Keys: []Key{byKey("traffic", "traffic", bySender, byReceiver), limitKey(), percentilesKey("[50, 95, 99]", "HPCC §5"),
				binsKey()},
			Better: Lower,
			New:    func() Measure { return &slowdown{} }},
		{Name: "time_to_fairness", Doc: "time until Jain's index of the goodputs exceeds a level and remains above it, " +
			"from a given time on [s]",
			Keys: []Key{byKey("flow", "traffic", "flow", "sender"), everyKey("10ms"), {Name: "index",
				Form: document.Value("share"),
				Doc:  "level of Jain's index", Default: "95%", Source: "Weir"}, holdKey("10"), timeKey("after",
				"time from which on the index counts", "the end of the warm-up")},
			Better: Lower,
			New:    func() Measure { return &timeToFairness{} }},
		{Name: "unfinished", Doc: "number of flows with an end that did not finish, by traffic, or by groups of senders " +
			"or receivers",
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
		{Name: "delivery_rate", Doc: "latest delivery rate of payload over time, as senders of a traffic's first flows " +
			"measure it, and its mean by traffic [bit/s]",
			Keys: gaugeKeys(),
			New:  newGauge("delivery_rate", outcome.DeliveryRate, "bps", true)},
		{Name: "in_flight", Doc: "payload in flight over time of a traffic's first flows, and its mean by traffic [bytes]",
			Keys: gaugeKeys(),
			New:  newGauge("in_flight", outcome.InFlight, "bytes", false)},
		{Name: "overshoot", Doc: "maximum payload in flight of a sender divided by its path's bandwidth-delay product " +
			"(base RTT times the slowest link's rate of payload): mean and maximum (overshoot_max) of the flows, by traffic",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &overshoot{} }},
		{Name: "rate", Doc: "pacing rate over time of a traffic's first flows, and its mean by traffic [bit/s]",
			Keys: gaugeKeys(),
			New:  newGauge("rate", outcome.Rate, "bps", false)},
		{Name: "reduction", Doc: "time from congestion, which begins at a given time or when a queue exceeds a length " +
			"(reduction_from), until the first sender or all senders have reduced window or rate by a share, by traffic [s]",
			Keys:   reductionKeys(),
			Better: Lower, Also: map[string]Better{"reduction_from": Neither},
			New: func() Measure { return &reduction{} }},
		{Name: "retransmissions", Doc: "number of retransmitted data packets, by traffic; by flow: also mean and " +
			"standard deviation over its flows",
			Keys:   []Key{byKey("traffic", "traffic", "flow"), limitKey()},
			Better: Lower, Also: map[string]Better{"retransmissions_sd": Neither},
			New: func() Measure { return &retransmissions{} }},
		{Name: "rtt", Doc: "smoothed round-trip time over time, as senders of a traffic's first flows measure it, and " +
			"its mean by traffic [s]",
			Keys:   gaugeKeys(),
			Better: Lower,
			New:    newGauge("rtt", outcome.RTT, "s", true)},
		{Name: "spurious", Doc: "number of data packets that were retransmitted although they had arrived, in total and " +
			"by cause of the duplicate: spurious_timeout, spurious_probe, spurious_receiver (acknowledgements and NACKs " +
			"of the receiver), spurious_switch (NACKs of switches, trimmed packets), and spurious_overtaken (the original " +
			"arrived after its retransmission; in the lab all), by traffic",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &spurious{} }},
		{Name: "timeouts", Doc: "number of retransmission timeouts of senders, by traffic",
			Keys:   []Key{byKey("traffic", "traffic"), limitKey()},
			Better: Lower,
			New:    func() Measure { return &timeouts{} }},
		{Name: "unacked", Doc: "payload without acknowledgement when the application's last write returned: mean and " +
			"maximum over the flows, by traffic [bytes]",
			Keys: []Key{byKey("traffic", "traffic"), limitKey()},
			New:  func() Measure { return &unacked{} }},
	}
}

// networkKinds returns the kinds that measure switches and links.
func networkKinds() []Definition {
	return []Definition{
		{Name: "control", Doc: "work of the switches' control planes: events received, events lost because their queue " +
			"was full, and changes of tables, in total; share of time spent on writes (control_busy) and share of time of " +
			"ports in each routing group (control_groups), averaged over switches with upward ports",
			Keys: []Key{switchesKey()},
			New:  func() Measure { return &control{} }},
		{Name: "balance", Doc: "Jain's index of the packets that a switch's upward ports have sent, by switch, and " +
			"these packets by port (port_packets, with every also over time), in a fat tree",
			Keys:   []Key{switchesKey(), everyKey("")},
			Better: Higher, Also: map[string]Better{"port_packets": Neither},
			New: func() Measure { return &balance{} }},
		{Name: "buffer", Doc: "data in the queues of all ports of a switch: mean, maximum, percentiles and distribution " +
			"over the switches of a pattern [bytes]",
			Keys:   []Key{switchesKey(), everyKey("10ms"), percentilesKey("[99]", "Weir")},
			Better: Lower,
			New:    func() Measure { return &buffer{} }},
		{Name: "drops", Doc: "number of packets dropped in switches, on links and at hosts that do not expect them, by " +
			"reason",
			Better: Lower,
			New:    func() Measure { return &drops{} }, Ideal: true, Sparse: true},
		{Name: "metric", Doc: "metric of the switches' programs (weir_ecn_marked_total, or one of your own program), by " +
			"switch, summed over its labels: the count of a counter, whose name ends in _total, and the mean of other " +
			"metrics; its name is metric_ecn_marked; with every also over time, where a counter has its growth " +
			"(metric_ecn_marked_rate [1/s])",
			Keys: []Key{{Name: "name", Form: document.Value("name"), Doc: "name of the metric", Required: true,
				Example: "metric: {name: weir_ecn_marked_total}"}, switchesKey(), everyKey("")},
			New: func() Measure { return &metric{} }},
		{Name: "nacks", Doc: "notices from switches: packets created, dropped, delivered to senders, accepted and " +
			"rejected by them [packets], share dropped (nacks_lost), delay from switch to sender (nacks_delay): mean, " +
			"maximum, percentiles [s]; cost (nacks_cost): notices per data packet that arrived (made), and payload sent, " +
			"including retransmissions, per payload that arrived (sent)",
			Keys: []Key{percentilesKey("[50, 99]", "Weir")},
			New:  func() Measure { return &nacks{} }},
		{Name: "overhead", Doc: "content of the frames on all links: payload (including retransmissions), headers, " +
			"extensions, ack, nack, notice, pfc, probe [bytes, counted on every link]",
			New: func() Measure { return &overhead{} }, Sparse: true},
		{Name: "packet_rate", Doc: "packets per second that a port sends; with every also over time [packets/s]",
			Keys: []Key{portKey("packet_rate: {port: switch->node}"), everyKey("")},
			New:  func() Measure { return &packetRate{} }},
		{Name: "pfc_pause", Doc: "share of time for which PFC paused a port: mean of all ports, by port, or of the NICs " +
			"of a traffic's senders in its class; and the Pause frames that they received (pfc_pauses)",
			Keys:   []Key{byKey("all", "all", "port", "traffic"), booleanKey("log", "record all Pause frames, for weir export")},
			Better: Lower, Also: map[string]Better{"pfc_pauses": Lower},
			New: func() Measure { return &pause{} }},
		{Name: "queue", Doc: "queue length of a port without the frame on the wire, or of all ports of switches: mean, " +
			"maximum, percentiles and distribution [packets or bytes]",
			Keys: []Key{portKey(`queue: {port: s1->server}, or queue: {switches: "*"}`),
				{Name: "switches", Form: document.Value("name or pattern"), Doc: "switches to measure, instead of one port"},
				everyKey("10ms"),
				timeKey("from", "begin of the measurement",
					"the end of the warm-up"), timeKey("until", "end of the measurement",
					"the end of the run"),
				{Name: "unit", Form: document.OneOf("packets", "bytes"), Doc: "unit of the length", Default: "packets",
					Source: "Weir"}, percentilesKey("[99]", "Weir"),
				booleanKey("log", "record the number of samples of each port per kB of length, for weir export")},
			Better: Lower,
			New:    func() Measure { return &queue{} }, Queues: true, Tolerance: Tolerance{Share: 0.25, Difference: 2},
			Judged: []string{"p50", "p99"}},
		{Name: "state", Doc: "state of the switches' programs and schedulers, by switch [bits], and the maximum work " +
			"for one packet: accesses to the state (state_accesses), table lookups (state_lookups), operations that a P4 " +
			"pipeline supports (state_p4_operations: sums of shifted numbers, copies) and operations that it does not " +
			"support (state_lacked_operations: divisions, fractions, logarithms, loops, …); comparisons and additions are " +
			"not counted",
			Keys:   []Key{switchesKey()},
			Better: Lower,
			New:    func() Measure { return &state{} }},
		{Name: "throughput", Doc: "bits of frames per second that a port sends; with every also over time [bit/s]",
			Keys: []Key{portKey("throughput: {port: switch->node}"), everyKey("")},
			New:  func() Measure { return &throughput{} }},
		{Name: "utilisation", Doc: "share of a port's link capacity in use; with every also over time",
			Keys:   []Key{portKey("utilisation: {port: switch->node}"), everyKey("")},
			Better: Higher,
			New:    func() Measure { return &utilisation{} }},
	}
}
