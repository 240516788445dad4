package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"image/color"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/core/unit"
	"weir/internal/atomicfile"
	"weir/internal/document"
	"weir/internal/revision"
	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/figure"
	"weir/study/measure"
	"weir/study/results"
)

//go:embed report.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"count": text.Count}).Parse(pageText))

// Page holds the data of report.html apart from the outcome.
type Page struct {
	Version string // of weir
}

// runDrops lists the packets dropped in a run by reason.
type runDrops struct {
	Point string
	Seed  uint64
	Drops string
}

// listDrops returns the drops of all runs, one entry for each, even without drops, and whether any run got stuck.
func listDrops(o *results.Outcome) (dropped []runDrops, stuck bool) {
	for _, r := range o.Runs {
		var s []string
		for _, c := range r.Drops {
			s = append(s, fmt.Sprintf("%s %d", c.Name, c.Count))
		}
		dropped = append(dropped, runDrops{measure.PointName(r.Point), r.Seed, strings.Join(s, ", ")})
		stuck = stuck || r.End.Stuck()
	}
	return dropped, stuck
}

// FormatHTML returns the self-contained page: claims with their verdicts, plots, tables, the ends of the runs, every
// parameter with its source, and the command to repeat the experiment. points are the outcome's (SummarizePoints), and
// plots the drawn ones. It has no scripts and no external references. Equal results give equal bytes.
func FormatHTML(o *results.Outcome, points []PointSummary, plots []PagePlot, p Page) ([]byte, error) {
	dropped, stuck := listDrops(o)
	var given, defaults []experiment.Parameter
	for _, x := range o.Spec.Parameters() {
		if strings.HasPrefix(x.Source, "default") {
			defaults = append(defaults, x)
		} else {
			given = append(given, x)
		}
	}
	command := o.Command
	if command == "" {
		command = revision.Name() + " run spec.yaml"
	}
	w := newWorlds(o)
	keys, values := w.sortedColumns(o.Spec.Listing().Sort)
	var same []string
	if len(w.own) > 1 {
		g := grid{keys: keys, rows: len(w.own)}
		same, keys = g.takeConstantKeys(), g.keys
	}
	runs := newPageTable("results", keys, values, len(w.own))
	for i := range runs.Rows { // sorted rows form no groups
		runs.Rows[i].First = runs.Rows[i].First && len(o.Spec.Listing().Sort) == 0
	}
	runs.Legend = markLegend(values, w.conditions, "bold:", "underlined:")
	runs.addMeanings(o.Spec)
	var sizes []pageTable
	for _, g := range w.sizeGrids(&TableOptions{}) {
		g = g.withPageHeads()
		t := newPageTable(g.title, g.keys, g.values, g.rows)
		t.Legend = markLegend(g.values, w.conditions, "bold:", "underlined:")
		sizes = append(sizes, t)
	}
	attempts := listAttempts(o, true)
	machineKeys, machineValues := attemptColumns(attempts)
	histogram, err := latenessSVG(o)
	if err != nil {
		return nil, err
	}
	var late template.HTML
	if histogram != nil {
		late = template.HTML(embedSVG(histogram))
	}
	undrawn := ""
	if _, missing := figure.Drawing.Get(); missing != nil && len(points) > 0 && len(o.Spec.Plots()) > 0 {
		undrawn = missing.Error()
	}
	agreed := results.CountAgreements(o.Agreements())
	var b bytes.Buffer
	err = pageTemplate.Execute(&b, map[string]any{
		"Lab": w.lab, "Simulated": w.sim != nil, "ClaimsBeside": pairClaims(o), "Agreement": agreementLine(o),
		"Agree": agreed.Verdict, "Inside": agreed.Inside, "Points": agreed.Points, "Compared": agreed.Points > 0,
		"Outside": outsideLines(o, w), "Empty": w.notDefined(&TableOptions{}), "Same": same,
		"Without":   DescribeOmitted(o.Spec),
		"Explained": (&TableOptions{}).Explanations(o.Spec),
		"Sources":   paperSources(o, w), "MachineFacts": machineFacts(o), "Machine": newPageTable("attempts",
			machineKeys, machineValues, len(attempts)),
		"Notes": attemptNotes(o), "Lateness": late, "Chosen": describeSeeds(o), "TooWide": tooWide(o),
		"Title": o.Spec.Title(), "Name": o.Name, "World": o.World, "Paper": o.Spec.Paper().String(), "Quick": o.Spec.Quick(),
		"Facts": factsLine(o, len(points)), "Short": len(o.Failed) > 0 || o.Missing > 0 || stuck,
		"Claims": o.Claims, "Counts": CountVerdicts(o.Claims), "Plots": plots, "Undrawn": undrawn,
		"Table": runs, "Sizes": sizes, "Drops": dropped,
		"Ends": DescribeStatus(o), "Given": groupParameters(given), "GivenN": len(given),
		"Defaults":  groupParameters(defaults),
		"DefaultsN": len(defaults), "Warnings": o.Spec.Warnings(),
		"Programs": programLines(o),
		"Command":  command, "Version": p.Version, "Spec": string(o.Spec.Resolved()), "Hash": o.Spec.Hash(),
		"Ran": programLine(o, p),
	})
	return []byte(text.EscapeLines(b.String())), err
}

