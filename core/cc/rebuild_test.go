package cc_test

import (
	"testing"

	"weir/core/cc"
	"weir/core/scheme"
)

// old is a controller with memory that a new one may take.
type old struct{ cc.Controller }

// nothing is a configuration without parameters.
type nothing struct{}

func (*nothing) Params(*scheme.Params) {}

// around wraps a controller.
type around struct{ cc.Controller }

// TestRebuild_ReusesOnlyOwnKind checks that a controller reuses only an old one of its own kind. A wrapper around
// Build, as in tests, then wraps all controllers.
func TestRebuild_ReusesOnlyOwnKind(t *testing.T) {
	s := cc.DefineReusing[nothing](cc.Scheme{}, func(_ cc.Flow, _ nothing, o cc.Controller) (*old, error) {
		if k, is := o.(*old); is {
			return k, nil
		}
		return &old{}, nil
	})
	first, err := s.Build(cc.Flow{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if k, err := s.Rebuild(cc.Flow{}, nil, first); k != first || err != nil {
		t.Errorf("of its own: %v, %v", k, err)
	}
	for _, other := range []cc.Controller{nil, around{first}} {
		if k, err := s.Rebuild(cc.Flow{}, nil, other); k != nil || err != nil {
			t.Errorf("of %v: %v, %v", other, k, err)
		}
	}
}
