package state

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

type inner struct{ First, second int }

type outer struct {
	inner
	count  uint64
	free   []int
	Plain  int
	next   int64
	placed struct{}
}

func init() {
	Describe(func(x *outer) Kinds {
		return Kinds{&x.inner: Span, &x.count: Count, &x.free: Ignored, &x.next: Instant, &x.placed: Past}
	})
	Describe(func(x *inner) Kinds { return Kinds{&x.second: Past} })
}

// TestKindsOf checks that kinds are at the places of the fields, also where a field begins where the struct or the next
// field begins.
func TestKindsOf(t *testing.T) {
	for _, x := range []struct {
		of   reflect.Type
		want []FieldKind
	}{
		{reflect.TypeFor[outer](), []FieldKind{Span, Count, Ignored, Plain, Instant, Past}},
		{reflect.TypeFor[inner](), []FieldKind{Plain, Past}},
		{reflect.TypeFor[struct{ x int }](), nil},
	} {
		if got := KindsOf(x.of); !slices.Equal(got, x.want) {
			t.Errorf("%v: %v, not %v", x.of, got, x.want)
		}
	}
}

// TestDescribed_SortsTypesByName checks that types are listed in the order of their names. It omits the types of the
// example, which is in another package.
func TestDescribed_SortsTypesByName(t *testing.T) {
	got := slices.DeleteFunc(Described(), func(x reflect.Type) bool { return x.PkgPath() != "weir/core/state" })
	if !slices.Equal(got, []reflect.Type{reflect.TypeFor[inner](), reflect.TypeFor[outer]()}) {
		t.Error(got)
	}
}

// TestDescribeRefuses checks that a type has only one description, and rows only for fields of its own.
func TestDescribeRefuses(t *testing.T) {
	type stray struct{ At *int }
	defer delete(descriptions, reflect.TypeFor[stray]())
	Describe(func(x *stray) Kinds { return Kinds{new(int): Count} })
	for want, call := range map[string]func(){
		"state: state.stray is described twice": func() { Describe(func(*stray) Kinds { return nil }) },
		"state: the description of state.stray has a row for something that is not one of its fields, a int": func() {
			KindsOf(reflect.TypeFor[stray]())
		},
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, want) {
					t.Errorf("%q, not %q", got, want)
				}
			}()
			call()
		}()
	}
}
