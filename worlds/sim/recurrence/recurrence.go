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
	time  unit.Time
	known map[reflect.Type][]field // the fields of the types in it; later states of the same run extend it
}

// Words returns the number of words.
func (s *Snapshot) Words() int { return len(s.words) }

// TakeSnapshot reads the state at a moment. If before is not nil, it compares each word by its kind with that earlier
// state, and returns the first word that differs; "": the states are the same, or before is nil. before must have the
// same roots; the two share the description of types. The state is not changed.
func TakeSnapshot(roots []Root, now unit.Time, before *Snapshot) (s *Snapshot, differs string) {
	w := newWalk(now, before)
	w.walkRoots(roots)
	if before != nil && w.differs == "" && len(w.words) != len(before.words) {
		w.differs = fmt.Sprintf("in total: %d words, previously %d", len(w.words), len(before.words))
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
	w.walkRoots(roots)
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
	typ  reflect.Type
	kind state.FieldKind
}

// newWalk returns a walk at now that compares with before and shares its description of types; nil: it compares with no
// state.
func newWalk(now unit.Time, before *Snapshot) *walk {
	w := &walk{Snapshot: Snapshot{time: now}, before: before, seen: map[pointerKey]uint64{}}
	if before == nil {
		w.known = map[reflect.Type][]field{}
		return w
	}
	w.words, w.known = make([]uint64, 0, len(before.words)), before.known
	return w
}

// walkRoots walks through the roots and adds their words to the snapshot.
func (w *walk) walkRoots(roots []Root) {
	for i := range roots {
		r := &roots[i]
		w.path = append(w.path[:0], step{name: r.Name})
		if r.Words != nil {
			r.Words(func(name string, value int64) {
				w.path = append(w.path[:1], step{name: name})
				w.addWord(state.Plain, uint64(value))
			})
			continue
		}
		w.walkValue(reflect.ValueOf(r.Value), state.Plain)
	}
}

// walk is a TakeSnapshot or a NewSurvey in progress.
type walk struct {
	Snapshot
	before  *Snapshot
	seen    map[pointerKey]uint64 // pointers, numbered in the order of the walk
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

// pointerKey identifies a pointer: its address and type.
type pointerKey struct {
	address uintptr
	typ     reflect.Type
}

// recordDifference records a difference, if it is the first.
func (w *walk) recordDifference(format string, arguments ...any) {
	if w.differs == "" {
		w.differs = w.formatPath() + ": " + fmt.Sprintf(format, arguments...)
	}
}

// recordFault records a value that cannot be compared, with the field that has it: in a survey as a fault, else as a
// difference.
func (w *walk) recordFault(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...) + "; " + mistake
	if w.owner != nil {
		text = fmt.Sprintf("%v.%s %s", w.owner, w.field, text)
	}
	if w.survey == nil {
		w.recordDifference("%s", text)
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
		w.survey.faults[b.String()] = w.formatPath() + ": " + text
	}
}

// formatPath returns the path in Go syntax.
func (w *walk) formatPath() string {
	var b strings.Builder
	for _, s := range w.path {
		b.WriteString(s.String())
	}
	return b.String()[1:]
}

// addWord adds a word, and compares it with the earlier state by its kind: a count may differ, an instant is relative
// to its moment, and so is a past time unless both are past. Only the first difference is recorded.
func (w *walk) addWord(k state.FieldKind, v uint64) {
	i := len(w.words)
	w.words = append(w.words, v)
	if w.before == nil || w.differs != "" {
		return
	}
	if i >= len(w.before.words) {
		w.recordDifference("there were fewer words previously")
		return
	}
	was := w.before.words[i]
	now, then := int64(v), int64(was)
	period := int64(w.time - w.before.time)
	switch k {
	case state.Count:
	case state.Past:
		if now <= int64(w.time) && then <= int64(w.before.time) {
			return
		}
		fallthrough
	case state.Instant:
		if now-then != period && (now != then || now > 0 && now != int64(unit.Never)) {
			w.recordDifference("%v after the current time, previously %v",
				unit.Time(now)-w.time, unit.Time(then)-w.before.time)
		}
	default:
		switch {
		case v == was:
		case w.float:
			w.recordDifference("%v, previously %v", math.Float64frombits(v), math.Float64frombits(was))
		default:
			w.recordDifference("%d, previously %d", now, then)
		}
	}
}

var timeType = reflect.TypeFor[unit.Time]()

// Texts for users of a program about a field that cannot be compared.
const (
	mistake = "this is an error in the program that has the field; please report it"
	noKind  = "is a time without a kind that distinguishes an instant from a span (package state)"
	noFunc  = "is a function, which may have state, but its kind is not state.Ignored"
)

// walkValue walks through a value of a field with this kind, and adds its words. Values that cannot be compared are
// faults.
func (w *walk) walkValue(v reflect.Value, kind state.FieldKind) {
	if w.survey != nil && slices.Contains(w.survey.passing, v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		b := uint64(0)
		if v.Bool() {
			b = 1
		}
		w.addWord(kind, b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if kind == state.Plain && v.Type() == timeType {
			w.recordFault(noKind)
		}
		w.addWord(kind, uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.addWord(kind, v.Uint())
	case reflect.Float32, reflect.Float64:
		w.float = true
		w.addWord(kind, math.Float64bits(v.Float()))
		w.float = false
	case reflect.String:
		w.addWord(state.Plain, hashString(v.String()))
	case reflect.Pointer:
		w.walkPointer(v, kind)
	case reflect.Interface:
		if v.IsNil() {
			w.addWord(state.Plain, 0)
			return
		}
		w.addWord(state.Plain, hashString(v.Elem().Type().String()))
		w.walkValue(v.Elem(), kind)
	case reflect.Slice, reflect.Array:
		w.walkList(v, kind)
	case reflect.Struct:
		w.walkFields(v, kind)
	case reflect.Map:
		w.walkMap(v, kind)
	case reflect.Func:
		if !v.IsNil() { // its variables cannot be seen
			w.recordFault(noFunc)
		}
		w.addWord(state.Plain, uint64(v.Pointer()))
	default:
		w.recordFault("is a %v, which has no comparable state", v.Kind())
	}
}

// hashString returns FNV-1a of a string.
func hashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h ^= uint64(s[i])
		h *= 1099511628211
	}
	return h
}

// walkPointer walks through the value of a pointer, once. Each further occurrence adds only the pointer's number.
func (w *walk) walkPointer(v reflect.Value, kind state.FieldKind) {
	if v.IsNil() {
		w.addWord(state.Plain, 0)
		w.surveyElements(v.Type(), kind)
		return
	}
	key := pointerKey{v.Pointer(), v.Type()}
	if n, is := w.seen[key]; is {
		w.addWord(state.Plain, n)
		return
	}
	n := uint64(len(w.seen) + 1)
	w.seen[key] = n
	w.addWord(state.Plain, n)
	w.walkValue(v.Elem(), kind)
}

// walkList walks through a slice or an array: its length is a word, and then follow its elements.
func (w *walk) walkList(v reflect.Value, kind state.FieldKind) {
	depth, n := len(w.path), v.Len()
	w.addWord(state.Plain, uint64(n))
	if n == 0 {
		w.surveyElements(v.Type(), kind)
	}
	for i := range n {
		w.path = append(w.path[:depth], step{index: i})
		w.walkValue(v.Index(i), kind)
	}
	w.path = w.path[:depth]
}

// walkFields walks through the fields of a struct that are state. A field without a kind of its own has the struct's.
func (w *walk) walkFields(v reflect.Value, kind state.FieldKind) {
	depth, owner, name := len(w.path), w.owner, w.field
	for _, f := range w.fieldsOf(v.Type()) {
		own := f.kind
		if own == state.Plain {
			own = kind
		}
		w.path = append(w.path[:depth], step{name: f.name})
		w.owner, w.field = v.Type(), f.name
		w.walkValue(v.Field(f.index), own)
	}
	w.path, w.owner, w.field = w.path[:depth], owner, name
}

// field is a field of a struct that is state.
type field struct {
	index int
	name  string
	kind  state.FieldKind
}

// fieldsOf returns the fields of a struct that are state. It reads the type's description when it first meets the type,
// and keeps it.
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

// surveyElements makes a survey examine the element type of an empty list or map, or of a nil pointer.
func (w *walk) surveyElements(t reflect.Type, kind state.FieldKind) {
	if w.survey == nil {
		return
	}
	depth := len(w.path)
	if t.Kind() != reflect.Pointer {
		w.path = append(w.path, step{keyed: true})
	}
	w.surveyType(t.Elem(), kind)
	w.path = w.path[:depth]
}

// surveyType examines a type without a value. It examines each struct once for each kind.
func (w *walk) surveyType(t reflect.Type, kind state.FieldKind) {
	if slices.Contains(w.survey.passing, t) {
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		w.surveyElements(t, kind)
	case reflect.Struct:
		if v := (visit{t, kind}); !w.survey.visited[v] {
			w.survey.visited[v] = true
			w.walkFields(reflect.Zero(t), kind)
		}
	default:
		if t == timeType && kind == state.Plain {
			w.recordFault(noKind)
		}
	}
}

// walkMap walks through a map in the order of its keys as text. Two keys with the same text are a fault.
func (w *walk) walkMap(v reflect.Value, kind state.FieldKind) {
	depth := len(w.path)
	w.addWord(state.Plain, uint64(v.Len()))
	if v.Len() == 0 {
		w.surveyElements(v.Type(), kind)
	}
	keys := v.MapKeys()
	names := make(map[string]reflect.Value, len(keys))
	order := make([]string, 0, len(keys))
	for _, k := range keys {
		name := fmt.Sprint(k)
		if _, twice := names[name]; twice {
			w.recordFault("has two keys with the same text %s", name)
		}
		names[name] = k
		order = append(order, name)
	}
	slices.Sort(order)
	for _, name := range order {
		w.path = append(w.path[:depth], step{name: name, keyed: true})
		w.addWord(state.Plain, hashString(name))
		w.walkValue(v.MapIndex(names[name]), kind)
	}
	w.path = w.path[:depth]
}
