package sim

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/cc/dcqcn"
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/feedback/fastcnp"
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

// longPath is a run of two DCQCN senders, one over IPv4 and one over IPv6, at a switch from
// which a link of their rate leads over a millisecond to the switch of their receivers.
func longPath(t testing.TB, program dataplane.Scheme, given ...string) *Config {
	n := &topology.Network{}
	for i := range 4 {
		n.Nodes = append(n.Nodes, topology.Node{Name: fmt.Sprint("h", i)})
	}
	n.Nodes = append(n.Nodes, topology.Node{Name: "near", Switch: true}, topology.Node{Name: "far", Switch: true})
	for _, l := range []struct {
		a, b  int
		delay unit.Time
	}{{4, 5, unit.Millisecond}, {0, 4, unit.Microsecond}, {1, 4, unit.Microsecond}, {2, 5, unit.Microsecond},
		{3, 5, unit.Microsecond}} {
		n.Links = append(n.Links, topology.Link{Ends: [2]int{l.a, l.b}, Rate: unit.LinkRate{Bits: 10 * unit.Gbps},
			Delay: l.delay})
	}
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: n, Framing: packet.Framings[0]}, Duration: 6 * unit.Millisecond}
	forwarding(c)
	for i := range c.Wiring.Switches {
		c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			p, err := dataplanetest.BuildProgram(program, site, append(given, "kmin", "20 kB", "kmax", "20 kB")...)
			return []dataplane.Program{forward.New(site), p}, err
		}
	}
	control := dcqcn.Scheme()
	control.Build = func(f cc.Flow, _ scheme.Config) (cc.Controller, error) { return dcqcn.New(f, dcqcn.PaperConfig()) }
	for i := range 2 {
		f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(i + 1), Dst: packet.Addr(i + 3), SrcPort: uint16(100 + i),
			DstPort: 7, Version: uint8(4 + 2*i),
			Size: unit.GB, Payload: 1000, Framing: packet.Framings[0], Random: unit.NewRandom(1, fmt.Sprint("flow ", i)),
			Stop: unit.Never,
			Path: cc.Path{NICRate: 10 * unit.Gbps, LineRate: 10 * unit.Gbps, BaseRTT: 2 * unit.Millisecond}, CC: &control}
		s, r, err := rdma.New(f, rdma.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		c.Add(outcome.Flow{Src: i, Dst: i + 2, Size: f.Size, SrcPort: f.SrcPort,
			DstPort: f.DstPort}, s, r)
		c.Watches = append(c.Watches, outcome.Watch{What: outcome.Rate, Index: i, Every: unit.Microsecond})
	}
	c.Watches = append(c.Watches, outcome.Watch{What: outcome.QueueBytes, Index: 0, Every: unit.Microsecond})
	return c
}

// TestFastCNP checks a long path: the switch's CNP arrives within the time that the queue needs to grow and the way to
// the sender, and the receiver's a round trip later, as the queue shows. With marks in addition both arrive. Otherwise
// no data is marked.
func TestFastCNP(t *testing.T) {
	type figures struct {
		first unit.Time // when both rates are below the line's
		queue int64     // most bytes that wait at the near switch
		cnps  int64     // of receivers
		taken int64     // by senders
	}
	run := func(program dataplane.Scheme, given ...string) (f figures) {
		c := longPath(t, program, given...)
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			// the pacing rate of payload, at the line's rate until the first CNP
			at := -1
			for k, rate := range r.Watched[i] {
				if rate < r.Watched[i][0] && rate > 0 {
					at = k
					break
				}
			}
			if at < 0 {
				t.Fatalf("%s: flow %d never reacts", program.Name, i)
			}
			f.first = max(f.first, unit.Time(at)*unit.Microsecond)
			f.cnps += c.Endpoints[i].Receiver.(*rdma.Receiver).CNPs()
			f.taken += c.Endpoints[i].Sender.(*rdma.Sender).Notices()
		}
		for _, q := range r.Watched[2] {
			f.queue = max(f.queue, q)
		}
		return f
	}
	receiver, fast, both := run(ecn.Scheme()), run(fastcnp.Scheme()), run(fastcnp.Scheme(), "mark", "true")
	t.Logf("first reaction and longest queue: by the receiver %v, %d bytes; by the switch %v, %d bytes; by "+
		"both %v, %d bytes",
		receiver.first, receiver.queue, fast.first, fast.queue, both.first, both.queue)
	// 20 kB at an excess of 10 Gb/s take 16 µs
	if fast.first < 16*unit.Microsecond || fast.first > 40*unit.Microsecond || both.first != fast.first {
		t.Errorf("the switch's CNP works after %v, both's after %v", fast.first, both.first)
	}
	if receiver.first < 2*unit.Millisecond || receiver.queue < 20*fast.queue {
		t.Errorf("the receiver's CNP works after %v; the queues are %d and %d bytes", receiver.first, receiver.queue,
			fast.queue)
	}
	if fast.cnps != 0 || fast.taken == 0 || receiver.cnps == 0 || both.cnps == 0 {
		t.Errorf("receivers' CNPs: %+v; %+v; %+v", receiver, fast, both)
	}
}

// TestFastCNPSame checks that result and trace are the same with packets as bytes, for any windows.
func TestFastCNPSame(t *testing.T) {
	for _, given := range [][]string{nil, {"mark", "true", "signed", "true", "at", "enqueue"}} {
		sameInEveryForm(t, fmt.Sprint("given ", given), mainForms, func(change func(*Config)) *Config {
			c := longPath(t, fastcnp.Scheme(), given...)
			c.Duration = 2 * unit.Millisecond
			if change != nil {
				change(c)
			}
			return c
		}, nil)
	}
}
