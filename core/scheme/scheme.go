// Package scheme describes what an experiment file can name (switch programs,
// schedulers, transports, congestion controllers) together with their
// parameters: names, units, defaults and where those come from. The rooms
// declare, the experiment room decodes, so that no default is silent.
package scheme

import (
	"fmt"

	"weir/core/unit"
)

// Kind is the type of a parameter's value in an experiment file.
type Kind uint8

// Kinds of values.
const (
	Int      Kind = iota // 3
	Float                // 0.5
	Bool                 // true
	Text                 // one of Param.Words, or any word if there are none
	Duration             // 5ms           → unit.Time
	Rate                 // 10kbps        → unit.Rate
	Share                // 85%           → float64, 0.85
	Size                 // 32MB          → unit.Bytes
	Packets              // 24 packets    → int
	Length               // 24 packets or 36kB → unit.Length
	LinkRate             // 100Mbps or 40pps; 0bps for none → unit.LinkRate
	Map                  // {10.0.0.1: 20kbps, …} → []Entry, values of Param.Of
)

// Entry is one entry of a Map value, in the file's order.
type Entry struct {
	Key   string
	Value any
}

// Param is one parameter of a scheme.
type Param struct {
	Name     string
	Kind     Kind
	Of       Kind     // kind of a Map's values
	Words    []string // what a Text may be
	Default  string   // as an experiment file would write it; "" with Required
	Required bool
	Min, Max string // bounds, inclusive, as an experiment file would write them; "" for none
	Doc      string // one line
	Source   string // where the default comes from: paper and section, RFC, or "ours"
}

// Scheme is what can be named.
type Scheme struct {
	Name   string
	Doc    string // one line
	Source string // paper or RFC
	Params []Param
}

// Values are a scheme's decoded parameters: every declared one is there, with
// the type that its Kind says. Getting one that was not declared panics: it is a
// mistake in the scheme's code, not in the experiment.
type Values struct {
	Scheme string
	values map[string]any
}

// NewValues returns values for a scheme; the experiment room and tests make them.
func NewValues(scheme string, values map[string]any) Values {
	return Values{Scheme: scheme, values: values}
}

func get[T any](v Values, name string) T {
	x, ok := v.values[name].(T)
	if !ok {
		panic(fmt.Sprintf("scheme %s: parameter %s is %T, not what was asked for", v.Scheme, name, v.values[name]))
	}
	return x
}

// Get returns a parameter as it is; nil if it was not declared.
func (v Values) Get(name string) any { return v.values[name] }

// Int returns an Int or a Packets parameter.
func (v Values) Int(name string) int { return get[int](v, name) }

// Float returns a Float or a Share parameter.
func (v Values) Float(name string) float64 { return get[float64](v, name) }

// Bool returns a Bool parameter.
func (v Values) Bool(name string) bool { return get[bool](v, name) }

// Text returns a Text parameter.
func (v Values) Text(name string) string { return get[string](v, name) }

// Time returns a Duration parameter.
func (v Values) Time(name string) unit.Time { return get[unit.Time](v, name) }

// Rate returns a Rate parameter.
func (v Values) Rate(name string) unit.Rate { return get[unit.Rate](v, name) }

// LinkRate returns a LinkRate parameter.
func (v Values) LinkRate(name string) unit.LinkRate { return get[unit.LinkRate](v, name) }

// Bytes returns a Size parameter.
func (v Values) Bytes(name string) unit.Bytes { return get[unit.Bytes](v, name) }

// Length returns a Length parameter.
func (v Values) Length(name string) unit.Length { return get[unit.Length](v, name) }

// Map returns a Map parameter, in the file's order.
func (v Values) Map(name string) []Entry { return get[[]Entry](v, name) }
