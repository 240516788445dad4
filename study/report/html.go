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
var pageSource string

var page = template.Must(template.New("report").Funcs(template.FuncMap{"count": text.Count}).Parse(pageSource))

// Page is what report.html is made of besides the outcome.
type Page struct {
	Version string // of weir
}

// drops are the packets that a run has dropped, by reason.
type drops struct {
	Point string
	Seed  uint64
	Drops string
}

// dropsOf are those of all runs; stuck says that one of them got stuck.
func dropsOf(o *results.Outcome) (dropped []drops, stuck bool) {
	for _, r := range o.Runs {
		var s []string
		for _, c := range r.Drops {
			s = append(s, fmt.Sprintf("%s %d", c.Name, c.Count))
		}
		dropped = append(dropped, drops{measure.PointName(r.Point), r.Seed, strings.Join(s, ", ")})
		stuck = stuck || r.End.Stuck()
	}
	return dropped, stuck
}

// HTML writes the self-contained page: claims with their verdicts first, then plots, tables, how
// the runs ended, every parameter with its source, and the command that gives it again. It has no
// scripts and refers to nothing outside itself.
func HTML(o *results.Outcome, points []PointSummary, plots []Drawn, p Page) ([]byte, error) {
	dropped, stuck := dropsOf(o)
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
	w := worldsOf(o)
	keys, values := w.sorted(o.Spec.Listing().Sort)
	var same []string
	if len(w.own) > 1 {
		g := grid{keys: keys, rows: len(w.own)}
		same, keys = g.constant(), g.keys
	}
	runs := tableOf("results", keys, values, len(w.own))
	for i := range runs.Rows { // sorted rows are no groups
		runs.Rows[i].First = runs.Rows[i].First && len(o.Spec.Listing().Sort) == 0
	}
	runs.Legend = legendOf(values, w.conditions, "bold:", "underlined:")
	runs.explain(o.Spec)
	var sizes []table
	for _, g := range w.sizeGrids(&TableOptions{}) {
		g = g.page()
		t := tableOf(g.title, g.keys, g.values, g.rows)
		t.Legend = legendOf(g.values, w.conditions, "bold:", "underlined:")
		sizes = append(sizes, t)
	}
	attempts := machineRows(o, true)
	machineKeys, machineValues := machineColumns(attempts)
	histogram, err := latenessSVG(o)
	if err != nil {
		return nil, err
	}
	var late template.HTML
	if histogram != nil {
		late = template.HTML(inPage(histogram))
	}
	undrawn := ""
	if _, missing := figure.Drawing.Get(); missing != nil && len(points) > 0 && len(o.Spec.Plots()) > 0 {
		undrawn = missing.Error()
	}
	agreed := results.Agree(o.Agreements())
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{
		"Lab": w.lab, "Simulated": w.sim != nil, "ClaimsBeside": pairClaims(o), "Agreement": agreementLine(o),
		"Agree": agreed.Verdict, "Inside": agreed.Inside, "Points": agreed.Points, "Compared": agreed.Points > 0,
		"Outside": outside(o, w), "Empty": w.notDefined(&TableOptions{}), "Same": same, "Without": Without(o.Spec),
		"Explained": (&TableOptions{}).Explained(o.Spec),
		"Sources":   sources(o, w), "MachineFacts": machineFacts(o), "Machine": tableOf("attempts",
			machineKeys, machineValues, len(attempts)),
		"Notes": attemptNotes(o), "Lateness": late, "Chosen": describeSeeds(o), "TooWide": tooWide(o),
		"Title": o.Spec.Title(), "Name": o.Name, "World": o.World, "Paper": o.Spec.Paper().String(), "Quick": o.Spec.Quick(),
		"Facts": facts(o, len(points)), "Short": len(o.Failed) > 0 || o.Missing > 0 || stuck,
		"Claims": o.Claims, "Counts": Verdicts(o.Claims), "Plots": plots, "Undrawn": undrawn,
		"Table": runs, "Sizes": sizes, "Drops": dropped,
		"Ends": Status(o), "Given": grouped(given), "GivenN": len(given), "Defaults": grouped(defaults),
		"DefaultsN": len(defaults), "Warnings": o.Spec.Warnings(),
		"Programs": programs(o),
		"Command":  command, "Version": p.Version, "Spec": string(o.Spec.Resolved()), "Hash": o.Spec.Hash(), "Ran": ran(o, p),
	})
	return []byte(text.Lines(b.String())), err
}

