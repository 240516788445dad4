package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/document"
	"weir/study/measure"
)

// readLook reads how a plot is to look.
func (s *Spec) readLook(d *decoder, x document.Map, p *Plot) {
	for _, a := range []struct {
		key string
		to  *Range
		log bool
	}{{"x_range", &p.XRange, p.LogX}, {"y_range", &p.YRange, p.LogY}, {"z_range", &p.ZRange, false}} {
		if v := x.Get(a.key); v != nil {
			*a.to = readRange(d.reader, v, a.log)
		}
	}
	for _, a := range []struct {
		key string
		to  *Ticks
	}{{"x_ticks", &p.XTicks}, {"y_ticks", &p.YTicks}} {
		if v := x.Get(a.key); v != nil {
			*a.to = readTicks(d.reader, v)
		}
	}
	for _, a := range []struct {
		key string
		to  *string
	}{{"x_label", &p.XLabel}, {"y_label", &p.YLabel}, {"z_label", &p.ZLabel}, {"title", &p.Title}} {
		if v := x.Get(a.key); v != nil {
			*a.to = d.Text(v)
		}
	}
	if p.Title == "none" {
		p.Title, p.Untitled = "", true
	}
	if v := x.Get("legend"); v != nil {
		p.Legend = d.Word(v, "place of the legend", plot.Key("legend").Form.Words)
	}
	if v := x.Get("error"); v != nil {
		p.Error = d.Word(v, "way to show intervals", plot.Key("error").Form.Words)
	}
	for _, v := range items(x.Get("order")) {
		p.Order = append(p.Order, d.Text(v))
	}
	if v := x.Get("names"); v != nil {
		if v.Kind != document.Mapping {
			d.Fail(v.Place, "{value: text}", "names is a map")
		} else {
			p.Names = map[string]string{}
		}
		for _, k := range x.Entries("names") {
			p.Names[k.Name] = d.Text(k.Value)
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
			if *a.to = readLength(d.Text(v)); v.Kind == document.Scalar && !(*a.to >= a.low-1e-6 && *a.to <= a.high+1e-6) {
				d.Fail(v.Place, a.allowed, "%q is not such a length", v.Text)
			}
		}
	}
}

// readLength is a length in points; NaN if it is none.
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

// readRange reads low..high.
func readRange(d *reader, v *document.Node, log bool) (r Range) {
	const allowed = "low..high such as 0..50Mbps, 10.., or ..1"
	text := d.Text(v)
	if v.Kind != document.Scalar {
		return r
	}
	low, high, ok := strings.Cut(text, "..")
	low, high = strings.TrimSpace(low), strings.TrimSpace(high)
	if !ok || low == "" && high == "" {
		d.Fail(v.Place, allowed, "%q is no range", text)
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
			d.Fail(v.Place, allowed, "%q is not a quantity", e.text)
			return r
		}
	}
	switch {
	case r.HasLow && r.HasHigh && r.Low >= r.High:
		d.Fail(v.Place, "low below high", "the range %s is empty", text)
	case log && (r.HasLow && r.Low <= 0 || r.HasHigh && r.High <= 0):
		d.Fail(v.Place, "values above 0", "a logarithmic axis has no %s", text)
	}
	return r
}

// readTicks reads values, or how many.
func readTicks(d *reader, v *document.Node) (t Ticks) {
	if v.Kind == document.Scalar {
		n, err := strconv.Atoi(v.Text)
		if err != nil || n < 2 || n > 50 {
			d.Fail(v.Place, "a list of values, or 2 … 50", "%q is not a number of ticks", v.Text)
		}
		return Ticks{Count: n}
	}
	if v.Kind != document.List || len(v.Items) == 0 {
		d.Fail(v.Place, "[0, 10, 20], or 5", "ticks are a list of values, or a number of them")
		return t
	}
	for _, i := range v.Items {
		at, ok := measure.ParseQuantity(d.Text(i))
		if !ok && i.Kind == document.Scalar {
			d.Fail(i.Place, "a quantity such as 10, 5ms or 20%", "%q is not a quantity", i.Text)
		}
		t.At = append(t.At, at)
	}
	return t
}

// String is the range as a file has it.
func (r Range) String() string {
	end := func(v float64, has bool) string {
		if !has {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprintf("%s..%s", end(r.Low, r.HasLow), end(r.High, r.HasHigh))
}

// checkNames refuses an order, and names, of what no curve, panel or word of the plot has. --set and --quick may have
// taken values away: then they are not looked at.
func (s *Spec) checkNames(d *decoder, x document.Map, p *Plot, sets *[5]shownGroups) {
	if s.view.Narrowed {
		return
	}
	values := s.groupsOf(p.Measured(), sets[p.Kind])
	for _, g := range s.groupsOf(p.Measured(), sets[CDF]) { // of a box
		if !slices.Contains(values, g) {
			values = append(values, g)
		}
	}
	for _, dim := range s.view.Sweep {
		for _, v := range dim.Values {
			values = append(values, v.Text)
		}
	}
	check := func(at document.Place, what, name string, words []string) {
		for _, part := range strings.Split(name, " ") { // a curve's whole name has several
			_, value, _ := strings.Cut(part, "=")
			if !slices.Contains(words, name) && !slices.Contains(words, part) && !slices.Contains(words, value) {
				d.Unknown(at, what, name, words)
				return
			}
		}
	}
	for _, v := range items(x.Get("order")) {
		check(v.Place, "value in order", v.Text, append([]string{"rising", "falling"}, values...))
	}
	keys := append(append([]string{byGroup}, sweepKeys(s.root)...), values...)
	for _, k := range x.Entries("names") {
		check(k.Place, "value, traffic or key in names", k.Name, keys)
	}
}
