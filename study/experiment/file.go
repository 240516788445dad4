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
	// key=value; dotted keys reach into maps; a sweep key is fixed to one value; rates=/N and times=xN change all rates
	// or times
	Set   []string
	Seed  *uint64
	Quick bool
	// Resolved: the file is the spec.yaml of a results folder. Options may have removed a part of its sweep, so a claim
	// may match no point.
	Resolved bool
	Machine  float64 // memory in bytes of the machine, which a run must fit into; 0: the usual limit
	Origin   *Origin // origin of a resolved file; nil if unknown

	limits *pointLimits // nil: usualLimits; tests use smaller ones
}

// pointLimits returns the limits of the points of a sweep.
func (o *Options) pointLimits() pointLimits {
	if o.limits == nil {
		return usualLimits
	}
	return *o.limits
}

// Origin is the file and the options from which a resolved spec was made: whether it is the quick variant, and where
// its values come from.
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
	inputs  map[string][]byte    // contents of the files that it names
	origins map[string]Parameter // by path, from the origin of a resolved spec; nil if unknown
}

// Resolved returns the spec as an experiment file with every option applied and every default written out, as YAML. It
// lacks the keys that only options use, such as quick.
func (f *experimentFile) Resolved() []byte {
	var b strings.Builder
	clean := document.Copy(f.root)
	var keep []document.Entry
	for _, k := range clean.Keys {
		if !top.HasTrait(k.Name, optionsOnly) {
			keep = append(keep, k)
		}
	}
	clean.Keys = keep
	clean.WriteYAML(&b, 0)
	return []byte(b.String())
}

// Hash returns the SHA-256 of the resolved spec in hexadecimal.
func (f *experimentFile) Hash() string {
	h := sha256.Sum256(f.Resolved())
	return hex.EncodeToString(h[:])
}

// Quick reports whether this is the quick variant.
func (f *experimentFile) Quick() bool { return f.quick }

// Text returns the name and the original text of the file, without options.
func (f *experimentFile) Text() (file string, data []byte) {
	return f.source.File, slices.Clone(f.source.Data)
}

// Inputs returns the files that the file names, by their names in it. The contents are shared, so the caller must not
// change them.
func (f *experimentFile) Inputs() map[string][]byte { return maps.Clone(f.inputs) }

// LoadedFrom returns what the spec was loaded from: its file's text, and options. Loading them again gives the same
// spec, with the same run IDs. The resolved text gives the same runs, too, but does not record where its values come
// from.
func (f *experimentFile) LoadedFrom() (*Source, Options) {
	src, o := *f.source, f.options
	o.Set = slices.Clone(o.Set)
	return &src, o
}

// KeyPlace returns the place of the first of the given keys that exists at the top level. Otherwise it returns
// the file's beginning.
func (f *experimentFile) KeyPlace(keys ...string) document.Position {
	for _, key := range keys {
		if t := top.ViewMap(f.root).Get(key); t != nil {
			return t.Position
		}
	}
	return f.root.Position
}

// isNarrowed reports whether options may have removed values of the sweep.
func (f *experimentFile) isNarrowed() bool {
	return f.quick || f.options.Resolved || len(f.options.Set) > 0
}

// applyQuick applies the quick block to the spec if it is the quick variant, and checks it otherwise. Keys that quick
// cannot change are errors. Values that it removes from a sweep remain in the source.
func (f *experimentFile) applyQuick(c *document.Reader) {
	q := top.ViewMap(f.root).Get("quick")
	if q == nil {
		return
	}
	if q.Kind != document.Mapping {
		c.Fail(q.Position, "{repeat: 1, …}", "quick is not a map")
		return
	}
	sweep := top.ViewMap(f.root).Get("sweep")
	allowed := append(top.KeyNames(quickChanges), sweepKeys(f.root)...)
	for _, k := range top.ViewMap(f.root).GetEntries("quick") {
		if !slices.Contains(allowed, k.Name) {
			c.FailUnknown(k.Position, "quick key", k.Name, allowed)
			continue
		}
		if f.quick {
			f.setKey(c, k.Name, k.Value, "quick")
		} else if v := sweep.Find(k.Name); v != nil { // only to check it
			f.selectValues(c, document.Copy(v), k.Value) // checked, not used
		}
	}
}

// setKey sets a top-level key, or narrows a sweep key. origin states where the value comes from. It copies the value.
// An invalid value of a sweep key is an error and changes no key.
func (f *experimentFile) setKey(c *document.Reader, name string, value *document.Node, origin string) {
	v := document.Copy(value)
	v.Orig, v.From = nil, origin
	if sweep := top.ViewMap(f.root).Get("sweep"); sweep.Find(name) != nil {
		if narrowed := f.selectValues(c, sweep.Find(name), v); narrowed != nil {
			narrowed.From = origin
			sweep.Set(name, narrowed)
		}
		return
	}
	f.root.Set(name, v)
}

