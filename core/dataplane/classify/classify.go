// Package classify sets a packet's priority class by its DSCP: a queue of its egress port and the class that PFC
// pauses. Class 0 is the first in strict priority. The class of a host's NIC travels as class selector, the upper
// three bits of the DSCP (RFC 2474 §4.2.2), unless the traffic has a DSCP of its own.
package classify

import (
	"fmt"
	"strconv"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
)

// config maps DSCPs to classes.
type config struct {
	DSCP   []scheme.Pair[int, int] // class by DSCP
	Others string                  // class of the others: selector, the upper three bits, or a number
}

// Params binds the options of classify to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	scheme.MapOf(p, &c.DSCP, parseDSCP, scheme.Ints, "dscp", "class from 0 to 7, by DSCP from 0 to 63: {46: 0, 26: "+
		"3}; a DSCP that is not given has the class of others",
		"Weir: none").Min("0").Max("7")
	p.Text(&c.Others, "others", selector, "class of a DSCP that is not given; selector: the upper three bits of the "+
		"DSCP; or a class from 0 to 7",
		"RFC 2474 §4.2.2: as NICs that trust the DSCP").Words(selector, "0", "1", "2", "3", "4", "5", "6", "7")
}

// Traits returns no trait: the program only sets classes, so a list needs another one that chooses the port.
func (*config) Traits() dataplane.Traits { return dataplane.Traits{} }

const selector = "selector"

// parseDSCP parses a DSCP, a decimal number from 0 to 63.
func parseDSCP(s string) (int, error) {
	d, err := strconv.Atoi(s)
	if err != nil || d < 0 || d > 63 {
		return 0, fmt.Errorf("%q is not a DSCP; allowed: 0 … 63", s)
	}
	return d, nil
}

// program holds the class of every DSCP.
type program struct{ class [64]uint8 }

// Scheme returns the scheme of the program classify. A program before it chooses the port:
// switch: [ecmp, {classify: {dscp: {46: 0, 26: 3}}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "classify", Doc: "assigns a priority class, and thus a queue, by DSCP",
		Source: "RFC 2474"}, newProgram)
}

// newProgram returns the program. It fails if a class in DSCP has no queue.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	x := &program{}
	for d := range x.class {
		x.class[d] = uint8(d >> 3)
		if c.Others != selector {
			x.class[d] = c.Others[0] - '0'
		}
	}
	queues := min(max(site.Queues, 1), tm.Classes)
	for _, e := range c.DSCP {
		if e.Value >= queues {
			return nil, fmt.Errorf("classify: DSCP %d has class %d; a port has queues for 0 … %d", e.Key, e.Value, queues-1)
		}
		x.class[e.Key] = uint8(e.Value)
	}
	return x, nil
}

// Name returns "classify".
func (c *program) Name() string { return "classify" }

// Ingress sets the packet's class.
func (c *program) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Class = c.class[p.TOS>>2]
	return dataplane.Accept
}
