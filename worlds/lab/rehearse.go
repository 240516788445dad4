package lab

import (
	"fmt"

	"weir/core/unit"
	"weir/worlds/live"
)

// Rehearse runs an experiment with Weir's own hosts only, without a kernel and in virtual time, as on a machine that is
// never late. It uses the lab's data plane, gates, frames and hosts. A difference to the simulator is therefore a
// mistake in them, and further differences of a run on real packets are the machine's. It returns the reports and
// results of Serve and ServeHosts, and writes the hosts' capture.
func Rehearse(c *Config, h *HostsConfig) (*Report, *HostsReport, any, error) {
	own := c.OwnHosts()
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
	d, err := c.buildPlane(near, clock)
	if err != nil {
		return nil, nil, nil, err
	}
	s, result, err := h.newHostIO(far, func() unit.Time { return now - c.Lead })
	if err != nil {
		return nil, nil, nil, fmt.Errorf("lab: hosts: %w", err)
	}
	for more := true; more; {
		next := min(d.Next(), s.nextStep()+c.Lead)
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
	r := s.buildReport(now)
	if r.Captured, err = s.saveCapture(h); err != nil {
		return nil, nil, nil, err
	}
	return d.buildReport(now), &r, result(), nil
}

// gatePipe is a pair of interfaces without a kernel: frames flushed at one end arrive at the other end
// immediately.
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

// Stamp returns the arrival time of the first waiting frame, unit.Never without one.
func (g *pipeGate) Stamp() unit.Time {
	if len(g.stamps) == 0 {
		return unit.Never
	}
	return g.stamps[0]
}

// Take appends the first waiting frame, which must exist, to b and removes it.
func (g *pipeGate) Take(b []byte) []byte {
	b = append(b, g.frames[0]...)
	g.frames, g.stamps = g.frames[1:], g.stamps[1:]
	return b
}

// Put keeps a copy of a frame for the next Flush. It always accepts it.
func (g *pipeGate) Put(frame []byte) bool {
	g.put = append(g.put, append([]byte(nil), frame...))
	return true
}

// Flush makes all frames of Put arrive now at the other end.
func (g *pipeGate) Flush() error {
	for _, f := range g.put {
		g.to.frames, g.to.stamps = append(g.to.frames, f), append(g.to.stamps, *g.pipe.now)
	}
	g.put = g.put[:0]
	return nil
}

// Drop returns 0: Flush always sends all frames.
func (g *pipeGate) Drop() int { return 0 }

// Counts returns zero counters: a pipe loses no frame.
func (g *pipeGate) Counts() live.GateCounts { return live.GateCounts{} }

// shiftedGate is a gate with stamps that count from the experiment's time 0.
type shiftedGate struct {
	*pipeGate
	lead unit.Time
}

// Stamp returns the arrival time of the first waiting frame in the experiment's time, unit.Never without one.
func (g *shiftedGate) Stamp() unit.Time {
	t := g.pipeGate.Stamp()
	if t != unit.Never {
		t -= g.lead
	}
	return t
}
