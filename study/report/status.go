package report

import (
	"fmt"
	"strings"

	"weir/core/dataplane"
	"weir/internal/text"
	"weir/study/measure"
	"weir/study/results"
)

// DescribeStatus describes how the runs ended, and lists unfinished and failed runs. Equal results give equal text,
// even if some runs were executed earlier.
func DescribeStatus(o *results.Outcome) string {
	s := (&TableOptions{}).newSheet()
	writeStatus(s, o)
	return s.b.String()
}

const (
	timeUp       = "time up"                   // outcome.TimeUp in results files
	fullDuration = "ran for the full duration" // the text of timeUp
)

// DescribeOutcome returns the printed text of the reason for which a run ended.
func DescribeOutcome(reason string) string {
	if reason == timeUp {
		return fullDuration
	}
	return reason
}

// formatOutcomes returns the number of runs by the reason for their end, in the given order of reasons.
func formatOutcomes(order []string, count map[string]int) string {
	if len(order) == 0 {
		return "none finished"
	}
	if len(order) == 1 && order[0] == timeUp {
		return "all " + fullDuration
	}
	var parts []string
	for _, r := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[r], DescribeOutcome(r)))
	}
	return strings.Join(parts, ", ")
}

// writeStatus writes the text of DescribeStatus.
func writeStatus(s *sheet, o *results.Outcome) {
	order, count := countRuns(o, func(r *results.Run) string { return r.End.Reason })
	s.writeNote(text.Count(len(o.Runs), "run")+": "+formatOutcomes(order, count), plain)
	for _, r := range o.Runs {
		if n := len(r.End.Ports); n > 0 {
			ports := strings.Join(r.End.Ports[:min(n, 10)], ", ")
			if n > 10 {
				ports += fmt.Sprintf(" and %d more", n-10)
			}
			s.writeNote(fmt.Sprintf("%s: %s seed %d, at %g s: %s", r.End.Reason, measure.PointName(r.Point), r.Seed,
				r.End.TimeS, ports), plain)
		}
	}
	for _, r := range o.Runs {
		if r.End.Violation != "" {
			s.writeNote(fmt.Sprintf("%s: %s seed %d, at %g s: %s", r.End.Reason, measure.PointName(r.Point), r.Seed,
				r.End.TimeS, r.End.Violation), plain)
		}
	}
	noteNotExpected(s, o)
	noteIdealNetworks(s, o)
	noteIterations(s, o)
	noteAligned(s, o)
	if line := spuriousText(o); line != "" {
		s.writeNote(line, plain)
	}
	listed := 0
	for _, r := range o.Runs {
		for _, u := range r.Unfinished {
			if listed++; listed <= 20 {
				line := fmt.Sprintf("unfinished: %s seed %d: flow %d (%s) %s → %s, %d of %d bytes", measure.PointName(r.Point),
					r.Seed, u.Flow, u.Traffic, u.Src, u.Dst, u.DoneBytes, u.SizeBytes)
				if u.WaitsFor != "" {
					line += "; it waited for " + u.WaitsFor
				}
				s.writeNote(line, plain)
			}
		}
	}
	if listed > 20 {
		s.writeNote(fmt.Sprintf("… and %s, in runs.json", text.Count(listed-20, "more unfinished flow")), plain)
	}
	noteUnfinishedJobs(s, o)
	for _, f := range o.Failed {
		lines := strings.Split(fmt.Sprintf("failed: %s seed %d: %v", measure.PointName(f.Point), f.Seed, f.Err), "\n")
		for _, l := range lines { // keep the lines of the message
			s.writeLine(textPiece{l, bad})
		}
	}
	if o.Missing > 0 {
		s.writeNote(fmt.Sprintf("%s %s missing; the same command continues with the rest", text.Count(o.Missing, "run"),
			text.Verb(o.Missing, "are")), plain)
	}
}

// Limits of the unfinished jobs in a report, and of the lines about each.
const (
	maxUnfinishedJobs = 20
	maxJobWaits       = 3
)

