package cli

import (
	"math/rand/v2"
	"testing"

	"weir/core/cc/cctest"
)

// Schemes that say that OnSend leaves the Decision as it is do so, with packets after pauses, losses and marks, too;
// transports do not look. One that does not say so is found out, so that the check can fail.
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
