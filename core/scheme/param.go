package scheme

import (
	"fmt"
	"strings"

	"weir/core/unit"
)

// Param is one parameter of a scheme, bound to a field of a configuration.
type Param struct {
	Name     string
	Kind     ValueKind
	Of       ValueKind // kind of a Map's values
	Words    []string  // what a Text may be
	Default  string    // as an experiment file would write it; "" if Required, and of a Map
	Required bool
	Range    []Limit
	Doc      string // one line
	Source   string // where the default comes from: paper and section, RFC, or "ours"

	value value
	only  []string      // conditions under which it acts, as text
	holds []func() bool // and as code
}

// Relation is that of a value to a limit of it.
type Relation uint8

// Relations.
const (
	AtLeast Relation = iota
	Above
	AtMost
	Below
)

var relations = [...]string{AtLeast: "at least", Above: "above", AtMost: "at most", Below: "below"}

// holds is false of what is not a number.
func (r Relation) holds(size, limit float64) bool {
	switch r {
	case AtLeast:
		return size >= limit
	case Above:
		return size > limit
	case AtMost:
		return size <= limit
	}
	return size < limit
}

// Limit is an end of a parameter's range.
type Limit struct {
	Relation Relation
	Value    string // as an experiment file would write it
}

// String is what an error says: "at least 5%".
func (l Limit) String() string { return relations[l.Relation] + " " + l.Value }

// Number is the limit of a kind that a file can write as a number alone; false if it cannot.
func (l Limit) Number(k ValueKind) (float64, bool) {
	var x float64
	var err error
	switch k {
	case Int, Float:
		x, err = parseFloat(l.Value)
	case Share:
		x, err = unit.ParseShare(l.Value)
	default:
		return 0, false
	}
	return x, err == nil
}

// Error is what is wrong with a parameter: its value alone, or with those of others.
type Error struct {
	Param   string
	Text    string   // the value; "" if it was not read from text
	Allowed string   // what is possible: "at least 5%"; "" if that is said, or are Words
	Words   []string // none of which the value is
	Err     error    // nil: it is out of Allowed
}

// Of is the error with the name of the scheme, without what is allowed.
func (e *Error) Of(scheme string) string { return e.text(e.Param + " of " + scheme) }

func (e *Error) text(param string) string {
	if e.Err != nil {
		return param + ": " + e.Err.Error()
	}
	return param + " is " + e.Text
}

// Error says all.
func (e *Error) Error() string {
	text, allowed := e.text(e.Param), e.Allowed
	if len(e.Words) > 0 {
		allowed = strings.Join(e.Words, ", ")
	}
	if allowed != "" {
		text += "; allowed: " + allowed
	}
	return text
}

// Unwrap is what is wrong without the parameter's name.
func (e *Error) Unwrap() error { return e.Err }

// Set reads a value into the field, which stays as it is if the value is wrong. A map is
// read as {key: value, …}.
func (p *Param) Set(text string) error {
	if v, ok := p.value.(plain); ok {
		return p.read(text, v)
	}
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !ok || !closed {
		return &Error{Param: p.Name, Text: text, Allowed: "{key: value, …}", Err: fmt.Errorf("%q is not a map", text)}
	}
	p.Clear()
	for _, entry := range strings.Split(inner, ",") {
		key, value, ok := strings.Cut(entry, ": ")
		if strings.TrimSpace(entry) == "" {
			continue
		}
		if !ok {
			return &Error{Param: p.Name, Text: text, Allowed: "{key: value, …}", Err: fmt.Errorf("%q has no value", entry)}
		}
		if err := p.Put(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	return nil
}

// Clear takes all entries out of a map, before others are put in.
func (p *Param) Clear() { p.value.clear() }

// Key reports whether a map can get an entry with this key, and why not.
func (p *Param) Key(key string) error {
	_, err := p.entry(key)
	return err
}

// Put adds an entry to a map.
func (p *Param) Put(key, text string) error {
	e, err := p.entry(key)
	if err != nil {
		return err
	}
	return p.read(text, e)
}

func (p *Param) entry(key string) (plain, error) {
	e, err := p.value.(mapping).entry(key)
	if err != nil {
		return nil, &Error{Param: p.Name, Text: key, Err: err}
	}
	return e, nil
}

// plainKind is the kind of the value or, of a map, of its values.
func (p *Param) plainKind() ValueKind {
	if p.Kind == Map {
		return p.Of
	}
	return p.Kind
}

// read reads a text into v if it is allowed.
func (p *Param) read(text string, v plain) error {
	if err := p.known(text); err != nil {
		return err
	}
	store, size, err := v.read(text)
	if err != nil {
		return &Error{Param: p.Name, Text: text, Allowed: kinds[p.plainKind()], Err: err}
	}
	if err := p.within(v, size, text); err != nil {
		return err
	}
	store()
	return nil
}

// known refuses a word that is none of Words.
func (p *Param) known(text string) error {
	if len(p.Words) > 0 && !contains(p.Words, text) {
		return &Error{Param: p.Name, Text: text, Words: p.Words}
	}
	return nil
}

// within refuses a value whose size is beyond the bounds.
func (p *Param) within(v plain, size float64, text string) error {
	for _, limit := range p.Range {
		_, at, err := v.read(limit.Value)
		if err != nil {
			panic(fmt.Sprintf("scheme: a bound of parameter %s: %v", p.Name, err))
		}
		if !limit.Relation.holds(size, at) {
			return &Error{Param: p.Name, Text: text, Allowed: limit.String()}
		}
	}
	return nil
}

// check tests the field's present value as read does a new one.
func (p *Param) check() error {
	var all []plain
	switch v := p.value.(type) {
	case plain:
		all = []plain{v}
	case mapping:
		all = v.entries()
	}
	for _, v := range all {
		text, size := v.now()
		if err := p.known(text); err != nil {
			return err
		}
		if kind := p.plainKind(); size < 0 && kind != Int && kind != Float { // no text says so
			return &Error{Param: p.Name, Text: text, Allowed: kinds[kind]}
		}
		if err := p.within(v, size, text); err != nil {
			return err
		}
	}
	return nil
}

// IsDefault reports whether the field has the default value.
func (p *Param) IsDefault() bool { return !p.Required && p.value.is(p.Default) }

// Value is the field's value, as an experiment file could write it.
func (p *Param) Value() string { return p.value.text() }

// Form says what a file may write for the parameter or, of a map, for its values.
func (p *Param) Form() string { return kinds[p.plainKind()] }

func contains(all []string, s string) bool {
	for _, x := range all {
		if x == s {
			return true
		}
	}
	return false
}
