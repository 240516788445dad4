//go:build lab

package softswitch_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"weir/internal/netns"
	"weir/internal/testkit/await"
)

// status reads a process's status (proc(5)) as words by their name.
func status(t testing.TB, path string) map[string][]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	words := map[string][]string{}
	for _, line := range strings.Split(string(b), "\n") {
		if name, rest, ok := strings.Cut(line, ":"); ok {
			words[name] = strings.Fields(rest)
		}
	}
	return words
}

// children returns the child processes of a process.
func children(t testing.TB, of int) (all []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(of) {
			all = append(all, n)
		}
	}
	return all
}

// child returns the process of the data plane.
func (p *process) child() int {
	p.t.Helper()
	all := children(p.t, p.PID())
	if len(all) != 1 {
		p.t.Fatalf("the supervisor has the children %v", all)
	}
	return all[0]
}

// suspendChild stops the process of the data plane, waits until each of its threads has stopped, and returns its
// pid. On a busy machine a thread may continue for a while.
func (p *process) suspendChild() int {
	p.t.Helper()
	child := p.child()
	syscall.Kill(child, syscall.SIGSTOP)
	await.AwaitCondition(p.t, "the stop of the data plane", func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", child))
		if err != nil || len(threads) == 0 {
			p.t.Fatal(threads, err)
		}
		return !slices.ContainsFunc(threads, func(path string) bool {
			stat, err := os.ReadFile(path) // "pid (name) state …"; a thread may have ended
			return err == nil && !bytes.Contains(stat, []byte(") T "))
		})
	})
	return child
}

// TestProcesses_HaveFewPrivileges checks that every thread of the data plane belongs to another user, has no capability
// and can get none. The supervisor has only CAP_NET_ADMIN (bit 12), and can get no other.
func TestProcesses_HaveFewPrivileges(t *testing.T) { programs(t, hasFewPrivileges) }

func hasFewPrivileges(t *testing.T, program string) {
	w := lay(t, 1500, "left", "right")
	w.program = program
	p := w.open(plain)
	parent := p.PID()
	child := p.child()
	var least []string
	const none, netAdmin = "0000000000000000", "0000000000001000"
	for pid, caps := range map[int]string{parent: netAdmin, child: none} {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil || len(threads) < 2 {
			t.Fatal(threads, err)
		}
		for _, path := range threads {
			s := status(t, path)
			if slices.Contains(s["Uid"], "0") || slices.Contains(s["Gid"], "0") || len(s["Groups"]) > 0 {
				t.Errorf("%s: user %v, group %v, groups %v", path, s["Uid"], s["Gid"], s["Groups"])
			}
			caps := caps
			if pid == parent && s["CapPrm"][0] == none { // the thread that the data plane is a child of
				caps = none
				least = append(least, path)
			}
			for _, x := range [][2]string{{"CapEff", caps}, {"CapPrm", caps}, {"CapInh", caps}, {"CapAmb", caps},
				{"CapBnd", none}, {"NoNewPrivs", "1"}, {"Seccomp", "2"}} {
				if s[x[0]][0] != x[1] {
					t.Errorf("%s: %s is %v, want %s", path, x[0], s[x[0]], x[1])
				}
			}
		}
	}
	if len(least) > 1 {
		t.Errorf("threads of the supervisor without rights: %v; at most the one that started the data plane", least)
	}
	// Only the data plane has the rings, and they end with it.
	for pid, want := range map[int]int{parent: 0, child: 2} {
		n := 0
		for _, to := range open(t, pid) {
			if strings.HasPrefix(to, "socket:") {
				n++
			}
		}
		if n != want {
			t.Errorf("process %d has %d sockets, want %d", pid, n, want)
		}
	}
}

// TestProcesses_FailForbiddenCalls checks that the kernel refuses calls of either process beyond its needs, and the
// switch continues.
func TestProcesses_FailForbiddenCalls(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	p := w.open(plain)
	for _, process := range []string{"supervisor", "dataplane"} {
		t.Run(process, func(t *testing.T) {
			p.write(strings.Replace(plain, "[forward]", "[forward, intruder-"+process+"]", 1))
			p.Signal(syscall.SIGHUP)
			p.awaits("all is refused to the " + process)
		})
	}
	to := netip.MustParseAddrPort("10.9.0.2:7")
	w.echo("right", to)
	if _, err := w.ask("left", to, 1400, 3); err != nil {
		t.Error(err)
	}
	p.stop()
}

