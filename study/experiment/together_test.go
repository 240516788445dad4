package experiment_test

import (
	"errors"
	"strings"
	"testing"

	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestErrorsTogether checks that all errors of a file are reported at once, also where parts depend on wrong parts.
// Errors that only follow from others are not reported.
func TestErrorsTogether(t *testing.T) {
	const links = "  links: [{ends: [a, s], rate: 10Mbps, delay: 1ms}, {ends: [s, b], rate: 10Mbps, delay: 1ms}]\n"
	file := func(replace ...string) string {
		return strings.NewReplacer(replace...).Replace(`title: x
duration: 200ms
repeat: 1
topology:
  hosts: [a, b]
  switches: [s]
` + links + `switch: [forward]
traffic:
  - {name: x, from: a, to: b, transport: udp, rate: $rate, start: 0s}
  - {name: y, from: b, to: a, transport: udp, rate: 1Mbps, start: 0s}
sweep:
  rate: [1Mbps, 5Mbps]
  scheme: {one: {}, two: {switch: [forward]}, three: {switch: [forward]}}
measure: [goodput]
plot: [{x: rate, y: goodput}]
expect:
  - {id: a, says: more than is sent, that: goodput.x > 0}
  - {id: b, says: something, where: {scheme: one}, that: goodput.y > 0}
`)
	}
	for _, x := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", file(), nil},
		{"the head and all below", file("repeat: 1", "repeat: zero", "rate: 10Mbps, delay: 1ms}]",
			"rate: 10Mbs, delai: 1ms}]",
			"switch: [forward]\ntraffic", "switch: [forwrd]\ntraffic", "name: x, from: a, to: b, transport: udp",
			"name: x, from: a, to: b, transport: upd", "measure: [goodput]", "measure: [godput]", "y: goodput", "why: goodput",
			"that: goodput.x > 0", "that: goodput.x > (2", "says: something", "sais: something"),
			[]string{"3:9", "7:74", "7:81", "8:10", "10:42", "15:11", "16:18", "18:57", "19:13"}},
		{"two entries of traffic", file("to: b, transport: udp", "to: c, transport: udp",
			"to: a, transport: udp, rate: 1Mbps",
			"to: a, transport: udp, rate: 1Mpbs"), []string{"10:28", "11:53"}},
		{"jobs on an ideal network have no transport", file("rate: 10Mbps, delay: 1ms}]", "rate: 10Mbs, delay: 1ms}]",
			"traffic:", "network: loggops\ntraffic:",
			"from: a, to: b, transport: udp, rate: $rate, start: 0s", "job: {all_reduce: {size: $rate}}",
			"from: b, to: a, transport: udp, rate: 1Mbps, start: 0s", "job: {all_reduce: {size: 1MB}}"),
			[]string{"7:74"}},
		{"two blocks of the sweep", file("two: {switch: [forward]}, three: {switch: [forward]}",
			"two: {switch: [forwrd]}, three: {switch: [backward]}"), []string{"14:36", "14:63"}},
		{"a missing key", file("duration: 200ms\n", "", "y: goodput", "y: speed", "goodput.y > 0", "goodputt > 0"),
			[]string{"1:1", "15:21", "18:58"}},
		{"no topology", strings.Replace(file("to: b, transport: udp", "to: b, transport: upd"), links, "", 1), nil},
		{"a duration that is none", file("duration: 200ms", "duration: -1s", "that: goodput.x > 0", "that: goodput.x >"),
			[]string{"2:11", "18:54"}},
		{"names of claims", file("switch: [forward]\ntraffic", "switch: [forwrd]\ntraffic", "goodput.x > 0",
			"goodput_p99.z > rate", "scheme: one}", "scheme: four}"), []string{"8:10", "19:46"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := plan.Load(room(), &experiment.Source{Name: "x", File: "x", Data: []byte(x.text)}, experiment.Options{})
			var wrong document.InputErrors
			errors.As(err, &wrong)
			var at []string
			for _, e := range wrong {
				at = append(at, strings.TrimPrefix(document.Position{File: "x", Line: e.Line, Column: e.Column}.String(), "x:"))
			}
			if x.name == "no topology" {
				if len(at) < 2 {
					t.Errorf("only %v", err)
				}
				return
			}
			if strings.Join(at, " ") != strings.Join(x.want, " ") {
				t.Errorf("errors at %v, want %v:\n%v", at, x.want, err)
			}
		})
	}
}
