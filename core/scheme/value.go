package scheme

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"weir/core/unit"
)

// ValueKind is the type of a parameter's value in an experiment file.
type ValueKind uint8

// Kinds of values.
const (
	Int      ValueKind = iota // 3
	Float                     // 0.5
	Bool                      // true
	Text                      // one of Param.Words, or any word if there are none
	Duration                  // 5ms           → unit.Time
	Rate                      // 10kbps        → unit.Rate
	Share                     // 85%           → float64, 0.85
	Size                      // 32MB          → unit.Bytes
	Packets                   // 24 packets    → int
	Length                    // 24 packets or 36kB → unit.Length
	LinkRate                  // 100Mbps or 40pps; 0bps for none → unit.LinkRate
	Depth                     // 24 packets, 36kB or 5ms → unit.Depth
	Map                       // {10.0.0.1: 20kbps, …} → []Pair, values of Param.Of
)

// kinds says what a file may write for each kind.
var kinds = [...]string{
	Int: "a whole number", Float: "a number", Bool: "true, false", Duration: "a time such as 5ms",
	Rate: "a rate such as 10kbps", Share: "a share such as 85%", Size: "a size such as 32MB",
	Packets: "a number of packets such as 24 packets", Length: "a length such as 24 packets or 36kB",
	LinkRate: "a rate such as 100Mbps or 4170pps", Depth: "a depth such as 24 packets, 36kB or 5ms", Map: "a map",
	Text: "a word",
}

// Type is how values of a Go type are read, written and ordered.
type Type[T any] struct {
	kind  ValueKind
	parse func(string) (T, error)
	write func(T) string
	size  func(T) float64 // by which bounds are compared; nil: it has none
}

// The types of a map's values, and of all other parameters.
var (
	Ints   = Type[int]{Int, parseInt, strconv.Itoa, number[int]}
	Floats = Type[float64]{Float, parseFloat, formatFloat, number[float64]}
	Bools  = Type[bool]{Bool, parseBool, strconv.FormatBool, nil}
	Texts  = Type[string]{Text, func(s string) (string, error) { return s, nil }, func(s string) string { return s },
		nil}
	Times        = Type[unit.Time]{Duration, unit.ParseTime, unit.Time.String, number[unit.Time]}
	Rates        = Type[unit.Rate]{Rate, unit.ParseRate, unit.Rate.String, number[unit.Rate]}
	LinkRates    = Type[unit.LinkRate]{LinkRate, parseLinkRate, unit.LinkRate.String, linkRate}
	Shares       = Type[float64]{Share, unit.ParseShare, unit.FormatShare, number[float64]}
	Sizes        = Type[unit.Bytes]{Size, unit.ParseBytes, unit.Bytes.String, number[unit.Bytes]}
	PacketCounts = Type[int]{Packets, parsePackets, func(n int) string { return strconv.Itoa(n) + " packets" },
		number[int]}
	Lengths = Type[unit.Length]{Length, unit.ParseLength, unit.Length.String, length}
	Depths  = Type[unit.Depth]{Depth, unit.ParseDepth, unit.Depth.String, depth}
)

func number[T int | float64 | unit.Time | unit.Rate | unit.Bytes](x T) float64 { return float64(x) }

func linkRate(r unit.LinkRate) float64 { return float64(r.Bits) + float64(r.Packets) }

func length(l unit.Length) float64 { return float64(l.Packets) + float64(l.Bytes) }

// depth is 0 for none; of two units there is no order.
func depth(d unit.Depth) float64 { return float64(d.Packets) + float64(d.Bytes) + float64(d.Time) }

func parseInt(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	return n, nil
}

func parseFloat(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return x, nil
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" { // YAML's booleans only
		return false, fmt.Errorf("%q is neither true nor false", s)
	}
	return s == "true", nil
}

func parseLinkRate(s string) (unit.LinkRate, error) {
	if r, err := unit.ParseRate(s); err == nil && r == 0 {
		return unit.LinkRate{}, nil
	}
	return unit.ParseLinkRate(s)
}

