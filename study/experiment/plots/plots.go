package plots

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/document"
	"weir/study/claim"
	"weir/study/measure"
)

// Forms of values.
var (
	textForm   = document.Value("text")
	numberForm = document.Value("number")
	whereForm  = document.AnyValue("points, as of a claim")
)

// Table has the keys of a plot.
var Table = &document.Table{KeyNoun: "plot key", Doc: "a plot", Keys: []document.Key{
	{Name: "x", Form: document.Value("sweep key, `time`, `flow_size`, or with `y: cdf` a measure"),
		Doc:     "values of the horizontal axis",
		Without: "`time` with `kind: series`, otherwise required", Example: "x: rate"},
	{Name: "y", Form: document.Value("measure, `measure.group`, `cdf` or `ccdf`; of a heat map a sweep key or " +
		"`traffic`"),
		Doc:     "values of the vertical axis",
		Without: "`cdf` or `ccdf` with that `kind`, otherwise required", Example: "y: goodput"},
	{Name: "z", Form: document.Value("measure or `measure.group`"), Doc: "values of a heat map's colours",
		Without: "required for a heat map"},
	{Name: "kind", Form: document.OneOf(kinds...), Doc: "kind of plot",
		Without: "`bars` over words and `lines` over numbers, or as `x` and `y` require"},
	{Name: "lines", Form: document.AnyOf("list of sweep keys and `traffic`", document.Value("key"),
		document.ListOf(document.Value("key"), "")), Doc: "keys with a separate curve for each value",
		Without: "the keys of the sweep"},
	{Name: "traffic", Form: document.AnyOf("group of the measure, or list of them", document.Value("group"),
		document.ListOf(document.Value("group"), "")), Doc: "traffics, ports or other groups to show",
		Without: "all traffics; for measures that are not by traffic, the first group, which the plot states"},
	{Name: "where", Form: whereForm, Doc: "points to show; `traffic` in it is like the key", Without: "all"},
	{Name: "panels", Form: document.Value("sweep key or `traffic`"), Doc: "key with a separate panel for each value",
		Without: "one panel, or more if it had over 16 curves"},
	{Name: "ranks", Form: document.AnyOf("list of ranks, from 0, or how many", numberForm, document.ListOf(numberForm,
		"")),
		Doc: "ranks of a timeline: these, in this order; or a number of ranks, those first for which others wait, " +
			"which wait least",
		Without: "all in their order, but at most 32"},
	{Name: "log", Form: document.OneOf("x", "y", "xy", "none"), Doc: "axes with a logarithmic scale",
		Without: "`x` over sizes, and over a sweep in steps of equal factors; `y` of a `ccdf`"},
	{Name: "x_range", Form: rangeForm, Doc: "ends of the horizontal axis", Without: "from the values"},
	{Name: "y_range", Form: rangeForm, Doc: "ends of the vertical axis", Without: "from the values"},
	{Name: "z_range", Form: rangeForm, Doc: "ends of a heat map's colours", Without: "from the values"},
	{Name: "x_ticks", Form: ticksForm, Doc: "ticks of the horizontal axis", Without: "as many as fit"},
	{Name: "y_ticks", Form: ticksForm, Doc: "ticks of the vertical axis", Without: "as many as fit"},
	{Name: "x_label", Form: textForm, Doc: "label of the horizontal axis, with its unit",
		Without: "the key and the unit"},
	{Name: "y_label", Form: textForm, Doc: "label of the vertical axis, with its unit",
		Without: "the measure and the unit"},
	{Name: "z_label", Form: textForm, Doc: "label of a heat map's colours, with its unit",
		Without: "the measure and the unit"},
	{Name: "title", Form: textForm, Doc: "title of the figure; `none`: no title and no note",
		Without: "the content of the figure and the number of runs"},
	{Name: "legend", Form: document.OneOf(legends...),
		Doc: "place of the legend; `best`: a corner without values", Without: "`below`"},
	{Name: "order", Form: document.AnyOf("list of values, `rising` or `falling`", document.Value("value"),
		document.ListOf(document.Value("value"), "")), Doc: "order of curves, panels and words on an axis: these first; " +
		"or by the height of the first curve", Without: "the order of the sweep"},
	{Name: "names", Form: document.MapBy(document.Value("text"), "`{value: text}`"),
		Doc: "names of values, traffics and keys", Without: "as in the file"},
	{Name: "error", Form: document.OneOf("bars", "band", "none"), Doc: "form of 95 % intervals over the seeds; `band` " +
		"of a series also has the mean of all seeds", Without: "`bars`; `none` for a series"},
	{Name: "width", Form: document.Value("`89mm`, `183mm`, or another length from 30 mm to 1 m"), Doc: "width of the " +
		"figure",
		Without: "the width of figures in reports"},
	{Name: "height", Form: document.Value("length"), Doc: "height of the figure", Without: "from the content"},
	{Name: "text", Form: document.Value("`7pt` … `30pt`"), Doc: "size of labels; ticks have 0.92 of it, but at least " +
		"7 pt",
		Without: "8 pt with a `width`"},
}}

