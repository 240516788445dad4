package agent_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/netns"
	"weir/internal/rtnl"
	"weir/internal/sockdiag"
	"weir/worlds/agent"
)

// rig is a receiver and senders around a node, each in a namespace, with eth0 and fd09::1, fd09::2 and so on.
type rig struct {
	t     *testing.T
	set   *netns.Set
	hosts []string
	node  *node
}

func needAgent(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it loads BPF programs, and makes network namespaces and packet sockets")
	}
	if err := agent.Probe().Check(); err != nil {
		t.Skip(err)
	}
}

// lay makes a rig.
func lay(t *testing.T, p path, senders int) *rig {
	t.Helper()
	r := place(t, senders)
	r.in("mid", func() (err error) { r.node, err = newNode(p, r.hosts...); return err })
	go func() { r.node.done <- r.node.run() }()
	t.Cleanup(func() {
		unix.Write(r.node.stop[1], []byte{0})
		if err := <-r.node.done; err != nil {
			t.Error(err)
		}
		for _, s := range r.node.sockets {
			s.Close()
		}
		unix.Close(r.node.stop[0])
		unix.Close(r.node.stop[1])
	})
	return r
}

// place makes a rig whose namespace in the middle, mid, has interfaces by the hosts' names, and nothing between them.
func place(t *testing.T, senders int) *rig {
	t.Helper()
	needAgent(t)
	set, _, err := netns.NewSet()
	if err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	r := &rig{t: t, set: set, hosts: []string{"b"}}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range senders {
		r.hosts = append(r.hosts, fmt.Sprintf("a%d", i+1))
	}
	for _, name := range append([]string{"mid"}, r.hosts...) {
		if err := set.Add(name); errors.Is(err, unix.EPERM) {
			t.Skipf("no network namespaces here: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for i := range r.hosts {
		r.join(i)
	}
	return r
}

func mac(i int) [6]byte { return [6]byte{2, 0, 0, 0, 0, byte(i + 1)} }

func host(i int) netip.Addr {
	return netip.AddrFrom16([16]byte{0xfd, 9, 15: byte(i + 1)})
}

// join gives host i its interface. One segment is one frame there, as in the lab.
func (r *rig) join(i int) {
	r.t.Helper()
	name := r.hosts[i]
	there, err := os.Open(netns.Path(r.set.Name(name)))
	if err != nil {
		r.t.Fatal(err)
	}
	defer there.Close()
	r.in("mid", func() error {
		c, err := rtnl.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.AddVeth(rtnl.End{Name: name, MAC: [6]byte{2, 0, 0, 1, 0, byte(i + 1)}},
			rtnl.End{Name: "eth0", MAC: mac(i)}, int(there.Fd()), 1500); err != nil {
			return err
		}
		x, err := c.Interface(name)
		if err != nil {
			return err
		}
		return c.Quiet(x.Index)
	})
	r.in(name, func() error {
		c, err := rtnl.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		x, err := c.Interface("eth0")
		if err != nil {
			return err
		}
		if _, err := rtnl.NoOffloads("eth0"); err != nil {
			return err
		}
		if err := c.Quiet(x.Index); err != nil {
			return err
		}
		if err := c.LimitSegments(x.Index, 1); err != nil {
			return err
		}
		if err := c.Up(x.Index); err != nil {
			return err
		}
		if err := c.AddAddress(x.Index, netip.PrefixFrom(host(i), 64)); err != nil {
			return err
		}
		for other := range r.hosts {
			if other != i {
				if err := c.AddNeighbour(x.Index, host(other), mac(other)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// in runs what in a namespace.
func (r *rig) in(name string, what func() error) {
	r.t.Helper()
	if err := netns.Do(r.set.Name(name), what); err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
}

// agent starts one at a host, until the test ends.
func (r *rig) agent(name string, c agent.Config) (a *agent.Agent) {
	r.t.Helper()
	r.in(name, func() (err error) { a, err = agent.Start(c); return err })
	r.t.Cleanup(func() {
		if err := a.Close(); err != nil {
			r.t.Error(err)
		}
	})
	return a
}

// flow is a connection over which its sender writes as much as it can.
type flow struct {
	from, to net.Conn
	came     atomic.Int64 // bytes
}

// open opens a connection from a sender, which does not write yet.
func (r *rig) open(from string) *flow {
	r.t.Helper()
	var l net.Listener
	r.in("b", func() (err error) { l, err = net.Listen("tcp6", net.JoinHostPort(host(0).String(), "0")); return err })
	defer l.Close()
	f := &flow{}
	r.in(from, func() (err error) {
		d := net.Dialer{Timeout: 10 * time.Second, Control: func(_, _ string, c syscall.RawConn) (err error) {
			c.Control(func(fd uintptr) {
				err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
			})
			return err
		}}
		f.from, err = d.Dial("tcp6", l.Addr().String())
		return err
	})
	var err error
	if f.to, err = l.Accept(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { f.from.Close(); f.to.Close() })
	return f
}

// write writes so much and waits until it has come.
func (f *flow) write(t *testing.T, n int64) {
	t.Helper()
	want := f.came.Load() + n
	if _, err := f.from.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	until(t, "all data", func() bool { return f.came.Load() == want })
}

// send has it write until the test ends.
func (f *flow) send() {
	go func() {
		b := make([]byte, 1<<18)
		for {
			if _, err := f.from.Write(b); err != nil {
				return
			}
		}
	}()
	go f.drain()
}

func (f *flow) drain() {
	b := make([]byte, 1<<18)
	for {
		n, err := f.to.Read(b)
		f.came.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// connections are those of an agent.
func connections(t *testing.T, a *agent.Agent) []agent.Connection {
	t.Helper()
	c, err := a.Connections(nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// patience is how long something may take that takes no time on an idle machine.
const patience = 30 * time.Second

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// following waits until a connection's sender follows the window that it is told.
func following(t *testing.T, a *agent.Agent) (c agent.Connection) {
	t.Helper()
	until(t, "a connection that follows", func() bool {
		for _, c = range connections(t, a) {
			if c.Following && c.Told.Hops > 0 && c.Told.Load > 0 {
				return true
			}
		}
		return false
	})
	return c
}

// controllerOf is the congestion control of the one connection from a host.
func (r *rig) controllerOf(host string) (name string) {
	r.t.Helper()
	r.in(host, func() error {
		c, err := sockdiag.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		all, err := c.Dump(unix.AF_INET6, sockdiag.Filter{States: []sockdiag.State{sockdiag.Established}})
		if err != nil || len(all) != 1 {
			return fmt.Errorf("%d connections: %w", len(all), err)
		}
		name = all[0].CongestionControl.String()
		return nil
	})
	return name
}
