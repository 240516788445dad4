package aimd

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
)

// TestAIMD_HoldsModelInvariants plays random events to the controller, and checks the invariants that cctest's
// model requires of every controller.
func TestAIMD_HoldsModelInvariants(t *testing.T) {
	for seed := range uint64(20) {
		x, err := cctest.BuildController(Scheme(), cctest.NewFlow(seed))
		if err != nil {
			t.Fatal(err)
		}
		random, story := rand.New(rand.NewPCG(seed, 1)), make([]byte, 4000)
		for i := range story {
			story[i] = byte(random.IntN(256))
		}
		if err := (&cctest.Model{Controller: x}).PlayStory(story); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestAIMD_LossKeepsGivenShare checks that a loss leaves the share of the window that the parameter keep gives.
func TestAIMD_LossKeepsGivenShare(t *testing.T) {
	for given, want := range map[string]int{"50%": 10, "85%": 17} {
		t.Run(given, func(t *testing.T) {
			x, err := cctest.BuildController(Scheme(), cctest.NewFlow(1), "keep", given)
			if err != nil {
				t.Fatal(err)
			}
			x.OnAck(0, &cc.Ack{Packets: 10, Advanced: true, Limited: true}) // slow start: 10 + 10
			x.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
			if got := int(x.Decision().Window / cctest.MSS); got != want {
				t.Errorf("%d packets, want %d", got, want)
			}
		})
	}
}

func ExampleScheme() {
	x, _ := cctest.BuildController(Scheme(), cctest.NewFlow(1), "keep", "85%")
	x.OnAck(0, &cc.Ack{Packets: 10, Advanced: true, Limited: true})
	x.OnLoss(0, cc.Loss{Kind: cc.FastRecovery})
	fmt.Println(x.Decision().Window)
	// Output: 17kB
}
