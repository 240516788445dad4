package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// made returns a turn without a run. It has the given seconds on one thread, and half of them and some more on several.
func made(s TurnSpec, seconds float64) *Turn {
	t := &Turn{TurnSpec: s, Wall: seconds, CPU: seconds, PacketHops: 1_000_000, Events: 5, Flows: s.Hosts, SetUp: 0.5,
		FCTHash: "same", Peak: 1000 * uint64(s.Hosts), Calibrated: 1e6}
	if s.Threads > 1 {
		t.Wall, t.CPU = seconds/1.6, seconds*1.25
	}
	return t
}

// TestScale_ReportsMediansPerSize checks that each size and load is reported by the medians of its rounds. The largest
// size has one round.
func TestScale_ReportsMediansPerSize(t *testing.T) {
	n := 0
	f, err := Scale(context.Background(), []int{16, 65536}, TurnOptions{Rounds: 3, RunTurn: func(_ context.Context,
		s TurnSpec) (*Turn, error) {
		n++
		return made(s, []float64{0.1, 5, 0.2}[n%3]), nil
	}})
	if err != nil || len(f.Rows) != 4 || n != 3*2+2 || len(f.Rows[3].Turns) != 1 {
		t.Fatalf("%v: %d turns, %+v", err, n, f)
	}
	if r := f.Rows[0]; r.NsPerHop != 200 && r.NsPerHop != 5000 && r.NsPerHop != 100 || r.PerHost != 1000 ||
		r.SetUp != 0.5 {
		t.Errorf("%+v", r)
	}
	speed, memory, err := f.SVG()
	if err != nil || !strings.Contains(string(speed), "permutation") || !strings.Contains(string(memory), "websearch") {
		t.Errorf("%v: %.100s", err, speed)
	}
	for _, text := range []string{f.String(), f.Markdown(), string(f.JSON())} {
		if !strings.Contains(text, "65536") {
			t.Error(text)
		}
	}
	for _, l := range strings.Split(f.String(), "\n") {
		if len(l) > 80 {
			t.Errorf("%d columns: %s", len(l), l)
		}
	}
	if _, err := Scale(context.Background(), []int{100}, TurnOptions{Rounds: 1}); err == nil {
		t.Error("a fat tree of 100 hosts")
	}
}

// TestThreads_DiscardsDisturbedRounds checks that disturbed rounds are discarded and counted. Results that differ are
// an error.
func TestThreads_DiscardsDisturbedRounds(t *testing.T) {
	n := 0
	do := func(_ context.Context, s TurnSpec) (*Turn, error) {
		turn := made(s, 1)
		if n++; n%6 == 0 {
			turn.OthersShare = 0.2
		}
		return turn, nil
	}
	f, err := Threads(context.Background(), 2, TurnOptions{Rounds: 3, RunTurn: do})
	if err != nil {
		t.Fatal(err)
	}
	discarded := 0
	for _, r := range f.Rows {
		discarded += r.Discarded
		if r.Rounds != 3 || r.SpeedUp < 1.59 || r.SpeedUp > 1.61 || r.MoreCPU != 1.25 {
			t.Errorf("%+v", r)
		}
	}
	if discarded == 0 || !strings.Contains(f.String(), "auto (2)") || !strings.Contains(f.Markdown(), "| 1.60 |") {
		t.Errorf("%d discarded\n%s", discarded, f)
	}
	busy, err := Threads(context.Background(), 2, TurnOptions{Rounds: 2, RunTurn: func(_ context.Context,
		s TurnSpec) (*Turn, error) {
		turn := made(s, 1)
		turn.OthersShare = 0.5
		return turn, nil
	}})
	if err != nil || busy.Rows[0].Discarded != 2*maxTries || busy.Rows[0].SpeedUp != 0 {
		t.Errorf("all disturbed: %v, %+v", err, busy.Rows[0])
	}
	if _, err := Threads(context.Background(), 2, TurnOptions{Rounds: 1, RunTurn: func(_ context.Context,
		s TurnSpec) (*Turn, error) {
		turn := made(s, 1)
		if s.Threads > 1 {
			turn.FCTHash = "another"
		}
		return turn, nil
	}}); err == nil {
		t.Error("other flow completion times are no error")
	}
	fails := errors.New("it fails")
	if _, err := Threads(context.Background(), 2, TurnOptions{Rounds: 1, RunTurn: func(context.Context, TurnSpec) (*Turn,
		error) {
		return nil, fails
	}}); !errors.Is(err, fails) {
		t.Errorf("%v", err)
	}
}

// TestReplaceText_ReplacesOneBlock checks that only one block of a page is replaced. A page without it is refused.
func TestReplaceText_ReplacesOneBlock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("# Page\n<!-- a -->\nold\n<!-- /a -->\n<!-- b -->\n<!-- /b -->\nend\n")
	for range 2 {
		if err := ReplaceText(file, "a", "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	data, _ := os.ReadFile(file)
	if want := "# Page\n<!-- a -->\n\nnew\n\n<!-- /a -->\n<!-- b -->\n<!-- /b -->\nend\n"; string(data) != want {
		t.Errorf("got %q", data)
	}
	if err := ReplaceText(file, "c", "new"); err == nil || !strings.Contains(err.Error(), "<!-- c -->") {
		t.Errorf("no place: %v", err)
	}
	write("<!-- a -->\nnever closed\n")
	if err := ReplaceText(file, "a", "new"); err == nil {
		t.Error("a block without an end")
	}
}
