package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/atomicfile"
	"weir/internal/command"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/experiment/plots"
	"weir/study/figure"
	"weir/study/report"
	"weir/study/results"
)

// plotFlags are the keys of a plot as flags. A test compares them with the keys of files.
type plotFlags struct {
	X       string `placeholder:"KEY" help:"Horizontal axis: a sweep key, time, flow_size, or a measure."`
	Y       string `placeholder:"MEASURE" help:"${plotY}"`
	Z       string `placeholder:"MEASURE" help:"Colours of a heat map: a measure."`
	Kind    string `placeholder:"KIND" help:"Kind: lines, points, bars, box, cdf, ccdf, heat, series or timeline."`
	Lines   string `placeholder:"[KEY, …]" help:"Keys with a separate curve for each value."`
	Traffic string `placeholder:"[GROUP, …]" help:"Traffic, ports or other groups to draw. Default: all."`
	Where   string `placeholder:"POINTS" help:"Points to draw: {scheme: abc}, or an expression."`
	Ranks   string `placeholder:"N" help:"${plotRanks}"`
	Panels  string `placeholder:"KEY" help:"Key with a separate panel for each value."`
	Log     string `placeholder:"AXES" help:"Logarithmic axes: x, y, xy or none."`
	XRange  string `placeholder:"LOW..HIGH" help:"Limits of the horizontal axis; one may be missing."`
	YRange  string `placeholder:"LOW..HIGH" help:"Limits of the vertical axis; one may be missing."`
	ZRange  string `placeholder:"LOW..HIGH" help:"Limits of a heat map's colour scale; one may be missing."`
	XTicks  string `placeholder:"[VALUE, …]" help:"Ticks of the horizontal axis: their values, or their number."`
	YTicks  string `placeholder:"[VALUE, …]" help:"Ticks of the vertical axis: their values, or their number."`
	XLabel  string `placeholder:"TEXT" help:"Label of the horizontal axis."`
	YLabel  string `placeholder:"TEXT" help:"Label of the vertical axis."`
	ZLabel  string `placeholder:"TEXT" help:"Label of a heat map's colour scale."`
	Title   string `placeholder:"TEXT" help:"Title above the figure; none: neither title nor note."`
	Legend  string `placeholder:"PLACE" help:"${plotLegend}"`
	Order   string `placeholder:"[VALUE, …]" help:"Order of values: those that come first, or rising or falling."`
	Names   string `placeholder:"{VALUE: TEXT}" help:"Names to show instead of values and keys."`
	Error   string `placeholder:"HOW" help:"Confidence intervals: bars, band or none."`
	Width   string `placeholder:"LENGTH" help:"Width of the figure, such as 89mm or 183mm. Default: for a screen."`
	Height  string `placeholder:"LENGTH" help:"Height of the figure, such as 60mm."`
	Text    string `placeholder:"SIZE" help:"Size of labels, 7pt or more."`
}

type plotCmd struct {
	folders
	Dir    string `arg:"" name:"dir" help:"Results folder, its report, or the name of an experiment that was run."`
	Number int    `short:"n" placeholder:"N" help:"${plotNumber}"`
	plotFlags
	To     string `placeholder:"FILE" help:"File to write; its extension sets the format."`
	Format string `placeholder:"FORMAT" help:"Format without --to: svg, pdf or png. Default: svg."`
	Data   bool   `help:"Also write the numbers as CSV, and scripts for gnuplot and matplotlib."`
}

// listGiven returns the keys that flags set, in the order of a file's keys, with their values as YAML.
func (f *plotFlags) listGiven() (keys []plots.Key) {
	values := f.listValues()
	for _, k := range plots.Keys() {
		v, ok := values[k.Name]
		if !ok || *v == "" {
			continue
		}
		text := *v
		if plainText(k.Name) { // words of a label are not YAML
			text = document.Quote(text, true)
		}
		if listed := slices.Contains([]string{"lines", "traffic", "order", "ranks", "x_ticks", "y_ticks"}, k.Name); listed &&
			strings.Contains(text, ",") && !strings.HasPrefix(text, "[") { // --lines scheme,traffic
			text = "[" + text + "]"
		}
		keys = append(keys, plots.Key{Name: k.Name, Text: text, Place: "--" + strings.ReplaceAll(k.Name, "_", "-")})
	}
	return keys
}

// plainText reports whether the value of a plot's key is text rather than YAML.
func plainText(key string) bool { return key == "title" || strings.HasSuffix(key, "_label") }

// listValues returns the flags by the names of their keys.
func (f *plotFlags) listValues() map[string]*string {
	return map[string]*string{"x": &f.X, "y": &f.Y, "z": &f.Z, "kind": &f.Kind, "lines": &f.Lines, "traffic": &f.Traffic,
		"where": &f.Where, "ranks": &f.Ranks, "panels": &f.Panels, "log": &f.Log, "x_range": &f.XRange, "y_range": &f.YRange,
		"z_range": &f.ZRange, "x_ticks": &f.XTicks, "y_ticks": &f.YTicks, "x_label": &f.XLabel, "y_label": &f.YLabel,
		"z_label": &f.ZLabel, "title": &f.Title, "legend": &f.Legend, "order": &f.Order, "names": &f.Names,
		"error": &f.Error, "width": &f.Width, "height": &f.Height, "text": &f.Text}
}

