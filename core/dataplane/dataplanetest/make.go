package dataplanetest

import (
	"fmt"
	"strings"

	"weir/core/dataplane"
	"weir/core/scheme"
)

// Make builds a scheme's program with its defaults but for what given names:
// parameter, value, parameter, value, as an experiment file would write them; a map
// as "0: false, 3: true". Bounds are not checked.
func Make(s dataplane.Scheme, site *dataplane.Site, given ...string) (dataplane.Program, error) {
	values, texts := map[string]any{}, map[string]string{}
	for i := 0; i+1 < len(given); i += 2 {
		texts[given[i]] = given[i+1]
	}
	for _, p := range s.Params {
		text, ok := texts[p.Name]
		if delete(texts, p.Name); !ok {
			text = p.Default
		}
		v, err := value(&p, text)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.Name, p.Name, err)
		}
		values[p.Name] = v
	}
	if len(texts) > 0 || len(given)%2 > 0 {
		return nil, fmt.Errorf("%s has no parameters %v", s.Name, texts)
	}
	return s.Build(site, scheme.NewValues(s.Name, values))
}

func value(p *scheme.Param, text string) (any, error) {
	if p.Kind != scheme.Map {
		return scheme.Parse(p.Kind, text)
	}
	var entries []scheme.Entry
	for _, x := range strings.Split(text, ",") {
		key, v, ok := strings.Cut(strings.TrimSpace(x), ":")
		if !ok {
			continue
		}
		e, err := scheme.Parse(p.Of, strings.TrimSpace(v))
		if err != nil {
			return nil, err
		}
		entries = append(entries, scheme.Entry{Key: key, Value: e})
	}
	return entries, nil
}
