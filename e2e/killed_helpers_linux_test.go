//go:build lab || slow

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
)

// killable is a lab that a test kills, with the test's records of it. Its processes, with any parent, have a mark
// in their environment.
type killable struct {
	*await.Process
	mark       string
	processes  map[int]string // command lines of processes that were seen
	namespaces []string
	numbers    map[string]string // of namespaces, by which the kernel reports whether they and their interfaces live
	bpf        []string          // kinds and numbers
	cgroups    []string          // folders, other than the test's
	iperf3     bool              // iperf3 sends
}

// labsStarted counts the labs of this test process.
var labsStarted atomic.Int64

// startKillable starts a lab that a test kills.
func startKillable(try *realtime.Try, args ...string) *killable {
	try.Helper()
	k := &killable{mark: fmt.Sprintf("WEIR_TEST=%d-%d", os.Getpid(), labsStarted.Add(1)), processes: map[int]string{},
		numbers: map[string]string{}}
	cmd := exec.Command(await.RequireProgram(try, "cmd/weir"), args...)
	cmd.Env = append(os.Environ(), k.mark)
	k.Process = await.Start(try, cmd)
	return k
}

// living returns the lab's present processes.
func (k *killable) living() map[int]string {
	out := map[int]string{}
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range all {
		b, _ := os.ReadFile(name)
		if !slices.Contains(strings.Split(string(b), "\x00"), k.mark) {
			continue
		}
		var pid int
		fmt.Sscanf(name, "/proc/%d/", &pid)
		words, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		out[pid] = string(bytes.ReplaceAll(words, []byte{0}, []byte{' '}))
	}
	return out
}

// process returns the living process with these words in its command line, or the lab's first process if words is
// empty. It returns 0 without one.
func (k *killable) process(words string) int {
	if words == "" {
		return k.PID()
	}
	for pid, of := range k.living() {
		if pid != k.PID() && strings.Contains(of, words) {
			return pid
		}
	}
	return 0
}

// recordResources records the processes, namespaces and BPF objects that exist.
func (k *killable) recordResources() {
	processes := k.living()
	maps.Copy(k.processes, processes)
	k.namespaces = append(k.namespaces, namespacesOf(k.PID())...)
	slices.Sort(k.namespaces)
	k.namespaces = slices.Compact(k.namespaces)
	ours, _ := os.ReadFile("/proc/self/cgroup")
	for pid := range processes {
		k.bpf = append(k.bpf, objects(pid)...)
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)); err == nil && !bytes.Equal(b, ours) {
			for line := range strings.Lines(string(b)) {
				if _, path, ok := strings.Cut(strings.TrimSpace(line), "::"); ok {
					k.cgroups = append(k.cgroups, "/sys/fs/cgroup"+path)
				}
			}
		}
	}
	slices.Sort(k.bpf)
	k.bpf = slices.Compact(k.bpf)
	for _, name := range k.namespaces {
		if k.numbers[name] == "" && exec.Command("ip", "netns", "set", name, "auto").Run() == nil {
			out, _ := exec.Command("ip", "netns", "list-id").Output()
			if m := regexp.MustCompile(`(?m)^nsid (\d+) .*name: ` + name + `\)`).FindSubmatch(out); m != nil {
				k.numbers[name] = string(m[1])
			}
		}
	}
}

