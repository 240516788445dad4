package experiment

import (
	"maps"
	"slices"
	"strings"

	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/switchfile"
	"weir/study/measure"
)

// Errors of a file come together. Where something is wrong that others depend on, this file reads what is left as far
// as it can be read without that, and says nothing that might only follow from it.

// sketch reads what can be read of a point without its network.
func (d *decoder) sketch(root document.Map, p *Point) {
	if t := root.Get("switch"); t != nil {
		switchfile.Programs(d.Reader, d.registry.Programs, t, d.switches.placement)
	}
	for _, k := range root.Entries("switches") {
		x, ok := d.Map(k.Value, perSwitch)
		if !ok {
			continue
		}
		if t := x.Get("programs"); t != nil {
			switchfile.Programs(d.Reader, d.registry.Programs, t, d.switches.placement)
		}
		if t := x.Get("buffer"); t != nil {
			switchfile.Buffer(d.Reader, t)
		}
	}
	if t := root.Get("network"); t != nil {
		p.seen.NoPackets = t.Kind != document.Scalar || t.Text != Packets // jobs on an ideal network have no transport
	}
	if t := root.Get("traffic"); t != nil && t.Kind == document.List {
		seen := map[string]bool{}
		for _, x := range t.Items {
			if x.Kind != document.Mapping {
				d.Fail(x.Place, "{name: …, from: …, to: …, transport: …}", "a traffic is a map")
				continue
			}
			d.sketchTraffic(d.View(x, traffic, d.traffic.entryKeys()...), p, seen)
		}
	}
	d.sketchMeasures(root.Get("measure"))
	if t := root.Get("events"); t != nil && t.Kind == document.List {
		for _, x := range t.Items {
			d.Map(x, event)
		}
	}
}

// sketchTraffic reads what of a traffic does not depend on hosts.
func (d *decoder) sketchTraffic(x document.Map, p *Point, seen map[string]bool) {
	tr := Traffic{seen: measure.Traffic{Version: 4}, stop: unit.Never, at: x.Place, ccAt: x.Place}
	if !d.traffic.readName(x, &tr, seen) || !d.traffic.readTransport(x, &tr, p) {
		return
	}
	d.traffic.readController(x, &tr, p)
	if v := x.Get("stop"); v != nil {
		tr.stop = d.Positive(v)
	}
	if x.Get("file") == nil && x.Get("collective") == nil && x.Get("job") == nil {
		d.traffic.readStart(x, &tr, p)
		for _, key := range []string{"from", "to"} {
			if x.Get("pairs") == nil && x.Get(key) == nil {
				x.Missing(key, "the traffic has no %q", key)
			}
		}
	}
	if v := x.Get("size"); v != nil {
		if size, ok := document.ReadOK(d.Reader, v, unit.ParseBytes); ok && size < 1 {
			d.Fail(v.Place, "at least 1 B", "%q is not a size", v.Text)
		}
	}
}

// sketchMeasures reads which measures there are, and their keys.
func (d *decoder) sketchMeasures(t *document.Node) {
	if t == nil {
		return
	}
	if t.Kind != document.List {
		d.Fail(t.Place, "[goodput, {queue: {port: s1->server}}]", "measure is a list")
		return
	}
	for _, x := range t.Items {
		name, options := d.Named(x, "measure")
		if options == nil {
			continue
		}
		i := slices.IndexFunc(d.registry.Measures, func(k measure.Kind) bool { return k.Name == name })
		switch {
		case i < 0:
			d.Unknown(x.Place, "measure", name, measure.Names(d.registry.Measures))
		case len(d.registry.Measures[i].Keys) == 0 && len(options.Keys) > 0:
			d.Fail(options.Keys[0].Place, name+" alone", "%s has no options", name)
		default:
			d.Map(options, d.registry.Measures[i].Table())
		}
	}
}

