package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"weir/worlds/agent"
)

// needAgents skips where hosts of Linux can have no agents.
func needAgents(t *testing.T) {
	t.Helper()
	needRoot(t)
	if err := agent.Probe().Check(); err != nil {
		t.Skip(err)
	}
}

// ofAgents are two flows of the kernel's TCP that follow HPCC++, over IPv6.
const ofAgents = `duration: %s
warmup: 500ms
topology:
  hosts: [a, b, d]
  switches: [s]
  links:
    - {ends: [a, s], rate: 40Mbps, delay: 2ms}
    - {ends: [d, s], rate: 40Mbps, delay: 2ms}
    - {ends: [s, b], rate: 20Mbps, delay: 2ms, buffer: 300 packets}
switch: [forward, {telemetry: {format: ioam}}]
traffic:
  - {name: x, from: [a, d], to: b, transport: {tcp: {bursts: false}}, cc: {rx_hpcc: {preset: agent}}, ip: 6, start: 0s}
  - {name: y, from: d, to: b, transport: {tcp: {bursts: false}}, cc: cubic, size: 30kB, start: 1s}
  - {name: z, from: a, to: b, transport: udp, rate: 500kbps, start: 0s}
measure:
  - goodput
  - {queue: {port: s->b, every: 1ms, percentiles: [50, 99]}}
  - {cwnd: {traffic: x, every: 100ms}}
  - {rate: {traffic: x, every: 100ms}}
  - {rtt: {traffic: x, every: 100ms}}
  - drops
`

// The kernel's own TCP follows HPCC++ in the lab, from the file that the simulator has: agents are told by its switch's
// records, whose every frame an independent decoder reads, and what is measured of its senders is the kernel's. Beside
// it TCP over IPv4 and datagrams are what they were, through the same switch.
func TestAgentsOnLab(t *testing.T) {
	needAgents(t)
	binary, dir := build(t), t.TempDir()
	file := filepath.Join(dir, "agents.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, ofAgents, "2500ms"), 0o666); err != nil {
		t.Fatal(err)
	}
	data, err := exec.Command(binary, "run", file, "--on", "lab", "--out", dir, "--attempts", "2", "--json", "--capture",
		"s").Output()
	type measured struct{ Measures map[string]map[string]float64 }
	var doc struct {
		Simulator struct{ Runs []measured }
		Runs      []struct {
			measured
			Attempts []struct {
				Disturbed, Errors []string
				Upset             float64
				Agents            *struct{ Hosts, Connections, Traced, Measured, Told, Refused int }
				Replays           []replayed
			}
		}
	}
	if e := json.Unmarshal(data, &doc); e != nil || len(doc.Runs) != 1 || len(doc.Simulator.Runs) != 1 {
		t.Fatalf("%v, %v: %s%s", e, err, said(err), data)
	}
	r := doc.Runs[0]
	a := r.Attempts[len(r.Attempts)-1]
	if a.Agents == nil || a.Agents.Hosts != 3 || a.Agents.Connections != 2 || a.Agents.Traced < 200 ||
		a.Agents.Measured < 100 || a.Agents.Told < 50 {
		t.Fatalf("%+v", a)
	}
	if len(a.Replays) != 1 || a.Replays[0].Difference != "" || a.Replays[0].In < 500 {
		t.Errorf("%+v", a.Replays)
	}
	decoded(t, dir, "ioam")
	share := 0.8
	if len(a.Disturbed) > 0 || a.Upset > 0 { // the machine's stalls are no mistake of the hosts
		t.Logf("disturbed: %.200q, %.200q", a.Disturbed, a.Errors)
		share, a.Errors = share/2, nil
	}
	want := doc.Simulator.Runs[0].Measures
	for _, of := range []string{"goodput_bps", "cwnd_bytes", "rate_bps", "rtt_s"} {
		got, sim := r.Measures[of]["x"], want[of]["x"]
		if got < share*sim || of != "goodput_bps" && got > sim/share || sim == 0 {
			t.Errorf("%s is %v, in the simulator %v", of, got, sim)
		}
	}
	if got, sim := r.Measures["goodput_bps"]["z"], want["goodput_bps"]["z"]; got < 0.9*sim || len(a.Errors) > 0 {
		t.Errorf("datagrams have %v, in the simulator %v; %q", got, sim, a.Errors)
	}
}
