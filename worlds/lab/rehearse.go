package lab

import (
	"fmt"

	"weir/core/unit"
	"weir/worlds/live"
)

// Rehearse carries a run out whose hosts are all Weir's own, without a kernel and in virtual time: as on a machine that
// is never late. Data plane, gates, frames and hosts are those of the lab, so where a rehearsal differs from the
// simulator it is their mistake, and what a run on real packets has otherwise is the machine's. It returns what Serve
// and ServeHosts write.
func Rehearse(c *Config, h *HostsConfig) (*Report, *HostsReport, any, error) {
	own := c.Own()
	now := unit.Time(0)
	near, far := make([]live.Gate, len(own)), make([]live.Gate, len(own))
	var all []*gatePipe
	for node, n := range c.Wiring.Network.Nodes {
		if n.Switch {
			continue
		}
		x := &gatePipe{now: &now}
		x.ends[0].to, x.ends[1].to = &x.ends[1], &x.ends[0]
		x.ends[0].pipe, x.ends[1].pipe = x, x
		if near[node] = &x.ends[0]; own[node] {
			far[node] = &shiftedGate{&x.ends[1], c.Lead}
		}
		all = append(all, x)
	}
	clock := func() unit.Time { return now }
	d, err := c.build(near, clock)
	if err != nil {
		return nil, nil, nil, err
	}
	s, result, err := h.newHostIO(far, func() unit.Time { return now - c.Lead })
	if err != nil {
		return nil, nil, nil, fmt.Errorf("lab: hosts: %w", err)
	}
	for more := true; more; {
		next := min(d.Next(), s.next()+c.Lead)
		for _, x := range all {
			next = min(next, x.ends[0].Stamp(), x.ends[1].Stamp())
		}
		now = max(now, next)
		if err := d.Step(now); err != nil {
			return nil, nil, nil, err
		}
		more = now < c.Lead || s.step(now-c.Lead)
	}
	if s.Err != nil {
		return nil, nil, nil, s.Err
	}
	if err := d.Step(c.Lead + c.Duration + 1); err != nil {
		return nil, nil, nil, err
	}
	r := s.report(now)
	if r.Captured, err = s.saveCapture(h); err != nil {
		return nil, nil, nil, err
	}
	return d.report(now), &r, result(), nil
}

// gatePipe is a pair of interfaces without a kernel: what is flushed at one end is at the other one at once.
type gatePipe struct {
	now  *unit.Time
	ends [2]pipeGate
}

// pipeGate is an end of a gatePipe. It implements live.Gate.
type pipeGate struct {
	pipe   *gatePipe
	to     *pipeGate
	frames [][]byte
	stamps []unit.Time
	put    [][]byte
}

func (g *pipeGate) Stamp() unit.Time {
	if len(g.stamps) == 0 {
		return unit.Never
	}
	return g.stamps[0]
}

func (g *pipeGate) Take(b []byte) []byte {
	b = append(b, g.frames[0]...)
	g.frames, g.stamps = g.frames[1:], g.stamps[1:]
	return b
}

func (g *pipeGate) Put(frame []byte) bool {
	g.put = append(g.put, append([]byte(nil), frame...))
	return true
}

func (g *pipeGate) Flush() error {
	for _, f := range g.put {
		g.to.frames, g.to.stamps = append(g.to.frames, f), append(g.to.stamps, *g.pipe.now)
	}
	g.put = g.put[:0]
	return nil
}

func (g *pipeGate) Drop() int { return 0 }

func (g *pipeGate) Counts() live.GateCounts { return live.GateCounts{} }

// shiftedGate is a gate whose stamps count from the experiment's time 0.
type shiftedGate struct {
	*pipeGate
	lead unit.Time
}

func (g *shiftedGate) Stamp() unit.Time {
	t := g.pipeGate.Stamp()
	if t != unit.Never {
		t -= g.lead
	}
	return t
}
