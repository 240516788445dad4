package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/core/trace"
	"weir/internal/pcapng"
	"weir/internal/wiretest"
)

// pairOfHosts are two hosts at a link of 20 Mb/s, with what the switch does and traffic to be filled in.
const pairOfHosts = `duration: %s
warmup: 200ms
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 40Mbps, delay: 2ms}
    - {ends: [s, b], rate: 20Mbps, delay: 2ms, buffer: 60 packets}
switch: %s
traffic:
%smeasure: [goodput, {queue: {port: s->b, percentiles: [50, 99]}}, drops]
`

// replayed is what came of a capture.
type replayed struct {
	Switch     string
	In, Out    uint64
	Difference string
}

// Hosts of Weir's own send real packets: HPCC++ by telemetry in every format that its law can read, and what no kernel
// here has, beside the kernel's TCP between the same hosts, which does not answer for it. What went through the switch
// is replayed byte for byte, and what the hosts took and sent.
func TestOwnHostsOnLab(t *testing.T) {
	needRoot(t)
	binary, dir := build(t), t.TempDir()
	const one = "  - {name: x, from: a, to: b, transport: %s, start: 0s}\n"
	for _, x := range []struct {
		name, duration, programs, traffic string
	}{
		{"int-md", "1200ms", "[forward, {telemetry: {format: int-md}}]", fmt.Sprintf(one, "rdma, cc: hpcc")},
		{"ioam over IPv6", "1200ms", "[forward, {telemetry: {format: ioam}}]", fmt.Sprintf(one, "rdma, cc: hpcc, ip: 6")},
		{"hpcc itself", "1200ms", "[forward, {telemetry: {format: hpcc}}]", fmt.Sprintf(one, "udp_controlled, cc: hpcc")},
		{"ifa-ext", "1200ms", "[forward, {telemetry: {format: ifa-ext}}]",
			fmt.Sprintf(one, "{tcp: {stack: weir}}, cc: hpcc")},
		{"ndp", "1200ms", "[forward]", fmt.Sprintf(one, "ndp, size: 100MB")},
		{"beside the kernel", "3s", "[forward, {ecn: {}}]", fmt.Sprintf(one, "{tcp: {stack: weir}}, cc: dctcp") +
			strings.Replace(fmt.Sprintf(one, "tcp, cc: cubic"), "x", "y", 1)},
		// Marks at a fixed queue, so that no loss decides how long it takes.
		{"flows after flows, until all are done", "60s", "[forward, {ecn: {kmin: 5 packets, kmax: 5 packets, pmax: 100%}}]",
			"  - {name: x, collective: ring, hosts: [a, b], size: " +
				"2MB, transport: rdma, cc: dctcp}\n" + strings.Replace(fmt.Sprintf(one, "udp, rate: 1Mbps, size: 90kB"),
				"x", "y", 1)},
	} {
		t.Run(x.name, func(t *testing.T) {
			file := filepath.Join(dir, strings.ReplaceAll(x.name, " ", "-")+".yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, pairOfHosts, x.duration, x.programs, x.traffic), 0o666); err != nil {
				t.Fatal(err)
			}
			data, err := exec.Command(binary, "run", file, "--on", "lab", "--out", dir, "--attempts", "2", "--json",
				"--capture", "s,hosts").Output() // an error is one of the run's, too
			type measured struct{ Measures map[string]json.RawMessage }
			var doc struct {
				Simulator struct{ Runs []measured }
				Runs      []struct {
					measured
					Attempts []struct {
						Disturbed, Errors []string
						Upset             float64
						Hosts             *struct{ Frames uint64 }
						Replays           []replayed
						WallS             float64 `json:"wall_s"`
					}
				}
			}
			if json.Unmarshal(data, &doc) != nil || len(doc.Runs) != 1 || len(doc.Simulator.Runs) != 1 {
				t.Fatalf("%v: %s%s", err, said(err), data)
			}
			r := doc.Runs[0]
			a := r.Attempts[len(r.Attempts)-1]
			if a.Hosts != nil && len(a.Disturbed) > 0 && a.Hosts.Frames < 100 { // their thread hardly ran
				t.Skipf("disturbed: %.200q", a.Disturbed)
			}
			if a.Hosts == nil || a.Hosts.Frames < 100 || len(a.Replays) != 2 || a.Replays[0].Difference != "" ||
				a.Replays[0].In < 200 || a.Replays[1].Difference != "" || a.Replays[1].Out < 100 ||
				a.Replays[1].Switch != "hosts" || a.WallS > 55 { // of 60 s: the last one ends when all is done
				t.Fatalf("%+v", a)
			}
			if format := strings.Fields(x.name)[0]; strings.Contains(x.programs, "telemetry") {
				decoded(t, dir, format)
			}
			share := 0.8
			if len(a.Disturbed) > 0 || a.Upset > 0 { // the machine's stalls are no mistake of the hosts
				t.Logf("disturbed: %.200q, %.200q", a.Disturbed, a.Errors)
				share, a.Errors = share/2, nil
			}
			var got, want map[string]float64
			for _, x := range []struct {
				of measured
				to *map[string]float64
			}{{r.measured, &got}, {doc.Simulator.Runs[0], &want}} {
				if err := json.Unmarshal(x.of.Measures["goodput_bps"], x.to); err != nil {
					t.Fatal(err)
				}
			}
			if len(a.Errors) > 0 {
				t.Errorf("%q", a.Errors)
			}
			carried(t, share, got, want, strings.HasPrefix(x.name, "beside"))
		})
	}
}

