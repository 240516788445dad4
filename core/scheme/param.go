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
	ValueOf  ValueKind // kind of a Map's values
	Words    []string  // words that a Text may be; empty: any word
	Default  string    // as an experiment file would write it; "" if Required, and of a Map
	Required bool
	Range    []Limit
	Doc      string // one line
	Source   string // where the default comes from: paper and section, RFC, or Weir itself

	value          value
	conditionTexts []string      // conditions under which the parameter acts, as text
	conditions     []func() bool // the same conditions as functions
}

// Relation is how a value has to compare with a limit.
type Relation uint8

// Relations.
const (
	AtLeast Relation = iota
	Above
	AtMost
	Below
)

var relationNames = [...]string{AtLeast: "at least", Above: "above", AtMost: "at most", Below: "below"}

// isMetBy reports whether size has the relation to limit. It is false for NaN.
func (r Relation) isMetBy(size, limit float64) bool {
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

// Limit is one end of a parameter's range.
type Limit struct {
	Relation Relation
	Value    string // as an experiment file would write it
}

// String returns the limit as error messages have it: "at least 5%".
func (l Limit) String() string { return relationNames[l.Relation] + " " + l.Value }

// Number returns the limit as a number, for kinds that a file writes as a plain number. It returns false for all other
// kinds and for a limit that cannot be read.
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

// Error is an error in the value of one parameter, by itself or together with other parameters.
type Error struct {
	Param   string
	Text    string   // the value; "" if it was not read from text
	Allowed string   // allowed values: "at least 5%"; "" if Err has them, or Words are given
	Words   []string // allowed words
	Err     error    // the cause; nil: the value is out of Allowed
}

// TextWithScheme returns the text of the error with the name of the scheme and without the allowed values.
func (e *Error) TextWithScheme(scheme string) string { return e.textFor(e.Param + " of " + scheme) }

// textFor returns the error's text; param is the name by which it calls the parameter.
func (e *Error) textFor(param string) string {
	if e.Err != nil {
		return param + ": " + e.Err.Error()
	}
	return param + " is " + e.Text
}

// Error returns the text of the error with the allowed values.
func (e *Error) Error() string {
	text, allowed := e.textFor(e.Param), e.Allowed
	if len(e.Words) > 0 {
		allowed = strings.Join(e.Words, ", ")
	}
	if allowed != "" {
		text += "; allowed: " + allowed
	}
	return text
}

// Unwrap returns the error without the parameter's name.
func (e *Error) Unwrap() error { return e.Err }

// Set reads a value from text into the field. A map is read as {key: value, …}. The error is an *Error; a field that is
// no map is then unchanged, and a map may have some of the new entries only.
func (p *Param) Set(text string) error {
	if v, ok := p.value.(plain); ok {
		return p.readInto(text, v)
	}
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "{")
	inner, closed := strings.CutSuffix(inner, "}")
	if !ok || !closed {
		return &Error{Param: p.Name, Text: text, Allowed: "{key: value, …}", Err: fmt.Errorf("%q is not a map", text)}
	}
	p.ClearMap()
	for _, entry := range strings.Split(inner, ",") {
		key, value, ok := strings.Cut(entry, ": ")
		if strings.TrimSpace(entry) == "" {
			continue
		}
		if !ok {
			return &Error{Param: p.Name, Text: text, Allowed: "{key: value, …}", Err: fmt.Errorf("the entry %q has no value",
				entry)}
		}
		if err := p.AddEntry(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	return nil
}

// ClearMap empties a map, so that AddEntry can fill it. The parameter must be a Map.
func (p *Param) ClearMap() { p.value.setZero() }

// CheckKey returns nil if a map can take an entry with this key, else an error with the reason. The parameter must be a
// Map.
func (p *Param) CheckKey(key string) error {
	_, err := p.findEntry(key)
	return err
}

// AddEntry adds an entry to a map. It returns an error if the key or the value is not allowed; the map is then
// unchanged. The parameter must be a Map.
func (p *Param) AddEntry(key, text string) error {
	e, err := p.findEntry(key)
	if err != nil {
		return err
	}
	return p.readInto(text, e)
}

// findEntry returns the place for the value of a key in a map. It changes no map.
func (p *Param) findEntry(key string) (plain, error) {
	e, err := p.value.(mapping).placeFor(key)
	if err != nil {
		return nil, &Error{Param: p.Name, Text: key, Err: err}
	}
	return e, nil
}

// plainKind returns the kind of the value; for a map, the kind of its values.
func (p *Param) plainKind() ValueKind {
	if p.Kind == Map {
		return p.ValueOf
	}
	return p.Kind
}

// readInto parses text and stores the value in v if it is allowed.
func (p *Param) readInto(text string, v plain) error {
	if err := p.checkWord(text); err != nil {
		return err
	}
	store, size, err := v.parseText(text)
	if err != nil {
		return &Error{Param: p.Name, Text: text, Allowed: kindForms[p.plainKind()], Err: err}
	}
	if err := p.checkRange(v, size, text); err != nil {
		return err
	}
	store()
	return nil
}

// checkWord returns an error if Words are given and text is not one of them.
func (p *Param) checkWord(text string) error {
	if len(p.Words) > 0 && !hasWord(p.Words, text) {
		return &Error{Param: p.Name, Text: text, Words: p.Words}
	}
	return nil
}

// checkRange returns an error if size, the size of v's value, is outside the parameter's range. text is the value for
// the error. It panics if a bound cannot be read.
func (p *Param) checkRange(v plain, size float64, text string) error {
	for _, limit := range p.Range {
		_, at, err := v.parseText(limit.Value)
		if err != nil {
			panic(fmt.Sprintf("scheme: a bound of parameter %s: %v", p.Name, err))
		}
		if !limit.Relation.isMetBy(size, at) {
			e := &Error{Param: p.Name, Text: text, Allowed: limit.String()}
			if percent, example := ExplainShare(text, size); percent != "" && p.plainKind() == Share {
				e.Text, e.Allowed = text+", which is "+percent, e.Allowed+", such as "+example
			}
			return e
		}
	}
	return nil
}

// ExplainShare explains a share above 1 that is written without %: for 95 it returns "9500%", and "95%", which was
// probably meant. It returns "" for shares with % or up to 1, and for shares above 100, which no percentage replaces.
func ExplainShare(text string, share float64) (percent, example string) {
	if strings.HasSuffix(text, "%") || !(share > 1 && share <= 100) {
		return "", ""
	}
	return unit.FormatShare(share), text + "%"
}

// checkPresent verifies that the field's present value is allowed, as readInto does for a new one.
func (p *Param) checkPresent() error {
	var all []plain
	switch v := p.value.(type) {
	case plain:
		all = []plain{v}
	case mapping:
		all = v.listPlaces()
	}
	for _, v := range all {
		text, size := v.currentValue()
		if err := p.checkWord(text); err != nil {
			return err
		}
		if kind := p.plainKind(); size < 0 && kind != Int && kind != Float { // no text can give a negative value
			return &Error{Param: p.Name, Text: text, Allowed: kindForms[kind]}
		}
		if err := p.checkRange(v, size, text); err != nil {
			return err
		}
	}
	return nil
}

// IsDefault reports whether the field has the default value. It is false for a required parameter.
func (p *Param) IsDefault() bool { return !p.Required && p.value.equalsText(p.Default) }

// Value returns the field's value as an experiment file would write it.
func (p *Param) Value() string { return p.value.formatText() }

// DescribeForm describes the values that a file may write for the parameter, or as values of a map.
func (p *Param) DescribeForm() string { return kindForms[p.plainKind()] }

// DescribeValues describes what a file may write for the parameter, with its range: "a share such as 85%, at least 5%",
// "one of on, off", "a map {key: value}, each value a whole number".
func (p *Param) DescribeValues() string {
	form := p.DescribeForm()
	switch {
	case len(p.Words) > 0:
		form = "one of " + strings.Join(p.Words, ", ")
	case p.plainKind() == Bool:
		form = "true or false"
	}
	if p.Kind == Map {
		form = "a map {key: value, …}, each value " + form
	}
	for _, limit := range p.Range {
		form += ", " + limit.String()
	}
	return form
}

// hasWord reports whether all contains s.
func hasWord(all []string, s string) bool {
	for _, x := range all {
		if x == s {
			return true
		}
	}
	return false
}
