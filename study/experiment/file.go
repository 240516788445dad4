package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/core/unit"
	"weir/internal/document"
)

// Options change a spec before it is decoded.
type Options struct {
	// key=value; dotted keys reach into maps; a sweep key is fixed to one value; rates=/N and times=xN change all
	Set   []string
	Seed  *uint64
	Quick bool
	// Resolved: the file is the spec.yaml of a results folder, of which options may have
	// left a part of the sweep; a claim may mean no point of it.
	Resolved bool
	Machine  float64 // bytes of memory of the machine that a run must fit into; 0: those of a usual one
	Origin   *Origin // of a resolved file: what it was made of; nil if that is not known

	limits *pointLimits // nil: usualLimits; tests have smaller ones
}

// pointLimits returns the limits of the points of a sweep.
func (o *Options) pointLimits() pointLimits {
	if o.limits == nil {
		return usualLimits
	}
	return *o.limits
}

// Origin says of what file and options a resolved spec was made: whether it is the quick variant,
// and where its values come from.
type Origin struct {
	Quick      bool
	Parameters []Parameter
}

// experimentFile is a file with its options applied.
type experimentFile struct {
	source  *Source
	root    *document.Node
	options Options
	quick   bool                 // it is the quick variant
	inputs  map[string][]byte    // files that it names
	origins map[string]Parameter // by path, of the file that a resolved spec was made of; nil if not known
}

// Resolved returns the spec as an experiment file with every option applied and
// every default written out.
func (f *experimentFile) Resolved() []byte {
	var b strings.Builder
	clean := document.Copy(f.root)
	var keep []document.Entry
	for _, k := range clean.Keys {
		if !top.Has(k.Name, ofOptions) {
			keep = append(keep, k)
		}
	}
	clean.Keys = keep
	clean.Write(&b, 0)
	return []byte(b.String())
}

// Hash returns the SHA-256 of the resolved spec in hexadecimal.
func (f *experimentFile) Hash() string {
	h := sha256.Sum256(f.Resolved())
	return hex.EncodeToString(h[:])
}

// Quick reports whether it is the quick variant.
func (f *experimentFile) Quick() bool { return f.quick }

// Text returns the name and the text of the file.
func (f *experimentFile) Text() (file string, data []byte) {
	return f.source.File, slices.Clone(f.source.Data)
}

// Inputs returns the files that the file names, by their names in it.
func (f *experimentFile) Inputs() map[string][]byte { return maps.Clone(f.inputs) }

// Given returns what the spec was loaded from: its file's text, and options. Loaded again they give the same spec, and
// runs with the same ids, as its resolved text does; but that text lacks where its values come from.
func (f *experimentFile) Given() (*Source, Options) {
	src, o := *f.source, f.options
	o.Set = slices.Clone(o.Set)
	return &src, o
}

// At returns the place of the first of some keys that the top level has. It is the file's beginning if the level has
// no such key.
func (f *experimentFile) At(keys ...string) document.Position {
	for _, key := range keys {
		if t := top.Of(f.root).Get(key); t != nil {
			return t.Position
		}
	}
	return f.root.Position
}

// isNarrowed reports whether options may have left out values of the sweep.
func (f *experimentFile) isNarrowed() bool {
	return f.quick || f.options.Resolved || len(f.options.Set) > 0
}

// applyQuick puts the quick block's values into the spec. What it takes away from
// a sweep, the file keeps in full.
func (f *experimentFile) applyQuick(c *document.Reader) {
	q := top.Of(f.root).Get("quick")
	if q == nil {
		return
	}
	if q.Kind != document.Mapping {
		c.Fail(q.Position, "{repeat: 1, …}", "quick is a map")
		return
	}
	sweep := top.Of(f.root).Get("sweep")
	allowed := append(top.Names(byQuick), sweepKeys(f.root)...)
	for _, k := range top.Of(f.root).Entries("quick") {
		if !slices.Contains(allowed, k.Name) {
			c.Unknown(k.Position, "quick's key", k.Name, allowed)
			continue
		}
		if f.quick {
			f.setKey(c, k.Name, k.Value, "quick")
		} else if v := sweep.Find(k.Name); v != nil {
			f.selectValues(c, document.Copy(v), k.Value) // checked, not used
		}
	}
}

