package recurrence

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"weir/core/state"
	"weir/core/unit"
)

// whole has all that state is made of.
type whole struct {
	flag    bool
	number  int32
	share   float64
	name    string
	sent    uint64
	due     unit.Time
	free    unit.Time
	delay   unit.Time
	scratch []int
	list    []part
	times   []unit.Time
	table   map[string]int
	self    *whole
	other   any
	call    func()
	random  unit.Random
	_       [8]byte
}

type part struct{ x, y uint16 }

// entry and table have fields that lack a kind: last, call and gap.
type entry struct {
	last unit.Time
	due  unit.Time
	call func()
}

type table struct {
	gap     unit.Time
	entries []entry
	by      map[string]*entry
	periods []unit.Time
	entry   entry
	skipped unit.Time
}

func init() {
	state.Describe(func(x *whole) state.Kinds {
		return state.Kinds{
			&x.sent:    state.Count,
			&x.due:     state.Instant,
			&x.free:    state.Past,
			&x.delay:   state.Span,
			&x.scratch: state.Ignored,
			&x.times:   state.Instant,
		}
	})
	state.Describe(func(x *entry) state.Kinds { return state.Kinds{&x.due: state.Instant} })
	state.Describe(func(x *table) state.Kinds {
		return state.Kinds{&x.periods: state.Span, &x.entry: state.Span, &x.skipped: state.Ignored}
	})
}

func begin() *whole {
	w := &whole{flag: true, number: 7, share: .5, name: "a", sent: 10, due: 150, free: 40, delay: 3, scratch: []int{1},
		list: []part{{1, 2}, {3, 4}}, times: []unit.Time{100, unit.Never}, table: map[string]int{"b": 2, "a": 1},
		other: &part{5, 6}, random: unit.NewRandom(1, "x")}
	w.self = w
	return w
}

// later returns the same state 1,000 later.
func later() *whole {
	w := begin()
	w.sent, w.due, w.free, w.times[0] = 99, w.due+1000, 77, w.times[0]+1000
	w.scratch = nil
	return w
}

// TestTakeSnapshot_NamesChangedWords checks that each word that differs is named, except those that may differ.
func TestTakeSnapshot_NamesChangedWords(t *testing.T) {
	for name, x := range map[string]struct {
		change func(w *whole)
		want   string
	}{
		"nothing": {func(*whole) {}, ""},
		"flag":    {func(w *whole) { w.flag = false }, "x.flag: 0, previously 1"},
		"number":  {func(w *whole) { w.number = -1 }, "x.number: -1, previously 7"},
		"share":   {func(w *whole) { w.share = .25 }, "x.share: "},
		"name":    {func(w *whole) { w.name = "b" }, "x.name: "},
		"due":     {func(w *whole) { w.due++ }, "x.due: 51ps after the current time, previously 50ps"},
		"stale":   {func(w *whole) { w.due -= 1000 }, "x.due: "},
		"free":    {func(w *whole) { w.free = 2000 }, "x.free: "},
		"delay":   {func(w *whole) { w.delay = 1003 }, "x.delay: "},
		"list":    {func(w *whole) { w.list[1].y = 0 }, "x.list[1].y: 0, previously 4"},
		"length":  {func(w *whole) { w.list = w.list[:1] }, "x.list: 1, previously 2"},
		"times":   {func(w *whole) { w.times[1] = 1200 }, "x.times[1]: "},
		"table":   {func(w *whole) { w.table["a"] = 3 }, "x.table[a]: 3, previously 1"},
		"key":     {func(w *whole) { delete(w.table, "a"); w.table["c"] = 1 }, "x.table[b]: "},
		"self":    {func(w *whole) { w.self = nil }, "x.self: 0, previously "},
		"other":   {func(w *whole) { w.other = &whole{} }, "x.other: "},
		"kind":    {func(w *whole) { w.other = 5 }, "x.other: "},
		"call":    {func(w *whole) { w.call = func() {} }, "x.call: "},
		"random":  {func(w *whole) { w.random.Uint64() }, "x.random.Rand.src.hi: "},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(v *whole) []Root { return []Root{{Name: "x", Value: v}} }
			before, differs := TakeSnapshot(at(begin()), 100, nil)
			if differs != "" {
				t.Fatal(differs)
			}
			w := later()
			x.change(w)
			_, differs = TakeSnapshot(at(w), 1100, before)
			if !strings.HasPrefix(differs, x.want) || (differs == "") != (x.want == "") {
				t.Errorf("%q, not %q", differs, x.want)
			}
		})
	}
}

