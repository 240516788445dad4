package cli

import (
	"testing"

	"weir/core/scheme"
)

// named returns all schemes that an experiment can name, by kind and name.
func named() map[string]scheme.Scheme {
	all := map[string]scheme.Scheme{}
	r := Registry()
	for _, s := range r.Transports {
		all["transport "+s.Name] = s.Scheme
	}
	for _, s := range r.Topologies {
		all["topology "+s.Name] = s.Scheme
	}
	for _, s := range r.Programs {
		all["program "+s.Name] = s.Scheme
	}
	for _, s := range r.Schedulers {
		all["scheduler "+s.Name] = s.Scheme
	}
	for _, s := range r.Controllers {
		all["cc "+s.Name] = s.Scheme
	}
	for _, s := range r.Jobs {
		all["job "+s.Name] = s.Scheme
	}
	for _, s := range r.Ideals {
		all["network "+s.Name] = s.Scheme
	}
	return all
}

// other sets the parameter to a value that differs from the present one and returns it, or "" if it finds no such
// value.
func other(p *scheme.Param) string {
	now := p.Value()
	var all []string
	for _, limit := range p.Range {
		all = append(all, limit.Value)
	}
	all = append(append(all, p.Words...), "true", "false", "3", "0.5", "5ms", "7us", "10kbps", "50%",
		"70kB", "9 packets", "{1: 20kbps}", "{1: 3}", "{1: true}", "{0x10: other}",
		"{1: 40%}", "{1: 9 packets}", "{1: inside}", "{1: 5ms}", "{10.0.0.1: 5ms}", "{10.0.0.1: 1}", "{10.0.0.1: 20kbps}",
		"{100Gbps: 400KB}", "{100Gbps: 40%}")
	for _, text := range all {
		if text != "" && p.Set(text) == nil && p.Value() != now {
			return text
		}
	}
	return ""
}

// TestParametersAreBound checks that every parameter is bound to its own field: setting it changes no other, and
// its printed value is read back as the same value. Each parameter also needs a text and a source.
func TestParametersAreBound(t *testing.T) {
	schemes := named()
	if len(schemes) < 40 {
		t.Fatalf("%d schemes", len(schemes))
	}
	for name, s := range schemes {
		t.Run(name, func(t *testing.T) {
			for _, p := range s.Parameters() {
				params := scheme.Bind(s.NewConfig())
				one := params.Find(p.Name)
				if !one.Required && !one.IsDefault() {
					t.Errorf("%s begins as %s, not as its default, %s", p.Name, one.Value(), one.Default)
				}
				before := map[string]string{}
				for _, x := range params.List() {
					before[x.Name] = x.Value()
				}
				if other(one) == "" {
					t.Errorf("%s is %s, and nothing else can be set", p.Name, one.Value())
				}
				for _, x := range params.List() {
					if x != one && x.Value() != before[x.Name] {
						t.Errorf("%s sets %s", p.Name, x.Name)
					}
				}
				if text := one.Value(); one.Set(text) != nil || one.Value() != text {
					t.Errorf("%s: %s is read as %s", p.Name, text, one.Value())
				}
				if p.Doc == "" || p.Source == "" {
					t.Errorf("%s lacks a text or a source", p.Name)
				}
			}
		})
	}
}

// TestDefaultsAreAllowed checks that the defaults of every scheme without required parameters are within their ranges
// and compatible.
func TestDefaultsAreAllowed(t *testing.T) {
	for name, s := range named() {
		t.Run(name, func(t *testing.T) {
			for _, p := range s.Parameters() {
				if p.Required {
					return
				}
			}
			if err := scheme.Validate(s.NewConfig()); err != nil {
				t.Error(err)
			}
		})
	}
}
