package softswitch_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/cmd/weir/cli"
	"weir/internal/netns"
	"weir/internal/ring"
	"weir/internal/rtnl"
	"weir/worlds/softswitch"
)

// This binary is weir when its first argument is one of weir's.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "switch") {
		os.Exit(cli.Main(cli.Registry()))
	}
	os.Exit(m.Run())
}

// wire is hosts, each with an interface eth0 that leads to the switch's namespace, where
// its other end has the host's name.
type wire struct {
	t     *testing.T
	set   *netns.Set
	hosts []string
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
	w := &wire{t, set, hosts}
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
const patience = 20 * time.Second

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

// hears waits until the switch says something.
func (p *process) hears(what string) {
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

// Kernels find each other through the switch by ARP and neighbour discovery, and their
// datagrams come through; the switch ends in order, and says what it did. The offloads of
// its interfaces are off meanwhile and on again then, those of others never change.
func TestThrough(t *testing.T) {
	w := lay(t, 1500, "left", "right", "other")
	before, was := map[string][]string{}, w.settled()
	for _, name := range w.hosts {
		if before[name] = w.offloads(name); len(before[name]) == 0 {
			t.Fatalf("%s has no offloads on from the start", name)
		}
	}
	p := w.open(plain)
	if l, r, o := w.offloads("left"), w.offloads("right"), w.offloads("other"); len(l) > 0 || len(r) > 0 ||
		!slices.Equal(o, before["other"]) {
		t.Errorf("offloads while the switch runs: %v, %v; of another interface %v, before %v", l, r, o, before["other"])
	}
	for name, is := range w.links() {
		if own := name == "left" || name == "right"; is.text != was[name].text || is.promiscuity > 0 != own {
			t.Errorf("interface %s is promiscuous %d times; it was\n%s\nand is, while the switch runs,\n%s", name,
				is.promiscuity, was[name].text, is.text)
		}
	}
	for _, to := range []string{"10.9.0.2:7", "[fd09::2]:7"} {
		w.echo("right", netip.MustParseAddrPort(to))
		for _, size := range []int{8, 1400, 4000} { // the last in fragments
			if tries, err := w.ask("left", netip.MustParseAddrPort(to), size, 3); err != nil || tries > 1 {
				t.Errorf("%s: %d bytes came back after %d times: %v", to, size, tries, err)
			}
		}
	}
	if _, err := w.ask("other", netip.MustParseAddrPort("10.9.0.2:7"), 8, 1); err == nil {
		t.Error("a host at another interface got through")
	}
	summary := p.stop()
	if !strings.Contains(summary, "port left: ") || !strings.Contains(summary, "0 were left in queues") ||
		strings.Contains(summary, "port left: 0 frames") {
		t.Errorf("the summary is\n%s", summary)
	}
	for _, name := range w.hosts {
		if now := w.offloads(name); !slices.Equal(now, before[name]) {
			t.Errorf("offloads of %s are %v now, and were %v", name, now, before[name])
		}
	}
	var said []byte
	c := w.command("switch", "--restore")
	if err := w.do(middle, func() (err error) { said, err = c.CombinedOutput(); return err }); err != nil ||
		string(said) != "there is nothing to restore\n" {
		t.Errorf("after an orderly end --restore says %v: %s", err, said)
	}
	if is := w.links(); !maps.Equal(is, was) {
		t.Errorf("the interfaces were\n%v\nand are\n%v", was, is)
	}
	if _, err := w.ask("left", netip.MustParseAddrPort("10.9.0.2:7"), 8, 1); err == nil {
		t.Error("something goes through without the switch")
	}
}

// link is all that the kernel tells of an interface and its addresses, but for counters.
type link struct {
	text        string
	promiscuity uint32
}

// settled are the links once the kernel has noticed that all are up (IFLA_OPERSTATE is
// IF_OPER_UP), which takes it a moment.
func (w *wire) settled() (all map[string]link) {
	w.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		up := true
		all = w.links()
		for _, name := range w.hosts {
			up = up && strings.Contains(all[name].text, fmt.Sprintf(" %d=06 ", unix.IFLA_OPERSTATE))
		}
		if up {
			return all
		}
	}
	w.t.Fatalf("not all interfaces come up: %v", all)
	return nil
}

// links are the interfaces of the switch's namespace.
func (w *wire) links() map[string]link {
	w.t.Helper()
	all, names := map[string]link{}, map[int32]string{}
	each := func(about int, take func(m syscall.NetlinkMessage, attributes []syscall.NetlinkRouteAttr)) error {
		b, err := syscall.NetlinkRIB(about, unix.AF_UNSPEC)
		if err != nil {
			return err
		}
		messages, err := syscall.ParseNetlinkMessage(b)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.Header.Type == unix.NLMSG_DONE {
				break
			}
			attributes, err := syscall.ParseNetlinkRouteAttr(&m)
			if err != nil {
				return err
			}
			take(m, attributes)
		}
		return nil
	}
	err := w.do(middle, func() error {
		err := each(unix.RTM_GETLINK, func(m syscall.NetlinkMessage, attributes []syscall.NetlinkRouteAttr) {
			var l link
			var name string
			text := fmt.Sprintf("%x", m.Data[:unix.SizeofIfInfomsg])
			for _, a := range attributes {
				switch a.Attr.Type {
				case unix.IFLA_IFNAME:
					name = strings.TrimRight(string(a.Value), "\x00")
				case unix.IFLA_PROMISCUITY:
					l.promiscuity = binary.NativeEndian.Uint32(a.Value)
				case unix.IFLA_STATS, unix.IFLA_STATS64, unix.IFLA_AF_SPEC:
				default:
					text += fmt.Sprintf(" %d=%x", a.Attr.Type, a.Value)
				}
			}
			l.text = text
			all[name], names[int32(binary.NativeEndian.Uint32(m.Data[4:]))] = l, name
		})
		if err != nil {
			return err
		}
		return each(unix.RTM_GETADDR, func(m syscall.NetlinkMessage, _ []syscall.NetlinkRouteAttr) {
			name := names[int32(binary.NativeEndian.Uint32(m.Data[4:]))]
			l := all[name]
			l.text += fmt.Sprintf("\naddress %x", m.Data)
			all[name] = l
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// What waits when the switch is to stop leaves first, for up to a second, and what does not
// leave by then is counted.
func TestStop(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	for _, x := range []struct {
		rate   string
		frames int
		all    bool
		by     syscall.Signal
	}{{"1Mbps", 50, true, syscall.SIGINT}, {"10kbps", 5, false, syscall.SIGTERM}} { // a frame in 8 ms, in 0.8 s
		p := w.open(strings.Replace(plain, "right}", "right, rate: "+x.rate+"}", 1))
		in, out := w.socket("left", 1500), w.socket("right", 1500)
		for range x.frames {
			in.Put(append(append(mac(1), mac(0)...), make([]byte, 988)...))
		}
		if err := in.Flush(); err != nil {
			t.Fatal(err)
		}
		n := 0
		count := func() int {
			for {
				if _, ok := out.Stamp(); !ok {
					return n
				}
				if f := out.Take(nil); len(f) == 1000 {
					n++
				}
			}
		}
		until(t, "the first frame", func() bool { return count() > 0 })
		start := time.Now()
		summary := p.stopBy(x.by)
		took := time.Since(start)
		if count(); x.all && (n != x.frames || !strings.Contains(summary, " 0 were left in queues")) {
			t.Errorf("%s: %d of %d frames came out\n%s", x.rate, n, x.frames, summary)
		}
		left := 0
		if at := strings.LastIndex(summary, ", "); at > 0 {
			fmt.Sscanf(summary[at:], ", %d were left in queues", &left)
		}
		if !x.all && (n > 3 || left < x.frames-n || took < time.Second) { // more is left if the hosts sent by themselves
			t.Errorf("%s: %d of %d frames came out, within %v\n%s", x.rate, n, x.frames, took, summary)
		}
	}
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
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
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

// What the switch's own machine sends at an interface, and who listens there, is no business of
// the switch: the frame leaves once, and not by the other port.
func TestOwnTraffic(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.open(plain)
	left, right := w.socket("left", 1500), w.socket("right", 1500)
	frame := append(append(append([]byte{}, mac(0)...), 2, 0, 0, 0, 9, 9, 0x88, 0xb5), make([]byte, 46)...)
	err := w.do(middle, func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		i, err := net.InterfaceByName("left")
		if err != nil {
			return err
		}
		return unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: i.Index})
	})
	if err != nil {
		t.Fatal(err)
	}
	// After it, one that passes.
	after := append(append(append([]byte{}, mac(1)...), mac(0)...), frame[12:]...)
	left.Put(after)
	if err := left.Flush(); err != nil {
		t.Fatal(err)
	}
	seen := func(s *ring.Socket) (own, passed int) {
		for {
			if _, ok := s.Stamp(); !ok {
				return own, passed
			}
			switch f := s.Take(nil); {
			case bytes.Equal(f, frame):
				own++
			case bytes.Equal(f, after):
				passed++
			}
		}
	}
	through := 0
	until(t, "the frame that passes", func() bool {
		own, passed := seen(right)
		through += own
		return passed > 0
	})
	if n, _ := seen(left); n != 1 {
		t.Errorf("the machine's own frame left %d times", n)
	}
	if through > 0 {
		t.Errorf("the machine's own frame left %d times by the other port", through)
	}
}

// Every kind of frame comes out byte for byte as it came in, whether programs look at it or
// not: tags, what bridges keep to themselves, what is damaged.
func TestByteForByte(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.open(`
ports:
  left: {interface: left, rate: 1Gbps}
  right: {interface: right, rate: 1Gbps}
switch: [forward, {abc: {}}, {ecn: {kmin: 100KB, kmax: 200KB, pmax: 10%}}]
metrics: none
`)
	in, out := w.socket("left", 1500), w.socket("right", 1500)
	for _, f := range softswitch.Frames() {
		for _, way := range [][2]*ring.Socket{{in, out}, {out, in}} {
			if got := pass(t, way[0], way[1], f.Bytes); !bytes.Equal(got, f.Bytes) {
				t.Errorf("%s: %d bytes\n%x\ncame out as %d\n%x", f.Name, len(f.Bytes), f.Bytes, len(got), got)
			}
		}
	}
}

// A frame that is longer than the other port allows is dropped and counted; one of 1500
// bytes with a tag is not too long.
func TestTooLong(t *testing.T) {
	w := lay(t, 9000, "left", "right")
	if err := w.do(middle, func() error { return setMTU("right", 1500) }); err != nil {
		t.Fatal(err)
	}
	p := w.open(plain)
	in, out := w.socket("left", 9000), w.socket("right", 9000)
	long := append(append(mac(1), mac(0)...), 0x88, 0xb5)
	if got := pass(t, in, out, append(long, make([]byte, 3000)...)); got != nil {
		t.Errorf("%d bytes came out where 1514 are possible", len(got))
	}
	tagged := append(append(mac(1), mac(0)...), 0x81, 0x00, 0x20, 0x05, 0x88, 0xb5)
	if got := pass(t, in, out, append(tagged, make([]byte, 1500)...)); len(got) != 1518 {
		t.Errorf("a full frame with a tag came out with %d bytes", len(got))
	}
	if s := p.stop(); !strings.Contains(s, "port right: ") || !strings.Contains(s, ", 1 too long") {
		t.Errorf("the summary is\n%s", s)
	}
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
