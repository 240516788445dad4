package scheme

import (
	"errors"
	"fmt"

	"weir/core/unit"
)

// Config is a scheme's configuration: a struct with one parameter for each field. Its method Params binds each
// parameter to its field. Unlike package flag it sets no field: Params.Reset sets the defaults, and Param.Set a value
// from text.
type Config interface{ Params(p *Params) }

// None is the configuration of a scheme without parameters.
type None struct{}

// Params binds no parameter.
func (*None) Params(*Params) {}

// Params are the parameters of one configuration. Each of its methods binds a field to a parameter, and leaves the
// field's value unchanged. target points to the field. name is the parameter's name, standard its default as an
// experiment file would write it, doc one line of text. source is where the default comes from: paper and section, RFC,
// or Weir itself.
type Params struct {
	list  []*Param
	rules []rule
}

// rule is a condition on several parameters. Errors point to param.
type rule struct {
	param string
	holds func() error
}

// Declaration is a parameter that is being bound. Its methods add what is allowed and when the parameter acts.
type Declaration struct{ p *Param }

// Min sets the smallest allowed value, as an experiment file would write it. For a map it limits the map's values.
func (d Declaration) Min(text string) Declaration { return d.addLimit(AtLeast, text) }

// Above sets a lower limit that is itself not allowed.
func (d Declaration) Above(text string) Declaration { return d.addLimit(Above, text) }

// Max sets the largest allowed value.
func (d Declaration) Max(text string) Declaration { return d.addLimit(AtMost, text) }

// Below sets an upper limit that is itself not allowed.
func (d Declaration) Below(text string) Declaration { return d.addLimit(Below, text) }

// addLimit adds one end of the range; text is as an experiment file would write it.
func (d Declaration) addLimit(r Relation, text string) Declaration {
	d.p.Range = append(d.p.Range, Limit{r, text})
	return d
}

// Words sets the words that a Text may be.
func (d Declaration) Words(words ...string) Declaration { d.p.Words = words; return d }

// Required marks the parameter as one that every experiment has to give.
func (d Declaration) Required() Declaration { d.p.Required = true; return d }

// Int binds a whole number.
func (p *Params) Int(target *int, name, standard, doc, source string) Declaration {
	return p.bindValue(field[int]{target, Ints}, name, standard, doc, source)
}

// Float binds a number.
func (p *Params) Float(target *float64, name, standard, doc, source string) Declaration {
	return p.bindValue(field[float64]{target, Floats}, name, standard, doc, source)
}

// Bool binds true or false.
func (p *Params) Bool(target *bool, name, standard, doc, source string) Declaration {
	return p.bindValue(field[bool]{target, Bools}, name, standard, doc, source)
}

// Text binds a word: one of Declaration.Words, or any word if they are empty.
func (p *Params) Text(target *string, name, standard, doc, source string) Declaration {
	return p.bindValue(field[string]{target, Texts}, name, standard, doc, source)
}

// Time binds a duration in picoseconds.
func (p *Params) Time(target *unit.Time, name, standard, doc, source string) Declaration {
	return p.bindValue(field[unit.Time]{target, Times}, name, standard, doc, source)
}

// Rate binds a rate in bit/s.
func (p *Params) Rate(target *unit.Rate, name, standard, doc, source string) Declaration {
	return p.bindValue(field[unit.Rate]{target, Rates}, name, standard, doc, source)
}

// LinkRate binds a rate in bit/s or in packets/s.
func (p *Params) LinkRate(target *unit.LinkRate, name, standard, doc, source string) Declaration {
	return p.bindValue(field[unit.LinkRate]{target, LinkRates}, name, standard, doc, source)
}

// Share binds a share: 85% is 0.85.
func (p *Params) Share(target *float64, name, standard, doc, source string) Declaration {
	return p.bindValue(field[float64]{target, Shares}, name, standard, doc, source)
}

// Size binds an amount of data in bytes.
func (p *Params) Size(target *unit.Bytes, name, standard, doc, source string) Declaration {
	return p.bindValue(field[unit.Bytes]{target, Sizes}, name, standard, doc, source)
}

// Packets binds a number of packets, which a file writes with its unit: 64 packets.
func (p *Params) Packets(target *int, name, standard, doc, source string) Declaration {
	return p.bindValue(field[int]{target, PacketCounts}, name, standard, doc, source)
}

// Length binds the length of a queue, in packets or in bytes.
func (p *Params) Length(target *unit.Length, name, standard, doc, source string) Declaration {
	return p.bindValue(field[unit.Length]{target, Lengths}, name, standard, doc, source)
}

// Depth binds the depth of a queue, in packets, in bytes, or as time at its port's rate.
func (p *Params) Depth(target *unit.Depth, name, standard, doc, source string) Declaration {
	return p.bindValue(field[unit.Depth]{target, Depths}, name, standard, doc, source)
}

// Choice binds an enumeration: the values of *target are the indices of words. standard is one of the words. *target
// keeps its value until Reset or Param.Set.
func Choice[T ~uint8](p *Params, target *T, words []string, name, standard, doc, source string) Declaration {
	return p.bindValue(field[T]{target, Enum[T](words...)}, name, standard, doc, source).Words(words...)
}

