package sim

import (
	"fmt"
	"testing"

	"weir/core/cc"
	boltsender "weir/core/cc/bolt"
	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/feedback/bolt"
	"weir/core/dataplane/forward"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/rdma"
	"weir/core/unit"
)

// boltPath is a run of two senders of Bolt, one over IPv4 and one over IPv6, at a switch from which a link of their
// rate leads over 100 µs to the switch of their receivers. The second one begins after 2 ms, and has 400 kB.
func boltPath(t testing.TB, given ...string) *Config {
	n := &topology.Network{}
	for i := range 4 {
		n.Nodes = append(n.Nodes, topology.Node{Name: fmt.Sprint("h", i)})
	}
	n.Nodes = append(n.Nodes, topology.Node{Name: "near", Switch: true}, topology.Node{Name: "far", Switch: true})
	for _, l := range []struct {
		a, b  int
		delay unit.Time
	}{{4, 5, 100 * unit.Microsecond}, {0, 4, unit.Microsecond}, {1, 4, unit.Microsecond}, {2, 5, unit.Microsecond},
		{3, 5, unit.Microsecond}} {
		n.Links = append(n.Links, topology.Link{Ends: [2]int{l.a, l.b}, Rate: unit.LinkRate{Bits: 10 * unit.Gbps},
			Delay: l.delay})
	}
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: n, Framing: packet.Framings[0]}, Duration: 4 * unit.Millisecond}
	forwarding(c)
	for i := range c.Wiring.Switches {
		c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			p, err := dataplanetest.BuildProgram(bolt.Scheme(), site, given...)
			return []dataplane.Program{forward.New(site), p}, err
		}
	}
	control := boltsender.Scheme()
	control.Build = func(f cc.Flow, _ scheme.Config) (cc.Controller, error) {
		return boltsender.New(f, boltsender.Defaults())
	}
	for i := range 2 {
		f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(i + 1), Dst: packet.Addr(i + 3), SrcPort: uint16(100 + i),
			DstPort: 7, Version: uint8(4 + 2*i), Start: unit.Time(i) * 2 * unit.Millisecond,
			Size: []unit.Bytes{unit.GB, 400 * unit.KB}[i], Payload: 1000, Framing: packet.Framings[0],
			Random: unit.NewRandom(1, fmt.Sprint("flow ", i)), Stop: unit.Never,
			Path: cc.Path{NICRate: 10 * unit.Gbps, LineRate: 9400 * unit.Mbps, BaseRTT: 210 * unit.Microsecond}, CC: &control}
		s, r, err := rdma.New(f, rdma.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		c.Add(outcome.Flow{Src: i, Dst: i + 2, Size: f.Size, SrcPort: f.SrcPort,
			DstPort: f.DstPort}, s, r)
	}
	c.Watches = append(c.Watches, outcome.Watch{What: outcome.Window, Index: 0, Every: unit.Microsecond},
		outcome.Watch{What: outcome.QueueBytes, Index: 0, Every: unit.Microsecond})
	return c
}

// TestBolt_ReactsWithinRoundTrip checks that a sender reacts to another that starts at line rate within a round trip,
// by the switch's notice. By acknowledgements it reacts a round trip later, and the queue is longer by the arrivals
// meanwhile. When the other ends, so does the queue, and the link is used again within two round trips.
func TestBolt_ReactsWithinRoundTrip(t *testing.T) {
	type figures struct {
		first unit.Time // from the other's start to the first reduction
		queue int64     // most bytes that wait, and those at the end
		end   int64
		words int64
		bytes int64 // that the first one has brought in the last millisecond
	}
	run := func(given ...string) (f figures) {
		c := boltPath(t, given...)
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		const start = 2000
		window := r.Watched[0]
		for k := start; k < len(window) && f.first == 0; k++ {
			if window[k] < window[start]-2000 {
				f.first = unit.Time(k-start) * unit.Microsecond
			}
		}
		for _, q := range r.Watched[1][start:] {
			f.queue = max(f.queue, q)
		}
		f.end = r.Watched[1][len(r.Watched[1])-1]
		f.words = c.Endpoints[0].Sender.(*rdma.Sender).Notices()
		f.bytes = int64(r.Flows[0].Receiver.ReceivedBytes)
		return f
	}
	src, acks := run(), run("src", "false")
	t.Logf("by the switch %+v, by acknowledgements %+v", src, acks)
	if src.first == 0 || src.first > 30*unit.Microsecond || src.words == 0 {
		t.Errorf("by the switch it takes %v", src.first)
	}
	if acks.first < 210*unit.Microsecond || acks.words != 0 {
		t.Errorf("by acknowledgements it takes %v, with %d words of switches", acks.first, acks.words)
	}
	if acks.queue <= src.queue || src.end > 10_000 {
		t.Errorf("queues of %d and %d bytes, at the end %d", src.queue, acks.queue, src.end)
	}
	if most := int64(4e-3 * 9.4e9 / 8); src.bytes < most*3/4 { // the other has 400 kB, a tenth
		t.Errorf("%d bytes of the link's %d", src.bytes, most)
	}
}

// TestBoltSame checks that result and trace are the same with packets as bytes, for any windows of the run.
func TestBoltSame(t *testing.T) {
	for _, given := range [][]string{nil, {"src", "false"}} {
		sameInEveryForm(t, fmt.Sprint("given ", given), mainForms, func(change func(*Config)) *Config {
			c := boltPath(t, given...)
			c.Duration = 2 * unit.Millisecond
			if change != nil {
				change(c)
			}
			return c
		}, nil)
	}
}
