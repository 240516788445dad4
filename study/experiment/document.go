package experiment

import (
	"strings"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/scheme"
	"weir/core/unit"
)

// Document is a YAML file of another kind than an experiment, read as strictly and with the
// same errors: file, line, column, what is allowed, the nearest word. What is wrong is
// gathered; see Err.
type Document struct {
	d    decoder
	root *tree
}

// ParseDocument reads a file of a kind, as messages name it, that begins with the keys first.
func ParseDocument(r *Registry, kind, first, file string, data []byte) *Document {
	d := &Document{d: decoder{collector: &collector{what: kind, first: first}, registry: r, source: &Source{Name: file,
		File: file, Data: data}}}
	d.root = parseTree(d.d.collector, file, data)
	if d.root == nil {
		d.root = &tree{place: place{file, 1, 1}, kind: mapping}
	}
	return d
}

// Root is the whole document.
func (d *Document) Root() Value { return Value{d, d.root} }

// OK tells whether nothing was wrong so far.
func (d *Document) OK() bool { return len(d.d.errors) == 0 }

// Err is what was wrong, InputErrors in the order of the file; nil if nothing was.
func (d *Document) Err() error { return d.d.err() }

// Resolved is the document as canonical YAML with the defaults that were filled in.
func (d *Document) Resolved() string {
	var b strings.Builder
	d.root.write(&b, 0)
	return b.String()
}

// Value is a value of a document, with its place.
type Value struct {
	d *Document
	t *tree
}

// Field is one entry of a map.
type Field struct {
	Name  string
	Key   Value // to fail at
	Value Value
}

// Fail notes an error at the value; allowed is what would be right, "" if that cannot be
// said.
func (v Value) Fail(allowed, format string, args ...any) {
	v.d.d.fail(v.t.place, allowed, format, args...)
}

// Keys checks that the value is a map with only these keys.
func (v Value) Keys(what string, allowed ...string) bool { return v.d.d.keys(v.t, what, allowed) }

// Get returns the value of a key, and whether it is there.
func (v Value) Get(key string) (Value, bool) {
	t := v.t.get(key)
	return Value{v.d, t}, t != nil
}

// Need returns the value of a key, which must be there.
func (v Value) Need(key, what string, known []string, allowed string) (Value, bool) {
	x, ok := v.Get(key)
	if !ok && v.t.kind == mapping {
		v.d.d.missing(v.t, key, what, known, allowed, "%s is missing", key)
	}
	return x, ok
}

// Default returns the value of a key, or the default, with where it comes from.
func (v Value) Default(key, text, source string) Value {
	return Value{v.d, v.d.d.value(v.t, key, text, source)}
}

// Fields are the entries of a map, in the file's order; of another value it notes an error.
func (v Value) Fields(allowed string) (all []Field) {
	if v.t.kind != mapping {
		v.Fail(allowed, "this is %v", v.t.kind)
		return nil
	}
	for _, k := range v.t.keys {
		all = append(all, Field{k.name, Value{v.d, &tree{place: k.place, text: k.name}}, Value{v.d, k.value}})
	}
	return all
}

// Text is a plain value's text.
func (v Value) Text() string { return v.d.d.text(v.t) }

// Integer is a whole number in a range.
func (v Value) Integer(low, high int) int { return v.d.d.integer(v.t, low, high) }

// Word is one of words.
func (v Value) Word(what string, words []string) string { return v.d.d.word(v.t, what, words) }

// Buffer is the bound of a queue: packets or bytes, at least one.
func (v Value) Buffer() unit.Length { return v.d.d.buffer(v.t) }

// LinkRate is a rate of a link, above 0.
func (v Value) LinkRate() unit.LinkRate { return read(&v.d.d, v.t, unit.ParseLinkRate) }

// NamedProgram is one of a list of programs, with its parameters.
type NamedProgram struct {
	Scheme *dataplane.Scheme
	Values scheme.Values
	// Text is the program with all its parameters, as canonical YAML: two that have the same
	// are the same.
	Text string
	At   Value // where it stands
}

// Programs are a list of programs, as switch: of an experiment has it.
func (v Value) Programs() (all []NamedProgram) {
	d := &v.d.d
	list := d.programs(v.t)
	if len(list) == 0 && v.t.kind == mapping {
		return nil
	}
	texts := map[place]string{}
	for _, x := range v.t.items {
		texts[x.place] = x.flow()
	}
	for _, p := range list {
		all = append(all, NamedProgram{p.scheme, p.values, texts[p.place], Value{v.d, &tree{place: p.place}}})
	}
	return all
}

// Scheduler is what serves queues of a port, as scheduler: of an experiment has it; it may be
// nil. Text is the canonical form.
func (v Value) Scheduler(queues int) (build func(queues int, r unit.LinkRate) (tm.Scheduler, error), text string) {
	build = v.d.d.scheduler(v.t, queues)
	return build, v.t.flow()
}

// Known lists the programs that the document can name.
func (v Value) Known() []dataplane.Scheme { return v.d.d.registry.Programs }
