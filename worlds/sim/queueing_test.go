package sim

import (
	"fmt"
	"math"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/core/unit"
)

// star is a network of n sources, a switch and a sink. The sources' links are 100 times faster than the sink's, and
// there is no propagation delay.
func star(n int, rate unit.Rate) *topology.Network {
	net := &topology.Network{}
	for i := range n {
		net.Nodes = append(net.Nodes, topology.Node{Name: fmt.Sprint("source", i)})
		net.Links = append(net.Links, topology.Link{Ends: [2]int{i, n}, Rate: unit.LinkRate{Bits: 100 * rate}})
	}
	net.Nodes = append(net.Nodes, topology.Node{Name: "switch", Switch: true}, topology.Node{Name: "sink"})
	net.Links = append(net.Links, topology.Link{Ends: [2]int{n, n + 1}, Rate: unit.LinkRate{Bits: rate}})
	return net
}

// forwarding makes every switch of a network run the program forward.
func forwarding(c *Config) {
	c.Wiring.Hosts = c.Wiring.Network.Addresses()
	routes := c.Wiring.Network.Routes()
	c.Wiring.Switches = make([]wiring.SwitchConfig, len(c.Wiring.Network.Nodes))
	for i := range c.Wiring.Switches {
		c.Wiring.Switches[i].Routes = dataplane.HostRoutes(c.Wiring.Hosts, routes.PathsFrom(i))
		c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			return []dataplane.Program{forward.New(site)}, nil
		}
	}
}

// waits counts the waiting times of packets in batches.
type waits struct {
	transport.Endpoint
	base  unit.Time // delay of a packet that does not wait
	skip  int       // packets of the start that do not count
	size  int       // of a batch
	n     *int
	batch *[]float64
}

func (w *waits) Receive(now unit.Time, p *packet.Packet) bool {
	if *w.n++; *w.n > w.skip {
		if (*w.n-w.skip-1)%w.size == 0 {
			*w.batch = append(*w.batch, 0)
		}
		(*w.batch)[len(*w.batch)-1] += float64(now - p.Sent - w.base)
	}
	return w.Endpoint.Receive(now, p)
}

// waiting simulates an M/D/1 queue at a load and returns the mean waiting time in
// service times, and half the width of its 99 % interval by batch means.
func waiting(t *testing.T, load float64, packets int) (mean, half float64) {
	const sources, payload = 20, 958 // frames of 1000 bytes
	rate := unit.Gbps
	service := unit.TransmitTime(1000, rate)
	c := &Config{Wiring: wiring.Config{Seed: 7, Network: star(sources, rate)}}
	forwarding(c)
	c.Duration = unit.Time(float64(packets) * 1.05 / load * float64(service))
	n, batch := 0, []float64{}
	for i := range sources {
		f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(i + 1), Dst: sources + 2, SrcPort: uint16(i + 1),
			DstPort: 9, Version: 4,
			Payload: payload, Framing: packet.Framings[0], Random: unit.NewRandom(c.Wiring.Seed, fmt.Sprint("flow", i))}
		s, r, err := udp.New(f, udp.Config{Rate: unit.Rate(load * float64(rate) / sources * payload / 1000),
			Pattern: udp.Poisson})
		if err != nil {
			t.Fatal(err)
		}
		c.Add(outcome.Flow{Src: i, Dst: sources + 1}, s,
			&waits{r, service + unit.TransmitTime(1000, 100*rate), packets / 20, packets * 9 / 10 / 50, &n, &batch})
	}
	if _, err := Run(c); err != nil {
		t.Fatal(err)
	}
	size := float64(packets * 9 / 10 / 50)
	batch = batch[:50]
	squares := 0.0
	for i := range batch {
		batch[i] /= size * float64(service)
		mean += batch[i] / 50
	}
	for _, b := range batch {
		squares += (b - mean) * (b - mean)
	}
	const t99 = 2.680 // Student, 49 degrees of freedom
	return mean, t99 * math.Sqrt(squares/49/50)
}

// TestMD1 checks Pollaczek and Khinchine: the mean wait in an M/D/1 queue is ρ/(2(1 − ρ)) service times. The full
// version, with narrow intervals, is in the slow suite.
func TestMD1(t *testing.T) {
	for _, load := range []float64{0.5, 0.8} {
		mean, half := waiting(t, load, 400_000)
		theory := load / (2 * (1 - load))
		t.Logf("load %.1f: wait %.4f ± %.4f service times, theory %.4f", load, mean, half, theory)
		if math.Abs(mean-theory) > half || half > 0.05*theory {
			t.Errorf("load %.1f: wait %.4f ± %.4f, theory %.4f", load, mean, half, theory)
		}
	}
}
