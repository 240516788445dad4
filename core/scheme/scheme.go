// Package scheme describes what an experiment file can name (switch programs, schedulers, transports, congestion
// controllers, networks) together with their parameters. A scheme has a configuration: a struct that binds each field
// to a parameter, once, with name, default, unit, range, text and source. The reader of experiment files, the lists of
// parameters, the schema and the errors are all made from these bindings.
//
// A configuration is passed on as a Config. Code that builds from it takes the struct and need not check ranges again.
// Code that fills in a configuration starts with Defaults and calls Validate.
package scheme

import "fmt"

// Scheme is one thing that an experiment file can name.
type Scheme struct {
	Name   string
	Doc    string        // one line
	Source string        // paper or RFC
	Config func() Config // returns a new configuration with its defaults (NewDefault); nil: no parameters
	// Warnings are the kinds of warnings that its configuration issues.
	Warnings []WarningKind
}

// NewConfig returns a configuration with the defaults.
func (s Scheme) NewConfig() Config {
	if s.Config == nil {
		return &None{}
	}
	return s.Config()
}

// Parameters returns the scheme's parameters, bound to a new configuration.
func (s Scheme) Parameters() []*Param {
	return Bind(s.NewConfig()).List()
}

// Configure returns a configuration with the defaults and the given values: parameter, value, parameter, value, as an
// experiment file would write them. It returns an error for an unknown parameter, a value that is not allowed, a
// missing required parameter, or values that break a rule.
func (s Scheme) Configure(given ...string) (Config, error) {
	c := s.NewConfig()
	p := Bind(c)
	is := map[string]bool{}
	for i := 0; i < len(given); i += 2 {
		x := p.Find(given[i])
		if x == nil || i+1 == len(given) {
			return nil, fmt.Errorf("%s has no parameter %s with a value", s.Name, given[i])
		}
		if err := x.Set(given[i+1]); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		is[x.Name] = true
	}
	for _, x := range p.List() {
		if x.Required && !is[x.Name] {
			return nil, fmt.Errorf("%s needs the parameter %s", s.Name, x.Name)
		}
	}
	for _, err := range p.CheckValues() {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return c, nil
}
