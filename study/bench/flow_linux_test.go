package bench

import (
	"cmp"
	"net/netip"
	"testing"

	"weir/core/packet"
)

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
