//go:build slow || system

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// everyKind leaves every kind of file that weir writes: runs, traces, inputs, tables, plots and a report.
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

// fourByNeed is a repeat of everyKind that takes four seeds.
const fourByNeed = "{measure: goodput.x, until: 30%, least: 2, most: 12}"

// writeKinds writes everyKind with the given repeat, and its input file.
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

// killedCommand is a command that is killed at counted operations.
type killedCommand struct {
	program string
	args    func(out string) []string // the command that writes into folder out
	want    map[string]string         // the files that the undisturbed command leaves
	points  []string                  // the moments of the undisturbed command's operations, in their order
}

// newKilledCommand runs a command undisturbed, and logs its operations.
func newKilledCommand(t *testing.T, args func(out string) []string) *killedCommand {
	t.Helper()
	c := &killedCommand{program: killpointsProgram(t), args: args}
	k, out := planKillpoints(t, ""), c.folder(t)
	c.runCommand(t, k, out)
	c.want, c.points = tree(out), k.log()
	if len(c.want) == 0 || len(c.points) < 20 {
		t.Fatalf("the undisturbed command leaves %d files after %q", len(c.want), c.points)
	}
	return c
}

// folder returns a folder to be made. Its name and its parents' names are the same each time, as the log has them.
func (c *killedCommand) folder(t *testing.T) string {
	t.Helper()
	parent := filepath.Join(t.TempDir(), "parents", "parent")
	if err := os.MkdirAll(parent, 0o777); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(parent, "out")
}

// runCommand runs the command, which must succeed, and returns its output.
func (c *killedCommand) runCommand(t *testing.T, k killpoints, out string) string {
	t.Helper()
	cmd := exec.Command(c.program, c.args(out)...)
	cmd.Env = k.environ()
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text)
}

// kill runs the command into a folder, and kills it by a plan.
func (c *killedCommand) kill(t *testing.T, plan, out string) {
	t.Helper()
	cmd := exec.Command(c.program, c.args(out)...)
	cmd.Env = planKillpoints(t, plan).environ()
	text, _ := cmd.CombinedOutput()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("%s: it ended with %v\n%s", plan, cmd.ProcessState, text)
	}
}

// plan returns the plan that kills the command at one of its points.
func (c *killedCommand) plan(point int) string {
	count := 0
	for _, line := range c.points[:point+1] {
		if line == c.points[point] {
			count++
		}
	}
	return fmt.Sprintf("kill %s %d", c.points[point], count)
}

// killAt kills the command at each of some points. Each file in its place is whole after that. The same command then
// leaves the bytes of the undisturbed one, and no more files.
func (c *killedCommand) killAt(t *testing.T, points []int) {
	for _, i := range points {
		plan := c.plan(i)
		t.Run(plan, func(t *testing.T) {
			t.Parallel()
			out := c.folder(t)
			c.kill(t, plan, out)
			for name, text := range tree(out) {
				if !strings.Contains(name, ".new-") && text != c.want[name] {
					t.Errorf("%s has %d bytes, want %d, or others", name, len(text), len(c.want[name]))
				}
			}
			text := c.runCommand(t, planKillpoints(t, ""), out)
			if strings.Contains(strings.TrimPrefix(text, "notice: the traces of all runs take"), "notice: ") {
				t.Errorf("it reports %s", text)
			}
			if err := same(c.want, tree(out)); err != nil {
				t.Error(err)
			}
		})
	}
}

// log returns the lines of the log so far.
func (k killpoints) log() []string {
	text, _ := os.ReadFile(filepath.Join(k.folder, "log"))
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// traced returns the command that runs a file with all traces, one run at a time.
func traced(file string) func(out string) []string {
	return func(out string) []string { return []string{"run", file, "--trace", "*", "--jobs", "1", "--out", out} }
}

// machineFiles begins the names of files that describe the machine.
const machineFiles = "host."

// tree returns the files of a folder by name, but host.json and host.html.
func tree(dir string) map[string]string {
	files := map[string]string{}
	filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && !strings.HasPrefix(info.Name(), machineFiles) {
			data, _ := os.ReadFile(path)
			rel, _ := filepath.Rel(dir, path)
			files[rel] = string(data)
		}
		return err
	})
	return files
}

// same compares two results of tree.
func same(a, b map[string]string) error {
	for name, x := range a {
		if y, ok := b[name]; !ok {
			return fmt.Errorf("%s is missing", name)
		} else if x != y {
			return fmt.Errorf("%s differs", name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			return fmt.Errorf("%s is additional", name)
		}
	}
	return nil
}
