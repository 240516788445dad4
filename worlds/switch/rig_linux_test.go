//go:build lab || slow

package softswitch_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/netns"
	"weir/internal/ring"
	"weir/internal/rtnl"
	"weir/internal/testkit/await"
)

// wire has hosts, each with an interface eth0 that leads to the switch's namespace, where its other end has the
// host's name.
type wire struct {
	t       testing.TB
	set     *netns.Set
	hosts   []string
	prepare func(*exec.Cmd) // changes how a switch is started
	program string          // a program in place of weir switch; "": weir switch
	relay   *lateness       // of the relay that lengthen adds; nil: none
}

// middle is the switch's namespace.
const middle = "switch"

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes network namespaces and packet sockets")
	}
}

// lay makes namespaces of a switch and of hosts, and interfaces with the given MTU. Host i has 10.9.0.i+1/24 and
// fd09::i+1/64. Neighbours find each other by themselves.
func lay(t testing.TB, mtu int, hosts ...string) *wire {
	t.Helper()
	needRoot(t)
	set, _, err := netns.NewSet()
	if err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &wire{t: t, set: set, hosts: hosts}
	for _, name := range append([]string{middle}, hosts...) {
		if err := set.Add(name); errors.Is(err, unix.EPERM) {
			t.Skipf("no network namespaces here: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range hosts {
		there, err := os.Open(netns.Path(set.Name(name)))
		if err != nil {
			t.Fatal(err)
		}
		defer there.Close()
		w.in(middle, func(c *rtnl.Conn) error {
			near := rtnl.End{Name: name, MAC: [6]byte{2, 0, 0, 1, 0, byte(i + 1)}}
			if err := c.AddVeth(near, rtnl.End{Name: "eth0", MAC: [6]byte{2, 0, 0, 0, 0, byte(i + 1)}}, int(there.Fd()),
				mtu); err != nil {
				return err
			}
			x, err := c.InterfaceByName(name)
			if err != nil {
				return err
			}
			return c.SetUpQuiet(x.Index)
		})
		w.in(name, func(c *rtnl.Conn) error {
			x, err := c.InterfaceByName("eth0")
			if err != nil {
				return err
			}
			if _, err := rtnl.DisableOffloads("eth0"); err != nil {
				return err
			}
			for _, a := range []string{fmt.Sprintf("10.9.0.%d/24", i+1), fmt.Sprintf("fd09::%x/64", i+1)} {
				if err := c.AddAddress(x.Index, netip.MustParsePrefix(a)); err != nil {
					return err
				}
			}
			// A flow must not start with the kernel's stored metrics of an earlier one.
			if err := os.WriteFile("/proc/sys/net/ipv4/tcp_no_metrics_save", []byte("1"), 0); err != nil {
				return err
			}
			return c.SetUp(x.Index)
		})
	}
	return w
}

// in runs a function in a namespace.
func (w *wire) in(name string, what func(c *rtnl.Conn) error) {
	w.t.Helper()
	err := w.do(name, func() error {
		c, err := rtnl.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		return what(c)
	})
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
}

func (w *wire) do(name string, what func() error) error { return netns.Do(w.set.Name(name), what) }

// on returns the same network for an attempt or a part of a test.
func (w *wire) on(t testing.TB) *wire {
	c := *w
	c.t = t
	return &c
}

// process is a running switch.
type process struct {
	*await.Process
	t    testing.TB
	file string
}

// write writes the switch's file, where the user that it runs as can read it.
func (p *process) write(yaml string) {
	p.t.Helper()
	if err := os.WriteFile(p.file, []byte(yaml), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// programs runs a test with weir switch, and with weir-switch.
func programs(t *testing.T, test func(t *testing.T, program string)) {
	t.Run("weir switch", func(t *testing.T) { test(t, "") })
	t.Run("weir-switch", func(t *testing.T) {
		needRoot(t)
		test(t, await.RequireProgram(t, "cmd/weir-switch"))
	})
}

// command returns the command of weir switch, in the switch's namespace.
func (w *wire) command(args ...string) *exec.Cmd {
	if w.program != "" {
		return exec.Command(w.program, args...)
	}
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	return exec.Command(self, append([]string{"switch"}, args...)...)
}

// open runs a switch with a file, and waits until it carries frames.
func (w *wire) open(yaml string) *process {
	w.t.Helper()
	p := w.launch(yaml)
	p.awaits("switching between")
	return p
}

func (w *wire) launch(yaml string) *process {
	w.t.Helper()
	dir, err := os.MkdirTemp("", "weir")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { os.RemoveAll(dir) })
	p := &process{t: w.t, file: filepath.Join(dir, "switch.yaml")}
	p.write(yaml)
	cmd := w.command("-c", p.file)
	// root, with a group to lose
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Groups: []uint32{4}}}
	if w.prepare != nil {
		w.prepare(cmd)
	}
	if err := w.do(middle, func() error { p.Process = await.Start(w.t, cmd); return nil }); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		p.Signal(syscall.SIGTERM)
		p.AwaitExit()
		if w.t.Failed() {
			w.t.Logf("the switch said:\n%s%s", p.Stderr(), p.Stdout())
		}
	})
	return p
}

