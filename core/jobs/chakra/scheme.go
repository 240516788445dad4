package chakra

import (
	"fmt"

	"weir/core/jobs/collective"
	"weir/core/jobs/job"
	"weir/core/jobs/loggops"
	"weir/core/scheme"
	"weir/core/workload"
)

// config is the configuration of a job of Chakra traces.
type config struct {
	File      string
	Groups    string
	Dims      string
	AllReduce string
}

// none marks an option that is not given.
const none = "none"

// Params binds the options of chakra to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	p.Text(&c.File, "file", "", "prefix of the traces: x for the files x.0.et, x.1.et, …, one per host",
		"Weir").Required()
	p.Text(&c.Groups, "groups", none, "JSON file with the ranks of process groups: {\"1\": [0, 1]}", "Weir")
	p.Text(&c.Dims, "dims", none, "sizes of the dimensions, such as 8x4; the first dimension has consecutive ranks",
		"Weir")
	p.Text(&c.AllReduce, "all_reduce", collective.Ring, "algorithm of all-reduces", "Weir").
		Words(collective.Algorithms(collective.AllReduce)...)
}

// Scheme returns the scheme of jobs from Chakra traces.
func Scheme() job.Scheme {
	return job.Define(scheme.Scheme{Name: "chakra", Doc: "runs the operations of ranks from Chakra traces",
		Source: "Chakra"},
		func(c config, s job.Site) (job.Program, error) { return c.openJob(s) })
}

// openJob reads the traces, and verifies that their job can run.
func (c *config) openJob(s job.Site) (job.Program, error) {
	o := Options{Algorithms: map[string]string{collective.AllReduce: c.AllReduce}}
	var err error
	if c.Dims != none {
		if o.Dims, err = parseDims(c.Dims, s.Members); err != nil {
			return nil, &scheme.Error{Param: "dims", Err: err}
		}
	}
	if c.Groups != none {
		data, name, err := s.Open(c.Groups)
		if err != nil {
			return nil, err
		}
		if o.Groups, err = readGroups(data, name, s.Members); err != nil {
			return nil, err
		}
	}
	var traces [][]byte
	var names []string
	for rank := range s.Members {
		data, name, err := s.Open(c.traceName(rank))
		if err != nil {
			return nil, err
		}
		traces, names = append(traces, data), append(names, name)
	}
	if next := c.traceName(s.Members); s.Exists(next) {
		return nil, &scheme.Error{Param: "file", Err: fmt.Errorf("%s is there, so the traces are of more than the %d hosts "+
			"of the job", next, s.Members), Allowed: "as many hosts as traces"}
	}
	l, err := ReadTraces(traces, names, o)
	if err != nil {
		return nil, err
	}
	for _, f := range l.Check() {
		return nil, &workload.FormatError{File: names[max(f.Rank, 0)], Line: 1, Column: 1, Msg: f.Msg}
	}
	if why := loggops.DescribeStops(l); why != "" {
		return nil, &workload.FormatError{File: names[0], Line: 1, Column: 1, Msg: why}
	}
	return l, nil
}

// traceName returns the name of a rank's trace.
func (c *config) traceName(rank int) string { return fmt.Sprintf("%s.%d.et", c.File, rank) }
