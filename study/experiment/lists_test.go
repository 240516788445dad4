package experiment_test

import (
	"slices"
	"strings"
	"testing"

	"weir/core/transport"
	"weir/internal/testkit"
	"weir/study/experiment"
)

// unknownKeys are edits of an experiment that give a map a key that its table lacks, by the table.
var unknownKeys = map[string][2]string{
	"top-level":     {"title:", "zzzzzzzz: 1\ntitle:"},
	"repeat":        {"repeat: 2", "repeat: {zzzzzzzz: 1}"},
	"topology":      {"hosts: [a, b, c]", "zzzzzzzz: 1"},
	"link":          {"{ends: [a, s]", "{zzzzzzzz: 1, ends: [a, s]"},
	"switches":      {"switch:", "switches: {s: {zzzzzzzz: 1}}\nswitch:"},
	"recirculation": {"switch:", "switches: {s: {recirculation: {zzzzzzzz: 1}}}\nswitch:"},
	"clock":         {"switch:", "switches: {s: {clock: {zzzzzzzz: 1}}}\nswitch:"},
	"traffic":       {"rate: 8Mbps", "zzzzzzzz: 8Mbps"},
	"sizes":         {"rate: 8Mbps", "rate: 8Mbps, sizes: {zzzzzzzz: 1}"},
	"sets":          {"rate: 8Mbps", "rate: 8Mbps, sets: {zzzzzzzz: 1}"},
	"ports":         {"rate: 8Mbps", "rate: 8Mbps, ports: {zzzzzzzz: 1}"},
	"events":        {"switch:", "events: [{zzzzzzzz: 1}]\nswitch:"},
	"stalls":        {"switch:", "stalls: {zzzzzzzz: 1, every: 2s, length: 2ms}\nswitch:"},
	"iterations":    {"switch:", "iterations: {zzzzzzzz: 1}\nswitch:"},
	"framing":       {"switch:", "framing: {zzzzzzzz: 1}\nswitch:"},
	"without":       {"switch:", "without: [{zzzzzzzz: 1}]\nswitch:"},
	"tables":        {"switch:", "tables: {zzzzzzzz: 1}\nswitch:"},
	"ratio":         {"switch:", "ratio: [{zzzzzzzz: 1}]\nswitch:"},
	"plot":          {"switch:", "plot: [{zzzzzzzz: 1}]\nswitch:"},
	"expect":        {"switch:", "expect: [{zzzzzzzz: 1}]\nswitch:"},
	"paper":         {"switch:", "paper: {zzzzzzzz: 1}\nswitch:"},
}

// listOf returns the line of an experiment's errors that refuses a word.
func listOf(t *testing.T, edit [2]string, word string) string {
	t.Helper()
	text := small + smallTraffic + "switch: [forward]\nsweep: {rate: [1Mbps, 2Mbps]}\nmeasure: [goodput]\n"
	if !strings.Contains(text, edit[0]) {
		t.Fatalf("%q is not in\n%s", edit[0], text)
	}
	for _, e := range wrong(t, strings.Replace(text, edit[0], edit[1], 1), experiment.Options{}) {
		if strings.Contains(e.Msg, word) {
			return e.Msg + "; allowed: " + e.Allowed
		}
	}
	t.Fatalf("no error has %q", word)
	return ""
}

// TestListsOfKeys checks that the error of an unknown key lists or counts the keys of its table. Golden files have no
// such lists.
func TestListsOfKeys(t *testing.T) {
	r := room()
	for _, x := range experiment.Tables {
		t.Run(x.Name, func(t *testing.T) {
			known := x.Table.KeyNames()
			switch x.Name {
			case "values", "from", "to":
				return // other keys are measures, or the error explains which hosts are possible
			case "topology":
				for i := range r.Topologies {
					known = append(known, r.Topologies[i].Name)
				}
			case "traffic":
				udp := slices.IndexFunc(r.Transports, func(s transport.Scheme) bool { return s.Name == "udp" })
				for _, p := range r.Transports[udp].Parameters() {
					known = append(known, p.Name)
				}
			}
			edit, ok := unknownKeys[x.Name]
			if !ok {
				t.Fatalf("no list of the keys of %s is tested", x.Name)
			}
			testkit.CheckList(t, listOf(t, edit, `"zzzzzzzz"`), known)
		})
	}
}

// TestListsOfWords checks that the error of an unknown word lists the words of its key.
func TestListsOfWords(t *testing.T) {
	for _, x := range []struct {
		table, key string
		edit       [2]string
	}{
		{"traffic", "arrivals", [2]string{"transport: udp, rate: 8Mbps, start: 0s..10ms",
			"transport: {window: {window: 4 packets}}, size: 1MB, load: 1%, arrivals: zzzzzzzz"}},
		{"traffic", "nic", [2]string{"rate: 8Mbps", "rate: 8Mbps, nic: zzzzzzzz"}},
		{"events", "down", [2]string{"switch:", "events: [{at: 5ms, link: [a, s], down: zzzzzzzz}]\nswitch:"}},
		{"plot", "kind", [2]string{"switch:", "plot: [{x: rate, y: goodput, kind: zzzzzzzz}]\nswitch:"}},
		{"framing", "cells", [2]string{"switch:", "framing: {overhead: 18 B, cells: zzzzzzzz}\nswitch:"}},
	} {
		t.Run(x.table+" "+x.key, func(t *testing.T) {
			for _, table := range experiment.Tables {
				if table.Name == x.table {
					testkit.CheckList(t, listOf(t, x.edit, `"zzzzzzzz"`), table.Table.FindKey(x.key).Form.ListWords())
				}
			}
		})
	}
}
