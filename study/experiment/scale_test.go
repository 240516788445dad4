package experiment

import (
	"strings"
	"testing"

	"weir/internal/document"
)

// scaled applies --set options to a file, and returns it as text.
func scaled(t *testing.T, text string, set ...string) (string, error) {
	t.Helper()
	c := document.NewReader(FileKind)
	s := &experimentFile{root: document.Parse(c, "test.yaml", []byte(text)), options: Options{Set: set}}
	if s.root == nil {
		t.Fatal(c.Err())
	}
	s.applySet(c)
	var b strings.Builder
	s.root.WriteYAML(&b, 0)
	return b.String(), c.Err()
}

const unscaled = `title: 10Gbps
duration: 10ms
topology:
  star: {hosts: 3, rate: 100Gbps, delay: 1us}
traffic:
  - {name: a, transport: tcp, rate: 5Mbps, start: 1ms..2ms}
  - {name: b, transport: {tcp: {rto_min: 10ms}}}
  - {name: c, transport: rdma}
sweep:
  link:
    slow: {rate: 1Mpps, delay: 0s}
  over:
    tcp: {transport: tcp}
`

// TestScale_DividesRatesAndStretchesTimes checks that all rates of links and traffic are divided, all times of the file
// multiplied, and titles, numbers and sizes kept. TCP gets hosts of Weir's own wherever it is named.
func TestScale_DividesRatesAndStretchesTimes(t *testing.T) {
	got, err := scaled(t, unscaled, "rates=/3", "times=x2.5", "stack=weir")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"title: 10Gbps", "duration: 25ms", "hosts: 3", "33333333.333kbps", "delay: 2.5us",
		"1666.667kbps", "2.5ms..5ms", "rto_min: 25ms", "333.333kpps", "delay: 0s"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
	if n := strings.Count(got, "stack: weir"); n != 3 {
		t.Errorf("%d stacks in\n%s", n, got)
	}
}

// TestScaleErrors checks that the error of an invalid scale names the valid ones.
func TestScaleErrors(t *testing.T) {
	for _, set := range []string{"rates=3", "rates=/0", "rates=/x", "rates=/1e10", "times=/3", "times=x0.5", "times=xNaN",
		"stack=kernel"} {
		if _, err := scaled(t, unscaled, set); err == nil || !strings.Contains(err.Error(), "allowed: ") {
			t.Errorf("%s: %v", set, err)
		}
	}
}