// programLine names the program that executed the runs, and the one that made this page if it differs.
func programLine(o *results.Outcome, p Page) string {
	page := "This page was written by " + revision.Name() + " " + p.Version + "."
	switch line := "program " + o.Program; {
	case o.Program == "":
		return page
	case o.Version == "":
		return "Executed by the " + line + ". " + page
	case o.Program == revision.This().String():
		return "Executed by " + o.Version + ", " + line + "."
	default:
		return "Executed by " + o.Version + ", " + line + ". " + page
	}
}

// programLines lists the runs of each program if several executed them; nil otherwise.
func programLines(o *results.Outcome) (lines []string) {
	for _, p := range o.Programs {
		lines = append(lines, fmt.Sprintf("program %s: %s: %s", p.Revision, text.Count(len(p.Runs), "run"),
			strings.Join(p.Runs, ", ")))
	}
	return lines
}

// factsLine summarizes what was run in one line: runs, points, seeds and times. points is their number; 0: it is not
// shown.
func factsLine(o *results.Outcome, points int) string {
	duration, warmup := "", ""
	for _, p := range o.Spec.Parameters() {
		switch p.Path {
		case "duration":
			duration = p.Value
		case "warmup":
			warmup = p.Value
		}
	}
	line := text.Count(len(o.Runs), "run")
	if points > 0 {
		line += " of " + text.Count(points, "point")
	}
	line += ", " + seedText(o.Spec, o.Seeds())
	if n, known := simulatedSeeds(o); known && n != o.Seeds() {
		line += ", in the simulator " + seedText(o.Spec, n)
	}
	line += "; " + formatSpan(o.Spec, duration, (*experiment.Point).Duration) + " measured"
	if warmup != "" && warmup != "0s" {
		line += " after a warm-up of " + formatSpan(o.Spec, warmup, (*experiment.Point).Warmup)
	}
	return line
}

// formatSpan returns the text of a time or, if it depends on the sweep, the range over the points. A text that depends
// on the sweep contains $.
func formatSpan(s *experiment.Spec, text string, get func(p *experiment.Point) unit.Time) string {
	if !strings.Contains(text, "$") {
		return text
	}
	shortest, longest := unit.Never, unit.Time(0)
	for _, p := range s.Points() {
		shortest, longest = min(shortest, get(p)), max(longest, get(p))
	}
	if shortest >= longest {
		return longest.String()
	}
	return shortest.String() + " … " + longest.String()
}

// simulatedSeeds returns the number of seeds of a point in the simulator, next to the lab's. It is unknown if the
// data choose it and the simulator's results are missing.
func simulatedSeeds(o *results.Outcome) (n int, known bool) {
	switch _, byNeed := o.Spec.Need(); {
	case o.World != experiment.Lab:
		return 0, false
	case !byNeed:
		return o.Spec.Repeat(), true
	case o.Counterpart == nil:
		return 0, false
	}
	return o.Counterpart.Seeds(), true
}

// seedText names the first n seeds, which every point has: "seeds 1 … 5".
func seedText(s *experiment.Spec, n int) string {
	if n == 1 {
		return fmt.Sprintf("seed %d", s.Seed())
	}
	return fmt.Sprintf("seeds %d … %d", s.Seed(), s.Seed()+uint64(n)-1)
}

// pageTable is a table of the page. It has two header lines, measures above their groups, and its first columns stay
// visible while the others scroll.
type pageTable struct {
	Title  string
	Legend string // explanation of marks
	Keys   []keyColumn
	Spans  []headSpan // upper header line, after the keys
	Groups []string   // lower header line
	Lone   bool       // the header has no lower line
	Rows   []tableRow
}

// keyColumn is a column of a sweep key.
type keyColumn struct {
	Name  string
	Width int // in digits
	Left  int // total width of the columns before it, in digits
	Pads  int // number of columns before it
	Class string
}

// headSpan is a header cell over N columns.
type headSpan struct {
	Name, Unit string
	N          int
	Doc        string // description of the measure
}

// tableRow is a row of a page's table.
type tableRow struct {
	Keys  []string
	Says  []string // meanings of the keys' values; nil: unknown
	Cells []tableCell
	First bool // the first key changes at this row
}

