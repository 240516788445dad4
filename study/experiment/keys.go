package experiment

import (
	"weir/core/jobs/collective"
	"weir/core/packet"
	"weir/internal/document"
	"weir/internal/switchfile"
	"weir/study/claim"
	"weir/study/experiment/plots"
)

// This file and the packages that it names (measure, claim) declare every key of an experiment. The decoder reads only
// keys of these tables. Schema and the tables of docs/spec.md are generated from them.

// Traits of keys.
const (
	wholeFile     document.Trait = 1 << iota // of the whole file; points lack it
	fixed                                    // the same for all points
	quickChanges                             // quick can change it
	unlisted                                 // does not affect results; not listed as a parameter
	affectsBuild                             // affects how switches are built
	notInFlowFile                            // not allowed in a traffic with flows from a file
	affectsState                             // of a switch; affects the size of its state, so Footprint accepts it
	notJob                                   // not allowed in a traffic that is a job
	optionsOnly                              // applied with the options; resolved specs lack it
	needsPoints                              // of paper; read when points and measures are known
	readsFile                                // defines how a file is read, next to the key file
)

// Forms of values that many keys have.
var (
	timeForm   = document.Value("time")
	rateForm   = document.Value("rate of a link")
	numberForm = document.Value("number")
	textForm   = document.Value("text")
	queueForm  = document.Value("length of a queue")
	fileForm   = document.Value("file")
	hostsForm  = document.AnyOf("host, pattern, or list of them", document.Value("host"),
		document.ListOf(document.Value("host"), ""))
	usersForm = document.AnyOf("host, pattern, address, prefix, or list of them", document.Value("host or address"),
		document.ListOf(document.Value("host or address"), ""))
	namesForm    = document.ListOf(document.Value("name"), "list of names")
	whereForm    = document.AnyValue("points, as of a claim")
	programsForm = document.ListOf(document.Registered("program", "program", "none"), "list of programs")
)