// objects returns the BPF programs, maps and links that a process has open.
func objects(pid int) (all []string) {
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	of := regexp.MustCompile(`(?m)^(prog|map|link)_id:\s*(\d+)$`)
	for _, name := range names {
		b, _ := os.ReadFile(name)
		for _, m := range of.FindAllSubmatch(b, -1) {
			all = append(all, fmt.Sprintf("%s %s", m[1], m[2]))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// lives reports whether the kernel has a BPF object still.
func lives(object string) bool {
	var kind string
	var id uint32
	fmt.Sscan(object, &kind, &id)
	var err error
	switch kind {
	case "prog":
		var p *ebpf.Program
		if p, err = ebpf.NewProgramFromID(ebpf.ProgramID(id)); err == nil {
			p.Close()
		}
	case "map":
		var m *ebpf.Map
		if m, err = ebpf.NewMapFromID(ebpf.MapID(id)); err == nil {
			m.Close()
		}
	case "link":
		var l link.Link
		if l, err = link.NewFromID(link.ID(id)); err == nil {
			l.Close()
		}
	}
	return !errors.Is(err, os.ErrNotExist)
}

// left returns the resources that still exist.
func (k *killable) left() (all []string) {
	for pid, words := range k.living() {
		k.processes[pid] = words
	}
	for pid, words := range k.processes {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		own, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // the number may be another's by now
		if err == nil && !strings.Contains(string(b), ") Z ") && strings.Contains(string(own), k.mark) {
			all = append(all, "process "+words)
		}
	}
	records, _ := filepath.Glob("/run/weir/lab-*")
	for _, name := range records {
		if b, _ := os.ReadFile(name); strings.HasPrefix(string(b), fmt.Sprintf("owner %d\n", k.PID())) {
			all = append(all, "record "+name)
		}
	}
	for _, name := range append(existing(k.namespaces), existing(namespacesOf(k.PID()))...) {
		all = append(all, "namespace "+name)
	}
	numbers, _ := exec.Command("ip", "netns", "list-id").Output()
	for name, number := range k.numbers {
		// Connections that a dead iperf3 has left open hold their hosts' namespaces until TCP drops them. Each interface
		// is still removed with its other end, which is in the data plane's namespace.
		if k.iperf3 && !strings.HasSuffix(name, "@dataplane") {
			continue
		}
		if regexp.MustCompile(`(?m)^nsid ` + number + `\b`).Match(numbers) {
			all = append(all, "what had the name "+name+", with its interfaces")
		}
	}
	for _, x := range k.bpf {
		if lives(x) {
			all = append(all, "BPF "+x)
		}
	}
	for _, folder := range k.cgroups {
		if _, err := os.Stat(folder); err == nil {
			all = append(all, "cgroup "+folder)
		}
	}
	return all
}

// afterKill limits the lifetime of a lab's remains after one of its processes was killed (docs/lab.md).
const afterKill = 2 * time.Second

// kill kills the process whose command line has the victim, or weir for "". Then the whole lab disappears, within
// afterKill if no process had to wait for a processor. Unless weir was the victim it ends by itself, with exit code 1
// and the text that is wanted.
func (k *killable) kill(try *realtime.Try, victim, want string) {
	try.Helper()
	k.recordResources()
	pid := k.process(victim)
	if pid == 0 {
		try.Fatalf("no %s among %v: %s", victim, k.processes, k.Stderr())
	}
	waited, killed := waitedForProcessors(), time.Now()
	syscall.Kill(pid, syscall.SIGKILL)
	code := k.AwaitExit()
	last := ""
	await.AwaitCondition(try, fmt.Sprintf("the end of the lab after %q was killed", victim), func() bool {
		left := strings.Join(k.left(), ", ")
		if left != "" {
			last = left
		}
		return left == ""
	})
	took := time.Since(killed)
	if waited = waitedForProcessors() - waited; waited > 100*time.Millisecond {
		try.NoteDisturbed(fmt.Sprintf("processes that waited %v for a processor", waited))
	}
	try.Logf("%q killed of %d processes, %d namespaces (%d by number), %d BPF objects: the end after %v", victim,
		len(k.processes), len(k.namespaces), len(k.numbers), len(k.bpf), took.Round(time.Millisecond))
	if took > afterKill {
		try.Errorf("the lab has disappeared after %v, want %v; the last parts were %s", took, afterKill, last)
	}
	if victim != "" && (code != 1 || !strings.Contains(k.Output(), want)) {
		try.Errorf("%q killed: exit code %d, want 1 and %q: %s", victim, code, want, k.Output())
	}
}

// waitedForProcessors returns the total time in which some process of the machine waited for a processor.
func waitedForProcessors() time.Duration {
	text, _ := os.ReadFile("/proc/pressure/cpu")
	_, total, _ := strings.Cut(string(text), "total=")
	us, _ := strconv.ParseInt(strings.Fields(total + " 0")[0], 10, 64)
	return time.Duration(us) * time.Microsecond
}

// besideOwn are flows of the kernel's TCP and of Weir's own hosts, which are in two processes.
const besideOwn = "  - {name: x, from: a, to: b, transport: rdma, cc: dctcp, start: 0s}\n" +
	"  - {name: y, from: a, to: b, transport: tcp, start: 0s}\n"