var (
	rangeForm = document.Value("`low..high`, of which one may be missing")
	ticksForm = document.AnyOf("list of values, or about how many", numberForm, document.ListOf(document.Value("value"),
		""))
)

// kinds are the kinds of plots that files name.
var kinds = []string{KindLines, KindPoints, KindBars, KindBox, KindCDF, KindCCDF, KindHeat, KindSeries, KindTimeline}

// legends are the places of a legend.
var legends = []string{"below", "above", "right", "best", "top_left", "top_right", "bottom_left", "bottom_right",
	"none"}

// Plot is one entry of the spec's plot list.
type Plot struct {
	Kind    AxesKind
	DrawnAs string // one of the kinds that files name; "": by the axes
	X, Y, Z string // Z is the measure of a heat map's colours
	Groups  []string
	Lines   []string // keys that distinguish lines: sweep keys, or "traffic" for the groups of the measure
	Panels  string   // a sweep key, or "traffic": one panel for each value
	LogX    bool
	LogY    bool
	LogSet  bool // the file states which axes are logarithmic

	Ranks     []int // of a timeline, in this order; nil: RankCount selects them
	RankCount int   // number of ranks, those with the shortest wait first; 0: all, if there is room

	Style
	claim.Filter
}

// Style is the appearance of a plot. Zero values select the defaults.
type Style struct {
	XRange, YRange, ZRange Range
	XTicks, YTicks         Ticks
	XLabel, YLabel, ZLabel string
	Title                  string
	Untitled               bool
	Legend                 string
	Order                  []string // rising or falling alone: by value
	Names                  map[string]string
	Error                  string  // bars, band, none; "": the default
	Width, Height          float64 // in points; 0: the default
	Text                   float64 // in points
}

// Range is the range of an axis. An end that is not set follows from the values.
type Range struct {
	Low, High       float64
	HasLow, HasHigh bool
}

// Ticks are the ticks of an axis, or their approximate number.
type Ticks struct {
	Values []float64
	Count  int
}

// AxesKind defines the type of a plot's axes.
type AxesKind uint8

// Kinds of plots. OverSweep shows a measure over a sweep key, OverTime a series, OverSize a measure by flow size. CDF
// shows the share of values up to or beyond each value of X. OverRanks shows what ranks of jobs do over time.
const (
	OverSweep AxesKind = iota
	OverTime
	OverSize
	CDF
	OverRanks
	kindCount // number of kinds
)

// Kinds that files name.
const (
	KindLines    = "lines"
	KindPoints   = "points"
	KindBars     = "bars"
	KindBox      = "box"
	KindCDF      = "cdf"
	KindCCDF     = "ccdf"
	KindHeat     = "heat"
	KindSeries   = "series"
	KindTimeline = "timeline"
)

// Names on axes that are not measures.
const (
	timeAxis  = "time"
	sizeAxis  = "flow_size"
	cdfAxis   = KindCDF
	ccdfAxis  = KindCCDF
	groupAxis = "traffic"
)

// Key is a key of a plot with its text, and the place of the text for errors.
type Key struct{ Name, Text, Place string }

// Keys returns the keys of a plot with their descriptions.
func Keys() []document.Key { return slices.Clone(Table.Keys) }

// shownGroups has, by name, the groups of each measure that a plot can show.
type shownGroups map[string][]string

// addGroups adds groups to the measure with the given name. A group may be added twice.
func (g shownGroups) addGroups(name string, groups ...string) {
	g[name] = append(g[name], groups...)
}

