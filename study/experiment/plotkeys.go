package experiment

import "weir/internal/document"

// plot is a plot.
var plot = &document.Table{What: "plot's key", Doc: "a plot", Keys: []document.Key{
	{Name: "x", Form: document.Value("sweep key, `time`, `flow_size`, or with `y: cdf` a measure"),
		Doc: "the horizontal axis", Without: "`time` with `kind: series`, and else an error", Example: "x: rate"},
	{Name: "y", Form: document.Value("measure, `measure.group`, `cdf` or `ccdf`; of a heat map a sweep key or " +
		"`traffic`"),
		Doc: "the vertical axis", Without: "`cdf` or `ccdf` with that `kind`, and else an error", Example: "y: goodput"},
	{Name: "z", Form: document.Value("measure or `measure.group`"), Doc: "what a heat map's colours show",
		Without: "an error, of a heat map"},
	{Name: "kind", Form: document.OneOf(kinds...), Doc: "how values are drawn",
		Without: "`bars` over words and `lines` over numbers; what `x` and `y` say"},
	{Name: "lines", Form: document.AnyOf("list of sweep keys and `traffic`", document.Value("key"),
		document.ListOf(document.Value("key"), "")), Doc: "what tells curves apart", Without: "what the sweep varies"},
	{Name: "traffic", Form: document.AnyOf("group of the measure, or list of them", document.Value("group"),
		document.ListOf(document.Value("group"), "")), Doc: "the traffics, ports or other groups that are shown",
		Without: "all traffics; of what is not by traffic the first group, which the plot says"},
	{Name: "where", Form: where, Doc: "points that are shown; `traffic` in it is as the key", Without: "all"},
	{Name: "panels", Form: document.Value("sweep key or `traffic`"), Doc: "small multiples: a panel for each value",
		Without: "one panel, or more where it would have over 16 curves"},
	{Name: "ranks", Form: document.AnyOf("list of ranks, from 0, or how many", aNumber, document.ListOf(aNumber, "")),
		Doc:     "of a timeline: these in this order, or so many of them, first those that others wait for, which wait least",
		Without: "all in their order, if there are up to 32, and else 32"},
	{Name: "log", Form: document.OneOf("x", "y", "xy", "none"), Doc: "logarithmic axes",
		Without: "`x` over sizes, and over a sweep in steps of equal factors; `y` of a `ccdf`"},
	{Name: "x_range", Form: aSpan, Doc: "ends of the axis", Without: "by the values"},
	{Name: "y_range", Form: aSpan, Doc: "ends of the axis", Without: "by the values"},
	{Name: "z_range", Form: aSpan, Doc: "ends of a heat map's colours", Without: "by the values"},
	{Name: "x_ticks", Form: someTicks, Doc: "where the axis has ticks", Without: "as many as there is room for"},
	{Name: "y_ticks", Form: someTicks, Doc: "where the axis has ticks", Without: "as many as there is room for"},
	{Name: "x_label", Form: aText, Doc: "of the axis, with its unit", Without: "the key and the unit"},
	{Name: "y_label", Form: aText, Doc: "of the axis, with its unit", Without: "the measure and the unit"},
	{Name: "z_label", Form: aText, Doc: "of a heat map's colours", Without: "the measure and the unit"},
	{Name: "title", Form: aText, Doc: "above it; `none` for no title and no note",
		Without: "what it shows, and of how many runs"},
	{Name: "legend", Form: document.OneOf(legends...),
		Doc: "where it stands; `best` is a corner without values", Without: "`below`"},
	{Name: "order", Form: document.AnyOf("list of values, `rising` or `falling`", document.Value("value"),
		document.ListOf(document.Value("value"), "")), Doc: "of curves, panels and words on an axis: these first; or by " +
		"the height of the first curve", Without: "that of the sweep"},
	{Name: "names", Form: document.MapBy(document.Value("text"), "`{value: text}`"),
		Doc: "what values, traffics and keys are called", Without: "as in the file"},
	{Name: "error", Form: document.OneOf("bars", "band", "none"), Doc: "how 95 % intervals over the seeds are shown; " +
		"of a series `band` has the mean of all seeds", Without: "`bars`, and of a series `none`"},
	{Name: "width", Form: document.Value("`89mm`, `183mm`, or another length from 30 mm to 1 m"), Doc: "of the figure",
		Without: "that of a report's"},
	{Name: "height", Form: document.Value("length"), Doc: "of the figure", Without: "by what is in it"},
	{Name: "text", Form: document.Value("`7pt` … `30pt`"), Doc: "size of labels; ticks have 0.92 of it, 7 pt at least",
		Without: "8 pt with a `width`"},
}}

var (
	aSpan     = document.Value("`low..high`, of which one may be missing")
	someTicks = document.AnyOf("list of values, or about how many", aNumber, document.ListOf(document.Value("value"), ""))
)

// kinds of plots.
var kinds = []string{KindLines, KindPoints, KindBars, KindBox, KindCDF, KindCCDF, KindHeat, KindSeries, KindTimeline}

// legends are the places of a legend.
var legends = []string{"below", "above", "right", "best", "top_left", "top_right", "bottom_left", "bottom_right",
	"none"}
