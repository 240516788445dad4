package main

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
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// afterKill is how long anything of a lab may last when one of its processes has been killed.
const afterKill = 2 * time.Second

// killable is a lab that is to be killed, and what has been seen of it. Its processes are told by a word of their
// environment, whoever their parent is.
type killable struct {
	*child
	mark       string
	processes  map[int]string // that were seen, with their words
	namespaces []string
	numbers    map[string]string // of namespaces, by which the kernel tells whether they and their interfaces live
	bpf        []string          // kinds and numbers
	cgroups    []string          // folders, other than ours
	iperf3     bool              // iperf3 sends
}

// kills begins a lab that is to be killed.
func kills(t *testing.T, binary string, args ...string) *killable {
	t.Helper()
	k := &killable{mark: fmt.Sprintf("WEIR_TEST=%d-%d", os.Getpid(), time.Now().UnixNano()), processes: map[int]string{},
		numbers: map[string]string{}}
	k.child = &child{Cmd: exec.Command(binary, args...)}
	k.Stdout, k.Stderr, k.Env, k.WaitDelay = &k.stdout, &k.stderr, append(os.Environ(), k.mark), afterKill
	if err := k.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Process.Kill() })
	return k
}

// living are its processes now.
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

// process is the living one whose words have these, or the lab's first for none; 0: there is none.
func (k *killable) process(words string) int {
	if words == "" {
		return k.Process.Pid
	}
	for pid, of := range k.living() {
		if pid != k.Process.Pid && strings.Contains(of, words) {
			return pid
		}
	}
	return 0
}

