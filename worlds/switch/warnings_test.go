package softswitch

import (
	"strings"
	"testing"

	"weir/internal/document"
	"weir/internal/testkit/warntest"
	"weir/papers/p4te"
)

// file is a switch's file whose port a has the given rate.
func file(rate, users, metrics string) string {
	return "ports: {a: {interface: a" + rate + "}, b: {interface: b, rate: 50Mbps}}\nswitch: [forward]\nusers: " + users +
		"\nmetrics: " + metrics + "\n"
}

// standalone is the file of a standalone switch with P4TE, whose port a has a rate.
func standalone(rate, parameters string) string {
	return "ports: {a: {interface: a, rate: " + rate + "}, b: {interface: b, rate: 20Mbps}}\nusers: {exempt_rate: " +
		"0bps}\n" +
		"metrics: none\nswitch: [forward, {p4te: {paths: false, rate: enforced, " + parameters + "}}]\n"
}

// warned are the kinds of warnings about a switch's file.
var warned = []warntest.Row{
	{ID: "switch-exempt", Text: file(", rate: ¦10Mbps", "{exempt_rate: #}", "none"), Fires: "262kbps", Quiet: "238kbps",
		Port: "a"},
	{ID: "switch-slow-frame", Text: file(", rate: ¦#", "{exempt_rate: 0bps}", "none"), Fires: "11.5kbps",
		Quiet: "12.7kbps",
		Port:  "a"},
	{ID: "switch-no-rate", Text: file("#", "{exempt_rate: 0bps}", "none"), Fires: "", Quiet: ", rate: 10Mbps", Port: "a"},
	{ID: "switch-metrics-open", Text: file(", rate: 10Mbps", "{exempt_rate: 0bps}", "#:9465"), Fires: "0.0.0.0",
		Quiet: "127.0.0.1"},
	{ID: "switch-receivers", Text: strings.Replace(file(", rate: 10Mbps", "¦{exempt_rate: 0bps#}", "none"), "[forward]",
		"[forward, abc]", 1), Fires: "", Quiet: ", behind: a"},
	{ID: "p4te-safe-late", Text: standalone("#", "classes: {0: low_delay}"), Fires: "32Mbps", Quiet: "29Mbps", Port: "a"},
	{ID: "p4te-classes", Text: standalone("20Mbps", "#"), Fires: "gap: 40ms", Quiet: "classes: {0: low_delay}"},
}

// TestWarnings_FireAndStayQuiet checks that each kind of warning fires in one case and not in another.
func TestWarnings_FireAndStayQuiet(t *testing.T) {
	warntest.Run(t, warned, func(t *testing.T, text string) []document.Warning {
		known := schemes()
		known.Programs = append(known.Programs, p4te.Scheme())
		c, err := Decode(known, "switch.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all := append(c.WarnOpenMetrics(), c.Warnings(func(int) int { return 1500 })...)
		return append(all, c.WarnUnshapedPorts()...)
	})
}
