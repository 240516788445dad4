package cli

import "strings"

// valid is the experiment that the cases below spoil.
const valid = `title: valid
duration: 200ms
topology:
  hosts: [client0, client1, server]
  switches: [s1, s2]
  links:
    - {ends: [client0, s1], rate: 100Mbps, delay: 1ms}
    - {ends: [client1, s1], rate: 100Mbps, delay: 1ms}
    - {ends: [s1, s2], rate: 10Mbps, delay: 1ms, buffer: 24 packets}
    - {ends: [s2, server], rate: 100Mbps, delay: 1ms}
switch: [forward]
traffic:
  - {name: heavy, from: client0, to: server, transport: udp, rate: $r, start: 0s}
  - {name: light, from: client1, to: server, transport: tcp, cc: cubic, size: 1MB, start: 0s}
sweep:
  r: [1Mbps, 2Mbps]
measure: [goodput, {queue: {port: s1->s2}}]
expect:
  - {id: more, says: heavy gets more, that: goodput.heavy > goodput.light}
`

// fromFiles is an experiment that reads its topology, flows and sizes from files.
const fromFiles = `title: from files
duration: 200ms
topology: {file: net.txt, format: hpcc}
switch: [ecmp]
traffic:
  - {name: list, file: list.flow, format: hpcc, transport: tcp}
  - {name: matrix, file: matrix.cm, format: htsim, time_unit: 1us, transport: tcp}
  - {name: drawn, from: "*", to: random, transport: tcp, sizes: {file: sizes.cdf}, load: 10%}
`

// files are the files that it names: hosts 0, 1 and 2 around switch 3.
var files = map[string]string{
	"net.txt":   "4 1 3\n3\n0 3 10Gbps 1us 0\n1 3 10Gbps 1us 0\n2 3 10Gbps 1us 0\n",
	"list.flow": "2\n0 1 3 100 20000 0.001\n1 2 3 100 20000 0.002\n",
	"matrix.cm": "Nodes 3\nConnections 2\n0->1 id 1 start 0 size 20000\n2->1 id 2 start 5 size 20000\n",
	"sizes.cdf": "0 0\n1000 50\n3000 100\n",
	"tree.topo": "Nodes 4\nTiers 2\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns " +
		"500\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nDownlink_Latency_ns 500\n",
}

// bad is one experiment file that is refused: valid, fromFiles or another text, with
// edits (old, new, …) of it and of the files that it names.
type bad struct {
	name  string
	text  string
	edits []string
	files map[string][]string // edits of a file; with one element it is the whole file
	run   string              // what is run, if not the experiment
	full  bool                // the golden file has the full text of its error
}

// wantFullTexts is the number of errors that the golden file has in full, at most one of a kind.
const wantFullTexts = 60

// fullText marks a case whose error the golden file has in full.
func fullText(b bad) bad {
	b.full = true
	return b
}

func in(text string, name string, edits ...string) bad {
	return bad{name: name, text: text, edits: edits}
}

// inFile spoils one of the files that fromFiles names.
func inFile(name, file string, edits ...string) bad {
	b := bad{name: name, text: fromFiles, files: map[string][]string{file: edits}}
	if file == "tree.topo" {
		b.edits = []string{"net.txt, format: hpcc", "tree.topo, format: htsim"}
	}
	return b
}

// ofNCF has switches with NCF and these parameters.
func ofNCF(name, params string) bad {
	return in(valid, name, "switch: [forward]",
		`switches: {"*": {queues: 3, scheduler: ncf, buffer: 200KB, programs: [forward, {ncf: {`+params+"}}]}}")
}

const megabytes = 10 << 20

// binary resembles a compressed file.
var binary = func() string {
	var b strings.Builder
	x := uint32(1)
	b.WriteString("\x1f\x8b\x08\x00")
	for range 2000 {
		x = x*1664525 + 1013904223
		b.WriteByte(byte(x >> 24))
	}
	return b.String()
}()

