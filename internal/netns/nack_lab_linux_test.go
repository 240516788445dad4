//go:build lab

package netns_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/netns"
	"weir/internal/testkit"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
)

// behindNAT has a sender behind a router of Linux that masquerades it, and a receiver.
const behindNAT = `link add s0 netns SENDER numrxqueues 1 numtxqueues 1 type veth peer name n0 netns NAT
link add r0 netns RECEIVER numrxqueues 1 numtxqueues 1 type veth peer name n1 netns NAT
-n SENDER link set s0 up
-n NAT link set n0 up
-n NAT link set n1 address 02:00:00:00:00:11
-n NAT link set n1 up
-n RECEIVER link set r0 up
-n SENDER address add 10.1.0.2/24 dev s0
-n NAT address add 10.1.0.1/24 dev n0
-n NAT address add 10.2.0.1/24 dev n1
-n RECEIVER address add 10.2.0.2/24 dev r0
-n SENDER route add default via 10.1.0.1
netns exec NAT sysctl -qw net.ipv4.ip_forward=1
netns exec NAT nft add table ip nat
netns exec NAT nft add chain ip nat post { type nat hook postrouting priority 100 ; }
netns exec NAT nft add rule ip nat post oifname n1 masquerade
netns exec NAT nft add table ip look
netns exec NAT nft add chain ip look pre { type filter hook forward priority 0 ; }
netns exec NAT nft add rule ip look pre ct state invalid counter drop`

// forms are ways to write a NACK. The first is Weir's form. Linux' reaction to the others is the reason against
// them.
var forms = []struct {
	name string
	make func(p *packet.Packet)
}{
	{"Weir", func(*packet.Packet) {}},
	{"with the data's numbers", func(p *packet.Packet) {
		seq, stamp := p.NoticeSubject()
		p.Seq, p.Ack, p.TCP.TSVal, p.TCP.TSEcho = seq, p.Seq+1, stamp, p.TCP.TSVal
	}},
	{"in sequence, stale stamp", func(p *packet.Packet) { p.Seq++ }},
	{"fresh stamp, ACK 2³⁰ back", func(p *packet.Packet) { p.TCP.TSVal += 1024 }},
	{"no ACK flag", func(p *packet.Packet) { p.TCP.Flags = 0 }},
	{"fresh stamp, ACK of what is before it", func(p *packet.Packet) {
		seq, _ := p.NoticeSubject()
		p.Seq, p.Ack, p.TCP.TSVal = p.Seq+1, seq, p.TCP.TSVal+1024
	}},
}

// TestNackThroughNAT checks that a switch's NACK passes a masquerading NAT to a transmitting Linux sender, and that
// it has no effect there. The NAT puts in the sender's address and port. Linux counts the NACK as an old ACK, and
// no other counter moves that ordinary segments do not move.
func TestNackThroughNAT(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, for namespaces")
	}
	testkit.RequireProgram(t, "ip", "iproute2")
	testkit.RequireProgram(t, "nft", "nftables")
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			realtime.Test(t, func(t *realtime.Try) {
				arrived, moved := openNAT(t).attack(t, nacks, form.make)
				t.Logf("%d of %d arrive; %v", arrived, nacks, moved)
				if form.name != "Weir" {
					return
				}
				// A host that is late sends a loss probe in any case. It answers NACKs only if it always occurs.
				if moved["TcpExt TCPLossProbes"] > 0 {
					t.NoteDisturbed("a loss probe")
				}
				if wrong := judge(arrived, moved); wrong != "" {
					t.Error(wrong)
				}
			})
		})
	}
}

// nacks is the number of segments that NACKs answer.
const nacks = 50

