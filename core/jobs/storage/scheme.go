package storage

import (
	"errors"
	"fmt"

	"weir/core/jobs/job"
	"weir/core/scheme"
	"weir/core/unit"
)

// common has the parameters that both kinds of jobs share.
type common struct {
	Config
	Size unit.Bytes
	slow []scheme.Pair[string, float64]
}

// hostName returns the name of a host unchanged, as a key of a map.
func hostName(s string) (string, error) { return s, nil }

// bindCommon binds the shared parameters; size describes the size.
func (c *common) bindCommon(p *scheme.Params, size string) {
	p.Size(&c.Size, "size", "", size, "Weir").Required().Min("1 B")
	p.Int(&c.Servers, "servers", "1", "number of hosts that store the data: the last ones of the job, which do not "+
		"compute", "Weir").Min("1").
		Max("1000000")
	p.Int(&c.Stripes, "stripes", "1", "number of servers, at most servers, among which each host divides its data: "+
		"host i uses server i modulo servers and the next ones; more stripes let one host use more servers' links at a "+
		"time", "Weir").
		Min("1").Max("1000000")
	p.Int(&c.Iterations, "iterations", "1", "number of consecutive iterations", "Weir").Min("1").Max("1000000")
	p.Time(&c.Compute, "compute", "0s", "computing time of an iteration", "Weir").Min("0s").Max("24h")
	scheme.MapOf(p, &c.slow, hostName, scheme.Floats, "slow", "factor by which computing takes longer, by host: {h3: "+
		"1.5}",
		"Weir").Min("0.001").Max("1000000").When("compute above 0s", func() bool { return c.Compute > 0 })
}

// buildJob returns the job at a site. An error about a parameter is a *scheme.Error.
func (c *common) buildJob(s job.Site) (job.Program, error) {
	c.Clients = s.Members - c.Servers
	for _, x := range c.slow {
		if c.Slow == nil {
			c.Slow = map[int]float64{}
		}
		places, err := s.Places(x.Key)
		for _, m := range places {
			if _, twice := c.Slow[m]; twice {
				err = fmt.Errorf("%q means a host that has a factor already", x.Key)
			}
			c.Slow[m] = x.Value
		}
		if err != nil {
			return nil, &scheme.Error{Param: "slow", Allowed: "hosts of the job, each once", Err: err}
		}
	}
	j, err := New(c.Config)
	var w *configError
	if errors.As(err, &w) {
		return nil, &scheme.Error{Param: w.Key, Allowed: w.Allowed, Err: err}
	}
	return j, err
}

type checkpoint struct{ common }

// Params binds the options of checkpoint to the fields of c, which keep their values.
func (c *checkpoint) Params(p *scheme.Params) {
	c.bindCommon(p, "size of the data that each host writes in a checkpoint")
	p.Int(&c.Every, "every", "1", "number of iterations per checkpoint", "Weir").Min("1").Max("1000000")
	p.AddRule("every", func() error {
		if c.Every > c.Iterations {
			return fmt.Errorf("no checkpoint is written in %d iterations, as one comes after %d", c.Iterations, c.Every)
		}
		return nil
	})
	p.BoolWords(&c.Asynchronous, [2]string{"blocking", "beside"}, "mode", "blocking",
		"what the next iteration does during a checkpoint; blocking: it waits for the checkpoint; beside: it computes "+
			"at the same time", "Weir")
}

type read struct{ common }

// Params binds the options of read to the fields of c, which keep their values.
func (c *read) Params(p *scheme.Params) {
	c.bindCommon(p, "size of the batch that each host reads before an iteration")
	p.Bool(&c.Ahead, "ahead", "false", "read the next batch while a batch is computed", "Weir")
}

// Schemes returns the kinds of jobs, sorted by name.
func Schemes() []job.Scheme {
	return []job.Scheme{
		job.Define(scheme.Scheme{Name: "checkpoint", Doc: "hosts write to storage after a given number of iterations",
			Source: "Weir"}, func(c checkpoint, s job.Site) (job.Program, error) {
			c.Write = c.Size
			return c.buildJob(s)
		}),
		job.Define(scheme.Scheme{Name: "read", Doc: "hosts read from storage before each iteration", Source: "Weir"},
			func(c read, s job.Site) (job.Program, error) {
				c.Read = c.Size
				return c.buildJob(s)
			}),
	}
}
