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
	{Name: "title", Form: textForm, Doc: "title of the report",
		Without: "the experiment's name", Traits: wholeFile | unlisted},
	{Name: "paper", Form: document.MapOf(paper), Doc: "paper that the experiment reproduces",
		Without: "none", Traits: wholeFile | unlisted},
	{Name: "duration", Form: timeForm, Doc: "measured time, after the warm-up", Required: true,
		Example: "duration: 10s", Traits: quickChanges},
	{Name: "warmup", Form: timeForm, Doc: "time before measures begin", Default: "0s", Source: "Weir: no warm-up",
		Traits: quickChanges},
	{Name: "repeat", Form: document.AnyOf("number, or "+document.MapOf(need).Text, numberForm, document.MapOf(need)),
		Doc:     "number of seeds per point; a map lets the precision of a measure decide the number",
		Default: "1", Source: "Weir",
		Traits: wholeFile | quickChanges},
	{Name: "lab_repeat", Form: numberForm, Doc: "number of seeds per point in the lab, where a run takes as long as " +
		"the time that it measures; `--quick` and `--set` of `repeat` do not change it",
		Without: "`repeat`, or its `least`",
		Traits:  wholeFile | quickChanges},
	{Name: "seed", Form: numberForm, Doc: "first seed; the next seeds follow it",
		Default: "1", Source: "Weir", Traits: wholeFile},
	{Name: "trace_quota", Form: document.Value("size"), Doc: "maximum total size of the trace files of a run (`weir " +
		"run --trace`): a larger run fails; workers accept traces only with this key", Without: "no limit",
		Traits: wholeFile},
	{Name: "framing", Form: document.AnyOf(document.ListWords(framings())+", or `{overhead, mpu, cells}`",
		document.OneOf(framings()...), document.MapOf(switchfile.LineKeys)), Doc: "size that a frame counts as",
		Default: "l2",
		Source:  "Weir: frames without FCS, as Linux counts them", Traits: affectsBuild},
	{Name: "mtu", Form: document.Value("size"), Doc: "maximum packet, in bytes of IP (`1500 B`), in payload (`1448 B " +
		"payload`), or as a path MTU of RDMA (`1024 B pmtu`; 256, 512, 1024, 2048, 4096)", Default: "1500 B",
		Source: "IEEE 802.3"},
	{Name: "topology", Form: document.MapOf(network), Doc: "the network: nodes and links, a topology family, or a file",
		Required: true, Example: "topology: {…}", Traits: affectsBuild},
	{Name: "network", Form: document.Registered("ideal network", "`packets`, or an ideal network", packets),
		Doc: "carrier of messages: `packets` over links and switches or, for jobs only, an ideal network between the " +
			"hosts, which ignores topology and transports", Without: "`packets`"},
	{Name: "addresses", Form: document.AnyOf("`flat`, `hierarchical`, or prefixes by leaf",
		document.OneOf("flat", hierarchical), document.MapBy(document.Value("prefix"), "")), Doc: "addresses of the hosts",
		Default: "flat", Source: "Weir: consecutive addresses", Traits: affectsBuild},
	{Name: "switch", Form: programsForm, Doc: "programs of all switches, in order", Traits: affectsBuild},
	{Name: "switches", Form: document.MapBy(document.MapOf(perSwitch), "map by name or pattern"),
		Doc: "different settings by switch", Traits: affectsBuild},
	{Name: "groups", Form: document.MapBy(hostsForm, "`{name: hosts}`"),
		Doc: "names for sets of hosts, which traffic can use instead of hosts", Without: "none"},
	{Name: "users", Form: document.MapBy(usersForm, "`{name: hosts and addresses}`"), Doc: "customers: all addresses " +
		"of a customer are one user for `plan`, `user_fq`, `cake`, `abc` and everything else that distinguishes users " +
		"and can use its name",
		Without: "none", Traits: affectsBuild},
	{Name: "traffic", Form: document.ListOf(document.MapOf(traffic), "list"), Doc: "the flows", Required: true,
		Example: "traffic: [{…}]"},
	{Name: "events", Form: document.ListOf(document.MapOf(event), "list"), Doc: "changes of links during the run",
		Without: "none"},
	{Name: "stalls", Form: document.MapOf(stalls), Doc: "stalls of the simulator's hosts", Without: "never"},
	{Name: "iterations", Form: document.MapOf(iterations), Doc: "iterations of a job: the random numbers of each, and " +
		"whether exact repetitions are simulated again",
		Without: "random numbers continue, and exact repetitions are not " +
			"simulated again"},
	{Name: "sweep", Form: document.MapBy(document.AnyValue(""), "`{key: [values]}`, or `{key: {name: {…}}}`"),
		Doc: "parameters to vary: every combination is a point", Without: "one point", Traits: wholeFile},
	{Name: "without", Form: document.ListOf(document.MapOf(without), "list of `{where, why}`"), Doc: "points of the " +
		"sweep to leave out because they have no meaning; reports list them with the reason", Without: "none",
		Traits: wholeFile | unlisted},
	{Name: "quick", Form: document.MapBy(document.AnyValue(""), "map"), Doc: "changes by `--quick`: `repeat`, " +
		"`lab_repeat`, `duration`, `warmup`, keys of the sweep", Without: "nothing",
		Traits: wholeFile | unlisted | optionsOnly},
	{Name: "measure", Form: document.ListOf(document.Registered("measure", "measure", ""), "list"),
		Doc: "measures to record", Default: "[goodput]", Source: "Weir", Traits: fixed | affectsBuild},
	{Name: "ratio", Form: document.ListOf(document.MapOf(claim.RatioTable), "list"),
		Doc: "measures divided by those of a reference point, by seed", Without: "none", Traits: wholeFile | unlisted},
	{Name: "tables", Form: document.MapOf(tables), Doc: "default columns and order of tables",
		Without: "all, in the order of the sweep", Traits: wholeFile | unlisted},
	{Name: "best", Form: document.MapBy(direction, "`{measure: higher, lower or none}`"),
		Doc:     "value that reports mark as the best, by measure or `measure.group`",
		Without: "the measure's own direction; `none` for values by traffic or by group that share the network",
		Traits:  wholeFile | unlisted},
	{Name: "plot", Form: document.ListOf(document.MapOf(plots.Table), "list"), Doc: "figures to draw", Without: "none",
		Traits: wholeFile | unlisted},
	{Name: "expect", Form: document.ListOf(document.MapOf(claim.Table), "list"), Doc: "claims to check", Without: "none",
		Traits: wholeFile | unlisted},
}}

