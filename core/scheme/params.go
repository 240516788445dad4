package scheme

import (
	"errors"
	"fmt"

	"weir/core/unit"
)

// Config is a scheme's configuration: a struct whose method Params binds each of its fields
// to the parameter that sets it, as package flag binds variables.
type Config interface{ Params(p *Params) }

// None is the configuration of a scheme without parameters.
type None struct{}

// Params binds nothing.
func (*None) Params(*Params) {}

// Params are the parameters of one configuration. Each method binds a field: name,
// default as an experiment file would write it, one line of text, and where the default
// comes from (paper and section, RFC, or "ours").
type Params struct {
	list  []*Param
	rules []rule
}

// rule is what parameters must fulfil together.
type rule struct {
	param string
	holds func() error
}

// Declaration is a parameter that is being bound, to say more of it.
type Declaration struct{ p *Param }

// Min is the smallest value, as an experiment file would write it; of a map, the smallest
// of its values.
func (d Declaration) Min(text string) Declaration { return d.limit(AtLeast, text) }

// Above is a value that all others are larger than, and that is none itself.
func (d Declaration) Above(text string) Declaration { return d.limit(Above, text) }

// Max is the largest value.
func (d Declaration) Max(text string) Declaration { return d.limit(AtMost, text) }

// Below is a value that all others are smaller than, and that is none itself.
func (d Declaration) Below(text string) Declaration { return d.limit(Below, text) }

func (d Declaration) limit(r Relation, text string) Declaration {
	d.p.Range = append(d.p.Range, Limit{r, text})
	return d
}

// Words are all that a Text may be.
func (d Declaration) Words(words ...string) Declaration { d.p.Words = words; return d }

// Required says that an experiment has to give the parameter.
func (d Declaration) Required() Declaration { d.p.Required = true; return d }

// Int binds a whole number.
func (p *Params) Int(to *int, name, standard, doc, source string) Declaration {
	return p.bind(field[int]{to, Ints}, name, standard, doc, source)
}

// Float binds a number.
func (p *Params) Float(to *float64, name, standard, doc, source string) Declaration {
	return p.bind(field[float64]{to, Floats}, name, standard, doc, source)
}

// Bool binds true or false.
func (p *Params) Bool(to *bool, name, standard, doc, source string) Declaration {
	return p.bind(field[bool]{to, Bools}, name, standard, doc, source)
}

// Text binds a word: one of Declaration.Words, or any if there are none.
func (p *Params) Text(to *string, name, standard, doc, source string) Declaration {
	return p.bind(field[string]{to, Texts}, name, standard, doc, source)
}

// Time binds a Duration.
func (p *Params) Time(to *unit.Time, name, standard, doc, source string) Declaration {
	return p.bind(field[unit.Time]{to, Times}, name, standard, doc, source)
}

// Rate binds a bit rate.
func (p *Params) Rate(to *unit.Rate, name, standard, doc, source string) Declaration {
	return p.bind(field[unit.Rate]{to, Rates}, name, standard, doc, source)
}

// LinkRate binds a rate in bit/s or in packets/s.
func (p *Params) LinkRate(to *unit.LinkRate, name, standard, doc, source string) Declaration {
	return p.bind(field[unit.LinkRate]{to, LinkRates}, name, standard, doc, source)
}

// Share binds a share: 85% is 0.85.
func (p *Params) Share(to *float64, name, standard, doc, source string) Declaration {
	return p.bind(field[float64]{to, Shares}, name, standard, doc, source)
}

// Size binds an amount of data.
func (p *Params) Size(to *unit.Bytes, name, standard, doc, source string) Declaration {
	return p.bind(field[unit.Bytes]{to, Sizes}, name, standard, doc, source)
}

// Packets binds a number of packets.
func (p *Params) Packets(to *int, name, standard, doc, source string) Declaration {
	return p.bind(field[int]{to, PacketCounts}, name, standard, doc, source)
}

// Length binds the length of a queue, in packets or in bytes.
func (p *Params) Length(to *unit.Length, name, standard, doc, source string) Declaration {
	return p.bind(field[unit.Length]{to, Lengths}, name, standard, doc, source)
}

// Depth binds the depth of a queue, in packets, in bytes, or as time at its port's rate.
func (p *Params) Depth(to *unit.Depth, name, standard, doc, source string) Declaration {
	return p.bind(field[unit.Depth]{to, Depths}, name, standard, doc, source)
}

// Choice binds an enumeration: what is set is the number of the word among words.
func Choice[T ~uint8](p *Params, to *T, words []string, name, standard, doc, source string) Declaration {
	return p.bind(field[T]{to, Enum[T](words...)}, name, standard, doc, source).Words(words...)
}

// Word binds a word to a type of its own.
func Word[T ~string](p *Params, to *T, name, standard, doc, source string, words ...T) Declaration {
	d := p.bind(field[T]{to, Type[T]{kind: Text, parse: func(s string) (T, error) { return T(s), nil },
		write: func(x T) string { return string(x) }}}, name, standard, doc, source)
	for _, w := range words {
		d.p.Words = append(d.p.Words, string(w))
	}
	return d
}

