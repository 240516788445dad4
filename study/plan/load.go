package plan

import (
	"weir/core/jobs/job"
	"weir/core/transport"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/worlds/sim"
)

// Load reads an experiment and tries each of its points: what only constructors can know is an
// error of the file. Everything that is wrong comes back together as document.InputErrors.
func Load(r *experiment.Registry, src *experiment.Source, o experiment.Options) (*experiment.Spec, error) {
	return experiment.Load(r, src, o, trial{})
}

// trial makes the first run of points.
type trial struct{}

func (trial) Build(p *experiment.Point, whole bool) (samples, kept float64, err error) {
	c, err := configure(p, 1, mostTried, mostDrawn)
	if err != nil {
		return 0, 0, err
	}
	seen := c.EndpointFactory.(*builder).seen
	samples, kept = measure.Samples(seen, &c.Load, c.Watches), p.Measures().Kept(seen, &c.Load)
	if c.Ideal != nil {
		return samples, kept, nil
	}
	if err = reduce(p, c); err == nil && whole {
		for i := range c.Jobs { // configure has tried a message of each; all that begin may not fit into memory
			c.Jobs[i].Program = resting{c.Jobs[i].Program}
		}
		_, err = sim.New(c)
	}
	return samples, kept, err
}

// resting is a job whose ranks have nothing to do.
type resting struct{ job.Program }

func (resting) Ops(int, int) int { return 0 }

// reduce leaves the first flows of each traffic, and what is observed of them, so that to try a run with many takes no
// more memory than to read of them. They do not wait for each other any more.
func reduce(p *experiment.Point, c *sim.Config) (err error) {
	c.Triggers = nil
	b := c.EndpointFactory.(*builder)
	kept, n, scripts := make([]int, p.Entries()), 0, map[int]*transport.Script{}
	for i, f := range b.flows {
		if kept[f.Group]++; kept[f.Group] > mostTried {
			continue
		}
		f.After = nil
		if s := b.scripts[i]; s != nil {
			scripts[n] = s
		}
		b.flows[n], b.index[n] = f, b.index[i]
		n++
	}
	if n == len(b.flows) {
		return nil
	}
	b.flows, b.index, b.scripts = b.flows[:n], b.index[:n], scripts
	c.Flows = b.flows
	c.Selection, err = p.Measures().Observe(p.Measured(), &c.Load)
	return err
}

func (trial) Shape(p *experiment.Point) (names measure.Values) {
	if c, err := configure(p, 1, 1, mostTried); err == nil && reduce(p, c) == nil {
		names = p.Measures().Shape(p.Measured(), &c.Load)
	}
	return names
}
