//go:build lab

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/core/trace"
	"weir/internal/pcapng"
	"weir/internal/testkit/realtime"
	"weir/internal/testkit/wiretest"
)

// TestOwnHostsOnLab checks that Weir's own hosts send real packets: HPCC++ with every format of telemetry that its
// law can read, and transports that no kernel here has. They also run next to the kernel's TCP between the same
// hosts, which does not answer their packets. The simulator replays the switch and the hosts byte for byte.
func TestOwnHostsOnLab(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
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
		// A fixed queue marks packets, so that no loss decides how long it takes.
		{"flows after flows, until all are done", "60s", "[forward, {ecn: {kmin: 5 packets, kmax: 5 packets, pmax: 100%}}]",
			"  - {name: x, job: {all_reduce_flows: {size: 2MB}}, hosts: [a, b], transport: rdma, cc: dctcp}\n" +
				strings.Replace(fmt.Sprintf(one, "udp, rate: 1Mbps, size: 90kB"),
					"x", "y", 1)},
	} {
		t.Run(x.name, func(t *testing.T) {
			file := filepath.Join(dir, strings.ReplaceAll(x.name, " ", "-")+".yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, pairOfHosts, x.duration, x.programs, x.traffic), 0o666); err != nil {
				t.Fatal(err)
			}
			realtime.Test(t, func(try *realtime.Try) {
				ownHosts(try, file, x.name, strings.Contains(x.programs, "telemetry"))
			})
		})
	}
}

// ownHosts runs a file of TestOwnHostsOnLab. The first word of a name with telemetry is the format.
func ownHosts(try *realtime.Try, file, name string, telemetry bool) {
	dir := try.TempDir()
	doc := runOnLab(try, dir, file, "--capture", "s,hosts")
	if len(doc.Runs) != 1 || len(doc.Simulator.Runs) != 1 {
		try.Fatalf("%d runs, %d in the simulator", len(doc.Runs), len(doc.Simulator.Runs))
	}
	r := &doc.Runs[0]
	a := &r.Attempts[0]
	if a.Hosts == nil || a.Hosts.Frames < 100 || len(a.Replays) != 2 || a.Replays[0].Difference != "" ||
		a.Replays[0].In < 200 || a.Replays[1].Difference != "" || a.Replays[1].Out < 100 ||
		a.Replays[1].Switch != "hosts" || a.WallS > 55 { // of 60 s: the last one ends when all flows are done
		try.Fatalf("hosts and replays: %+v", a)
	}
	if telemetry {
		decoded(try, dir, strings.Fields(name)[0])
	}
	carried(try, r.values(try, "goodput_bps"), doc.Simulator.Runs[0].values(try, "goodput_bps"),
		strings.HasPrefix(name, "beside"))
}

// carried requires at least 0.8 of the simulator's goodput. Rivals share a second by chance: each needs that share
// of its half, and their sum needs it of the whole.
func carried(try *realtime.Try, got, want map[string]float64, rivals bool) {
	try.Helper()
	const share = 0.8
	least, sum, wanted := share, 0.0, 0.0
	if rivals {
		least = share / 2
	}
	for name, w := range want {
		if w == 0 || got[name] < least*w {
			try.Errorf("goodput of %s %v, in the simulator %v", name, got[name], w)
		}
		sum, wanted = sum+got[name], wanted+w
	}
	if try.Logf("goodputs %v, in the simulator %v", got, want); sum < share*wanted {
		try.Errorf("their sum is %v, in the simulator %v", sum, wanted)
	}
}

// decoded reads the newest capture in a folder by the specification of a format. It checks every frame with all its
// lengths and checksums, and one record in each frame from the switch to the receiver.
func decoded(t testing.TB, dir, format string) {
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
