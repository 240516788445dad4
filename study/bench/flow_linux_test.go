package bench

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"weir/core/packet"
)

// TestIsReply_AcceptsOwnReplyOnly checks that only a reply to a request is accepted.
func TestIsReply_AcceptsOwnReplyOnly(t *testing.T) {
	request := fillEcho(nil, 513)
	if len(request) != 64 || packet.Checksum(packet.Sum(0, request)) != 0 || request[6] != 2 || request[7] != 1 {
		t.Fatalf("% x", request)
	}
	ip, err := packet.DatagramHeader{TTL: 64, Protocol: packet.ProtoICMP, Src: netip.MustParseAddr("10.0.0.1"),
		Dst: netip.MustParseAddr("10.0.0.2")}.Append(nil, len(request))
	if err != nil {
		t.Fatal(err)
	}
	all := append(ip, request...)
	if isReply(all, 513) {
		t.Error("the request answers itself")
	}
	all[len(ip)] = icmpReply
	if !isReply(all, 513) || isReply(all, 512) || isReply(all[:len(ip)+7], 513) || isReply(nil, 513) {
		t.Error("the answer, another one's, or parts of it")
	}
	all[len(ip)+5]++
	if isReply(all, 513) {
		t.Error("an answer to another process")
	}
}

func TestReceivedBy(t *testing.T) {
	const text = "" + // proc(5)
		"Inter-|   Receive                                                " +
		"|  Transmit\n" +
		" face |bytes    packets errs drop fifo frame compressed multicast" +
		"|bytes    packets errs drop fifo colls carrier compressed\n" +
		"    lo:       0       0    0    0    0     0          0         0" +
		"        0       0    0    0    0     0       0          0\n" +
		"  eth0: 12997090    8269    0    0    0     0          0         0" +
		"   320536    4722    0    0    0     0       0          0\n"
	if n, err := parseReceived(text, "eth0"); n != 8269 || err != nil {
		t.Errorf("%d packets, %v", n, err)
	}
	for _, name := range []string{"eth", "eth1", ""} {
		t.Run(cmp.Or(name, "no name"), func(t *testing.T) {
			if _, err := parseReceived(text, name); err == nil {
				t.Errorf("there is an interface %q", name)
			}
		})
	}
}

// TestFlowOverLoopback checks that a flow over the loopback interface carries bytes, and the interface counts its
// packets.
func TestFlowOverLoopback(t *testing.T) {
	here := func(what func() error) error { return what() }
	addr := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	h := &hosts{do: [2]func(func() error) error{here, here}, addr: [2]netip.Addr{addr, addr}, nic: "lo"}
	before, err := h.receivedPackets()
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.startFlow()
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(0); n <= 1<<20; runtime.Gosched() {
		n, _ = f.readBytes()
	}
	f.end()
	if after, err := h.receivedPackets(); err != nil || after <= before {
		t.Errorf("packets: %d and then %d, %v", before, after, err)
	}
}

// TestReadCPUTimes_IncludesOwnProcess checks that the process's own time is part of the cores' time, within the
// kernel's units.
func TestReadCPUTimes_IncludesOwnProcess(t *testing.T) {
	a, err := readCPUTimes(os.Getpid())
	b := a
	for ; err == nil && b.process <= a.process; b, err = readCPUTimes(os.Getpid()) {
		x := uint64(1)
		for range 1 << 16 {
			x *= 3
		}
		runtime.KeepAlive(x)
	}
	if err != nil {
		t.Fatal(err)
	}
	if b.busy < a.busy || b.process <= a.process || b.plane < a.plane || b.stolen < a.stolen {
		t.Errorf("%+v, then %+v", a, b)
	}
	if all, own, cores := readCPU(); all < b.busy || own < b.process || cores < 1 {
		t.Errorf("spent: %g, %g on %g cores, after %+v", all, own, cores, b)
	}
	if _, err := readCPUTimes(-1); err == nil {
		t.Error("there is a process -1")
	}
}

// TestProcTimes checks that the times of all cores and of a process are sums of the fields that proc(5) describes.
func TestProcTimes(t *testing.T) {
	busy, stolen, err := coresTime("cpu  100 20 300 4000 50 6 70 800 9 10\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	if err != nil || busy != 4.96 || stolen != 8 {
		t.Errorf("busy %g s, stolen %g s, %v", busy, stolen, err)
	}
	for _, text := range []string{"", "cpu0 1 1 1 1 1 1 1 1 1 1\n", "cpu 1 2 3\n", "cpu 1 2 3 4 5 6 7 x\n"} {
		t.Run(strings.TrimSpace("cores "+text), func(t *testing.T) {
			if _, _, err := coresTime(text); err == nil || !strings.HasPrefix(err.Error(), "/proc/stat: ") {
				t.Errorf("%v", err)
			}
		})
	}
	const process = "12 (a name) with) S 1 12 12 0 -1 4194304 100 0 0 0 "
	if s, err := processTime(process + "250 50 0 0 20 0 1 0 100\n"); err != nil || s != 3 {
		t.Errorf("%g s, %v", s, err)
	}
	for _, text := range []string{"", "12 (a) S 1", process + "x 50 0 0\n", process + "1 y 0 0\n"} {
		t.Run(strings.TrimSpace("process "+text), func(t *testing.T) {
			if _, err := processTime(text); err == nil {
				t.Error("it has a time")
			}
		})
	}
}

// TestStampOf checks that the time at which a message arrived is read from the kernel's control message (cmsg(3)): its
// length, level, type and data.
func TestStampOf(t *testing.T) {
	message := func(kind uint32) []byte {
		b := binary.NativeEndian.AppendUint64(nil, 16+16)
		b = binary.NativeEndian.AppendUint32(b, unix.SOL_SOCKET)
		b = binary.NativeEndian.AppendUint32(b, kind)
		return binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(b, 12), 34)
	}
	if ns, err := receiveTime(message(unix.SO_TIMESTAMPNS)); err != nil || ns != 12_000_000_034 {
		t.Errorf("%d ns, %v", ns, err)
	}
	if _, err := receiveTime(message(unix.SO_TIMESTAMP)); err == nil {
		t.Error("a message of another type is a stamp")
	}
	if _, err := receiveTime(nil); err == nil {
		t.Error("there is a stamp without a message")
	}
}
