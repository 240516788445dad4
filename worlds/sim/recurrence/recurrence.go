package recurrence

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"weir/core/state"
	"weir/core/unit"
)

// Root is a named root of the state: a pointer Value, or a function Words that passes the words itself, relative to the
// moment.
type Root struct {
	Name  string
	Value any
	Words func(word func(name string, value int64))
}

// Snapshot is the value of all words at one time.
type Snapshot struct {
	words []uint64
	at    unit.Time
	known map[reflect.Type][]field // the fields of the types in it; later states of the same run extend it
}

// Words returns the number of words.
func (s *Snapshot) Words() int { return len(s.words) }

// Take reads the state at a moment. With an earlier one it returns the first word that differs from it; "": the states
// are the same.
func Take(roots []Root, now unit.Time, before *Snapshot) (s *Snapshot, differs string) {
	w := newWalk(now, before)
	w.all(roots)
	if before != nil && w.differs == "" && len(w.words) != len(before.words) {
		w.differs = fmt.Sprintf("all in all: %d words, %d before", len(w.words), len(before.words))
	}
	return &w.Snapshot, w.differs
}

// Survey describes the types of a state.
type Survey struct {
	// Faults prevent the state from ever recurring. Each has a path, type and field: a time without a kind, or another
	// value that cannot be compared. Elements of lists and maps that share a path apart from their places are listed once,
	// by the first. A fault is a mistake in the type that holds the field, not a property of a run.
	Faults []string
	// Types are the structs in the state. They include the types of elements of empty lists and of nil pointers, except
	// for the contents of interfaces.
	Types []reflect.Type
}

// NewSurvey examines the types of a state. Values of the types in passing are left out: they do not exist when states
// are compared.
func NewSurvey(roots []Root, passing ...reflect.Type) Survey {
	w := newWalk(0, nil)
	w.survey = &survey{faults: map[string]string{}, passing: passing, visited: map[visit]bool{}}
	w.all(roots)
	types := slices.Collect(maps.Keys(w.known)) //weir:unordered they are sorted
	slices.SortFunc(types, func(a, b reflect.Type) int { return strings.Compare(a.String(), b.String()) })
	return Survey{slices.Sorted(maps.Values(w.survey.faults)), types} //weir:unordered they are sorted
}

// survey is a Survey in progress.
type survey struct {
	faults  map[string]string // by path without places, the first text
	passing []reflect.Type
	visited map[visit]bool
}

// visit is a type that was examined without a value, with the kind of the field that holds it.
type visit struct {
	of   reflect.Type
	kind state.FieldKind
}

// newWalk returns a walk at now that compares with before; nil: it compares with no state.
func newWalk(now unit.Time, before *Snapshot) *walk {
	w := &walk{Snapshot: Snapshot{at: now}, before: before, seen: map[seen]uint64{}}
	if before == nil {
		w.known = map[reflect.Type][]field{}
		return w
	}
	w.words, w.known = make([]uint64, 0, len(before.words)), before.known
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
				w.word(state.Plain, uint64(value))
			})
			continue
		}
		w.value(reflect.ValueOf(r.Value), state.Plain)
	}
}

// walk is a Take or a NewSurvey in progress.
type walk struct {
	Snapshot
	before  *Snapshot
	seen    map[seen]uint64 // pointers, numbered in the order of the walk
	path    []step
	owner   reflect.Type // the struct with the last field of the path; nil: no field yet
	field   string       // its name
	differs string
	survey  *survey // nil: Take
	float   bool    // the word is a float64's bits
}

// step leads from a value to one of its parts: a field, or an element.
type step struct {
	name  string // "": the element of this index
	index int
	keyed bool // the name is the key of a map
}

// String returns the step in Go syntax.
func (s step) String() string {
	switch {
	case s.keyed:
		return "[" + s.name + "]"
	case s.name == "":
		return "[" + strconv.Itoa(s.index) + "]"
	}
	return "." + s.name
}

// seen identifies a pointer: its address and type.
type seen struct {
	at uintptr
	of reflect.Type
}

// fault records a difference, if it is the first.
func (w *walk) fault(format string, arguments ...any) {
	if w.differs == "" {
		w.differs = w.place() + ": " + fmt.Sprintf(format, arguments...)
	}
}

// fail records a value that cannot be compared, with the field that has it.
func (w *walk) fail(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...) + "; " + mistake
	if w.owner != nil {
		text = fmt.Sprintf("%v.%s %s", w.owner, w.field, text)
	}
	if w.survey == nil {
		w.fault("%s", text)
		return
	}
	var b strings.Builder
	for i, s := range w.path {
		switch {
		case i == 0: // the root: all switches have the same types
		case s.keyed || s.name == "":
			b.WriteString("[]")
		default:
			b.WriteString("." + s.name)
		}
	}
	if _, known := w.survey.faults[b.String()]; !known {
		w.survey.faults[b.String()] = w.place() + ": " + text
	}
}

// place returns the path in Go syntax.
func (w *walk) place() string {
	var b strings.Builder
	for _, s := range w.path {
		b.WriteString(s.String())
	}
	return b.String()[1:]
}

