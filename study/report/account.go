package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir/internal/text"
	"weir/study/results"
)

//go:embed host.html.tmpl
var hostSource string

var hostPage = template.Must(template.Must(page.Clone()).New("host").Parse(hostSource))

// account is what happened in an execution, in words.
type account struct {
	When string
	Who  []string // who asked whom
	Head []string // of the table of workers
	Rows [][]string
	More string   // of workers that are not in it
	Said []string // what else happened
	Then []string // events
}

// carriedOut says who carried out the runs.
var carriedOut = map[string]string{
	results.ByWorkers: "by workers",
	results.BySlurm:   "by jobs of Slurm (--runner slurm)",
	results.ByCollect: "by jobs of Slurm (weir collect)",
	results.ByHere:    "on the machine itself",
}

// accounts are those of an outcome, if others than one machine itself have taken part.
func accounts(o *results.Outcome) (all []account) {
	if o.Hosts == nil || len(o.Hosts.Executions) == 0 {
		return nil
	}
	program := ""
	for i := range o.Hosts.Executions {
		e := &o.Hosts.Executions[i]
		a := accountOf(e)
		if e.Revision != program {
			a.Who[0] += " by " + e.Revision
		}
		program = e.Revision
		all = append(all, a)
	}
	return all
}

const clock = "15:04:05"

// moment is a time, with its day if that is another.
func moment(t, near time.Time) string {
	if t.UTC().Format(time.DateOnly) == near.UTC().Format(time.DateOnly) {
		return t.UTC().Format(clock)
	}
	return t.UTC().Format(time.DateTime)
}

