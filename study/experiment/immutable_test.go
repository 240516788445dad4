package experiment_test

import (
	"reflect"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestDecodingLeavesDocument checks that a block of the sweep, or a point before it, does not change the document that
// the next point is decoded from. Each point has the defaults of its own keys only, and the resolved file, decoded
// again, is the same.
func TestDecodingLeavesDocument(t *testing.T) {
	const text = small + `switch: [forward]
traffic:
  - {name: x, from: a, to: c, transport: $t, size: 10kB, start: 0s}
sweep:
  t: [tcp, {window: {window: 4 packets}}]
`
	blocks := strings.ReplaceAll(strings.Replace(text, "  t: [tcp, {window: {window: 4 packets}}]",
		"  s:\n    first: {t: tcp}\n    second: {t: {window: {window: 4 packets}}, mtu: 9000 B}", 1), "\t", "  ")
	s := plantest.Load(t, room(), blocks, experiment.Options{})
	before := string(s.Resolved())
	if strings.Contains(s.Points()[1].Canonical(), "cubic") || !strings.Contains(s.Points()[0].Canonical(), "cubic") {
		t.Errorf("the points have %s and %s", s.Points()[0].Canonical(), s.Points()[1].Canonical())
	}
	if _, err := plan.Config(s.Points()[0], 1); err != nil {
		t.Fatal(err)
	}
	if string(s.Resolved()) != before {
		t.Error("asking a spec changes it")
	}
	again := plantest.Load(t, room(), before, experiment.Options{Resolved: true})
	if got := string(again.Resolved()); got != before {
		t.Errorf("resolved again it is\n%s\nand was\n%s", got, before)
	}
}

// TestSpecIsImmutable checks that other packages cannot change a spec: it has no exported field, and returns copies.
func TestSpecIsImmutable(t *testing.T) {
	for _, x := range []any{experiment.Spec{}, experiment.Point{}, experiment.Traffic{}} {
		of := reflect.TypeOf(x)
		t.Run(of.Name(), func(t *testing.T) {
			for i := range of.NumField() {
				if f := of.Field(i); f.IsExported() {
					t.Errorf("others can set %s", f.Name)
				}
			}
		})
	}
	s := plantest.Load(t, room(), runnable, experiment.Options{})
	p := s.Points()[0]
	tr := p.Entry(0)
	for _, x := range []struct {
		name  string
		write func()
		read  func() any
	}{
		{"points", func() { s.Points()[0] = nil }, func() any { return s.Points()[0] == p }},
		{"sweep", func() { s.Sweep()[0].Values[0].Text = "no" }, func() any { return s.Sweep()[0].Values[0].Text }},
		{"claims' shape", func() { s.Measures()[0].Name = "no" }, func() any { return s.Measures()[0].Name }},
		{"inputs", func() { s.Inputs()["no"] = nil }, func() any { return len(s.Inputs()) }},
		{"file", func() { _, data := s.Text(); data[0] = 0 }, func() any { _, data := s.Text(); return data[0] }},
		{"a point's coordinates", func() { p.Coordinates()[0].Text = "no" }, func() any { return p.Coordinates()[0].Text }},
		{"what measures see", func() { m := p.Measured(); m.Duration, m.Traffic[0].Name = 0, "no" },
			func() any { return p.Duration().String() + p.Measured().Traffic[0].Name }},
		{"measures", func() { p.Measures()[0] = nil }, func() any { return p.Measures()[0].Name }},
		{"switches", func() { p.Switches()[3].Queues = 9 }, func() any { return p.Switches()[3].Queues }},
		{"flows", func() { f := p.Flow(0); f.Size = 9 }, func() any { return p.Flow(0).Size }},
		{"a traffic", func() { tr.Measured().Name = "no" }, func() any { return tr.Name() }},
	} {
		t.Run(x.name, func(t *testing.T) {
			before, file := x.read(), string(s.Resolved())
			x.write()
			if after := x.read(); after != before || string(s.Resolved()) != file {
				t.Errorf("it was %v and is %v", before, after)
			}
		})
	}
}

// TestGeneratorIsCopy checks that the hosts of a drawn traffic are a copy, too.
func TestGeneratorIsCopy(t *testing.T) {
	s := plantest.Load(t, room(),
		small+"switch: [forward]\ntraffic: [{name: x, from: \"*\", to: random, transport: tcp, size: 1kB}]\n",
		experiment.Options{})
	tr := s.Points()[0].Entry(0)
	g, _ := tr.Generator()
	first := g.From[0]
	g.From[0], g.OfferedLoad = 99, 0.5
	if again, ok := tr.Generator(); !ok || again.From[0] != first || tr.HasLoad() {
		t.Errorf("%+v", again)
	}
}
