// Package codel is CoDel (RFC 8289) on each queue of a switch's ports. It drops or marks packets as they leave a
// queue with a persistent delay. With separate flows it is the scheduler fq_codel.
package codel

import (
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
)

// program applies CoDel to the queues of ports.
type program struct {
	law    tm.CoDel
	states []tm.CoDelState // by port and queue
	queues int             // per port
}

// config is the law of CoDel.
type config struct{ tm.CoDel }

// Params binds the options of codel to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) { c.CoDel.Params(p) }

// Traits returns a target delay, by which the program marks and drops.
func (c *config) Traits() dataplane.Traits {
	return dataplane.Traits{MarksFrom: dataplane.AtAnyLength, DropsEarly: true, TargetParam: "target", Target: c.Target}
}

// Scheme returns the scheme of the program codel. A program before it chooses the port:
// switch: [forward, {codel: {target: 5ms}}].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "codel", Doc: "drops or marks departing packets of a queue while its " +
		"delay stays above a target", Source: "RFC 8289"}, newProgram)
}

// newProgram returns the program.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	queues := max(site.Queues, 1)
	return &program{c.CoDel, make([]tm.CoDelState, site.Ports*queues), queues}, nil
}

// Name returns "codel".
func (c *program) Name() string { return "codel" }

// Release applies the law to a packet that departs from its queue, and updates the queue's state. If the law requires
// it, the packet is marked (with ECN, if its sender supports it) or dropped.
func (c *program) Release(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	s := &c.states[int(m.Out)*c.queues+int(m.Queue)]
	switch s.JudgePacket(&c.law, env.Now(), env.Now()-p.Enqueued, env.Port(m.Out).Queue(m.Queue).Bytes(),
		ecn.IsCapable(p)) {
	case tm.Mark:
		p.TOS |= packet.CE
	case tm.Drop:
		return dataplane.Drop(dataplane.EarlyDrop)
	}
	return dataplane.Accept
}

// Footprint returns the law's use of the egress.
func (c *program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{{Name: "delay against target", Gress: dataplane.InEgress,
		Registers: []dataplane.RegisterUse{{Name: "CoDel's state", Cells: len(c.states),
			Bits: dataplane.WidthOf(tm.CoDelState{}), Reads: 1, Writes: 1}},
		Operations: []dataplane.Operation{{Kind: dataplane.Dividing, What: "interval by the root", Times: 1},
			{Kind: dataplane.Transcendental, What: "root of the number of drops", Times: 1}}}}}
}
