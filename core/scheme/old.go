package scheme

import (
	"fmt"
	"strconv"

	"weir/core/unit"
)

// Parse reads a value of kind k as an experiment file writes it, into the type that
// Values returns for that kind. Text stays as it is. A Map and a Names have no text of
// their own: their parts are read one by one.
func Parse(k Kind, text string) (any, error) {
	switch k {
	case Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number", text)
		}
		return n, nil
	case Float:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0.0, fmt.Errorf("%q is not a number", text)
		}
		return x, nil
	case Bool:
		if text != "true" && text != "false" {
			return false, fmt.Errorf("%q is neither true nor false", text)
		}
		return text == "true", nil
	case Duration:
		return unit.ParseTime(text)
	case Rate:
		return unit.ParseRate(text)
	case LinkRate:
		if r, err := unit.ParseRate(text); err == nil && r == 0 {
			return unit.LinkRate{}, nil
		}
		return unit.ParseLinkRate(text)
	case Share:
		return unit.ParseShare(text)
	case Size:
		return unit.ParseBytes(text)
	case Packets:
		l, err := unit.ParseLength(text)
		if err == nil && l.Bytes > 0 {
			err = fmt.Errorf("%q is not a number of packets", text)
		}
		return int(l.Packets), err
	case Length:
		return unit.ParseLength(text)
	}
	return text, nil
}

// Entry is one entry of a Map value, in the file's order.
type Entry struct {
	Key   string
	Value any
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
