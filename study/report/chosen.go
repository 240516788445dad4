package report

import (
	"weir/study/experiment"
	"weir/study/results"
)

// describeSeeds says that the data chose how many seeds there are, a sentence a world; nothing where the experiment has the
// number.
func describeSeeds(o *results.Outcome) (lines []string) {
	if o.Chosen != nil {
		lines = append(lines, chosen(o.Chosen, ""))
	}
	if o.World == experiment.Lab && o.Counterpart != nil && o.Counterpart.Chosen != nil {
		lines = append(lines, chosen(o.Counterpart.Chosen, "in the simulator "))
	}
	return lines
}

func chosen(c *results.Chosen, where string) string {
	text := where + c.String()
	if c.State == results.Met {
		text += ". " + results.Note
	}
	return text
}

// tooWide reports whether there are seeds of which not even the most were enough, or it is not known how many are.
func tooWide(o *results.Outcome) bool {
	return o.Chosen != nil && o.Chosen.State != results.Met ||
		o.World == experiment.Lab && o.Counterpart != nil && o.Counterpart.Chosen != nil &&
			o.Counterpart.Chosen.State != results.Met
}