// TextOf binds a string type with the allowed words; without words any text is allowed.
func TextOf[T ~string](p *Params, target *T, name, standard, doc, source string, words ...T) Declaration {
	d := p.bindValue(field[T]{target, Type[T]{kind: Text, parse: func(s string) (T, error) { return T(s), nil },
		write: func(x T) string { return string(x) }}}, name, standard, doc, source)
	for _, w := range words {
		d.p.Words = append(d.p.Words, string(w))
	}
	return d
}

// BoolWords binds a bool to two words: words[0] stands for false, words[1] for true.
func (p *Params) BoolWords(target *bool, words [2]string, name, standard, doc, source string) Declaration {
	either := Type[bool]{kind: Text, parse: func(s string) (bool, error) {
		if s != words[0] && s != words[1] {
			return false, fmt.Errorf("%q is unknown; allowed: %s, %s", s, words[0], words[1])
		}
		return s == words[1], nil
	}, write: func(x bool) string {
		if x {
			return words[1]
		}
		return words[0]
	}}
	return p.bindValue(field[bool]{target, either}, name, standard, doc, source).Words(words[:]...)
}

// Pair is one entry of a map.
type Pair[K, V any] struct {
	Key   K
	Value V
}

// MapOf binds a map that keeps the order of the file. It is empty by default. key reads the keys, which must all
// differ; values are of a type such as Sizes.
func MapOf[K, V comparable](p *Params, target *[]Pair[K, V], key func(string) (K, error), values Type[V],
	name, doc, source string) Declaration {
	d := p.bindValue(pairs[K, V]{target, key, values, &keySet[K]{}}, name, "", doc, source)
	d.p.ValueOf = values.kind
	return d
}

// AddRule adds a condition that several parameters must meet. holds returns an error if they do not. The error of an
// experiment then points to the parameter param.
func (p *Params) AddRule(param string, holds func() error) {
	p.mustFind("a rule", param)
	p.rules = append(p.rules, rule{param, holds})
}

// bindValue adds a parameter for the field v. It panics if the name is bound already.
func (p *Params) bindValue(v value, name, standard, doc, source string) Declaration {
	if p.Find(name) != nil {
		panic(fmt.Sprintf("scheme: parameter %s is bound twice", name))
	}
	x := &Param{Name: name, Kind: v.kindOf(), Default: standard, Doc: doc, Source: source, value: v}
	p.list = append(p.list, x)
	return Declaration{x}
}

// List returns the parameters in the order of their binding.
func (p *Params) List() []*Param { return p.list }

// Find returns the parameter with the name, or nil.
func (p *Params) Find(name string) *Param {
	for _, x := range p.list {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// mustFind is Find for a name in the scheme's own code: it panics if no parameter has the name. what names the place
// for the panic.
func (p *Params) mustFind(what, name string) *Param {
	x := p.Find(name)
	if x == nil {
		panic(fmt.Sprintf("scheme: %s names the parameter %s, which is not bound", what, name))
	}
	return x
}

// Reset sets every field to its default, and the fields of required parameters to zero. It panics if a default cannot
// be read or is out of range, which is a mistake in the scheme's code.
func (p *Params) Reset() {
	for _, x := range p.list {
		if x.Required || x.Kind == Map {
			x.value.setZero()
		} else if err := x.Set(x.Default); err != nil {
			panic(fmt.Sprintf("scheme: the default of %v", err))
		}
	}
}

// CheckValues returns the errors in the present values of the fields. These are values out of range or, if there are no
// such values, rules that do not hold.
func (p *Params) CheckValues() (all []error) {
	for _, x := range p.list {
		if err := x.checkPresent(); err != nil {
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

// Bind binds a configuration's parameters to its fields. The fields keep their values.
func Bind(c Config) *Params {
	p := &Params{}
	c.Params(p)
	return p
}

// Validate returns an error if a configuration that code has filled in has a value out of range, or values that break
// a rule.
func Validate(c Config) error { return errors.Join(Bind(c).CheckValues()...) }

// Bound is a pointer to a struct C that implements Config.
type Bound[C any] interface {
	*C
	Config
}

// Defaults returns a configuration with the default of every parameter. Required parameters are zero.
func Defaults[C any, P Bound[C]]() C {
	var c C
	Bind(P(&c)).Reset()
	return c
}

// NewDefault returns a new configuration of a type with its defaults. It is the usual Scheme.Config.
func NewDefault[C any, P Bound[C]]() Config {
	c := Defaults[C, P]()
	return P(&c)
}

// ConfigAs returns a copy of a configuration as its struct type, so that later changes to c have no effect on it. For
// nil it returns the defaults. It is an error if c belongs to another scheme, or if c is nil and a parameter is
// required.
func ConfigAs[C any, P Bound[C]](c Config) (C, error) {
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

// checkRequired returns an error if a configuration has a required parameter, without looking at its value.
func checkRequired(c Config) error {
	for _, x := range Bind(c).List() {
		if x.Required {
			return fmt.Errorf("the required parameter %s is missing", x.Name)
		}
	}
	return nil
}

func otherSchemeError(c, want Config) error {
	return fmt.Errorf("the configuration is a %T; it must be a %T", c, want)
}