// setKey sets a top-level key or narrows a sweep key.
func (f *experimentFile) setKey(c *document.Reader, name string, value *document.Node, from string) {
	v := document.Copy(value)
	v.Orig, v.From = nil, from
	if sweep := top.Of(f.root).Get("sweep"); sweep.Find(name) != nil {
		if narrowed := f.selectValues(c, sweep.Find(name), v); narrowed != nil {
			narrowed.From = from
			sweep.Set(name, narrowed)
		}
		return
	}
	f.root.Set(name, v)
}

// selectValues returns the sweep values that value asks for: of a map those named, of a
// list any values (they need not have been there).
func (f *experimentFile) selectValues(c *document.Reader, sweep, value *document.Node) *document.Node {
	wanted := []*document.Node{value}
	if value.Kind == document.List {
		wanted = value.Items
	}
	out := &document.Node{Position: value.Position, Kind: sweep.Kind}
	for _, w := range wanted {
		if w.Kind != document.Scalar {
			c.Fail(w.Position, "", "a value of the sweep is expected, not %v", w.Kind)
			return nil
		}
		if sweep.Kind != document.Mapping {
			out.Items = append(out.Items, w)
			continue
		}
		v := sweep.Find(w.Text)
		if v == nil {
			var names []string
			for _, k := range sweep.Keys {
				names = append(names, k.Name)
			}
			c.Unknown(w.Position, "the sweep's value", w.Text, names)
			return nil
		}
		out.Set(w.Text, v)
	}
	return out
}

// applySet applies --set key=value.
func (f *experimentFile) applySet(c *document.Reader) {
	for _, a := range f.options.Set {
		here := document.Position{File: "--set " + a, Line: 1, Column: 1}
		key, text, ok := strings.Cut(a, "=")
		if !ok || key == "" || text == "" {
			c.Fail(here, "key=value", "this sets nothing")
			continue
		}
		if !c.Printable(here, key) {
			continue
		}
		v := document.Parse(c, here.File, []byte(text))
		if v == nil {
			continue
		}
		if slices.Contains(append(top.Names(), sweepKeys(f.root)...), key) {
			f.setKey(c, key, v, "--set")
			continue
		}
		if f.scaleValues(c, here, key, text) {
			continue
		}
		v.From = "--set"
		at := f.root
		parts := strings.Split(key, ".")
		for i, p := range parts {
			if at.Kind == document.List {
				n, err := strconv.Atoi(p)
				if err != nil || n < 0 || n >= len(at.Items) {
					// traffic.heavy.rate: an entry by its name
					n = -1
					for k, x := range at.Items {
						if name := traffic.Of(x).Get("name"); name != nil && name.Text == p {
							n = k
						}
					}
				}
				if n < 0 {
					c.Fail(here, "", "%q has no entry %q", strings.Join(parts[:i], "."), p)
					break
				}
				if i == len(parts)-1 {
					at.Items[n] = v
				}
				at = at.Items[n]
				continue
			}
			if i == len(parts)-1 && at.Kind == document.Mapping && i > 0 {
				at.Set(p, v)
				break
			}
			next := at.Find(p)
			if next == nil {
				var words []string
				for _, k := range at.Keys {
					words = append(words, k.Name)
				}
				if i == 0 {
					words = append(top.Names(), sweepKeys(f.root)...)
				}
				c.Unknown(here, "key", p, words)
				break
			}
			at = next
		}
	}
}

// What --set rates=/N and --set times=xN change: all rates, and all times, of these top-level keys.
var (
	withRates = []string{"topology", "traffic", "events", "sweep", "measure"}
	withTimes = []string{"duration", "warmup", "topology", "traffic", "events", "stalls", "sweep", "measure"}
)