// top has the top-level keys of an experiment.
var top = &document.Table{KeyNoun: "key", Doc: "an experiment of Weir", Keys: []document.Key{
	{Name: "title", Form: textForm, Doc: "of the report", Without: "the experiment's name", Traits: wholeFile | unlisted},
	{Name: "paper", Form: document.MapOf(paper), Doc: "what it reproduces", Without: "none", Traits: wholeFile | unlisted},
	{Name: "duration", Form: timeForm, Doc: "that is measured, after the warm-up", Required: true,
		Example: "duration: 10s", Traits: quickChanges},
	{Name: "warmup", Form: timeForm, Doc: "before measures begin", Default: "0s", Source: "ours: no warm-up",
		Traits: quickChanges},
	{Name: "repeat", Form: document.AnyOf("number, or "+document.MapOf(need).Text, numberForm, document.MapOf(need)),
		Doc: "seeds a point; a map has as many as a measure needs", Default: "1", Source: "ours",
		Traits: wholeFile | quickChanges},
	{Name: "lab_repeat", Form: numberForm, Doc: "seeds a point in the lab, where a run takes as long as what it " +
		"measures; another `repeat` by `--quick` or `--set` leaves it as it is", Without: "`repeat`, or its `least`",
		Traits: wholeFile | quickChanges},
	{Name: "seed", Form: numberForm, Doc: "the first; the others follow", Default: "1", Source: "ours", Traits: wholeFile},
	{Name: "trace_quota", Form: document.Value("size"), Doc: "what the files of a run's trace (`weir run --trace`) may " +
		"take together: a run that has more fails, and workers leave traces only with it", Without: "no bound",
		Traits: wholeFile},
	{Name: "framing", Form: document.AnyOf(document.ListWords(framings())+", or `{overhead, mpu, cells}`",
		document.OneOf(framings()...), document.MapOf(switchfile.LineKeys)), Doc: "what a frame counts as", Default: "l2",
		Source: "ours: frames without FCS, what Linux counts", Traits: affectsBuild},
	{Name: "mtu", Form: document.Value("size"), Doc: "largest packet, in bytes of IP (`1500 B`), of payload " +
		"(`1448 B payload`), or as a path MTU of RDMA (`1024 B pmtu`; 256, 512, 1024, 2048, 4096)", Default: "1500 B",
		Source: "IEEE 802.3"},
	{Name: "topology", Form: document.MapOf(network), Doc: "the network: written out, a family, or a file",
		Required: true, Example: "topology: {…}", Traits: affectsBuild},
	{Name: "network", Form: document.Registered("ideal network", "`packets`, or an ideal network", packets),
		Doc: "what carries messages: packets over links and switches or, for jobs alone, an ideal network between the " +
			"hosts, for which neither these nor transports count", Without: "`packets`"},
	{Name: "addresses", Form: document.AnyOf("`flat`, `hierarchical`, or prefixes by leaf",
		document.OneOf("flat", hierarchical), document.MapBy(document.Value("prefix"), "")), Doc: "of the hosts",
		Default: "flat", Source: "ours: one after another", Traits: affectsBuild},
	{Name: "switch", Form: programsForm, Doc: "of all switches, in their order", Traits: affectsBuild},
	{Name: "switches", Form: document.MapBy(document.MapOf(perSwitch), "map by name or pattern"),
		Doc: "what differs by switch", Traits: affectsBuild},
	{Name: "groups", Form: document.MapBy(hostsForm, "`{name: hosts}`"),
		Doc: "names for hosts, which traffic can use in " +
			"place of them", Without: "none"},
	{Name: "users", Form: document.MapBy(usersForm, "`{name: hosts and addresses}`"), Doc: "customers: all addresses of " +
		"one are one user to `plan`, `user_fq`, `cake`, `abc` and all else that tells users apart, which can use its name",
		Without: "none", Traits: affectsBuild},
	{Name: "traffic", Form: document.ListOf(document.MapOf(traffic), "list"), Doc: "the flows", Required: true,
		Example: "traffic: [{…}]"},
	{Name: "events", Form: document.ListOf(document.MapOf(event), "list"), Doc: "what happens to links",
		Without: "none"},
	{Name: "stalls", Form: document.MapOf(stalls), Doc: "when the simulator's hosts stand still", Without: "never"},
	{Name: "iterations", Form: document.MapOf(iterations), Doc: "of a job: what is drawn in each, and whether those " +
		"that recur exactly are carried out", Without: "draws go on, and what recurs is not carried out again"},
	{Name: "sweep", Form: document.MapBy(document.AnyValue(""), "`{key: [values]}`, or `{key: {name: {…}}}`"),
		Doc: "what is varied: every combination is a point", Without: "one point", Traits: wholeFile},
	{Name: "without", Form: document.ListOf(document.MapOf(without), "list of `{where, why}`"), Doc: "points of the " +
		"sweep that have no meaning: nothing runs there, and reports say which they are, and why", Without: "none",
		Traits: wholeFile | unlisted},
	{Name: "quick", Form: document.MapBy(document.AnyValue(""), "map"), Doc: "what `--quick` changes: `repeat`, " +
		"`lab_repeat`, `duration`, `warmup`, keys of the sweep", Without: "nothing",
		Traits: wholeFile | unlisted | optionsOnly},
	{Name: "measure", Form: document.ListOf(document.Registered("measure", "measure", ""), "list"),
		Doc: "what is measured", Default: "[goodput]", Source: "ours", Traits: fixed | affectsBuild},
	{Name: "ratio", Form: document.ListOf(document.MapOf(claim.RatioTable), "list"),
		Doc: "measures over those of a reference point, by seed", Without: "none", Traits: wholeFile | unlisted},
	{Name: "tables", Form: document.MapOf(tables), Doc: "which columns tables have, and in which order, unless they are " +
		"asked for others", Without: "all, in the order of the sweep", Traits: wholeFile | unlisted},
	{Name: "best", Form: document.MapBy(direction, "`{measure: higher, lower or none}`"),
		Doc: "which value reports mark as the best, by measure or `measure.group`",
		Without: "the measure's own direction; `none` for values by traffic " +
			"or by group where several share the network", Traits: wholeFile | unlisted},
	{Name: "plot", Form: document.ListOf(document.MapOf(plots.Table), "list"), Doc: "what is drawn", Without: "none",
		Traits: wholeFile | unlisted},
	{Name: "expect", Form: document.ListOf(document.MapOf(claim.Table), "list"), Doc: "claims", Without: "none",
		Traits: wholeFile | unlisted},
}}