// Decoder reads plots. What runs measure must be known.
type Decoder struct {
	*document.Reader
	view     *claim.View
	keys     []string // of the sweep
	traffics []string // names of all points' traffics
	ranks    int      // of the largest job
	sets     [kindCount]shownGroups
	plots    []Plot
}

// NewDecoder returns a decoder of plots. names has what runs measure, and view the points. ranks is the number of ranks
// of the largest job, 0 without jobs. Errors go to r.
func NewDecoder(r *document.Reader, view *claim.View, names *measure.Values, traffics []string, ranks int) *Decoder {
	d := &Decoder{Reader: r, view: view, traffics: traffics, ranks: ranks, sets: listShown(names)}
	for _, dim := range view.Sweep {
		d.keys = append(d.keys, dim.Key)
	}
	return d
}

// ParsePlot reads a plot that is not in the plot list: keys in their order, each with its value as text in the form of
// a file. Places of errors are names, such as names of flags. A decoder parses only one plot: it keeps errors and the
// plot that it read before. All errors are returned together.
func (d *Decoder) ParsePlot(keys []Key) (Plot, error) {
	item := &document.Node{Kind: document.Mapping, Position: document.Position{File: "the plot", Line: 1, Column: 1}}
	for _, k := range keys {
		if v := document.Parse(d.Reader, k.Place, []byte(k.Text)); v != nil {
			item.Keys = append(item.Keys, document.Entry{Position: v.Position, Name: k.Name, Value: v})
		}
	}
	if x, ok := d.ReadMap(item, Table); ok && d.OK() {
		d.readPlot(x)
	}
	if err := d.Err(); err != nil {
		return Plot{}, err
	}
	return d.plots[0], nil
}

// FileKind is how messages name a plot that is not in the plot list.
var FileKind = document.FileKind{Name: "plot", Whole: "a plot", First: "x, y, …"}

// listShown returns, by kind of plot, what it can show, with groups.
func listShown(names *measure.Values) [kindCount]shownGroups {
	var sets [kindCount]shownGroups
	for i := range sets {
		sets[i] = shownGroups{}
	}
	for _, m := range names.Measures {
		sets[OverSweep].addGroups(m.Name)
		for _, g := range m.Groups {
			sets[OverSweep].addGroups(m.Name, g.Group)
		}
	}
	for _, x := range names.Series {
		sets[OverTime].addGroups(x.Name, x.Group)
	}
	for _, b := range names.Bins {
		sets[OverSize].addGroups(b.Name, b.Traffic)
		for _, q := range b.Percentiles {
			sets[OverSize].addGroups(measure.PercentileName(b.Name, q), b.Traffic)
		}
	}
	for _, x := range names.Distributions {
		sets[CDF].addGroups(x.Name, x.Group)
	}
	for _, x := range names.Timelines {
		sets[OverRanks].addGroups(KindTimeline, x.Traffic)
	}
	return sets
}

// ReadList reads the plot list. Errors go to the reader. It returns nil without a list, and only the valid entries
// after an error.
func (d *Decoder) ReadList(t *document.Node) []Plot {
	if t == nil {
		return nil
	}
	if t.Kind != document.List {
		d.Fail(t.Position, "[{x: …, y: …, lines: […]}]", "plot is not a list")
		return nil
	}
	for _, item := range t.Items {
		if x, ok := d.ReadMap(item, Table); ok {
			d.readPlot(x)
		}
	}
	return d.plots
}

// readPlot reads an entry of the list and appends it to d.plots. After an error in the axes it appends no plot.
func (d *Decoder) readPlot(x document.Map) {
	p := Plot{}
	if v := x.Get("kind"); v != nil {
		p.DrawnAs = d.ReadWord(v, "plot kind", kinds)
	}
	if p.DrawnAs == KindTimeline {
		d.readTimeline(x, &p)
		return
	}
	if v := x.Get("ranks"); v != nil {
		d.Fail(v.Position, "kind: timeline", "ranks is given, but only a plot of kind: timeline has ranks")
	}
	measured := d.readAxes(x, &p)
	if measured != nil {
		d.readMeasure(x, &p, measured)
	}
	if v := x.Get("log"); v != nil {
		w := d.ReadWord(v, "value of log", Table.FindKey("log").Form.Words)
		p.LogX, p.LogY, p.LogSet = strings.Contains(w, "x"), strings.Contains(w, "y"), true
	}
	apart := append(slices.Clip(d.keys), groupAxis)
	for _, l := range document.ItemsOf(x.Get("lines")) {
		p.Lines = append(p.Lines, d.ReadWord(l, "value of lines", apart))
	}
	if v := x.Get("panels"); v != nil {
		if p.Panels = d.ReadWord(v, "value of panels", apart); p.Panels == p.X || p.Panels == p.Y {
			d.Fail(v.Position, "another key", "panels is %s, which is already on an axis", p.Panels)
		}
	}
	d.readStyle(x, &p)
	if measured == nil {
		return
	}
	d.readWhere(x, &p)
	d.checkNames(x, &p)
	d.splitByTraffic(&p)
	d.plots = append(d.plots, p)
}

