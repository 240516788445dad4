package e2e

import (
	"testing"

	"weir/app"
	"weir/core/transport"
	"weir/core/transport/transporttest"
)

// TestContractHasTransports checks that the contract runs each registered transport, and the transport that replays
// a capture.
func TestContractHasTransports(t *testing.T) {
	type form struct {
		name     string
		captured bool
	}
	formOf := func(x *transport.Scheme, captured bool) form { return form{x.Name + " " + x.Doc, captured} }
	tested := map[form]bool{}
	for _, k := range transporttest.Transports() {
		tested[formOf(&k.Scheme, k.Script != nil)] = true
	}
	registered := 0
	for _, x := range app.Registry().Transports {
		registered++
		if !tested[formOf(&x, false)] {
			t.Errorf("transport %s is registered and not in transporttest.Transports", x.Name)
		}
		if x.Captured != nil && !tested[formOf(x.Captured, true)] {
			t.Errorf("transport %s of captures is registered and not in transporttest.Transports", x.Captured.Name)
		}
	}
	if registered == 0 {
		t.Error("no transport is registered")
	}
}
