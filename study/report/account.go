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
var hostTemplate string

var hostPage = template.Must(template.Must(pageTemplate.Clone()).New("host").Parse(hostTemplate))

// executionAccount describes one execution as text.
type executionAccount struct {
	When string
	Who  []string // hosts that asked for the runs, and the server
	Head []string // header of the table of workers
	Rows [][]string
	More string   // workers that are not listed
	Said []string // other incidents
	Then []string // events
}

// executorNames describes what executed the runs, by Execution.By.
var executorNames = map[string]string{
	results.ByWorkers: "by workers",
	results.BySlurm:   "by jobs of Slurm (--runner slurm)",
	results.ByCollect: "by jobs of Slurm (weir collect)",
	results.ByHere:    "locally",
}

// newAccounts returns the accounts of an outcome; nil if one machine executed all runs by itself. The program is named
// where it differs from the preceding execution.
func newAccounts(o *results.Outcome) (all []executionAccount) {
	if o.Hosts == nil || len(o.Hosts.Executions) == 0 {
		return nil
	}
	program := ""
	for i := range o.Hosts.Executions {
		e := &o.Hosts.Executions[i]
		a := newAccount(e)
		if e.Revision != program {
			a.Who[0] += " by " + e.Revision
		}
		program = e.Revision
		all = append(all, a)
	}
	return all
}

const clockLayout = "15:04:05" // layout of a time of day

// formatMoment formats a time of day, with the date if it differs from the reference's, in UTC.
func formatMoment(t, reference time.Time) string {
	if t.UTC().Format(time.DateOnly) == reference.UTC().Format(time.DateOnly) {
		return t.UTC().Format(clockLayout)
	}
	return t.UTC().Format(time.DateTime)
}

// formatDuration formats the duration from one time to another, rounded to 10 ms below 10 s and to seconds above.
func formatDuration(from, to time.Time) string {
	d := to.Sub(from)
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// newAccount describes an execution: its times in UTC, its hosts and workers, its incidents and its events.
func newAccount(e *results.Execution) executionAccount {
	var a executionAccount
	by := executorNames[e.By]
	if by == "" {
		by = "by " + strconv.Quote(e.By)
	}
	a.When = e.Begun.UTC().Format(time.DateTime)
	if e.Ended.IsZero() {
		a.When += " UTC, killed at an unknown time"
	} else {
		a.When += fmt.Sprintf(" to %s UTC (%s)", formatMoment(e.Ended, e.Begun), formatDuration(e.Begun, e.Ended))
	}
	if e.Interrupted {
		a.When += ", interrupted"
	}
	a.When += fmt.Sprintf(": %s %s", text.Count(e.Runs, "run"), by)
	a.Who = append(a.Who, "started on "+e.Host)
	if e.Place != "" {
		a.Who = append(a.Who, "queue server: "+e.Place)
	}
	a.addWorkers(e)
	a.addIncidents(e)
	for _, f := range e.Failed {
		a.Said = append(a.Said, fmt.Sprintf("%s failed: %s", f.Run, f.Error))
	}
	for _, x := range e.Events {
		a.Then = append(a.Then, formatMoment(x.At, e.Begun)+" "+x.Text)
	}
	if e.FurtherEvents > 0 {
		a.Then = append(a.Then, fmt.Sprintf("and %d more", e.FurtherEvents))
	}
	return a
}

// maxWorkers limits the listed workers to those with the largest number of runs.
const maxWorkers = 100

// addWorkers adds the table of workers. It omits columns without a value. It also adds the workers that were excluded
// or refused.
func (a *executionAccount) addWorkers(e *results.Execution) {
	all := slices.Clone(e.Workers)
	slices.SortStableFunc(all, func(x, y results.Worker) int {
		if x.Runs != y.Runs {
			return y.Runs - x.Runs
		}
		return strings.Compare(x.Name, y.Name)
	})
	if n := len(all) - maxWorkers; n > 0 {
		runs := 0
		for _, w := range all[maxWorkers:] {
			runs += w.Runs
		}
		a.More = fmt.Sprintf("and %d more with %s", n, text.Count(runs, "run"))
		all = all[:maxWorkers]
	}
	name, jobs := "worker", "jobs"
	if e.By == results.BySlurm || e.By == results.ByCollect {
		name, jobs = "job", "tasks"
	}
	number := func(get func(w results.Worker) int) func(w results.Worker) string {
		return func(w results.Worker) string { return strconv.Itoa(get(w)) }
	}
	columns := []struct {
		head   string
		always bool
		text   func(w results.Worker) string
	}{
		{name, true, func(w results.Worker) string { return w.Name }},
		{"host", false, func(w results.Worker) string { return w.Host }},
		{jobs, false, number(func(w results.Worker) int { return w.Jobs })},
		{"runs", true, number(func(w results.Worker) int { return w.Runs })},
		{"checks", false, number(func(w results.Worker) int { return w.Compared })},
		{"dropped", false, number(func(w results.Worker) int { return w.Discarded })},
		{"lost", false, number(func(w results.Worker) int { return w.Lost })},
		{"errors", false, number(func(w results.Worker) int { return w.Errors })},
		{"broken", false, number(func(w results.Worker) int { return w.Reconnections })},
	}
	a.Rows = make([][]string, len(all))
	for _, c := range columns {
		nonzero := c.always
		for _, w := range all {
			nonzero = nonzero || c.text(w) != "0" && c.text(w) != ""
		}
		if !nonzero || len(all) == 0 {
			continue
		}
		a.Head = append(a.Head, c.head)
		for i, w := range all {
			a.Rows[i] = append(a.Rows[i], c.text(w))
		}
	}
	for _, w := range e.Workers {
		switch {
		case w.SetAside != "":
			a.Said = append(a.Said, fmt.Sprintf("%s was excluded, and its results were discarded: %s", w.Name, w.SetAside))
		case w.Refused != "":
			a.Said = append(a.Said, fmt.Sprintf("%s was refused: %s (%s)", w.Name, w.Refused, w.Revision))
		}
	}
}

// addIncidents adds the execution's incidents, such as lost runs and waits, to a.Said.
func (a *executionAccount) addIncidents(e *results.Execution) {
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			a.Said = append(a.Said, one)
		case n > 1:
			a.Said = append(a.Said, fmt.Sprintf(many, n))
		}
	}
	add(e.Checked, "1 run was repeated on another worker, with identical bytes",
		"%d runs were repeated on another worker, with identical bytes")
	add(e.Settled, "1 run was repeated by the coordinator to settle a difference",
		"%d runs were repeated by the coordinator to settle differences")
	if e.By == results.ByWorkers {
		add(e.Lost, "1 run was lost with its worker and repeated by another",
			"%d runs were lost with their workers and repeated by others")
	} else {
		add(e.Lost, "1 run is missing: its task ended without it, or still runs",
			"%d runs are missing: their tasks ended without them, or still run")
	}
	add(e.Twice, "1 result arrived twice and was kept once",
		"%d results arrived twice and were kept once")
	for _, w := range e.Waits {
		line := "no progress from " + formatMoment(w.From, e.Begun)
		if w.To.IsZero() {
			line += " until the end"
		} else {
			line += fmt.Sprintf(" to %s (%s)", formatMoment(w.To, e.Begun), formatDuration(w.From, w.To))
		}
		a.Said = append(a.Said, line+": "+strings.Join(w.Why, "; "))
	}
}