// readAxes reads x and y, and sets the kind of plot. It returns the axis that has the measure; nil after an error.
func (d *Decoder) readAxes(x document.Map, p *Plot) *document.Node {
	keys := d.keys
	axisX, axisY := x.Get("x"), x.Get("y")
	shares := p.DrawnAs == KindCDF || p.DrawnAs == KindCCDF
	if axisX == nil && p.DrawnAs == KindSeries {
		axisX = &document.Node{Position: x.Position, Text: timeAxis}
	}
	if axisY == nil && shares {
		axisY = &document.Node{Position: x.Position, Text: p.DrawnAs}
	}
	if axisX == nil {
		d.FailMissing(x.Node, "x", Table.KeyNoun, Table.KeyNames(), "x: "+
			document.JoinChoices(append(append([]string{}, keys...), timeAxis, sizeAxis)), "the plot needs the key x")
	}
	if axisY == nil {
		d.FailMissing(x.Node, "y", Table.KeyNoun, Table.KeyNames(),
			"y: "+document.JoinChoices(slices.Sorted(maps.Keys(d.sets[OverSweep]))),
			"the plot needs the key y")
	}
	if axisX == nil && axisY != nil && p.DrawnAs != KindHeat {
		d.checkLonelyY(axisY)
	}
	if axisX == nil || axisY == nil {
		return nil
	}
	p.X, p.Y = d.ReadText(axisX), d.ReadText(axisY)
	measured := axisY
	switch {
	case p.DrawnAs == KindHeat:
		return d.readHeatAxes(x, p, axisX, axisY)
	case p.X == timeAxis && !slices.Contains(keys, timeAxis):
		p.Kind = OverTime
	case p.X == sizeAxis && !slices.Contains(keys, sizeAxis):
		p.Kind, p.LogX = OverSize, true
	case p.Y == cdfAxis, p.Y == ccdfAxis:
		p.Kind, measured = CDF, axisX
		p.LogY = p.Y == ccdfAxis
	}
	if p.Kind == OverSweep {
		d.ReadWord(axisX, "sweep key", append(append([]string{}, keys...), timeAxis, sizeAxis))
	}
	d.checkKind(x, p, shares)
	return measured
}

// checkLonelyY reports an error for the y of a plot without an x if no plot can show it.
func (d *Decoder) checkLonelyY(axisY *document.Node) {
	name, _, _ := strings.Cut(d.ReadText(axisY), ".")
	if slices.Contains([]string{cdfAxis, ccdfAxis, groupAxis}, name) || slices.Contains(d.keys, name) {
		return
	}
	words := map[string]bool{}
	for _, set := range d.sets {
		for w := range set {
			words[w] = true
		}
	}
	if len(words) > 0 && !words[name] {
		d.view.FailMeasure(d.Reader, axisY.Position, name, slices.Sorted(maps.Keys(words)))
	}
}

// checkKind reports an error if the kind does not match the axes. shares reports whether the kind is cdf or ccdf, which
// y must then equal.
func (d *Decoder) checkKind(x document.Map, p *Plot, shares bool) {
	allowed := map[AxesKind][]string{OverSweep: {KindLines, KindPoints, KindBars, KindBox, KindHeat},
		OverTime: {KindSeries, KindLines, KindPoints}, OverSize: {KindLines, KindPoints}, CDF: {KindCDF, KindCCDF}}[p.Kind]
	switch {
	case !slices.Contains(kinds, p.DrawnAs): // the file has no kind, or an error was reported
	case !slices.Contains(allowed, p.DrawnAs):
		d.Fail(x.Get("kind").Position, document.JoinChoices(allowed), "kind %q does not fit x: %s and y: %s", p.DrawnAs,
			p.X,
			p.Y)
	case shares && p.Y != p.DrawnAs:
		d.Fail(x.Get("y").Position, "y: "+p.DrawnAs, "kind %q does not fit y: %s", p.DrawnAs, p.Y)
	}
}

