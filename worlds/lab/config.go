package lab

import (
	"errors"
	"fmt"
	"path"

	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/trace"
	"weir/core/unit"
)

// Config configures the data plane of one run: its network and the start and end of the measured part.
type Config struct {
	// Wiring must have a framing that counts the headers of real frames.
	Wiring wiring.Config
	// Selection may contain watches and peaks of flows and onsets without a port. The data plane does not know them
	// and omits them from the Report.
	outcome.Selection
	MTU      int       // of hosts' interfaces, in bytes; 0: 1500
	Lead     unit.Time // from the data plane's start to time 0 of the experiment
	Warmup   unit.Time // start of the measured part, in the experiment's time
	Duration unit.Time // end of the measured part; above Warmup
	// Flows lists the hosts' flows, so that the data plane can identify their packets.
	Flows []Flow
	// Capture, if set, selects switches and the file that their input and output is written to.
	Capture *Capture
	// Observer, if set, receives an event when links transmit, lose and deliver frames, and when switches queue and
	// drop.
	Observer trace.Observer
}

// Flow identifies a flow of the experiment by its packets.
type Flow struct {
	Group            int // index of its traffic in the spec
	Src, Dst         int // nodes
	SrcPort, DstPort uint16
	Version          uint8 // of IP: 4 or 6
	Proto            uint8 // of its packets (packet.Packet.Proto)
	// Own marks flows between Weir's own hosts; the kernels of their nodes do not get the packets.
	Own   bool
	Ports []uint16 // further source ports of its packets
}

// DefaultMTU is Ethernet's MTU in bytes (IEEE 802.3).
const DefaultMTU = 1500

// effectiveMTU returns MTU with its default.
func (c *Config) effectiveMTU() int {
	if c.MTU == 0 {
		return DefaultMTU
	}
	return c.MTU
}

// maxFrameBytes returns the length of the longest frame in bytes, with the Ethernet header and without FCS.
func (c *Config) maxFrameBytes() int { return c.effectiveMTU() + packet.EthernetHeader }

// OwnHosts reports for each node whether it has one of Weir's own hosts.
func (c *Config) OwnHosts() []bool {
	isOwn := make([]bool, len(c.Wiring.Network.Nodes))
	for i := range c.Flows {
		if f := &c.Flows[i]; f.Own {
			isOwn[f.Src], isOwn[f.Dst] = true, true
		}
	}
	return isOwn
}

// checkConfig returns an error if the configuration is impossible: times, addresses, framing, MTU, flows or the
// selection.
func (c *Config) checkConfig() error {
	n := c.Wiring.Network
	switch {
	case c.Lead < 0 || c.Warmup < 0 || c.Duration <= c.Warmup || c.Duration > unit.Never/4 || c.Lead > unit.Never/4:
		return fmt.Errorf("lab: the times do not fit: lead %v, warm-up %v, duration %v; the warm-up must end before the "+
			"run",
			c.Lead, c.Warmup, c.Duration)
	case c.Wiring.Hosts.Len() <= len(n.Nodes):
		return fmt.Errorf("lab: there are addresses of %d nodes for %d nodes", c.Wiring.Hosts.Len()-1, len(n.Nodes))
	case c.Wiring.Framing.IsFixed():
		return fmt.Errorf("lab: framing %s counts headers that real frames do not have; allowed: l2, wire",
			c.Wiring.Framing.Name)
	case c.effectiveMTU() < 1280 || c.effectiveMTU() > 9216: // RFC 8200 §5; size of jumbo frames of Ethernet cards
		return fmt.Errorf("lab: an MTU of %d bytes is out of range; allowed: 1280 to 9216 bytes", c.MTU)
	}
	if err := c.Wiring.Check(); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	host := func(node int) bool { return node >= 0 && node < len(n.Nodes) && !n.Nodes[node].Switch }
	for i, f := range c.Flows {
		if f.Src == f.Dst || !host(f.Src) || !host(f.Dst) || f.Group < 0 || f.Group >= 1<<20 ||
			f.Version != 4 && f.Version != 6 || !f.Own && f.Proto != packet.ProtoTCP && f.Proto != packet.ProtoUDP {
			return fmt.Errorf("lab: flow %d is invalid: from node %d to node %d, IPv%d, protocol %d",
				i, f.Src, f.Dst, f.Version, f.Proto)
		}
	}
	if err := c.Selection.Check(n, len(c.Flows), 0); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return nil
}

// buildWiring creates links and switches for hosts with the configured MTU. It leaves c unchanged.
func (c *Config) buildWiring() *wiring.Wiring {
	w := c.Wiring
	w.MaxFrame = c.Wiring.Framing.FrameBytes(int32(c.maxFrameBytes()), 0, true)
	return wiring.New(&w)
}

// Capture requests a record of all input and output of some switches.
type Capture struct {
	Switches []string // names, or patterns (path.Match: * matches any characters)
	File     string   // pcapng file for Replay
	// Limit is the maximum size in bytes, held in memory until the run is over; 0 means defaultCapture. A switch's
	// record ends at the first frame that exceeds it.
	Limit unit.Bytes
}

// defaultCapture is the default limit of a capture in bytes: half a minute at 50 Mb/s in both directions.
const defaultCapture = 512 * unit.Bytes(1<<20)

// matchNodes reports for each node whether it is captured. The error names a pattern that matches no switch. x may be
// nil: no node is captured.
func (x *Capture) matchNodes(n *topology.Network) ([]bool, error) {
	out := make([]bool, len(n.Nodes))
	if x == nil {
		return out, nil
	}
	if x.Limit < 0 {
		return nil, fmt.Errorf("lab: a capture with a limit of %d bytes is too small", x.Limit)
	}
	if len(x.Switches) == 0 {
		return nil, errors.New("lab: a capture without a switch; name at least one")
	}
	for _, pattern := range x.Switches {
		found := false
		for i, node := range n.Nodes {
			if ok, err := path.Match(pattern, node.Name); node.Switch && (ok && err == nil || pattern == node.Name) {
				out[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("lab: a capture at %q; there is no switch with this name", pattern)
		}
	}
	return out, nil
}
