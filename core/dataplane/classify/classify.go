// Package classify gives packets a priority class by their DSCP, and with it a queue of
// their egress port and the class that PFC pauses. Class 0 is the first in strict
// priority. What a host's NIC calls a class travels as class selector, the upper three
// bits of the DSCP (RFC 2474 §4.2.2), unless the traffic has a DSCP of its own.
package classify

import (
	"fmt"
	"strconv"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
)

// Program knows the class of every DSCP.
type Program struct{ class [64]uint8 }

// Scheme is what an experiment names: switch: [ecmp, {classify: {dscp: {46: 0, 26: 3}}}].
func Scheme() dataplane.Scheme {
	return dataplane.Scheme{
		Scheme: scheme.Scheme{Name: "classify", Doc: "priority class, and so queue, by DSCP", Source: "RFC 2474",
			Params: []scheme.Param{
				{Name: "dscp", Kind: scheme.Map, Of: scheme.Int, Doc: "class, 0 to 7, by DSCP, 0 to 63", Source: "ours: none"},
				{Name: "others", Kind: scheme.Text, Words: []string{"selector", "0", "1", "2", "3", "4", "5", "6", "7"},
					Default: "selector", Doc: "class of the DSCPs not named: the upper three bits of it, or this one",
					Source: "RFC 2474 §4.2.2; what NICs do that trust the DSCP"},
			}},
		Build: func(site *dataplane.Site, v scheme.Values) (dataplane.Program, error) {
			c := &Program{}
			for d := range c.class {
				c.class[d] = uint8(d >> 3)
				if n, err := strconv.Atoi(v.Text("others")); err == nil {
					c.class[d] = uint8(n)
				}
			}
			queues := min(max(site.Queues, 1), tm.Classes)
			for _, e := range v.Map("dscp") {
				d, err := strconv.Atoi(e.Key)
				if err != nil || d < 0 || d > 63 {
					return nil, fmt.Errorf("classify: %q is not a DSCP; 0 … 63 are possible", e.Key)
				}
				class := e.Value.(int)
				if class < 0 || class >= queues {
					return nil, fmt.Errorf("classify: DSCP %d has class %d; a port has queues for 0 … %d", d, class, queues-1)
				}
				c.class[d] = uint8(class)
			}
			return c, nil
		},
	}
}

// Name is "classify".
func (c *Program) Name() string { return "classify" }

// Ingress gives the packet its class.
func (c *Program) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Class = c.class[p.TOS>>2]
	return dataplane.Accept
}