// workerLegend explains the columns of workers.
const workerLegend = "jobs: max concurrent runs; runs: results that were kept; checks: runs of other workers that it " +
	"repeated for comparison; dropped: its results that were discarded and repeated by others; lost: runs that it did " +
	"not return; errors: failed runs that it reported; broken: interrupted and restored connections"

// Account returns the account of runs by workers or a cluster in lines of the default width; "" if one machine
// executed all runs by itself.
func Account(o *results.Outcome) string { return (&TableOptions{}).Account(o) }

// Account returns the account of the runs in lines of the options' width, without colours; "" if one machine executed
// all runs by itself.
func (l *TableOptions) Account(o *results.Outcome) string {
	width := l.newSheet().width
	all := newAccounts(o)
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("execution of the runs\n")
	item := func(s string) { b.WriteString(WrapHanging("  - ", text.EscapeLine(s), "    ", width) + "\n") }
	for _, a := range all {
		b.WriteString("\n" + WrapText(text.EscapeLine(a.When), width, "  ") + "\n")
		for _, s := range a.Who {
			item(s)
		}
		b.WriteString(formatWorkers(a.Head, a.Rows, width))
		if a.More != "" {
			item(a.More)
		}
		for _, s := range slices.Concat(a.Said, a.Then) {
			item(s)
		}
	}
	b.WriteString("\n" + WrapText(workerLegend, width, "  ") + "\n")
	return text.EscapeLines(b.String())
}

// formatWorkers formats the table of workers. Names are left-aligned and cropped to fit maxWidth columns if possible,
// numbers right-aligned.
func formatWorkers(head []string, rows [][]string, maxWidth int) string {
	if len(rows) == 0 {
		return ""
	}
	lines, width := append([][]string{head}, rows...), make([]int, len(head))
	total := 2
	for c := range head {
		for _, l := range lines {
			width[c] = max(width[c], utf8.RuneCountInString(text.EscapeLine(l[c])))
		}
		total += width[c] + 2
	}
	words := 1
	if len(head) > 1 && head[1] == "host" {
		words = 2
	}
	for c := words - 1; c >= 0; c-- { // crop the host first: the name usually includes it
		cut := min(max(total-maxWidth, 0), max(width[c]-12, 0))
		width[c] -= cut
		total -= cut
	}
	var b strings.Builder
	for _, l := range lines {
		line := "  "
		for c, cell := range l {
			cell = cropMiddle(text.EscapeLine(cell), width[c])
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

// cropMiddle replaces the middle of a text that is longer than width runes, at least 1, by "…".
func cropMiddle(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return string(r[:width/2]) + "…" + string(r[len(r)-(width-width/2-1):])
}

// hostHTML returns the page of host.json: the machines and executions. It is separate from the report so that the
// report's bytes do not depend on the machines.
func hostHTML(o *results.Outcome, p Page) ([]byte, error) {
	var machines []string
	if o.Hosts != nil {
		for _, m := range o.Hosts.Machines {
			line := fmt.Sprintf("%s: %s/%s, %s, %s; %s", m.Host, m.OS, m.Arch, text.Count(m.CPUs, "CPU"), m.Go,
				m.Revision)
			if m.Jobs > 0 {
				line += fmt.Sprintf("; max %s concurrently", text.Count(m.Jobs, "run"))
			}
			machines = append(machines, line)
		}
	}
	var b bytes.Buffer
	err := hostPage.Execute(&b, map[string]any{"Title": o.Spec.Title(), "Name": o.Name, "Machines": machines,
		"Accounts": newAccounts(o), "Legend": workerLegend, "Version": p.Version})
	return []byte(text.EscapeLines(b.String())), err
}