// tableCell is a mean with its interval, padded so that decimal points align.
type tableCell struct {
	Mean, Half string
	Width      int    // width of the widest interval of the column
	Pad        string // padding after the mean, as wide as the missing decimals
	Outside    bool   // the lab's value does not agree with the simulator's
	Best, Tied bool
}

// Maximum widths in digits of the key columns that stay visible, on a phone and on a desktop. More would leave too
// little space for values.
const (
	narrowKeys = 20
	wideKeys   = 45
)

// newPageTable converts the terminal's columns to a table of the page with the given number of rows. Heads of values
// need three lines. It sets no legend and no meanings.
func newPageTable(title string, keys, values []column, rows int) pageTable {
	t := pageTable{Title: title, Lone: true}
	left := 0
	edge, edgeWide := 0, 0 // last columns that stay visible
	for i, k := range keys {
		c := keyColumn{Name: k.head[2], Width: k.width() + 1, Left: left, Pads: i}
		left += c.Width
		if !k.countsRuns && left <= narrowKeys {
			edge = i
		}
		if left <= wideKeys {
			edgeWide = i
		}
		t.Keys = append(t.Keys, c)
	}
	for i := range t.Keys {
		var class []string
		if i <= edge {
			class = append(class, "pin")
		}
		if i <= edgeWide {
			class = append(class, "pin-wide")
		}
		if i == edge {
			class = append(class, "edge")
		}
		if i == edgeWide {
			class = append(class, "edge-wide")
		}
		t.Keys[i].Class = strings.Join(class, " ")
	}
	for i, v := range values {
		if i > 0 && v.head[0] == values[i-1].head[0] && v.head[2] == values[i-1].head[2] {
			t.Spans[len(t.Spans)-1].N++
		} else {
			t.Spans = append(t.Spans, headSpan{Name: v.head[0], Unit: strings.Trim(v.head[2], "[]"), N: 1})
		}
		t.Groups = append(t.Groups, v.head[1])
		t.Lone = t.Lone && v.head[1] == ""
	}
	widths, aligned := make([]int, len(values)), make([]alignment, len(values))
	for i := range values {
		for k := range values[i].cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(values[i].cells[k].half))
		}
		aligned[i] = newAlignment(values[i].cells)
	}
	for i := range rows {
		var r tableRow
		for _, k := range keys {
			r.Keys = append(r.Keys, k.cells[i].String())
		}
		for c := range values {
			x := &values[c].cells[i]
			mean := x.text + x.mean
			if x.partial != "" {
				mean += partialSign
			}
			r.Cells = append(r.Cells, tableCell{Mean: mean, Half: x.half, Width: widths[c],
				Pad: aligned[c].missingDigits(x), Outside: x.outside, Best: x.mark == bestMark, Tied: x.mark == tiedMark})
		}
		r.First = i > 0 && len(keys) > 2 && keys[0].cells[i].String() != keys[0].cells[i-1].String()
		t.Rows = append(t.Rows, r)
	}
	return t
}

// addMeanings adds descriptions of measures and sweep values, shown as tooltips. Call it once, after the header is
// complete.
func (t *pageTable) addMeanings(s *experiment.Spec) {
	for i := range t.Spans {
		t.Spans[i].Doc = MeasureDoc(s, t.Spans[i].Name)
	}
	all := s.Meanings()
	for i := range t.Rows {
		r := &t.Rows[i]
		r.Says = make([]string, len(r.Keys))
		for k := range r.Keys {
			r.Says[k] = meaningOf(all, t.Keys[k].Name, r.Keys[k])
		}
	}
}

// missingDigits returns spaces as wide as the decimals that a mean lacks compared with its column (U+2007, U+2008); ""
// for a text.
func (a *alignment) missingDigits(c *cell) string {
	_, behind := splitAtPoint(c.mean)
	switch n := a.behind - len(behind); {
	case c.text != "" || n <= 0:
		return ""
	case behind == "":
		return "\u2008" + strings.Repeat("\u2007", n-1)
	default:
		return strings.Repeat("\u2007", n)
	}
}

// withPageHeads returns a copy of the table with the page's header: two lines and a unit. The original stays unchanged.
func (g sizeGrid) withPageHeads() sizeGrid {
	g.keys, g.values = slices.Clone(g.keys), slices.Clone(g.values)
	for i, k := range g.keys {
		g.keys[i].head = []string{"", "", k.head[len(k.head)-1]}
	}
	for i, v := range g.values {
		last := len(v.head) - 1
		g.values[i].head = []string{"", strings.Join(v.head[:last], " "), v.head[last]}
	}
	return g
}

