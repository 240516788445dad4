package spec_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema reads a file by the schema.
func schema(t *testing.T) (check func(text []byte) error) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(telling().Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("weir.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("weir.json")
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

// The schema takes every experiment that is there, with what the documentation shows.
func TestSchema(t *testing.T) {
	check := schema(t)
	files, _ := filepath.Glob("../../papers/p4abc/experiments/*.yaml") // cmd/weir/cli has those of all
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

// It refuses keys and words that decoding refuses.
func TestSchemaRefuses(t *testing.T) {
	check := schema(t)
	for _, name := range []string{"unknown-key", "measure", "cc-unknown", "sizes-unknown"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/bad/" + name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			if check(text) == nil {
				t.Errorf("%s is taken", name)
			}
		})
	}
	for _, bad := range []string{"colour: blue", "switch: [forwrad]", "switch: [{abc: {memry: 3s}}]", "framing: l3",
		"measure: [goodputt]",
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
