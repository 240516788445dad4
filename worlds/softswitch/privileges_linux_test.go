package softswitch_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// status reads a process's status (proc(5)) as words by their name.
func status(t *testing.T, path string) map[string][]string {
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

// children are the processes whose parent a process is.
func children(t *testing.T, of int) (all []int) {
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

// Every thread of the data plane is another user's, has no capability and can get none;
// the supervisor has CAP_NET_ADMIN (bit 12) alone.
func TestPrivileges(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	p := w.open(plain)
	parent := p.cmd.Process.Pid
	child := children(t, parent)
	if len(child) != 1 {
		t.Fatalf("the supervisor has the children %v", child)
	}
	var least []string
	const none, netAdmin = "0000000000000000", "0000000000001000"
	for pid, caps := range map[int]string{parent: netAdmin, child[0]: none} {
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
			if s["CapEff"][0] != caps || s["CapPrm"][0] != caps || s["CapAmb"][0] != caps || s["CapBnd"][0] != netAdmin ||
				s["NoNewPrivs"][0] != "1" {
				t.Errorf("%s: CapEff %v, CapPrm %v, CapAmb %v, CapBnd %v, NoNewPrivs %v; want %s", path, s["CapEff"], s["CapPrm"],
					s["CapAmb"], s["CapBnd"], s["NoNewPrivs"], caps)
			}
		}
	}
	if len(least) > 1 {
		t.Errorf("threads of the supervisor without rights: %v; at most the one that started the data plane", least)
	}
	// The rings are the data plane's alone: with it they end.
	sockets := func(pid int) (n int) {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:") {
				n++
			}
		}
		return n
	}
	if n := sockets(parent); n != 0 {
		t.Errorf("the supervisor has %d sockets", n)
	}
	if n := sockets(child[0]); n != 2 {
		t.Errorf("the data plane has %d sockets, of 2 ports", n)
	}
}

// When the data plane is killed the supervisor restores what was changed, and ends with an
// error. When both are killed nothing can, and --restore does it, or the next start.
func TestKilled(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	before := w.offloads("left")
	p := w.open(plain)
	syscall.Kill(children(t, p.cmd.Process.Pid)[0], syscall.SIGKILL)
	until(t, "the end", p.over)
	if now := w.offloads("left"); p.err == nil || !slices.Equal(now, before) ||
		!strings.Contains(p.said.String(), "the data plane has ended") {
		t.Errorf("without its data plane: %v, offloads %v, before %v\n%s", p.err, now, before, p.said)
	}
	w.echo("right", netip.MustParseAddrPort("10.9.0.2:7"))
	if _, err := w.ask("left", netip.MustParseAddrPort("10.9.0.2:7"), 8, 1); err == nil {
		t.Error("something goes through without the data plane")
	}
	kill := func() {
		t.Helper()
		p := w.open(plain)
		child := children(t, p.cmd.Process.Pid)[0]
		p.cmd.Process.Kill()
		until(t, "the end", p.over)
		until(t, "the data plane's end", func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", child))
			return err != nil
		})
		if now := w.offloads("left"); len(now) != 0 {
			t.Errorf("offloads are %v after a kill", now)
		}
	}
	kill()
	c := w.command("switch", "--restore")
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
	if !strings.Contains(p.said.String(), "restored what a switch has left that died: left ") {
		t.Errorf("the next start says\n%s", p.said)
	}
	if _, err := w.ask("left", netip.MustParseAddrPort("10.9.0.2:7"), 8, 3); err != nil {
		t.Errorf("after the next start: %v", err)
	}
	p.stop()
	if now := w.offloads("left"); !slices.Equal(now, before) {
		t.Errorf("offloads are %v after the next start, before %v", now, before)
	}
}
