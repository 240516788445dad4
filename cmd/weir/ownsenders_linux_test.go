package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Senders of Weir's own tell in the lab what they know, on real packets: what they had in flight at most, when they
// reduced after a queue had grown, which only the switch sees, and what became of its NACKs.
func TestOwnSendersOnLab(t *testing.T) {
	needRoot(t)
	binary, dir := build(t), t.TempDir()
	file := filepath.Join(dir, "senders.yaml")
	text := fmt.Sprintf(pairOfHosts, "1s", "[forward, {ncf: {memory: 90KB}}]", "  - {name: x, from: a, to: b, transport: "+
		"{tcp: {stack: weir, nacks: loss}}, cc: reno, start: 0s}\n")
	text = strings.Replace(text, "drops]", "drops, overshoot, nacks, {reduction: {port: s->b, above: 30 packets, after: "+
		"10ms}}, {cwnd: {every: 10ms}}]", 1)
	text = strings.Replace(text, "warmup: 200ms", "warmup: 5ms", 1) // the first loss is that of slow start
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	data, err := exec.Command(binary, "run", file, "--on", "lab", "--out", dir, "--attempts", "2", "--json").Output()
	type measured struct{ Measures map[string]json.RawMessage }
	var doc struct {
		Simulator struct{ Runs []measured }
		Runs      []struct {
			measured
			Attempts []struct {
				Disturbed []string
				Upset     float64
			}
		}
	}
	if json.Unmarshal(data, &doc) != nil || len(doc.Runs) != 1 || len(doc.Simulator.Runs) != 1 {
		t.Fatalf("%v: %s%s", err, said(err), data)
	}
	attempts := doc.Runs[0].Attempts
	last := attempts[len(attempts)-1]
	for _, x := range []struct {
		measure, group string
		low, high      float64 // of the simulator's
	}{
		{"overshoot", "x", 0.8, 1.25}, {"nacks_packets", "delivered", 0.5, 2}, {"nacks_packets", "taken", 0.5, 2},
		{"nacks_delay_s", "mean", 0.9, 1.1}, {"cwnd_bytes", "x", 0.7, 1.4}, {"reduction_from_s", "x", 0.5, 2},
		{"reduction_s", "x", 0.2, 5},
	} {
		got, want := map[string]*float64{}, map[string]*float64{}
		if json.Unmarshal(doc.Runs[0].Measures[x.measure], &got) != nil ||
			json.Unmarshal(doc.Simulator.Runs[0].Measures[x.measure], &want) != nil || got[x.group] == nil ||
			want[x.group] == nil {
			t.Errorf("%s: %s; simulator: %s", x.measure, doc.Runs[0].Measures[x.measure],
				doc.Simulator.Runs[0].Measures[x.measure])
			continue
		}
		a, b := *got[x.group], *want[x.group]
		t.Logf("%s %s: %.6g, in the simulator %.6g", x.measure, x.group, a, b)
		if a < x.low*b || a > x.high*b {
			if len(last.Disturbed) > 0 || last.Upset > 0 {
				t.Logf("disturbed: %.200q", last.Disturbed)
				continue
			}
			t.Errorf("%s %s: %.6g, in the simulator %.6g", x.measure, x.group, a, b)
		}
	}
}