// need has the keys that define the number of seeds by results.
var need = &document.Table{KeyNoun: "repeat key", Doc: "seeds by need", Keys: []document.Key{
	{Name: "measure", Form: document.Value("measure, or measure.group"), Doc: "of whose mean the interval decides",
		Required: true, Example: needExample},
	{Name: "until", Form: document.Value("share"), Doc: "half of the interval over the mean, at most", Required: true,
		Example: needExample},
	{Name: "confidence", Form: document.Value("share"), Doc: "of the interval", Default: "95%",
		Source: "ours: that of reports"},
	{Name: "least", Form: numberForm, Doc: "seeds, of which there are always so many", Default: "5",
		Source: "ours: fewer are too few for an interval to go by"},
	{Name: "most", Form: numberForm, Doc: "seeds, also if the interval is not narrow enough by then", Default: "50",
		Source: "ours"},
}}

const needExample = "{measure: goodput.a, until: 2%}"

// framings returns the names of framings.
func framings() (names []string) {
	for _, f := range packet.Framings {
		names = append(names, f.Name)
	}
	return names
}

// paper has the keys of the paper that an experiment reproduces.
var paper = &document.Table{KeyNoun: "paper key", Doc: "what it reproduces", Keys: []document.Key{
	{Name: "name", Form: textForm, Doc: "of the paper"},
	{Name: "figure", Form: textForm, Doc: "of the paper"},
	{Name: "source", Form: textForm, Doc: "of values that do not say theirs"},
	{Name: "values", Form: document.ListOf(document.MapOf(paperValue), "list"), Doc: "numbers that the paper gives",
		Traits: needsPoints},
}}

// paperValue has the keys of an entry of the paper's values.
var paperValue = &document.Table{KeyNoun: "key of paper values", Doc: "numbers of the paper",
	Open: "a value with its unit, by measure or measure.group", Keys: []document.Key{
		{Name: "where", Form: whereForm, Doc: "points that are meant", Without: "all"},
		{Name: "column", Form: textForm,
			Doc: "that shows these values, such as `released` of runs that the paper's authors " +
				"have published", Default: "paper", Source: "ours"},
		{Name: "source", Form: textForm, Doc: "where in the paper", Without: "the paper's `source`",
			Example: "source: §6.2.3, or source: figure 4, read off the plot"},
	}}

// network has the keys of a topology that the file lists, or that another file has. A family of the registry replaces
// these keys.
var network = &document.Table{KeyNoun: "topology key", Doc: "the network", Open: "topology", Keys: []document.Key{
	{Name: "hosts", Form: namesForm, Doc: "end points; each link of one is a NIC of its own"},
	{Name: "switches", Form: namesForm, Doc: "what forwards"},
	{Name: "links", Form: document.ListOf(document.MapOf(link), "list"), Doc: "between two nodes, in both directions"},
	{Name: "file", Form: fileForm, Doc: "beside the experiment, in place of these"},
	{Name: "format", Form: document.Registered("format of networks", "name of a format (`weir list topologies`)", ""),
		Doc: "of the file", Traits: readsFile},
	{Name: "rest", Form: document.OneOf("ignored"), Doc: "what the file has behind its last link",
		Without: "an error", Traits: readsFile},
}}

// link has the keys of a link of a listed topology.
var link = &document.Table{KeyNoun: "link key", Doc: "a link", Keys: []document.Key{
	{Name: "ends", Form: document.Pair("`[node, node]`"), Doc: "what it joins", Required: true, Example: "ends: [a, b]"},
	{Name: "rate", Form: rateForm, Doc: "in each direction", Required: true, Example: "rate: 100Mbps"},
	{Name: "delay", Form: timeForm, Doc: "one way", Required: true, Example: "delay: 5ms"},
	{Name: "buffer", Form: queueForm, Doc: "limit of the switch ports at its ends: what waits there", Without: "no limit"},
	{Name: "bundle", Form: numberForm, Doc: "so many links side by side, each with this rate", Without: "one"},
	{Name: "loss", Form: document.Value("share"), Doc: "probability that a frame is lost on the way", Default: "0%",
		Source: "ours: no loss"},
	{Name: "jitter", Form: timeForm, Doc: "largest delay added at random; nothing is reordered", Default: "0s",
		Source: "ours: no jitter"},
	{Name: "spaced", Form: document.OneOf("true", "false"), Doc: "its switch ports send a frame at once and hold the " +
		"next one back for the frame's time, as BMv2's do, and its host is not held back at all", Default: "false",
		Source: "ours: frames take their time"},
}}

