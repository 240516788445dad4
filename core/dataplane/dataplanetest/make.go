package dataplanetest

import (
	"strings"

	"weir/core/dataplane"
	"weir/core/scheme"
)

// BuildProgram builds a scheme's program with its defaults except for the given parameters: name, value, name, value,
// as in an experiment file. The braces of a map may be omitted.
func BuildProgram(s dataplane.Scheme, site *dataplane.Site, given ...string) (dataplane.Program, error) {
	given = append([]string(nil), given...)
	for _, p := range s.Parameters() {
		for i := 0; i+1 < len(given); i += 2 {
			if given[i] == p.Name && p.Kind == scheme.Map && !strings.HasPrefix(given[i+1], "{") {
				given[i+1] = "{" + given[i+1] + "}"
			}
		}
	}
	c, err := s.Configure(given...)
	if err != nil {
		return nil, err
	}
	return s.Build(site, c)
}