// parameterGroup holds the parameters of one part of the spec.
type parameterGroup struct {
	Name string
	Rows []groupRow
}

// groupRow is a parameter with its path in the group.
type groupRow struct {
	Path          []string // relative to the group
	Value, Source string
}

// groupParameters groups parameters by the part of the spec: top-level keys first, then parts in the order of the spec.
// A group without parameters is left out.
func groupParameters(parameters []experiment.Parameter) []parameterGroup {
	out := []parameterGroup{{Name: "the run"}}
	groups := map[string]int{}
	for _, p := range parameters {
		path := strings.Split(p.Path, ".")
		deep := 1
		if len(path) > 2 && (path[0] == "traffic" || path[0] == "sweep" || path[0] == "switches") {
			deep = 2
		}
		i := 0
		if len(path) > 1 {
			name := strings.Join(path[:deep], " ")
			var ok bool
			if i, ok = groups[name]; !ok {
				i = len(out)
				groups[name] = i
				out = append(out, parameterGroup{Name: name})
			}
			path = path[deep:]
		}
		out[i].Rows = append(out[i].Rows, groupRow{path, p.Value, p.Source})
	}
	if len(out[0].Rows) == 0 {
		return out[1:]
	}
	return out
}

// PagePlot is a plot on the page. A plot without values has only a title.
type PagePlot struct {
	Title string
	File  string        // path below the results folder
	SVG   template.HTML // output of package figure, which escapes texts
}

// svgColour matches a colour of a stroke or fill.
var svgColour = regexp.MustCompile(`\b(stroke|fill):#([0-9A-Fa-f]{6})\b`)

// embedSVG returns an SVG for embedding in the page: without the file's header, and with the page's variables for
// colours, so that it is readable on light and dark backgrounds. Curves use --curve1 … in palette order; greys become
// ink, grid or panel.
func embedSVG(svg []byte) []byte {
	if at := bytes.Index(svg, []byte("<svg")); at > 0 {
		svg = svg[at:]
	}
	return svgColour.ReplaceAllFunc(svg, func(m []byte) []byte {
		property, hex, _ := strings.Cut(string(m), ":#")
		rgb, err := strconv.ParseUint(hex, 16, 32)
		if err != nil {
			return m
		}
		c := color.RGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 0xff}
		name := ""
		switch i := slices.Index(figure.Palette(), c); {
		case i >= 0:
			name = fmt.Sprintf("curve%d", i+1)
		case c.R != c.G || c.G != c.B:
			return m
		case c.R == 0xff:
			name = "panel"
		case c.R >= 0x80:
			name = "grid"
		default:
			name = "ink"
		}
		return fmt.Appendf(nil, "%s:var(--%s,#%s)", property, name, hex)
	})
}

// safeFileName replaces characters that some file systems reject, and all that are not ASCII, by "-".
func safeFileName(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, text)
}

// WriteReport writes plots/*.svg, host.html and report.html into the outcome's folder, which must exist, and returns
// the path of report.html. It replaces existing files. Without a linked-in Drawer it writes no plots.
func WriteReport(o *results.Outcome, p Page) (string, error) {
	w := newWorlds(o)
	points := w.own
	dir := filepath.Join(o.Dir, "plots")
	if err := atomicfile.MkdirAll(dir); err != nil {
		return "", fmt.Errorf("%s: the folder cannot be created: %w", dir, document.UnwrapPathError(err))
	}
	var plots []PagePlot
	for i, x := range o.Spec.Plots() {
		if len(points) == 0 || !figure.Drawing.Linked() {
			break
		}
		svg, err := w.drawSVG(x)
		if err != nil {
			return "", err
		}
		if svg == nil {
			plots = append(plots, PagePlot{Title: PlotTitle(x)})
			continue
		}
		name := fmt.Sprintf("%d-%s.svg", i+1, safeFileName(PlotTitle(x)))
		if err := results.WriteFile(filepath.Join(dir, name), svg); err != nil {
			return "", err
		}
		plots = append(plots, PagePlot{PlotTitle(x), "plots/" + name, template.HTML(embedSVG(svg))})
	}
	if late, err := latenessSVG(o); err != nil {
		return "", err
	} else if late != nil {
		if err := results.WriteFile(filepath.Join(dir, "lateness.svg"), late); err != nil {
			return "", err
		}
	}
	html, err := FormatHTML(o, points, plots, p)
	if err != nil {
		return "", err
	}
	host, err := hostHTML(o, p)
	if err != nil {
		return "", err
	}
	if err := results.WriteFile(filepath.Join(o.Dir, "host.html"), host); err != nil {
		return "", err
	}
	path := filepath.Join(o.Dir, "report.html")
	return path, results.WriteFile(path, html)
}
