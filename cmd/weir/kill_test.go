package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kill -9 in the middle of a sweep, several times: the same command goes on with what
// was finished, and in the end the folder has the bytes of an undisturbed one.
func TestKill(t *testing.T) {
	binary := build(t)
	arguments := func(out string) []string {
		return []string{"run", "p4abc/fig5", "--set", "duration=10s", "--set", "repeat=2", "--jobs", "1", "--out", out}
	}
	good, out := t.TempDir(), t.TempDir()
	if text, err := exec.Command(binary, arguments(good)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	finished := func() int {
		runs, _ := filepath.Glob(filepath.Join(out, "*", "runs", "*.json"))
		return len(runs)
	}
	for _, at := range []int{1, 4, 9} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			cmd := exec.Command(binary, arguments(out)...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(30 * time.Second); finished() < at && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond)
			}
			cmd.Process.Kill()
			cmd.Wait()
		})
	}
	before := finished()
	if before < 9 || before >= 20 {
		t.Skipf("disturbed: %d of 20 runs were finished when it was killed: too fast or too slow to tell", before)
	}
	var stdout bytes.Buffer
	cmd := exec.Command(binary, arguments(out)...)
	cmd.Stdout = &stdout
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout.String(), "of the runs were there already") {
		t.Errorf("%d runs were finished, and none was found:\n%s", before, &stdout)
	}
	if err := same(tree(good), tree(out)); err != nil { // also nothing is left that was being written
		t.Error(err)
	}
}

// tree are the files of a folder but host.json and host.html.
func tree(dir string) map[string]string {
	files := map[string]string{}
	filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && !strings.HasPrefix(info.Name(), "host.") {
			data, _ := os.ReadFile(path)
			rel, _ := filepath.Rel(dir, path)
			files[rel] = string(data)
		}
		return err
	})
	return files
}

// everyKind leaves every kind of file that there is: runs, traces, inputs, tables, plots and a report.
const everyKind = `title: kinds
duration: 100ms
topology:
  hosts: [a, b, c]
  switches: [s]
  links: [{ends: [a, s], rate: 50Mbps, delay: 1ms}, {ends: [b, s], rate: 50Mbps, delay: 1ms},
    {ends: [s, c], rate: 10Mbps, delay: 1ms, buffer: 24 packets}]
switch: [forward]
traffic:
  - {name: x, from: a, to: c, transport: udp, rate: $rate, start: 0s}
  - {name: y, from: b, to: c, transport: tcp, sizes: {file: sizes.cdf}, load: 5%}
sweep: {rate: [1Mbps, 5Mbps, 20Mbps]}
repeat: 2
measure: [{goodput: {by: traffic}}, {queue: {port: s->c, every: 1ms}}, {fct: {by: traffic}}]
plot: [{x: rate, y: goodput}]
expect: [{id: a, says: something arrives, that: goodput.x > 0}]
`