// lasted is a duration for people.
func lasted(from, to time.Time) string {
	d := to.Sub(from)
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func accountOf(e *results.Execution) account {
	var a account
	by := carriedOut[e.By]
	if by == "" {
		by = "by " + strconv.Quote(e.By)
	}
	a.When = e.Begun.UTC().Format(time.DateTime)
	if e.Ended.IsZero() {
		a.When += " UTC until it was killed"
	} else {
		a.When += fmt.Sprintf(" to %s UTC (%s)", moment(e.Ended, e.Begun), lasted(e.Begun, e.Ended))
	}
	if e.Interrupted {
		a.When += ", interrupted"
	}
	a.When += fmt.Sprintf(": %s %s", text.Count(e.Runs, "run"), by)
	a.Who = append(a.Who, "asked for on "+e.Host)
	if e.Place != "" {
		a.Who = append(a.Who, "the server of the queue was "+e.Place)
	}
	a.workers(e)
	a.happened(e)
	for _, f := range e.Failed {
		a.Said = append(a.Said, fmt.Sprintf("%s failed: %s", f.Run, f.Error))
	}
	for _, x := range e.Events {
		a.Then = append(a.Then, moment(x.At, e.Begun)+" "+x.Text)
	}
	if e.Further > 0 {
		a.Then = append(a.Then, fmt.Sprintf("and %d more", e.Further))
	}
	return a
}

// mostWorkers is how many are listed: those with most runs.
const mostWorkers = 100

// workers makes the table of those who took part. Columns in which all have nothing are left out.
func (a *account) workers(e *results.Execution) {
	all := slices.Clone(e.Workers)
	slices.SortStableFunc(all, func(x, y results.Worker) int {
		if x.Runs != y.Runs {
			return y.Runs - x.Runs
		}
		return strings.Compare(x.Name, y.Name)
	})
	if n := len(all) - mostWorkers; n > 0 {
		runs := 0
		for _, w := range all[mostWorkers:] {
			runs += w.Runs
		}
		a.More = fmt.Sprintf("and %d more with %s", n, text.Count(runs, "run"))
		all = all[:mostWorkers]
	}
	name, jobs := "worker", "jobs"
	if e.By == results.BySlurm || e.By == results.ByCollect {
		name, jobs = "job", "tasks"
	}
	number := func(of func(w results.Worker) int) func(w results.Worker) string {
		return func(w results.Worker) string { return strconv.Itoa(of(w)) }
	}
	columns := []struct {
		head   string
		always bool
		of     func(w results.Worker) string
	}{
		{name, true, func(w results.Worker) string { return w.Name }},
		{"host", false, func(w results.Worker) string { return w.Host }},
		{jobs, false, number(func(w results.Worker) int { return w.Jobs })},
		{"runs", true, number(func(w results.Worker) int { return w.Runs })},
		{"checks", false, number(func(w results.Worker) int { return w.Compared })},
		{"anew", false, number(func(w results.Worker) int { return w.Anew })},
		{"lost", false, number(func(w results.Worker) int { return w.Lost })},
		{"errors", false, number(func(w results.Worker) int { return w.Errors })},
		{"broken", false, number(func(w results.Worker) int { return w.Broken })},
	}
	a.Rows = make([][]string, len(all))
	for _, c := range columns {
		told := c.always
		for _, w := range all {
			told = told || c.of(w) != "0" && c.of(w) != ""
		}
		if !told || len(all) == 0 {
			continue
		}
		a.Head = append(a.Head, c.head)
		for i, w := range all {
			a.Rows[i] = append(a.Rows[i], c.of(w))
		}
	}
	for _, w := range e.Workers {
		switch {
		case w.SetAside != "":
			a.Said = append(a.Said, fmt.Sprintf("%s was set aside, and nothing of it was kept: %s", w.Name, w.SetAside))
		case w.Refused != "":
			a.Said = append(a.Said, fmt.Sprintf("%s took no part: %s (%s)", w.Name, w.Refused, w.Revision))
		}
	}
}

// happened says what did, but for the ordinary.
func (a *account) happened(e *results.Execution) {
	say := func(n int, one, many string) {
		switch {
		case n == 1:
			a.Said = append(a.Said, one)
		case n > 1:
			a.Said = append(a.Said, fmt.Sprintf(many, n))
		}
	}
	say(e.Checked, "1 run was made twice, by two, and had the same bytes",
		"%d runs were made twice, by two, and had the same bytes")
	say(e.Judged, "1 run was made by whoever asked, to see who is right",
		"%d runs were made by whoever asked, to see who is right")
	if e.By == results.ByWorkers {
		say(e.Lost, "once a worker took a run and did not come back with it: another made it",
			"%d times a worker took a run and did not come back with it: another made it")
	} else {
		say(e.Lost, "1 run did not come: its task ended without it, or goes on",
			"%d runs did not come: their tasks ended without them, or go on")
	}
	say(e.Twice, "1 result came that was there already, and was not kept twice",
		"%d results came that were there already, and were not kept twice")
	for _, w := range e.Waits {
		line := "nothing went on from " + moment(w.From, e.Begun)
		if w.To.IsZero() {
			line += " until the end"
		} else {
			line += fmt.Sprintf(" to %s (%s)", moment(w.To, e.Begun), lasted(w.From, w.To))
		}
		a.Said = append(a.Said, line+": "+strings.Join(w.Why, "; "))
	}
}

// legend says what the columns of workers are.
const legend = "jobs: runs at a time; runs: taken of it; checks: runs of others that it made again, to compare them; " +
	"anew: its results that were discarded, and made by others; lost: runs that it did not come back with; errors: of " +
	"runs, that it reported; broken: times that its connection broke and it came back"

// Account is what happened while the runs were carried out by workers or on a cluster, for a terminal; "" if they were
// on one machine itself.
func Account(o *results.Outcome) string { return (&TableOptions{}).Account(o) }

// Account returns the account of the runs in lines of the options' width.
func (l *TableOptions) Account(o *results.Outcome) string {
	width := l.newSheet().width
	all := accounts(o)
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("how the runs were carried out\n")
	item := func(s string) { b.WriteString(Hang("  - ", text.Shown(s), "    ", width) + "\n") }
	for _, a := range all {
		b.WriteString("\n" + Wrap(text.Shown(a.When), width, "  ") + "\n")
		for _, s := range a.Who {
			item(s)
		}
		b.WriteString(workersTable(a.Head, a.Rows, width))
		if a.More != "" {
			item(a.More)
		}
		for _, s := range slices.Concat(a.Said, a.Then) {
			item(s)
		}
	}
	b.WriteString("\n" + Wrap(legend, width, "  ") + "\n")
	return text.Lines(b.String())
}

// workersTable prints workers: names to the left, numbers to the right, all within the terminal's width.
func workersTable(head []string, rows [][]string, most int) string {
	if len(rows) == 0 {
		return ""
	}
	lines, width := append([][]string{head}, rows...), make([]int, len(head))
	total := 2
	for c := range head {
		for _, l := range lines {
			width[c] = max(width[c], utf8.RuneCountInString(text.Shown(l[c])))
		}
		total += width[c] + 2
	}
	words := 1
	if len(head) > 1 && head[1] == "host" {
		words = 2
	}
	for c := words - 1; c >= 0; c-- { // the host first: the name mostly has it
		cut := min(max(total-most, 0), max(width[c]-12, 0))
		width[c] -= cut
		total -= cut
	}
	var b strings.Builder
	for _, l := range lines {
		line := "  "
		for c, cell := range l {
			cell = cropped(text.Shown(cell), width[c])
			gap := strings.Repeat(" ", width[c]-utf8.RuneCountInString(cell))
			if c < words {
				line += cell + gap + "  "
			} else {
				line += gap + cell + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// cropped is a text with its middle left out if it is longer.
func cropped(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return string(r[:width/2]) + "…" + string(r[len(r)-(width-width/2-1):])
}

// hostHTML is the page of what host.json has: the machines, and what happened. It is apart from the report, whose bytes
// do not depend on where runs were carried out.
func hostHTML(o *results.Outcome, p Page) ([]byte, error) {
	var machines []string
	if o.Hosts != nil {
		for _, m := range o.Hosts.Machines {
			line := fmt.Sprintf("%s: %s/%s, %s, %s; %s", m.Host, m.OS, m.Arch, text.Count(m.CPUs, "CPU"), m.Go,
				m.Revision)
			if m.Jobs > 0 {
				line += fmt.Sprintf("; %s at a time", text.Count(m.Jobs, "run"))
			}
			machines = append(machines, line)
		}
	}
	var b bytes.Buffer
	err := hostPage.Execute(&b, map[string]any{"Title": o.Spec.Title(), "Name": o.Name, "Machines": machines,
		"Accounts": accounts(o), "Legend": legend, "Version": p.Version})
	return []byte(text.Lines(b.String())), err
}
