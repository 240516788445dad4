//go:build slow

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// rateOfHosts are two hosts whose links carry more than 500 Mb/s.
const rateOfHosts = `duration: 4s
warmup: 1s
topology: {star: {hosts: 2, rate: 600Mbps, delay: 500us, buffer: 500 packets}}
switch: [forward]
traffic: [{name: x, from: h0, to: h1, transport: %s, cc: cubic, start: 0s}]
measure: [goodput, {throughput: {port: s->h1}}, drops]
`

// Two hosts of Weir's own carry 500 Mb/s and 40,000 packets a second through a switch, of MTU 1500, within two cores
// (issue "Real packets"). Timeouts are longer than what threads wait.
func TestRateOfOwnHostsOnLab(t *testing.T) {
	needRoot(t)
	binary, dir := build(t), t.TempDir()
	for name, transport := range map[string]string{
		"tcp": "{tcp: {stack: weir}}", "rdma": "{rdma: {rto_min: 50ms}}", "udp": "{udp_controlled: {rto_min: 50ms}}",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name+".yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, rateOfHosts, transport), 0o666); err != nil {
				t.Fatal(err)
			}
			data, err := exec.Command(binary, "run", file, "--on", "lab", "--out", dir, "--attempts", "3", "--json").Output()
			if err != nil {
				t.Fatalf("%v: %s", err, said(err))
			}
			var doc struct {
				Runs []struct {
					Measures struct {
						Goodput struct{ X float64 } `json:"goodput_bps"`
					}
					Attempts []struct {
						Disturbed, Errors []string
						CPU, Steal        float64
						Late              float64 `json:"late_p99_s"`
						Hosts             struct{ CPU float64 }
					}
				}
			}
			if err := json.Unmarshal(data, &doc); err != nil || len(doc.Runs) != 1 {
				t.Fatalf("%v: %s", err, data)
			}
			r := &doc.Runs[0]
			last := r.Attempts[len(r.Attempts)-1]
			const payload = 1448 // of a segment, and less than others have
			said := fmt.Sprintf("%.0f Mb/s, %.0f packets/s at the least, data plane %.2f and hosts %.2f of a core, late %.2f "+
				"ms at 99 %%, %.1f %% stolen", r.Measures.Goodput.X/1e6, r.Measures.Goodput.X/8/payload, last.CPU, last.Hosts.CPU,
				1e3*last.Late, 100*last.Steal)
			t.Log(said)
			if len(last.Errors) > 0 {
				t.Error(last.Errors)
			}
			if g := r.Measures.Goodput.X; (g < 500e6 || g/8/payload < 40e3) && len(last.Disturbed) > 0 {
				t.Skipf("disturbed: %s: %v", said, last.Disturbed)
			} else if g < 500e6 {
				t.Error("want 500 Mb/s")
			}
		})
	}
}
