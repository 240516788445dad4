//go:build lab

package e2e

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
)

// TestCaptureOnLab checks that a capture is a source of traffic in both worlds. A run replays the TCP and datagrams
// of another one as packets, from Linux and from Weir's own hosts, and as connections. Goodput in the simulator and
// in the lab agrees within a tenth.
func TestCaptureOnLab(t *testing.T) {
	needRoot(t)
	binary, dir := await.RequireProgram(t, "cmd/weir"), t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const network = `duration: 1500ms
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 40Mbps, delay: 2ms}
    - {ends: [s, b], rate: 20Mbps, delay: 2ms, buffer: 60 packets}
switch: [forward]
`
	first := write("first.yaml", network+`traffic:
  - {name: x, from: a, to: b, transport: tcp, size: 600kB, start: 0s}
  - {name: y, from: b, to: a, transport: udp, rate: 2Mbps, size: 200kB, start: 100ms}
measure: [goodput]
`)
	if out, err := exec.Command(binary, "run", first, "--out", dir, "--trace", "a->s,b->s").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "first-*", "traces", "*.pcapng"))
	if len(found) != 1 {
		t.Fatalf("traces: %v", found)
	}
	again := write("again.yaml", strings.Replace(network, "20Mbps", "100Mbps", 1)+strings.ReplaceAll(`traffic:
  - {name: kernel, file: FILE, as: packets, interfaces: b*, transport: udp}
  - {name: weir, file: FILE, as: packets, interfaces: a*, transport: {udp: {stack: weir}}}
  - {name: flows, file: FILE, as: flows, transport: tcp}
measure: [goodput, loss, unfinished]
`, "FILE", found[0]))
	realtime.Test(t, func(try *realtime.Try) {
		doc := runOnLab(try, try.TempDir(), again)
		if len(doc.Runs) != 1 || len(doc.Simulator.Runs) != 1 {
			try.Fatalf("%d runs, %d in the simulator", len(doc.Runs), len(doc.Simulator.Runs))
		}
		got, want := doc.Runs[0].values(try, "goodput_bps"), doc.Simulator.Runs[0].values(try, "goodput_bps")
		for _, name := range []string{"kernel", "weir", "flows"} {
			if math.Abs(got[name]/want[name]-1) > 0.1 || want[name] < 100e3 {
				try.Errorf("goodput of %s %v, in the simulator %v", name, got[name], want[name])
			}
		}
	})
}
