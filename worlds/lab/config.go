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

// Config is the network of one run as its data plane needs it, and when what is measured
// begins and ends.
type Config struct {
	// Wiring has a framing that counts the headers that frames have.
	Wiring wiring.Config
	// Selection may have watches and peaks of flows, and onsets without a port, which the data plane does not know. They
	// are missing in the Report.
	outcome.Selection
	MTU      int       // of hosts' interfaces, in bytes; 0: 1500
	Lead     unit.Time // from the data plane's start to time 0 of the experiment
	Warmup   unit.Time // measures begin then, in the experiment's time
	Duration unit.Time // and end then; above Warmup
	// Flows are those that the hosts will have, so that the data plane knows their packets.
	Flows []Flow
	// Capture, if given, is what goes in and out at switches, to be written to a file.
	Capture *Capture
	// Observer, if given, gets an event when links transmit, lose and deliver, and when switches queue and
	// drop.
	Observer trace.Observer
}

// Flow is one flow of the experiment, as identified by its packets.
type Flow struct {
	Group            int // index of its traffic in the spec
	Src, Dst         int // nodes
	SrcPort, DstPort uint16
	Version          uint8 // of IP: 4 or 6
	Proto            uint8 // of its packets (packet.Packet.Proto)
	// Own says that its ends are hosts of Weir's own: its packets are not for the kernels of its nodes.
	Own   bool
	Ports []uint16 // source ports that its packets have beside SrcPort
}

// DefaultMTU is that of Ethernet (IEEE 802.3).
const DefaultMTU = 1500

func (c *Config) mtu() int {
	if c.MTU == 0 {
		return DefaultMTU
	}
	return c.MTU
}

// room is the length of the longest frame.
func (c *Config) room() int { return c.mtu() + packet.EthernetHeader }

// Own says by node whether it has a host of Weir's own.
func (c *Config) Own() []bool {
	own := make([]bool, len(c.Wiring.Network.Nodes))
	for i := range c.Flows {
		if f := &c.Flows[i]; f.Own {
			own[f.Src], own[f.Dst] = true, true
		}
	}
	return own
}

// check returns an error if the configuration is impossible.
func (c *Config) check() error {
	n := c.Wiring.Network
	switch {
	case c.Lead < 0 || c.Warmup < 0 || c.Duration <= c.Warmup || c.Duration > unit.Never/4 || c.Lead > unit.Never/4:
		return fmt.Errorf("lab: a lead of %v, a warm-up of %v, a duration of %v: the warm-up must end before the run does",
			c.Lead, c.Warmup, c.Duration)
	case c.Wiring.Hosts.Len() <= len(n.Nodes):
		return fmt.Errorf("lab: addresses of %d nodes for %d", c.Wiring.Hosts.Len()-1, len(n.Nodes))
	case c.Wiring.Framing.Fixed():
		return fmt.Errorf("lab: framing %s counts headers that no real frame has; l2 and wire are possible",
			c.Wiring.Framing.Name)
	case c.mtu() < 1280 || c.mtu() > 9216: // RFC 8200 §5; what Ethernet cards call jumbo frames
		return fmt.Errorf("lab: an MTU of %d bytes; 1280 to 9216 are possible", c.MTU)
	}
	if err := c.Wiring.Check(); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	host := func(node int) bool { return node >= 0 && node < len(n.Nodes) && !n.Nodes[node].Switch }
	for i, f := range c.Flows {
		if f.Src == f.Dst || !host(f.Src) || !host(f.Dst) || f.Group < 0 || f.Group >= 1<<20 ||
			f.Version != 4 && f.Version != 6 || !f.Own && f.Proto != packet.ProtoTCP && f.Proto != packet.ProtoUDP {
			return fmt.Errorf("lab: flow %d from node %d to node %d, IPv%d, protocol %d", i, f.Src, f.Dst, f.Version, f.Proto)
		}
	}
	if err := c.Selection.Check(n, len(c.Flows), 0); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return nil
}

// wire makes links and switches for hosts with this MTU.
func (c *Config) wire() *wiring.Wiring {
	w := c.Wiring
	w.MaxFrame = c.Wiring.Framing.Frame(int32(c.room()), 0, true)
	return wiring.New(&w)
}

// Capture asks for all that comes in and goes out at some switches.
type Capture struct {
	Switches []string // names, or patterns (path.Match: * stands for any characters)
	File     string   // pcapng, see Replay
	// Limit is how many bytes it may have, which are kept in memory until the run is over;
	// 0: defaultCapture. Of a switch nothing is kept from the first frame on that does not fit.
	Limit unit.Bytes
}

// defaultCapture is how many bytes a capture may have if nothing is said: half a minute of
// 50 Mb/s, in and out.
const defaultCapture = 512 * unit.Bytes(1<<20)

// nodes returns the captured nodes. The error names words that match no switch.
func (x *Capture) nodes(n *topology.Network) ([]bool, error) {
	out := make([]bool, len(n.Nodes))
	if x == nil {
		return out, nil
	}
	if x.Limit < 0 {
		return nil, fmt.Errorf("lab: a capture of at most %d bytes", x.Limit)
	}
	if len(x.Switches) == 0 {
		return nil, errors.New("lab: a capture of no switch")
	}
	for _, pattern := range x.Switches {
		found := false
		for i, node := range n.Nodes {
			if ok, err := path.Match(pattern, node.Name); node.Switch && (ok && err == nil || pattern == node.Name) {
				out[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("lab: a capture of %q; there is no such switch", pattern)
		}
	}
	return out, nil
}