// perSwitch has the keys that can differ by switch.
var perSwitch = &document.Table{KeyNoun: "switch key", Doc: "what differs", Keys: []document.Key{
	{Name: "programs", Form: programsForm, Doc: "in place of `switch`"},
	{Name: "buffer", Form: queueForm, Doc: "limit of each of its ports, in place of the links'", Traits: affectsState},
	{Name: "queues", Form: numberForm, Doc: "a port", Without: "1", Traits: affectsState},
	{Name: "queue_limit", Form: queueForm, Doc: "of each queue", Without: "no limit", Traits: affectsState},
	{Name: "scheduler", Form: document.Registered("scheduler", "scheduler", ""), Doc: "of each port",
		Without: "first in, first out for one queue, strict priority for several", Traits: affectsState},
	{Name: "recirculation", Form: document.MapOf(recirculation), Doc: "the recirculation port", Without: "no limit",
		Traits: affectsState},
	{Name: "clock", Form: document.MapOf(clock), Doc: "that telemetry is stamped with", Without: "exact"},
}}

// recirculation has the keys of a switch's port to itself.
var recirculation = &document.Table{KeyNoun: "recirculation key", Doc: "port of its own", Keys: []document.Key{
	{Name: "rate", Form: rateForm, Doc: "of it", Required: true, Example: "rate: 10Gbps"},
	{Name: "queue", Form: document.Value("number of packets"), Doc: "its limit", Default: "64 packets", Source: "ours"},
}}

// clock has the keys of a switch's clock.
var clock = &document.Table{KeyNoun: "clock key", Doc: "that telemetry is stamped with", Keys: []document.Key{
	{Name: "resolution", Form: timeForm, Doc: "of its readings", Default: "1ps", Source: "ours: exact"},
	{Name: "offset", Form: timeForm, Doc: "at time 0, such as `5us` or `-5us`", Default: "0s", Source: "ours: exact"},
	{Name: "drift", Form: document.Value("`20ppm`"), Doc: "how much too fast it goes", Default: "0ppm",
		Source: "ours: exact"},
}}

