//go:build lab

package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/netns"
	"weir/internal/testkit/realtime"
)

// role is the environment variable that makes this binary a data plane, or a lab that is ended.
const role = "WEIR_LAB_ROLE"

func TestMain(m *testing.M) {
	var err error
	switch what, of, _ := strings.Cut(os.Getenv(role), " "); what {
	case "":
		os.Exit(m.Run())
	case "dataplane":
		err = Serve(shaped(of), os.Stdin, os.Stdout)
	case "victim":
		err = victim()
	default:
		err = Roles[what](of)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// shaped returns the dumbbell with a total of 5 ms in each direction, 50 or 200 Mb/s, and more buffer than TCP
// needs to keep that busy. It may also have links without limits.
func shaped(how string) *Config {
	c := dumbbell()
	c.Wiring.Network.Links[0].Delay, c.Wiring.Network.Links[1].Delay = 2500*unit.Microsecond, 2500*unit.Microsecond
	c.Wiring.Network.Links[1].Buffer = unit.Length{Packets: 100}
	c.Duration = unit.Second
	switch how {
	case "200":
		c.Wiring.Network.Links[0].Rate, c.Wiring.Network.Links[1].Rate = unit.LinkRate{Bits: 400 * unit.Mbps},
			unit.LinkRate{Bits: 200 * unit.Mbps}
		c.Wiring.Network.Links[1].Buffer = unit.Length{Packets: 400}
	case "unshaped":
		for i := range c.Wiring.Network.Links {
			c.Wiring.Network.Links[i] = topology.Link{Ends: c.Wiring.Network.Links[i].Ends,
				Rate: unit.LinkRate{Bits: 400 * unit.Gbps}}
		}
	}
	return c
}

// needRoot skips a test where the lab cannot be.
func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes network namespaces and packet sockets")
	}
	if s, _, err := netns.NewSet(); err != nil {
		t.Skipf("no network namespaces here: %v", err)
	} else {
		err = s.Add("probe")
		s.Close()
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
			t.Skipf("no network namespaces here: %v", err)
		}
	}
}

func init() { NeedRoot = needRoot }

// disturbed stops a data plane at the end of an attempt, and records the machine's disturbances.
func disturbed(try *realtime.Try, p *DataPlane) {
	if r, err := p.Stop(); err == nil {
		try.NoteDisturbed(r.DisturbedStrictly(nil, 10*unit.Millisecond)...)
	}
}

func again(t testing.TB, as string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), role+"="+as)
	return c
}

// open makes the lab of a configuration and starts its data plane.
func open(t testing.TB, how string) (*Network, *DataPlane) {
	t.Helper()
	c := shaped(how)
	l, err := Open(c.Wiring.Network, c.Wiring.Hosts, c.MTU)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := l.Start(again(t, "dataplane "+how))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return l, p
}

const (
	client = 0
	server = 2
)

// TestNetwork_ReturnsDatagramsAfterDelay checks that datagrams of both versions of IP pass two links and back: 10 ms
// and the time to send 50 bytes, four times.
func TestNetwork_ReturnsDatagramsAfterDelay(t *testing.T) { realtime.Test(t, datagramsReturn) }

func datagramsReturn(t *realtime.Try) {
	needRoot(t)
	l, p := open(t, "")
	defer disturbed(t, p)
	c := shaped("")
	for _, book := range []func(packet.Addr) netip.Addr{c.Wiring.Hosts.V4, c.Wiring.Hosts.V6} {
		to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(book(server+1), 7))
		var there, here *net.UDPConn
		err := errors.Join(
			l.Do(server, func() (err error) { there, err = net.ListenUDP("udp", to); return err }),
			l.Do(client, func() (err error) { here, err = net.DialUDP("udp", nil, to); return err }))
		if err != nil {
			t.Fatal(err)
		}
		defer here.Close()
		defer there.Close()
		go func() {
			b := make([]byte, 2000)
			for {
				n, from, err := there.ReadFromUDP(b)
				if err != nil {
					return
				}
				there.WriteToUDP(b[:n], from)
			}
		}()
		least := time.Hour
		for i := range 20 {
			sent := fmt.Sprintf("datagram %d", i)
			start := time.Now()
			if _, err := here.Write([]byte(sent)); err != nil {
				t.Fatal(err)
			}
			here.SetReadDeadline(start.Add(5 * time.Second))
			b := make([]byte, 2000)
			n, err := here.Read(b)
			if err != nil || string(b[:n]) != sent {
				t.Fatalf("%s came back as %q: %v", sent, b[:n], err)
			}
			least = min(least, time.Since(start))
		}
		if least < 10*time.Millisecond || least > 20*time.Millisecond {
			t.Errorf("%v: the fastest of 20 took %v", to, least)
		}
	}
	r, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	if r.Counts.In != 80 || r.Counts.Out != 80 || r.Counts.NonIP != 0 || len(r.Errors()) > 0 {
		t.Errorf("80 datagrams went through, and no kernel says anything by itself: %+v, %v", r.Counts, r.Errors())
	}
}

