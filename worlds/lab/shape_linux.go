package lab

import (
	"fmt"

	"weir/core/fabric/wiring"
	"weir/core/unit"
	"weir/internal/rtnl"
)

// Shape limits what the kernel of each host sends to the rate of the host's link, at the host's own interface. What
// waits for the link then waits where TCP counts it (TCP small queues), which holds senders back as their NIC does in
// the simulator. Without, it waits in the data plane, without limit, and ACKs of the other direction behind it. Hosts
// of Weir's own pass by the limit, since their NIC is the simulator's.
func (l *Network) Shape(c *Config) error {
	l.shaped = true
	for node, ports := range l.network.Ports() {
		if l.network.Nodes[node].Switch || len(ports) == 0 {
			continue
		}
		if err := l.limit(c, node, l.network.Links[ports[0].Link].Rate); err != nil {
			return err
		}
	}
	return nil
}

// limit gives a host's interface the limit of a link with this rate.
func (l *Network) limit(c *Config, node int, rate unit.LinkRate) error {
	name := l.network.Nodes[node].Name
	x := limitOf(rate, &c.Wiring.Framing, c.room())
	err := l.in(name, func(conn *rtnl.Conn) error {
		i, err := conn.Interface(NIC)
		if err == nil && x.single {
			err = conn.LimitSegments(i.Index, 1)
		}
		if err != nil {
			return err
		}
		return conn.LimitRate(i.Index, rtnl.RateLimit{BytesPerSecond: x.bytes, Overhead: x.overhead, MinFrame: x.minFrame,
			ATM: x.atm, Burst: x.burst})
	})
	if err != nil {
		return fmt.Errorf("lab: host %s: %w", name, err)
	}
	return nil
}

// relimit changes the limits of hosts at a link whose rate an event changes, if hosts have limits.
func (l *Network) relimit(c *Config, e *wiring.Event) error {
	if !l.shaped {
		return nil
	}
	for _, node := range l.network.Links[e.Link].Ends {
		if !l.network.Nodes[node].Switch {
			if err := l.limit(c, node, e.Rate); err != nil {
				return err
			}
		}
	}
	return nil
}
