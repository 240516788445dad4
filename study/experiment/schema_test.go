package experiment_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// schema reads a file by the schema.
func schema(t *testing.T) (check func(text []byte) error) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(telling().WriteSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///weir.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("mem:///weir.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(text []byte) error {
		t.Helper()
		var v any
		if err := yaml.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		x, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return compiled.Validate(x)
	}
}

// TestSchema_AcceptsExperimentsAndDocs checks that the schema accepts every experiment, and the documentation's
// examples.
func TestSchema_AcceptsExperimentsAndDocs(t *testing.T) {
	check := schema(t)
	files, _ := filepath.Glob("../../papers/p4abc/experiments/[a-z]*.yaml") // app/internal/cli has those of all
	if len(files) < 7 {
		t.Fatalf("experiments %v", files)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := check(text); err != nil {
				t.Errorf("%s: %v", f, err)
			}
		})
	}
	for name, text := range map[string]string{"eventful": eventful, "runnable": runnable} {
		t.Run(name, func(t *testing.T) {
			if err := check([]byte(text)); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

// TestSchemaRefuses checks that the schema refuses keys and words that decoding refuses.
func TestSchemaRefuses(t *testing.T) {
	check := schema(t)
	names, refused := []string{"unknown-key.yaml", "measure.yaml", "cc-unknown.yaml", "sizes-unknown.yaml"}, 0
	for _, a := range badInputs(t) {
		for _, f := range a.Files {
			if slices.Contains(names, f.Name) {
				if refused++; check(f.Data) == nil {
					t.Errorf("%s is taken", f.Name)
				}
			}
		}
	}
	if refused != len(names) {
		t.Errorf("%d of %q are in testdata/bad", refused, names)
	}
	for _, bad := range []string{"colour: blue", "switch: [forwrad]", "switch: [{abc: {memry: 3s}}]", "framing: l3",
		"measure: [goodputt]",
		"switch: [{abc: tables}]",
		"events: [{at: 1s, link: [a, b, c], down: true}]", "expect: [{id: x, that: y}]", "topology: {fat_tre: {k: 4}}",
		"traffic: [{name: x, transport: tcp, cc: cubik}]"} {
		t.Run(bad, func(t *testing.T) {
			text := "duration: 1s\ntopology: {hosts: [a]}\ntraffic: [{name: x, transport: tcp}]\n"
			if check([]byte(text)) != nil {
				t.Fatal("the good file is refused")
			}
			var v map[string]any
			yaml.Unmarshal([]byte(text), &v)
			var w map[string]any
			yaml.Unmarshal([]byte(bad), &w)
			for k, x := range w {
				v[k] = x
			}
			joined, _ := yaml.Marshal(v)
			if check(joined) == nil {
				t.Errorf("%s is taken", bad)
			}
		})
	}
}

// TestSchemaSwept checks that a $key of the sweep may replace all parameters of a scheme, as in decoding.
func TestSchemaSwept(t *testing.T) {
	check := schema(t)
	for _, swept := range []string{"switch: [forward, {abc: $x}]", "topology: {fat_tree: $x}",
		"traffic: [{name: x, transport: tcp, cc: {cubic: $x}}]"} {
		text := "duration: 1s\ntopology: {hosts: [a]}\ntraffic: [{name: x, transport: tcp}]\n"
		var v, w map[string]any
		yaml.Unmarshal([]byte(text), &v)
		yaml.Unmarshal([]byte(swept), &w)
		for k, x := range w {
			v[k] = x
		}
		joined, _ := yaml.Marshal(v)
		if err := check(joined); err != nil {
			t.Errorf("%s: %v", swept, err)
		}
	}
}

// ranged has parameters with ranges.
type ranged struct {
	windows    int
	base, gain float64
	wait       unit.Time
}

func (c *ranged) Params(p *scheme.Params) {
	p.Int(&c.windows, "windows", "4", "so many", "Weir").Min("1").Max("15")
	p.Float(&c.base, "base", "1.5", "of a logarithm", "Weir").Above("1")
	p.Share(&c.gain, "gain", "5%", "of a mean", "Weir").Above("0%").Below("100%")
	p.Time(&c.wait, "wait", "5ms", "at the most", "Weir").Above("0s").Max("1s")
}

// TestSchemaRanges checks that the ranges of numbers are in the schema, and the ranges of all parameters in their
// texts.
func TestSchemaRanges(t *testing.T) {
	r := telling()
	r.Controllers = append(r.Controllers, cc.Scheme{Scheme: scheme.Scheme{Name: "ranged",
		Config: scheme.NewDefault[ranged]}})
	var whole any
	if err := json.Unmarshal(r.WriteSchema(), &whole); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		parameter, says string
		want            map[string]float64
	}{
		{"windows", "; a whole number, at least 1, at most 15", map[string]float64{"minimum": 1, "maximum": 15}},
		{"base", "; a number, above 1", map[string]float64{"exclusiveMinimum": 1}},
		{"gain", "; a share such as 85%, above 0%, below 100%",
			map[string]float64{"exclusiveMinimum": 0, "exclusiveMaximum": 1}},
		{"wait", "; a time such as 5ms, above 0s, at most 1s", nil},
	} {
		t.Run(c.parameter, func(t *testing.T) {
			n := find(find(whole, "ranged"), "properties", c.parameter)
			if n == nil {
				t.Fatal("it is not there")
			}
			if says, _ := n["description"].(string); !strings.HasSuffix(says, c.says) {
				t.Errorf("it says %q, want %q", says, c.says)
			}
			for _, word := range []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"} {
				at, there := n[word].(float64)
				if want, wanted := c.want[word]; there != wanted || at != want {
					t.Errorf("%s: %v, want %v", word, n[word], want)
				}
			}
		})
	}
}

// find is the first node below these keys, wherever they are in x.
func find(x any, keys ...string) map[string]any {
	switch x := x.(type) {
	case []any:
		for _, y := range x {
			if n := find(y, keys...); n != nil {
				return n
			}
		}
	case map[string]any:
		if below, ok := x[keys[0]].(map[string]any); ok {
			for _, k := range keys[1:] {
				below, _ = below[k].(map[string]any)
			}
			if below != nil {
				return below
			}
		}
		for _, y := range x {
			if n := find(y, keys...); n != nil {
				return n
			}
		}
	}
	return nil
}

const eventful = `title: t
duration: 4s
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Mbps, delay: 1ms}
    - {ends: [s, b], rate: 20Mbps, delay: 1ms, buffer: 100 packets}
traffic: [{name: x, from: a, to: b, transport: udp, rate: 15Mbps, payload: 1472 B, start: 0s}]
switch: [forward]
measure: [goodput, drops, loss]
`

const runnable = small + smallTraffic + `switch: [forward]
sweep: {rate: [500kbps, 1Mbps, 16Mbps]}
measure: [goodput, {throughput: {port: s->c}}, {throughput: {port: s->a}}, loss, delay, jitter,
  jain, {queue: {port: s->c, every: 1ms}}, drops, {utilisation: {port: s->c}}]
expect:
  - {id: more, says: more is more, where: {rate: "<= 1Mbps"}, along: rate, that: next.goodput.a > goodput.a}
  - {id: overload, says: it drops, where: {rate: 16Mbps}, that: loss.a > 10% and drops.port_packets > 0}
`
