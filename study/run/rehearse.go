package run

import (
	"fmt"

	"weir/core/outcome"
	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/lab"
)

// RehearseRun executes a run with only Weir hosts on the lab's data plane and hosts, without a kernel and in virtual
// time. It measures the run as in the lab. CheckLab must have accepted the experiment.
func RehearseRun(r *plan.Run) (*results.Run, error) {
	c, err := r.Config()
	if err != nil {
		return nil, err
	}
	network, err := LabConfig(r)
	if err != nil {
		return nil, err
	}
	hosts, err := HostsConfig(r)
	if err != nil {
		return nil, err
	}
	report, ends, of, err := lab.Rehearse(network, hosts)
	if err != nil {
		return nil, err
	}
	if errors := append(report.Errors(), ends.Errors()...); len(errors) > 0 {
		return nil, fmt.Errorf("rehearsal: %q", errors)
	}
	return labRun(r, c, report, &labOutcome{own: of.(*outcome.Result), hosts: ends}, "rehearsal"), nil
}
