package experiment_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestCheckIsLinear checks that a file that is eight times as long takes about eight times as much memory to check, and
// not 64 times, with any kind of error in it. Its errors stay short. TestCheckTimeIsLinear checks the time.
func TestCheckIsLinear(t *testing.T) {
	eachWrongFile(t, func(t *testing.T, check func(n int) func()) {
		if small, large := allocated(check(250)), allocated(check(2000)); large > 12*small {
			t.Errorf("%d bytes for 250, %d bytes for 2000", small, large)
		}
	})
}

// eachWrongFile runs a subtest for each kind of wrong file. check returns a function that checks a file of n lines.
func eachWrongFile(t *testing.T, compare func(t *testing.T, check func(n int) func())) {
	links := func(n int, end string) string {
		var b strings.Builder
		b.WriteString("duration: 1s\nswitch: [forward]\ntopology:\n  switches: [s]\n  hosts: [")
		for i := range n {
			fmt.Fprintf(&b, "h%d, ", i)
		}
		b.WriteString("end]\n  links:\n")
		for i := range n {
			fmt.Fprintf(&b, "    - {ends: ["+end+", s], rate: 1Gbps, delay: 1us}\n", i)
		}
		return b.String()
	}
	one := "traffic: [{name: x, from: h0, to: h1, transport: udp, rate: 1Mbps}]\n"
	for _, x := range []struct {
		name string
		text func(n int) string
	}{
		{"unknown nodes", func(n int) string { return links(n, "x%d") + one }},
		{"unknown hosts", func(n int) string {
			return links(n, "h%d") + "traffic: [{name: x, to: h1, transport: udp, rate: 1Mbps, from: [" +
				strings.Repeat("x, ", n) + "end]}]\n"
		}},
		{"events between unknown nodes", func(n int) string {
			return links(n, "h%d") + one + "events:\n" + strings.Repeat("  - {at: 1ms, link: [s, x], down: true}\n", n)
		}},
		{"hosts one by one", func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "h%d, ", i)
			}
			return links(n, "h%d") + "traffic: [{name: x, to: nobody, transport: udp, rate: 1Mbps, from: [" + b.String() +
				"end]}]\n"
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := room()
			check := func(n int) func() {
				src := file("x.yaml", x.text(n))
				return func() {
					_, err := plan.Load(r, src, experiment.Options{})
					if err == nil || len(err.Error()) > 50*500 {
						t.Errorf("%.3000v", err)
					}
				}
			}
			compare(t, check)
		})
	}
}

// TestNamesLikePatterns checks that a name means its own node, also if it could be read as a pattern.
func TestNamesLikePatterns(t *testing.T) {
	r := room()
	s := plantest.LoadSource(t, r, file("x.yaml", `duration: 1s
switch: [forward]
topology:
  hosts: ["a[0]", "b?"]
  switches: ['s\1']
  links: [{ends: ["a[0]", 's\1'], rate: 1Gbps, delay: 1us}, {ends: ["b?", 's\1'], rate: 1Gbps, delay: 1us}]
switches: {'s\1': {buffer: 10 packets}}
traffic: [{name: x, from: "a[0]", to: "b?", transport: udp, rate: 1Mbps, start: 0s}]
events: [{at: 1ms, link: ["a[0]", 's\1'], down: true}]
`), experiment.Options{})
	if n := s.Points()[0].Flows(); n != 1 {
		t.Errorf("%d flows", n)
	}
}
