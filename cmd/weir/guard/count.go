package guard

import (
	"fmt"
	"runtime"

	"weir/study/plan"
	"weir/study/spec"
	"weir/worlds/sim"
)

// Counts are events a hop of an experiment's two runs together, and what it allocates. The runs
// differ in how long flows are, and in nothing else: what the second allocates more is what packets
// cost, the rest of the first what flows and the start do.
type Counts struct{ Events, PerPacket, PerFlow float64 }

// Count carries out the two runs.
func Count(r *spec.Registry, experiment string) (*Counts, error) {
	src, err := r.Open(experiment)
	if err != nil {
		return nil, err
	}
	exp, err := plan.Load(r, src, spec.Options{})
	if err != nil {
		return nil, err
	}
	runs := plan.Runs(exp)
	if len(runs) != 2 {
		return nil, fmt.Errorf("%s has %d runs; two are compared", experiment, len(runs))
	}
	var events, hops, mallocs, packets [2]float64
	flows := 0
	for i, run := range runs {
		c, err := run.Config()
		if err != nil {
			return nil, err
		}
		s, err := sim.New(c)
		if err != nil {
			return nil, err
		}
		before := memory().Mallocs
		result := s.Run()
		mallocs[i] = float64(memory().Mallocs - before)
		events[i], hops[i] = float64(result.Events), float64(result.PacketHops)
		for k := range result.Flows {
			packets[i] += float64(result.Flows[k].Sender.SentPackets)
		}
		flows = len(result.Flows)
	}
	if packets[1] < packets[0]*5/4 || flows == 0 {
		return nil, fmt.Errorf("%s: %v packets in the second run, %v in the first; too few to compare", experiment,
			packets[1], packets[0])
	}
	c := &Counts{Events: (events[0] + events[1]) / (hops[0] + hops[1])}
	c.PerPacket = max(mallocs[1]-mallocs[0], 0) / (packets[1] - packets[0])
	c.PerFlow = max(mallocs[0]-c.PerPacket*packets[0], 0) / float64(flows)
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
func Built(r *spec.Registry, experiment string, carriedOut bool) (float64, error) {
	before := memory().HeapAlloc
	exp, err := plan.Load(r, &spec.Source{Name: "memory", File: "memory.yaml", Data: []byte(experiment)}, spec.Options{})
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
	var result *sim.Result
	if carriedOut {
		result = s.Run()
	}
	used := float64(memory().HeapAlloc) - float64(before)
	runtime.KeepAlive([]any{exp, c, s, result})
	return used, nil
}
