//go:build lab

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/internal/netns"
	"weir/internal/rtnl"
)

// Interfaces are as the data plane needs them.
func TestInterfaces(t *testing.T) {
	needRoot(t)
	c := shaped("")
	l, err := Open(c.Network, c.Hosts, 4000)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	check := func(name string, mac [6]byte) func(conn *rtnl.Conn) error {
		return func(conn *rtnl.Conn) error {
			i, err := conn.Interface(name)
			if err != nil {
				return err
			}
			if i.MAC != mac || i.MTU != 4000 || i.RxQueues != 1 || i.TxQueues != 1 || !i.Up {
				t.Errorf("%s: %+v", name, i)
			}
			if on, err := rtnl.NoOffloads(name); err != nil || len(on) > 0 {
				t.Errorf("%s: offloads that were on: %v, %v", name, on, err)
			}
			return nil
		}
	}
	if err := l.in("client", check(NIC, packet.MAC(1))); err != nil {
		t.Error(err)
	}
	if err := l.in(planeName, check(gateName(2), locallyAdministered(2))); err != nil {
		t.Error(err)
	}
	if err := l.in("server", func(conn *rtnl.Conn) error {
		_, err := conn.Interface("eth1")
		if !errors.Is(err, unix.ENODEV) {
			t.Errorf("an interface that is not there: %v", err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// ours are the namespaces that a lab has.
func ours(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(netns.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), netns.Prefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// hold returns whether a namespace's name is still that namespace's: once it is free,
// another lab may take the number and the name. To keep it open is what makes its inode
// its own until the test ends.
func hold(t *testing.T, name string) func() bool {
	t.Helper()
	f, err := os.Open(netns.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	was, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return func() bool {
		is, err := os.Stat(netns.Path(name))
		return err == nil && os.SameFile(was, is)
	}
}

// victim is a lab that goes on until a signal ends it.
func victim() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := shaped("")
	c.Network.Nodes[client].Name, c.Network.Nodes[server].Name = "victim", "prey" // no other lab has such hosts
	l, err := Open(c.Network, c.Hosts, 0)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(self)
	command.Env = append(os.Environ(), role+"=dataplane ")
	p, err := l.Start(command)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Println(p.command.Process.Pid, l.Namespace(client), l.Namespace(server), l.set.Name(planeName))
	<-ctx.Done()
	_, err = p.Stop()
	return errors.Join(err, l.Close())
}

// gone waits until a process is no more, or is only waited for.
func gone(pid int) bool {
	for range 200 {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(b), ") Z ") {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

// However a lab ends, nothing of it stays, and nothing of others goes.
func TestEnds(t *testing.T) {
	needRoot(t)
	bystander, _ := open(t, "") // a living lab
	foreign := netns.Prefix + "77-foreign"
	f, err := os.OpenFile(netns.Path(foreign), os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	defer os.Remove(netns.Path(foreign))
	for i, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGKILL} {
		c := again(t, "victim")
		out, err := c.StdoutPipe()
		if err == nil {
			c.Stderr = os.Stderr
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var pid int
		names := make([]string, 3)
		if _, err := fmt.Fscan(out, &pid, &names[0], &names[1], &names[2]); err != nil {
			t.Fatal(err)
		}
		stays := make([]func() bool, len(names))
		for i, n := range names {
			if stays[i] = hold(t, n); !stays[i]() {
				t.Errorf("%v: %s is not there while it lives", s, n)
			}
		}
		c.Process.Signal(s)
		io.Copy(io.Discard, out)
		if err := c.Wait(); (err != nil) != (s == syscall.SIGKILL) {
			t.Errorf("%v: %v", s, err)
		}
		if !gone(pid) {
			t.Errorf("%v: the data plane goes on", s)
		}
		var removed []string
		switch { // unless another lab that starts has done it already
		case i <= 2:
			removed, err = Clean()
		case i == 3: // the next start does it as well
			c := shaped("")
			c.Network.Nodes[client].Name, c.Network.Nodes[server].Name = "next", "after"
			var l *Network
			if l, err = Open(c.Network, c.Hosts, 0); err == nil {
				defer l.Close()
				removed = l.Removed
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range names {
			if stays[i]() {
				t.Errorf("%v: %s is still there", s, n)
			}
			// a lab of the same number that was killed may have had a data plane, too
			if slices.Contains(removed, n) && s != syscall.SIGKILL && !strings.HasSuffix(n, planeName) {
				t.Errorf("%v: cleaning up removed %v", s, removed)
			}
		}
		for _, n := range []string{foreign, bystander.Namespace(client), bystander.Namespace(server)} {
			if !slices.Contains(ours(t), n) {
				t.Errorf("%v: %s is gone, which is not the lab's", s, n)
			}
		}
	}
}

// A namespace that has a host's name already is an error that leaves both as they were.
func TestNameClash(t *testing.T) {
	needRoot(t)
	c := shaped("")
	const first, name = "before-clash", "clash" // no other lab of the tests has such hosts
	c.Network.Nodes[client].Name, c.Network.Nodes[server].Name = first, name
	for range 10 { // another lab may take the number in between
		l, err := Open(c.Network, c.Hosts, 0)
		if err != nil {
			t.Fatal(err)
		}
		clash, id := l.Namespace(server), l.set.ID
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(netns.Path(clash), os.O_CREATE|os.O_EXCL, 0o444)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		l, err = Open(c.Network, c.Hosts, 0)
		if err == nil {
			if l.set.ID == id {
				t.Errorf("a lab with the namespace %s, which was there", clash)
			}
			l.Close()
			os.Remove(netns.Path(clash))
			continue
		}
		if l != nil || !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), clash) ||
			!strings.Contains(err.Error(), "not this lab's") {
			t.Errorf("error: %v", err)
		}
		if err := os.Remove(netns.Path(clash)); err != nil {
			t.Errorf("what was there is gone: %v", err)
		}
		if left := ours(t); slices.Contains(left, fmt.Sprintf("%s%d-%s", netns.Prefix, id, first)) {
			t.Errorf("it left of %v", left)
		}
		return
	}
	t.Skip("disturbed: other labs took the number every time")
}

// A data plane that cannot be started says why.
func TestNoDataPlane(t *testing.T) {
	needRoot(t)
	c := shaped("")
	l, err := Open(c.Network, c.Hosts, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for command, want := range map[string]string{
		"echo no such switch >&2; exit 3": "lab: data plane: no such switch", "exit 3": "lab: data plane: ",
		"exec 1>&-; exec sleep 100": "lab: data plane: EOF",
	} {
		if _, err := l.Start(exec.Command("/bin/sh", "-c", command)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", command, err, want)
		}
	}
}

// A data plane lives longer than the thread from which Start was called (PR_SET_PDEATHSIG).
func TestStartingThread(t *testing.T) {
	needRoot(t)
	c := shaped("")
	l, err := Open(c.Network, c.Hosts, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var p *DataPlane
	begun := make(chan struct{})
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		p, err = l.Start(again(t, "dataplane "))
		close(begun)
	}()
	if <-begun; err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
		t.Errorf("it has ended: %v", p.Err())
	case <-time.After(200 * time.Millisecond):
	}
	if _, err := p.Stop(); err != nil {
		t.Error(err)
	}
}
