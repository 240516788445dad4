//go:build lab

package e2e

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/testkit/await"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
)

// TestReplayOwnHostsOnLab checks that a capture of Weir's own hosts in the lab has the received and sent frames,
// and the order in which late frames were handled. The simulator's hosts reproduce the sent frames from the
// received ones byte for byte, with timers at their due times to the picosecond. A changed byte in the capture is
// reported with its place.
func TestReplayOwnHostsOnLab(t *testing.T) {
	needRoot(t)
	program, dir := await.RequireProgram(t, "cmd/weir"), t.TempDir()
	file := filepath.Join(dir, "replay.yaml")
	text := fmt.Appendf(nil, pairOfHosts, "1s", "[forward, {ecn: {}}]",
		"  - {name: x, from: a, to: b, transport: {tcp: {stack: weir}}, cc: dctcp, start: 0s}\n")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", file, "--on", "lab", "--out", dir, "--attempts", "1", "--json", "--capture", "hosts"}
	data, err := exec.Command(program, args...).Output() // an error is one of the run's, too
	var doc labDocument
	if json.Unmarshal(data, &doc) != nil || len(doc.Runs) != 1 || len(doc.Runs[0].Attempts[0].Replays) != 1 {
		t.Fatalf("%v: %s%s", err, said(err), data)
	}
	if x := doc.Runs[0].Attempts[0].Replays[0]; x.Difference != "" || x.In < 500 || x.Out < 500 || x.Switch != "hosts" {
		t.Fatalf("%+v", x)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "replay-*-lab", "captures", "*-hosts.pcapng"))
	if len(found) != 1 {
		t.Fatalf("captures: %v", found)
	}
	s := plantest.LoadSource(t, app.Registry(), &experiment.Source{Name: "replay", File: file, Data: text},
		experiment.Options{})
	one := plan.ListRunsOn(s, experiment.Lab)[0]
	if x, err := run.ReplayHostsFile(one, found[0]); err != nil || x.Difference != "" {
		t.Errorf("again: %+v, %v", x, err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	le, n := binary.LittleEndian, 0
	for at := 0; at < len(b); at += int(le.Uint32(b[at+4:])) {
		if le.Uint32(b[at:]) != 6 || le.Uint32(b[at+8:])%3 != 0 || le.Uint32(b[at+8:]) != 0 { // what a sends
			continue
		}
		if n++; n == 300 {
			b[at+28+45] ^= 1 // behind the block's header: of the frame
			break
		}
	}
	changed := filepath.Join(dir, "changed.pcapng")
	if err := os.WriteFile(changed, b, 0o666); err != nil {
		t.Fatal(err)
	}
	const want = "the frames (byte 45) of sent packet 300 differ"
	if x, err := run.ReplayHostsFile(one, changed); err != nil || !strings.Contains(x.Difference, want) {
		t.Errorf("a changed byte: %.300s, %v; want %q", x.Difference, err, want)
	}
	if out, err := exec.Command(program, args...).Output(); err != nil || len(out) == 0 {
		t.Errorf("the same command again: %v", said(err))
	}
	// A run of Linux' hosts has no Weir hosts to capture.
	linux := filepath.Join(dir, "linux.yaml")
	text = fmt.Appendf(nil, pairOfHosts, "1s", "[forward]", "  - {name: x, from: a, to: b, transport: tcp, start: 0s}\n")
	if err := os.WriteFile(linux, text, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "run", linux, "--on", "lab", "--out", dir, "--capture", "hosts").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the experiment has no Weir hosts") {
		t.Errorf("%v: %s", err, out)
	}
}