// need has the keys that define the number of seeds by results.
var need = &document.Table{KeyNoun: "repeat key", Doc: "number of seeds by precision", Keys: []document.Key{
	{Name: "measure", Form: document.Value("measure, or measure.group"), Doc: "measure with the mean and confidence " +
		"interval that decide",
		Required: true, Example: needExample},
	{Name: "until", Form: document.Value("share"), Doc: "maximum half-width of the interval, relative to the mean",
		Required: true,
		Example:  needExample},
	{Name: "confidence", Form: document.Value("share"), Doc: "confidence level of the interval", Default: "95%",
		Source: "Weir: as in reports"},
	{Name: "least", Form: numberForm, Doc: "minimum number of seeds", Default: "5",
		Source: "Weir: fewer seeds give no reliable interval"},
	{Name: "most", Form: numberForm, Doc: "maximum number of seeds, even if the interval is still too wide",
		Default: "50",
		Source:  "Weir"},
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
var paper = &document.Table{KeyNoun: "paper key", Doc: "paper that the experiment reproduces", Keys: []document.Key{
	{Name: "name", Form: textForm, Doc: "name of the paper"},
	{Name: "figure", Form: textForm, Doc: "figure of the paper"},
	{Name: "source", Form: textForm, Doc: "source of values without a source of their own"},
	{Name: "values", Form: document.ListOf(document.MapOf(paperValue), "list"), Doc: "values that the paper reports",
		Traits: needsPoints},
}}

// paperValue has the keys of an entry of the paper's values.
var paperValue = &document.Table{KeyNoun: "key of paper values", Doc: "values of the paper",
	Open: "a value with its unit, by measure or measure.group", Keys: []document.Key{
		{Name: "where", Form: whereForm, Doc: "points to which the value belongs", Without: "all"},
		{Name: "column", Form: textForm,
			Doc:     "label of the values, such as `released` for runs that the paper's authors have published",
			Default: "paper", Source: "Weir"},
		{Name: "source", Form: textForm, Doc: "place in the paper", Without: "the paper's `source`",
			Example: "source: §6.2.3, or source: figure 4, read off the plot"},
	}}

// network has the keys of a topology that the file lists, or that another file has. A family of the registry replaces
// these keys.
var network = &document.Table{KeyNoun: "topology key", Doc: "the network", Open: "topology", Keys: []document.Key{
	{Name: "hosts", Form: namesForm, Doc: "end points; each link of a host is a separate NIC"},
	{Name: "switches", Form: namesForm, Doc: "nodes that forward packets"},
	{Name: "links", Form: document.ListOf(document.MapOf(link), "list"), Doc: "links between two nodes, in both " +
		"directions"},
	{Name: "file", Form: fileForm, Doc: "topology file next to the experiment, instead of nodes and links"},
	{Name: "format", Form: document.Registered("format of networks", "name of a format (`weir list topologies`)", ""),
		Doc: "format of the file", Traits: readsFile},
	{Name: "rest", Form: document.OneOf("ignored"), Doc: "text in the file after its last link",
		Without: "an error", Traits: readsFile},
}}

// link has the keys of a link of a listed topology.
var link = &document.Table{KeyNoun: "link key", Doc: "a link", Keys: []document.Key{
	{Name: "ends", Form: document.Pair("`[node, node]`"), Doc: "the two nodes that it connects",
		Required: true, Example: "ends: [a, b]"},
	{Name: "rate", Form: rateForm, Doc: "rate in each direction", Required: true, Example: "rate: 100Mbps"},
	{Name: "delay", Form: timeForm, Doc: "propagation delay, one way", Required: true, Example: "delay: 5ms"},
	{Name: "buffer", Form: queueForm, Doc: "limit of the switch queues at its ends", Without: "no limit"},
	{Name: "bundle", Form: numberForm, Doc: "number of parallel links, each with this rate", Without: "one"},
	{Name: "loss", Form: document.Value("share"), Doc: "probability that a frame is lost on the link", Default: "0%",
		Source: "Weir: no loss"},
	{Name: "jitter", Form: timeForm, Doc: "maximum random delay; frames are not reordered", Default: "0s",
		Source: "Weir: no jitter"},
	{Name: "spaced", Form: document.OneOf("true", "false"), Doc: "its switch ports send a frame immediately and delay " +
		"the next one by the frame's transmission time, as BMv2 does; its host has no such delay", Default: "false",
		Source: "Weir: frames take their transmission time"},
}}

// perSwitch has the keys that can differ by switch.
var perSwitch = &document.Table{KeyNoun: "switch key", Doc: "settings of a switch", Keys: []document.Key{
	{Name: "programs", Form: programsForm, Doc: "programs of the switch, instead of the key `switch`"},
	{Name: "buffer", Form: queueForm, Doc: "limit of each of its ports, instead of the links' `buffer`",
		Traits: affectsState},
	{Name: "queues", Form: numberForm, Doc: "number of queues per port", Without: "1", Traits: affectsState},
	{Name: "queue_limit", Form: queueForm, Doc: "limit of each queue", Without: "no limit", Traits: affectsState},
	{Name: "scheduler", Form: document.Registered("scheduler", "scheduler", ""), Doc: "scheduler of each port",
		Without: "first in, first out for one queue, strict priority for several", Traits: affectsState},
	{Name: "recirculation", Form: document.MapOf(recirculation), Doc: "recirculation port", Without: "no limit",
		Traits: affectsState},
	{Name: "clock", Form: document.MapOf(clock), Doc: "clock of the telemetry's time stamps", Without: "exact"},
}}

// recirculation has the keys of a switch's port to itself.
var recirculation = &document.Table{KeyNoun: "recirculation key", Doc: "settings of a port", Keys: []document.Key{
	{Name: "rate", Form: rateForm, Doc: "rate of the port", Required: true, Example: "rate: 10Gbps"},
	{Name: "queue", Form: document.Value("number of packets"), Doc: "limit of the port's queue",
		Default: "64 packets", Source: "Weir"},
}}

// clock has the keys of a switch's clock.
var clock = &document.Table{KeyNoun: "clock key", Doc: "clock of the telemetry's time stamps",
	Keys: []document.Key{
		{Name: "resolution", Form: timeForm, Doc: "resolution of its readings", Default: "1ps", Source: "Weir: exact"},
		{Name: "offset", Form: timeForm, Doc: "deviation at time 0, such as `5us` or `-5us`",
			Default: "0s", Source: "Weir: exact"},
		{Name: "drift", Form: document.Value("`20ppm`"), Doc: "relative speed deviation; positive: the clock is fast",
			Default: "0ppm",
			Source:  "Weir: exact"},
	}}

// traffic has the keys of a traffic. A transport's parameters may be next to these keys.
var traffic = &document.Table{KeyNoun: "traffic key", Doc: "flows of one kind", Open: "parameter",
	Keys: []document.Key{
		{Name: "name", Form: document.Value("a letter or `_`, then letters, digits and `_`"),
			Doc:      "name that measures and claims use",
			Required: true, Example: "name: …"},
		{Name: "from", Form: document.AnyOf("host, pattern, list of them, or `{random: n}`", hostsForm,
			document.MapOf(drawn)), Doc: "senders", Example: "from: host", Traits: notInFlowFile | notJob},
		{Name: "to", Form: document.AnyOf("host, pattern, list of them, `random`, `permutation`, `{random: n}` or "+
			"`{stride: n}`", hostsForm, document.OneOf(ToRandom, Permutation), document.MapOf(drawn), document.MapOf(strided)),
			Doc: "receivers; every pair of different hosts gets flows", Example: "to: host", Traits: notInFlowFile | notJob},
		{Name: "pairs", Form: document.ListOf(document.Pair("`[host, host]`"), "list of `[sender, receiver]`"),
			Doc:     "pairs of sender and receiver, instead of `from` and `to`",
			Without: "none", Traits: notInFlowFile | notJob},
		{Name: "ports", Form: document.MapOf(ports), Doc: "port numbers of flows that the file lists: each flow takes " +
			"the next port of its sender and the next port of its receiver, counted over all traffics with `ports`, in " +
			"the file's order",
			Without: "ports by the number of the flow", Traits: notInFlowFile | notJob},
		{Name: "collective", Form: document.OneOf(collective.FlowAlgorithms...), Doc: "old form of `job: {" +
			collective.AllReduceFlows + ": {algorithm: …, size: …}}`, with `size` next to it", Without: "none"},
		{Name: "job", Form: document.Registered("job", "job", ""), Doc: "joint work of the hosts, in iterations or from " +
			"a trace, instead of `from` and `to`", Without: "none"},
		{Name: "hosts", Form: document.AnyOf("host, pattern, list of them, or `{10.0.0.1: host}`", hostsForm,
			document.MapBy(document.Value("host"), "")), Doc: "hosts of a job in the order of its ranks (without the key, " +
			"all hosts); or hosts for the addresses and prefixes of a capture, instead of their order",
			Example: "hosts: host"},
		{Name: "transport", Form: document.Registered("transport", "transport", ""),
			Doc: "transport of the flows; its parameters are inside it or next to it", Required: true,
			Example: "transport: udp"},
		{Name: "cc", Form: document.Registered("congestion controller", "congestion controller", ""),
			Doc: "congestion controller, for a transport that has one (`tcp`, `rdma`, `udp_controlled`)", Default: "cubic",
			Source: "Linux 6.18: tcp_congestion_control"},
		{Name: "flows", Form: numberForm, Doc: "number of flows per pair or sender", Default: "1", Source: "Weir",
			Traits: notInFlowFile | notJob},
		{Name: "size", Form: document.Value("size"), Doc: "payload of a flow", Without: "unlimited",
			Example: "size: 100MB", Traits: notInFlowFile},
		{Name: "sizes", Form: document.AnyOf("name, or `{file: sizes.txt}`",
			document.Registered("distribution", "", ""), document.MapOf(sizes)),
			Doc:     "distribution of flow sizes, instead of `size`",
			Without: "none", Traits: notInFlowFile | notJob},
		{Name: "load", Form: document.Value("share"), Doc: "share of their links that senders offer on average with " +
			"arriving flows",
			Without: "none", Traits: notInFlowFile | notJob},
		{Name: "arrivals", Form: document.OneOf("poisson", "periodic"), Doc: "with `load`: how flows arrive",
			Default: "poisson",
			Source:  "HPCC simulator: traffic_gen", Traits: notInFlowFile | notJob},
		{Name: "payload", Form: document.Value("size"), Doc: "payload of a packet",
			Without: "as `mtu` allows: over IPv4 1448 B for TCP (with time stamps), 1472 B for UDP, 1440 B for RDMA"},
		{Name: "start", Form: document.Value("time, or `low..high`"), Doc: "start of each flow; drawn uniformly from a " +
			"range",
			Default: "0s..1s", Source: "Weir: spreads the phases of senders, which P4-ABC does not define",
			Cases: []document.Case{{When: "job", Default: "0s", Source: "Weir: a job begins with the run"},
				{When: "drawn", Default: "0s", Source: "Weir: drawn flows begin with the run"},
				{When: "if run or `stop` end by 1s", Default: "0s..a tenth of that", Source: startsSoon}},
			Traits: notInFlowFile},
		{Name: "sets", Form: document.MapOf(sets), Doc: "repetitions of all of the traffic at an interval; not with " +
			"`load`", Without: "one", Traits: notInFlowFile | notJob},
		{Name: "stop", Form: timeForm, Doc: "time at which senders stop", Without: "none", Traits: notInFlowFile | notJob},
		{Name: "tos", Form: document.AnyOf("0 to 255, or by size: `{0 B: 0x10, 100KB: 0x08}`",
			document.Value("number"), document.MapBy(document.Value("number"), "")),
			Doc:     "TOS byte; by size: each value applies from its size on, and endless flows have the last one",
			Without: "0"},
		{Name: "ip", Form: document.OneOf("4", "6"), Doc: "IP version", Default: "4", Source: "Weir"},
		{Name: "nic", Form: document.AnyOf("`hash`, `round_robin`, `rail`, or the number of a NIC, from 0",
			document.OneOf(nicChoices()...), document.Value("number")), Doc: "NIC by which a host with several NICs sends " +
			"a flow; `hash`: among the NICs nearest to the receiver, by a hash; `round_robin`: among them in turn; " +
			"`rail`: each in turn, to the receiver's NIC with the same number; a number: always this NIC",
			Without: "hash"},
		{Name: "file", Form: fileForm, Doc: "flow file or capture (pcapng, pcap), instead of all keys that define flows",
			Traits: notJob},
		{Name: "as", Form: document.OneOf(asFlows, asPackets), Doc: "traffic that a capture defines: its TCP " +
			"connections (`flows`) or each IP packet (`packets`)",
			Without: "the file is not a capture", Traits: notJob | readsFile},
		{Name: "interfaces", Form: document.AnyOf("name, pattern, or list of them", document.Value("name"), namesForm),
			Doc: "interfaces of the capture with the packets to use", Without: "all", Traits: notJob | readsFile},
		{Name: "format", Form: document.Registered("format of flows", "name of a format (`weir list workloads`)", ""),
			Doc: "format of the file", Traits: notJob | readsFile},
		{Name: "offset", Form: timeForm,
			Doc:     "time that is subtracted from all starts of the file; earlier packets of a capture are left out",
			Default: "0s",
			Source:  "Weir: times as in the file", Traits: notJob | readsFile},
		{Name: "time_unit", Form: timeForm, Doc: "unit of the starts in a `.cm` file", Traits: notJob | readsFile},
		{Name: "port", Form: numberForm, Doc: "destination port of the flows to use; of a capture, either port",
			Without: "all",
			Traits:  notJob | readsFile},
		{Name: "rest", Form: document.OneOf("ignored"), Doc: "text in the file after its last flow", Without: "an error",
			Traits: notJob | readsFile},
	}}

// drawn has the key of hosts that are drawn.
var drawn = &document.Table{KeyNoun: "from key", Doc: "random hosts", Keys: []document.Key{
	{Name: "random", Form: numberForm, Doc: "number of hosts, drawn for each seed", Required: true}}}

// strided has the key of destinations by their distance.
var strided = &document.Table{KeyNoun: "to key", Doc: "hosts at a distance", Keys: []document.Key{
	{Name: "stride", Form: numberForm, Doc: "distance from the sender to the receiver in the list of hosts",
		Required: true}}}

// ports has the keys of a traffic's port numbers.
var ports = &document.Table{KeyNoun: "ports key", Doc: "first port numbers", Keys: []document.Key{
	{Name: "from", Form: numberForm, Doc: "port of the first flow that a host sends",
		Required: true, Example: portsExample},
	{Name: "to", Form: numberForm, Doc: "port of the first flow that a host receives",
		Required: true, Example: portsExample}}}

// sizes has the key of a custom distribution of flow sizes.
var sizes = &document.Table{KeyNoun: "sizes key", Doc: "sizes from a file", Keys: []document.Key{
	{Name: "file", Form: fileForm, Doc: "file with lines of bytes and cumulative percent", Required: true}}}

// sets has the keys of a traffic's repetitions.
var sets = &document.Table{KeyNoun: "sets key", Doc: "repetitions of the traffic", Keys: []document.Key{
	{Name: "count", Form: numberForm, Doc: "number of repetitions", Required: true},
	{Name: "interval", Form: timeForm, Doc: "time from one start to the next", Required: true}}}

// event has the keys of a link's event.
var event = &document.Table{KeyNoun: "event key", Doc: "an event", Keys: []document.Key{
	{Name: "at", Form: timeForm, Doc: "time of the event, from the beginning of the warm-up",
		Required: true, Example: eventExample},
	{Name: "link", Form: document.Pair("`[node, node]`"), Doc: "the two ends of the link",
		Required: true, Example: eventExample},
	{Name: "from", Form: document.Value("node"), Doc: "only the direction from this end; without it, both directions",
		Example: "from: s1"},
	{Name: "down", Form: document.OneOf("true", "false"), Doc: "`true`: the link goes down; `false`: it comes up",
		Example: "down: true, down: false, or rate: 5Gbps"},
	{Name: "rate", Form: rateForm, Doc: "new rate of the link, instead of `down`"},
	{Name: "enabled", Form: document.OneOf("true", "false"), Doc: "`false` disables the event",
		Default: "true", Source: "Weir"},
}}

const (
	portsExample = "{from: 32001, to: 42001}"
	eventExample = "{at: 5ms, link: [s1, s2], down: true}"
	stallExample = "{every: 2s, length: 2ms}"
)

// stalls has the keys of stalls of hosts.
var stalls = &document.Table{KeyNoun: "stalls key", Doc: "stalls of the simulator's hosts",
	Keys: []document.Key{
		{Name: "every", Form: timeForm, Doc: "mean time from one stall to the next",
			Required: true, Example: stallExample},
		{Name: "length", Form: timeForm, Doc: "duration of each stall; `0s`: no stalls",
			Required: true, Example: stallExample}}}

// iterations has the keys that define how a job's iterations follow each other.
var iterations = &document.Table{KeyNoun: "iterations key", Doc: "iterations of a job", Keys: []document.Key{
	{Name: "draws", Form: document.OneOf(drawsGoOn, drawsAnew), Doc: "random numbers of links, switches and messages; " +
		"`running`: they continue, so that iterations differ; `anew`: they restart with the same values whenever the " +
		"network is idle between two iterations", Default: drawsGoOn, Source: "Weir"},
	{Name: "repeat", Form: document.OneOf("true", "false"), Doc: "copy an iteration from the previous one, instead of " +
		"simulating it, if the whole state of the network recurs; this changes only the duration of a run",
		Default: "true", Source: "Weir"},
}}

// Values of draws.
const (
	drawsGoOn = "running"
	drawsAnew = "anew"
)
