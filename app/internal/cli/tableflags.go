package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"weir/internal/command"
	"weir/study/experiment"
	"weir/study/report"
	"weir/study/results"
)

// tableFlags are the flags that control how results are printed.
type tableFlags struct {
	JSON    bool     `name:"json" help:"Print one JSON document instead of tables." xor:"format"`
	CSV     bool     `name:"csv" help:"Print CSV instead of tables, one value per line." xor:"format"`
	Format  string   `enum:"text,markdown,latex" default:"text" help:"${tableFormat}"`
	Columns []string `placeholder:"MEASURE" help:"${tableColumns}"`
	Sort    []string `placeholder:"KEY" help:"${tableSort}"`
	Color   string   `enum:"auto,always,never" default:"auto" help:"${tableColor}"`
}

// Formats of tables.
const (
	asText     = "text"
	asMarkdown = "markdown"
	asLaTeX    = "latex"
)

// asText reports whether the tables are for a terminal.
func (f *tableFlags) asText() bool { return f.Format == "" || f.Format == asText }

// tableOptions checks the flags against each other and returns the options of tables.
func (f *tableFlags) tableOptions(a *app) (*report.TableOptions, error) {
	if (f.JSON || f.CSV) && len(f.Columns)+len(f.Sort) > 0 {
		return nil, fmt.Errorf("%w: --columns and --sort apply to tables only, and --json and --csv print every value; "+
			"leave them out", command.ErrInput)
	}
	if (f.JSON || f.CSV) && !f.asText() {
		return nil, fmt.Errorf("%w: --format %s formats tables, but --json and --csv print data instead of tables; only "+
			"one of them is allowed", command.ErrInput, f.Format)
	}
	for _, words := range [][]string{f.Columns, f.Sort} {
		for _, w := range words {
			if w == "" {
				return nil, fmt.Errorf("%w: --columns or --sort has an empty name; names of measures are allowed, separated by "+
					"commas", command.ErrInput)
			}
		}
	}
	l := &report.TableOptions{Width: a.style.width, Columns: f.Columns, Sort: f.Sort}
	if f.asText() {
		l.Color = f.Color == "always" || f.Color == "auto" && a.style.color
	}
	return l, nil
}

// checkFor checks the flags for an experiment before it has results, so that wrong names of measures are found early.
func (f *tableFlags) checkFor(a *app, s *experiment.Spec) error {
	l, err := f.tableOptions(a)
	if err != nil {
		return err
	}
	if err := l.Check(s); err != nil {
		return fmt.Errorf("%w: %w", command.ErrInput, err)
	}
	return nil
}

// printOutcome prints an outcome in the requested form. Text has a footer with the path of the report.
func (f *tableFlags) printOutcome(a *app, o *results.Outcome, path string) error {
	l, err := f.tableOptions(a)
	if err != nil {
		return err
	}
	var text string
	switch {
	case f.JSON:
		a.stdout.Write(o.JSON())
		return nil
	case f.CSV:
		return o.CSV(a.stdout)
	case f.Format == asMarkdown:
		text, err = l.Markdown(o)
	case f.Format == asLaTeX:
		text, err = l.LaTeX(o)
	default:
		if text, err = l.Text(o); err == nil {
			a.writeTables(l, text)
			a.printFooter(o, path)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", command.ErrInput, err)
	}
	if !f.asText() {
		fmt.Fprint(a.stdout, text)
	}
	return nil
}

// writeTables prints tables to standard output. With colors, the text is escaped already and must not be escaped again.
func (a *app) writeTables(l *report.TableOptions, text string) {
	if !l.Color {
		fmt.Fprint(a.stdout, text)
		return
	}
	if f, ok := a.stdout.(interface{ Flush() error }); ok {
		f.Flush()
	}
	io.WriteString(a.pipe, text)
}

// screenStyle is the width and color of standard output.
type screenStyle struct {
	width int // columns; 0: unknown
	color bool
}

// lineWidth returns the columns of a line on standard output.
func (a *app) lineWidth() int {
	if a.style.width == 0 {
		return report.DefaultWidth
	}
	return a.style.width
}

// terminalWidth returns the current width of the terminal of standard error.
func (a *app) terminalWidth() int {
	if f, ok := a.screen.(*os.File); ok {
		return cmp.Or(detectScreen(f, os.Getenv).width, report.DefaultWidth)
	}
	return report.DefaultWidth
}

// Limits of plausible widths: narrower screens have no room for a table, wider ones are a mistake.
const (
	minScreen = 20
	maxScreen = 10000
)

// detectScreen returns the width and color of standard output. The width is COLUMNS, else the terminal's. Terminals
// get colors unless NO_COLOR is set (https://no-color.org) or the terminal is dumb.
func detectScreen(stdout *os.File, getenv func(string) string) (look screenStyle) {
	size, err := unix.IoctlGetWinsize(int(stdout.Fd()), unix.TIOCGWINSZ)
	terminal := err == nil
	if terminal {
		look.width = plausibleWidth(int(size.Col))
		look.color = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	}
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && plausibleWidth(n) > 0 {
		look.width = n
	}
	return look
}

// plausibleWidth returns the width, or 0 if it is out of range.
func plausibleWidth(width int) int {
	if width < minScreen || width > maxScreen {
		return 0
	}
	return width
}