// selectValues returns the sweep with only the requested values. If the sweep is a map, value names entries of it; if
// it is a list, value may have values that it does not have. It returns nil after an error.
func (f *experimentFile) selectValues(c *document.Reader, sweep, value *document.Node) *document.Node {
	wanted := []*document.Node{value}
	if value.Kind == document.List {
		wanted = value.Items
	}
	out := &document.Node{Position: value.Position, Kind: sweep.Kind}
	for _, w := range wanted {
		if w.Kind != document.Scalar {
			c.Fail(w.Position, "", "the entry is not a value of the sweep but %v", w.Kind)
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
			c.FailUnknown(w.Position, "sweep value", w.Text, names)
			return nil
		}
		out.Set(w.Text, v)
	}
	return out
}

// applySet applies the options --set key=value. Dotted keys must exist except for their last part. An entry of a list
// is named by its number, from 0, or by its key name.
func (f *experimentFile) applySet(c *document.Reader) {
	for _, a := range f.options.Set {
		place := document.Position{File: "--set " + a, Line: 1, Column: 1}
		key, text, ok := strings.Cut(a, "=")
		if !ok || key == "" || text == "" {
			c.Fail(place, "key=value", "the setting has no value")
			continue
		}
		if !c.CheckPrintable(place, key) {
			continue
		}
		v := document.Parse(c, place.File, []byte(text))
		if v == nil {
			continue
		}
		if slices.Contains(append(top.KeyNames(), sweepKeys(f.root)...), key) {
			f.setKey(c, key, v, "--set")
			continue
		}
		if f.scaleValues(c, place, key, text) {
			continue
		}
		v.From = "--set"
		node := f.root
		parts := strings.Split(key, ".")
		for i, p := range parts {
			if node.Kind == document.List {
				n, err := strconv.Atoi(p)
				if err != nil || n < 0 || n >= len(node.Items) {
					// traffic.heavy.rate: an entry by its name
					n = -1
					for k, x := range node.Items {
						if name := traffic.ViewMap(x).Get("name"); name != nil && name.Text == p {
							n = k
						}
					}
				}
				if n < 0 {
					c.Fail(place, "", "%q has no entry %q", strings.Join(parts[:i], "."), p)
					break
				}
				if i == len(parts)-1 {
					node.Items[n] = v
				}
				node = node.Items[n]
				continue
			}
			if i == len(parts)-1 && node.Kind == document.Mapping && i > 0 {
				node.Set(p, v)
				break
			}
			next := node.Find(p)
			if next == nil {
				var words []string
				for _, k := range node.Keys {
					words = append(words, k.Name)
				}
				if i == 0 {
					words = append(top.KeyNames(), sweepKeys(f.root)...)
				}
				c.FailUnknown(place, "key", p, words)
				break
			}
			node = next
		}
	}
}

// Top-level keys in which --set rates=/N changes all rates, and --set times=xN all times.
var (
	withRates = []string{"topology", "traffic", "events", "sweep", "measure"}
	withTimes = []string{"duration", "warmup", "topology", "traffic", "events", "stalls", "sweep", "measure"}
)

// scaleValues applies three special options: --set rates=/178 divides all rates, which makes an experiment small
// enough for the lab. --set times=x178 multiplies all times in the file, which gives slow motion. --set stack=weir
// gives hosts of the lab Weir's own stack. It reports whether key is one of these.
func (f *experimentFile) scaleValues(c *document.Reader, place document.Position, key, text string) bool {
	var sign, what string
	var change func(text string, n float64) (string, bool)
	keys := withRates
	switch key {
	case "rates":
		sign, what, change = "/", "a divisor of rates such as rates=/100", divideRate
	case "times":
		sign, what, change, keys = "x", "a factor of times such as times=x100", multiplyTime, withTimes
	case "stack":
		if text != "weir" {
			c.Fail(place, "weir", "%q is not a stack that every traffic can use", text)
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
		c.Fail(place, sign+"1 to "+sign+"1000000000", "%q is not %s", text, what)
		return true
	}
	for _, k := range f.root.Keys {
		if slices.Contains(keys, k.Name) {
			rescaleTree(k.Value, func(text string) (string, bool) { return change(text, n) })
		}
	}
	return true
}

// kernelTransports are the transports that --set stack=weir moves from the kernel to Weir's stack.
var kernelTransports = []string{"tcp", "udp"}

// setOwnStack gives all TCP and UDP transports of a tree the parameter stack: weir. In entries of the traffic list it
// stands next to the transport, like its other parameters. In values of a sweep (within) it is inside the transport.
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

// rescaleTree replaces all values of a tree for which change returns true by the text that it returns. They count as
// set by --set.
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

// divideRate divides a rate in bits or packets by n and rounds it, at least to 1; false: the text is not a rate.
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

// multiplyTime multiplies a time, or a range of times, by n. It returns false if the text is not a time, or if the
// result would be too long.
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