// writeKinds writes everyKind, with so many seeds, and what it names.
func writeKinds(t *testing.T, repeat string) (file string) {
	t.Helper()
	dir := t.TempDir()
	text := strings.Replace(everyKind, "repeat: 2", "repeat: "+repeat, 1)
	for name, text := range map[string]string{"kinds.yaml": text, "sizes.cdf": "0 0\n1000 50\n100000 100\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "kinds.yaml")
}

// killAnywhere kills a sweep with traces so many times, whatever it writes just then. Whatever is in its place is
// whole, and in the end the folder has the bytes of an undisturbed one, and no more files.
func killAnywhere(t *testing.T, repeat string, kills int) {
	binary, file, good := build(t), writeKinds(t, repeat), t.TempDir()
	arguments := func(out string) []string { return []string{"run", file, "--trace", "*", "--out", out} }
	began := time.Now()
	if text, err := exec.Command(binary, arguments(good)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	length := time.Since(began)
	want := tree(good)
	kinds := map[string]int{}
	for name := range want {
		kinds[filepath.Ext(name)]++
	}
	for _, kind := range []string{".json", ".yaml", ".parquet", ".pcapng", ".txt", ".sha256", ".svg", ".html", ".cdf"} {
		if kinds[kind] == 0 {
			t.Errorf("there is no %s among %v", kind, kinds)
		}
	}
	out, killed := t.TempDir(), 0
	for k := range kills {
		if k%8 == 0 { // from the beginning
			out = t.TempDir()
		}
		c := exec.Command(binary, arguments(out)...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(length * time.Duration(k+1) / time.Duration(kills+1))
		c.Process.Kill()
		if c.Wait(); c.ProcessState.ExitCode() < 0 {
			killed++
		}
		for name, text := range tree(out) {
			if !strings.Contains(name, ".new-") && text != want[name] {
				t.Errorf("kill %d: %s has %d bytes, want %d, or others", k, name, len(text), len(want[name]))
			}
		}
	}
	if killed == 0 {
		t.Skip("disturbed: it was always faster than the kill")
	}
	if text, err := exec.Command(binary, arguments(out)...).CombinedOutput(); err != nil ||
		strings.Contains(strings.TrimPrefix(string(text), "notice: the traces of all runs take"), "notice: ") {
		t.Errorf("%v\n%s", err, text)
	}
	if err := same(want, tree(out)); err != nil {
		t.Error(err)
	}
}

// The long form is TestKillAnywhereLong, with -tags slow.
func TestKillAnywhere(t *testing.T) { killAnywhere(t, "2", 5) }

// Where seeds follow from what is measured, what is decided after a kill is what would have been.
func TestKillAnywhereByNeed(t *testing.T) { killAnywhere(t, fourByNeed, 5) }

// fourByNeed takes four seeds of everyKind.
const fourByNeed = "{measure: goodput.x, until: 30%, least: 2, most: 12}"

// Several processes with traces on one experiment, of which one is killed: the others take over what it had, and leave
// what one alone leaves.
func TestProcessesTogether(t *testing.T) {
	binary, file, good, out := build(t), writeKinds(t, "2"), t.TempDir(), t.TempDir()
	arguments := func(out string) []string { return []string{"run", file, "--trace", "*", "--jobs", "1", "--out", out} }
	if text, err := exec.Command(binary, arguments(good)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	first := begin(t, binary, arguments(out)...)
	first.await(t, "a trace", func() bool {
		parts, _ := filepath.Glob(filepath.Join(out, "*", "traces", ".new-*"))
		return len(parts) > 0
	})
	second, third := begin(t, binary, arguments(out)...), begin(t, binary, arguments(out)...)
	third.Process.Kill()
	third.Wait()
	for i, c := range []*child{first, second} {
		if err := c.Wait(); err != nil || !strings.Contains(c.stdout.String(), "6 of the runs have left a trace") {
			t.Errorf("process %d: %v\n%s%s", i, err, &c.stdout, &c.stderr)
		}
	}
	// what the killed one may have left is removed by the next, which finds all runs
	if text, err := exec.Command(binary, arguments(out)...).CombinedOutput(); err != nil ||
		!strings.Contains(string(text), "6 of the runs were there already") {
		t.Errorf("%v\n%s", err, text)
	}
	if err := same(tree(good), tree(out)); err != nil {
		t.Error(err)
	}
}

// kill -9 in the middle of a merge, at ten times: whatever is in its place is whole, and the same command goes on, to
// the bytes that one machine leaves.
func TestKillMerge(t *testing.T) {
	binary, file, all := build(t), writeKinds(t, "2"), t.TempDir()
	machine := func(flags ...string) string {
		out := t.TempDir()
		c := exec.Command(binary, append([]string{"run", file, "--trace", "*", "--out", out}, flags...)...)
		if text, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		dirs, _ := filepath.Glob(filepath.Join(out, "kinds-*"))
		return dirs[0]
	}
	good := machine("--seed", "1", "--set", "repeat=3")
	arguments := []string{"results", "merge", machine("--seed", "2", "--set", "repeat=2"),
		machine("--seed", "1", "--set", "repeat=1"), "--into", all}
	want := tree(good)
	began := time.Now()
	if text, err := exec.Command(binary, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	length, merged, killed := time.Since(began), filepath.Join(all, filepath.Base(good)), 0
	if err := same(want, tree(merged)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(merged); err != nil {
		t.Fatal(err)
	}
	for k := range 10 {
		c := exec.Command(binary, arguments...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(length * time.Duration(k+1) / 11)
		c.Process.Kill()
		if c.Wait(); c.ProcessState.ExitCode() < 0 {
			killed++
		}
		for name, text := range tree(merged) {
			if !strings.Contains(name, ".new-") && text != want[name] { // also tables: they come when all runs are there
				t.Errorf("kill %d: %s has %d bytes, want %d, or others", k, name, len(text), len(want[name]))
			}
		}
	}
	if killed == 0 {
		t.Skip("disturbed: it was always faster than the kill")
	}
	if text, err := exec.Command(binary, arguments...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	if err := same(want, tree(merged)); err != nil {
		t.Error(err)
	}
}