// noteUnfinishedJobs lists the jobs with unfinished operations, and their messages.
func noteUnfinishedJobs(s *sheet, o *results.Outcome) {
	count := 0
	for _, r := range o.Runs {
		for _, u := range r.End.Jobs {
			if count++; count > maxUnfinishedJobs {
				continue
			}
			for i, w := range u.WaitsFor {
				switch {
				case i == 0:
					w = fmt.Sprintf("unfinished: %s seed %d: job %s: %s", measure.PointName(r.Point), r.Seed, u.Traffic, w)
				case i > maxJobWaits:
					continue
				}
				s.writeNote(w, plain)
			}
			if n := len(u.WaitsFor) - 1 - maxJobWaits; n > 0 {
				s.writeNote(fmt.Sprintf("… and %s, in runs.json", text.Count(n, "more line")), plain)
			}
			for _, m := range u.Messages {
				s.writeNote("unfinished message: "+m, plain)
			}
		}
	}
	if count > maxUnfinishedJobs {
		s.writeNote(fmt.Sprintf("… and %s, in runs.json", text.Count(count-maxUnfinishedJobs, "more unfinished job")), plain)
	}
}

// noteNotExpected lists the runs with packets that arrived at a NIC without an endpoint for them.
func noteNotExpected(s *sheet, o *results.Outcome) {
	for _, r := range o.Runs {
		for _, c := range r.Drops {
			if c.Name == dataplane.NotExpected.String() {
				s.writeNote(fmt.Sprintf("not expected: %s seed %d: %s arrived where no endpoint expects them (drops.%s)",
					measure.PointName(r.Point), r.Seed, text.Count(int(c.Count), "packet"), dataplane.NotExpected.OneWord()), plain)
			}
		}
	}
}

// noteAligned lists the jobs with aligned iterations, each once.
func noteAligned(s *sheet, o *results.Outcome) {
	listed := map[results.Aligned]bool{}
	for _, r := range o.Runs {
		for _, a := range r.End.Aligned {
			if !listed[a] {
				listed[a] = true
				s.writeNote(a.String(), plain)
			}
		}
	}
}

// summaryLines returns how the runs ended in one line, and the number of spurious retransmissions in another line if it
// is known.
func summaryLines(o *results.Outcome) []string {
	all := strings.Split(strings.TrimSpace(DescribeStatus(o)), "\n")[:1]
	if line := spuriousText(o); line != "" {
		all = append(all, line)
	}
	return all
}

// spuriousText describes the number of packets in all runs that were sent again although they had arrived, by cause,
// and the number of drops. It returns "" if no run has these counts.
func spuriousText(o *results.Outcome) string {
	var total results.Spurious
	known, dropped := false, uint64(0)
	total.By = map[string]int64{}
	for _, r := range o.Runs {
		if r.End.Spurious == nil {
			continue
		}
		known = true
		total.Packets += r.End.Spurious.Packets
		for cause, n := range r.End.Spurious.By {
			total.By[cause] += n
		}
		for _, d := range r.Drops {
			dropped += d.Count
		}
	}
	if !known {
		return ""
	}
	line := fmt.Sprintf("spurious retransmissions: %v", &total)
	if total.Packets > 0 {
		line += fmt.Sprintf("; packets dropped: %d", dropped)
	}
	return line
}

// maxIterationWays limits the listed descriptions of repeated iterations.
const maxIterationWays = 5

// countRuns counts the runs by a text, and returns the texts in the order of their first runs. describe returns a run's
// text. It ignores runs with an empty text.
func countRuns(o *results.Outcome, describe func(r *results.Run) string) (order []string, count map[string]int) {
	count = map[string]int{}
	for _, r := range o.Runs {
		if how := describe(r); how != "" {
			if count[how]++; count[how] == 1 {
				order = append(order, how)
			}
		}
	}
	return order, count
}

// noteIdealNetworks lists the ideal networks that carried jobs in place of packets.
func noteIdealNetworks(s *sheet, o *results.Outcome) {
	order, count := countRuns(o, func(r *results.Run) string { return r.End.Network })
	for _, name := range order {
		s.writeNote(fmt.Sprintf("network: %s, in %s", name, text.Count(count[name], "run")), plain)
	}
}

// noteIterations describes how many iterations of jobs repeat earlier ones and were not simulated, or why all were
// simulated.
func noteIterations(s *sheet, o *results.Outcome) {
	order, count := countRuns(o, func(r *results.Run) string {
		if r.End.Iterations == nil {
			return ""
		}
		return r.End.Iterations.String()
	})
	for i, how := range order {
		if i == maxIterationWays {
			s.writeNote(fmt.Sprintf("… and in %s, in runs.json", text.Count(len(order)-i, "more way")), plain)
			return
		}
		s.writeNote(fmt.Sprintf("iterations of the job, in %s: %s", text.Count(count[how], "run"), how), plain)
	}
}
