package spec

import (
	"fmt"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
	"weir/worlds/sim"
)

// firstPort is the lowest source port of generated flows (HPCC simulator), serverPort that of
// destinations: one on which no dissector of tshark expects a protocol.
const (
	firstPort  = 10000
	serverPort = 40000
)

// Config makes the run of this point with a seed.
func (p *Point) Config(seed uint64) (*sim.Config, error) {
	c := &sim.Config{
		Wiring: sim.Wiring{
			Seed: seed, Network: p.Network, Switches: p.switches, Hosts: p.Book, Tree: p.tree, Prefixes: p.prefixes,
			Events: p.events, Framing: p.Framing, MaxFrame: p.largestFrame(), Telemetry: p.Telemetry,
		},
		Duration: p.Warmup + p.Duration, Warmup: p.Warmup, UntilDone: true, Stalls: p.stalls,
	}
	flows := p.Flows
	for id := range p.Entries {
		if g := p.Entries[id].Generator; g != nil {
			flows = append(flows[:len(flows):len(flows)], g.expand(p, id, seed)...)
		}
	}
	hosts := make([]cc.Host, len(p.Network.Nodes))
	listed := map[[3]int]int{} // flows of a list, by hosts and port
	for i, f := range flows {
		tr := &p.Entries[f.Traffic]
		random := unit.NewRandom(seed, fmt.Sprintf("flow %s %d", tr.Name, f.index))
		start := f.start
		if !f.fixed {
			if start = tr.startLow; tr.startHigh > tr.startLow {
				start += unit.Time(random.Int64N(int64(tr.startHigh-tr.startLow) + 1))
			}
			start += f.later
		}
		tf := transport.Flow{
			ID: packet.FlowID(i), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1),
			SrcPort: uint16(firstPort + i%50000), DstPort: uint16(serverPort + i/50000), Version: tr.Version,
			TOS:   tr.TOSOf(f.Size),
			Start: start, Stop: tr.stop, Size: f.Size, Payload: tr.Payload, Framing: p.Framing, Random: random, Seed: seed,
			Path: p.Path(f.Src, f.Dst, &tr.Traffic), CC: tr.CC, CCConfig: tr.CCConfig,
			Telemetry: p.Telemetry, Host: &hosts[f.Dst],
		}
		// HPCC simulator: ports count for each pair of hosts
		if pair := [3]int{f.Src, f.Dst, f.Port}; f.Port > 0 && listed[pair] < 50000 {
			tf.SrcPort, tf.DstPort = uint16(firstPort+listed[pair]), uint16(f.Port)
			listed[pair]++
		}
		if g := tr.Generator; g != nil && g.Offered > 0 {
			tf.Stop = unit.Never // it ends arrivals, not what has begun
		}
		sender, receiver, err := tr.Transport.Build(tf, tr.TransportConfig)
		if err != nil {
			return nil, fmt.Errorf("traffic %s: %w", tr.Name, err)
		}
		stop := unit.Time(0)
		if f.Size == 0 {
			if c.UntilDone = false; tf.Stop != unit.Never {
				stop = tf.Stop
			}
		}
		flow := sim.Flow{Group: f.Traffic, Src: f.Src, Dst: f.Dst, Start: start, Size: f.Size, Stop: stop,
			Sender: sender, Receiver: receiver, SrcPort: tf.SrcPort, DstPort: tf.DstPort, Class: tf.TOS >> 5}
		if f.after != nil {
			flow.Sender, flow.After = nil, f.after
			flow.Begin = func(start unit.Time) transport.Endpoint {
				tf.Start, tf.Random = start, unit.NewRandom(seed, fmt.Sprintf("flow %s %d", tr.Name, f.index))
				sender, _, err := tr.Transport.Build(tf, tr.TransportConfig)
				if err != nil { // it is as above but for the start
					return nil
				}
				return sender
			}
		}
		c.Flows = append(c.Flows, flow)
	}
	return c, p.Measures.Observe(&p.Point, c)
}