// echoRequest returns an ICMP echo request (RFC 792) with a sequence number.
func echoRequest(seq uint16) []byte {
	b := []byte{8, 0, 0, 0, 0xbe, 0xef, byte(seq >> 8), byte(seq)}
	b = append(b, make([]byte, 48)...)
	sum := packet.Checksum(packet.Sum(0, b))
	b[2], b[3] = byte(sum>>8), byte(sum)
	return b
}

// oversleeps returns the excess of a sleep over its length: the delay that the machine adds for a process that
// waits for a packet.
func oversleeps(length time.Duration) time.Duration {
	timeout := unix.NsecToTimespec(int64(length))
	start := time.Now()
	unix.Ppoll(nil, &timeout, nil)
	return time.Since(start) - length
}

// TestDataPlane_SleepsWhenIdle checks that an idle data plane sleeps, and has the minimum timer slack
// (PR_SET_TIMERSLACK, prctl(2)) on its thread.
func TestDataPlane_SleepsWhenIdle(t *testing.T) { realtime.Test(t, sleeps) }

func sleeps(t *realtime.Try) {
	needRoot(t)
	_, p := open(t, "50")
	defer disturbed(t, p)
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var slacks []string
	for _, thread := range threads {
		b, err := os.ReadFile("/proc/" + thread.Name() + "/timerslack_ns")
		if err != nil {
			t.Fatal(err)
		}
		slacks = append(slacks, strings.TrimSpace(string(b)))
	}
	if !slices.Contains(slacks, "1") && !slices.Contains(slacks, "0") { // Linux gives a real-time thread none
		t.Errorf("timer slacks of its threads in ns: %v, want 1 of one, or 0", slacks)
	}
	time.Sleep(500 * time.Millisecond) // what is measured
	r, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if r.CPU > 0.1 {
		t.Errorf("it used %.0f %% of a core for nothing: %v", 100*r.CPU, r)
	}
}

// TestNetwork_PingsAreHardlyLate checks that an idle network is little later than its links: below 0.5 ms for 99 % of
// pings, if the machine is not disturbed.
func TestNetwork_PingsAreHardlyLate(t *testing.T) {
	needRoot(t)
	for _, how := range []string{"50", "200"} {
		t.Run(how+" Mbps", func(t *testing.T) {
			realtime.Test(t, func(try *realtime.Try) {
				p99, late := pings(try, how)
				if late > 100*time.Microsecond {
					try.NoteDisturbed(fmt.Sprintf("others, for which 1 %% of sleeps or writes took %v longer", late))
				}
				if p99 >= 500*time.Microsecond {
					try.Errorf("1 %% of pings took %v longer than the links", p99)
				}
			})
		})
	}
}

