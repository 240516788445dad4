package measure

import "weir/internal/document"

// Key declares one option of a kind of measure. It is the name of document.Key for modules of others, which cannot
// import package document. Its fields:
//
//	Name     string
//	Form     Form   // what it holds: Form{Text: "rate"}, say
//	Doc      string // what it is, in a line
//	Default  string // what is filled in if the file lacks it; a list in brackets
//	Source   string // of the default
//	Cases    []document.Case // defaults that replace it: When, Default, Source
//	Without  string // what holds without the key, if no default is filled in
//	Required bool
//	Example  string // what an error shows if it is missing
//	Traits   document.Trait // of Weir's own readers; 0 for a measure
type Key = document.Key

// Form is which values an option may have. It is the name of document.Form for modules of others. Text, as the
// reference has it, is enough for a plain one: a rate, a name.
// The other fields are of words to choose from, lists, maps and choices, and of schemes:
//
//	Shape document.Shape // of Words, Items, Table or Any; 0: a plain value
//	Text  string
//	Words []string
//	Table *document.Table
//	Items *Form  // of a list, or of a map with names for keys
//	Any   []Form // of a choice
//	Of    string // kind of scheme: program, transport, …
//	Extra string // a word beside the schemes' names
type Form = document.Form

// by is the key for what a measure's values are grouped by; standard is its default.
func by(standard string, words ...string) Key {
	return Key{Name: "by", Form: document.OneOf(words...), Doc: "what it is given for", Default: standard, Source: "ours"}
}

// every is the key for the time between samples; standard is its default, "" for none.
func every(standard string) Key {
	k := Key{Name: "every", Form: document.Value("time"), Doc: "between samples", Default: standard, Source: "ours"}
	if standard == "" {
		k.Source, k.Without = "", "not over time"
	}
	return k
}

// EveryKey is the key for the time between samples, for kinds of your own; standard is its default, "" for none.
func EveryKey(standard string) Key { return every(standard) }

// percentiles is the key for the percentiles that a measure gives.
func percentiles(standard, source string) Key {
	k := Key{Name: "percentiles", Form: document.ListOf(document.Value("above 0, below 100"), "list of numbers"),
		Doc: "given beside the mean", Default: standard, Source: source}
	if standard == "" {
		k.Without = "none"
	}
	return k
}

// switches is the key for the switches that are measured.
func switches() Key {
	return Key{Name: "switches", Form: document.Value("name or pattern"), Doc: "of which it is", Default: "*",
		Source: "ours"}
}

// bins is the key for the number of parts into which flows are split by size.
func bins() Key {
	return Key{Name: "bins", Form: document.Value("number"), Doc: "parts of equally many flows, by size",
		Without: "not by size"}
}

// ofPort is the key for the port that is measured.
func ofPort(example string) Key {
	return Key{Name: "port", Form: document.Value("`node->neighbour`"), Doc: "of which it is", Example: example}
}

// yesOrNo is a key that is true or false, false by default.
func yesOrNo(name, doc string) Key {
	return Key{Name: name, Form: document.OneOf("true", "false"), Doc: doc, Default: "false", Source: "ours"}
}

// hold is the key for how many consecutive samples have to be good.
func hold(standard string) Key {
	return Key{Name: "hold", Form: document.Value("number"), Doc: "samples one after another that have to be good",
		Default: standard, Source: "ours"}
}

// ofSenders are the keys of a gauge: traffic, time between samples, number of flows.
func ofSenders() []Key {
	return []Key{{Name: "traffic", Form: document.Value("name"), Doc: "of whose flows it is", Without: "each"},
		every("10ms"),
		{Name: "flows", Form: document.Value("number"), Doc: "the first so many of a traffic", Default: "8",
			Source: "ours"}}
}

// when is a key for a time in the measured part.
func when(name, doc, without string) Key {
	return Key{Name: name, Form: document.Value("time"), Doc: doc, Without: without}
}

// ofReaction are the keys of reaction.
func ofReaction() []Key {
	const example = "reaction: {after: 5ms, goodput: light}"
	after := when("after", "when what it reacts to happens", "")
	after.Required, after.Example = true, example
	return []Key{after, when("until", "when it must have reacted", "the end"),
		{Name: "goodput", Form: document.Value("traffic"), Doc: "what reacts; one of these three"},
		{Name: "throughput", Form: document.Value("`node->neighbour`"), Doc: "what reacts"},
		{Name: "queue", Form: document.Value("`switch->neighbour`"), Doc: "what reacts"},
		{Name: "to", Form: document.Value("rate, or packets of a queue"), Doc: "the target",
			Without: "its mean in the second half"},
		{Name: "within", Form: document.Value("share"), Doc: "of the target: the band", Default: "10%", Source: "ours"},
		hold("5"), every("1ms")}
}

// ofReduction are the keys of reduction.
func ofReduction() []Key {
	const example = "reduction: {port: s1->server, above: 10 packets}"
	return []Key{{Name: "traffic", Form: document.Value("name"), Doc: "of whose senders it is",
		Without: "all with a window"},
		when("after", "from when on congestion counts", "the warm-up's end"), ofPort(example),
		{Name: "above", Form: document.Value("packets or size"), Doc: "with port: queue that is congestion",
			Example: example},
		{Name: "by", Form: document.Value("share"), Doc: "of window or rate that a reduction takes", Default: "10%",
			Source: "ours"},
		{Name: "of", Form: document.OneOf("first", "all"), Doc: "whose reduction ends it", Default: "first",
			Source: "ours"},
		{Name: "gauge", Form: document.OneOf("window", "in_flight"), Doc: "what is reduced", Default: "window",
			Source: "ours"}}
}

// Table has the options of a kind.
func (k *Definition) Table() *document.Table {
	return &document.Table{What: k.Name + "'s key", Doc: k.Doc, Keys: k.Keys}
}
