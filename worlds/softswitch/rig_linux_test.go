//go:build lab || slow

package softswitch_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/netns"
	"weir/internal/ring"
	"weir/internal/rtnl"
)

// wire is hosts, each with an interface eth0 that leads to the switch's namespace, where
// its other end has the host's name.
type wire struct {
	t       *testing.T
	set     *netns.Set
	hosts   []string
	prepare func(*exec.Cmd) // changes how a switch is started
}

// middle is the switch's namespace.
const middle = "switch"

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes network namespaces and packet sockets")
	}
}

// lay makes namespaces of a switch and of hosts, of which host i has 10.9.0.i+1/24 and
// fd09::i+1/64, and interfaces with that MTU. Neighbours find each other by themselves.
func lay(t *testing.T, mtu int, hosts ...string) *wire {
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
			x, err := c.Interface(name)
			if err != nil {
				return err
			}
			return c.Quiet(x.Index)
		})
		w.in(name, func(c *rtnl.Conn) error {
			x, err := c.Interface("eth0")
			if err != nil {
				return err
			}
			if _, err := rtnl.NoOffloads("eth0"); err != nil {
				return err
			}
			for _, a := range []string{fmt.Sprintf("10.9.0.%d/24", i+1), fmt.Sprintf("fd09::%x/64", i+1)} {
				if err := c.AddAddress(x.Index, netip.MustParsePrefix(a)); err != nil {
					return err
				}
			}
			return c.Up(x.Index)
		})
	}
	return w
}

// in runs what in a namespace.
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

// setUp sets an interface of the switch's namespace up or down.
func setUp(c *rtnl.Conn, name string, up bool) error {
	i, err := c.Interface(name)
	if err != nil {
		return err
	}
	if up {
		return c.Up(i.Index)
	}
	return c.Down(i.Index)
}

func (w *wire) do(name string, what func() error) error { return netns.Do(w.set.Name(name), what) }

// offloads are those that are on in the switch's namespace.
func (w *wire) offloads(name string) (on []string) {
	w.in(middle, func(*rtnl.Conn) (err error) { on, err = rtnl.Offloads(name); return err })
	return on
}

// process is a running switch.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	file   string
	said   *log
	out    bytes.Buffer
	waited bool
	err    error
}

// log is what a process says, to be waited for.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// patience is how long something may take that takes no time on an idle machine.
const patience = time.Minute

// until waits for a condition.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// write writes the switch's file, where the user that it runs as can read it.
func (p *process) write(yaml string) {
	p.t.Helper()
	if err := os.WriteFile(p.file, []byte(yaml), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// command is weir, in the switch's namespace.
func (w *wire) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	return exec.Command(self, args...)
}

// open runs a switch with a file, and waits until it carries frames.
func (w *wire) open(yaml string) *process {
	w.t.Helper()
	p := w.launch(yaml)
	until(w.t, "the switch: "+p.said.String(), func() bool {
		if p.over() {
			w.t.Fatalf("the switch has ended: %v\n%s", p.err, p.said)
		}
		return strings.Contains(p.said.String(), "switching between")
	})
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
	p := &process{t: w.t, file: filepath.Join(dir, "switch.yaml"), said: &log{}}
	p.write(yaml)
	p.cmd = w.command("switch", "-c", p.file)
	// root, with a group to lose
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Groups: []uint32{4}}}
	p.cmd.Stderr, p.cmd.Stdout = p.said, &p.out
	if w.prepare != nil {
		w.prepare(p.cmd)
	}
	if err := w.do(middle, p.cmd.Start); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		err := p.cmd.Wait()
		p.said.mu.Lock()
		p.err, p.waited = err, true
		p.said.mu.Unlock()
	}()
	w.t.Cleanup(func() {
		p.cmd.Process.Signal(syscall.SIGTERM)
		until(w.t, "the end", p.over)
		if w.t.Failed() {
			w.t.Logf("the switch said:\n%s%s", p.said, p.out.String())
		}
	})
	return p
}

func (p *process) over() bool {
	p.said.mu.Lock()
	defer p.said.mu.Unlock()
	return p.waited
}

// awaits returns when the switch has printed what contains this text.
func (p *process) awaits(what string) {
	p.t.Helper()
	until(p.t, fmt.Sprintf("%q", what), func() bool { return strings.Contains(p.said.String(), what) || p.over() })
	if p.over() {
		p.t.Fatalf("the switch has ended: %v\n%s", p.err, p.said)
	}
}

// stop stops the switch in order and returns its summary.
func (p *process) stop() string {
	p.t.Helper()
	return p.stopBy(syscall.SIGTERM)
}

func (p *process) stopBy(s syscall.Signal) string {
	p.t.Helper()
	p.cmd.Process.Signal(s)
	until(p.t, "the end", p.over)
	if p.err != nil {
		p.t.Errorf("it ended with %v\n%s", p.err, p.said)
	}
	return p.out.String()
}

const plain = `
ports:
  left: {interface: left}
  right: {interface: right}
switch: [forward]
metrics: none
`

func mac(host int) []byte { return []byte{2, 0, 0, 0, 0, byte(host + 1)} }

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

// silence is when a datagram counts as lost.
const silence = 3 * time.Second

// ask sends datagrams to an echo until one comes back, and returns how many it took.
func (w *wire) ask(host string, to netip.AddrPort, size, most int) (tries int, err error) {
	var c net.Conn
	if err := w.do(host, func() (err error) { c, err = net.Dial("udp", to.String()); return err }); err != nil {
		return 0, err
	}
	defer c.Close()
	sent, got := bytes.Repeat([]byte("weir"), size/4), make([]byte, 10000)
	for tries = 1; tries <= most; tries++ {
		if _, err = c.Write(sent); err != nil {
			return tries, err
		}
		c.SetReadDeadline(time.Now().Add(silence))
		n := 0
		if n, err = c.Read(got); err == nil {
			if !bytes.Equal(got[:n], sent) {
				return tries, fmt.Errorf("%d bytes came back as %d others", size, n)
			}
			return tries, nil
		}
	}
	return tries, err
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

// pass sends a frame in at one socket and returns what comes out at another that begins
// with the same addresses.
func pass(t *testing.T, from, to *ring.Socket, frame []byte) []byte {
	t.Helper()
	if !from.Put(frame) {
		t.Fatal("no room in the ring")
	}
	if err := from.Flush(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		for {
			if _, ok := to.Stamp(); !ok {
				break
			}
			if got := to.Take(nil); len(got) >= 12 && bytes.Equal(got[:12], frame[:12]) {
				return got
			}
		}
	}
	return nil
}

// setMTU sets an interface's MTU (SIOCSIFMTU).
func setMTU(name string, mtu uint32) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	r.SetUint32(mtu)
	return unix.IoctlIfreq(fd, unix.SIOCSIFMTU, r)
}

// transfer sends by TCP from host to a listener at an address of another one for some
// time, in so many connections, and returns what arrived in bit/s, of bytes after a warm-up.
func (w *wire) transfer(from, to string, at netip.AddrPort, connections int, warmup, length time.Duration,
	cc string) (float64, error) {
	var listener net.Listener
	if err := w.do(to, func() (err error) { listener, err = net.Listen("tcp", at.String()); return err }); err != nil {
		return 0, err
	}
	defer listener.Close()
	start := time.Now()
	listener.(*net.TCPListener).SetDeadline(start.Add(patience)) // a handshake may be lost, too
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
