package collective

import (
	"errors"
	"fmt"

	"weir/core/jobs/job"
	"weir/core/scheme"
	"weir/core/unit"
)

// common has the parameters that all operations share.
type common struct {
	Config
	slow []scheme.Pair[string, float64]
}

// hostName returns the name of a host unchanged, as a key of a map.
func hostName(s string) (string, error) { return s, nil }

// bindCommon binds the parameters of all operations; size describes the size.
func (c *common) bindCommon(p *scheme.Params, size string) {
	p.Size(&c.Size, "size", "", size, "Weir").Required().Min("1 B")
	p.Int(&c.Iterations, "iterations", "1", "number of consecutive iterations", "Weir").Min("1").Max("1000000")
	p.Time(&c.Align, "align", "0s", "hosts begin each iteration together, at the first multiple of this time at which "+
		"all have ended the previous one; 0s: each host begins when it has ended the previous one",
		"Weir").Min("0s").Max("24h")
	scheme.MapOf(p, &c.slow, hostName, scheme.Floats, "slow", "factor by which computing and reducing take longer, by "+
		"host: {h3: 1.5}", "Weir").Min("0.001").Max("1000000").
		When("computing: compute, reduce, forward or backward", func() bool {
			return c.Compute > 0 || c.Reduce > 0 || c.Forward > 0 || c.Backward > 0
		})
}

// bindParts binds the division of the data into channels and chunks.
func (c *common) bindParts(p *scheme.Params) {
	p.Int(&c.Channels, "channels", "1", "number of independent parts of the data, which are sent at the same time; "+
		"more use several paths or NICs", "Weir").Min("1").Max("64")
	p.Int(&c.Chunks, "chunks", "1", "number of consecutive parts of a channel; more let a host forward a part while "+
		"it receives the next", "Weir").Min("1").Max("4096")
	p.Int(&c.NICs, "nics", "1", "number of NICs per host that the channels use in turn", "Weir").Min("1").Max("64")
	p.Time(&c.Compute, "compute", "0s", "computing time of an iteration before it communicates",
		"Weir").Min("0s").Max("24h")
	p.Int(&c.Buckets, "buckets", "1", "number of parts of the computing time; after each part, its share of the data "+
		"is sent while the next part is computed", "Weir").Min("1").Max("10000")
}

// bindGroups binds the size of groups.
func (c *common) bindGroups(p *scheme.Params) {
	p.Int(&c.Local, "local", "8", "with algorithm: hierarchical: number of hosts per group, which are neighbours in "+
		"the list of hosts; must divide the number of hosts and be below it", "Weir").Min("2").
		Max("1000000").When("algorithm: "+Hierarchical, func() bool { return c.Algorithm == Hierarchical })
}

// bindAlgorithm binds the algorithm.
func (c *common) bindAlgorithm(p *scheme.Params, operation string) {
	words := Algorithms(operation)
	p.Text(&c.Algorithm, "algorithm", words[0], "algorithm of the operation", "Weir").Words(words...)
}

// buildJob returns the job of an operation at a site. It divides Size among the buckets. An error about a parameter is
// a *scheme.Error.
func (c *common) buildJob(operation string, s job.Site) (job.Program, error) {
	c.Operation, c.Members = operation, s.Members
	if c.Size = c.Size / unit.Bytes(max(c.Buckets, 1)); c.Size < 1 {
		c.Size = 1
	}
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
	if err != nil {
		return nil, parameterError(err)
	}
	return j, nil
}

// parameterError turns a *configError into a *scheme.Error about its parameter. It returns other errors unchanged.
func parameterError(err error) error {
	var w *configError
	if errors.As(err, &w) {
		return &scheme.Error{Param: w.Key, Allowed: w.Allowed, Err: err}
	}
	return err
}

// bindReduce binds the rate of reducing.
func (c *common) bindReduce(p *scheme.Params) {
	p.Rate(&c.Reduce, "reduce", "0bps", "rate at which a host reduces received data; 0bps: without delay; set it if "+
		"reductions take as long as the network",
		"Weir").Min("0bps")
}

type allReduce struct{ common }

// Params binds the options of all_reduce to the fields of c, which keep their values.
func (c *allReduce) Params(p *scheme.Params) {
	c.bindCommon(p, "size of the buffer of each host; all hosts get the sum")
	c.bindAlgorithm(p, AllReduce)
	c.bindGroups(p)
	c.bindParts(p)
	c.bindReduce(p)
}

// allReduceFlows is an all-reduce in which each transfer is a flow of the run.
type allReduceFlows struct {
	algorithm string
	size      unit.Bytes
}

// Params binds the options of all_reduce_flows to the fields of c, which keep their values.
func (c *allReduceFlows) Params(p *scheme.Params) {
	p.Size(&c.size, "size", "", "size of the buffer of each host; all hosts get the sum", "Weir").Required().Min("1 B")
	p.Text(&c.algorithm, "algorithm", FlowAlgorithms[0], "algorithm of the operation", "Weir").Words(FlowAlgorithms...)
}

type allGather struct{ common }

// Params binds the options of all_gather to the fields of c, which keep their values.
func (c *allGather) Params(p *scheme.Params) {
	c.bindCommon(p, "size of the buffer that each host gets and of which it has one block at the start")
	c.bindAlgorithm(p, AllGather)
	c.bindParts(p)
}

type reduceScatter struct{ common }

// Params binds the options of reduce_scatter to the fields of c, which keep their values.
func (c *reduceScatter) Params(p *scheme.Params) {
	c.bindCommon(p, "size of the buffer of each host; each host gets a block of the sum")
	c.bindAlgorithm(p, ReduceScatter)
	c.bindParts(p)
	c.bindReduce(p)
}