// carried holds goodputs by at least a share of the simulator's. What each of rivals gets of a second is chance, so
// half of that share is enough for them, and their sum has to be it.
func carried(t *testing.T, share float64, got, want map[string]float64, rivals bool) {
	t.Helper()
	least, sum, of := share, 0.0, 0.0
	if rivals {
		least = share / 2
	}
	for name, w := range want {
		if w == 0 || got[name] < least*w {
			t.Errorf("goodput of %s %v, in the simulator %v", name, got[name], w)
		}
		sum, of = sum+got[name], of+w
	}
	if t.Logf("goodputs %v, in the simulator %v", got, want); sum < share*of {
		t.Errorf("their sum is below %v of the simulator's", share)
	}
}

// decoded reads the newest capture in a folder by the specification of a format: every frame with all its lengths and
// sums, and in those that the switch has sent to the receiver one record of it.
func decoded(t *testing.T, dir, format string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*", "captures", "*.pcapng"))
	if len(files) == 0 {
		t.Fatal("no capture")
	}
	newest := slices.MaxFunc(files, func(a, b string) int {
		x, _ := os.Stat(a)
		y, _ := os.Stat(b)
		return x.ModTime().Compare(y.ModTime())
	})
	data, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	o := wiretest.Options{IFA: true, Rates: []int64{25e9, 50e9, 100e9, 200e9, 400e9, 20e6, 40e6}}
	records, last := 0, int64(0)
	_, err = pcapng.Read(bytes.NewReader(data), func(r *trace.Record) error {
		x, err := wiretest.Decode(r.Frame, o)
		if err != nil {
			return fmt.Errorf("%v: % x", err, r.Frame)
		}
		if r.Port != "s->b" || x.Format == "" {
			return nil
		}
		if x.Format != format || len(x.Hops) != 1 || x.Answer || x.Hops[0].Rate != 20e6 || x.Hops[0].Queue > 60*1514 ||
			format != "hpcc" && x.Hops[0].Sent < last {
			return fmt.Errorf("%s of %d hops after %d bytes: %+v", x.Format, len(x.Hops), last, x.Hops)
		}
		last = x.Hops[0].Sent
		records++
		return nil
	})
	if err != nil || records < 100 {
		t.Errorf("%s: %d records: %v", newest, records, err)
	}
}
