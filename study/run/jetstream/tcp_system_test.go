//go:build system

package jetstream

import (
	"fmt"
	"testing"
)

// TestOverTCP checks that workers that join by TCP, together with the coordinator's own, give the same bytes as one
// machine.
func TestOverTCP(t *testing.T) {
	s := sweepOf(t, 40)
	want := here(t, s)
	p := newTCPParty(t)
	p.config.Jobs = 1
	p.guests(func(j *Join) {
		for i := range 2 {
			p.worker(Worker{Name: fmt.Sprintf("w%d", i)}, j)
		}
	})
	o, _, err := p.execute(t.Context(), s)
	if err != nil || o.Missing+len(o.Failed) > 0 {
		t.Fatalf("%v, %+v", err, o)
	}
	p.same(want)
}
