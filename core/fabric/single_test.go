package fabric

import (
	"fmt"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestSingleOrNot checks that it makes no difference which groups keep a heap: a single node, one with a link to
// itself, one joined with others, and one with a window for which keys have no room.
func TestSingleOrNot(t *testing.T) {
	logs := map[string]string{}
	for _, c := range []struct {
		name   string
		window unit.Time
		alone  int
	}{{"alone", 0, 3}, {"joined", unit.Second, 0}, {"no room for keys", maxWindow, 0}} {
		t.Run(c.name, func(t *testing.T) {
			f, log := selfLinked(t, c.window)
			alone := 0
			for i := range f.groups {
				if f.groups[i].single != nil {
					alone++
				}
			}
			if alone != c.alone {
				t.Errorf("%d groups of one node, want %d", alone, c.alone)
			}
			f.Run(unit.Second, nil)
			logs[c.name] = log()
		})
	}
	if logs["alone"] == "" || logs["alone"] != logs["joined"] || logs["alone"] != logs["no room for keys"] {
		t.Error("the outcome depends on the groups")
	}
}

// selfLinked is a star of four nodes. Its centre has a link to itself: packets take it on arrival, and then return to
// their senders. log returns what the centre saw.
func selfLinked(t *testing.T, window unit.Time) (f *Fabric, log func() string) {
	var pool packet.Pool
	var seen []string
	centre := &relay{pool: &pool, route: map[packet.PortID]packet.PortID{0: 3, 1: 3, 2: 3, 3: 0}}
	centre.seen = func(now unit.Time, p *packet.Packet) { seen = append(seen, fmt.Sprint(now, p.Seq)) }
	nodes := []Node{centre}
	links := []Link{{From: 0, To: 0, FromPort: 3, ToPort: 3, Rate: inBits(unit.Gbps), Delay: 7 * unit.Microsecond}}
	for i := range 3 {
		leaf := &relay{pool: &pool}
		for n := range 40 {
			leaf.plan = append(leaf.plan, planned{unit.Time(n/4) * 3 * unit.Microsecond, 0, int32(64 + 300*(n%5)),
				int64(100*i + n)})
		}
		nodes = append(nodes, leaf)
		port := packet.PortID(i)
		links = append(links,
			Link{From: i + 1, To: 0, ToPort: port, Rate: inBits(unit.Gbps), Delay: 5 * unit.Microsecond},
			Link{From: 0, FromPort: port, To: i + 1, Rate: inBits(unit.Gbps), Delay: 6 * unit.Microsecond})
	}
	f = mustNew(t, Config{Nodes: nodes, Pool: &pool, Links: links, Window: window})
	return f, func() string { return fmt.Sprint(seen) }
}
