package tm_test

import (
	"testing"

	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// TestFQCoDelStartsAgain checks RFC 8290 §4.2: a flow with an empty queue at its turn is a new flow at its next packet,
// with a whole quantum. Its turn is when the port has sent the previous frame. A packet that arrives earlier finds the
// flow with the rest of its quantum.
func TestFQCoDelStartsAgain(t *testing.T) {
	const a, b = 1, 2
	link := unit.LinkRate{Bits: 8 * unit.Mbps} // 1000 bytes take 1 ms
	for _, x := range []struct {
		name    string
		arrival unit.Time
		order   [3]uint32
	}{{"after the frame", unit.Millisecond, [3]uint32{a, a, b}}, {"much later", unit.Second, [3]uint32{a, a, b}},
		{"during the frame", unit.Millisecond - 1, [3]uint32{a, b, a}}} {
		t.Run(x.name, func(t *testing.T) {
			p := tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFQCoDel(scheme.Defaults[tm.FQCoDel](), link), link)
			push := func(flow uint32, at unit.Time) { p.Push(0, &packet.Packet{Hash: flow, Size: 1000, Enqueued: at}) }
			push(a, 0)
			p.DequeueNext(0)
			push(a, x.arrival)
			push(a, x.arrival)
			push(b, x.arrival)
			for i, want := range x.order {
				if q, _, _ := p.DequeueNext(x.arrival + unit.Time(i+1)*unit.Millisecond); q.Hash != want {
					t.Errorf("packet %d is of flow %d, want %d", i+1, q.Hash, want)
				}
			}
		})
	}
}
