package state

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// Kind is how a field takes part in a comparison. It holds for all that the field contains or points to, but for fields
// of structs in it that have a row of their own.
type Kind uint8

// Kinds of fields.
const (
	Plain   Kind = iota // the kind of a field that has no row: it has the same value at both moments
	Span                // a length of time or a constant: compared like Plain
	Instant             // a point in time: the same distance from both moments
	Past                // an Instant that has no effect once it has passed
	Count               // grows without limit, and only its differences have an effect: not compared
	// Ignored is no state: configuration, scratch memory, what has an effect only while packets are in the network, or
	// what the driver itself makes equal.
	Ignored
)

// Kinds are the kinds of fields of a struct, by pointer to the field.
type Kinds map[any]Kind

// descriptions has, by struct type, the function of Describe. Only init functions write to it.
var descriptions = map[reflect.Type]func(x any) Kinds{}

// Describe registers the kinds of fields of a struct. Only init functions call it, once for each type. kinds gets a
// zero value, and returns pointers to fields of it. It is not called before the type is looked up.
func Describe[T any](kinds func(x *T) Kinds) {
	register(reflect.TypeFor[T](), func(x any) Kinds { return kinds(x.(*T)) })
}

func register(t reflect.Type, kinds func(x any) Kinds) {
	if descriptions[t] != nil {
		panic(fmt.Sprintf("state: %v is described twice", t))
	}
	descriptions[t] = kinds
}

// indexOf returns the index of a field of a struct. Both are pointers.
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
func KindsOf(t reflect.Type) []Kind {
	describe := descriptions[t]
	if describe == nil {
		return nil
	}
	x := reflect.New(t)
	all := make([]Kind, t.NumField())
	for field, kind := range describe(x.Interface()) { //weir:unordered each has its own place
		all[indexOf(x, reflect.ValueOf(field))] = kind
	}
	return all
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
