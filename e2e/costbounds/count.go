package costbounds

import (
	"fmt"
	"runtime"

	"weir/core/outcome"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// RunCosts are the events per hop of an experiment's two runs together, and their allocations. The runs
// differ in how long flows are, and in nothing else: what the second allocates more is what packets
// cost, the rest of the first what flows and the start do.
type RunCosts struct{ Events, PerPacket, PerFlow float64 }

// maxCounts is how often Count runs an experiment at most.
const maxCounts = 3

// Count carries out the two runs, again while holds returns false for what was counted so far. The runtime and the
// program's other goroutines allocate, too, which adds to a run's allocations by chance: the smallest number counts.
func Count(r *experiment.Registry, name string, holds func(*RunCosts) bool) (*RunCosts, error) {
	src, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	exp, err := plan.Load(r, src, experiment.Options{})
	if err != nil {
		return nil, err
	}
	runs := plan.Runs(exp)
	if len(runs) != 2 {
		return nil, fmt.Errorf("%s has %d runs; two are compared", name, len(runs))
	}
	var smallest [2]tally
	for times := 1; ; times++ {
		for i, run := range runs {
			c, err := run.Config()
			if err != nil {
				return nil, err
			}
			now, err := count(c)
			if err != nil {
				return nil, err
			}
			if times == 1 || now.mallocs < smallest[i].mallocs {
				smallest[i] = now
			}
		}
		c, err := compare(smallest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if times == maxCounts || holds(c) {
			return c, nil
		}
	}
}

// tally is what was counted in one run.
type tally struct{ events, hops, mallocs, packets, flows float64 }

// count carries out one run.
func count(c *sim.Config) (tally, error) {
	s, err := sim.New(c)
	if err != nil {
		return tally{}, err
	}
	before := memory().Mallocs
	result := s.Run()
	x := tally{events: float64(result.Events), hops: float64(result.PacketHops),
		mallocs: float64(memory().Mallocs - before), flows: float64(len(result.Flows))}
	for k := range result.Flows {
		x.packets += float64(result.Flows[k].Sender.SentPackets)
	}
	return x, nil
}

// compare returns what packets and flows cost by the tallies of the two runs.
func compare(runs [2]tally) (*RunCosts, error) {
	short, long := runs[0], runs[1]
	if long.packets < short.packets*5/4 || long.flows == 0 {
		return nil, fmt.Errorf("%v packets in the second run, %v in the first; too few to compare", long.packets,
			short.packets)
	}
	c := &RunCosts{Events: (short.events + long.events) / (short.hops + long.hops)}
	c.PerPacket = max(long.mallocs-short.mallocs, 0) / (long.packets - short.packets)
	c.PerFlow = max(short.mallocs-c.PerPacket*short.packets, 0) / long.flows
	return c, nil
}

// memory is what is allocated now, and in use.
func memory() *runtime.MemStats {
	runtime.GC()
	runtime.GC() // what the first has left in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return &m
}

// Built returns the bytes that an experiment has in use once its run is built, or with carriedOut
// at the run's end, result included.
func Built(r *experiment.Registry, text string, carriedOut bool) (float64, error) {
	before := memory().HeapAlloc
	src := &experiment.Source{Name: "memory", File: "memory.yaml", Data: []byte(text)}
	exp, err := plan.Load(r, src, experiment.Options{})
	if err != nil {
		return 0, err
	}
	c, err := plan.Runs(exp)[0].Config()
	if err != nil {
		return 0, err
	}
	s, err := sim.New(c)
	if err != nil {
		return 0, err
	}
	var result *outcome.Result
	if carriedOut {
		result = s.Run()
	}
	used := float64(memory().HeapAlloc) - float64(before)
	runtime.KeepAlive([]any{exp, c, s, result})
	return used, nil
}
