package cli

import (
	"math/rand/v2"
	"testing"

	"weir/core/cc/cctest"
)

// TestKeepsOnSend checks that OnSend leaves the Decision unchanged in schemes that declare KeepsOnSend, because
// transports do not compare it. Packets follow pauses, losses and marks, too. A scheme without the declaration
// changes its Decision, so the check can fail.
func TestKeepsOnSend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := false
	for _, s := range Registry().Controllers {
		packets := 0
		for range 30 {
			story := make([]byte, 4000)
			for i := range story {
				story[i] = byte(r.IntN(256))
			}
			c, err := cctest.BuildController(s, cctest.NewDatacentreFlow(7))
			if err != nil {
				t.Fatal(err)
			}
			n, err := cctest.CheckKeepsOnSend(c, story)
			packets += n
			if err != nil && s.KeepsOnSend {
				t.Errorf("%s: %v", s.Name, err)
			}
			found = found || err != nil
		}
		if packets < 100 {
			t.Errorf("%s: %d packets were sent: this tests nothing", s.Name, packets)
		}
		t.Logf("%s: %d packets", s.Name, packets)
	}
	if !found {
		t.Error("no scheme's Decision is changed by packets that are sent: nothing is compared")
	}
}