// withoutPoints reads on where the sweep is wrong, or a key is missing without which there is no point. With sweep its
// values are known, so that $key can be followed.
func (s *Spec) withoutPoints(d *decoder, sweep bool) {
	tree := document.Copy(d.tree)
	root, _ := d.Map(tree, top)
	switch combinations, ok := 0, false; {
	case !sweep:
		d.sketchMeasures(root.Get("measure"))
	default:
		if combinations, ok = s.combinations(d.Reader, d.tree, &s.headSection); ok && combinations > 0 {
			if root.Get("duration") == nil {
				d.tree.Set("duration", &document.Node{Place: tree.Place, Text: "2400h", From: "nothing"})
			}
			d.incomplete = root.Get("topology") == nil || root.Get("traffic") == nil || root.Get("duration") == nil
			s.points = append(s.points, s.decodePoint(d, s.first(combinations), map[string]bool{}))
		}
	}
	if sweep {
		s.blindly(d)
	}
}

// otherBlocks decodes, after a wrong point, those that differ from it in one block of the sweep: what is wrong in that
// is another error.
func (s *Spec) otherBlocks(d *decoder, wrong int, used map[string]bool) {
	d.Again()
	step := 1
	for k := len(s.sweep) - 1; k >= 0; k-- {
		n := len(s.sweep[k].Values)
		own := wrong / step % n
		for v := range n {
			other := wrong + (v-own)*step
			if v != own && s.given[k].blocks[v] != nil && s.leaves(other) < 0 {
				s.decodePoint(d, other, used)
			}
		}
		step *= n
	}
}

// blindly checks plots and claims where it is not known what runs have.
func (s *Spec) blindly(d *decoder) {
	root := top.Of(s.root)
	s.see()
	if len(s.view.Points) == 0 {
		return
	}
	known := s.mayBeMeasured(root)
	s.view.Blind = func(name string) bool {
		return known == nil || slices.ContainsFunc(known, func(k string) bool {
			return name == k || strings.HasPrefix(name, k+"_")
		})
	}
	if t := root.Get("expect"); t != nil {
		s.view.Decode(d.Reader, t)
	}
	t := root.Get("plot")
	if t == nil || t.Kind != document.List {
		return
	}
	for _, item := range t.Items {
		x, ok := d.Map(item, plot)
		if !ok {
			continue
		}
		for _, key := range neededAxes(x) {
			if x.Get(key) == nil {
				x.Missing(key, "the plot has no %s", key)
			}
		}
		if w := x.Get("where"); w != nil {
			var f Plot
			s.view.Where(d.Reader, &f.Filter, w)
		}
		if y := x.Get("y"); y != nil && y.Kind == document.Scalar && y.Text != cdfAxis && !s.view.Blind(y.Text) {
			d.Unknown(y.Place, "measure", y.Text, known)
		}
	}
}

// mayBeMeasured are beginnings of the names that runs can have, before an underscore: those of the measures, as the
// file has them, wrong or right, and what these record under other names; nil: any.
func (s *Spec) mayBeMeasured(root document.Map) (names []string) {
	t := root.Get("measure")
	if t == nil {
		return nil
	}
	for _, x := range t.Items {
		switch {
		case x.Kind == document.Scalar:
			names = append(names, x.Text)
		case x.Kind == document.Mapping && len(x.Keys) == 1:
			names = append(names, x.Keys[0].Name)
		default:
			return nil
		}
	}
	if root.Get("ratio") != nil {
		return nil
	}
	kinds := measure.Names(s.registry.Measures)
	for _, name := range names {
		if near := document.Nearest(name, kinds); near != "" && !slices.Contains(kinds, name) { // what is probably meant
			names = append(names, near)
		}
	}
	for _, k := range s.registry.Measures {
		if slices.Contains(names, k.Name) {
			names = append(names, slices.Sorted(maps.Keys(k.Also))...)
		}
	}
	return names
}

// neededAxes are the axes that a plot cannot be without.
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