// traffic has the keys of a traffic. A transport's parameters may be next to these keys.
var traffic = &document.Table{KeyNoun: "traffic key", Doc: "flows of one kind", Open: "parameter",
	Keys: []document.Key{
		{Name: "name", Form: document.Value("a letter or `_`, then letters, digits and `_`"),
			Doc:      "measures and claims use it",
			Required: true, Example: "name: …"},
		{Name: "from", Form: document.AnyOf("host, pattern, list of them, or `{random: n}`", hostsForm,
			document.MapOf(drawn)), Doc: "who sends", Example: "from: host", Traits: notInFlowFile | notJob},
		{Name: "to", Form: document.AnyOf("host, pattern, list of them, `random`, `permutation`, `{random: n}` or "+
			"`{stride: n}`", hostsForm, document.OneOf(ToRandom, Permutation), document.MapOf(drawn), document.MapOf(strided)),
			Doc: "who receives: every pair of different hosts gets flows", Example: "to: host", Traits: notInFlowFile | notJob},
		{Name: "pairs", Form: document.ListOf(document.Pair("`[host, host]`"), "list of `[sender, receiver]`"),
			Doc: "who sends to whom, in place of `from` and `to`", Without: "none", Traits: notInFlowFile | notJob},
		{Name: "ports", Form: document.MapOf(ports), Doc: "of flows that the file lists: each takes the next one of its " +
			"sender and the next one of its receiver, counted over all traffics that have `ports`, in the file's order",
			Without: "by the number of the flow", Traits: notInFlowFile | notJob},
		{Name: "collective", Form: document.OneOf(collective.FlowAlgorithms...), Doc: "old form of `job: {" +
			collective.AllReduceFlows + ": {algorithm: …, size: …}}`, with `size` next to it", Without: "none"},
		{Name: "job", Form: document.Registered("job", "job", ""), Doc: "what hosts do together, in iterations or as a " +
			"trace says, in place of `from` and `to`", Without: "none"},
		{Name: "hosts", Form: document.AnyOf("host, pattern, list of them, or `{10.0.0.1: host}`", hostsForm,
			document.MapBy(document.Value("host"), "")), Doc: "of a job in the order of its ranks " +
			"(without the key, all); or those that addresses and prefixes of a " +
			"capture stand for, in place of their order", Example: "hosts: host"},
		{Name: "transport", Form: document.Registered("transport", "transport", ""),
			Doc: "how it is carried, with its parameters inside or beside it", Required: true,
			Example: "transport: udp"},
		{Name: "cc", Form: document.Registered("congestion controller", "congestion controller", ""),
			Doc: "of a transport that has one (`tcp`, `rdma`, `udp_controlled`)", Default: "cubic",
			Source: "Linux 6.18: tcp_congestion_control"},
		{Name: "flows", Form: numberForm, Doc: "flows a pair, or a sender", Default: "1", Source: "ours",
			Traits: notInFlowFile | notJob},
		{Name: "size", Form: document.Value("size"), Doc: "payload of a flow", Without: "no end",
			Example: "size: 100MB", Traits: notInFlowFile},
		{Name: "sizes", Form: document.AnyOf("name, or `{file: sizes.txt}`",
			document.Registered("distribution", "", ""), document.MapOf(sizes)),
			Doc:     "distribution of sizes, in place of `size`",
			Without: "none", Traits: notInFlowFile | notJob},
		{Name: "load", Form: document.Value("share"), Doc: "flows arrive so that senders offer this share of their links",
			Without: "none", Traits: notInFlowFile | notJob},
		{Name: "arrivals", Form: document.OneOf("poisson", "periodic"), Doc: "with `load`", Default: "poisson",
			Source: "HPCC simulator: traffic_gen", Traits: notInFlowFile | notJob},
		{Name: "payload", Form: document.Value("size"), Doc: "payload of a packet",
			Without: "what `mtu` leaves: over IPv4 1448 B for TCP (with time stamps), 1472 B for UDP, 1440 B for RDMA"},
		{Name: "start", Form: document.Value("time, or `low..high`"), Doc: "a range is drawn from uniformly for each flow",
			Default: "0s..1s", Source: "ours: spreads the phases of senders, of which P4-ABC says nothing",
			Cases: []document.Case{{When: "job", Default: "0s", Source: "ours: a job begins with the run"},
				{When: "drawn", Default: "0s", Source: "ours: drawn flows begin with the run"},
				{When: "if run or `stop` end by 1s", Default: "0s..a tenth of that", Source: startsSoon}},
			Traits: notInFlowFile},
		{Name: "sets", Form: document.MapOf(sets), Doc: "all of the traffic begins so often, one interval after another; " +
			"not with `load`", Without: "one", Traits: notInFlowFile | notJob},
		{Name: "stop", Form: timeForm, Doc: "at which the sender stops", Without: "none", Traits: notInFlowFile | notJob},
		{Name: "tos", Form: document.AnyOf("0 to 255, or by size: `{0 B: 0x10, 100KB: 0x08}`",
			document.Value("number"), document.MapBy(document.Value("number"), "")),
			Doc: "TOS byte; by size each from its size on, endless flows have the last", Without: "0"},
		{Name: "ip", Form: document.OneOf("4", "6"), Doc: "its version", Default: "4", Source: "ours"},
		{Name: "nic", Form: document.AnyOf("`hash`, `round_robin`, `rail`, or the number of a NIC, from 0",
			document.OneOf(nicChoices()...), document.Value("number")), Doc: "which of its NICs a host with several sends a " +
			"flow by: of those that are nearest to the receiver by a hash, or in turn; each in turn, to the receiver's of the " +
			"same number, a rail; or always this one", Without: "hash"},
		{Name: "file", Form: fileForm, Doc: "a flow file, or a capture (pcapng, pcap), in place of all that decides flows",
			Traits: notJob},
		{Name: "as", Form: document.OneOf(asFlows, asPackets), Doc: "what of a capture is traffic: its TCP connections, or " +
			"each IP packet", Without: "the file is no capture", Traits: notJob | readsFile},
		{Name: "interfaces", Form: document.AnyOf("name, pattern, or list of them", document.Value("name"), namesForm),
			Doc: "only the capture's packets at these", Without: "all", Traits: notJob | readsFile},
		{Name: "format", Form: document.Registered("format of flows", "name of a format (`weir list workloads`)", ""),
			Doc: "of the file", Traits: notJob | readsFile},
		{Name: "offset", Form: timeForm,
			Doc: "subtracted from all starts of the file; of a capture, what is before it is left " +
				"out", Default: "0s",
			Source: "ours: times as in the file", Traits: notJob | readsFile},
		{Name: "time_unit", Form: timeForm, Doc: "what a `.cm` file's start counts", Traits: notJob | readsFile},
		{Name: "port", Form: numberForm, Doc: "only the file's flows to this port; of a capture, from or to it",
			Without: "all",
			Traits:  notJob | readsFile},
		{Name: "rest", Form: document.OneOf("ignored"), Doc: "what the file has behind its last flow", Without: "an error",
			Traits: notJob | readsFile},
	}}

