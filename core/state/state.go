package state

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// FieldKind is how a field takes part in a comparison. It holds for all that the field contains or points to, except
// for fields of structs in it that have a row of their own.
type FieldKind uint8

// Kinds of fields.
const (
	Plain   FieldKind = iota // the kind of a field that has no row: it has the same value at both moments
	Span                     // a length of time or a constant: compared like Plain
	Instant                  // a point in time: the same distance from both moments
	Past                     // an Instant that has no effect once it has passed
	Count                    // grows without limit, and only its differences have an effect: not compared
	// Ignored is no state: configuration, scratch memory, what has an effect only while packets are in the network, or
	// what the driver itself makes equal.
	Ignored
)

// Kinds are the kinds of fields of a struct, by pointer to the field.
type Kinds map[any]FieldKind

// descriptions has, by struct type, a function that returns the kinds of its fields. Only init functions write to it.
var descriptions = map[reflect.Type]func() []FieldKind{}

// Describe registers the kinds of fields of a struct. kinds is a func(x *T) Kinds, which gets a zero value of T and
// returns pointers to fields of it; it is not called before the type is looked up. Only init functions call Describe,
// once for each type; it panics if kinds is something else. It has no type parameter because each of the many types
// would add functions to a program, with names that list all fields.
func Describe(kinds any) {
	f := reflect.ValueOf(kinds)
	ft := f.Type()
	if ft.Kind() != reflect.Func || ft.NumIn() != 1 || ft.NumOut() != 1 || ft.Out(0) != reflect.TypeFor[Kinds]() ||
		ft.In(0).Kind() != reflect.Pointer || ft.In(0).Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("state: %v is no function from a pointer to a struct to Kinds", ft))
	}
	t := ft.In(0).Elem()
	if descriptions[t] != nil {
		panic(fmt.Sprintf("state: %v is described twice", t))
	}
	descriptions[t] = func() []FieldKind {
		x := reflect.New(t)
		all := make([]FieldKind, t.NumField())
		for field, kind := range f.Call([]reflect.Value{x})[0].Interface().(Kinds) { //weir:unordered each has its own place
			all[indexOf(x, reflect.ValueOf(field))] = kind
		}
		return all
	}
}

// indexOf returns the index of a field of a struct. Both are pointers. It panics if it is no field of that struct.
func indexOf(x, field reflect.Value) int {
	t := x.Type().Elem()
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == field.Type().Elem() && x.Pointer()+f.Offset == field.Pointer() {
			return i
		}
	}
	panic(fmt.Sprintf("state: the description of %v has a row for something that is not one of its fields, a %v", t,
		field.Type().Elem()))
}

// KindsOf returns the kinds of the fields of a struct type, by index. nil: the type has no description, and all its
// fields are Plain.
func KindsOf(t reflect.Type) []FieldKind {
	if describe := descriptions[t]; describe != nil {
		return describe()
	}
	return nil
}

// Described returns the types that have a description, in the order of their packages and names.
func Described() []reflect.Type {
	all := make([]reflect.Type, 0, len(descriptions))
	for t := range descriptions { //weir:unordered they are sorted
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b reflect.Type) int {
		return cmp.Or(cmp.Compare(a.PkgPath(), b.PkgPath()), cmp.Compare(a.Name(), b.Name()))
	})
	return all
}
