package fabric

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"weir/core/packet"
	"weir/core/unit"
)

// atOnce runs all parts at the same time.
func atOnce(parts int) func(func(int)) {
	return func(run func(int)) {
		var all sync.WaitGroup
		for k := range parts {
			all.Go(func() { run(k) })
		}
		all.Wait()
	}
}

// backwards runs them in the other order.
func backwards(parts int) func(func(int)) {
	return func(run func(int)) {
		for k := parts - 1; k >= 0; k-- {
			run(k)
		}
	}
}

// TestEvents_AreIndependentOfParts checks that the events of each node, and their times, do not depend on the parts,
// nor on which of them is first.
func TestEvents_AreIndependentOfParts(t *testing.T) {
	crossed := 0
	for seed := range uint64(8) {
		for _, window := range []unit.Time{0, 100 * unit.Nanosecond, 2 * unit.Microsecond} {
			want, f0, _ := mesh(seed, 9, window, false)
			for parts := 2; parts <= 4; parts++ {
				for name, together := range map[string]func(func(int)){"in order": nil, "at once": atOnce(parts),
					"backwards": backwards(parts)} {
					pools := make([]*packet.Pool, parts)
					for k := range pools {
						pools[k] = &packet.Pool{}
					}
					got, f := meshOf(seed, 9, window, seed%2 == 1, pools, together)
					if strings.Join(got, "") != strings.Join(want, "") || f.CountEvents() != f0.CountEvents() ||
						f.CountHops() != f0.CountHops() {
						t.Fatalf("seed %d, window %v, %d parts %s: the nodes see something else", seed, window, parts, name)
					}
					live := f.InFlight()
					for _, p := range pools {
						live += p.LiveCount()
					}
					if live != 0 {
						t.Errorf("seed %d, window %v, %d parts: %d packets are left", seed, window, parts, live)
					}
					for i := range f.ports {
						if f.ports[i].crosses {
							crossed += int(f.ports[i].sent)
						}
					}
				}
			}
		}
	}
	if crossed == 0 {
		t.Error("no frame went from one part to another")
	}
}

// TestBetweenParts checks that a caller between windows also sees the frames between parts.
func TestBetweenParts(t *testing.T) {
	var pools [2]packet.Pool
	src := &relay{pool: &pools[0]}
	for n := range 3 {
		src.plan = append(src.plan, planned{0, 0, 125, int64(n)})
	}
	dst := &relay{pool: &pools[1]}
	f := mustNew(t, Config{Nodes: []Node{src, dst}, Pool: &pools[0], MoreParts: []Part{{Pool: &pools[1]}},
		PartOf: []int32{0, 1},
		Links:  []Link{{From: 0, To: 1, Rate: inBits(unit.Gbps), Delay: 10 * unit.Microsecond}}})
	asked := 0
	f.Run(12*unit.Microsecond, func(done unit.Time) bool {
		if asked++; asked > 1 {
			return false
		}
		if n, arrived := f.InFlight(), f.CountArrived(0); n != 3 || arrived != 0 || f.LinkCounters(0).Sent != 3 {
			t.Errorf("by %v %d frames are on their way, %d have arrived and %d were sent; want 3, 0, 3", done, n, arrived,
				f.LinkCounters(0).Sent)
		}
		for p := range f.OnWire(0) {
			if p.Size != 125 {
				t.Errorf("a frame of %d bytes", p.Size)
			}
		}
		return false
	})
	if asked == 0 || f.CountArrived(0) != 1 || f.NextEvent() != 12*unit.Microsecond {
		t.Errorf("%d windows, %d frames have arrived, the next one comes at %v", asked, f.CountArrived(0), f.NextEvent())
	}
	// A change of rate moves the frame that is being sent, wherever it is.
	f.SetRate(0, unit.LinkRate{Bits: unit.Gbps}, 12*unit.Microsecond)
	if f.Run(unit.Never, nil); f.CountArrived(0) != 3 {
		t.Errorf("%d of 3 frames have arrived", f.CountArrived(0))
	}
}

// TestImpossibleParts checks that impossible parts are refused.
func TestImpossibleParts(t *testing.T) {
	short := []Link{{From: 0, To: 1, Rate: inBits(unit.Gbps), Delay: unit.Nanosecond},
		{From: 1, To: 2, Rate: inBits(unit.Gbps), Delay: unit.Microsecond}}
	for _, c := range []struct {
		of   []int32
		want string
	}{
		{[]int32{0, 1}, "parts of 2 nodes, there are 3"},
		{[]int32{0, 0, 2}, "node 2 is in part 2 of 2"},
		{[]int32{0, -1, 0}, "node 1 is in part -1 of 2"},
		{[]int32{0, 1, 0}, "node 1 is in part 1, and another one of its group in part 0"},
	} {
		t.Run(c.want, func(t *testing.T) {
			var pool packet.Pool
			nodes := []Node{&relay{pool: &pool}, &relay{pool: &pool}, &relay{pool: &pool}}
			_, err := New(Config{Nodes: nodes, Links: short, Pool: &pool, MoreParts: []Part{{Pool: &pool}}, PartOf: c.of,
				Window: unit.Microsecond})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if got := fmt.Sprint(GroupNodes(3, short, unit.Microsecond)); got != "[0 0 1]" {
		t.Errorf("groups %s", got)
	}
	if got := fmt.Sprint(GroupNodes(3, short, 0)); got != "[0 1 2]" {
		t.Errorf("groups %s", got)
	}
}

// TestFabric_StructsFillCacheLines checks that fields that two threads write are in different cache lines.
func TestFabric_StructsFillCacheLines(t *testing.T) {
	for name, size := range map[string]uintptr{"port": unsafe.Sizeof(port{}), "wire": unsafe.Sizeof(wire{}),
		"group": unsafe.Sizeof(group{}), "member": unsafe.Sizeof(member{}), "extra": unsafe.Sizeof(extra{})} {
		t.Run(name, func(t *testing.T) {
			if size%64 != 0 {
				t.Errorf("a %s has %d bytes, which are no whole lines", name, size)
			}
			if size > 64 && (name == "port" || name == "wire") {
				t.Errorf("a %s, which every packet touches, has %d bytes", name, size)
			}
		})
	}
}