// scaleValues applies --set rates=/178, which makes an experiment small enough for the lab, --set times=x178, with
// which it is the same in slow motion, as far as the file says its times, and --set stack=weir, with which hosts of the
// lab have what no kernel has. It reports whether key is one of these.
func (f *experimentFile) scaleValues(c *document.Reader, here document.Position, key, text string) bool {
	var sign, what string
	var change func(text string, n float64) (string, bool)
	keys := withRates
	switch key {
	case "rates":
		sign, what, change = "/", "what rates are divided by, such as rates=/100", divideRate
	case "times":
		sign, what, change, keys = "x", "what times are multiplied by, such as times=x100", multiplyTime, withTimes
	case "stack":
		if text != "weir" {
			c.Fail(here, "weir", "%q is no stack that all traffic can have", text)
			return true
		}
		for _, k := range f.root.Keys {
			if k.Name == "traffic" || k.Name == "sweep" {
				setOwnStack(k.Value, k.Name == "sweep")
			}
		}
		return true
	default:
		return false
	}
	number, signed := strings.CutPrefix(text, sign)
	n, err := strconv.ParseFloat(number, 64)
	if !signed || err != nil || !(n >= 1 && n <= 1e9) {
		c.Fail(here, sign+"1 to "+sign+"1000000000", "%q is not %s", text, what)
		return true
	}
	for _, k := range f.root.Keys {
		if slices.Contains(keys, k.Name) {
			rescaleTree(k.Value, func(text string) (string, bool) { return change(text, n) })
		}
	}
	return true
}

// kernelTransports are those that --set stack=weir takes from the kernel.
var kernelTransports = []string{"tcp", "udp"}

// setOwnStack gives all TCP and UDP of a tree to hosts of Weir's own: beside the transport where its parameters are, in
// the entries of the list of traffic, and else, in values of a sweep, inside of it.
func setOwnStack(t *document.Node, within bool) {
	for _, x := range t.Items {
		setOwnStack(x, within)
	}
	stack := &document.Node{Position: t.Position, Text: "weir", From: "--set"}
	for _, k := range slices.Clone(t.Keys) {
		switch v := k.Value; {
		case k.Name == "traffic" && v.Kind == document.List:
			setOwnStack(v, false)
		case k.Name != "transport":
			setOwnStack(v, within)
		case v.Kind == document.Mapping && len(v.Keys) == 1 && slices.Contains(kernelTransports, v.Keys[0].Name):
			if p := v.Keys[0].Value; p.Kind == document.Mapping {
				p.Set("stack", stack)
			}
		case v.Kind == document.Scalar && slices.Contains(kernelTransports, v.Text) && within:
			name, in := v.Text, &document.Node{Position: v.Position, Kind: document.Mapping, From: "--set"}
			in.Set("stack", stack)
			*v = document.Node{Position: v.Position, Kind: document.Mapping, From: "--set"}
			v.Set(name, in)
		case v.Kind == document.Scalar && slices.Contains(kernelTransports, v.Text):
			t.Set("stack", stack)
		}
	}
}

// rescaleTree changes all values of a tree that change knows.
func rescaleTree(t *document.Node, change func(text string) (string, bool)) {
	switch t.Kind {
	case document.Mapping:
		for _, k := range t.Keys {
			rescaleTree(k.Value, change)
		}
	case document.List:
		for _, x := range t.Items {
			rescaleTree(x, change)
		}
	default:
		if text, is := change(t.Text); is {
			t.Text, t.From, t.Orig = text, "--set", nil
		}
	}
}

// divideRate returns a rate over n, of bits or packets; false: the text is no rate.
func divideRate(text string, n float64) (string, bool) {
	l, err := unit.ParseLinkRate(text)
	if err != nil {
		return "", false
	}
	if l.Bits == 0 {
		return unit.PacketRate(max(math.Round(float64(l.Packets)/n), 1)).String(), true
	}
	return unit.Rate(max(math.Round(float64(l.Bits)/n), 1)).String(), true
}

// multiplyTime returns a time, or a range of times, n times as long; false: the text is no time. One that would be too
// long stays.
func multiplyTime(text string, n float64) (string, bool) {
	parts := strings.Split(text, "..")
	for i, p := range parts {
		t, err := unit.ParseTime(p)
		if err != nil || float64(t)*n > float64(unit.Never/4) {
			return "", false
		}
		parts[i] = unit.Time(math.Round(float64(t) * n)).String()
	}
	return strings.Join(parts, ".."), len(parts) <= 2
}
