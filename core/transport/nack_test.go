package transport

import (
	"testing"

	"weir/core/cc"
	"weir/core/cc/reno"
	"weir/core/unit"
)

func TestNackGate(t *testing.T) {
	var g NackGate
	for i, s := range []struct {
		now, sent, rtt unit.Time
		want           bool
	}{{5, 3, 0, true}, {6, 6, 0, false}, {1000, 900, 0, false}, {1000, 4, 995, false}, {1000, 900, 995, true},
		{1994, 1994, 995, false},
		{1995, 999, 995, false}, {1995, 1000, 995, true}, {1996, 1996, 1, true}} {
		if got := g.AllowReduction(s.now, s.sent, s.rtt); got != s.want {
			t.Errorf("step %d, at %d with a round trip of %d: %t", i, s.now, s.rtt, got)
		}
	}
}

// TestWrapNacks checks that only nacks: supply puts a wrapper between the transport and its controller.
func TestWrapNacks(t *testing.T) {
	f := cc.Flow{MSS: 1000, InitialWindow: 10, Path: cc.Path{BaseRTT: unit.Millisecond}}
	for _, mode := range []string{NacksIgnored, NacksResend, NacksLoss, NacksSupply} {
		t.Run(mode, func(t *testing.T) {
			inner := reno.New(f)
			c, err := WrapNacks(mode, inner, f)
			if err != nil {
				t.Fatal(err)
			}
			if wrapped := c != cc.Controller(inner); wrapped != (mode == NacksSupply) {
				t.Errorf("%s: wrapped %v", mode, wrapped)
			}
			c.OnNotice(0, cc.Notice{Kind: cc.NackNotice, Lost: 1000, Supply: 8 * unit.Mbps})
			if rate := c.Decision().Rate; rate != map[bool]unit.Rate{true: 8 * unit.Mbps}[mode == NacksSupply] {
				t.Errorf("%s: rate %v", mode, rate)
			}
		})
	}
	if _, err := WrapNacks(NacksSupply, reno.New(f), cc.Flow{}); err == nil {
		t.Error("a flow without packets is taken")
	}
}