// drawn has the key of hosts that are drawn.
var drawn = &document.Table{KeyNoun: "from key", Doc: "hosts that are drawn", Keys: []document.Key{
	{Name: "random", Form: numberForm, Doc: "so many, drawn for each seed", Required: true}}}

// strided has the key of destinations by their distance.
var strided = &document.Table{KeyNoun: "to key", Doc: "hosts by their distance", Keys: []document.Key{
	{Name: "stride", Form: numberForm, Doc: "the host so many further on", Required: true}}}

// ports has the keys of a traffic's port numbers.
var ports = &document.Table{KeyNoun: "ports key", Doc: "the first ones", Keys: []document.Key{
	{Name: "from", Form: numberForm, Doc: "of the first flow that a host sends", Required: true, Example: portsExample},
	{Name: "to", Form: numberForm, Doc: "of the first flow that a host receives", Required: true, Example: portsExample}}}

// sizes has the key of a custom distribution of flow sizes.
var sizes = &document.Table{KeyNoun: "sizes key", Doc: "of a file", Keys: []document.Key{
	{Name: "file", Form: fileForm, Doc: "lines of bytes and cumulative percent", Required: true}}}

// sets has the keys of a traffic's repetitions.
var sets = &document.Table{KeyNoun: "sets key", Doc: "all of the traffic begins so often", Keys: []document.Key{
	{Name: "count", Form: numberForm, Doc: "how often", Required: true},
	{Name: "interval", Form: timeForm, Doc: "from one beginning to the next", Required: true}}}

// event has the keys of a link's event.
var event = &document.Table{KeyNoun: "event key", Doc: "an event", Keys: []document.Key{
	{Name: "at", Form: timeForm, Doc: "from the beginning of the warm-up", Required: true, Example: eventExample},
	{Name: "link", Form: document.Pair("`[node, node]`"), Doc: "its two ends", Required: true, Example: eventExample},
	{Name: "from", Form: document.Value("node"), Doc: "only the direction that leaves this end; without it both",
		Example: "from: s1"},
	{Name: "down", Form: document.OneOf("true", "false"), Doc: "it goes down, or up",
		Example: "down: true, down: false, or rate: 5Gbps"},
	{Name: "rate", Form: rateForm, Doc: "its new rate, in place of `down`"},
	{Name: "enabled", Form: document.OneOf("true", "false"), Doc: "`false` takes it out", Default: "true", Source: "ours"},
}}

const (
	portsExample = "{from: 32001, to: 42001}"
	eventExample = "{at: 5ms, link: [s1, s2], down: true}"
	stallExample = "{every: 2s, length: 2ms}"
)

// stalls has the keys of stalls of hosts.
var stalls = &document.Table{KeyNoun: "stalls key", Doc: "when the simulator's hosts stand still",
	Keys: []document.Key{
		{Name: "every", Form: timeForm, Doc: "mean from one stall to the next", Required: true, Example: stallExample},
		{Name: "length", Form: timeForm, Doc: "of each; `0s`: there are none", Required: true, Example: stallExample}}}

// iterations has the keys that define how a job's iterations follow each other.
var iterations = &document.Table{KeyNoun: "iterations key", Doc: "iterations of a job", Keys: []document.Key{
	{Name: "draws", Form: document.OneOf(drawsGoOn, drawsAnew), Doc: "random numbers of links, switches and messages: " +
		"`running` goes on with them, so iterations differ; `anew` begins with the same ones wherever the network is " +
		"idle between two iterations", Default: drawsGoOn, Source: "ours"},
	{Name: "repeat", Form: document.OneOf("true", "false"), Doc: "an iteration is taken from the one before it, in " +
		"place of being carried out, where the network's whole state recurs; that changes how long a run takes, and " +
		"nothing else",
		Default: "true", Source: "ours"},
}}

// Values of draws.
const (
	drawsGoOn = "running"
	drawsAnew = "anew"
)
