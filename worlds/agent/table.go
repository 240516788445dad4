package agent

import (
	"fmt"
	"io"
	"text/tabwriter"

	"weir/core/unit"
)

// Table writes a line for each direction of connections in which HPCC++ tells something, and one for a connection
// without; the busiest first.
func Table(to io.Writer, all []Connection) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "local\tremote\tcontrol\tas\twindow\tU\tbottleneck\tage\tRTT\tpacing\t")
	for _, c := range busiest(all) {
		row := func(as string, t Told) {
			window, load, hop, age := "-", "-", "-", "-"
			if t.Window > 0 {
				window, load, age = t.Window.String(), fmt.Sprintf("%.3f", t.Load), short(t.Age)
				hop = fmt.Sprintf("%d of %d", t.Bottleneck, t.Hops)
				if t.Node > 0 {
					hop += fmt.Sprintf(", node %d", t.Node)
				}
				if as == "receiver" && c.Missed {
					hop += ", more hops than fit"
				}
			}
			pacing := "-"
			if as == "sender" && c.Following {
				pacing = c.Pacing.String()
			}
			fmt.Fprintf(w, "%v\t%v\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.Local, c.Remote, c.Controller, as, window, load, hop,
				age, short(c.RTT), pacing)
		}
		told, tell := c.Told.Window > 0 || c.Traced > 0, c.Tell.Window > 0
		if told || !tell {
			row("sender", c.Told)
		}
		if tell {
			row("receiver", c.Tell)
		}
	}
	if n := len(all) - mostShown; n > 0 {
		fmt.Fprintf(w, "and %d more\n", n)
	}
	return w.Flush()
}

// short is a time to three places.
func short(t unit.Time) string {
	switch {
	case t >= unit.Second:
		return fmt.Sprintf("%.3gs", t.Seconds())
	case t >= unit.Millisecond:
		return fmt.Sprintf("%.3gms", t.Seconds()*1e3)
	}
	return fmt.Sprintf("%.3gus", t.Seconds()*1e6)
}