type allToAll struct{ common }

// Params binds the options of all_to_all to the fields of c, which keep their values.
func (c *allToAll) Params(p *scheme.Params) {
	c.bindCommon(p, "size of the buffer of each host, with a block for every host")
	c.bindAlgorithm(p, AllToAll)
	c.bindGroups(p)
	p.Int(&c.AtOnce, "at_once", "0", "maximum number of other hosts (with hierarchical: groups) with which a host "+
		"exchanges data at a time; the next one begins when the exchange with one of them is complete in both "+
		"directions; 0: all", "Weir").Min("0").
		Max("1000000")
	c.bindParts(p)
}

type broadcast struct{ common }

// Params binds the options of broadcast to the fields of c, which keep their values.
func (c *broadcast) Params(p *scheme.Params) {
	c.bindCommon(p, "size of the buffer of the first host, which all hosts get")
	c.bindAlgorithm(p, Broadcast)
	c.bindParts(p)
}

type reduce struct{ common }

// Params binds the options of reduce to the fields of c, which keep their values.
func (c *reduce) Params(p *scheme.Params) {
	c.bindCommon(p, "size of the buffer of each host; the first host gets the sum")
	c.bindAlgorithm(p, Reduce)
	c.bindParts(p)
	c.bindReduce(p)
}

type gather struct{ common }

// Params binds the options of gather to the fields of c, which keep their values.
func (c *gather) Params(p *scheme.Params) {
	c.bindCommon(p, "size of the buffer that the first host gets, with a block of each host")
	c.bindParts(p)
}

type scatter struct{ common }

// Params binds the options of scatter to the fields of c, which keep their values.
func (c *scatter) Params(p *scheme.Params) {
	c.bindCommon(p, "size of the buffer of the first host, with a block for each host")
	c.bindParts(p)
}

type stages struct{ common }

// Params binds the options of pipeline to the fields of c, which keep their values.
func (c *stages) Params(p *scheme.Params) {
	c.bindCommon(p, "size of a message from a stage to the next")
	p.Text(&c.Algorithm, "schedule", GPipe, "order of batches at a stage; gpipe: all forward, then all backward; "+
		"1f1b: forward and backward in turn", "Weir").Words(Algorithms(Pipeline)...)
	p.Int(&c.Batches, "batches", "8", "number of micro-batches of an iteration; more leave stages idle for a smaller "+
		"part of it", "Weir").Min("1").Max("1000000")
	p.Time(&c.Forward, "forward", "0s", "forward computing time of a batch at a stage", "Weir").Min("0s").Max("24h")
	p.Time(&c.Backward, "backward", "0s", "backward computing time of a batch at a stage; 0s: no backward pass",
		"Weir").Min("0s").Max("24h")
}

// Schemes returns the operations, sorted by name.
func Schemes() []job.Scheme {
	return []job.Scheme{
		job.Define(scheme.Scheme{Name: AllGather, Doc: "each host gets the blocks of all hosts", Source: "Weir"},
			func(c allGather, s job.Site) (job.Program, error) { return c.buildJob(AllGather, s) }),
		job.Define(scheme.Scheme{Name: AllReduce, Doc: "each host gets the sum of all buffers", Source: "Weir"},
			func(c allReduce, s job.Site) (job.Program, error) { return c.buildJob(AllReduce, s) }),
		job.DefineFlows(scheme.Scheme{Name: AllReduceFlows, Doc: "one all-reduce in which each transfer is a flow of " +
			"the run; also for the lab", Source: "Weir"}, func(c allReduceFlows, s job.Site) (job.Flows, error) {
			t, err := NewTransfers(c.algorithm, s.Members, c.size)
			if err != nil {
				return nil, parameterError(err)
			}
			return t, nil
		}),
		job.Define(scheme.Scheme{Name: AllToAll, Doc: "each host sends a block to every other host", Source: "Weir"},
			func(c allToAll, s job.Site) (job.Program, error) { return c.buildJob(AllToAll, s) }),
		job.Define(scheme.Scheme{Name: Broadcast, Doc: "all hosts get the buffer of the first host", Source: "Weir"},
			func(c broadcast, s job.Site) (job.Program, error) { return c.buildJob(Broadcast, s) }),
		job.Define(scheme.Scheme{Name: Gather, Doc: "the first host gets a block from each host", Source: "Weir"},
			func(c gather, s job.Site) (job.Program, error) { return c.buildJob(Gather, s) }),
		job.Define(scheme.Scheme{Name: Pipeline, Doc: "hosts are stages that pass on the data that they compute",
			Source: "Weir"},
			func(c stages, s job.Site) (job.Program, error) { return c.buildJob(Pipeline, s) }),
		job.Define(scheme.Scheme{Name: Reduce, Doc: "the first host gets the sum of all buffers", Source: "Weir"},
			func(c reduce, s job.Site) (job.Program, error) { return c.buildJob(Reduce, s) }),
		job.Define(scheme.Scheme{Name: ReduceScatter, Doc: "each host gets a block of the sum of all buffers",
			Source: "Weir"}, func(c reduceScatter, s job.Site) (job.Program, error) { return c.buildJob(ReduceScatter, s) }),
		job.Define(scheme.Scheme{Name: Scatter, Doc: "each host gets a block from the first host", Source: "Weir"},
			func(c scatter, s job.Site) (job.Program, error) { return c.buildJob(Scatter, s) }),
	}
}
