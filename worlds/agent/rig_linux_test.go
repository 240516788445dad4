//go:build lab || slow

package agent_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/netns"
	"weir/internal/rtnl"
	"weir/worlds/agent"
)

// rig is a receiver and senders around a node, each in a namespace, with eth0 and fd09::1, fd09::2 and so on.
type rig struct {
	t      testing.TB
	set    *netns.Set
	hosts  []string
	node   *node
	binary string // in place of weir agent; "": weir agent
}

func needAgent(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it loads BPF programs, and makes network namespaces and packet sockets")
	}
	if err := agent.ProbeMachine().Check(); err != nil {
		t.Skip(err)
	}
}

// lay makes a rig.
func lay(t testing.TB, p path, senders int) *rig {
	t.Helper()
	r := place(t, senders)
	r.in("mid", func() (err error) { r.node, err = newNode(p, r.hosts...); return err })
	go func() { r.node.done <- r.node.forwardPackets() }()
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

// place makes a rig whose middle namespace, mid, has interfaces with the hosts' names and no connection between
// them.
func place(t testing.TB, senders int) *rig {
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
		x, err := c.InterfaceByName(name)
		if err != nil {
			return err
		}
		return c.SetUpQuiet(x.Index)
	})
	r.in(name, func() error {
		c, err := rtnl.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		x, err := c.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		if _, err := rtnl.DisableOffloads("eth0"); err != nil {
			return err
		}
		if err := c.SetUpQuiet(x.Index); err != nil {
			return err
		}
		if err := c.LimitSegments(x.Index, 1); err != nil {
			return err
		}
		if err := c.SetUp(x.Index); err != nil {
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

// in runs a function in a namespace.
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

// counters returns the kernel's TCP counters of this thread's namespace.
func counters(t testing.TB) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, name := range []string{"netstat", "snmp"} {
		b, err := os.ReadFile("/proc/thread-self/net/" + name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(b), "\n")
		for i := 0; i+1 < len(lines); i += 2 {
			names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
			for k := 1; k < len(names) && (names[0] == "TcpExt:" || names[0] == "Tcp:"); k++ {
				all[names[k]], _ = strconv.Atoi(values[k])
			}
		}
	}
	return all
}

// segment is a TCP segment in a frame of IPv6, as RFC 8200 and RFC 9293 have it.
type segment struct {
	trace, options, data []byte // trace: the header of hop-by-hop options
	from                 uint16 // port
	seq, ack             uint32
	flags                byte
}

func segmentOf(b []byte) (s segment, ok bool) {
	if len(b) < 74 || b[12] != 0x86 || b[13] != 0xdd {
		return s, false
	}
	next, rest := b[20], b[54:54+int(binary.BigEndian.Uint16(b[18:]))]
	if next == 0 {
		n := 8 * (int(rest[1]) + 1)
		next, s.trace, rest = rest[0], rest[:n], rest[n:]
	}
	if next != 6 {
		return s, false
	}
	n := int(rest[12]>>4) * 4
	s.from = binary.BigEndian.Uint16(rest)
	s.seq, s.ack, s.flags = binary.BigEndian.Uint32(rest[4:]), binary.BigEndian.Uint32(rest[8:]), rest[13]
	s.options, s.data = rest[20:n], rest[n:]
	return s, true
}