// readHeatAxes reads the axes of a heat map, and returns z, which has its measure; nil without a z.
func (d *Decoder) readHeatAxes(x document.Map, p *Plot, axisX, axisY *document.Node) *document.Node {
	keys := d.keys
	if p.X == timeAxis && !slices.Contains(keys, timeAxis) {
		p.Kind = OverTime
	} else {
		d.ReadWord(axisX, "sweep key", append(append([]string{}, keys...), timeAxis))
	}
	d.ReadWord(axisY, "value of y", append(append([]string{}, keys...), groupAxis))
	if p.X == p.Y {
		d.Fail(axisY.Position, "another key", "y is %s, which is already on the x axis", p.Y)
	}
	z := x.Get("z")
	if z == nil {
		d.FailMissing(x.Node, "z", Table.KeyNoun, Table.KeyNames(), "z: a measure",
			"the heat map needs the key z, the measure that its colours show")
	}
	return z
}

// isRecorded reports whether any kind of plot can show a measure.
func (d *Decoder) isRecorded(name string) bool {
	for _, set := range d.sets {
		if _, ok := set[name]; ok {
			return true
		}
	}
	return false
}

// readMeasure reads the measure, or measure.group, that is shown, from measured, the value of its axis. It stores the
// name in X, Y or Z of the plot, and the group in its Groups.
func (d *Decoder) readMeasure(x document.Map, p *Plot, measured *document.Node) {
	set := d.sets[p.Kind]
	if p.DrawnAs == KindBox { // a box shows the distribution over seeds, or of all values
		set = maps.Clone(set)
		for name, groups := range d.sets[CDF] {
			set.addGroups(name, groups...)
		}
	}
	words := slices.Sorted(maps.Keys(set))
	if len(words) == 0 {
		why := [kindCount]string{"", "goodput: {every: 100ms}, or queue: {port: …}", "slowdown: {bins: 20}",
			"slowdown, fct, delay, queue, or nacks"}[p.Kind]
		d.Fail(x.Position, "a measure in the experiment such as "+why,
			"the plot shows values that no measure of the experiment records")
		return
	}
	name := measured.Text
	if _, whole := set[name]; !whole {
		if m, g, ok := strings.Cut(name, "."); ok && set[m] != nil {
			allowed := d.groupsOf(m, set)
			if !slices.Contains(allowed, g) {
				d.FailUnknown(measured.Position, "group of "+m, g, allowed)
			}
			name, p.Groups = m, []string{g}
		} else if d.isRecorded(name) {
			d.ReadWord(measured, "measure", words)
		} else {
			d.view.FailMeasure(d.Reader, measured.Position, d.ReadText(measured), words)
		}
	}
	switch {
	case p.DrawnAs == KindHeat:
		p.Z = name
	case p.Kind == CDF:
		p.X = name
	default:
		p.Y = name
	}
	if x.Get("z") != nil && p.DrawnAs != KindHeat {
		d.Fail(x.Get("z").Position, "kind: heat", "z is given, but only a heat map has z")
	}
}

// Measure returns the measure that a plot shows. For a timeline it is the word timeline.
func (p *Plot) Measure() string {
	switch {
	case p.DrawnAs == KindHeat:
		return p.Z
	case p.Kind == OverRanks:
		return KindTimeline
	case p.Kind == CDF:
		return p.X
	}
	return p.Y
}

