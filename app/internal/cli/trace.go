package cli

import (
	"fmt"
	"path/filepath"

	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/command"
	"weir/internal/document"
	"weir/study/results"
)

type traceCmd struct {
	File   string   `arg:"" type:"path" help:"Trace: pcapng (of any program), Parquet or text; -: standard input."`
	Flow   []int64  `placeholder:"N" help:"Only flows with these numbers."`
	Port   []string `placeholder:"PORT" help:"Only these ports; * matches any characters."`
	Node   []string `placeholder:"NODE" help:"Only events at these nodes."`
	Host   []string `placeholder:"HOST" help:"Only packets from or to these hosts or addresses."`
	Kind   []string `placeholder:"KIND" help:"Only these events: enqueue, transmit, drop, lost, arrive."`
	Drops  bool     `help:"Only the events drop and lost."`
	From   string   `placeholder:"TIME" help:"Only events at or after this time (5ms)."`
	To     string   `placeholder:"TIME" help:"Only events before this time."`
	Events bool     `help:"Print the events, one per line, instead of a summary."`
}

// newFilter returns the filter that the flags define. Flags that are not given match all events.
func (t *traceCmd) newFilter() (trace.Filter, error) {
	f := trace.Filter{Ports: t.Port, Nodes: t.Node, Flows: t.Flow, Hosts: t.Host}
	for _, name := range t.Kind {
		k, ok := trace.ParseKind(name)
		if !ok {
			return f, fmt.Errorf("%w: --kind is %s; allowed: %s",
				command.ErrInput, name, document.JoinChoices(trace.KindNames()))
		}
		f.Kinds = append(f.Kinds, k)
	}
	if t.Drops {
		f.Kinds = append(f.Kinds, trace.Drop, trace.Lost)
	}
	for _, x := range []struct {
		name, text string
		at         *unit.Time
	}{{"--from", t.From, &f.From}, {"--to", t.To, &f.To}} {
		if x.text == "" {
			continue
		}
		var err error
		if *x.at, err = unit.ParseTime(x.text); err != nil {
			return f, fmt.Errorf("%w: %s: %v", command.ErrInput, x.name, err)
		}
	}
	if t.To != "" && f.To <= f.From {
		return f, fmt.Errorf("%w: --to %s is not after --from; a later time is allowed", command.ErrInput, t.To)
	}
	return f, nil
}

// Run prints a summary of the matching events of a trace, or with --events each of them. It prints the events before an
// unreadable position and then returns the error.
func (t *traceCmd) Run(a *app) error {
	filter, err := t.newFilter()
	if err != nil {
		return err
	}
	all, picked := int64(0), int64(0)
	var sum trace.Summary
	var lines *trace.TextSink
	if t.Events {
		lines = trace.NewText(a.stdout, nil)
	}
	clock, err := results.ReadTrace(t.File, func(r *trace.Record) error {
		all++
		if !filter.Match(r) {
			return nil
		}
		picked++
		if t.Events {
			return lines.Write(r)
		}
		sum.AddRecord(r)
		return nil
	})
	if t.Events { // write the events before an unreadable position
		if err := lines.Close(); err != nil {
			return err
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", command.ErrInput, err)
	}
	if t.Events {
		return nil
	}
	fmt.Fprintf(a.stdout, "%s: ", filepath.Base(t.File))
	if clock != "" {
		fmt.Fprintf(a.stdout, "time 0 is %s\n", clock)
	}
	if picked < all {
		fmt.Fprintf(a.stdout, "%d of %d events match\n", picked, all)
	}
	fmt.Fprint(a.stdout, &sum)
	return nil
}
