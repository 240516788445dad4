package hpcc

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/unit"
)

// TestConfig_PresetsSetParameters checks that without a preset maxStage is the drafts' 5, and W_ai and T are as given.
// The HPCC simulator has a maxStage of 0. The draft's table (draft-miao §4.1) has maxStage 5, T of 5 us, and W_ai by
// the rule of draft-miao §5, for a hundred flows. Given values override each, with every scheme on this law.
func TestConfig_PresetsSetParameters(t *testing.T) {
	// 100 Gb/s and a path of 10 us: W_init is 125,000 bytes, and 62,500 with the draft's T.
	for _, c := range []struct {
		given []string
		want  string
	}{
		{nil, "stage 5 t 10us w_ai 80"},
		{[]string{"preset", "default", "w_ai", "25 B", "t", "13us"}, "stage 5 t 13us w_ai 25"},
		{[]string{"preset", "simulator"}, "stage 0 t 10us w_ai 80"},
		{[]string{"preset", "simulator", "w_ai", "25 B", "t", "13us"}, "stage 0 t 13us w_ai 25"},
		{[]string{"preset", "simulator", "max_stage", "5"}, "stage 5 t 10us w_ai 80"},
		{[]string{"max_stage", "0"}, "stage 0 t 10us w_ai 80"},
		{[]string{"preset", "draft"}, "stage 5 t 5us w_ai 31.25"},
		{[]string{"preset", "draft", "n", "10"}, "stage 5 t 5us w_ai 312.5"},
		{[]string{"preset", "draft", "t", "20us", "eta", "98%"}, "stage 5 t 20us w_ai 50"},
		{[]string{"preset", "draft", "max_stage", "0"}, "stage 0 t 5us w_ai 31.25"},
		{[]string{"max_stage", "3", "n", "100"}, "stage 3 t 10us w_ai 62.5"},
	} {
		for _, s := range []cc.Scheme{Scheme(), PINTScheme()} {
			t.Run(fmt.Sprint(s.Name, c.given), func(t *testing.T) {
				x, err := cctest.BuildController(s, newFlow(), c.given...)
				if err != nil {
					t.Fatal(err)
				}
				var l *law
				switch x := x.(type) {
				case *Sender:
					l = &x.law
				case *PINT:
					l = &x.law
				}
				got := fmt.Sprintf("stage %d t %v w_ai %.5g", l.config.MaxStage, l.t, l.wai)
				if got != c.want || l.w != l.maxWindow || l.maxWindow != float64(l.t)*float64(100*unit.Gbps)/8e12 {
					t.Errorf("%s, W %v of %v, want %s", got, l.w, l.maxWindow, c.want)
				}
			})
		}
	}
	// The sender of Rx-HPCC starts with the window of the same T.
	f := NewFollower(newFlow(), Config{Preset: Draft, Eta: 0.95})
	if w := f.Decision().Window; w != 62500 {
		t.Errorf("the follower starts with %v", w)
	}
}
