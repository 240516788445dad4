package run

import (
	"fmt"

	"weir/core/outcome"
	"weir/study/plan"
	"weir/study/results"
	"weir/worlds/lab"
)

// Rehearse carries a run out whose hosts are all Weir's own by the lab's data plane and hosts, without a kernel and in
// virtual time, and measures it as in the lab. CheckLab must have found nothing.
func Rehearse(r *plan.Run) (*results.Run, error) {
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
