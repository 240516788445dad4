package none_test

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/cc/none"
	"weir/core/unit"
)

// TestNone_KeepsItsDecision checks that the decision is the same after any event.
func TestNone_KeepsItsDecision(t *testing.T) {
	c := none.New(cctest.NewDatacentreFlow(1), none.Config{Packets: 7})
	want := cc.Decision{Window: 7000, Rate: 40 * unit.Gbps, NextTimer: unit.Never}
	c.OnSend(1, cc.Sent{Bytes: 1000})
	c.OnAck(2, &cc.Ack{Packets: 1, RTT: cc.RTT{Sample: unit.Second}, ECN: cc.ECN{Echo: true}})
	c.OnNotice(3, cc.Notice{Kind: cc.CNPNotice})
	c.OnLoss(4, cc.Loss{Kind: cc.RetransmissionTimeout})
	c.OnTimer(5)
	if d := c.Decision(); d != want {
		t.Errorf("%+v, want %+v", d, want)
	}
}

// TestScheme_AppliesRateAndWindow checks that rates and windows are as an experiment gives them, or as the path's.
// Impossible ones are refused.
func TestScheme_AppliesRateAndWindow(t *testing.T) {
	for _, c := range []struct {
		path  string
		f     cc.Flow
		given []string
		want  cc.Decision
	}{
		{"known", cctest.NewDatacentreFlow(1), nil, cc.Decision{Window: cc.Unlimited * 1000, Rate: 40 * unit.Gbps,
			NextTimer: unit.Never}},
		// no rate is known: not paced
		{"unknown", cctest.NewFlow(1), nil, cc.Decision{Window: cc.Unlimited * 1000, NextTimer: unit.Never}},
		{"unknown", cctest.NewFlow(1), []string{"rate", "3Gbps", "packets", "9 packets"}, cc.Decision{Window: 9000,
			Rate:      3 * unit.Gbps,
			NextTimer: unit.Never}},
		{"known", cctest.NewDatacentreFlow(1), []string{"window", "bdp"}, cc.Decision{Window: 50_000, Rate: 40 * unit.Gbps,
			NextTimer: unit.Never}},
		{"known", cctest.NewDatacentreFlow(1), []string{"window", "bdp", "base_rtt", "20us"}, cc.Decision{Window: 100_000,
			Rate: 40 * unit.Gbps, NextTimer: unit.Never}},
		{"known", cctest.NewDatacentreFlow(1), []string{"line_rate", "10Gbps"}, cc.Decision{Window: cc.Unlimited * 1000,
			Rate:      10 * unit.Gbps,
			NextTimer: unit.Never}},
	} {
		t.Run(fmt.Sprint("path ", c.path, " ", c.given), func(t *testing.T) {
			got, err := cctest.BuildController(none.Scheme(), c.f, c.given...)
			if err != nil {
				t.Fatal(err)
			}
			if d := got.Decision(); d != c.want {
				t.Errorf("%q: %+v, want %+v", c.given, d, c.want)
			}
		})
	}
	for _, given := range [][]string{{"rate", "50Gbps"}, {"window", "bdp", "rate", "50Gbps"}} {
		if _, err := cctest.BuildController(none.Scheme(), cctest.NewDatacentreFlow(1), given...); err == nil {
			t.Errorf("%q is taken", given)
		}
	}
	if _, err := cctest.BuildController(none.Scheme(), cctest.NewFlow(1), "window", "bdp"); err == nil {
		t.Error("a window of an unknown bandwidth-delay product is taken")
	}
}

func ExampleNew() {
	c := none.New(cc.Flow{MSS: 1000}, none.Config{Rate: 5 * unit.Gbps})
	fmt.Println(c.Decision().Rate)
	// Output: 5Gbps
}
