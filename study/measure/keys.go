package measure

import "weir/internal/document"

// Key declares one option of a kind of measure. It is the name of document.Key for modules of others, which cannot
// import package document. Its fields:
//
//	Name     string
//	Form     Form   // its values: Form{Text: "rate"}, for example
//	Doc      string // what it is, in a line
//	Default  string // what is filled in if the file lacks it; a list in brackets
//	Source   string // of the default
//	Cases    []document.Case // defaults that replace it: When, Default, Source
//	Without  string // what holds without the key, if no default is filled in
//	Required bool
//	Example  string // what an error shows if it is missing
//	Traits   document.Trait // of Weir's own readers; 0 for a measure
type Key = document.Key

// Form describes the values of an option. It is the name of document.Form for modules of others. A plain value needs
// only Text, as the reference prints it: a rate, a name. The other fields are for lists of words, lists, maps, choices,
// and schemes:
//
//	Shape document.Shape // of Words, Items, Table or Any; 0: a plain value
//	Text  string
//	Words []string
//	Table *document.Table
//	Items *Form  // of a list, or of a map with names for keys
//	Any   []Form // of a choice
//	SchemeKind string // kind of scheme: program, transport, …
//	Extra string // a word that is allowed in addition to the schemes' names
type Form = document.Form

// byKey returns the key `by`, which selects what values are grouped by. standard is its default; words are all its
// values.
func byKey(standard string, words ...string) Key {
	return Key{Name: "by", Form: document.OneOf(words...), Doc: "grouping of the values",
		Default: standard, Source: "Weir"}
}

// everyKey returns the key for the time between samples. standard is its default; "" for no default: then the quantity
// is not recorded over time.
func everyKey(standard string) Key {
	k := Key{Name: "every", Form: document.Value("time"), Doc: "time between samples", Default: standard, Source: "Weir"}
	if standard == "" {
		k.Source, k.Without = "", "not over time"
	}
	return k
}

// EveryKey returns the key for the time between samples. standard is its default; "" for no default: then the quantity
// is not recorded over time. Options.ReadEvery reads it.
func EveryKey(standard string) Key { return everyKey(standard) }

// percentilesKey returns the key for the percentiles that a measure gives. standard is its default, a list in brackets;
// "": no percentiles. source is the default's source.
func percentilesKey(standard, source string) Key {
	k := Key{Name: "percentiles", Form: document.ListOf(document.Value("above 0, below 100"), "list of numbers"),
		Doc: "percentiles in addition to the mean", Default: standard, Source: source}
	if standard == "" {
		k.Without = "none"
	}
	return k
}

// switchesKey returns the key for the switches that are measured.
func switchesKey() Key {
	return Key{Name: "switches", Form: document.Value("name or pattern"), Doc: "switches to measure", Default: "*",
		Source: "Weir"}
}

// binsKey returns the key for the number of parts into which flows are split by size.
func binsKey() Key {
	return Key{Name: "bins", Form: document.Value("number"), Doc: "number of groups of flows by size, each with the " +
		"same number of flows",
		Without: "no groups by size"}
}

// portKey returns the key for the port that is measured.
func portKey(example string) Key {
	return Key{Name: "port", Form: document.Value("`node->neighbour`"), Doc: "port to measure", Example: example}
}

// booleanKey returns a key that is true or false, false by default.
func booleanKey(name, doc string) Key {
	return Key{Name: name, Form: document.OneOf("true", "false"), Doc: doc, Default: "false", Source: "Weir"}
}

// holdKey returns the key for the number of consecutive samples that have to be good.
func holdKey(standard string) Key {
	return Key{Name: "hold", Form: document.Value("number"), Doc: "number of consecutive samples that must meet the " +
		"condition",
		Default: standard, Source: "Weir"}
}

// gaugeKeys returns the keys of a gauge: traffic, time between samples, number of flows.
func gaugeKeys() []Key {
	return []Key{{Name: "traffic", Form: document.Value("name"), Doc: "traffic with the flows to measure",
		Without: "each"},
		everyKey("10ms"),
		{Name: "flows", Form: document.Value("number"), Doc: "number of first flows of a traffic to measure", Default: "8",
			Source: "Weir"}}
}

// timeKey returns a key for a time in the measured part. without describes what holds if it is missing.
func timeKey(name, doc, without string) Key {
	return Key{Name: name, Form: document.Value("time"), Doc: doc, Without: without}
}

// reactionKeys returns the keys of reaction.
func reactionKeys() []Key {
	const example = "reaction: {after: 5ms, goodput: light}"
	after := timeKey("after", "time of the change that causes the reaction", "")
	after.Required, after.Example = true, example
	return []Key{after, timeKey("until", "time until which the reaction must be complete", "the end of the run"),
		{Name: "goodput", Form: document.Value("traffic"), Doc: "traffic with the goodput that reacts; exactly one of " +
			"goodput, throughput and queue"},
		{Name: "throughput", Form: document.Value("`node->neighbour`"), Doc: "port with the throughput that reacts"},
		{Name: "queue", Form: document.Value("`switch->neighbour`"), Doc: "port with the queue that reacts"},
		{Name: "to", Form: document.Value("rate, or packets of a queue"), Doc: "target value",
			Without: "its mean in the second half of the measured time"},
		{Name: "within", Form: document.Value("share"), Doc: "half-width of the band around the target",
			Default: "10%", Source: "Weir"},
		holdKey("5"), everyKey("1ms")}
}

// reductionKeys returns the keys of reduction.
func reductionKeys() []Key {
	const example = "reduction: {port: s1->server, above: 10 packets}"
	return []Key{{Name: "traffic", Form: document.Value("name"), Doc: "traffic with the senders to measure",
		Without: "all traffics with a window"},
		timeKey("after", "time from which on congestion counts", "the end of the warm-up"), portKey(example),
		{Name: "above", Form: document.Value("packets or size"), Doc: "with port: queue length from which on the port " +
			"is congested",
			Example: example},
		{Name: "by", Form: document.Value("share"), Doc: "share of window or rate by which it must be reduced",
			Default: "10%",
			Source:  "Weir"},
		{Name: "of", Form: document.OneOf("first", "all"), Doc: "senders that must have reduced: the first one or all",
			Default: "first",
			Source:  "Weir"},
		{Name: "gauge", Form: document.OneOf("window", "in_flight"), Doc: "quantity that is reduced", Default: "window",
			Source: "Weir"}}
}

// Table returns the table of the kind's options.
func (k *Definition) Table() *document.Table {
	return &document.Table{KeyNoun: k.Name + " key", Doc: k.Doc, Keys: k.Keys}
}