// look notes what there is of it.
func (k *killable) look(t *testing.T) {
	t.Helper()
	processes := k.living()
	maps.Copy(k.processes, processes)
	k.namespaces = append(k.namespaces, namespacesOf(t, k.Process.Pid)...)
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

// objects are the BPF programs, maps and links that a process has open.
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

// left is what there is still.
func (k *killable) left(t *testing.T) (all []string) {
	t.Helper()
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
		if b, _ := os.ReadFile(name); strings.HasPrefix(string(b), fmt.Sprintf("owner %d\n", k.Process.Pid)) {
			all = append(all, "record "+name)
		}
	}
	for _, name := range append(existing(k.namespaces), existing(namespacesOf(t, k.Process.Pid))...) {
		all = append(all, "namespace "+name)
	}
	numbers, _ := exec.Command("ip", "netns", "list-id").Output()
	for name, number := range k.numbers {
		// Connections that a dead iperf3 has left open hold their hosts' namespaces until TCP gives them up. Each
		// interface goes all the same with its other end, which is in the data plane's.
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

// kill kills the process whose words have the victim's, or the lab's first for none. Nothing of the lab may be left two
// seconds later; one whose first process was not the victim has ended by itself, with exit code 1, and says why.
func (k *killable) kill(t *testing.T, victim, want string) {
	t.Helper()
	k.look(t)
	pid := k.process(victim)
	if pid == 0 {
		t.Fatalf("no %s among %v: %s", victim, k.processes, &k.stderr)
	}
	began := time.Now()
	syscall.Kill(pid, syscall.SIGKILL)
	ended := make(chan struct{})
	go func() { k.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(afterKill):
		t.Errorf("%q killed: the lab runs on", victim)
		k.Process.Kill()
		<-ended
	}
	took := time.Since(began)
	var left []string
	for {
		if left = k.left(t); len(left) == 0 || time.Since(began) > afterKill {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("%q killed of %d processes, %d namespaces (%d told by number), %d BPF objects: ended after %v, all "+
		"gone after %v", victim, len(k.processes), len(k.namespaces), len(k.numbers), len(k.bpf),
		took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if len(left) > 0 {
		t.Errorf("%q killed: after %v there still are %s", victim, afterKill, strings.Join(left, ", "))
	}
	if victim == "" {
		return
	}
	said := k.stdout.String() + k.stderr.String()
	if code := k.ProcessState.ExitCode(); code != 1 || !strings.Contains(said, want) {
		t.Errorf("%q killed: exit code %d, %q, want %q", victim, code, said, want)
	}
}

// besideOwn are flows of the kernel's TCP and of Weir's own hosts, which are in two processes.
const besideOwn = "  - {name: x, from: a, to: b, transport: rdma, cc: dctcp, start: 0s}\n" +
	"  - {name: y, from: a, to: b, transport: tcp, start: 0s}\n"

// A data plane, hosts of Weir's own or an iperf3 that are killed are the end of their run, with what happened (exit
// code 1). A weir that is killed takes all with it; its janitor removes the rest. Nothing is left two seconds later.
func TestKilledOnLab(t *testing.T) {
	needRoot(t)
	binary, dir := build(t), t.TempDir()
	const into = 800 * time.Millisecond // the run
	own := fmt.Sprintf(pairOfHosts, "30s", "[forward, {ecn: {}}]", strings.SplitAfter(besideOwn, "\n")[0])
	both := fmt.Sprintf(pairOfHosts, "30s", "[forward, {ecn: {}}]", besideOwn)
	for _, x := range []struct {
		name, victim, generator, text, want string
		processes                           int
		after                               time.Duration // they run
	}{
		{"data plane", "lab-dataplane", "weir", longRun, "lab: data plane: signal: killed", 3, into},
		{"own hosts", "lab-hosts", "weir", own, "lab: hosts: signal: killed", 4, into},
		{"own hosts beside the kernel's", "lab-hosts", "weir", both, "lab: hosts: signal: killed", 4, into},
		{"data plane of own hosts", "lab-dataplane", "weir", both, "lab: data plane: signal: killed", 4, into},
		{"data plane of iperf3", "lab-dataplane", "iperf3", longRun, "lab: data plane: signal: killed", 5, into},
		{"iperf3 that receives", "iperf3 -s", "iperf3", longRun, "iperf: flow 0: ", 5, into},
		{"iperf3 that sends", "iperf3 -c", "iperf3", longRun, "iperf: flow 0: client: signal: killed", 5, into},
		{"weir", "", "weir", longRun, "", 3, into},
		{"weir with own hosts", "", "weir", both, "", 4, into},
		{"weir with iperf3", "", "iperf3", longRun, "", 5, into},
		{"data plane that begins", "lab-dataplane", "weir", both, "lab: data plane: signal: killed", 3, 0},
		{"own hosts that begin", "lab-hosts", "weir", both, "lab: hosts: signal: killed", 4, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			if _, err := exec.LookPath("iperf3"); err != nil && x.generator == "iperf3" {
				t.Skipf("left out: %v", err)
			}
			file := filepath.Join(dir, "long.yaml")
			if err := os.WriteFile(file, []byte(x.text), 0o666); err != nil {
				t.Fatal(err)
			}
			k := kills(t, binary, "run", file, "--on", "lab", "--out", dir, "--fresh", "--attempts", "1", "--generator",
				x.generator)
			k.iperf3 = x.generator == "iperf3"
			k.await(t, "all processes", func() bool { return len(k.living()) == x.processes })
			time.Sleep(x.after)
			k.kill(t, x.victim, x.want)
			if len(k.namespaces) != 3 {
				t.Errorf("namespaces were %v", k.namespaces)
			}
		})
	}
}

// A lab that is killed takes its agents with it: two seconds later no program, map or link of theirs is left.
func TestAgentsKilledOnLab(t *testing.T) {
	needAgents(t)
	k := kills(t, build(t), "run", writeSpec(t, fmt.Sprintf(ofAgents, "60s")), "--on", "lab", "--out", t.TempDir(),
		"--attempts", "1")
	k.await(t, "agents", func() bool { return len(objects(k.Process.Pid)) >= 3*(7+3) })
	time.Sleep(1500 * time.Millisecond) // into the run
	k.kill(t, "", "")
	if len(k.namespaces) != 4 || len(k.bpf) < 3*(7+3) {
		t.Errorf("it had %v and %v", k.namespaces, k.bpf)
	}
}

// A lab begins beside what a dead one has left that cannot be removed, and warns once; weir lab clean says it, too, as
// an error. All of that is in a view of its own of the machine's folders.
func TestLeftOnLab(t *testing.T) {
	needRoot(t)
	if err := exec.Command("unshare", "--mount", "true").Run(); err != nil {
		t.Skipf("left out: no view of its own of all mounts: %v", err)
	}
	binary, dir := build(t), t.TempDir()
	file := writeSpec(t, strings.Replace(longRun, "duration: 30s", "duration: 1s\nrepeat: 2\nlab_repeat: 2", 1))
	const prepare = `mount -t tmpfs none /run && mkdir -p /run/weir /run/netns/weir-1-old/full &&
printf 'owner 1\nmakes weir-1-old\n' > /run/weir/lab-1 && exec "$0" "$@"`
	const left = "record /run/weir/lab-1: remove /run/netns/weir-1-old: "
	for _, x := range []struct {
		args, want string
		code       int
	}{
		{"run " + file + " --on lab --attempts 1 --out " + dir, "warning: lab: what a dead lab has left cannot be removed: " +
			left, 0},
		{"lab clean", "lab: " + left, 1},
	} {
		c := exec.Command("unshare", append([]string{"--mount", "sh", "-c", prepare, binary}, strings.Fields(x.args)...)...)
		var stderr strings.Builder
		c.Stderr = &stderr
		err := c.Run()
		if code := exitCodeOf(err); code != x.code || strings.Count(stderr.String(), x.want) != 1 {
			t.Errorf("%s: exit code %d, want %d and %q once: %s", x.args, code, x.code, x.want, &stderr)
		}
	}
}
