package measure

import (
	"strconv"

	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/document"
)

// Options has the options of one entry of the measure list, which its kind reads. Errors go to the reader.
type Options struct {
	*document.Reader
	At    document.Position // of the entry
	Node  document.Map      // by the kind's keys
	Kind  *Definition
	Point *Point
}

// ReadChoice reads a key with one of several words, and returns the word, or the default. The kind must have the key.
// It reports an error for other words and returns them. what names the kind of word in errors.
func (o *Options) ReadChoice(key, what string) string {
	return o.ReadWord(o.Node.GetDefault(key), what, o.Kind.Table().FindKey(key).Form.Words)
}

// traffics is embedded by measures that give one number for each traffic.
type traffics struct{ Plain }

// ReadOptions reads `by`, which has only one value.
func (*traffics) ReadOptions(o *Options) { o.ReadChoice("by", "grouping") }

// requireWindow reports an error if no traffic has a window or a rate, and returns false. After errors in the traffic
// it reports no other one.
func (o *Options) requireWindow() (ok bool) {
	if ok = len(o.Point.windowedTraffics()) > 0; !ok && !o.Point.Partial {
		o.Fail(o.At, "a traffic over a transport with a window",
			"%s needs a sender with a window or a rate, but no traffic of the experiment has one", o.Kind.Name)
	}
	return ok
}

// ReadSwitches returns the nodes of the switches that a pattern matches, ascending. It reports an error if no switch
// matches, or for a wrong range (CheckPattern).
func (o *Options) ReadSwitches(t *document.Node) (nodes []int) {
	pattern := o.ReadText(t)
	p := topology.NewPattern(pattern)
	var names []string
	for i, n := range o.Point.Network.Nodes {
		if !n.Switch {
			continue
		}
		names = append(names, n.Name)
		if p.Match(n.Name) {
			nodes = append(nodes, i)
		}
	}
	var matching []string
	for _, i := range nodes {
		matching = append(matching, o.Point.Network.Nodes[i].Name)
	}
	if !CheckPattern(o.Reader, t.Position, pattern, matching) {
		return nodes
	}
	if len(nodes) == 0 {
		o.FailUnknown(t.Position, "switch", pattern, append(names[:min(len(names), 10):min(len(names), 10)], "*"))
	}
	return nodes
}

// CheckPattern reports an error at place and returns false if a range of a pattern is backwards, or if it includes
// numbers that no matching name has. Then fewer things would match than the file lists. Without matching names only the
// first is checked.
func CheckPattern(r *document.Reader, place document.Position, pattern string, matching []string) (ok bool) {
	if is, meant := topology.FindBackwardRange(pattern); is != "" {
		r.Fail(place, meant, "the range %s of %q is reversed", is, pattern)
		return false
	}
	if len(matching) == 0 {
		return true
	}
	if absent, there := topology.FindAbsent(pattern, matching); absent != "" {
		r.Fail(place, there+", or *", "%q includes names that do not exist: %s", pattern, absent)
		return false
	}
	return true
}

// ReadHold reads `hold`, the number of consecutive samples that have to be good, and checks that a part of the run of
// length span has that many samples.
func (o *Options) ReadHold(every, span unit.Time) int {
	t := o.Node.GetDefault("hold")
	n := o.ReadInteger(t, 1, 1000000)
	if o.OK() && every > 0 && unit.Time(n) > span/every {
		o.Fail(t.Position, "a shorter every or a smaller hold",
			"hold needs %d samples, one every %v, which do not fit into %v", n, every,
			span)
	}
	return n
}

// ReadTime reads a time in the measured part. included allows the part's end itself. Times count from the beginning of
// the warm-up.
func (o *Options) ReadTime(t *document.Node, included bool) unit.Time {
	at, ok := document.ReadValid(o.Reader, t, unit.ParseTime)
	end, allowed := o.Point.End(), "before "
	if included {
		allowed = "up to "
	}
	if ok && (at < o.Point.Warmup || at > end || at == end && !included) {
		o.Fail(t.Position, "from "+o.Point.Warmup.String()+" on, "+allowed+end.String(),
			"%q is outside the measured part of the run",
			t.Text)
	}
	return at
}

// ReadEvery reads `every`, the time between samples; 0 if the key is missing and has no default.
func (o *Options) ReadEvery() (every unit.Time) { return o.ReadEveryWithin(o.Point.Duration) }

// ReadEveryWithin reads `every` for a part of the run that has the given length, like ReadEvery. It reports an error if
// the time is longer than this part, or gives too many samples.
func (o *Options) ReadEveryWithin(length unit.Time) (every unit.Time) {
	t := o.Node.Get("every")
	given := t != nil
	if t == nil && o.Kind.Table().FindKey("every").Default == "" {
		return 0
	}
	t = o.Node.GetDefault("every")
	switch every = o.ReadPositiveTime(t); {
	case length/every > maxSamples:
		o.Fail(t.Position, "at least "+(length/maxSamples+1).String(), "every %s gives more samples than fit into memory",
			t.Text)
	case every > length && !given:
		o.Fail(o.At, "every: "+max(length/100, 1).String()+" or another time up to "+length.String(),
			"without every, %s is measured every %s, but the measured part of the run is only %v long", o.Kind.Name, t.Text,
			length)
	case every > length:
		o.Fail(t.Position, "up to "+length.String(), "every %s is longer than the measured part of the run", t.Text)
	}
	return every
}

// ReadPercentiles reads `percentiles`: numbers above 0 and below 100. It returns nil without the key and a default, and
// reports an error for other values and repetitions.
func (o *Options) ReadPercentiles() (out []float64) {
	t := o.Node.Get("percentiles")
	if t == nil && o.Kind.Table().FindKey("percentiles").Default == "" {
		return nil
	}
	t = o.Node.GetDefault("percentiles")
	if t.Kind != document.List {
		o.Fail(t.Position, "[50, 95, 99]", "percentiles is not a list")
		return nil
	}
	for _, x := range t.Items {
		v, err := strconv.ParseFloat(o.ReadText(x), 64)
		if err != nil || !(v > 0 && v < 100) {
			o.Fail(x.Position, "a number above 0 and below 100", "%q is not a valid percentile", x.Text)
			continue
		}
		for _, other := range out {
			if other == v {
				o.Fail(x.Position, "each percentile once", "the percentile %s is given twice", x.Text)
			}
		}
		out = append(out, v)
	}
	return out
}

// maxSamples limits the samples that a run keeps of one quantity, maxWatched the samples of all quantities.
const (
	maxSamples = 1 << 22
	maxWatched = 1 << 26
)

// ReadPort returns the port that t names, as its index in outcome.Result.Ports, which has two ports for each link, in
// the order of links. ofSwitch excludes ports of hosts. For an unknown name it reports an error and returns 0.
func (o *Options) ReadPort(t *document.Node, ofSwitch bool) int {
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
	o.FailUnknown(t.Position, "port", o.ReadText(t), names)
	return 0
}
