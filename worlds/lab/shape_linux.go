package lab

import (
	"fmt"

	"weir/core/fabric/wiring"
	"weir/core/unit"
	"weir/internal/rtnl"
)

// LimitHosts limits the output of each host's kernel to the rate of the host's first link, at the host's interface.
// Packets then wait where TCP counts them (TCP small queues), which holds senders back as NICs do in the simulator.
// Without the limit they wait in the data plane, without bound and before the ACKs of the other direction. Weir's own
// hosts bypass the limit, since their NIC is the simulator's. Later PullCables changes the limits with the rates.
func (l *Network) LimitHosts(c *Config) error {
	l.shaped = true
	for node, ports := range l.network.Ports() {
		if l.network.Nodes[node].Switch || len(ports) == 0 {
			continue
		}
		if err := l.limitHost(c, node, l.network.Links[ports[0].Link].Rate); err != nil {
			return err
		}
	}
	return nil
}

// limitHost applies the limit of a link with the given rate to a host's interface.
func (l *Network) limitHost(c *Config, node int, rate unit.LinkRate) error {
	name := l.network.Nodes[node].Name
	x := newRateLimit(rate, &c.Wiring.Framing, c.maxFrameBytes())
	err := l.doInNamespace(name, func(conn *rtnl.Conn) error {
		i, err := conn.InterfaceByName(NIC)
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

// updateLimits applies the new rate of an event's link to the hosts at its ends, if hosts have limits.
func (l *Network) updateLimits(c *Config, e *wiring.Event) error {
	if !l.shaped {
		return nil
	}
	for _, node := range l.network.Links[e.Link].Ends {
		if !l.network.Nodes[node].Switch {
			if err := l.limitHost(c, node, e.Rate); err != nil {
				return err
			}
		}
	}
	return nil
}
