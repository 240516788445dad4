//go:build slow

package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"weir/internal/testkit"
)

// cpuTime is the line of ns-3's output that differs from run to run.
var cpuTime = regexp.MustCompile(`(?m)^(cpu_s|set_up_s) .*$`)

// TestPeers_ComparesWithNS3 compares Weir with ns-3 as Peers does. With -update it records ns-3's output for
// TestPeersRecorded.
func TestPeers_ComparesWithNS3(t *testing.T) {
	p := &peerBench{Meters: MachineMeters(), repeats: peerRepeats, output: func(ctx context.Context, program string,
		args ...string) ([]byte, error) {
		out, err := runProgram(ctx, program, args...)
		if err != nil || filepath.Base(program) != "peer" || !testkit.IsUpdating() {
			return out, err
		}
		input, err := os.ReadFile(args[0])
		if err != nil {
			return nil, err
		}
		file, head := recordingOf(input)
		testkit.GoldenFile(t, file, head+cpuTime.ReplaceAllString(string(out), "$1 1"))
		return out, nil
	}}
	f, err := p.runAll(t.Context(), turnRegistry(nil), 4, TurnOptions{Rounds: 1})
	if errors.Is(err, errNoPeer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	checkPeers(t, f)
}