// awaits returns when the switch has printed this text.
func (p *process) awaits(what string) {
	p.t.Helper()
	p.AwaitCondition(fmt.Sprintf("%q", what), func() bool { return strings.Contains(p.Stderr(), what) })
}

// stop stops the switch in order and returns its summary.
func (p *process) stop() string {
	p.t.Helper()
	return p.stopBy(syscall.SIGTERM)
}

func (p *process) stopBy(s syscall.Signal) string {
	p.t.Helper()
	p.Signal(s)
	if code := p.AwaitExit(); code != 0 {
		p.t.Errorf("exit code %d\n%s", code, p.Stderr())
	}
	return p.Stdout()
}

// echo answers datagrams at a host until the test ends.
func (w *wire) echo(host string, at netip.AddrPort) {
	w.t.Helper()
	var c *net.UDPConn
	if err := w.do(host, func() (err error) {
		c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	go func() {
		b := make([]byte, 10000)
		for {
			n, from, err := c.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			c.WriteToUDPAddrPort(b[:n], from)
		}
	}()
}

// socket opens a packet socket at a host's interface.
func (w *wire) socket(host string, mtu int) *ring.Socket {
	w.t.Helper()
	var s *ring.Socket
	err := w.do(host, func() (err error) {
		s, err = ring.Open(ring.Config{Interface: "eth0", MaxFrame: mtu + 14, Rx: 4096, Tx: 64, Tags: true,
			Promiscuous: true})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Close() })
	return s
}

// transfer sends by TCP from a host to a listener at an address of another one for some time, over the given number
// of connections. It returns the received bit/s after a warm-up.
func (w *wire) transfer(from, to string, at netip.AddrPort, connections int, warmup, length time.Duration,
	cc string) (float64, error) {
	var listener net.Listener
	if err := w.do(to, func() (err error) { listener, err = net.Listen("tcp", at.String()); return err }); err != nil {
		return 0, err
	}
	defer listener.Close()
	start := time.Now()
	listener.(*net.TCPListener).SetDeadline(start.Add(await.HangLimit)) // a handshake may be lost, too
	end := start.Add(warmup + length)
	type counted struct {
		bytes int
		err   error
	}
	results := make(chan counted, connections)
	for range connections {
		var out net.Conn
		err := w.do(from, func() (err error) {
			d := net.Dialer{Timeout: 5 * time.Second, Control: func(_, _ string, c syscall.RawConn) (err error) {
				c.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, cc) })
				return err
			}}
			out, err = d.Dial("tcp", at.String())
			return err
		})
		if err != nil {
			return 0, err
		}
		defer out.Close()
		in, err := listener.Accept()
		if err != nil {
			return 0, err
		}
		defer in.Close()
		out.SetDeadline(end)
		in.SetDeadline(end)
		go func() {
			for b := make([]byte, 1<<16); ; {
				if _, err := out.Write(b); err != nil {
					return
				}
			}
		}()
		go func() {
			c := counted{}
			for b := make([]byte, 1<<16); ; {
				n, err := in.Read(b)
				if time.Since(start) > warmup {
					c.bytes += n
				}
				if err != nil {
					if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, io.EOF) {
						c.err = err
					}
					results <- c
					return
				}
			}
		}()
	}
	sum := 0
	for range connections {
		c := <-results
		if c.err != nil {
			return 0, c.err
		}
		sum += c.bytes
	}
	return 8 * float64(sum) / length.Seconds(), nil
}
