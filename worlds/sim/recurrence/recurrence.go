package recurrence

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"weir/core/unit"
)

// kind is what a word is.
type kind uint8

// Kinds of words, by the tags of fields.
const (
	same kind = iota // no tag, or "span"
	count
	instant
	past
)

// Root is where state begins, under a name: at a pointer or, of who says its words itself, relative to the moment, with
// these.
type Root struct {
	Name  string
	Value any
	Words func(word func(name string, value int64))
}

// State is what all words were at a moment.
type State struct {
	words []uint64
	at    unit.Time
}

// Words is how many there are.
func (s *State) Words() int { return len(s.words) }

// Take reads the state at a moment. With an earlier one it says which word is the first that is not as it was there;
// "": none is, so the states are the same.
func Take(roots []Root, now unit.Time, before *State) (s *State, differs string) {
	w := newWalk(now, before)
	w.all(roots)
	if before != nil && w.differs == "" && len(w.words) != len(before.words) {
		w.differs = fmt.Sprintf("all in all: %d words, %d before", len(w.words), len(before.words))
	}
	return &w.State, w.differs
}

// Untagged returns what keeps the state from ever recurring: each time without a tag, and all else that cannot be
// compared, with its path. Elements of lists and maps that share a path apart from their places are named once, by the
// first. Such a path is a mistake in the type that holds the field, not a property of a run. Values of the types in
// passing are left out: when states are compared they are gone.
func Untagged(roots []Root, passing ...reflect.Type) []string {
	w := newWalk(0, nil)
	w.unclear, w.passing = map[string]string{}, passing
	w.all(roots)
	return slices.Sorted(maps.Values(w.unclear)) //weir:unordered they are sorted
}

func newWalk(now unit.Time, before *State) *walk {
	w := &walk{State: State{at: now}, before: before, seen: map[seen]uint64{}, known: map[reflect.Type][]field{}}
	if before != nil {
		w.words = make([]uint64, 0, len(before.words))
	}
	return w
}

// all walks through the roots.
func (w *walk) all(roots []Root) {
	for i := range roots {
		r := &roots[i]
		w.path = append(w.path[:0], step{name: r.Name})
		if r.Words != nil {
			r.Words(func(name string, value int64) {
				w.path = append(w.path[:1], step{name: name})
				w.word(same, uint64(value))
			})
			continue
		}
		w.value(reflect.ValueOf(r.Value), "")
	}
}

// walk is a Take under way.
type walk struct {
	State
	before  *State
	seen    map[seen]uint64 // pointers, and in which order they came
	known   map[reflect.Type][]field
	path    []step
	differs string
	unclear map[string]string // by path without places, the first text of Untagged; nil: Take
	passing []reflect.Type    // of Untagged
	float   bool              // the word is a float64's bits
}

// step leads from a value to one of its parts: a field, or an element.
type step struct {
	name  string // "": the element of this index
	index int
	keyed bool // the name is the key of a map
}

// String is the step as one writes it.
func (s step) String() string {
	switch {
	case s.keyed:
		return "[" + s.name + "]"
	case s.name == "":
		return "[" + strconv.Itoa(s.index) + "]"
	}
	return "." + s.name
}

type seen struct {
	at uintptr
	of reflect.Type
}

// fault notes a difference, if it is the first.
func (w *walk) fault(format string, arguments ...any) {
	if w.differs == "" {
		w.differs = w.place() + ": " + fmt.Sprintf(format, arguments...)
	}
}

// fail notes what cannot be compared.
func (w *walk) fail(format string, arguments ...any) {
	if w.unclear == nil {
		w.fault(format, arguments...)
		return
	}
	var b strings.Builder
	for i, s := range w.path {
		switch {
		case i == 0: // the root: a switch's state is the next one's
		case s.keyed || s.name == "":
			b.WriteString("[]")
		default:
			b.WriteString("." + s.name)
		}
	}
	if _, known := w.unclear[b.String()]; !known {
		w.unclear[b.String()] = w.place() + ": " + fmt.Sprintf(format, arguments...)
	}
}

// place returns the path as one writes it.
func (w *walk) place() string {
	var b strings.Builder
	for _, s := range w.path {
		b.WriteString(s.String())
	}
	return b.String()[1:]
}

// word adds one, and compares it with what was there.
func (w *walk) word(k kind, v uint64) {
	i := len(w.words)
	w.words = append(w.words, v)
	if w.before == nil || w.differs != "" {
		return
	}
	if i >= len(w.before.words) {
		w.fault("there were fewer words before")
		return
	}
	was := w.before.words[i]
	now, then := int64(v), int64(was)
	period := int64(w.at - w.before.at)
	switch k {
	case count:
	case past:
		if now <= int64(w.at) && then <= int64(w.before.at) {
			return
		}
		fallthrough
	case instant:
		if now-then != period && (now != then || now > 0 && now != int64(unit.Never)) {
			w.fault("%v behind the moment, and %v before", unit.Time(now)-w.at, unit.Time(then)-w.before.at)
		}
	default:
		switch {
		case v == was:
		case w.float:
			w.fault("%v, and %v before", math.Float64frombits(v), math.Float64frombits(was))
		default:
			w.fault("%d, and %d before", now, then)
		}
	}
}