// TestNoKind checks that a time without a kind differs, even from itself.
func TestNoKind(t *testing.T) {
	type plain struct{ at unit.Time }
	_, differs := TakeSnapshot([]Root{{Name: "x", Value: &plain{1}}}, 0, nil)
	if differs != "x.at: recurrence.plain.at "+noKind+"; "+mistake {
		t.Error(differs)
	}
}

// TestNewSurvey checks that a survey lists each field without a kind once, wherever it is: in lists, maps and behind
// pointers, at several roots, and also where lists and maps are empty and pointers are nil.
func TestNewSurvey(t *testing.T) {
	x := &table{gap: 1, entry: entry{last: 1, due: 1}, skipped: 1, entries: make([]entry, 3),
		by: map[string]*entry{"a": {}, "b": {}}, periods: make([]unit.Time, 2)}
	x.entries[1].call, x.entries[2].call, x.by["b"].call = func() {}, func() {}, func() {}
	two := []Root{{Name: "s0", Value: x}, {Name: "s1", Value: &table{entries: make([]entry, 1)}}}
	entries := reflect.TypeFor[entry]()
	for _, c := range []struct {
		roots   []Root
		passing []reflect.Type
		want    string
	}{
		{two, nil, "s0.by[a].last: recurrence.entry.last, s0.by[b].call: recurrence.entry.call, " +
			"s0.entries[0].last: recurrence.entry.last, s0.entries[1].call: recurrence.entry.call, " +
			"s0.gap: recurrence.table.gap"},
		{two, []reflect.Type{entries}, "s0.gap: recurrence.table.gap"},
		{[]Root{{Name: "x", Value: &entry{}}}, nil, "x.last: recurrence.entry.last"},
		{[]Root{{Name: "x", Value: &table{}}}, nil, "x.entries[].last: recurrence.entry.last, x.gap: recurrence.table.gap"},
		{[]Root{{Name: "x", Value: (*table)(nil)}}, []reflect.Type{entries}, "x.gap: recurrence.table.gap"},
		{[]Root{{Name: "x", Value: &map[int]unit.Time{}}}, nil, "x[]: is"},
		{[]Root{{Name: "x", Value: &whole{other: 1}}}, nil, ""},
	} {
		var faults []string
		for _, text := range NewSurvey(c.roots, c.passing...).Faults {
			fields := strings.Fields(text)
			if faults = append(faults, fields[0]+" "+fields[1]); !strings.HasSuffix(text, mistake) {
				t.Error(text)
			}
		}
		if got := strings.Join(faults, ", "); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
	types := NewSurvey([]Root{{Name: "x", Value: (*table)(nil)}}).Types
	if !slices.Equal(types, []reflect.Type{entries, reflect.TypeFor[table]()}) {
		t.Error(types)
	}
}

// TestTakeSnapshot_ReportsUnreadableState checks that unreadable state differs, too: the variables of a function, and
// the values of two keys with the same text.
func TestTakeSnapshot_ReportsUnreadableState(t *testing.T) {
	n := 0
	for want, value := range map[string]any{
		"x: " + noFunc + "; " + mistake:                    &[]func(){func() { n++ }}[0],
		"x: has two keys with the same text 1; " + mistake: &map[any]int{1: 5, "1": 6},
	} {
		if _, differs := TakeSnapshot([]Root{{Name: "x", Value: value}}, 0, nil); differs != want {
			t.Errorf("%q, not %q", differs, want)
		}
	}
}

// TestTakeSnapshot_ComparesGivenWords checks that a type that provides its words is compared by these.
func TestTakeSnapshot_ComparesGivenWords(t *testing.T) {
	words := func(all ...int64) []Root {
		return []Root{{Name: "x", Words: func(word func(string, int64)) {
			for _, v := range all {
				word("w", v)
			}
		}}}
	}
	before, _ := TakeSnapshot(words(1, 2), 0, nil)
	for want, roots := range map[string][]Root{"": words(1, 2), "x.w: 3, previously 2": words(1, 3),
		"in total: 1 words, previously 2": words(1), "x.w: there were fewer words previously": words(1, 2, 3)} {
		if _, differs := TakeSnapshot(roots, 9, before); differs != want {
			t.Errorf("%q, not %q", differs, want)
		}
	}
}

// BenchmarkTake measures the cost of a word.
func BenchmarkTake(b *testing.B) {
	all := make([]part, 1<<16)
	for i := range all {
		all[i] = part{uint16(rand.Uint32()), uint16(i)}
	}
	roots := []Root{{Name: "x", Value: &all}}
	before, _ := TakeSnapshot(roots, 0, nil)
	for b.Loop() {
		if _, differs := TakeSnapshot(roots, 1, before); differs != "" {
			b.Fatal(differs)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(before.Words()), "ns/word")
}
