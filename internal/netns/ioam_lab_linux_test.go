//go:build lab

package netns_test

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/unit"
	"weir/internal/netns"
	"weir/internal/testkit"
)

// router is a namespace of Linux that forwards between two links, whose far ends are in another namespace. It is a
// node of IOAM's namespace 87. Its wide data are the counter of a port with 10 Gb/s: 10000 · 10^6.
const router = `link add h0 netns HOST type veth peer name r0 netns ROUTER
link add h1 netns HOST type veth peer name r1 netns ROUTER
-n HOST link set h0 up
-n HOST link set h1 up
-n ROUTER link set r0 address 02:00:00:00:00:10
-n ROUTER link set r0 up
-n ROUTER link set r1 up
-n ROUTER address add fd00:1::1/64 dev r0 nodad
-n ROUTER address add fd00:2::1/64 dev r1 nodad
-n ROUTER neighbour add fd00:2::2 lladdr 02:00:00:00:00:22 dev r1
-n ROUTER ioam namespace add 87 wide 0x62710
netns exec ROUTER sysctl -qw net.ipv6.conf.all.forwarding=1
netns exec ROUTER sysctl -qw net.ipv6.ioam6_id=77
netns exec ROUTER sysctl -qw net.ipv6.conf.r0.ioam6_enabled=1
netns exec ROUTER sysctl -qw net.ipv6.conf.r0.ioam6_id=5
netns exec ROUTER sysctl -qw net.ipv6.conf.r1.ioam6_id=6`

// TestKernelIOAM checks that the kernel's own IOAM takes part in Weir's trace. It fills the record after that of
// Weir's switch, in its place and by the trace type, and Weir reads it. The kernel fills draft-gafni's bits, which
// it does not support, as not available. Without room it sets the flag that Weir reads.
func TestKernelIOAM(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, for namespaces")
	}
	testkit.RequireProgram(t, "ip", "iproute2")
	if _, err := os.Stat("/proc/sys/net/ipv6/ioam6_id"); err != nil {
		t.Skip("the kernel has no IOAM")
	}
	set, _, err := netns.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	for _, short := range []string{"h", "r"} {
		if err := set.Add(short); err != nil {
			t.Fatal(err)
		}
	}
	names := strings.NewReplacer("HOST", set.Name("h"), "ROUTER", set.Name("r"))
	for _, line := range strings.Split(names.Replace(router), "\n") {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", line, err, out)
		}
	}
	for _, x := range []struct {
		format string
		hops   int
		rate   unit.Rate
		missed int
	}{{"ioam", 5, 10 * unit.Gbps, 0}, {"ioam-gafni", 5, 0, 0}, {"ioam", 1, 0, 1}} {
		t.Run(x.format, func(t *testing.T) {
			f, err := telemetry.NewFormat(x.format, 1, 1.05, nil)
			if err == nil {
				err = f.SetShape(x.hops, false)
			}
			if err != nil {
				t.Fatal(err)
			}
			p := throughKernel(t, set.Name("h"), &f)
			var r telemetry.Records
			if what, _ := f.ReadRequest(p, &r); what != telemetry.Recorded || r.Len() != 2-x.missed ||
				r.MissedHops() != x.missed {
				t.Fatalf("%d: %d hops, %d missed, % x", what, r.Len(), r.MissedHops(), p.Stack())
			}
			ours := telemetry.Hop{Time: 3 * unit.Second, TxBytes: 12345, Queue: 678, Rate: 100 * unit.Gbps, Switch: 4, Port: 2,
				Flags: telemetry.NoSojourn}
			if *r.At(0) != ours {
				t.Errorf("our hop became %+v", *r.At(0))
			}
			if x.missed == 0 {
				checkKernel(t, p, r.At(1), x.rate)
			}
		})
	}
}

// checkKernel checks the record from the kernel.
func checkKernel(t *testing.T, p *packet.Packet, h *telemetry.Hop, rate unit.Rate) {
	b := p.Stack()
	left := int(b[5] & 127)
	if limit := b[10+4*left]; limit != 62 { // as it was forwarded
		t.Errorf("the hop limit is %d, want 62", limit)
	}
	seconds := int64(b[10+4*left+8])<<24 | int64(b[10+4*left+9])<<16 | int64(b[10+4*left+10])<<8 | int64(b[10+4*left+11])
	if now := time.Now().Unix(); seconds < now-5 || seconds > now {
		t.Errorf("the kernel's time is %d, ours %d", seconds, now)
	}
	if h.Switch != 77 || h.Port != 6 || h.Queue != 0 || h.Rate != rate {
		t.Errorf("the kernel's hop is %+v", *h)
	}
}

// throughKernel sends a packet with one record of Weir through the router, and returns the packet behind it.
func throughKernel(t *testing.T, host string, f *telemetry.Format) *packet.Packet {
	t.Helper()
	book := packet.NewBook()
	book.Add(netip.Addr{}, netip.MustParseAddr("fd00:1::2"))
	book.Add(netip.Addr{}, netip.MustParseAddr("fd00:2::2"))
	p := &packet.Packet{Src: 1, Dst: 2, SrcPort: 1000, DstPort: 2000, Proto: packet.ProtoUDP, Version: 6, HopLimit: 63,
		Payload: 100}
	f.AddRequest(p, telemetry.HopRecords, false)
	if !f.PushRecord(p, &telemetry.Hop{Time: 3 * unit.Second, TxBytes: 12345, Queue: 678, Rate: 100 * unit.Gbps, Switch: 4,
		Port: 2}) {
		t.Fatal("our switch adds nothing")
	}
	frame, err := p.Emit(book, nil)
	if err != nil {
		t.Fatal(err)
	}
	copy(frame, []byte{2, 0, 0, 0, 0, 0x10})
	q := &packet.Packet{}
	if err := netns.Do(host, func() error { return exchange(frame, book, q) }); err != nil {
		t.Fatal(err)
	}
	return q
}

// exchange sends a frame on h0, and parses the datagram to its port that arrives on h1.
func exchange(frame []byte, book *packet.Book, q *packet.Packet) error {
	var fds [2]int
	for i, name := range []string{"h0", "h1"} {
		ifi, err := net.InterfaceByName(name)
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		const everything = 0x0300 // ETH_P_ALL in network order
		if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: everything, Ifindex: ifi.Index}); err != nil {
			return err
		}
		fds[i] = fd
	}
	if err := unix.SetsockoptTimeval(fds[1], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 3}); err != nil {
		return err
	}
	if _, err := unix.Write(fds[0], frame); err != nil {
		return err
	}
	b := make([]byte, 2048)
	for {
		n, err := unix.Read(fds[1], b)
		if err != nil {
			return err
		}
		if q.Parse(book, b[:n]) == nil && q.DstPort == 2000 && q.Src == 1 {
			return nil
		}
	}
}
