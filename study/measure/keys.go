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

// byKey returns the key `by`, which selects what values are grouped by. standard is its default.
func byKey(standard string, words ...string) Key {
	return Key{Name: "by", Form: document.OneOf(words...), Doc: "what it is given for", Default: standard, Source: "ours"}
}

// everyKey returns the key for the time between samples. standard is its default; "" for no default.
func everyKey(standard string) Key {
	k := Key{Name: "every", Form: document.Value("time"), Doc: "between samples", Default: standard, Source: "ours"}
	if standard == "" {
		k.Source, k.Without = "", "not over time"
	}
	return k
}

// EveryKey returns the key for the time between samples. standard is its default; "" for no default.
func EveryKey(standard string) Key { return everyKey(standard) }

// percentilesKey returns the key for the percentiles that a measure gives.
func percentilesKey(standard, source string) Key {
	k := Key{Name: "percentiles", Form: document.ListOf(document.Value("above 0, below 100"), "list of numbers"),
		Doc: "given beside the mean", Default: standard, Source: source}
	if standard == "" {
		k.Without = "none"
	}
	return k
}

// switchesKey returns the key for the switches that are measured.
func switchesKey() Key {
	return Key{Name: "switches", Form: document.Value("name or pattern"), Doc: "of which it is", Default: "*",
		Source: "ours"}
}

// binsKey returns the key for the number of parts into which flows are split by size.
func binsKey() Key {
	return Key{Name: "bins", Form: document.Value("number"), Doc: "parts of equally many flows, by size",
		Without: "not by size"}
}

// portKey returns the key for the port that is measured.
func portKey(example string) Key {
	return Key{Name: "port", Form: document.Value("`node->neighbour`"), Doc: "of which it is", Example: example}
}

// booleanKey returns a key that is true or false, false by default.
func booleanKey(name, doc string) Key {
	return Key{Name: name, Form: document.OneOf("true", "false"), Doc: doc, Default: "false", Source: "ours"}
}

// holdKey returns the key for the number of consecutive samples that have to be good.
func holdKey(standard string) Key {
	return Key{Name: "hold", Form: document.Value("number"), Doc: "samples one after another that have to be good",
		Default: standard, Source: "ours"}
}

// gaugeKeys returns the keys of a gauge: traffic, time between samples, number of flows.
func gaugeKeys() []Key {
	return []Key{{Name: "traffic", Form: document.Value("name"), Doc: "of whose flows it is", Without: "each"},
		everyKey("10ms"),
		{Name: "flows", Form: document.Value("number"), Doc: "the first so many of a traffic", Default: "8",
			Source: "ours"}}
}

// timeKey returns a key for a time in the measured part.
func timeKey(name, doc, without string) Key {
	return Key{Name: name, Form: document.Value("time"), Doc: doc, Without: without}
}

// reactionKeys returns the keys of reaction.
func reactionKeys() []Key {
	const example = "reaction: {after: 5ms, goodput: light}"
	after := timeKey("after", "when what it reacts to happens", "")
	after.Required, after.Example = true, example
	return []Key{after, timeKey("until", "when it must have reacted", "the end"),
		{Name: "goodput", Form: document.Value("traffic"), Doc: "what reacts; one of these three"},
		{Name: "throughput", Form: document.Value("`node->neighbour`"), Doc: "what reacts"},
		{Name: "queue", Form: document.Value("`switch->neighbour`"), Doc: "what reacts"},
		{Name: "to", Form: document.Value("rate, or packets of a queue"), Doc: "the target",
			Without: "its mean in the second half"},
		{Name: "within", Form: document.Value("share"), Doc: "of the target: the band", Default: "10%", Source: "ours"},
		holdKey("5"), everyKey("1ms")}
}

// reductionKeys returns the keys of reduction.
func reductionKeys() []Key {
	const example = "reduction: {port: s1->server, above: 10 packets}"
	return []Key{{Name: "traffic", Form: document.Value("name"), Doc: "of whose senders it is",
		Without: "all with a window"},
		timeKey("after", "from when on congestion counts", "the warm-up's end"), portKey(example),
		{Name: "above", Form: document.Value("packets or size"), Doc: "with port: queue that is congestion",
			Example: example},
		{Name: "by", Form: document.Value("share"), Doc: "of window or rate that a reduction takes", Default: "10%",
			Source: "ours"},
		{Name: "of", Form: document.OneOf("first", "all"), Doc: "whose reduction ends it", Default: "first",
			Source: "ours"},
		{Name: "gauge", Form: document.OneOf("window", "in_flight"), Doc: "what is reduced", Default: "window",
			Source: "ours"}}
}

// Table returns the table of the kind's options.
func (k *Definition) Table() *document.Table {
	return &document.Table{KeyNoun: k.Name + " key", Doc: k.Doc, Keys: k.Keys}
}
