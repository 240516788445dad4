package dataplanetest

import (
	"strings"

	"weir/core/dataplane"
	"weir/core/scheme"
)

// BuildProgram builds a scheme's program with its defaults except for the given parameters: name, value, name, value,
// as in an experiment file. The braces of a map may be omitted.
func BuildProgram(s dataplane.Scheme, site *dataplane.Site, params ...string) (dataplane.Program, error) {
	params = append([]string(nil), params...)
	for _, p := range s.Parameters() {
		for i := 0; i+1 < len(params); i += 2 {
			if params[i] == p.Name && p.Kind == scheme.Map && !strings.HasPrefix(params[i+1], "{") {
				params[i+1] = "{" + params[i+1] + "}"
			}
		}
	}
	c, err := s.Configure(params...)
	if err != nil {
		return nil, err
	}
	return s.Build(site, c)
}
