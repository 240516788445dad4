package cli

import (
	"fmt"

	"weir/internal/command"
	"weir/internal/document"
	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/schemelint"
)

// loadWatched works as loadSpec, and checks the experiment's controllers and programs for mistakes. Harmless ones
// become warnings. It prints the others and returns an error.
func (s *selection) loadWatched(a *app) (*experiment.Spec, error) {
	registry, watched := schemelint.Watch(a.registry)
	own := *a
	own.registry = registry
	x, err := s.loadSpec(&own)
	if err != nil {
		return nil, err
	}
	found, why := watched.Find(x)
	if why != "" {
		fmt.Fprintf(a.stderr, "notice: controllers and programs were not checked for mistakes: %s\n", why)
	}
	fatal := 0
	for _, t := range found {
		if !t.Fatal {
			a.warn(document.Warning{Kind: t.Kind, Text: t.Text})
			continue
		}
		fatal++
		fmt.Fprintf(a.stderr, "mistake: %s\n", t.Text)
	}
	if fatal > 0 {
		return nil, fmt.Errorf("%w: a controller or program of %s has %s; correct it, because the results would be wrong",
			command.ErrInput, x.Name(),
			text.Count(fatal, "mistake"))
	}
	return x, nil
}
