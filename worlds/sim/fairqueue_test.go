package sim

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/core/unit"
)

// crowd is a run of datagram flows from one host each over one link of 1 Gb/s: floods, with their rates and
// payloads, and a sparse flow. The sparse flow is the last one, has 1 Mb/s, and begins when the floods have filled
// the buffer.
func crowd(t testing.TB, fair *tm.FQ, rates []unit.Rate, payloads []int32) *Config {
	n := &topology.Network{}
	for i := range len(rates) + 2 {
		n.Nodes = append(n.Nodes, topology.Node{Name: fmt.Sprint("h", i)})
	}
	sink, s := len(rates)+1, len(rates)+2
	n.Nodes = append(n.Nodes, topology.Node{Name: "s", Switch: true})
	for i := range sink {
		n.Links = append(n.Links, topology.Link{Ends: [2]int{i, s}, Rate: unit.LinkRate{Bits: 10 * unit.Gbps},
			Delay: unit.Microsecond})
	}
	n.Links = append(n.Links, topology.Link{Ends: [2]int{s, sink}, Rate: unit.LinkRate{Bits: unit.Gbps},
		Delay: unit.Microsecond, Buffer: unit.Length{Bytes: 300 * unit.KB}})
	c := &Config{Wiring: wiring.Config{Seed: 5, Network: n, Framing: packet.Framings[0]},
		Selection: outcome.Selection{Delays: true},
		Duration:  40 * unit.Millisecond}
	forwarding(c)
	if fair != nil {
		c.Wiring.Switches[s].Scheduler = func(int, unit.LinkRate) (tm.Scheduler, error) { return tm.NewFQ(*fair), nil }
	}
	for i := range sink {
		rate, payload, group, start := unit.Mbps, int32(100), 1, 5*unit.Millisecond
		if i < len(rates) {
			rate, payload, group, start = rates[i], payloads[i], 0, unit.Time(i)*unit.Microsecond
		}
		f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(i + 1), Dst: packet.Addr(sink + 1), SrcPort: uint16(100 +
			i), DstPort: 7, Version: uint8(4 + i%2*2),
			Payload: payload, Framing: packet.Framings[0], Random: unit.NewRandom(5, fmt.Sprint("flow ", i)), Start: start,
			Stop: unit.Never}
		us, ur, err := udp.New(f, udp.Config{Rate: rate, Pattern: udp.CBR, GapJitter: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		c.Add(outcome.Flow{Group: group, Src: i, Dst: sink, Start: f.Start,
			SrcPort: f.SrcPort, DstPort: f.DstPort}, us, ur)
	}
	return c
}

// TestFairQueueing checks that floods of any rate and packet size get equal shares of the link in frames' bytes,
// and that a sparse flow neither waits for them nor loses packets. First in, first out gives shares by sent bytes,
// and the sparse flow waits like all others.
func TestFairQueueing(t *testing.T) {
	rates := []unit.Rate{400 * unit.Mbps, 3 * unit.Gbps, 800 * unit.Mbps, 300 * unit.Mbps, 5 * unit.Gbps, 600 * unit.Mbps}
	payloads := []int32{1472, 1472, 100, 700, 300, 1200}
	share := func(fair *tm.FQ) (jain float64, longest unit.Time, lost int64, evicted uint64) {
		c := crowd(t, fair, rates, payloads)
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		sum, squares := 0.0, 0.0
		for i := range rates {
			header := int32(14 + 20 + 8)
			if i%2 == 1 {
				header += 20
			}
			f := float64(r.Flows[i].Receiver.ReceivedPackets) * float64(payloads[i]+header)
			sum, squares = sum+f, squares+f*f
		}
		sparse := r.Flows[len(rates)]
		lost = int64(sparse.Sender.SentPackets) - int64(sparse.Receiver.ReceivedPackets)
		return sum * sum / (float64(len(rates)) * squares), sparse.Receiver.DelayMax, lost, r.Drops[dataplane.Evicted]
	}
	j, longest, lost, evicted := share(&tm.FQ{Flows: 1024, Quantum: 1534, NewFirst: true})
	t.Logf("new flows first: Jain's index %.4f, the sparse flow's longest delay %v, %d lost", j, longest, lost)
	// one frame of 1534 bytes before it takes 12.3 µs, the way 2 µs and its own 142 bytes 1.3 µs
	if j < 0.99 || longest > 16*unit.Microsecond || lost > 1 || evicted == 0 {
		t.Errorf("new flows first: Jain's index %.4f, longest delay %v, %d lost, %d gave way", j, longest, lost, evicted)
	}
	j, longest, lost, _ = share(&tm.FQ{Flows: 1024, Quantum: 1534})
	t.Logf("round robin: Jain's index %.4f, the sparse flow's longest delay %v, %d lost", j, longest, lost)
	if j < 0.99 || longest > 2*6*13*unit.Microsecond || lost > 1 { // of each flood a quantum and a frame
		t.Errorf("round robin: Jain's index %.4f, longest delay %v, %d lost", j, longest, lost)
	}
	j, longest, lost, evicted = share(nil)
	t.Logf("first in, first out: Jain's index %.4f, the sparse flow's longest delay %v, %d lost", j, longest, lost)
	if j > 0.8 || longest < unit.Millisecond || lost < 2 || evicted != 0 {
		t.Errorf("first in, first out: Jain's index %.4f, longest delay %v, %d lost", j, longest, lost)
	}
}

// seen notes the seed that a scheduler is given.
type seen struct {
	tm.Scheduler
	seeds *[]uint32
}

func (s seen) SetSeed(seed uint32) { *s.seeds = append(*s.seeds, seed) }

// TestFairQueueingSame checks that fair queues give the same trace with packets as bytes and in any window, including
// marks. The seed of the hash is the run's, different for each port.
func TestFairQueueingSame(t *testing.T) {
	build := func(change func(*Config)) *Config {
		c := config(t, 1, nil)
		c.Duration = 400 * unit.Microsecond
		for i := range c.Wiring.Switches {
			others := c.Wiring.Switches[i].Programs
			c.Wiring.Switches[i].Scheduler = func(int, unit.LinkRate) (tm.Scheduler, error) {
				return tm.NewFQ(tm.FQ{Flows: 4, Quantum: 300}), nil
			}
			c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
				list, err := others(site)
				if err != nil {
					return nil, err
				}
				p, err := dataplanetest.BuildProgram(ecn.Scheme(), site, "kmin", "3 kB", "kmax", "9 kB")
				return append(list, p), err
			}
		}
		if change != nil {
			change(c)
		}
		queuePairs(t, c)
		return c
	}
	if r := runConfig(t, build(nil)); r.Drops[dataplane.Evicted] == 0 {
		t.Error("no packet is evicted")
	}
	var seeds []uint32
	c := config(t, 1, nil)
	for i := range c.Wiring.Switches {
		c.Wiring.Switches[i].Scheduler = func(int, unit.LinkRate) (tm.Scheduler, error) {
			return seen{tm.NewFIFO(), &seeds},
				nil
		}
	}
	if _, err := New(c); err != nil {
		t.Fatal(err)
	}
	if seeds = slices.Compact(slices.Sorted(slices.Values(seeds))); len(seeds) != 20 {
		t.Errorf("%d ports have seeds of their own, there are 20", len(seeds))
	}
	sameInEveryForm(t, "fair queues", mainForms, build, nil)
}