var timeType = reflect.TypeFor[unit.Time]()

// What users of a program read about a field that cannot be compared.
const (
	mistake = "this is a mistake in the program that has the field: please report it"
	noTag   = "this time has no tag that tells an instant from a span; " + mistake
)

// value walks through a value, whose field has this tag.
func (w *walk) value(v reflect.Value, tag string) {
	if len(w.passing) > 0 && slices.Contains(w.passing, v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		b := uint64(0)
		if v.Bool() {
			b = 1
		}
		w.word(kindOf(tag), b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if tag == "" && v.Type() == timeType {
			w.fail(noTag)
		}
		w.word(kindOf(tag), uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.word(kindOf(tag), v.Uint())
	case reflect.Float32, reflect.Float64:
		w.float = true
		w.word(kindOf(tag), math.Float64bits(v.Float()))
		w.float = false
	case reflect.String:
		w.word(same, hash(v.String()))
	case reflect.Pointer:
		w.pointer(v, tag)
	case reflect.Interface:
		if v.IsNil() {
			w.word(same, 0)
			return
		}
		w.word(same, hash(v.Elem().Type().String()))
		w.value(v.Elem(), tag)
	case reflect.Slice, reflect.Array:
		w.list(v, tag)
	case reflect.Struct:
		w.fields(v, tag)
	case reflect.Map:
		w.table(v, tag)
	case reflect.Func:
		if !v.IsNil() { // its variables cannot be seen
			w.fail("a function may have state, and its field has no tag `state:\"-\"`; " + mistake)
		}
		w.word(same, uint64(v.Pointer()))
	default:
		w.fail("a %v has no state that could be compared; "+mistake, v.Kind())
	}
}

// hash is FNV-1a.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h ^= uint64(s[i])
		h *= 1099511628211
	}
	return h
}

func kindOf(tag string) kind {
	switch tag {
	case "count":
		return count
	case "instant":
		return instant
	case "past":
		return past
	}
	return same
}

// pointer walks through what a pointer leads to, once.
func (w *walk) pointer(v reflect.Value, tag string) {
	if v.IsNil() {
		w.word(same, 0)
		return
	}
	key := seen{v.Pointer(), v.Type()}
	if n, is := w.seen[key]; is {
		w.word(same, n)
		return
	}
	n := uint64(len(w.seen) + 1)
	w.seen[key] = n
	w.word(same, n)
	w.value(v.Elem(), tag)
}

func (w *walk) list(v reflect.Value, tag string) {
	depth, n := len(w.path), v.Len()
	w.word(same, uint64(n))
	for i := range n {
		w.path = append(w.path[:depth], step{index: i})
		w.value(v.Index(i), tag)
	}
	w.path = w.path[:depth]
}

// fields walks through those of a struct that are state.
func (w *walk) fields(v reflect.Value, tag string) {
	depth := len(w.path)
	for _, f := range w.fieldsOf(v.Type()) {
		own := f.tag
		if own == "" {
			own = tag
		}
		w.path = append(w.path[:depth], step{name: f.name})
		w.value(v.Field(f.index), own)
	}
	w.path = w.path[:depth]
}

// field is one of a struct that is state.
type field struct {
	index     int
	name, tag string
}

func (w *walk) fieldsOf(t reflect.Type) []field {
	if all, is := w.known[t]; is {
		return all
	}
	all := []field{}
	for i := range t.NumField() {
		f := t.Field(i)
		if tag := f.Tag.Get("state"); tag != "-" && f.Name != "_" {
			all = append(all, field{i, f.Name, tag})
		}
	}
	w.known[t] = all
	return all
}

// table walks through a map in the order of its keys.
func (w *walk) table(v reflect.Value, tag string) {
	depth := len(w.path)
	w.word(same, uint64(v.Len()))
	keys := v.MapKeys()
	names := make(map[string]reflect.Value, len(keys))
	order := make([]string, 0, len(keys))
	for _, k := range keys {
		name := fmt.Sprint(k)
		if _, twice := names[name]; twice {
			w.fail("two keys are written %s; "+mistake, name)
		}
		names[name] = k
		order = append(order, name)
	}
	slices.Sort(order)
	for _, name := range order {
		w.path = append(w.path[:depth], step{name: name, keyed: true})
		w.word(same, hash(name))
		w.value(v.MapIndex(names[name]), tag)
	}
	w.path = w.path[:depth]
}
