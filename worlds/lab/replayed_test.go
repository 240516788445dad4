//go:build !race

// Left out of race: long simulations that start no goroutines of their own.

package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/unit"
	"weir/worlds/lab"
)

// TestReplay_MatchesCapturedSwitch checks that the frames into a switch of the lab, replayed through the simulator's
// switch, give the same frames, byte for byte, in the same order and at the same picoseconds, whenever the lab's thread
// ran. A switch with a small difference, or with one frame less, does not.
func TestReplay_MatchesCapturedSwitch(t *testing.T) {
	for _, x := range switches {
		t.Run(x.name, func(t *testing.T) {
			c := configuration(t, fmt.Sprintf(x.spec, x.programs))
			c.Capture = &lab.Capture{Switches: []string{"*"}}
			random := unit.NewRandom(1, "wake")
			end := c.Lead + c.Duration
			r, capture := lab.Scripted(t, c, busy(t, c, end, x.gap), func(now unit.Time) unit.Time {
				return now + 1 + unit.Time(random.Int64N(int64(unit.Millisecond)))
			}, end)
			drops := uint64(0)
			for _, n := range r.Drops {
				drops += n
			}
			if r.Captured.In < 1000 || r.Captured.Out < 1000 || drops < 10 || r.Captured.Bytes != uint64(len(capture)) {
				t.Fatalf("%d frames in, %d out, %d dropped; nothing to see: %v", r.Captured.In, r.Captured.Out, drops, r.Drops)
			}
			made := 0
			for _, f := range read(t, capture) {
				if strings.Contains(f.Comment, "made") {
					made++
				}
			}
			t.Logf("%d frames in, %d out, %d of them made by switches; %d dropped", r.Captured.In, r.Captured.Out, made, drops)
			in, out, differ := uint64(0), uint64(0), false
			for _, node := range c.Wiring.Network.Nodes {
				if !node.Switch {
					continue
				}
				got := replay(t, configuration(t, fmt.Sprintf(x.spec, x.programs)), node.Name, capture)
				if got.First != nil || got.Cut || got.In == 0 {
					t.Errorf("%s: %d in, %d out: %v", node.Name, got.In, got.Out, got.First)
				}
				in, out = in+got.In, out+got.Out
				mutant := replay(t, configuration(t, fmt.Sprintf(x.spec, strings.ReplaceAll(x.mutant, "%%", "%"))),
					node.Name, capture)
				differ = differ || mutant.First != nil
				if d := mutant.First; d != nil && (d.Number != mutant.Out+1 || !strings.Contains(d.String(), "differ\n")) {
					t.Errorf("the first difference: %v", d)
				}
				for _, n := range []uint64{1, got.In * 9 / 10} { // without one of the frames that came in and went on
					less, gone := without(t, capture, node.Name, n)
					if d := replay(t, configuration(t, fmt.Sprintf(x.spec, x.programs)), node.Name, less); gone && d.First == nil {
						t.Errorf("%s: nobody sees that frame %d did not come in", node.Name, n)
					}
				}
			}
			if in != r.Captured.In || out != r.Captured.Out {
				t.Errorf("%d in, %d out; captured were %d and %d", in, out, r.Captured.In, r.Captured.Out)
			}
			if !differ {
				t.Errorf("%s does what %s does", x.mutant, x.programs)
			}
		})
	}
}