// judge describes a wrong effect of Weir's NACKs, or returns "".
func judge(arrived int, moved map[string]int64) string {
	if arrived != nacks {
		return fmt.Sprintf("%d of %d pass the NAT", arrived, nacks)
	}
	if n, known := moved["TcpExt PAWSOldAck"]; known && n < nacks {
		return fmt.Sprintf("%d are counted as old ACKs", n)
	}
	delete(moved, "TcpExt PAWSOldAck")
	if len(moved) > 0 {
		return fmt.Sprintf("the kernel counts %v", moved)
	}
	return ""
}

// natted is a connection through the NAT.
type natted struct {
	sender, receiver string
	conn             *net.TCPConn
	fds              [2]int // raw sockets at the sender's and the receiver's port
	book             *packet.Book
}

func openNAT(t testing.TB) *natted {
	t.Helper()
	set, _, err := netns.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	for _, short := range []string{"s", "n", "r"} {
		if err := set.Add(short); err != nil {
			t.Fatal(err)
		}
	}
	w := &natted{sender: set.Name("s"), receiver: set.Name("r"), book: packet.NewBook()}
	names := strings.NewReplacer("SENDER", w.sender, "NAT", set.Name("n"), "RECEIVER", w.receiver)
	for _, line := range strings.Split(names.Replace(behindNAT), "\n") {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", line, err, out) // what root lacks here, CI must show
		}
	}
	for _, a := range []string{"10.1.0.2", "10.2.0.1", "10.2.0.2"} {
		w.book.Add(netip.MustParseAddr(a), netip.Addr{})
	}
	var l net.Listener
	for i, at := range []struct{ ns, port string }{{w.sender, "s0"}, {w.receiver, "r0"}} {
		if err := netns.Do(at.ns, func() error { return raw(at.port, &w.fds[i]) }); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(w.fds[i]) })
	}
	err = netns.Do(w.receiver, func() (err error) { l, err = net.Listen("tcp4", "10.2.0.2:5000"); return })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		for b := make([]byte, 1<<16); err == nil; {
			_, err = c.Read(b)
		}
	}()
	if err := netns.Do(w.sender, w.dial); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.conn.Close() })
	return w
}

// dial opens the connection, and sends 2 MB/s on it.
func (w *natted) dial() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "sender")
	defer f.Close()
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, 2_000_000); err != nil {
		return err
	}
	if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno"); err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: 5000, Addr: [4]byte{10, 2, 0, 2}}); err != nil {
		return err
	}
	c, err := net.FileConn(f)
	if err != nil {
		return err
	}
	w.conn = c.(*net.TCPConn)
	go func() {
		for b := make([]byte, 1<<16); err == nil; {
			_, err = w.conn.Write(b)
		}
	}()
	return nil
}

// raw opens a raw socket at an interface.
func raw(name string, fd *int) error {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	const everything = 0x0300 // ETH_P_ALL in network order
	if *fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	if err := unix.SetsockoptTimeval(*fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 300_000}); err != nil {
		return err
	}
	// Early packets, before the first read, must not push out the expected ones.
	if err := unix.SetsockoptInt(*fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20); err != nil {
		return err
	}
	return unix.Bind(*fd, &unix.SockaddrLinklayer{Protocol: everything, Ifindex: ifi.Index})
}

