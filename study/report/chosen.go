package report

import (
	"weir/study/experiment"
	"weir/study/results"
)

// describeSeeds describes how the data chose the number of seeds, one sentence for each world; nil if the experiment
// gives the number.
func describeSeeds(o *results.Outcome) (lines []string) {
	if o.Chosen != nil {
		lines = append(lines, describeChosen(o.Chosen, ""))
	}
	if o.World == experiment.Lab && o.Counterpart != nil && o.Counterpart.Chosen != nil {
		lines = append(lines, describeChosen(o.Counterpart.Chosen, "in the simulator "))
	}
	return lines
}

// describeChosen describes a choice; where precedes it.
func describeChosen(c *results.SeedChoice, where string) string {
	text := where + c.String()
	if c.State == results.Met {
		text += ". " + results.SeedChoiceNote
	}
	return text
}

// tooWide reports whether the interval is still too wide with the maximum number of seeds, or the choice is still
// open.
func tooWide(o *results.Outcome) bool {
	return o.Chosen != nil && o.Chosen.State != results.Met ||
		o.World == experiment.Lab && o.Counterpart != nil && o.Counterpart.Chosen != nil &&
			o.Counterpart.Chosen.State != results.Met
}
