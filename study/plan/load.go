package plan

import (
	"weir/core/jobs/job"
	"weir/core/transport"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/worlds/sim"
)

// Load reads an experiment and tries each of its points, so that errors which only constructors find are reported with
// the file's errors. All errors are returned together as document.InputErrors.
func Load(r *experiment.Registry, src *experiment.Source, o experiment.Options) (*experiment.Spec, error) {
	return experiment.Load(r, src, o, trial{})
}

// trial tries the first run of points.
type trial struct{}

// TryRun makes the run of a point without running it; with seed 1; if whole is set it also builds the network. It
// returns the numbers of samples that a run keeps in memory and beyond the run.
func (trial) TryRun(p *experiment.Point, whole bool) (samples, kept float64, err error) {
	c, err := configureRun(p, 1, maxTried, maxDrawn)
	if err != nil {
		return 0, 0, err
	}
	measured := c.EndpointFactory.(*builder).measured
	samples, kept = measure.CountSamples(measured, &c.Load, c.Watches), p.Measures().CountKept(measured, &c.Load)
	if c.Ideal != nil {
		return samples, kept, nil
	}
	if err = limitFlows(p, c); err == nil && whole {
		for i := range c.Jobs { // configureRun has tried one message of each; all may not fit into memory
			c.Jobs[i].Program = idleProgram{c.Jobs[i].Program}
		}
		_, err = sim.New(c)
	}
	return samples, kept, err
}

// idleProgram is a job with ranks that have no operations.
type idleProgram struct{ job.Program }

// Ops returns 0.
func (idleProgram) Ops(int, int) int { return 0 }

// limitFlows keeps only the first maxTried flows of each traffic, and what is observed of them. So trying a run with
// many flows takes no more memory than reading the experiment. The kept flows do not wait for each other. It changes c,
// which must be from configureRun, and its builder.
func limitFlows(p *experiment.Point, c *sim.Config) (err error) {
	c.Triggers = nil
	b := c.EndpointFactory.(*builder)
	kept, n, scripts := make([]int, p.Entries()), 0, map[int]*transport.Script{}
	for i, f := range b.flows {
		if kept[f.Group]++; kept[f.Group] > maxTried {
			continue
		}
		f.After = nil
		if s := b.scripts[i]; s != nil {
			scripts[n] = s
		}
		b.flows[n], b.flowIndex[n] = f, b.flowIndex[i]
		n++
	}
	if n == len(b.flows) {
		return nil
	}
	b.flows, b.flowIndex, b.scripts = b.flows[:n], b.flowIndex[:n], scripts
	c.Flows = b.flows
	c.Selection, err = p.Measures().Observe(p.Measured(), &c.Load)
	return err
}

// ListNames returns the names of what runs of the point measure; empty after an error.
func (trial) ListNames(p *experiment.Point) (names measure.Values) {
	if c, err := configureRun(p, 1, 1, maxTried); err == nil && limitFlows(p, c) == nil {
		names = p.Measures().ListNames(p.Measured(), &c.Load)
	}
	return names
}
