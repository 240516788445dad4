//go:build lab

package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/internal/netns"
	"weir/internal/rtnl"
	"weir/internal/testkit/await"
)

// openShaped opens the network of shaped with an MTU in bytes (0: the default) until the test ends.
func openShaped(t testing.TB, mtu int) *Network {
	t.Helper()
	needRoot(t)
	c := shaped("")
	l, err := Open(c.Wiring.Network, c.Wiring.Hosts, mtu)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestOpen_ConfiguresInterfaces checks that interfaces are configured for the data plane.
func TestOpen_ConfiguresInterfaces(t *testing.T) {
	l := openShaped(t, 4000)
	check := func(name string, mac [6]byte) func(conn *rtnl.Conn) error {
		return func(conn *rtnl.Conn) error {
			i, err := conn.InterfaceByName(name)
			if err != nil {
				return err
			}
			if i.MAC != mac || i.MTU != 4000 || i.RxQueues != 1 || i.TxQueues != 1 || !i.Up {
				t.Errorf("%s: %+v", name, i)
			}
			if on, err := rtnl.DisableOffloads(name); err != nil || len(on) > 0 {
				t.Errorf("%s: offloads that were on: %v, %v", name, on, err)
			}
			return nil
		}
	}
	if err := l.doInNamespace("client", check(NIC, packet.MAC(1))); err != nil {
		t.Error(err)
	}
	if err := l.doInNamespace(planeName, check(gateName(2), gateMAC(2))); err != nil {
		t.Error(err)
	}
	if err := l.doInNamespace("server", func(conn *rtnl.Conn) error {
		_, err := conn.InterfaceByName("eth1")
		if !errors.Is(err, unix.ENODEV) {
			t.Errorf("an interface that is not there: %v", err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// ours returns the namespaces of a lab.
func ours(t testing.TB) (names []string) {
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

// hold returns a function that reports whether a namespace's name still belongs to that namespace. Once it is free,
// another lab may take the number and the name. The open file reserves its inode until the test ends.
func hold(t testing.TB, name string) func() bool {
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

// victim runs a lab until a signal ends it.
func victim() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := shaped("")
	nodes := c.Wiring.Network.Nodes
	nodes[client].Name, nodes[server].Name = "victim", "prey" // no other lab has such hosts
	l, err := Open(c.Wiring.Network, c.Wiring.Hosts, 0)
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

// startVictim runs a lab in a separate process until a signal ends it (victim), and returns the data plane's
// process id and the names of its namespaces.
func startVictim(t testing.TB) (p *await.Process, plane int, names []string) {
	t.Helper()
	p = await.Start(t, again(t, "victim"))
	names = make([]string, 3)
	if _, err := fmt.Sscan(p.AwaitLine(netns.Prefix), &plane, &names[0], &names[1], &names[2]); err != nil {
		t.Fatal(err)
	}
	return p, plane, names
}

// ended waits until a process has ended, even if another process reaps it.
func ended(t testing.TB, pid int) {
	t.Helper()
	await.AwaitCondition(t, "the data plane's end", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(b), ") Z ")
	})
}

// TestNetwork_RemovesOnlyItsOwnAtEnd checks that for any end of a lab, no part of it remains, and other parts stay.
func TestNetwork_RemovesOnlyItsOwnAtEnd(t *testing.T) {
	needRoot(t)
	bystander, _ := open(t, "") // a living lab
	foreign := fmt.Sprintf("%s77-foreign-%d", netns.Prefix, os.Getpid())
	f, err := os.OpenFile(netns.Path(foreign), os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	defer os.Remove(netns.Path(foreign))
	for i, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGKILL} {
		p, plane, names := startVictim(t)
		stays := make([]func() bool, len(names))
		for i, n := range names {
			if stays[i] = hold(t, n); !stays[i]() {
				t.Errorf("%v: %s is not there while it lives", s, n)
			}
		}
		p.Signal(s)
		if code := p.AwaitExit(); (code != 0) != (s == syscall.SIGKILL) {
			t.Errorf("%v: exit code %d", s, code)
		}
		ended(t, plane)
		var removed []string
		if i <= 2 {
			removed, err = RemoveDead()
		} else { // the next start does it as well
			c := shaped("")
			c.Wiring.Network.Nodes[client].Name, c.Wiring.Network.Nodes[server].Name = "next", "after"
			var l *Network
			if l, err = Open(c.Wiring.Network, c.Wiring.Hosts, 0); err == nil {
				defer l.Close()
				removed = l.Removed
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range names {
			await.AwaitCondition(t, n+" is removed", func() bool { return !stays[i]() }) // another lab that starts may do it
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

// TestNumbersAreLeased checks that labs of simultaneous processes have separate numbers: each is leased by a lock that
// ends with its process in any case. Cleaning up removes only the dead process's parts.
func TestNumbersAreLeased(t *testing.T) {
	needRoot(t)
	number := func(name string) string { return strings.SplitN(strings.TrimPrefix(name, netns.Prefix), "-", 2)[0] }
	own, _ := open(t, "")
	type lab struct {
		*await.Process
		plane int
		names []string
		stays []func() bool
	}
	var labs [2]lab
	numbers := map[string]bool{fmt.Sprint(own.set.ID): true}
	for i := range labs {
		x := &labs[i]
		x.Process, x.plane, x.names = startVictim(t)
		numbers[number(x.names[0])] = true
		for _, n := range x.names {
			x.stays = append(x.stays, hold(t, n))
		}
	}
	if len(numbers) != 3 {
		t.Fatalf("three labs have the numbers %v", slices.Collect(maps.Keys(numbers)))
	}
	labs[0].Kill()
	ended(t, labs[0].plane)
	for i, n := range labs[0].names {
		await.AwaitCondition(t, n+" is removed", func() bool {
			if _, err := RemoveDead(); err != nil {
				t.Fatal(err)
			}
			return !labs[0].stays[i]()
		})
	}
	for i, n := range labs[1].names {
		if !labs[1].stays[i]() {
			t.Errorf("%s is gone, and its lab lives", n)
		}
	}
	for _, n := range []string{own.Namespace(client), own.Namespace(server)} {
		if !slices.Contains(ours(t), n) {
			t.Errorf("%s is gone, and its lab lives", n)
		}
	}
	labs[1].Signal(syscall.SIGTERM)
	if code := labs[1].AwaitExit(); code != 0 {
		t.Errorf("exit code %d: %s", code, labs[1].Output())
	}
}

// TestNameClash checks that a namespace that already has a host's name is an error that leaves both unchanged.
func TestNameClash(t *testing.T) {
	needRoot(t)
	c := shaped("")
	first, name := fmt.Sprint("before-clash-", os.Getpid()), fmt.Sprint("clash-", os.Getpid()) // no other lab's hosts
	c.Wiring.Network.Nodes[client].Name, c.Wiring.Network.Nodes[server].Name = first, name
	for id := 1; id <= 256; id++ { // whatever number the lab has
		path := netns.Path(fmt.Sprintf("%s%d-%s", netns.Prefix, id, name))
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o444)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		defer func() {
			if err := os.Remove(path); err != nil {
				t.Errorf("what was there is gone: %v", err)
			}
		}()
	}
	l, err := Open(c.Wiring.Network, c.Wiring.Hosts, 0)
	if l != nil || !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), name) ||
		!strings.Contains(err.Error(), "not this lab's") {
		t.Errorf("error: %v", err)
	}
	for _, n := range ours(t) {
		if strings.HasSuffix(n, first) {
			t.Errorf("it left %s", n)
		}
	}
}

// TestNoDataPlane checks that a data plane that cannot start reports the reason.
func TestNoDataPlane(t *testing.T) {
	l := openShaped(t, 0)
	for command, want := range map[string]string{
		"echo no such switch >&2; exit 3": "lab: data plane: no such switch", "exit 3": "lab: data plane: ",
		"exec 1>&-; exec sleep 100": "lab: data plane: EOF",
	} {
		if _, err := l.Start(exec.Command("/bin/sh", "-c", command)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", command, err, want)
		}
	}
}

// TestStartingThread checks that a data plane outlives the thread that called Start (PR_SET_PDEATHSIG).
func TestStartingThread(t *testing.T) {
	l := openShaped(t, 0)
	var (
		p      *DataPlane
		err    error
		begun  = make(chan struct{})
		thread int
	)
	var start func()
	start = func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		thread = unix.Gettid()
		if thread == unix.Getpid() { // Go never ends the main thread; while it is locked, a second goroutine cannot get it
			go start()
			<-begun
			return
		}
		p, err = l.Start(again(t, "dataplane "))
		close(begun)
	}
	go start()
	if <-begun; err != nil {
		t.Fatal(err)
	}
	await.AwaitCondition(t, "the thread's end", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread))
		return err != nil
	})
	if _, err := p.Stop(); err != nil { // a signal would have killed it by now
		t.Error(err)
	}
}