// Every entry of the list of bad input, by heading.
var badInput = []struct {
	heading string
	cases   []bad
}{
	{"no such host", []bad{
		fullText(in(valid, "from", "from: client0", "from: client7")),
		in(valid, "to", "to: server, transport: udp", "to: servre, transport: udp"),
		in(valid, "in a list", "to: server, transport: udp", "to: [server, sever], transport: udp"),
		in(valid, "a pattern that matches none", "from: client0", `from: "host*"`),
		fullText(in(valid, "a link's end", "[client1, s1]", "[clinet1, s1]")),
		in(valid, "an event's", "sweep:", "events: [{at: 1ms, link: [s1, s3], down: true}]\nsweep:"),
		fullText(in(valid, "a port's", "s1->s2", "s1->sever")),
		in(valid, "a switch's", "sweep:", "switches: {tor1: {queues: 2}}\nsweep:"),
		fullText(inFile("a flow file's", "list.flow", "1 2 3 100", "1 9 3 100")),
		inFile("a connection matrix's, of a larger network", "matrix.cm", "Nodes 3", "Nodes 9", "2->1", "2->8"),
		inFile("a connection matrix's, beyond its own", "matrix.cm", "2->1", "2->8"),
		inFile("a topology file's", "net.txt", "2 3 10Gbps", "2 7 10Gbps"),
	}},
	{"link to itself", []bad{
		fullText(in(valid, "written out", "[client1, s1]", "[client1, client1]")),
		fullText(inFile("in a file", "net.txt", "2 3 10Gbps", "2 2 10Gbps")),
		fullText(in(valid, "a traffic to itself", "to: server, transport: udp", "to: client0, transport: udp")),
		inFile("a flow to itself", "list.flow", "1 2 3 100", "1 1 3 100"),
		inFile("a connection to itself", "matrix.cm", "2->1", "2->2"),
	}},
	{"NCF", []bad{
		fullText(ofNCF("threshold, zero", "threshold: 0%")),
		ofNCF("threshold, more than everything", "threshold: 101%"),
		ofNCF("threshold, negative", "threshold: -5%"),
		ofNCF("windows, none", "windows: 0"),
		ofNCF("windows, too many", "windows: 16"),
		fullText(ofNCF("windows, of no time", "duration: 10ns")),
		fullText(ofNCF("reservations, over 100 %", "mice: 50%, reserve: 55%")),
		ofNCF("reservations, one over 100 %", "mice: 101%"),
		ofNCF("reservations, beyond the limit", "limit: 15%"),
		ofNCF("memory, below the reservations", "memory: 5KB"),
		ofNCF("memory, in packets", "memory: 9 packets, control: 20%"),
		fullText(in(valid, "memory, none", "switch: [forward]",
			`switches: {"*": {queues: 3, scheduler: ncf, programs: [forward, ncf]}}`)),
		fullText(ofNCF("congestion, ends before it begins", "congested: 40%")),
		ofNCF("sketch, exact", "epsilon: 0%"),
		ofNCF("scheduler, guarantees over 100 %", "}}]}, s1: {scheduler: {ncf: {mice: 60%, elephants: 60%}}, programs: "+
			"[forward, {ncf: {"),
	}},
	{"rate", []bad{
		fullText(in(valid, "of a link, zero", "rate: 10Mbps", "rate: 0Mbps")),
		fullText(in(valid, "of a link, negative", "rate: 10Mbps", "rate: -10Mbps")),
		fullText(in(valid, "of a link, overflowing", "rate: 10Mbps", "rate: 99999999Tbps")),
		fullText(in(valid, "of a link, below the smallest unit", "rate: 10Mbps", "rate: 0.5bps")),
		fullText(in(valid, "of a link, without unit", "rate: 10Mbps", "rate: 10")),
		fullText(in(valid, "of a link, another unit", "rate: 10Mbps", "rate: 10MB")),
		in(valid, "of a link, in packets, zero", "rate: 10Mbps", "rate: 0pps"),
		in(valid, "of a link, in packets, overflowing", "rate: 10Mbps", "rate: 99999999999999Mpps"),
		fullText(in(valid, "of a link, a list", "rate: 10Mbps", "rate: [10Mbps]")),
		in(valid, "of a traffic, zero", "rate: $r", "rate: 0bps", "sweep:\n  r: [1Mbps, 2Mbps]\n", ""),
		in(valid, "of a traffic, negative", "rate: $r", "rate: -1Mbps", "sweep:\n  r: [1Mbps, 2Mbps]\n", ""),
		in(valid, "of a traffic, overflowing", "rate: $r", "rate: 10000000000000000000bps", "sweep:\n  r: [1Mbps, 2Mbps]\n",
			""),
		fullText(in(valid, "of a sweep, zero", "[1Mbps, 2Mbps]", "[1Mbps, 0Mbps]")),
		in(valid, "of a sweep, negative", "[1Mbps, 2Mbps]", "[-1Mbps, 2Mbps]"),
		in(valid, "of a sweep, overflowing", "[1Mbps, 2Mbps]", "[1Mbps, 99999999Tbps]"),
		in(valid, "of an event, zero", "sweep:", "events: [{at: 1ms, link: [s1, s2], rate: 0bps}]\nsweep:"),
		in(valid, "of an event, negative", "sweep:", "events: [{at: 1ms, link: [s1, s2], rate: -1bps}]\nsweep:"),
		in(valid, "of an event, overflowing", "sweep:", "events: [{at: 1ms, link: [s1, s2], rate: 10000000000Gbps}]\nsweep:"),
		in(valid, "of a recirculation port, zero", "sweep:", "switches: {s1: {recirculation: {rate: 0bps}}}\nsweep:"),
		in(family, "of a family, zero", "rate: 10Gbps", "rate: 0Gbps"),
		in(family, "of a family, negative", "rate: 10Gbps", "rate: -10Gbps"),
		in(family, "of a family, overflowing", "rate: 10Gbps", "rate: 10000000000Gbps"),
		inFile("of a topology file, zero", "net.txt", "0 3 10Gbps", "0 3 0Gbps"),
		inFile("of a topology file, negative", "net.txt", "0 3 10Gbps", "0 3 -10Gbps"),
		inFile("of a topology file, overflowing", "net.txt", "0 3 10Gbps", "0 3 10000000000Gbps"),
		inFile("of a .topo file, zero", "tree.topo", "speed_Gbps 100\nRadix_Down 2\nRadix_Up",
			"speed_Gbps 0\nRadix_Down 2\nRadix_Up"),
		inFile("of a .topo file, negative", "tree.topo", "speed_Gbps 100\nRadix_Down 2\nRadix_Up",
			"speed_Gbps -1\nRadix_Down 2\nRadix_Up"),
		inFile("of a .topo file, overflowing", "tree.topo", "speed_Gbps 100\nRadix_Down 2\nRadix_Up",
			"speed_Gbps 99999999999999999999\nRadix_Down 2\nRadix_Up"),
		fullText(in(family, "a load, zero", "load: 10%", "load: 0%")),
		in(family, "a load, negative", "load: 10%", "load: -10%"),
		in(family, "a load, overflowing", "load: 10%", "load: 1000001%"),
	}},
	{"size", []bad{
		fullText(in(valid, "of flows, zero", "size: 1MB", "size: 0B")),
		in(valid, "of flows, negative", "size: 1MB", "size: -1MB"),
		in(valid, "of flows, overflowing", "size: 1MB", "size: 10000000TB"),
		in(valid, "of flows, below a byte", "size: 1MB", "size: 0.5B"),
		in(valid, "of flows, without unit", "size: 1MB", "size: 1000"),
		in(valid, "of payload, zero", "size: 1MB", "payload: 0B"),
		in(valid, "of payload, negative", "size: 1MB", "payload: -1B"),
		in(valid, "of payload, overflowing", "size: 1MB", "payload: 65536B"),
		fullText(in(valid, "mtu, zero", "duration:", "mtu: 0B\nduration:")),
		in(valid, "mtu, negative", "duration:", "mtu: -1500B\nduration:"),
		in(valid, "mtu, overflowing", "duration:", "mtu: 65536B\nduration:"),
		in(valid, "mtu of payload, zero", "duration:", "mtu: 0B payload\nduration:"),
		fullText(inFile("of a flow file, zero", "list.flow", "20000 0.001", "0 0.001")),
		inFile("of a flow file, negative", "list.flow", "20000 0.001", "-1 0.001"),
		inFile("of a flow file, overflowing", "list.flow", "20000 0.001", "99999999999999999999 0.001"),
		inFile("of a connection matrix, zero", "matrix.cm", "0 size 20000", "0 size 0"),
		inFile("of a connection matrix, negative", "matrix.cm", "0 size 20000", "0 size -1"),
		inFile("of a connection matrix, overflowing", "matrix.cm", "0 size 20000", "0 size 99999999999999999999"),
		fullText(inFile("of a distribution, negative", "sizes.cdf", "1000 50", "-1000 50")),
		inFile("of a distribution, overflowing", "sizes.cdf", "3000 100", "9999999999999999 100"),
		inFile("of a distribution, overflowing a float", "sizes.cdf", "3000 100", strings.Repeat("9", 400)+" 100"),
	}},
	{"repeat", append([]bad{
		fullText(in(valid, "zero", "duration:", "repeat: 0\nduration:")),
		in(valid, "in the lab, zero", "duration:", "lab_repeat: 0\nduration:"),
		fullText(in(valid, "in the lab, a block of a sweep", "r: [1Mbps, 2Mbps]",
			"r: [1Mbps, 2Mbps]\n  n: {few: {lab_repeat: 1}}")),
	}, wrongNeeds...)},
	{"time", []bad{
		fullText(in(valid, "duration, zero", "duration: 200ms", "duration: 0s")),
		in(valid, "duration, negative", "duration: 200ms", "duration: -1s"),
		in(valid, "duration, overflowing", "duration: 200ms", "duration: 3000h"),
		fullText(in(valid, "duration and warmup, overflowing", "duration: 200ms", "duration: 2000h\nwarmup: 2000h")),
		in(valid, "delay, negative", "rate: 10Mbps, delay: 1ms", "rate: 10Mbps, delay: -1ms"),
		in(valid, "delay, overflowing", "rate: 10Mbps, delay: 1ms", "rate: 10Mbps, delay: 3000h"),
		in(valid, "delay, below a picosecond", "rate: 10Mbps, delay: 1ms", "rate: 10Mbps, delay: 0.5ps"),
	}},
	{"buffer below one packet", []bad{
		fullText(in(valid, "in packets", "24 packets", "0 packets")),
		fullText(in(valid, "half a packet", "24 packets", "0.5 packets")),
		fullText(in(valid, "in bytes", "24 packets", "1kB")),
		in(valid, "no bytes", "24 packets", "0B"),
		in(valid, "negative", "24 packets", "-24 packets"),
		in(valid, "overflowing", "24 packets", "9999999999 packets"),
		in(valid, "without unit", "24 packets", "24"),
		in(valid, "of a switch", "sweep:", "switches: {s1: {buffer: 1513B}}\nsweep:"),
		in(valid, "of a queue", "sweep:", "switches: {s1: {queue_limit: 1513B}}\nsweep:"),
		in(valid, "of a recirculation port", "sweep:",
			"switches: {s1: {recirculation: {rate: 1Gbps, queue: 0 packets}}}\nsweep:"),
		in(family, "of a family", "delay: 1us", "delay: 1us, buffer: 100B"),
	}},
	{"unknown scheme", []bad{
		fullText(in(valid, "program", "[forward]", "[foward]")),
		in(valid, "program with parameters", "[forward]", "[forward, {abd: {gamma: 16 packets}}]"),
		in(valid, "scheduler", "sweep:", "switches: {s1: {queues: 2, scheduler: strit}}\nsweep:"),
		in(valid, "transport", "transport: udp", "transport: utp"),
		in(valid, "congestion controller", "cc: cubic", "cc: cubik"),
		fullText(in(valid, "congestion controller of a transport without", "transport: udp", "transport: udp, cc: cubic")),
		in(family, "topology", "leaf_spine", "leafspine"),
		in(valid, "framing", "duration:", "framing: L2\nduration:"),
		in(family, "sizes", "websearch", "web_search"),
		in(valid, "measure", "[goodput,", "[godput,"),
		in(fromFiles, "format of a topology", "format: hpcc}", "format: hpc}"),
		in(fromFiles, "format of flows", "format: htsim", "format: ht-sim"),
	}},
	{"unknown key", []bad{
		fullText(in(valid, "at the top", "duration:", "duraton:")),
		in(valid, "at the top, beside", "title: valid", "titel: valid"),
		in(valid, "of a topology", "switches: [s1, s2]", "swiches: [s1, s2]"),
		in(valid, "of a link", "buffer: 24 packets", "bufer: 24 packets"),
		in(family, "beside a family", "topology: {leaf", "topology: {links: [], leaf"),
		fullText(in(valid, "of a traffic", "from: client0", "form: client0")),
		in(valid, "parameter of a transport", "rate: $r", "rat: $r"),
		in(valid, "parameter of a program", "[forward]", "[forward, {abc: {gama: 16 packets}}]"),
		in(valid, "parameter of a controller", "cc: cubic", "cc: {cubic: {varant: linux}}"),
		in(valid, "of a switch", "sweep:", "switches: {s1: {queue: 2}}\nsweep:"),
		in(valid, "of an event", "sweep:", "events: [{at: 1ms, link: [s1, s2], dwon: true}]\nsweep:"),
		in(valid, "of a measure", "port: s1->s2", "prt: s1->s2"),
		in(valid, "of a claim", "says:", "say:"),
		in(valid, "of a claim's where", "says: heavy", "where: {rate: 1Mbps}, says: heavy"),
		in(valid, "of a plot", "expect:", "plot: [{x: r, y: goodput, line: [r]}]\nexpect:"),
		in(valid, "of quick", "expect:", "quick: {repat: 1}\nexpect:"),
		in(valid, "of paper", "title:", "paper: {nam: x}\ntitle:"),
		in(valid, "of a sweep's block", "  r: [1Mbps, 2Mbps]",
			"  r: [1Mbps, 2Mbps]\n  scheme: {a: {swich: [forward]}, b: {switch: [ecmp]}}"),
		fullText(in(valid, "a $key", "rate: $r", "rate: $rr")),
		in(family, "parameter of a topology", "spines: 2", "spine: 2"),
		inFile("of a .topo file", "tree.topo", "Tiers", "Teirs"),
		inFile("of a .topo file's tier", "tree.topo", "Radix_Up", "Radix_Upp"),
		inFile("of a connection matrix", "matrix.cm", "start 5", "strat 5"),
	}},
	{"a key of files without a file", []bad{
		fullText(in(valid, "format of a topology", "topology:\n", "topology:\n  format: hpcc\n")),
		in(valid, "rest of a topology", "topology:\n", "topology:\n  rest: ignored\n"),
		in(valid, "format of flows", "transport: udp,", "format: hpcc, transport: udp,"),
		in(valid, "rest of flows", "transport: udp,", "rest: ignored, transport: udp,"),
	}},
	{"duplicate names", []bad{
		fullText(in(valid, "hosts", "[client0, client1, server]", "[client0, client1, server, client0]")),
		in(valid, "a switch named as a host", "[s1, s2]", "[s1, s2, server]"),
		in(valid, "traffics", "name: light", "name: heavy"),
		fullText(in(valid, "keys", "switch: [forward]", "switch: [forward]\nduration: 1s")),
		in(valid, "keys in a line", "from: client0", "from: client0, from: client1"),
		fullText(in(valid, "links", "[client1, s1]", "[s1, client0]")),
		in(valid, "claims", "  - {id: more", "  - {id: more, says: x, that: goodput.heavy > 0}\n  - {id: more"),
		fullText(in(valid, "values of a sweep", "[1Mbps, 2Mbps]", "[1Mbps, 1Mbps]")),
		in(valid, "measures", "[goodput,", "[goodput, goodput,"),
		inFile("switches of a file", "net.txt", "4 1 3\n3\n", "4 2 3\n3 3\n"),
		inFile("links of a file", "net.txt", "2 3 10Gbps", "1 3 10Gbps"),
		fullText(inFile("keys of a tier", "tree.topo", "Radix_Up 2", "Radix_Down 2")),
		inFile("keys of a connection", "matrix.cm", "id 2", "id 2 id 3"),
		inFile("keys above the tiers", "tree.topo", "Tiers 2", "Tiers 2\nTiers 3"),
	}},
	{"a sweep over a key that nothing uses", []bad{
		fullText(in(valid, "beside one that is used", "  r: [1Mbps, 2Mbps]", "  r: [1Mbps, 2Mbps]\n  n: [1, 2]")),
		in(valid, "alone", "rate: $r", "rate: 1Mbps"),
		in(valid, "one value", "  r: [1Mbps, 2Mbps]", "  r: [1Mbps, 2Mbps]\n  n: 1"),
	}},
	{"unreachable hosts", []bad{
		fullText(in(valid, "no link between the switches",
			"    - {ends: [s1, s2], rate: 10Mbps, delay: 1ms, buffer: 24 packets}\n", "", "port: s1->s2",
			"port: s2->server")),
		in(valid, "a host without link", "    - {ends: [client1, s1], rate: 100Mbps, delay: 1ms}\n", ""),
		in(valid, "drawn", "    - {ends: [s1, s2], rate: 10Mbps, delay: 1ms, buffer: 24 packets}\n", "", "port: s1->s2",
			"port: s2->server",
			"from: client1, to: server", `from: "*", to: random`, "from: client0, to: server", "from: client0, to: client1"),
		inFile("in a flow file", "net.txt", "4 1 3\n", "4 1 2\n", "2 3 10Gbps 1us 0\n", ""),
	}},
	{"a distribution of sizes", []bad{
		fullText(inFile("decreases", "sizes.cdf", "1000 50\n", "1000 50\n2000 40\n")),
		inFile("sizes decrease", "sizes.cdf", "1000 50\n", "1000 50\n500 60\n"),
		fullText(inFile("misses 100", "sizes.cdf", "3000 100\n", "3000 99.9\n")),
		inFile("goes beyond 100", "sizes.cdf", "3000 100\n", "3000 101\n"),
		inFile("has a word", "sizes.cdf", "1000 50", "1kB 50"),
		inFile("has three columns", "sizes.cdf", "1000 50", "1000 1 50"),
		inFile("cut in a line", "sizes.cdf", "1000 50\n3000 100\n", "1000"),
		inFile("goes on after 100", "sizes.cdf", "3000 100\n", "3000 100\n4000 100\n1\n"),
	}},
	{"truncated", []bad{
		inFile("topology, in the first line", "net.txt", files["net.txt"][:4]),
		inFile("topology, in the switches", "net.txt", "4 1 3\n"),
		inFile("topology, in a link", "net.txt", "4 1 3\n3\n0 3 10Gbps 1us 0\n1 3 10Gb"),
		inFile("topology, after a link", "net.txt", "4 1 3\n3\n0 3 10Gbps 1us 0\n1 3 10Gbps 1us 0\n"),
		inFile(".topo, in a line", "tree.topo", "Nodes 4\nTiers"),
		inFile(".topo, before the tiers", "tree.topo", "Nodes 4\nTiers 2\n"),
		inFile(".topo, in a tier", "tree.topo", "Nodes 4\nTiers 2\nTier 0\nDownlink_speed_Gbps 100\n"),
		inFile(".topo, after a tier", "tree.topo", strings.Split(files["tree.topo"], "Tier 1")[0]),
		inFile(".topo, in the last tier", "tree.topo", strings.Split(files["tree.topo"], "Tier 1")[0]+"Tier 1\n"),
		fullText(inFile("flows, in a line", "list.flow", "2\n0 1 3 100 20000 0.001\n1 2 3 1")),
		inFile("flows, after a line", "list.flow", "2\n0 1 3 100 20000 0.001\n"),
		inFile("flows, after the first line", "list.flow", "2\n"),
		inFile("connections, in a line", "matrix.cm", "Nodes 3\nConnections 2\n0->1 id 1 start"),
		inFile("connections, between a key and its value", "matrix.cm", "Nodes 3\nConnections 2\n0->1 id 1 start 0"),
		inFile("connections, after a line", "matrix.cm", "Nodes 3\nConnections 2\n0->1 id 1 start 0 size 20000\n"),
		inFile("connections, after the first line", "matrix.cm", "Nodes 3\n"),
		fullText(in(valid[:strings.Index(valid, ", delay: 1ms, buffer")], "the experiment, in a line")),
		fullText(in(valid[:strings.Index(valid, "traffic:")], "the experiment, after a block")),
	}},
	{"a flow to a switch", []bad{
		fullText(in(valid, "in the experiment", "to: server, transport: udp", "to: s2, transport: udp")),
		in(valid, "from one", "from: client0", "from: s1"),
		inFile("in a flow file", "list.flow", "1 2 3 100", "1 3 3 100"),
		inFile("from one, in a flow file", "list.flow", "1 2 3 100", "3 2 3 100"),
		inFile("in a connection matrix", "matrix.cm", "2->1", "2->3"),
		inFile("from one, in a connection matrix", "matrix.cm", "2->1", "3->1"),
	}},
	{"start times", []bad{
		fullText(inFile("out of order", "list.flow", "20000 0.002", "20000 0.0005")),
		inFile("negative", "list.flow", "20000 0.002", "20000 -0.002"),
		inFile("overflowing", "list.flow", "20000 0.002", "20000 99999999999"),
		in(fromFiles, "before the offset", "list.flow, format: hpcc", "list.flow, format: hpcc, offset: 1500us"),
		fullText(in(valid, "a range that is reversed",
			"start: 0s}\n  - {name: light", "start: 20ms..10ms}\n  - {name: light")),
		in(valid, "after the end", "start: 0s}\n  - {name: light", "start: 200ms}\n  - {name: light"),
		in(valid, "after the stop", "start: 0s}\n  - {name: light", "start: 100ms, stop: 50ms}\n  - {name: light"),
		inFile("negative, in a connection matrix", "matrix.cm", "start 5", "start -5"),
		inFile("overflowing, in a connection matrix", "matrix.cm", "start 5", "start 99999999999999999"),
	}},
	{"an empty file", []bad{
		fullText(in("", "the experiment")),
		in("\n\n# nothing yet\n", "the experiment, but for a comment"),
		in("---\n", "the experiment, but for a line of hyphens"),
		inFile("topology", "net.txt", ""),
		inFile(".topo", "tree.topo", ""),
		inFile("flows", "list.flow", ""),
		inFile("connections", "matrix.cm", ""),
		inFile("sizes", "sizes.cdf", ""),
		inFile("flows, but for empty lines", "list.flow", "\n\n\n"),
	}},
	{"a file of 10 MB", []bad{
		fullText(in(strings.Repeat("x", megabytes), "the experiment, one word")),
		in(valid+strings.Repeat("# the same line again and again\n", megabytes/32), "the experiment, comments"),
		in(valid+"events:\n"+strings.Repeat("  - {at: 1ms, link: [s1, s2], down: true}\n", megabytes/43),
			"the experiment, a list"),
		in(strings.Repeat("[", megabytes), "the experiment, brackets"),
		inFile("topology, one word", "net.txt", strings.Repeat("x", megabytes)),
		inFile("topology, lines of numbers", "net.txt", strings.Repeat("7 7 7\n", megabytes/6)),
		inFile("topology, more than it announces", "net.txt", files["net.txt"]+strings.Repeat("0 3 10Gbps 1us 0\n",
			megabytes/17)),
		inFile(".topo, one word", "tree.topo", strings.Repeat("x", megabytes)),
		inFile(".topo, tiers", "tree.topo", strings.Repeat("Tier 0\n", megabytes/7)),
		inFile("flows, one word", "list.flow", strings.Repeat("7", megabytes)),
		inFile("flows, lines of numbers", "list.flow", strings.Repeat("7\n", megabytes/2)),
		inFile("connections, one word", "matrix.cm", strings.Repeat("x", megabytes)),
		inFile("connections, lines", "matrix.cm", "Nodes 3\nConnections 2\n"+strings.Repeat("0->1 start 0 size 20000\n",
			megabytes/29)),
		inFile("sizes, one word", "sizes.cdf", strings.Repeat("1", megabytes)),
		inFile("sizes, lines", "sizes.cdf", strings.Repeat("0 0\n", megabytes/4)),
	}},
	{"a binary file", []bad{
		fullText(in(binary, "the experiment")),
		in("\xff\xfe"+strings.Join(strings.Split(valid, ""), "\x00")+"\x00", "the experiment in UTF-16"),
		in(strings.Replace(valid, "valid", "va\x00lid", 1), "the experiment with a zero byte"),
		in(strings.Replace(valid, "client1, server]", "\xffclient1, server]", 1),
			"the experiment with a byte that is not UTF-8"),
		inFile("topology", "net.txt", binary),
		inFile(".topo", "tree.topo", binary),
		inFile("flows", "list.flow", binary),
		inFile("connections", "matrix.cm", binary),
		inFile("sizes", "sizes.cdf", binary),
		inFile("flows, escape sequences of a terminal", "list.flow", "2\n\x1b[31m0 1 3 100 20000 0.001\n"),
	}},
	{"a file that cannot be read", []bad{
		fullText(in(fromFiles, "topology", "net.txt", "ent.txt")),
		in(fromFiles, "flows", "list.flow", "folder"),
		in(fromFiles, "sizes", "sizes.cdf", "nowhere/sizes.cdf"),
		fullText(bad{name: "the experiment is not there", text: valid, run: "good.yaml"}),
		{name: "the experiment is a folder", text: valid, run: "folder"},
		{name: "the experiment is below a file", text: valid, run: "bad.yaml/good.yaml"},
	}},
	{"P4TE", []bad{
		in(tree, "no fat tree", "topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 2,",
			"topology: {parking_lot: {hops: 3, bottleneck: 10Gbps,"),
		in(tree, "no fat tree, flat", "addresses: hierarchical\ntopology: {leaf_spine: {leaves: 2, spines: 2, hosts: 2,",
			"topology: {parking_lot: {hops: 3, bottleneck: 10Gbps,"),
		in(tree, "flat addresses", "addresses: hierarchical\n", ""),
		fullText(in(tree, "prefixes that overlap", "hierarchical", `{leaf0: "2001:db8::/64", leaf1: "2001:db8::/96"}`)),
		in(tree, "a prefix that is too small", "hierarchical", `{leaf0: "2001:db8::/128", leaf1: "2001:db8:1::/96"}`),
		in(tree, "no groups", "switch: [p4te]", "switch: [{p4te: {depth_groups: 0}}]"),
		in(tree, "no room for events", "switch: [p4te]", "switch: [{p4te: {control_queue: 0}}]"),
		in(tree, "no delta of the depth", "switch: [p4te]", "switch: [{p4te: {depth_delta: -1 packets}}]"),
		in(tree, "no delta of the delay", "switch: [p4te]", "switch: [{p4te: {delay_delta: 1ps}}]"),
		in(tree, "a class without a rate", "switch: [p4te]", "switch: [{p4te: {safe_low_delay: 0%}}]"),
		in(tree, "committed above peak", "switch: [p4te]", "switch: [{p4te: {committed: 95%}}]"),
		in(tree, "a class that is none", "switch: [p4te]", "switch: [{p4te: {classes: {0x10: fast}}}]"),
		in(tree, "two TOS of one code point", "switch: [p4te]",
			"switch: [{p4te: {classes: {0x10: low_delay, 0x11: high_throughput}}}]"),
		in(tree, "a TOS that is none", "switch: [p4te]", "switch: [{p4te: {classes: {low: low_delay}}}]"),
		in(tree, "too many bytes", "switch: [p4te]", "switch: [{p4te: {bytes: 1GB}}]"),
		in(tree, "a window that loses all", "switch: [p4te]", "switch: [{p4te: {lower: 0}}]"),
		in(tree, "no cells", "switch: [p4te]", "switch: [{p4te: {flows: 0}}]"),
		in(tree, "a mode that is none", "switch: [p4te]", "switch: [{p4te: {rate: lastack}}]"),
	}},
	{"an expect that names no measure", []bad{
		fullText(in(valid, "a slip", "goodput.heavy >", "goodputt.heavy >")),
		in(valid, "a measure that is not measured", "goodput.heavy >", "jain >"),
		in(valid, "a traffic that is not there", "goodput.heavy >", "goodput.heav >"),
		in(valid, "a measure without its group", "goodput.heavy >", "goodput >"),
		in(valid, "no measure at all", "goodput.heavy > goodput.light", "1 > 0"),
		in(valid, "in quotes", "that: goodput.heavy > goodput.light", `that: "goodput.heavy > 0.5 * throughput"`),
		in(valid, "of another point", "that: goodput.heavy > goodput.light",
			"that: \"goodput.heavy > point(r='1Mbps').gootput.heavy\""),
		in(valid, "nothing", "that: goodput.heavy > goodput.light", `that: ""`),
		in(valid, "a plot's", "expect:", "plot: [{x: r, y: goodputs}]\nexpect:"),
	}},
}

// family is an experiment on a generated network.
const family = `title: family
duration: 10ms
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 2, rate: 10Gbps, delay: 1us}}
switch: [ecmp]
traffic:
  - {name: web, from: "*", to: random, transport: tcp, sizes: websearch, load: 10%}
`

const tree = `title: tree
duration: 10ms
addresses: hierarchical
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 2, rate: 10Gbps, delay: 1us}}
switch: [p4te]
traffic:
  - {name: web, from: "*", to: random, transport: tcp, sizes: websearch, load: 10%}
`