// pings sends 200 echo requests. It returns by how much 1 % took longer than the links until
// the kernel received the reply, and by how much 1 % of the sleeps between them, or of the
// writes, took longer than they should.
func pings(t *realtime.Try, how string) (p99, late time.Duration) {
	t.Helper()
	l, p := open(t, how)
	defer disturbed(t, p)
	config := shaped(how)
	var c *net.IPConn
	if err := l.Do(client, func() (err error) {
		c, err = net.ListenIP("ip4:icmp", &net.IPAddr{IP: net.IPv4zero})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stampArrivals(t, c)
	var took, wrote, woke []time.Duration
	to := &net.IPAddr{IP: config.Wiring.Hosts.V4(server + 1).AsSlice()}
	for seq := range uint16(200) {
		start := time.Now()
		if _, err := c.WriteTo(echoRequest(seq), to); err != nil {
			t.Fatal(err)
		}
		wrote = append(wrote, time.Since(start))
		c.SetReadDeadline(start.Add(5 * time.Second))
		b, control := make([]byte, 200), make([]byte, 128)
		n, m, _, _, err := c.ReadMsgIP(b, control)
		if err != nil || n != 20+56 || b[20] != 0 || b[26] != byte(seq>>8) || b[27] != byte(seq) { // with the IP header
			t.Fatalf("echo %d: % x, %v", seq, b[:n], err)
		}
		took = append(took, arrivalTime(t, control[:m]).Sub(start.Round(0)))
		woke = append(woke, oversleeps(2*time.Millisecond))
	}
	r, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range [][]time.Duration{took, wrote, woke} {
		slices.Sort(x)
	}
	links := 10 * time.Millisecond // and what sending 98 bytes takes, on both, there and back
	for _, link := range config.Wiring.Network.Links {
		links += 2 * time.Duration(98*8*unit.Second/unit.Time(link.Rate.Bits)/unit.Nanosecond)
	}
	most := len(took) * 99 / 100
	p99 = took[most] - links
	t.Logf("pings took %v at least, %v in the median, %v (99 %%): %v", took[0], took[len(took)/2], p99+links, r)
	if took[0] < links {
		t.Errorf("a ping took %v, faster than the links: %v", took[0], links)
	}
	return p99, max(woke[most], wrote[most]-wrote[len(wrote)/2])
}

// stampArrivals has the kernel record when it receives messages of a socket.
func stampArrivals(t *realtime.Try, c *net.IPConn) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var set error
	err = raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	if err := errors.Join(err, set); err != nil {
		t.Fatal(err)
	}
}

// arrivalTime returns when the kernel received a message, from its control messages. That this
// process is woken up late does not change it.
func arrivalTime(t *realtime.Try, control []byte) time.Time {
	t.Helper()
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 || messages[0].Header.Type != unix.SO_TIMESTAMPNS || len(messages[0].Data) < 16 {
		t.Fatalf("control messages %+v, %v", messages, err)
	}
	b := messages[0].Data
	return time.Unix(int64(binary.NativeEndian.Uint64(b)), int64(binary.NativeEndian.Uint64(b[8:])))
}

// bulk sends for some time by one TCP connection, and returns the payload that arrives a
// second between two times.
func bulk(t *realtime.Try, l *Network, warm, measured time.Duration) (bps float64) {
	t.Helper()
	book := shaped("").Wiring.Hosts
	var listener net.Listener
	err := l.Do(server, func() (err error) {
		listener, err = net.Listen("tcp", netip.AddrPortFrom(book.V4(server+1), 5001).String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	arrived := make(chan float64, 1)
	go func() {
		defer close(arrived)
		in, err := listener.Accept()
		if err != nil {
			return
		}
		defer in.Close()
		b := make([]byte, 1<<16)
		var from time.Time
		for begin, sum := time.Now(), 0; ; {
			n, err := in.Read(b)
			now := time.Now()
			switch {
			case err != nil:
				return
			case from.IsZero():
				if now.Sub(begin) >= warm {
					from = now
				}
				continue
			}
			if sum += n; now.Sub(from) >= measured {
				arrived <- 8 * float64(sum) / now.Sub(from).Seconds()
				return
			}
		}
	}()
	var out net.Conn
	err = l.Do(client, func() (err error) {
		d := net.Dialer{Timeout: 5 * time.Second, Control: func(_, _ string, c syscall.RawConn) (err error) {
			c.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic") })
			return err
		}}
		out, err = d.Dial("tcp", listener.Addr().String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	out.SetDeadline(time.Now().Add(warm + measured + 20*time.Second))
	go func() {
		for b := make([]byte, 1<<16); ; {
			if _, err := out.Write(b); err != nil {
				return
			}
		}
	}()
	idle, all := idleTimes(t)
	bps, ok := <-arrived
	// A data plane need not wait for a processor, but hosts have to.
	if i, a := idleTimes(t); float64(i-idle) < 0.1*float64(a-all) {
		t.NoteDisturbed("others: no core was idle")
	}
	if !ok {
		t.Fatal("the connection ended too early")
	}
	return bps
}

// idleTimes returns the idle time of the cores, and their total time (proc(5)).
func idleTimes(t testing.TB) (idle, all uint64) {
	t.Helper()
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	if _, all = parseCPU(line); all == 0 {
		t.Fatalf("%q", line)
	}
	if _, err := fmt.Sscan(strings.Fields(line)[4], &idle); err != nil {
		t.Fatal(err)
	}
	return idle, all
}

// TestShapedGoodput checks that one flow of unmodified TCP at 50 and at 200 Mb/s and 5 ms each way carries the frames'
// share of payload, 1448 of 1514 bytes, within 0.3 % if the machine is not disturbed.
func TestShapedGoodput(t *testing.T) {
	needRoot(t)
	for _, how := range []string{"50", "200"} {
		t.Run(how+" Mbps", func(t *testing.T) {
			want := float64(shaped(how).Wiring.Network.Links[1].Rate.Bits) * 1448 / 1514
			realtime.Test(t, func(try *realtime.Try) {
				l, p := open(try, how)
				defer disturbed(try, p)
				got := bulk(try, l, 1500*time.Millisecond, 3*time.Second)
				r, err := p.Stop()
				if err != nil {
					try.Fatal(err)
				}
				try.Logf("%.3f Mb/s of %.3f: %v", got/1e6, want/1e6, r)
				if g := r.Gates; g.TooLong+g.Partial+g.Tagged+r.Counts.Unwritable > 0 {
					try.Errorf("errors: %v", r.Errors())
				}
				if off := got/want - 1; off >= 0.003 || off <= -0.003 {
					try.Errorf("%.3f Mb/s instead of %.3f", got/1e6, want/1e6)
				}
			})
		})
	}
}

// TestNetwork_UnshapedFramesAreValid checks links without limits: every frame is valid for the data plane. The
// throughput depends on the machine (weir bench switch has the bounds).
func TestNetwork_UnshapedFramesAreValid(t *testing.T) {
	needRoot(t)
	realtime.Test(t, func(try *realtime.Try) {
		l, p := open(try, "unshaped")
		defer disturbed(try, p)
		got := bulk(try, l, 500*time.Millisecond, time.Second)
		r, err := p.Stop()
		if err != nil {
			try.Fatal(err)
		}
		try.Logf("%.0f Mb/s: %v", got/1e6, r)
		if g := r.Gates; got < 100e6 || g.TooLong+g.Partial+g.Tagged+r.Counts.Unwritable > 0 {
			try.Errorf("%.0f Mb/s, %+v, %+v", got/1e6, g, r.Counts)
		}
	})
}