// ran says which program carried out the runs, and which made this page, if that is another.
func ran(o *results.Outcome, p Page) string {
	page := "This page was made by " + revision.Name() + " " + p.Version + "."
	switch line := "program " + o.Program; {
	case o.Program == "":
		return page
	case o.Version == "":
		return "Carried out by the " + line + ". " + page
	case o.Program == revision.This().String():
		return "Carried out by " + o.Version + ", " + line + "."
	default:
		return "Carried out by " + o.Version + ", " + line + ". " + page
	}
}

// programs says which runs are of which program, where several have carried them out.
func programs(o *results.Outcome) (lines []string) {
	for _, p := range o.Programs {
		lines = append(lines, fmt.Sprintf("by program %s: %s: %s", p.Revision, text.Count(len(p.Runs), "run"),
			strings.Join(p.Runs, ", ")))
	}
	return lines
}

// facts says what was run, in a line.
func facts(o *results.Outcome, points int) string {
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
	line += ", " + seeds(o.Spec, o.Seeds())
	if n, known := simulated(o); known && n != o.Seeds() {
		line += ", of the simulator " + seeds(o.Spec, n)
	}
	line += "; " + lasts(o.Spec, duration, (*experiment.Point).Duration) + " measured"
	if warmup != "" && warmup != "0s" {
		line += " after " + lasts(o.Spec, warmup, (*experiment.Point).Warmup)
	}
	return line
}

// lasts is a time as the file has it or, where the sweep says it, from the shortest to the longest of the points.
func lasts(s *experiment.Spec, text string, of func(p *experiment.Point) unit.Time) string {
	if !strings.Contains(text, "$") {
		return text
	}
	shortest, longest := unit.Never, unit.Time(0)
	for _, p := range s.Points() {
		shortest, longest = min(shortest, of(p)), max(longest, of(p))
	}
	if shortest >= longest {
		return longest.String()
	}
	return shortest.String() + " … " + longest.String()
}

// simulated is how many seeds a point has in the simulator, beside the lab's; it is not known where the data would
// have to choose it and are not there.
func simulated(o *results.Outcome) (n int, known bool) {
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

// seeds names those of every point: the first n.
func seeds(s *experiment.Spec, n int) string {
	if n == 1 {
		return fmt.Sprintf("seed %d", s.Seed())
	}
	return fmt.Sprintf("seeds %d … %d", s.Seed(), s.Seed()+uint64(n)-1)
}

// table is the results as the page shows them: a head of two lines, measures over
// their groups, and rows whose first columns stay in place when the rest is moved.
type table struct {
	Title  string
	Legend string // what marks are
	Keys   []keyColumn
	Spans  []span   // upper line of the head, after the keys
	Groups []string // lower line
	Lone   bool     // there is no lower line
	Rows   []tableRow
}

type keyColumn struct {
	Name  string
	Width int // in digits
	Left  int // of the columns before it, in digits
	Pads  int // columns before it
	Class string
}

type span struct {
	Name, Unit string
	N          int
	Doc        string // what the measure is
}

type tableRow struct {
	Keys  []string
	Says  []string // what the keys' values stand for; nil: unknown
	Cells []tableCell
	First bool // the slowest key has another value than the row above
}

// tableCell is a mean with its interval, so that means stand below means.
type tableCell struct {
	Mean, Half string
	Width      int    // of the widest interval of the column
	Pad        string // behind the mean: as wide as the digits that others have, so that points stand below points
	Outside    bool   // the lab's value does not agree with the simulator's
	Best, Tied bool
}

// Key columns of so many digits stay in place, on a phone and on a desk: more would
// leave no room for values.
const (
	narrowKeys = 20
	wideKeys   = 45
)

// tableOf makes the page's table out of the terminal's columns.
func tableOf(title string, keys, values []column, rows int) table {
	t := table{Title: title, Lone: true}
	left := 0
	edge, edgeWide := 0, 0 // the last columns that stay
	for i, k := range keys {
		c := keyColumn{Name: k.head[2], Width: k.width() + 1, Left: left, Pads: i}
		left += c.Width
		if !k.ofRuns && left <= narrowKeys {
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
			t.Spans = append(t.Spans, span{Name: v.head[0], Unit: strings.Trim(v.head[2], "[]"), N: 1})
		}
		t.Groups = append(t.Groups, v.head[1])
		t.Lone = t.Lone && v.head[1] == ""
	}
	widths, aligned := make([]int, len(values)), make([]alignment, len(values))
	for i := range values {
		for k := range values[i].cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(values[i].cells[k].half))
		}
		aligned[i] = alignmentOf(values[i].cells)
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
				Pad: aligned[c].missing(x), Outside: x.outside, Best: x.mark == bestMark, Tied: x.mark == tiedMark})
		}
		r.First = i > 0 && len(keys) > 2 && keys[0].cells[i].String() != keys[0].cells[i-1].String()
		t.Rows = append(t.Rows, r)
	}
	return t
}

