package job

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/unit"
)

// Scheme is a kind of jobs that an experiment can name, with its parameters.
type Scheme struct {
	scheme.Scheme
	// Build makes a job of a configuration of the scheme at a site. Define sets it. What is wrong with a parameter is a
	// scheme.Error.
	Build func(c scheme.Config, s Site) (Program, error)
	// BuildFlows is in place of Build where messages are flows of the run. DefineFlows sets it.
	BuildFlows func(c scheme.Config, s Site) (Flows, error)
}

// Flows is a job in which each message is a flow of the run: it is in the table of flows and has ports of its own, also
// in the lab. Transfers have numbers from 0 on. Values are comparable.
type Flows interface {
	// Count is the number of transfers.
	Count() int
	// Transfer returns the ranks between which transfer k carries how many bytes.
	Transfer(k int) (src, dst int, size unit.Bytes)
	// After returns the transfers that have to arrive at the source of transfer k before it begins, with numbers below
	// k; nil for one that begins with the job.
	After(k int) []int
}

// Site is what a job is built for.
type Site struct {
	Members int  // hosts that it has
	Fixed   bool // and that the experiment says: else it may need fewer
	// Places are the numbers of the members that hosts are: one by its name, or those of a group or a pattern.
	Places func(hosts string) ([]int, error)
	// Open reads a file beside the experiment. The name is that for errors.
	Open func(file string) (data []byte, name string, err error)
	// Exists reports whether there is a file of this name in the experiment's folder.
	Exists func(file string) bool
}

// Define completes a scheme with the function that makes its jobs from a configuration of type C, whose values are
// within their ranges and fit together.
func Define[C any, P scheme.Bound[C]](s scheme.Scheme, build func(c C, s Site) (Program, error)) Scheme {
	s.Config = scheme.For[C, P]
	return Scheme{Scheme: s, Build: func(c scheme.Config, site Site) (Program, error) {
		own, err := scheme.As[C, P](c)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", s.Name, err)
		}
		return build(own, site)
	}}
}

// DefineFlows is Define for a job in which each message is a flow of the run.
func DefineFlows[C any, P scheme.Bound[C]](s scheme.Scheme, build func(c C, s Site) (Flows, error)) Scheme {
	s.Config = scheme.For[C, P]
	return Scheme{Scheme: s, BuildFlows: func(c scheme.Config, site Site) (Flows, error) {
		own, err := scheme.As[C, P](c)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", s.Name, err)
		}
		return build(own, site)
	}}
}

// Ideal is a network on which messages disturb each other nowhere but at their ranks.
type Ideal interface {
	// Run carries out a job. Events is how many steps that took.
	Run(p Program, w Watch) (o Outcome, events uint64, err error)
	// Form names the model and the form of it that runs programs, for reports.
	Form(programs []Program) string
}

// Model is a kind of ideal networks that an experiment can name.
type Model struct {
	scheme.Scheme
	Make func(c scheme.Config) (Ideal, error)
}

// DefineModel completes a model with the function that makes it from a configuration of type C.
func DefineModel[C any, P scheme.Bound[C]](s scheme.Scheme, make func(c C) Ideal) Model {
	s.Config = scheme.For[C, P]
	return Model{Scheme: s, Make: func(c scheme.Config) (Ideal, error) {
		own, err := scheme.As[C, P](c)
		if err != nil {
			return nil, fmt.Errorf("network %s: %w", s.Name, err)
		}
		return make(own), nil
	}}
}