// attack answers the given number of the receiver's segments with NACKs. It returns the number of NACKs that reach
// the sender unchanged, and the counters of its namespace and connection that moved, without the ordinary ones.
func (w *natted) attack(t testing.TB, nacks int, change func(p *packet.Packet)) (arrived int, moved map[string]int64) {
	t.Helper()
	await.AwaitCondition(t, "the end of slow start", func() bool { return w.counters(t)["Tcp OutSegs"] > 400 })
	before := w.counters(t)
	b := make([]byte, 1<<17)
	want := packet.Notification{Lost: 1448, Supply: 1024 * unit.Kbps}
	for made := 0; made < nacks; {
		n, err := unix.Read(w.fds[1], b)
		var p packet.Packet
		if err != nil || p.Parse(w.book, b[:n]) != nil || p.Dst != 3 || p.Payload == 0 || !p.CanCarryOption() {
			continue
		}
		p.SwapEnds()
		p.Payload, p.Kind, p.Data = 0, packet.Nack, nil
		p.SetNotice(&want)
		change(&p)
		frame, err := p.Emit(w.book, nil)
		if err != nil {
			t.Fatal(err)
		}
		copy(frame, []byte{2, 0, 0, 0, 0, 0x11})
		if _, err := unix.Write(w.fds[1], frame); err != nil {
			t.Fatal(err)
		}
		made++
		if w.comes(b, &p, &want) {
			arrived++
		}
	}
	sent := w.counters(t)["Tcp OutSegs"]
	await.AwaitCondition(t, "what the sender does of it", func() bool { return w.counters(t)["Tcp OutSegs"] > sent+400 })
	moved = map[string]int64{}
	for name, v := range w.counters(t) {
		if old, ok := before[name]; ok && v != old && !ordinary[name] {
			moved[name] = v - old
		}
	}
	return arrived, moved
}

// ordinary are counters that a transfer moves, also on a host whose processes are late.
var ordinary = map[string]bool{"TcpExt TCPHPAcks": true, "TcpExt TCPPureAcks": true, "TcpExt TCPHPHits": true,
	"TcpExt TCPDelivered": true, "TcpExt TCPOrigDataSent": true, "TcpExt TCPAutoCorking": true, "Tcp InSegs": true,
	"Tcp OutSegs": true, "TcpExt TCPBacklogCoalesce": true, "TcpExt TCPAckCompressed": true,
	"TcpExt TCPFromZeroWindowAdv": true, "TcpExt TCPToZeroWindowAdv": true, "TcpExt TCPWantZeroWindowAdv": true,
	"TcpExt TCPRcvCoalesce": true}

// comes reports whether a NACK arrives at the sender's port with right checksums, unchanged except for the address
// and the port of the sender.
func (w *natted) comes(b []byte, made *packet.Packet, want *packet.Notification) bool {
	for until := time.Now().Add(100 * time.Millisecond); time.Now().Before(until); {
		n, err := unix.Read(w.fds[0], b)
		if err != nil {
			return false
		}
		var q packet.Packet
		var notice packet.Notification
		if q.Parse(w.book, b[:n]) != nil || q.Src != 3 || q.Dst != 1 || uint32(q.Seq) != uint32(made.Seq) ||
			uint32(q.Ack) != uint32(made.Ack) || made.TCP.Flags == packet.ACK && (!q.Notification(&notice) || notice != *want) {
			continue
		}
		return q.SrcPort == 5000 && q.TCP.TSEcho == made.TCP.TSEcho
	}
	return false
}

// counters returns the counters of the sender's namespace and of its connection.
func (w *natted) counters(t testing.TB) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	err := netns.Do(w.sender, func() error {
		for _, file := range []string{"netstat", "snmp"} {
			b, err := os.ReadFile("/proc/thread-self/net/" + file)
			if err != nil {
				return err
			}
			lines := strings.Split(strings.TrimSpace(string(b)), "\n")
			for i := 0; i+1 < len(lines); i += 2 {
				names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
				for k, name := range names[1:] {
					var v int64
					if head := strings.TrimSuffix(names[0], ":"); strings.HasPrefix(head, "Tcp") {
						fmt.Sscan(values[k+1], &v)
						all[head+" "+name] = v
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	c.Control(func(fd uintptr) {
		i, e := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err = e; err != nil {
			return
		}
		all["info state"], all["info sacked"], all["info lost"] = int64(i.Ca_state), int64(i.Sacked), int64(i.Lost)
		all["info retransmissions"], all["info DSACK"] = int64(i.Total_retrans), int64(i.Dsack_dups)
		all["info reordering"], all["info threshold"] = int64(i.Reordering), int64(i.Snd_ssthresh)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
