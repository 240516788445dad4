package measure

import (
	"path"
	"strconv"
	"strings"
	"weir/core/unit"
	"weir/internal/document"
)

// Options are those of an entry of the measure list, to be read. What is wrong goes to the
// reader.
type Options struct {
	*document.Reader
	At    document.Place // of the entry
	Node  *document.Node // a map
	Kind  *Kind
	Point *Point
}

// Choose reads one of words; standard is what it is without the key.
func (o *Options) Choose(key, standard, what string, words ...string) string {
	return o.Word(o.Default(o.Node, key, standard, "ours"), what, words)
}

// traffics is a measure that gives one number a traffic.
type traffics struct{ Plain }

// Decode reads by, of which there is one value.
func (*traffics) Decode(o *Options) { o.Choose("by", "traffic", "grouping", "traffic") }

// needsWindow reports that no traffic has a window.
func (o *Options) needsWindow() (ok bool) {
	if ok = len(o.Point.windowed()) > 0; !ok && !o.Point.Partial {
		o.Fail(o.At, "a traffic over a transport with a window",
			"no traffic of the experiment has a window or a rate, as %s needs", o.Kind.Name)
	}
	return ok
}

// Switches are the nodes that are switches whose names a pattern matches.
func (o *Options) Switches(t *document.Node) (nodes []int) {
	pattern := o.Text(t)
	var names []string
	for i, n := range o.Point.Network.Nodes {
		if !n.Switch {
			continue
		}
		names = append(names, n.Name)
		if ok, err := path.Match(pattern, n.Name); err == nil && ok {
			nodes = append(nodes, i)
		}
	}
	if len(nodes) == 0 {
		o.Unknown(t.Place, "switch", pattern, append(names[:min(len(names), 10):min(len(names), 10)], "*"))
	}
	return nodes
}

// Hold reads how many samples one after another have to be good. So many must be there
// within a span of time.
func (o *Options) Hold(standard string, every, span unit.Time) int {
	t := o.Default(o.Node, "hold", standard, "ours")
	n := o.Integer(t, 1, 1000000)
	if o.OK() && every > 0 && unit.Time(n) > span/every {
		o.Fail(t.Place, "a shorter every, or a smaller hold", "there are no %d samples, one every %v, within %v", n, every,
			span)
	}
	return n
}

// Time reads a time of the measured part, the end included or not.
func (o *Options) Time(t *document.Node, included bool) unit.Time {
	at, ok := document.ReadOK(o.Reader, t, unit.ParseTime)
	end, allowed := o.Point.End(), "before "
	if included {
		allowed = "up to "
	}
	if ok && (at < o.Point.Warmup || at > end || at == end && !included) {
		o.Fail(t.Place, "from "+o.Point.Warmup.String()+" on, "+allowed+end.String(), "%q is not within the measured part",
			t.Text)
	}
	return at
}

// Every reads the time between samples; standard is what it is without the key, "" for none:
// 0 then.
func (o *Options) Every(standard string) (every unit.Time) {
	t := o.Node.Get("every")
	if t == nil && standard == "" {
		return 0
	}
	length := o.Point.Duration
	t = o.Default(o.Node, "every", standard, "ours")
	switch every = o.Positive(t); {
	case length/every > mostSamples:
		o.Fail(t.Place, "at least "+(length/mostSamples+1).String(), "that many samples would not fit into memory")
	case every > length:
		o.Fail(t.Place, "up to "+length.String(), "every %s is longer than the measured part", t.Text)
	}
	return every
}

// Percentiles reads those of a measure; standard are what it has without the key.
func (o *Options) Percentiles(standard, source string) (out []float64) {
	t := o.Node.Get("percentiles")
	if t == nil {
		if standard == "" {
			return nil
		}
		kept := &document.Node{Place: o.Node.Place, Kind: document.List, From: "default: " + source}
		for _, v := range strings.Fields(standard) {
			kept.Items = append(kept.Items, &document.Node{Place: o.Node.Place, Text: v})
		}
		if o.Node.Orig != nil {
			o.Node.Orig.Set("percentiles", kept)
		}
		t = document.Copy(kept)
		o.Node.Set("percentiles", t)
	}
	if t.Kind != document.List {
		o.Fail(t.Place, "[50, 95, 99]", "percentiles are a list")
		return nil
	}
	for _, x := range t.Items {
		v, err := strconv.ParseFloat(o.Text(x), 64)
		if err != nil || !(v > 0 && v < 100) {
			o.Fail(x.Place, "numbers above 0 and below 100", "%q is not a percentile", x.Text)
			continue
		}
		for _, other := range out {
			if other == v {
				o.Fail(x.Place, "", "the percentile %s is here already", x.Text)
			}
		}
		out = append(out, v)
	}
	return out
}

// mostSamples bounds what a run keeps of one quantity, mostWatched of all.
const (
	mostSamples = 1 << 22
	mostWatched = 1 << 26
)

// Port finds a port by its name; the index is that of sim.Result.Ports: two a link, in the
// order of links.
func (o *Options) Port(t *document.Node, ofSwitch bool) int {
	var names []string
	for l := range o.Point.Network.Links {
		for e := range 2 {
			if ofSwitch && !o.Point.Network.Nodes[o.Point.Network.Links[l].Ends[e]].Switch {
				continue
			}
			name := o.Point.Network.PortName(l, e)
			if name == t.Text {
				return 2*l + e
			}
			names = append(names, name)
		}
	}
	if len(names) > 20 {
		names = append(names[:20], "…")
	}
	o.Unknown(t.Place, "port", o.Text(t), names)
	return 0
}