func parsePackets(s string) (int, error) {
	l, err := unit.ParseLength(s)
	if err == nil && l.Bytes > 0 {
		err = fmt.Errorf("%q is not a number of packets", s)
	}
	return int(l.Packets), err
}

// Enum is the type of an enumeration whose values have these words.
func Enum[T ~uint8](words ...string) Type[T] {
	return Type[T]{kind: Text, parse: func(s string) (T, error) {
		for i, w := range words {
			if w == s {
				return T(i), nil
			}
		}
		return 0, fmt.Errorf("%q is not known; allowed: %s", s, strings.Join(words, ", "))
	}, write: func(x T) string {
		if int(x) < len(words) {
			return words[x]
		}
		return strconv.Itoa(int(x))
	}}
}

func (t Type[T]) sizeOf(x T) float64 {
	if t.size == nil {
		return 0
	}
	return t.size(x)
}

// value is a field, whatever its type.
type value interface {
	kindOf() ValueKind
	text() string
	is(text string) bool // that is its value
	clear()
}

// plain is a place for one value: a field that is no map, or an entry of one that is.
type plain interface {
	// read returns what stores the value of a text, and its size for bounds.
	read(text string) (store func(), size float64, err error)
	// now is the present value.
	now() (text string, size float64)
}

// field is a field with a plain value.
type field[T comparable] struct {
	to *T
	Type[T]
}

func (f field[T]) kindOf() ValueKind { return f.kind }

func (f field[T]) read(text string) (func(), float64, error) {
	x, err := f.parse(text)
	return func() { *f.to = x }, f.sizeOf(x), err
}

func (f field[T]) now() (string, float64) { return f.write(*f.to), f.sizeOf(*f.to) }

func (f field[T]) text() string { return f.write(*f.to) }

func (f field[T]) is(text string) bool {
	x, err := f.parse(text)
	return err == nil && x == *f.to
}

func (f field[T]) clear() { *f.to = *new(T) }

// mapping is a field that is a map.
type mapping interface {
	// entry is a place for the value of a key, which is in the map when it is stored.
	entry(key string) (plain, error)
	entries() []plain
}

// pairs is a map as a list of its entries.
type pairs[K, V comparable] struct {
	to     *[]Pair[K, V]
	key    func(string) (K, error)
	values Type[V]
	seen   *keys[K]
}

// keys are those of a map's first entries, so that each of thousands is looked up, not compared with all.
type keys[K comparable] struct {
	of map[K]bool
	n  int
}

func (m pairs[K, V]) kindOf() ValueKind { return Map }

func (m pairs[K, V]) text() string {
	var entries []string
	for _, e := range *m.to {
		entries = append(entries, fmt.Sprintf("%v: %s", e.Key, m.values.write(e.Value)))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

func (m pairs[K, V]) is(string) bool { return len(*m.to) == 0 }

func (m pairs[K, V]) clear() { *m.to = nil }

func (m pairs[K, V]) entry(key string) (plain, error) {
	k, err := m.key(key)
	if err != nil {
		return nil, err
	}
	if m.seen.n > len(*m.to) || m.seen.of == nil { // the map was emptied
		*m.seen = keys[K]{of: map[K]bool{}}
	}
	for ; m.seen.n < len(*m.to); m.seen.n++ {
		m.seen.of[(*m.to)[m.seen.n].Key] = true
	}
	if m.seen.of[k] {
		return nil, fmt.Errorf("%q is there already, as %v", key, k)
	}
	return added[K, V]{m, k}, nil
}

func (m pairs[K, V]) entries() (all []plain) {
	for i := range *m.to {
		all = append(all, field[V]{&(*m.to)[i].Value, m.values})
	}
	return all
}

// added is an entry that is not in its map yet.
type added[K, V comparable] struct {
	to  pairs[K, V]
	key K
}

func (a added[K, V]) read(text string) (func(), float64, error) {
	v, err := a.to.values.parse(text)
	return func() { *a.to.to = append(*a.to.to, Pair[K, V]{a.key, v}) }, a.to.values.sizeOf(v), err
}

func (added[K, V]) now() (string, float64) { return "", 0 }
