package report

import (
	"fmt"
	"strings"

	"weir/core/dataplane"
	"weir/internal/text"
	"weir/study/measure"
	"weir/study/results"
)

// Status returns how the runs ended, and lists what is unfinished or failed. Whether runs are new or were there
// before makes no difference: the same results give the same text.
func Status(o *results.Outcome) string {
	s := (&TableOptions{}).newSheet()
	writeStatus(s, o)
	return s.b.String()
}

func writeStatus(s *sheet, o *results.Outcome) {
	order, count := countRuns(o, func(r *results.Run) string { return r.End.Reason })
	var parts []string
	for _, r := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[r], r))
	}
	if len(parts) == 0 {
		parts = append(parts, "none finished")
	}
	s.note(text.Count(len(o.Runs), "run")+": "+strings.Join(parts, ", "), plain)
	for _, r := range o.Runs {
		if n := len(r.End.Ports); n > 0 {
			ports := strings.Join(r.End.Ports[:min(n, 10)], ", ")
			if n > 10 {
				ports += fmt.Sprintf(" and %d more", n-10)
			}
			s.note(fmt.Sprintf("%s: %s seed %d, at %g s: %s", r.End.Reason, measure.PointName(r.Point), r.Seed,
				r.End.TimeS, ports), plain)
		}
	}
	for _, r := range o.Runs {
		if r.End.Violation != "" {
			s.note(fmt.Sprintf("%s: %s seed %d, at %g s: %s", r.End.Reason, measure.PointName(r.Point), r.Seed,
				r.End.TimeS, r.End.Violation), plain)
		}
	}
	notExpected(s, o)
	idealNetworks(s, o)
	iterations(s, o)
	aligned(s, o)
	if line := spurious(o); line != "" {
		s.note(line, plain)
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
				s.note(line, plain)
			}
		}
	}
	if listed > 20 {
		s.note(fmt.Sprintf("… and %s, in runs.json", text.Count(listed-20, "more unfinished flow")), plain)
	}
	unfinishedJobs(s, o)
	for _, f := range o.Failed {
		lines := strings.Split(fmt.Sprintf("failed: %s seed %d: %v", measure.PointName(f.Point), f.Seed, f.Err), "\n")
		for _, l := range lines { // as it is: a message may have lines of its own
			s.line(bit{l, bad})
		}
	}
	if o.Missing > 0 {
		s.note(fmt.Sprintf("%s %s missing; the same command continues with the rest", text.Count(o.Missing, "run"),
			text.Verb(o.Missing, "are")), plain)
	}
}

// Limits of the unfinished jobs that a report lists, and of the lines about what each waits for.
const (
	maxUnfinishedJobs = 20
	maxJobWaits       = 3
)

// unfinishedJobs lists the jobs with operations that never ended, and messages of them.
func unfinishedJobs(s *sheet, o *results.Outcome) {
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
				s.note(w, plain)
			}
			if n := len(u.WaitsFor) - 1 - maxJobWaits; n > 0 {
				s.note(fmt.Sprintf("… and %s, in runs.json", text.Count(n, "more line")), plain)
			}
			for _, m := range u.Messages {
				s.note("unfinished message: "+m, plain)
			}
		}
	}
	if count > maxUnfinishedJobs {
		s.note(fmt.Sprintf("… and %s, in runs.json", text.Count(count-maxUnfinishedJobs, "more unfinished job")), plain)
	}
}

// notExpected names the runs in which packets arrived at a host's NIC where no endpoint expects them.
func notExpected(s *sheet, o *results.Outcome) {
	for _, r := range o.Runs {
		for _, c := range r.Drops {
			if c.Name == dataplane.NotExpected.String() {
				s.note(fmt.Sprintf("not expected: %s seed %d: %s arrived where no endpoint expects them (drops.%s)",
					measure.PointName(r.Point), r.Seed, text.Count(int(c.Count), "packet"), dataplane.NotExpected.Word()), plain)
			}
		}
	}
}

// aligned names the jobs with aligned iterations, each once.
func aligned(s *sheet, o *results.Outcome) {
	listed := map[results.Aligned]bool{}
	for _, r := range o.Runs {
		for _, a := range r.End.Aligned {
			if !listed[a] {
				listed[a] = true
				s.note(a.String(), plain)
			}
		}
	}
}

// summaryLines returns how the runs ended, in one line, and how many packets were sent again without need.
func summaryLines(o *results.Outcome) []string {
	all := strings.Split(strings.TrimSpace(Status(o)), "\n")[:1]
	if line := spurious(o); line != "" {
		all = append(all, line)
	}
	return all
}

// spurious returns how many packets of all runs were sent again although they had arrived, by cause, and how many were
// dropped. Runs without these counts are left out; "": no run has them.
func spurious(o *results.Outcome) string {
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
	line := fmt.Sprintf("packets sent again although they had arrived: %v", &total)
	if total.Packets > 0 {
		line += fmt.Sprintf("; packets dropped: %d", dropped)
	}
	return line
}

// mostRepeated is how many ways in which iterations were carried out are told.
const mostRepeated = 5

// countRuns counts the runs by a text that they have, and returns the texts in the order of their first runs. Runs
// without a text are left out.
func countRuns(o *results.Outcome, of func(r *results.Run) string) (order []string, count map[string]int) {
	count = map[string]int{}
	for _, r := range o.Runs {
		if how := of(r); how != "" {
			if count[how]++; count[how] == 1 {
				order = append(order, how)
			}
		}
	}
	return order, count
}

// idealNetworks names the ideal networks that carried jobs in place of packets.
func idealNetworks(s *sheet, o *results.Outcome) {
	order, count := countRuns(o, func(r *results.Run) string { return r.End.Network })
	for _, name := range order {
		s.note(fmt.Sprintf("network: %s, in %s", name, text.Count(count[name], "run")), plain)
	}
}

// iterations says how many of jobs were not carried out, as they are those before them once more, and else why.
func iterations(s *sheet, o *results.Outcome) {
	order, count := countRuns(o, func(r *results.Run) string {
		if r.End.Iterations == nil {
			return ""
		}
		return r.End.Iterations.String()
	})
	for i, how := range order {
		if i == mostRepeated {
			s.note(fmt.Sprintf("… and in %s, in runs.json", text.Count(len(order)-i, "more way")), plain)
			return
		}
		s.note(fmt.Sprintf("iterations of the job, in %s: %s", text.Count(count[how], "run"), how), plain)
	}
}
