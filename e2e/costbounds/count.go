package costbounds

import (
	"fmt"
	"runtime"

	"weir/core/outcome"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// RunCosts holds the events per hop of an experiment's two runs together, and their allocations. The runs differ only
// in the length of flows: the additional allocations of the second are the cost of packets, the rest of the first the
// cost of flows and the start.
type RunCosts struct{ Events, PerPacket, PerFlow float64 }

// maxCounts is the maximum number of times that Count runs an experiment.
const maxCounts = 3

// Count executes the two runs of the experiment with this name. It repeats them, at most maxCounts times in total,
// until holds returns true for the smallest counts so far. The runtime and the program's other goroutines allocate,
// too, which adds to a run's allocations at random: the smallest number counts.
func Count(r *experiment.Registry, name string, holds func(*RunCosts) bool) (*RunCosts, error) {
	src, err := r.OpenExperiment(name)
	if err != nil {
		return nil, err
	}
	exp, err := plan.Load(r, src, experiment.Options{})
	if err != nil {
		return nil, err
	}
	runs := plan.ListRuns(exp)
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
			now, err := countRun(c)
			if err != nil {
				return nil, err
			}
			if times == 1 || now.mallocs < smallest[i].mallocs {
				smallest[i] = now
			}
		}
		c, err := compareRuns(smallest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if times == maxCounts || holds(c) {
			return c, nil
		}
	}
}

// tally holds the counts of one run.
type tally struct{ events, hops, mallocs, packets, flows float64 }

// countRun executes one run.
func countRun(c *sim.Config) (tally, error) {
	s, err := sim.New(c)
	if err != nil {
		return tally{}, err
	}
	before := readMemory().Mallocs
	result := s.Run()
	x := tally{events: float64(result.Events), hops: float64(result.PacketHops),
		mallocs: float64(readMemory().Mallocs - before), flows: float64(len(result.Flows))}
	for k := range result.Flows {
		x.packets += float64(result.Flows[k].Sender.SentPackets)
	}
	return x, nil
}

// compareRuns returns the costs of packets and flows from the tallies of the two runs. An error is a second run without
// enough additional packets.
func compareRuns(runs [2]tally) (*RunCosts, error) {
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

// readMemory collects garbage and returns the memory statistics.
func readMemory() *runtime.MemStats {
	runtime.GC()
	runtime.GC() // for objects that the first left in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return &m
}

// MeasureMemory returns the bytes that the experiment text uses once its run is built, or with atEnd at the run's end,
// including the result.
func MeasureMemory(r *experiment.Registry, text string, atEnd bool) (float64, error) {
	before := readMemory().HeapAlloc
	src := &experiment.Source{Name: "memory", File: "memory.yaml", Data: []byte(text)}
	exp, err := plan.Load(r, src, experiment.Options{})
	if err != nil {
		return 0, err
	}
	c, err := plan.ListRuns(exp)[0].Config()
	if err != nil {
		return 0, err
	}
	s, err := sim.New(c)
	if err != nil {
		return 0, err
	}
	var result *outcome.Result
	if atEnd {
		result = s.Run()
	}
	used := float64(readMemory().HeapAlloc) - float64(before)
	runtime.KeepAlive([]any{exp, c, s, result})
	return used, nil
}
