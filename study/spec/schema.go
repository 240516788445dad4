package spec

import (
	"encoding/json"
	"sort"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/workload"
	"weir/study/measure"
)

// node is a part of a JSON schema.
type node map[string]any

// anyScalar is a plain value; a $key of the sweep can stand for any.
var anyScalar = []string{"string", "number", "boolean"}

func text(doc string) node { return node{"type": anyScalar, "description": doc} }

// mapOf is a map with these keys and no others.
func mapOf(doc string, properties node, required ...string) node {
	n := node{"type": "object", "description": doc, "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		n["required"] = required
	}
	return n
}

func listOf(doc string, items node) node {
	return node{"type": "array", "description": doc, "items": items}
}

// word is one of these, or a $key.
func word(doc string, words ...string) node {
	return node{"description": doc, "anyOf": []node{{"enum": words}, {"type": "string", "pattern": `^\$`}}}
}

// parameter is one parameter of a scheme.
func parameter(p *scheme.Param) node {
	doc := p.Doc + " (" + p.Source + ")"
	switch {
	case p.Kind == scheme.Map:
		return node{"type": "object", "description": doc}
	case len(p.Words) > 0:
		n := word(doc, p.Words...)
		n["default"] = p.Default
		return n
	}
	n := text(doc + "; " + p.Form())
	if p.Default != "" {
		n["default"] = p.Default
	}
	return n
}

// schemeObject are the parameters of a scheme as a map.
func schemeObject(s *scheme.Scheme) node {
	properties, required := node{}, []string{}
	for _, p := range s.Parameters() {
		properties[p.Name] = parameter(p)
		if p.Required {
			required = append(required, p.Name)
		}
	}
	return mapOf(s.Doc+" ("+s.Source+")", properties, required...)
}

// named is one of some schemes: its name, or its name with parameters.
func named(doc string, schemes []*scheme.Scheme, others ...string) node {
	names := append([]string{}, others...)
	properties := node{}
	for _, s := range schemes {
		names = append(names, s.Name)
		properties[s.Name] = schemeObject(s)
	}
	sort.Strings(names)
	n := word(doc, names...)
	n["anyOf"] = append(n["anyOf"].([]node), node{"type": "object", "properties": properties,
		"additionalProperties": false, "minProperties": 1, "maxProperties": 1})
	return n
}