// word adds a word, and compares it with the earlier state by its kind.
func (w *walk) word(k state.FieldKind, v uint64) {
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
	case state.Count:
	case state.Past:
		if now <= int64(w.at) && then <= int64(w.before.at) {
			return
		}
		fallthrough
	case state.Instant:
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

// Texts for users of a program about a field that cannot be compared.
const (
	mistake = "this is a mistake in the program that has the field: please report it"
	noKind  = "is a time and has no kind that distinguishes an instant from a span (package state)"
	noFunc  = "is a function, which may have state, and its kind is not state.Ignored"
)

// value walks through a value of a field with this kind.
func (w *walk) value(v reflect.Value, kind state.FieldKind) {
	if w.survey != nil && slices.Contains(w.survey.passing, v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		b := uint64(0)
		if v.Bool() {
			b = 1
		}
		w.word(kind, b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if kind == state.Plain && v.Type() == timeType {
			w.fail(noKind)
		}
		w.word(kind, uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.word(kind, v.Uint())
	case reflect.Float32, reflect.Float64:
		w.float = true
		w.word(kind, math.Float64bits(v.Float()))
		w.float = false
	case reflect.String:
		w.word(state.Plain, hash(v.String()))
	case reflect.Pointer:
		w.pointer(v, kind)
	case reflect.Interface:
		if v.IsNil() {
			w.word(state.Plain, 0)
			return
		}
		w.word(state.Plain, hash(v.Elem().Type().String()))
		w.value(v.Elem(), kind)
	case reflect.Slice, reflect.Array:
		w.list(v, kind)
	case reflect.Struct:
		w.fields(v, kind)
	case reflect.Map:
		w.table(v, kind)
	case reflect.Func:
		if !v.IsNil() { // its variables cannot be seen
			w.fail(noFunc)
		}
		w.word(state.Plain, uint64(v.Pointer()))
	default:
		w.fail("is a %v, which has no state that could be compared", v.Kind())
	}
}

// hash returns FNV-1a of a string.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h ^= uint64(s[i])
		h *= 1099511628211
	}
	return h
}

// pointer walks through the value of a pointer, once.
func (w *walk) pointer(v reflect.Value, kind state.FieldKind) {
	if v.IsNil() {
		w.word(state.Plain, 0)
		w.elements(v.Type(), kind)
		return
	}
	key := seen{v.Pointer(), v.Type()}
	if n, is := w.seen[key]; is {
		w.word(state.Plain, n)
		return
	}
	n := uint64(len(w.seen) + 1)
	w.seen[key] = n
	w.word(state.Plain, n)
	w.value(v.Elem(), kind)
}

// list walks through a slice or an array.
func (w *walk) list(v reflect.Value, kind state.FieldKind) {
	depth, n := len(w.path), v.Len()
	w.word(state.Plain, uint64(n))
	if n == 0 {
		w.elements(v.Type(), kind)
	}
	for i := range n {
		w.path = append(w.path[:depth], step{index: i})
		w.value(v.Index(i), kind)
	}
	w.path = w.path[:depth]
}

// fields walks through the fields of a struct that are state.
func (w *walk) fields(v reflect.Value, kind state.FieldKind) {
	depth, owner, name := len(w.path), w.owner, w.field
	for _, f := range w.fieldsOf(v.Type()) {
		own := f.kind
		if own == state.Plain {
			own = kind
		}
		w.path = append(w.path[:depth], step{name: f.name})
		w.owner, w.field = v.Type(), f.name
		w.value(v.Field(f.index), own)
	}
	w.path, w.owner, w.field = w.path[:depth], owner, name
}

// field is a field of a struct that is state.
type field struct {
	index int
	name  string
	kind  state.FieldKind
}

// fieldsOf returns the fields of a struct that are state. It reads the type's description when it first meets the type.
func (w *walk) fieldsOf(t reflect.Type) []field {
	if all, is := w.known[t]; is {
		return all
	}
	all := []field{}
	kinds := state.KindsOf(t)
	for i := range t.NumField() {
		f := field{index: i, name: t.Field(i).Name}
		if kinds != nil {
			f.kind = kinds[i]
		}
		if f.kind != state.Ignored && f.name != "_" {
			all = append(all, f)
		}
	}
	w.known[t] = all
	return all
}

// elements makes a survey examine the element type of an empty list or map, or of a nil pointer.
func (w *walk) elements(t reflect.Type, kind state.FieldKind) {
	if w.survey == nil {
		return
	}
	depth := len(w.path)
	if t.Kind() != reflect.Pointer {
		w.path = append(w.path, step{keyed: true})
	}
	w.typ(t.Elem(), kind)
	w.path = w.path[:depth]
}

// typ examines a type without a value.
func (w *walk) typ(t reflect.Type, kind state.FieldKind) {
	if slices.Contains(w.survey.passing, t) {
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		w.elements(t, kind)
	case reflect.Struct:
		if v := (visit{t, kind}); !w.survey.visited[v] {
			w.survey.visited[v] = true
			w.fields(reflect.Zero(t), kind)
		}
	default:
		if t == timeType && kind == state.Plain {
			w.fail(noKind)
		}
	}
}

// table walks through a map in the order of its keys.
func (w *walk) table(v reflect.Value, kind state.FieldKind) {
	depth := len(w.path)
	w.word(state.Plain, uint64(v.Len()))
	if v.Len() == 0 {
		w.elements(v.Type(), kind)
	}
	keys := v.MapKeys()
	names := make(map[string]reflect.Value, len(keys))
	order := make([]string, 0, len(keys))
	for _, k := range keys {
		name := fmt.Sprint(k)
		if _, twice := names[name]; twice {
			w.fail("has two keys that are written %s", name)
		}
		names[name] = k
		order = append(order, name)
	}
	slices.Sort(order)
	for _, name := range order {
		w.path = append(w.path[:depth], step{name: name, keyed: true})
		w.word(state.Plain, hash(name))
		w.value(v.MapIndex(names[name]), kind)
	}
	w.path = w.path[:depth]
}