// Run draws the plots into files, by default in the current folder and named by their titles. Plots without a defined
// value are left out with a warning; it is an error if all are.
func (p *plotCmd) Run(a *app) error {
	format, err := p.chooseFormat()
	if err != nil {
		return err
	}
	o, err := p.openResults(a, p.Dir)
	if err != nil {
		return err
	}
	plots, err := p.listPlots(o.Spec)
	if err != nil {
		return err
	}
	if p.To != "" && len(plots) > 1 {
		return fmt.Errorf("%w: --to names one file, but the experiment has %d plots; choose one with --number",
			command.ErrInput,
			len(plots))
	}
	empty := 0
	for i, x := range plots {
		f, err := report.PlotFigure(o, x)
		if err != nil {
			return fmt.Errorf("%w: %w", command.ErrInput, err)
		}
		if f == nil {
			empty++
			a.warn(undefinedPlot(report.PlotTitle(x), false)...)
			continue
		}
		to := p.To
		if to == "" {
			to = report.SafeFileName(report.PlotTitle(x)) + "." + format
			if n := p.Number; len(plots) > 1 || n > 0 {
				to = fmt.Sprintf("%d-%s", max(n, i+1), to)
			}
		}
		if err := p.writePlot(a, f, to, format); err != nil {
			return err
		}
	}
	if empty == len(plots) {
		return fmt.Errorf("%w: no plot has a defined value to draw; choose other measures or points", command.ErrInput)
	}
	return nil
}

// chooseFormat returns the format of the file, from --format or the ending of --to; svg without both. It returns an
// error for an unknown format, or if both differ.
func (p *plotCmd) chooseFormat() (string, error) {
	format, from := p.Format, "--format"
	if p.To != "" {
		ending := strings.TrimPrefix(filepath.Ext(p.To), ".")
		if format != "" && format != ending {
			return "", fmt.Errorf("%w: --format is %s, but the file of --to ends in .%s; leave out --format, or change the "+
				"extension", command.ErrInput, format, ending)
		}
		format, from = ending, "--to"
	} else if format == "" {
		format = "svg"
	}
	if !slices.Contains(figure.Formats(), format) {
		return "", fmt.Errorf("%w: the format of %s is %q; allowed: %s", command.ErrInput, from, format,
			document.JoinChoices(figure.Formats()))
	}
	return format, nil
}

// listPlots returns the requested plots: one or all of the experiment's plots, changed by the given keys, or a new one
// if --x, --y or --z is given without --number.
func (p *plotCmd) listPlots(s *experiment.Spec) (out []plots.Plot, err error) {
	given := p.listGiven()
	own := len(s.Plots())
	if p.X != "" || p.Y != "" || p.Z != "" {
		if p.Number == 0 {
			x, err := s.ParsePlot(given)
			return []plots.Plot{x}, err
		}
	} else if own == 0 {
		return nil, fmt.Errorf("%w: the experiment defines no plots; define one with --x and --y", command.ErrInput)
	}
	if p.Number < 0 || p.Number > own {
		return nil, fmt.Errorf("%w: --number is %d; the experiment has plots 1 … %d", command.ErrInput, p.Number, own)
	}
	for i := range own {
		if p.Number > 0 && i != p.Number-1 {
			continue
		}
		keys := s.PlotKeysOf(i)
		for _, k := range given {
			if at := slices.IndexFunc(keys, func(x plots.Key) bool { return x.Name == k.Name }); at >= 0 {
				keys[at] = k
			} else {
				keys = append(keys, k)
			}
		}
		x, err := s.ParsePlot(keys)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// writePlot writes the figure to the file to and, with --data, its numbers and scripts next to it. It creates the
// folder, and prints the names of the files.
func (p *plotCmd) writePlot(a *app, f *figure.Figure, to, format string) error {
	drawn, err := f.Render(format)
	if err != nil {
		return fmt.Errorf("%w: %w", command.ErrInput, err)
	}
	files := []struct {
		name string
		make func() ([]byte, error)
	}{{to, func() ([]byte, error) { return drawn, nil }}}
	if base := strings.TrimSuffix(to, filepath.Ext(to)); p.Data {
		data := filepath.Base(base) + ".csv"
		files = append(files, []struct {
			name string
			make func() ([]byte, error)
		}{{base + ".csv", f.CSV},
			{base + ".gp", func() ([]byte, error) { return f.GnuplotScript(data, filepath.Base(base)+"-gnuplot.svg") }},
			{base + ".py", func() ([]byte, error) { return f.MatplotlibScript(data) }}}...)
	}
	if err := atomicfile.MkdirAll(filepath.Dir(to)); err != nil {
		return fmt.Errorf("%s: the folder cannot be created: %w", filepath.Dir(to), document.UnwrapPathError(err))
	}
	for _, x := range files {
		data, err := x.make()
		if err != nil {
			return err
		}
		if info, err := os.Stat(x.name); err == nil && info.IsDir() {
			return fmt.Errorf("%w: %s is a folder; name a file", command.ErrInput, x.name)
		}
		if err := results.WriteFile(x.name, data); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout, x.name)
	}
	return nil
}
