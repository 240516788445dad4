package bench

import (
	"cmp"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"weir/core/packet"
	"weir/core/unit"
)

// Over the loopback interface a flow carries something, and echoes come back.
func TestFlowOverLoopback(t *testing.T) {
	here := func(what func() error) error { return what() }
	h := &hosts{do: [2]func(func() error) error{here, here}, addr: [2]netip.Addr{netip.MustParseAddr("127.0.0.1"),
		netip.MustParseAddr("127.0.0.1")}, nic: "lo", port: 15001}
	before, err := h.received()
	if err != nil {
		t.Fatal(err)
	}
	f, err := h.send()
	if err != nil {
		t.Skipf("no flow over the loopback interface: %v", err)
	}
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if n, _ := f.bytes(); n > 1<<20 {
			break
		}
	}
	n, at := f.bytes()
	f.end()
	if n <= 1<<20 || time.Since(at) > time.Minute {
		t.Errorf("%d bytes at %v", n, at)
	}
	if after, err := h.received(); err != nil || after <= before {
		t.Errorf("packets: %d and then %d, %v", before, after, err)
	}
	if os.Geteuid() != 0 {
		return // raw sockets are root's
	}
	took, _, err := h.echoes(10, 0)
	if err != nil || len(took) != 10 {
		t.Fatalf("%d echoes: %v", len(took), err)
	}
	for _, d := range took {
		if d <= 0 || d > 5*unit.Second {
			t.Errorf("an echo took %v", d)
		}
	}
}

// What is no answer to a request is not taken for one.
func TestAnswers(t *testing.T) {
	request := echo(nil, 513)
	if len(request) != 64 || packet.Checksum(packet.Sum(0, request)) != 0 || request[6] != 2 || request[7] != 1 {
		t.Fatalf("% x", request)
	}
	ip, err := packet.DatagramHeader{TTL: 64, Protocol: packet.ProtoICMP, Src: netip.MustParseAddr("10.0.0.1"),
		Dst: netip.MustParseAddr("10.0.0.2")}.Append(nil, len(request))
	if err != nil {
		t.Fatal(err)
	}
	all := append(ip, request...)
	if answers(all, 513) {
		t.Error("the request answers itself")
	}
	all[len(ip)] = icmpReply
	if !answers(all, 513) || answers(all, 512) || answers(all[:len(ip)+7], 513) || answers(nil, 513) {
		t.Error("the answer, another one's, or parts of it")
	}
	all[len(ip)+5]++
	if answers(all, 513) {
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
	if n, err := receivedBy(text, "eth0"); n != 8269 || err != nil {
		t.Errorf("%d packets, %v", n, err)
	}
	for _, name := range []string{"eth", "eth1", ""} {
		t.Run(cmp.Or(name, "no name"), func(t *testing.T) {
			if _, err := receivedBy(text, name); err == nil {
				t.Errorf("there is an interface %q", name)
			}
		})
	}
}

// The process's own time is part of what the cores do, within the units in which the
// kernel counts that.
func TestLook(t *testing.T) {
	a, err := look(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	x := uint64(1)
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
		x *= 3
	}
	runtime.KeepAlive(x)
	b, err := look(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if b.busy < a.busy || b.own <= a.own || b.plane < a.plane || b.stolen < a.stolen {
		t.Errorf("%+v, then %+v", a, b)
	}
}
