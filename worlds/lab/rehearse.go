package lab

import (
	"fmt"

	"weir/core/unit"
)

// Rehearse carries a run out whose hosts are all Weir's own, without a kernel and in virtual time: as on a machine that
// is never late. Data plane, gates, frames and hosts are those of the lab, so where a rehearsal differs from the
// simulator it is their mistake, and what a run on real packets has otherwise is the machine's. It returns what Serve
// and ServeHosts write.
func Rehearse(c *Config, h *HostsConfig) (*Report, *HostsReport, any, error) {
	own := c.Own()
	now := unit.Time(0)
	near, far := make([]Gate, len(own)), make([]Gate, len(own))
	var all []*passage
	for node, n := range c.Network.Nodes {
		if n.Switch {
			continue
		}
		x := &passage{now: &now}
		x.ends[0].to, x.ends[1].to = &x.ends[1], &x.ends[0]
		x.ends[0].passage, x.ends[1].passage = x, x
		if near[node] = &x.ends[0]; own[node] {
			far[node] = &shifted{&x.ends[1], c.Lead}
		}
		all = append(all, x)
	}
	clock := func() unit.Time { return now }
	d, err := c.build(near, clock)
	if err != nil {
		return nil, nil, nil, err
	}
	s, result, err := h.newStation(far, func() unit.Time { return now - c.Lead })
	if err != nil {
		return nil, nil, nil, fmt.Errorf("lab: hosts: %w", err)
	}
	for more := true; more; {
		next := min(d.next(), s.next()+c.Lead)
		for _, x := range all {
			next = min(next, x.ends[0].Stamp(), x.ends[1].Stamp())
		}
		now = max(now, next)
		if err := d.step(now); err != nil {
			return nil, nil, nil, err
		}
		more = now < c.Lead || s.step(now-c.Lead)
	}
	if s.failed != nil {
		return nil, nil, nil, s.failed
	}
	if err := d.step(c.Lead + c.Duration + 1); err != nil {
		return nil, nil, nil, err
	}
	r := s.report(now)
	if r.Captured, err = s.keep(h); err != nil {
		return nil, nil, nil, err
	}
	return d.report(now), &r, result(), nil
}

// passage is a pair of interfaces without a kernel: what is flushed at one end is at the other one at once.
type passage struct {
	now  *unit.Time
	ends [2]passageEnd
}

// passageEnd is an end of a passage. It implements Gate.
type passageEnd struct {
	passage *passage
	to      *passageEnd
	frames  [][]byte
	stamps  []unit.Time
	put     [][]byte
}

func (g *passageEnd) Stamp() unit.Time {
	if len(g.stamps) == 0 {
		return unit.Never
	}
	return g.stamps[0]
}

func (g *passageEnd) Take(b []byte) []byte {
	b = append(b, g.frames[0]...)
	g.frames, g.stamps = g.frames[1:], g.stamps[1:]
	return b
}

func (g *passageEnd) Put(frame []byte) bool {
	g.put = append(g.put, append([]byte(nil), frame...))
	return true
}

func (g *passageEnd) Flush() error {
	for _, f := range g.put {
		g.to.frames, g.to.stamps = append(g.to.frames, f), append(g.to.stamps, *g.passage.now)
	}
	g.put = g.put[:0]
	return nil
}

func (g *passageEnd) Drop() int { return 0 }

func (g *passageEnd) Counts() GateCounts { return GateCounts{} }

// shifted is a gate whose stamps count from the experiment's time 0.
type shifted struct {
	*passageEnd
	lead unit.Time
}

func (g *shifted) Stamp() unit.Time {
	t := g.passageEnd.Stamp()
	if t != unit.Never {
		t -= g.lead
	}
	return t
}