// explain adds what measures and values of the sweep are, which a reader sees who points at them.
func (t *table) explain(s *experiment.Spec) {
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

// missing are spaces as wide as the decimals that a mean lacks (U+2007, U+2008).
func (a *alignment) missing(c *cell) string {
	_, behind := parts(c.mean)
	switch n := a.behind - len(behind); {
	case c.text != "" || n <= 0:
		return ""
	case behind == "":
		return "\u2008" + strings.Repeat("\u2007", n-1)
	default:
		return strings.Repeat("\u2007", n)
	}
}

// page is the table with heads of the page: two lines and a unit.
func (g sizeGrid) page() sizeGrid {
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

// group is the parameters below one part of the spec.
type group struct {
	Name string
	Rows []groupRow
}

type groupRow struct {
	Path          []string // below the group
	Value, Source string
}

// grouped sorts parameters by the part of the spec that they belong to: plain keys
// first, then parts in the order of the spec.
func grouped(parameters []experiment.Parameter) []group {
	out := []group{{Name: "the run"}}
	at := map[string]int{}
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
			if i, ok = at[name]; !ok {
				i = len(out)
				at[name] = i
				out = append(out, group{Name: name})
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

// Drawn is a plot as the page shows it; a plot without values has only a title.
type Drawn struct {
	Title string
	File  string        // of the folder plots
	SVG   template.HTML // made by SVG, which escapes its texts
}

var drawnColour = regexp.MustCompile(`\b(stroke|fill):#([0-9A-Fa-f]{6})\b`)

// inPage is an SVG as a part of the page: without the head of a file, and with the
// page's variables for colours, so that it is readable on light and dark. Curves
// have --curve1 … in the order of the palette; what is grey is ink, grid or paper.
func inPage(svg []byte) []byte {
	if at := bytes.Index(svg, []byte("<svg")); at > 0 {
		svg = svg[at:]
	}
	return drawnColour.ReplaceAllFunc(svg, func(m []byte) []byte {
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

// fileName keeps the characters of a text that every file system accepts.
func fileName(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, text)
}

// Write makes plots and page in the outcome's folder and returns the page's path.
func Write(o *results.Outcome, p Page) (string, error) {
	w := worldsOf(o)
	points := w.own
	dir := filepath.Join(o.Dir, "plots")
	if err := atomicfile.MkdirAll(dir); err != nil {
		return "", fmt.Errorf("%s: it cannot be made: %w", dir, document.Reason(err))
	}
	var plots []Drawn
	for i, x := range o.Spec.Plots() {
		if len(points) == 0 || !figure.Drawing.Linked() {
			break
		}
		svg, err := w.svg(x)
		if err != nil {
			return "", err
		}
		if svg == nil {
			plots = append(plots, Drawn{Title: Title(x)})
			continue
		}
		name := fmt.Sprintf("%d-%s.svg", i+1, fileName(Title(x)))
		if err := results.WriteFile(filepath.Join(dir, name), svg); err != nil {
			return "", err
		}
		plots = append(plots, Drawn{Title(x), "plots/" + name, template.HTML(inPage(svg))})
	}
	if late, err := latenessSVG(o); err != nil {
		return "", err
	} else if late != nil {
		if err := results.WriteFile(filepath.Join(dir, "lateness.svg"), late); err != nil {
			return "", err
		}
	}
	html, err := HTML(o, points, plots, p)
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
