package goal

import (
	"fmt"

	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/scheme"
	"weir/core/workload"
)

// config is the configuration of a job of a GOAL file.
type config struct{ File string }

// Params binds the options of goal to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	p.Text(&c.File, "file", "", "GOAL file in the folder of the experiment, in text or binary form", "Weir").Required()
}

// Scheme returns the scheme of jobs from GOAL files.
func Scheme() job.Scheme {
	return job.Define(scheme.Scheme{Name: "goal", Doc: "runs the operations of ranks from a GOAL file",
		Source: "LogGOPSim"},
		func(c config, s job.Site) (job.Program, error) { return c.openJob(s) })
}

// openJob reads the file, and verifies that its job can run with the site's number of hosts.
func (c *config) openJob(s job.Site) (job.Program, error) {
	data, name, err := s.Open(c.File)
	if err != nil {
		return nil, err
	}
	l, err := ReadJob(data, name)
	if err != nil {
		return nil, err
	}
	for _, f := range l.Check() {
		return nil, &workload.FormatError{File: name, Line: max(f.Line, 1), Column: 1, Msg: f.Msg}
	}
	if s.Members < l.Ranks() || s.HasFixedMembers && s.Members > l.Ranks() {
		return nil, &scheme.Error{Param: "file", Err: fmt.Errorf("%s has %d ranks, and the job %d hosts", name, l.Ranks(),
			s.Members), Allowed: fmt.Sprintf("%d hosts", l.Ranks())}
	}
	if !l.HasWildcards() { // otherwise the order of time decides which message is received
		if why := loggops.DescribeStops(l); why != "" {
			return nil, &workload.FormatError{File: name, Line: 1, Column: 1, Msg: why}
		}
	}
	return l, nil
}
