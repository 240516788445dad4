package job

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/unit"
)

// Scheme is a kind of jobs that an experiment can name, with its parameters.
type Scheme struct {
	scheme.Scheme
	// Build makes a job from a configuration of the scheme at a site. Define sets it. An error about a parameter is a
	// scheme.Error.
	Build func(c scheme.Config, s Site) (Program, error)
	// BuildFlows replaces Build if messages are flows of the run. DefineFlows sets it.
	BuildFlows func(c scheme.Config, s Site) (Flows, error)
}

// Flows is a job in which each message is a flow of the run: it is in the table of flows and has its own ports, also
// in the lab. Transfers have numbers from 0 on. Values are comparable.
type Flows interface {
	// Count returns the number of transfers.
	Count() int
	// Transfer returns the source rank, the destination rank and the size of transfer k.
	Transfer(k int) (src, dst int, size unit.Bytes)
	// After returns the transfers that must arrive at the source of transfer k before it begins. Their numbers are below
	// k. nil: it begins with the job.
	After(k int) []int
}

// Site is the environment in which a job is built.
type Site struct {
	Members         int  // number of hosts
	HasFixedMembers bool // the experiment sets the number of members; otherwise the job may need fewer
	// Places returns the numbers of the members that a host name, a group or a pattern selects.
	Places func(hosts string) ([]int, error)
	// Open reads a file in the experiment's folder. It also returns the file's name for errors.
	Open func(file string) (data []byte, name string, err error)
	// Exists reports whether the experiment's folder has a file of this name.
	Exists func(file string) bool
}

// Define completes a scheme with the function that makes its jobs from a configuration of type C. The values of the
// configuration are within their ranges and fit together.
func Define[C any, P scheme.Bound[C]](s scheme.Scheme, build func(c C, s Site) (Program, error)) Scheme {
	s.Config = scheme.NewDefault[C, P]
	return Scheme{Scheme: s, Build: func(c scheme.Config, site Site) (Program, error) {
		own, err := scheme.ConfigAs[C, P](c)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", s.Name, err)
		}
		return build(own, site)
	}}
}

// DefineFlows is Define for a job in which each message is a flow of the run.
func DefineFlows[C any, P scheme.Bound[C]](s scheme.Scheme, build func(c C, s Site) (Flows, error)) Scheme {
	s.Config = scheme.NewDefault[C, P]
	return Scheme{Scheme: s, BuildFlows: func(c scheme.Config, site Site) (Flows, error) {
		own, err := scheme.ConfigAs[C, P](c)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", s.Name, err)
		}
		return build(own, site)
	}}
}

// Ideal is a network on which messages interfere only at their ranks.
type Ideal interface {
	// Run runs a job. events is the number of steps of the run.
	Run(p Program, w Watch) (o Outcome, events uint64, err error)
	// Form returns the name of the model and of its form that runs the programs, for reports.
	Form(programs []Program) string
}

// Model is a kind of ideal networks that an experiment can name.
type Model struct {
	scheme.Scheme
	Make func(c scheme.Config) (Ideal, error)
}

// DefineModel completes a model with the function that makes it from a configuration of type C.
func DefineModel[C any, P scheme.Bound[C]](s scheme.Scheme, make func(c C) Ideal) Model {
	s.Config = scheme.NewDefault[C, P]
	return Model{Scheme: s, Make: func(c scheme.Config) (Ideal, error) {
		own, err := scheme.ConfigAs[C, P](c)
		if err != nil {
			return nil, fmt.Errorf("network %s: %w", s.Name, err)
		}
		return make(own), nil
	}}
}
