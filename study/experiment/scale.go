package experiment

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/core/unit"
	"weir/internal/document"
)

// What --set rates=/N and --set times=xN change: all rates, and all times, of these top-level keys.
var (
	withRates = []string{"topology", "traffic", "events", "sweep", "measure"}
	withTimes = []string{"duration", "warmup", "topology", "traffic", "events", "stalls", "sweep", "measure"}
)

// scale carries out --set rates=/178, which makes an experiment small enough for the lab, --set times=x178, with which
// it is the same in slow motion, as far as the file says its times, and --set stack=weir, with which hosts of the lab
// have what no kernel has. It reports whether key is one of these.
func (s *Spec) scale(c *document.Reader, here document.Place, key, text string) bool {
	var sign, what string
	var change func(text string, n float64) (string, bool)
	keys := withRates
	switch key {
	case "rates":
		sign, what, change = "/", "what rates are divided by, such as rates=/100", divided
	case "times":
		sign, what, change, keys = "x", "what times are multiplied by, such as times=x100", multiplied, withTimes
	case "stack":
		if text != "weir" {
			c.Fail(here, "weir", "%q is no stack that all traffic can have", text)
			return true
		}
		for _, k := range s.root.Keys {
			if k.Name == "traffic" || k.Name == "sweep" {
				ownStack(k.Value, k.Name == "sweep")
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
	for _, k := range s.root.Keys {
		if slices.Contains(keys, k.Name) {
			rescale(k.Value, func(text string) (string, bool) { return change(text, n) })
		}
	}
	return true
}

// kernelTransports are those that --set stack=weir takes from the kernel.
var kernelTransports = []string{"tcp", "udp"}

// ownStack gives all TCP and UDP of a tree to hosts of Weir's own: beside the transport where its parameters are, in
// the entries of the list of traffic, and else, in values of a sweep, inside of it.
func ownStack(t *document.Node, within bool) {
	for _, x := range t.Items {
		ownStack(x, within)
	}
	stack := &document.Node{Place: t.Place, Text: "weir", From: "--set"}
	for _, k := range slices.Clone(t.Keys) {
		switch v := k.Value; {
		case k.Name == "traffic" && v.Kind == document.List:
			ownStack(v, false)
		case k.Name != "transport":
			ownStack(v, within)
		case v.Kind == document.Mapping && len(v.Keys) == 1 && slices.Contains(kernelTransports, v.Keys[0].Name):
			if p := v.Keys[0].Value; p.Kind == document.Mapping {
				p.Set("stack", stack)
			}
		case v.Kind == document.Scalar && slices.Contains(kernelTransports, v.Text) && within:
			name, in := v.Text, &document.Node{Place: v.Place, Kind: document.Mapping, From: "--set"}
			in.Set("stack", stack)
			*v = document.Node{Place: v.Place, Kind: document.Mapping, From: "--set"}
			v.Set(name, in)
		case v.Kind == document.Scalar && slices.Contains(kernelTransports, v.Text):
			t.Set("stack", stack)
		}
	}
}

// rescale changes all values of a tree that change knows.
func rescale(t *document.Node, change func(text string) (string, bool)) {
	switch t.Kind {
	case document.Mapping:
		for _, k := range t.Keys {
			rescale(k.Value, change)
		}
	case document.List:
		for _, x := range t.Items {
			rescale(x, change)
		}
	default:
		if text, is := change(t.Text); is {
			t.Text, t.From, t.Orig = text, "--set", nil
		}
	}
}

// divided is a rate over n, of bits or packets; false: it is none.
func divided(text string, n float64) (string, bool) {
	l, err := unit.ParseLinkRate(text)
	if err != nil {
		return "", false
	}
	if l.Bits == 0 {
		return unit.PacketRate(max(math.Round(float64(l.Packets)/n), 1)).String(), true
	}
	return unit.Rate(max(math.Round(float64(l.Bits)/n), 1)).String(), true
}

// multiplied is a time, or a range of times, n times as long; false: it is none. One that would be too long stays.
func multiplied(text string, n float64) (string, bool) {
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
