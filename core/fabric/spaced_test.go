package fabric

import (
	"fmt"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestLink_SpacedDeliversAfterDelayOnly checks that a spaced link delivers the first of three frames after only the
// delay and the others a frame's time apart, as BMv2's ports do. Any other link holds each frame for its time. Over a
// long time both carry the same.
func TestLink_SpacedDeliversAfterDelayOnly(t *testing.T) {
	const frame = 50 * unit.Millisecond
	for _, spaced := range []bool{false, true} {
		t.Run(fmt.Sprint("spaced ", spaced), func(t *testing.T) {
			var pool packet.Pool
			src := &relay{pool: &pool}
			at := []unit.Time{0, 0, 0, unit.Second} // the last one finds the port idle
			for i := range at {
				src.plan = append(src.plan, planned{at[i], 0, 1400, int64(i)})
			}
			want := []unit.Time{0, frame, 2 * frame, unit.Second}
			dst := &relay{pool: &pool, seen: func(now unit.Time, p *packet.Packet) {
				due := want[p.Seq] + unit.Millisecond
				if !spaced {
					due += frame
				}
				if now != due {
					t.Errorf("frame %d arrives at %v, not at %v", p.Seq, now, due)
				}
				want[p.Seq] = unit.Never
			}}
			f := mustNew(t, Config{Nodes: []Node{src, dst}, Pool: &pool, Links: []Link{{From: 0, To: 1,
				Rate: unit.LinkRate{Packets: 20}, Delay: unit.Millisecond, Spaced: spaced}}})
			f.Run(unit.Never, nil)
			for i, x := range want {
				if x != unit.Never {
					t.Errorf("frame %d has not arrived", i)
				}
			}
		})
	}
}