// groupsOf returns the groups of a measure that any point has. If a traffic is among the groups, all traffics are,
// since other points may measure them.
func (d *Decoder) groupsOf(name string, set shownGroups) (out []string) {
	traffics := d.traffics
	byTraffic := false
	for _, g := range set[name] {
		if g != "" && !slices.Contains(out, g) {
			out = append(out, g)
		}
		traffic, _, _ := strings.Cut(g, ".") // the traffic of a flow
		byTraffic = byTraffic || slices.Contains(traffics, traffic)
	}
	for _, t := range traffics { // other points may have other traffics
		if byTraffic && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// readWhere reads the points and the groups that are shown. Groups come from the keys traffic and where.traffic, unless
// traffic is a key of the sweep.
func (d *Decoder) readWhere(x document.Map, p *Plot) {
	groups := document.ItemsOf(x.Get("traffic"))
	if w := x.Get("where"); w != nil {
		if t := w.Find(groupAxis); t != nil && !slices.Contains(d.keys, groupAxis) {
			groups = append(groups, document.ItemsOf(t)...)
			rest := *w
			rest.Keys = slices.DeleteFunc(slices.Clone(w.Keys), func(e document.Entry) bool { return e.Name == groupAxis })
			w = &rest
		}
		d.view.ReadWhere(d.Reader, &p.Filter, w)
	}
	set := d.sets[p.Kind]
	if _, ok := set[p.Measure()]; !ok {
		set = d.sets[CDF]
	}
	if _, ok := set[p.Measure()]; !ok { // an error was reported
		return
	}
	allowed := d.groupsOf(p.Measure(), set)
	for _, g := range groups {
		if len(allowed) == 0 {
			d.Fail(g.Position, "no traffic", "%s has no groups", p.Measure())
			return
		}
		if w := d.ReadWord(g, "group of "+p.Measure(), allowed); !slices.Contains(p.Groups, w) {
			p.Groups = append(p.Groups, w)
		}
	}
}

// splitByTraffic adds a line for each traffic to a plot over a sweep key, if several traffics are shown and neither
// lines, panels nor an axis distinguishes them.
func (d *Decoder) splitByTraffic(p *Plot) {
	if p.Kind != OverSweep || slices.Contains(p.Lines, groupAxis) || p.Panels == groupAxis || p.Y == groupAxis {
		return
	}
	traffics, n := d.traffics, 0
	for _, g := range d.sets[OverSweep][p.Measure()] {
		if slices.Contains(traffics, g) {
			n++
		}
	}
	if len(p.Groups) > 1 || len(p.Groups) == 0 && (n > 1 || n == 1 && len(traffics) > 1) {
		p.Lines = append(p.Lines, groupAxis)
	}
}

// maxRanksShown limits the ranks of a timeline.
const maxRanksShown = 1000

// readTimeline reads an entry of the list with kind timeline. It reports an error for keys that timelines lack, and if
// no measure records timelines.
func (d *Decoder) readTimeline(x document.Map, p *Plot) {
	p.Kind, p.X = OverRanks, timeAxis
	if v := x.Get("x"); v != nil {
		d.ReadWord(v, "timeline axis", []string{timeAxis})
	}
	for _, key := range []string{"y", "z", "lines", "panels", "log", "error", "order", "y_range", "z_range", "y_ticks",
		"z_label"} {
		if v := x.Get(key); v != nil {
			d.Fail(v.Position, "x, traffic, where, ranks, x_range, title, width, …",
				"a timeline has no %q; it has a row for each rank and a panel for each point and job", key)
		}
	}
	if len(d.sets[OverRanks]) == 0 {
		d.Fail(x.Position, "measure: [timeline]", "no measure of the experiment records the activity of ranks of jobs")
		return
	}
	d.readRanks(x, p)
	d.readWhere(x, p)
	d.readStyle(x, p)
	d.plots = append(d.plots, *p)
}

// readRanks reads into p the ranks that are shown: a list, or their number. Without the key it selects the default.
func (d *Decoder) readRanks(x document.Map, p *Plot) {
	v := x.Get("ranks")
	switch {
	case v == nil:
	case v.Kind == document.Scalar:
		p.RankCount = d.ReadInteger(v, 1, maxRanksShown)
	default:
		p.Ranks = []int{}
		for _, y := range document.ItemsOf(v) {
			r, err := strconv.Atoi(d.ReadText(y))
			if err != nil || r < 0 || r >= d.ranks {
				d.Fail(y.Position, "0 to "+strconv.Itoa(d.ranks-1), "rank %q does not exist in any job", y.Text)
				continue
			}
			p.Ranks = append(p.Ranks, r)
		}
		if len(p.Ranks) > maxRanksShown || len(p.Ranks) == 0 {
			d.Fail(v.Position, "1 to "+strconv.Itoa(maxRanksShown)+" ranks", "%d ranks are listed", len(p.Ranks))
		}
	}
}

// readStyle reads the appearance of a plot into p. It uses LogX and LogY of the plot, which must be set, to check
// ranges.
func (d *Decoder) readStyle(x document.Map, p *Plot) {
	for _, a := range []struct {
		key string
		to  *Range
		log bool
	}{{"x_range", &p.XRange, p.LogX}, {"y_range", &p.YRange, p.LogY}, {"z_range", &p.ZRange, false}} {
		if v := x.Get(a.key); v != nil {
			*a.to = readRange(d.Reader, v, a.log)
		}
	}
	for _, a := range []struct {
		key string
		to  *Ticks
	}{{"x_ticks", &p.XTicks}, {"y_ticks", &p.YTicks}} {
		if v := x.Get(a.key); v != nil {
			*a.to = readTicks(d.Reader, v)
		}
	}
	for _, a := range []struct {
		key string
		to  *string
	}{{"x_label", &p.XLabel}, {"y_label", &p.YLabel}, {"z_label", &p.ZLabel}, {"title", &p.Title}} {
		if v := x.Get(a.key); v != nil {
			*a.to = d.ReadText(v)
		}
	}
	if p.Title == "none" {
		p.Title, p.Untitled = "", true
	}
	if v := x.Get("legend"); v != nil {
		p.Legend = d.ReadWord(v, "value of legend", Table.FindKey("legend").Form.Words)
	}
	if v := x.Get("error"); v != nil {
		p.Error = d.ReadWord(v, "value of error", Table.FindKey("error").Form.Words)
	}
	for _, v := range document.ItemsOf(x.Get("order")) {
		p.Order = append(p.Order, d.ReadText(v))
	}
	if v := x.Get("names"); v != nil {
		if v.Kind != document.Mapping {
			d.Fail(v.Position, "{value: text}", "names is not a map")
		} else {
			p.Names = map[string]string{}
		}
		for _, k := range x.GetEntries("names") {
			p.Names[k.Name] = d.ReadText(k.Value)
		}
	}
	const mm = 72 / 25.4
	for _, a := range []struct {
		key       string
		to        *float64
		low, high float64
		allowed   string
	}{{"width", &p.Width, 30 * mm, 1000 * mm, "30mm … 1000mm, such as 89mm or 183mm"},
		{"height", &p.Height, 20 * mm, 1000 * mm, "20mm … 1000mm"}, {"text", &p.Text, 7, 30, "7pt … 30pt"}} {
		if v := x.Get(a.key); v != nil {
			if *a.to = readLength(d.ReadText(v)); v.Kind == document.Scalar && !(*a.to >= a.low-1e-6 && *a.to <= a.high+1e-6) {
				d.Fail(v.Position, a.allowed, "%q is not a length in the range", v.Text)
			}
		}
	}
}

// readLength returns a length in points; NaN if the text is not a length.
func readLength(text string) float64 {
	for _, u := range []struct {
		name  string
		worth float64
	}{{"mm", 72 / 25.4}, {"cm", 720 / 25.4}, {"pt", 1}, {"in", 72}} {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			if err != nil {
				return math.NaN()
			}
			return v * u.worth
		}
	}
	return math.NaN()
}

// readRange reads low..high. log requires ends above 0. After an error the range may be incomplete.
func readRange(d *document.Reader, v *document.Node, log bool) (r Range) {
	const allowed = "low..high such as 0..50Mbps, 10.. or ..1"
	text := d.ReadText(v)
	if v.Kind != document.Scalar {
		return r
	}
	low, high, ok := strings.Cut(text, "..")
	low, high = strings.TrimSpace(low), strings.TrimSpace(high)
	if !ok || low == "" && high == "" {
		d.Fail(v.Position, allowed, "%q is not a range", text)
		return r
	}
	for _, e := range []struct {
		text string
		to   *float64
		has  *bool
	}{{low, &r.Low, &r.HasLow}, {high, &r.High, &r.HasHigh}} {
		if e.text == "" {
			continue
		}
		if *e.to, *e.has = measure.ParseQuantity(e.text); !*e.has {
			d.Fail(v.Position, allowed, "%q is not a quantity", e.text)
			return r
		}
	}
	switch {
	case r.HasLow && r.HasHigh && r.Low >= r.High:
		d.Fail(v.Position, "a low end below the high end", "the range %s is empty", text)
	case log && (r.HasLow && r.Low <= 0 || r.HasHigh && r.High <= 0):
		d.Fail(v.Position, "ends above 0", "a logarithmic axis cannot show the range %s", text)
	}
	return r
}

// readTicks reads the values of ticks, or their number. The number must be from 2 to 50.
func readTicks(d *document.Reader, v *document.Node) (t Ticks) {
	if v.Kind == document.Scalar {
		n, err := strconv.Atoi(v.Text)
		if err != nil || n < 2 || n > 50 {
			d.Fail(v.Position, "a list of values, or 2 … 50", "%q is not a valid number of ticks", v.Text)
		}
		return Ticks{Count: n}
	}
	if v.Kind != document.List || len(v.Items) == 0 {
		d.Fail(v.Position, "[0, 10, 20], or 5", "ticks is neither a list of values nor a number")
		return t
	}
	for _, i := range v.Items {
		value, ok := measure.ParseQuantity(d.ReadText(i))
		if !ok && i.Kind == document.Scalar {
			d.Fail(i.Position, "a quantity such as 10, 5ms or 20%", "%q is not a quantity", i.Text)
		}
		t.Values = append(t.Values, value)
	}
	return t
}

// String returns the range in the form of a file. An end that is not set is empty: "0..".
func (r Range) String() string {
	end := func(v float64, has bool) string {
		if !has {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprintf("%s..%s", end(r.Low, r.HasLow), end(r.High, r.HasHigh))
}

// checkNames reports an error for values in order and names that the plot does not have. It skips the check if --set or
// --quick may have removed values.
func (d *Decoder) checkNames(x document.Map, p *Plot) {
	if d.view.Narrowed {
		return
	}
	values := d.groupsOf(p.Measure(), d.sets[p.Kind])
	for _, g := range d.groupsOf(p.Measure(), d.sets[CDF]) { // for boxes
		if !slices.Contains(values, g) {
			values = append(values, g)
		}
	}
	for _, dim := range d.view.Sweep {
		for _, v := range dim.Values {
			values = append(values, v.Text)
		}
	}
	check := func(place document.Position, what, name string, words []string) {
		for _, part := range strings.Split(name, " ") { // the name of a curve may have several parts
			_, value, _ := strings.Cut(part, "=")
			if !slices.Contains(words, name) && !slices.Contains(words, part) && !slices.Contains(words, value) {
				d.FailUnknown(place, what, name, words)
				return
			}
		}
	}
	for _, v := range document.ItemsOf(x.Get("order")) {
		check(v.Position, "value in order", v.Text, append([]string{"rising", "falling"}, values...))
	}
	keys := append(append([]string{groupAxis}, d.keys...), values...)
	for _, k := range x.GetEntries("names") {
		check(k.Position, "value, traffic or key in names", k.Name, keys)
	}
}

// CheckNames checks plots if the measures of runs are unknown: view.MayBeMeasure reports whether a name may be a
// measure, and names has the possible names for messages. It checks keys, conditions and the names of measures; errors
// go to r.
func CheckNames(r *document.Reader, view *claim.View, t *document.Node, names []string) {
	if t == nil || t.Kind != document.List {
		return
	}
	for _, item := range t.Items {
		x, ok := r.ReadMap(item, Table)
		if !ok {
			continue
		}
		for _, key := range neededAxes(x) {
			if x.Get(key) == nil {
				x.FailMissing(key, "the plot needs the key %s", key)
			}
		}
		if w := x.Get("where"); w != nil {
			var f Plot
			view.ReadWhere(r, &f.Filter, w)
		}
		if y := x.Get("y"); y != nil && y.Kind == document.Scalar && y.Text != cdfAxis && !view.MayBeMeasure(y.Text) {
			view.FailMeasure(r, y.Position, y.Text, names)
		}
	}
}

// neededAxes returns the required axes of a plot.
func neededAxes(x document.Map) []string {
	kind := ""
	if v := x.Get("kind"); v != nil {
		kind = v.Text
	}
	switch kind {
	case KindTimeline:
		return nil
	case KindSeries:
		return []string{"y"}
	case KindCDF, KindCCDF:
		return []string{"x"}
	}
	return []string{"x", "y"}
}
