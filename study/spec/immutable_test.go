package spec_test

import (
	"strings"
	"testing"

	"weir/study/spec"
)

// A block of the sweep, or a point before it, leaves nothing in the document that the next
// point is decoded from: each has the defaults of its own keys alone, and the resolved file,
// decoded again, is the same.
func TestDecodingLeavesDocument(t *testing.T) {
	const text = small + `switch: [forward]
traffic:
  - {name: x, from: a, to: c, transport: $t, size: 10kB, start: 0s}
sweep:
  t: [tcp, {window: {window: 4 packets}}]
`
	blocks := strings.ReplaceAll(strings.Replace(text, "  t: [tcp, {window: {window: 4 packets}}]",
		"  s:\n    first: {t: tcp}\n    second: {t: {window: {window: 4 packets}}, mtu: 9000 B}", 1), "\t", "  ")
	s := load(t, blocks, spec.Options{})
	before := string(s.Resolved())
	if strings.Contains(s.Points[1].Canonical, "cubic") || !strings.Contains(s.Points[0].Canonical, "cubic") {
		t.Errorf("the points have %s and %s", s.Points[0].Canonical, s.Points[1].Canonical)
	}
	s.Shape()
	if _, err := s.Points[0].Config(1); err != nil {
		t.Fatal(err)
	}
	if string(s.Resolved()) != before {
		t.Error("asking a spec changes it")
	}
	again := load(t, before, spec.Options{Resolved: true})
	if got := string(again.Resolved()); got != before {
		t.Errorf("resolved again it is\n%s\nand was\n%s", got, before)
	}
}