// Schema is a JSON schema (draft 2020-12) of experiment files with this registry's
// schemes, for editors. It knows keys and words; what only decoding can tell (units,
// names of hosts, expressions) weir check says.
func (r *Registry) Schema() []byte {
	var programs, schedulers, transports, controllers []*scheme.Scheme
	for i := range r.Programs {
		programs = append(programs, &r.Programs[i].Scheme)
	}
	for i := range r.Schedulers {
		schedulers = append(schedulers, &r.Schedulers[i].Scheme)
	}
	for i := range r.Transports {
		transports = append(transports, &r.Transports[i].Scheme)
	}
	for i := range r.Controllers {
		controllers = append(controllers, &r.Controllers[i].Scheme)
	}
	var framings, sizes, measures []string
	for _, f := range packet.Framings {
		framings = append(framings, f.Name)
	}
	for _, d := range r.Workloads {
		sizes = append(sizes, d.Name)
	}
	measures = append(measures, measure.Names(r.Measures)...)
	names := node{"anyOf": []node{{"type": "string"}, {"type": "array", "items": node{"type": "string"}}}}
	pair := node{"type": "array", "items": node{"type": []string{"string", "integer"}}, "minItems": 2, "maxItems": 2}
	count := func(key, doc string) node { return mapOf(doc, node{key: text("how many")}, key) }

	topology := node{
		"hosts": listOf("names of hosts", node{"type": "string"}), "switches": listOf("names of switches",
			node{"type": "string"}),
		"links": listOf("links, in both directions", mapOf("a link", node{
			"ends": pair, "rate": text("such as 100Mbps, or 4170pps"), "delay": text("one way"),
			"buffer": text("limit of the switch ports at its ends: 24 packets, or 36kB"),
			"loss":   text("share of frames that are lost"), "jitter": text("largest delay added at random")}, "ends",
			"rate", "delay")),
		"file": text("beside the experiment"), "format": word("of the file", "hpcc", "htsim"),
		"rest": word("what the file has behind its last link", "ignored"),
	}
	for i := range r.Topologies {
		s := &r.Topologies[i].Scheme
		topology[s.Name] = schemeObject(s)
	}
	flow := node{
		"name": text("measures and claims use it"), "flows": text("flows a pair, or a sender"),
		"size": text("payload of a flow; none: no end"),
		"from": node{"description": "host, pattern, list of them, or {random: n}", "anyOf": []node{names,
			count("random", "so many hosts, drawn")}},
		"to": node{"description": "host, pattern, list of them, random, permutation, {random: n}, {stride: n}",
			"anyOf": []node{names, count("random", "so many hosts, drawn"), count("stride", "the host so many further on")}},
		"transport": named("how it is carried", transports), "cc": named("congestion controller", controllers),
		"sizes": node{"description": "distribution of sizes", "anyOf": []node{word("by name", sizes...),
			mapOf("of a file", node{"file": text("lines of bytes and cumulative percent")}, "file")}},
		"collective": word("all-reduce of hosts", workload.Collectives...),
		"hosts":      node{"description": "host, pattern, or list of them, of a collective", "anyOf": names["anyOf"]},
		"load":       text("share of the senders' links that is offered"), "arrivals": word("with load", "poisson",
			"periodic"),
		"payload": text("of a packet"), "start": text("a time, or low..high"), "stop": text("a time"),
		"tos": node{"description": "0 … 255, or one for each class of sizes: {0 B: 0x10, 100KB: 0x08}",
			"type": append([]string{"object"}, anyScalar...)},
		"sets": mapOf("all of the traffic begins so often, one interval after another", node{"count": text("how often"),
			"interval": text("a time")}, "count", "interval"), "ip": text("4 or 6"),
		"file": text("a flow file"), "format": word("of the file", "hpcc", "htsim"),
		"offset": text("subtracted from all starts"), "time_unit": text("what a .cm file's start counts"),
		"port": text("only the file's flows to this port"), "rest": word("what the file has behind its last flow", "ignored"),
	}
	for _, s := range transports { // parameters may stand beside the transport's name
		for _, p := range s.Parameters() {
			if flow[p.Name] == nil {
				flow[p.Name] = text(s.Name + ": " + p.Doc)
			}
		}
	}
	list := listOf("programs in their order; none is no program", named("a program", programs, "none"))
	measured := node{}
	for _, k := range r.Measures {
		options := node{}
		for _, key := range k.Keys {
			options[key] = node{}
		}
		measured[k.Name] = mapOf(k.Doc, options)
	}
	properties := node{
		"title": text("of the report"), "paper": mapOf("what it reproduces", node{"name": text("of the paper"),
			"figure": text("of the paper"), "source": text("of values that do not say theirs"),
			"values": listOf("numbers that the paper gives: measure, or measure.group, and value", node{"type": "object",
				"additionalProperties": text("a value with its unit"),
				"properties": node{"where": node{"description": "points that are meant"},
					"source": text("where in the paper")}})}),
		"duration": text("that is measured, after the warm-up"), "warmup": text("before measures begin"),
		"repeat": text("seeds a point"), "lab_repeat": text("seeds a point in the lab, if not as many"),
		"seed":    text("the first"),
		"framing": word("what a frame counts", framings...), "mtu": text("1500 B of IP, or 1448 B payload"),
		"topology":  mapOf("the network", topology),
		"addresses": node{"description": "flat, hierarchical, or prefixes by leaf of a fat tree"}, "switch": list,
		"switches": node{"type": "object", "description": "by name or pattern", "additionalProperties": mapOf("what differs",
			node{
				"programs": list, "buffer": text("limit of each port"), "queues": text("a port"),
				"queue_limit": text("of each queue"), "scheduler": named("of each port", schedulers),
				"recirculation": mapOf("port of its own", node{"rate": text("of it"), "queue": text("limit")}),
				"clock": mapOf("that telemetry is stamped with", node{"resolution": text("of its readings"),
					"offset": text("at time 0, such as 5us or -5us"), "drift": text("such as 20ppm")})})},
		"traffic": listOf("flows", mapOf("flows of one kind", flow, "name", "transport")),
		"events": listOf("what happens to links", mapOf("an event", node{"at": text("time"), "link": pair,
			"down": text("true or false"), "rate": text("new rate"),
			"enabled": text("true or false")}, "at", "link")),
		"stalls": mapOf("when the simulator's hosts stand still", node{"every": text("mean from one stall to the next"),
			"length": text("of each, 0s: there are none")}, "every", "length"),
		"sweep": node{"type": "object", "description": "key: [values], or key: {name: {what it puts into the file}}; " +
			"every combination is a point"},
		"quick": node{"type": "object", "description": "what --quick changes"},
		"measure": listOf("what is measured",
			node{"anyOf": []node{{"enum": measures}, {"type": "object", "properties": measured, "additionalProperties": false,
				"minProperties": 1, "maxProperties": 1}}}),
		"plot": listOf("plots", mapOf("a plot", node{"x": text("sweep key, time, flow_size, or with y: cdf a measure"),
			"y": text("measure, or cdf"),
			"lines": node{"description": "sweep keys, traffic", "anyOf": []node{{"type": "string"},
				{"type": "array", "items": node{"type": "string"}}}},
			"where": node{"description": "points that are shown"}, "log": word("logarithmic axes", "x", "y", "xy", "none")},
			"x", "y")),
		"expect": listOf("claims", mapOf("a claim", node{"id": text("its name"), "says": text("in words"),
			"that": text("expression"), "where": node{"description": "points that are meant"},
			"along": text("sweep key along which neighbours are compared")}, "id", "says", "that")),
	}
	root := mapOf("an experiment of Weir", properties, "duration", "topology", "traffic")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Weir experiment"
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // it is made of strings
	}
	return append(data, '\n')
}
