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
	Text                      // one of Param.Words, or any word if they are empty
	Duration                  // 5ms           → unit.Time
	Rate                      // 10kbps        → unit.Rate
	Share                     // 85%           → float64, 0.85
	Size                      // 32MB          → unit.Bytes
	Packets                   // 24 packets    → int
	Length                    // 24 packets or 36kB → unit.Length
	LinkRate                  // 100Mbps or 40pps; 0bps: no rate → unit.LinkRate
	Depth                     // 24 packets, 36kB or 5ms → unit.Depth
	Map                       // {10.0.0.1: 20kbps, …} → []Pair, values of Param.ValueOf
)

// kindForms describes for each kind what a file may write.
var kindForms = [...]string{
	Int: "a whole number", Float: "a number", Bool: "true, false", Duration: "a time such as 5ms",
	Rate: "a rate such as 10kbps", Share: "a share such as 85%", Size: "a size such as 32MB",
	Packets: "a number of packets such as 24 packets", Length: "a length such as 24 packets or 36kB",
	LinkRate: "a rate such as 100Mbps or 4170pps", Depth: "a depth such as 24 packets, 36kB or 5ms", Map: "a map",
	Text: "a word",
}

// Type defines how values of a Go type are read, written and compared.
type Type[T any] struct {
	kind  ValueKind
	parse func(string) (T, error)
	write func(T) string
	size  func(T) float64 // size by which limits are compared; nil: the type has no order
}

// The types of parameters and of a map's values.
var (
	Ints   = Type[int]{Int, parseInt, strconv.Itoa, numberSize[int]}
	Floats = Type[float64]{Float, parseFloat, formatFloat, numberSize[float64]}
	Bools  = Type[bool]{Bool, parseBool, strconv.FormatBool, nil}
	Texts  = Type[string]{Text, func(s string) (string, error) { return s, nil }, func(s string) string { return s },
		nil}
	Times        = Type[unit.Time]{Duration, unit.ParseTime, unit.Time.String, numberSize[unit.Time]}
	Rates        = Type[unit.Rate]{Rate, unit.ParseRate, unit.Rate.String, numberSize[unit.Rate]}
	LinkRates    = Type[unit.LinkRate]{LinkRate, parseLinkRate, unit.LinkRate.String, linkRateSize}
	Shares       = Type[float64]{Share, unit.ParseShare, unit.FormatShare, numberSize[float64]}
	Sizes        = Type[unit.Bytes]{Size, unit.ParseBytes, unit.Bytes.String, numberSize[unit.Bytes]}
	PacketCounts = Type[int]{Packets, parsePackets, func(n int) string { return strconv.Itoa(n) + " packets" },
		numberSize[int]}
	Lengths = Type[unit.Length]{Length, unit.ParseLength, unit.Length.String, lengthSize}
	Depths  = Type[unit.Depth]{Depth, unit.ParseDepth, unit.Depth.String, depthSize}
)

func numberSize[T int | float64 | unit.Time | unit.Rate | unit.Bytes](x T) float64 { return float64(x) }

func linkRateSize(r unit.LinkRate) float64 { return float64(r.Bits) + float64(r.Packets) }

func lengthSize(l unit.Length) float64 { return float64(l.Packets) + float64(l.Bytes) }

// depthSize returns the depth's number in its unit, 0 for no depth. Depths in different units are not compared.
func depthSize(d unit.Depth) float64 { return float64(d.Packets) + float64(d.Bytes) + float64(d.Time) }

// parseInt parses a whole number in decimal, with an optional sign.
func parseInt(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	return n, nil
}

// parseFloat parses a finite number. It refuses NaN and infinities.
func parseFloat(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return x, nil
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// parseBool parses true or false, and no other word.
func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" { // YAML's booleans only
		return false, fmt.Errorf("%q is not true or false", s)
	}
	return s == "true", nil
}

// parseLinkRate parses a link's rate. Unlike unit.ParseLinkRate it allows 0bps.
func parseLinkRate(s string) (unit.LinkRate, error) {
	if r, err := unit.ParseRate(s); err == nil && r == 0 {
		return unit.LinkRate{}, nil
	}
	return unit.ParseLinkRate(s)
}

// parsePackets parses a number of packets such as "24 packets". It returns an error for a number of bytes.
func parsePackets(s string) (int, error) {
	l, err := unit.ParseLength(s)
	if err == nil && l.Bytes > 0 {
		err = fmt.Errorf("%q is not a number of packets", s)
	}
	return int(l.Packets), err
}

