//go:build system

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testkit/await"
)

// TestRun_ResumesAfterKill kills a sweep after its first run, after three more and after five more. Each time the
// same command continues from there, and at the end the folder has the bytes of an undisturbed one.
func TestRun_ResumesAfterKill(t *testing.T) {
	c := newKilledCommand(t, func(out string) []string {
		return []string{"run", "p4abc/fig5", "--set", "duration=1s", "--set", "repeat=2", "--jobs", "1", "--out", out}
	})
	out := c.folder(t)
	finished := 0
	for _, more := range []string{"1", "3", "5"} {
		c.kill(t, "kill after rename runs/*.json "+more, out)
		finished += int(more[0] - '0')
		if runs, _ := filepath.Glob(filepath.Join(out, "*", "runs", "*.json")); len(runs) != finished {
			t.Fatalf("%d runs are finished, want %d", len(runs), finished)
		}
	}
	text := c.runCommand(t, planKillpoints(t, ""), out)
	if !strings.Contains(text, "9 runs reused from earlier") {
		t.Errorf("it found other runs than the 9 finished ones:\n%s", text)
	}
	if err := same(c.want, tree(out)); err != nil { // no unfinished file is left either
		t.Error(err)
	}
}

// somePoints returns of each kind of moment, such as after a rename, the given number of points, spread evenly.
func (c *killedCommand) somePoints(each int) (points []int) {
	kinds := map[string][]int{}
	var order []string
	for i, line := range c.points {
		kind := strings.Join(strings.Fields(line)[:2], " ")
		if kinds[kind] == nil {
			order = append(order, kind)
		}
		kinds[kind] = append(kinds[kind], i)
	}
	for n, kind := range order {
		all := kinds[kind]
		for k := range min(each, len(all)) {
			points = append(points, all[(k*len(all)/each+n)%len(all)]) // n: kinds differ in the files that they meet
		}
	}
	return points
}

// TestKillAnywhere kills a sweep with traces at each kind of moment. TestKillEverywhere, in the slow stage, covers
// all points.
func TestKillAnywhere(t *testing.T) {
	c := newKilledCommand(t, traced(writeKinds(t, "2")))
	kinds := map[string]int{}
	for name := range c.want {
		kinds[filepath.Ext(name)]++
	}
	for _, kind := range []string{".json", ".yaml", ".parquet", ".pcapng", ".txt", ".sha256", ".svg", ".html", ".cdf"} {
		if kinds[kind] == 0 {
			t.Errorf("there is no %s among %v", kind, kinds)
		}
	}
	c.killAt(t, c.somePoints(2))
}

// TestKillAnywhereByNeed checks that decisions after a kill equal those of the undisturbed command if the number of
// seeds follows from the measured values.
func TestKillAnywhereByNeed(t *testing.T) {
	c := newKilledCommand(t, traced(writeKinds(t, fourByNeed)))
	c.killAt(t, c.somePoints(1))
}

// TestProcessesTogether runs one experiment in three processes, and kills one of them during a run. The others take
// that run over, and leave the files that a single process leaves.
func TestProcessesTogether(t *testing.T) {
	file := writeKinds(t, "2")
	c := newKilledCommand(t, traced(file))
	out := c.folder(t)
	start := func(k killpoints) *await.Process {
		cmd := exec.Command(c.program, c.args(out)...)
		cmd.Env = k.environ()
		return await.Start(t, cmd)
	}
	k := planKillpoints(t, "hold before rename traces/*.pcapng 1")
	victim := start(k)
	victim.AwaitCondition("the first trace", k.reached("held before rename traces/*.pcapng"))
	others := []*await.Process{start(planKillpoints(t, "")), start(planKillpoints(t, ""))}
	others[0].AwaitCondition("all other runs", func() bool {
		runs, _ := filepath.Glob(filepath.Join(out, "*", "runs", "*.json"))
		return len(runs) == 5
	})
	victim.Kill()
	for i, p := range others {
		if code := p.AwaitExit(); code != 0 || !strings.Contains(p.Stdout(), "traces of 6 runs are in") {
			t.Errorf("process %d: exit code %d\n%s", i, code, p.Output())
		}
	}
	// The next process removes the files that the killed one has left.
	if text := c.runCommand(t, planKillpoints(t, ""), out); !strings.Contains(text, "6 runs reused from earlier") {
		t.Error(text)
	}
	if err := same(c.want, tree(out)); err != nil {
		t.Error(err)
	}
}

// TestKillMerge kills a merge at each kind of moment. Each file in its place is complete, and the same command
// continues, to the bytes of a single machine.
func TestKillMerge(t *testing.T) {
	program, file := killpointsProgram(t), writeKinds(t, "2")
	machine := func(flags ...string) string {
		out := t.TempDir()
		cmd := exec.Command(program, append(traced(file)(out), flags...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		folders, _ := filepath.Glob(filepath.Join(out, "kinds-*"))
		return folders[0]
	}
	first, second := machine("--seed", "2", "--set", "repeat=2"), machine("--seed", "1", "--set", "repeat=1")
	c := newKilledCommand(t, func(out string) []string {
		return []string{"results", "merge", first, second, "--into", out}
	})
	one := machine("--seed", "1", "--set", "repeat=3")
	all := map[string]string{}
	for name, text := range tree(one) {
		all[filepath.Join(filepath.Base(one), name)] = text
	}
	if err := same(all, c.want); err != nil {
		t.Fatal(err)
	}
	c.killAt(t, c.somePoints(1))
}

// TestNoKillpoints checks that the program that users get has no killpoints.
func TestNoKillpoints(t *testing.T) {
	for _, x := range []struct {
		program string
		has     bool
	}{{await.RequireProgram(t, "cmd/weir"), false}, {killpointsProgram(t), true}} {
		data, err := os.ReadFile(x.program)
		if err != nil {
			t.Fatal(err)
		}
		for _, variable := range []string{"WEIR_KILLPOINTS", "WEIR_GRACE"} {
			if strings.Contains(string(data), variable) != x.has {
				t.Errorf("%s: it has %s: %v, want %v", x.program, variable, !x.has, x.has)
			}
		}
	}
}
