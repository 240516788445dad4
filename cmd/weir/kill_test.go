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
	tree := func(out string) map[string]string {
		files := map[string]string{}
		filepath.Walk(out, func(path string, info os.FileInfo, err error) error {
			if err == nil && !info.IsDir() && info.Name() != "host.json" {
				data, _ := os.ReadFile(path)
				rel, _ := filepath.Rel(out, path)
				files[rel] = string(data)
			}
			return err
		})
		return files
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
	got := tree(out)
	for name := range got { // what kill -9 leaves of a file that was being written
		if strings.Contains(filepath.Base(name), ".new-") {
			delete(got, name)
		}
	}
	if err := same(tree(good), got); err != nil {
		t.Error(err)
	}
}