// open returns the open files of a process, by descriptor.
func open(t testing.TB, pid int) map[int]string {
	t.Helper()
	all := map[int]string{}
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		n, _ := strconv.Atoi(filepath.Base(name))
		if to, err := os.Readlink(name); err == nil {
			all[n] = to
		}
	}
	return all
}

// TestProcesses_InheritOnlyOutputs checks that the processes inherit none of root's open descriptors, except the
// outputs of the supervisor.
func TestProcesses_InheritOnlyOutputs(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	secret, err := os.Open("/etc/shadow")
	if err != nil {
		t.Skip(err)
	}
	defer secret.Close()
	w.prepare = func(c *exec.Cmd) {
		c.Stdin = secret
		for range 60 { // from 3 on
			c.ExtraFiles = append(c.ExtraFiles, secret)
		}
	}
	p := w.open(plain)
	for name, pid := range map[string]int{"supervisor": p.PID(), "data plane": p.child()} {
		t.Run(name, func(t *testing.T) {
			for n, to := range open(t, pid) {
				switch {
				case strings.HasPrefix(to, "pipe:"), strings.HasPrefix(to, "anon_inode:"), strings.HasPrefix(to, "socket:"),
					strings.HasPrefix(to, "/memfd:weir switch"), strings.HasPrefix(to, netns.RecordDir+"/switch-"),
					strings.HasPrefix(to, "/sys/fs/cgroup/"), // which Go's runtime reads how many processors there are from
					n == 0 && to == os.DevNull:
				default:
					t.Errorf("descriptor %d is %s", n, to)
				}
			}
		})
	}
	p.stop()
}

// TestSupervisor_RestoresOffloadsAfterKill checks that when the data plane is killed the supervisor restores the
// changes, and ends with an error. When both are killed, --restore or the next start does it.
func TestSupervisor_RestoresOffloadsAfterKill(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	before := w.offloads("left")
	p := w.open(plain)
	syscall.Kill(p.child(), syscall.SIGKILL)
	code := p.AwaitExit()
	if now := w.offloads("left"); code == 0 || !slices.Equal(now, before) ||
		!strings.Contains(p.Stderr(), "the data plane has ended") {
		t.Errorf("without its data plane: exit code %d, offloads %v, before %v\n%s", code, now, before, p.Stderr())
	}
	w.echo("right", netip.MustParseAddrPort("10.9.0.2:7"))
	w.separate("left", "right")
	kill := func() {
		t.Helper()
		p := w.open(plain)
		child := p.child()
		p.Signal(syscall.SIGKILL)
		p.AwaitExit()
		await.AwaitCondition(t, "the data plane's end", func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", child))
			return err != nil
		})
		if now := w.offloads("left"); len(now) != 0 {
			t.Errorf("offloads are %v after a kill", now)
		}
	}
	kill()
	c := w.command("--restore")
	var said []byte
	if err := w.do(middle, func() (err error) { said, err = c.CombinedOutput(); return err }); err != nil ||
		!strings.Contains(string(said), "restored left ") {
		t.Errorf("%v: %s", err, said)
	}
	if now := w.offloads("left"); !slices.Equal(now, before) {
		t.Errorf("offloads are %v after --restore, before %v", now, before)
	}
	kill()
	p = w.open(plain)
	if !strings.Contains(p.Stderr(), "restored the settings that a dead switch had left: left ") {
		t.Errorf("the next start says\n%s", p.Stderr())
	}
	if _, err := w.ask("left", netip.MustParseAddrPort("10.9.0.2:7"), 8, 3); err != nil {
		t.Errorf("after the next start: %v", err)
	}
	p.stop()
	if now := w.offloads("left"); !slices.Equal(now, before) {
		t.Errorf("offloads are %v after the next start, before %v", now, before)
	}
}
