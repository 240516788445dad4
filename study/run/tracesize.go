package run

import (
	"weir/study/experiment"
	"weir/study/plan"
)

// EstimateTraceSize estimates the bytes of the traces of an experiment's runs: for each form in the order of
// TraceFormNames, and in total. Forms that are not kept have 0. If the measures choose the number of seeds, it counts
// the maximum. A pattern that matches no port is an error.
func EstimateTraceSize(s *experiment.Spec, patterns []string, tracing Tracing) (forms []float64, all float64,
	err error) {
	points, err := TracePorts(s, patterns)
	if err != nil {
		return nil, 0, err
	}
	// bytes of events, from docs/traces.md
	const (
		textEvent    = 117
		parquetEvent = 2.5
		frameBlock   = 36 // overhead of a frame
		frameKept    = 80 // headers and start of the payload
		fullFrame    = 1514
	)
	frame := float64(frameKept)
	if tracing.Snap > 0 {
		frame = min(float64(tracing.Snap), fullFrame)
	}
	forms = make([]float64, len(traceForms))
	var events, packets float64
	runs := plan.ListRuns(s)
	for i, r := range runs {
		if i == 0 || r.Index != runs[i-1].Index { // all seeds have the same estimate
			events, packets = 0, 0
			of := plan.EstimateCrossings(r)
			for k, p := range points[r.Index] {
				if !p.Traced {
					continue
				}
				packets += of[k]
				if events += 2 * of[k]; r.SpecPoint.Network().Nodes[p.Node].Switch { // hosts queue what they can send
					events += of[k]
				}
			}
		}
		for k, each := range []float64{(frameBlock + frame) * packets, parquetEvent * events, textEvent * events} {
			if tracing.hasForm(traceForms[k].name) {
				forms[k] += each
				all += each
			}
		}
	}
	return forms, all, nil
}