// Either binds a bool that a word of two tells: words[0] is false, words[1] true.
func (p *Params) Either(to *bool, words [2]string, name, standard, doc, source string) Declaration {
	either := Type[bool]{kind: Text, parse: func(s string) (bool, error) {
		if s != words[0] && s != words[1] {
			return false, fmt.Errorf("%q is not known; allowed: %s, %s", s, words[0], words[1])
		}
		return s == words[1], nil
	}, write: func(x bool) string {
		if x {
			return words[1]
		}
		return words[0]
	}}
	return p.bind(field[bool]{to, either}, name, standard, doc, source).Words(words[:]...)
}

// Pair is one entry of a map.
type Pair[K, V any] struct {
	Key   K
	Value V
}

// MapOf binds a map, in the file's order; without any entry if none is given. Keys are
// read by key, and are all different; values are of a type such as Sizes.
func MapOf[K, V comparable](p *Params, to *[]Pair[K, V], key func(string) (K, error), values Type[V],
	name, doc, source string) Declaration {
	d := p.bind(pairs[K, V]{to, key, values, &keys[K]{}}, name, "", doc, source)
	d.p.Of = values.kind
	return d
}

// Rule adds what has to hold among parameters. Its error says what is wrong with the one
// named, to which an experiment's error then points.
func (p *Params) Rule(param string, holds func() error) {
	p.find("a rule", param)
	p.rules = append(p.rules, rule{param, holds})
}

func (p *Params) bind(v value, name, standard, doc, source string) Declaration {
	if p.Find(name) != nil {
		panic(fmt.Sprintf("scheme: parameter %s is bound twice", name))
	}
	x := &Param{Name: name, Kind: v.kindOf(), Default: standard, Doc: doc, Source: source, value: v}
	p.list = append(p.list, x)
	return Declaration{x}
}

// List returns the parameters in the order of their binding.
func (p *Params) List() []*Param { return p.list }

// Find returns a parameter by its name, nil if there is none.
func (p *Params) Find(name string) *Param {
	for _, x := range p.list {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// find is Find of a name that code says: that there is none is a mistake in it.
func (p *Params) find(what, name string) *Param {
	x := p.Find(name)
	if x == nil {
		panic(fmt.Sprintf("scheme: %s names the parameter %s, which is not bound", what, name))
	}
	return x
}

// Reset sets every field to its default, and those of required parameters to zero. That
// one cannot be read, or is out of its range, is a mistake in the scheme's code.
func (p *Params) Reset() {
	for _, x := range p.list {
		if x.Required || x.Kind == Map {
			x.value.clear()
		} else if err := x.Set(x.Default); err != nil {
			panic(fmt.Sprintf("scheme: the default of %v", err))
		}
	}
}

// Check returns what is wrong with the values of the fields as they are, whoever has set
// them: those out of their ranges or, if there are none, rules that do not hold.
func (p *Params) Check() (all []error) {
	for _, x := range p.list {
		if err := x.check(); err != nil {
			all = append(all, err)
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, r := range p.rules {
		if err := r.holds(); err != nil {
			all = append(all, &Error{Param: r.param, Err: err})
		}
	}
	return all
}

// Bind binds a configuration's parameters to its fields, whose values stay as they are.
func Bind(c Config) *Params {
	p := &Params{}
	c.Params(p)
	return p
}

// Validate returns what is wrong with a configuration that was filled in by code: a value
// out of its range, or values that do not go together.
func Validate(c Config) error { return errors.Join(Bind(c).Check()...) }

// Bound is a pointer to a C that is a configuration.
type Bound[C any] interface {
	*C
	Config
}

// Defaults returns a configuration in which every parameter has its default, and those
// that are required are zero.
func Defaults[C any, P Bound[C]]() C {
	var c C
	Bind(P(&c)).Reset()
	return c
}

// For makes configurations of a type, with their defaults: it is what Scheme.Config wants.
func For[C any, P Bound[C]]() Config {
	c := Defaults[C, P]()
	return P(&c)
}

// As returns a configuration as the struct that it is; of nil, the defaults. It is a copy:
// what is built of a configuration does not see later changes. It is an error if it is
// another scheme's, or is nil and a parameter is required.
func As[C any, P Bound[C]](c Config) (C, error) {
	if c == nil {
		d := Defaults[C, P]()
		return d, checkRequired(P(&d))
	}
	own, ok := c.(P)
	if !ok {
		return *new(C), otherSchemeError(c, own)
	}
	return *own, nil
}

// checkRequired returns an error if a configuration has a required parameter.
func checkRequired(c Config) error {
	for _, x := range Bind(c).List() {
		if x.Required {
			return fmt.Errorf("it needs the parameter %s", x.Name)
		}
	}
	return nil
}

func otherSchemeError(c, want Config) error {
	return fmt.Errorf("its configuration is a %T, not a %T", c, want)
}