// Enum returns the type of an enumeration; words are the names of its values 0, 1, ….
func Enum[T ~uint8](words ...string) Type[T] {
	return Type[T]{kind: Text, parse: func(s string) (T, error) {
		for i, w := range words {
			if w == s {
				return T(i), nil
			}
		}
		return 0, fmt.Errorf("%q is unknown; allowed: %s", s, strings.Join(words, ", "))
	}, write: func(x T) string {
		if int(x) < len(words) {
			return words[x]
		}
		return strconv.Itoa(int(x))
	}}
}

// sizeOf returns the size of x by which limits are compared, 0 for a type without an order.
func (t Type[T]) sizeOf(x T) float64 {
	if t.size == nil {
		return 0
	}
	return t.size(x)
}

// value is a bound field of any type.
type value interface {
	kindOf() ValueKind
	formatText() string
	equalsText(text string) bool // whether text gives the present value
	setZero()
}

// plain is a place for one value: a field that is not a map, or one entry of a map.
type plain interface {
	// parseText parses text. It returns a function that stores the value, and the value's size for limits.
	parseText(text string) (store func(), size float64, err error)
	// currentValue returns the present value as text, and its size.
	currentValue() (text string, size float64)
}

// field is a field with a single value.
type field[T comparable] struct {
	target *T
	Type[T]
}

func (f field[T]) kindOf() ValueKind { return f.kind }

func (f field[T]) parseText(text string) (func(), float64, error) {
	x, err := f.parse(text)
	return func() { *f.target = x }, f.sizeOf(x), err
}

func (f field[T]) currentValue() (string, float64) { return f.write(*f.target), f.sizeOf(*f.target) }

func (f field[T]) formatText() string { return f.write(*f.target) }

func (f field[T]) equalsText(text string) bool {
	x, err := f.parse(text)
	return err == nil && x == *f.target
}

func (f field[T]) setZero() { *f.target = *new(T) }

// mapping is a field that is a map.
type mapping interface {
	// placeFor returns the place for the value of a key. Storing a value adds the entry to the map.
	placeFor(key string) (plain, error)
	listPlaces() []plain
}

// pairs is a map as a list of its entries.
type pairs[K, V comparable] struct {
	target *[]Pair[K, V]
	key    func(string) (K, error)
	values Type[V]
	known  *keySet[K]
}

// keySet is the set of the keys of a map's first n entries. A map of thousands of entries is so filled without
// comparing all pairs of keys.
type keySet[K comparable] struct {
	set   map[K]bool
	count int
}

func (m pairs[K, V]) kindOf() ValueKind { return Map }

// formatText returns the map as {key: value, …} in the order of its entries.
func (m pairs[K, V]) formatText() string {
	var entries []string
	for _, e := range *m.target {
		entries = append(entries, fmt.Sprintf("%v: %s", e.Key, m.values.write(e.Value)))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

func (m pairs[K, V]) equalsText(string) bool { return len(*m.target) == 0 }

func (m pairs[K, V]) setZero() { *m.target = nil }

// placeFor parses a key and returns the place for its value. It fails if the key is invalid, or in the map already. The
// map changes only when a value is stored.
func (m pairs[K, V]) placeFor(key string) (plain, error) {
	k, err := m.key(key)
	if err != nil {
		return nil, err
	}
	if m.known.count > len(*m.target) || m.known.set == nil { // the map was emptied since
		*m.known = keySet[K]{set: map[K]bool{}}
	}
	for ; m.known.count < len(*m.target); m.known.count++ {
		m.known.set[(*m.target)[m.known.count].Key] = true
	}
	if m.known.set[k] {
		return nil, fmt.Errorf("the key %q is given twice, the first time as %v", key, k)
	}
	return newEntry[K, V]{m, k}, nil
}

// listPlaces returns the places of all entries, through which their values can be replaced.
func (m pairs[K, V]) listPlaces() (all []plain) {
	for i := range *m.target {
		all = append(all, field[V]{&(*m.target)[i].Value, m.values})
	}
	return all
}

// newEntry is an entry that becomes part of its map when a value is stored.
type newEntry[K, V comparable] struct {
	to  pairs[K, V]
	key K
}

func (a newEntry[K, V]) parseText(text string) (func(), float64, error) {
	v, err := a.to.values.parse(text)
	return func() { *a.to.target = append(*a.to.target, Pair[K, V]{a.key, v}) }, a.to.values.sizeOf(v), err
}

func (newEntry[K, V]) currentValue() (string, float64) { return "", 0 }
