package agent

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// WriteTable writes connections, the busiest first, up to maxShown per table. A connection with HPCC++ has a line for
// each direction with feedback, or one line without feedback. A connection with NACKs has a line in a second table.
// Without connections it writes no line.
func WriteTable(to io.Writer, all []Connection) error {
	all = slices.Clone(all)
	nacked := slices.DeleteFunc(slices.Clone(all), func(c Connection) bool { return c.Nacks == nil })
	all = slices.DeleteFunc(all, func(c Connection) bool { return !c.Traces })
	if len(all) > 0 {
		if err := writeHPCCTable(to, all); err != nil {
			return err
		}
	}
	if len(nacked) > 0 {
		return writeNACKTable(to, nacked)
	}
	return nil
}

// writeNACKTable writes a line for each connection with NACKs.
func writeNACKTable(to io.Writer, all []Connection) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "local\tremote\tcontrol\tNACKs\trepeated\trefused\treductions\texpired\tlast\tage\tsupply\tbound\t"+
		"RTT\t")
	for _, c := range sortByNACKs(all) {
		n := c.Nacks
		last, age, supply, bound := "-", "-", "-", "-"
		if n.Taken > 0 {
			last, age = n.Cause.String(), formatBrief(n.Age)
			if n.Switch > 0 {
				last += fmt.Sprintf(", switch %d", n.Switch)
			}
			if n.Supply > 0 {
				supply = formatBrief(n.Supply)
			}
		}
		if n.Bound > 0 {
			bound = n.Bound.String()
		}
		fmt.Fprintf(w, "%v\t%v\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t\n", c.Local, c.Remote, c.Controller, n.Taken,
			n.Repeated, n.Refused, n.Reductions, n.Expired, last, age, supply, bound, formatBrief(c.RTT))
	}
	if n := len(all) - maxShown; n > 0 {
		fmt.Fprintf(w, "and %d more\n", n)
	}
	return w.Flush()
}

// writeHPCCTable writes one or two lines for each connection with HPCC++.
func writeHPCCTable(to io.Writer, all []Connection) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "local\tremote\tcontrol\tas\twindow\tT\tU\tbottleneck\tage\tRTT\tpacing\t")
	for _, c := range sortByFrames(all) {
		row := func(as string, t Feedback) {
			window, time, load, hop, age := "-", "-", "-", "-", "-"
			if t.Window > 0 {
				time = formatBrief(t.T)
				window, load, age = t.Window.String(), fmt.Sprintf("%.3f", t.Load), formatBrief(t.Age)
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
				pacing = formatBrief(c.Pacing)
			}
			fmt.Fprintf(w, "%v\t%v\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.Local, c.Remote, c.Controller, as, window, time,
				load, hop, age, formatBrief(c.RTT), pacing)
		}
		asSender, asReceiver := c.SenderFeedback.Window > 0 || c.Traced > 0, c.ReceiverFeedback.Window > 0
		if asSender || !asReceiver {
			row("sender", c.SenderFeedback)
		}
		if asReceiver {
			row("receiver", c.ReceiverFeedback)
		}
	}
	if n := len(all) - maxShown; n > 0 {
		fmt.Fprintf(w, "and %d more\n", n)
	}
	return w.Flush()
}

// formatBrief formats a time or a rate like its String method, rounded to four significant digits.
func formatBrief[T interface {
	~int64
	fmt.Stringer
}](v T) string {
	step := T(1)
	for v/step > 9999 || v/step < -9999 {
		step *= 10
	}
	half := step / 2
	if v < 0 {
		half = -half
	}
	return ((v + half) / step * step).String()
}
