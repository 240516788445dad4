package traffic

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/packet"
	"weir/transport"
	"weir/transport/udp"
	"weir/unit"
)

// loopback is a configuration of two hosts of this machine's own namespace, that begins
// in a moment.
func loopback(t testing.TB, flows ...Flow) Config {
	t.Helper()
	book := packet.NewBook()
	for _, a := range []string{"127.0.0.1", "127.0.0.2"} {
		book.Add(netip.MustParseAddr(a), netip.IPv6Loopback())
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	return Config{Flows: flows, Epoch: now.Nano() + int64(50*time.Millisecond), Duration: 5 * unit.Second, UntilDone: true, Book: book,
		Do: func(_ int, what func() error) error { return what() }}
}

// port is one that no other test has.
var port = uint16(20000)

// stream is a flow of TCP from host 0 to host 1.
func stream(version uint8, size unit.Bytes) Flow {
	port++
	return Flow{Src: 0, Dst: 1, SrcPort: port, DstPort: 19999, Version: version, Size: size, Payload: 1448, TCP: &TCP{CongestionControl: "reno"}}
}

// datagrams is a flow of UDP from host 0 to host 1.
func datagrams(t testing.TB, version uint8, size unit.Bytes, c udp.Config) Flow {
	t.Helper()
	port++
	f := Flow{Src: 0, Dst: 1, SrcPort: port, DstPort: 19998, Version: version, Size: size, Payload: 1448}
	schedule(t, &f, c)
	return f
}

// schedule gives a flow its endpoints.
func schedule(t testing.TB, f *Flow, c udp.Config) {
	t.Helper()
	var err error
	f.UDP, f.UDPReceiver, err = udp.New(transport.Flow{Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1), SrcPort: f.SrcPort, DstPort: f.DstPort,
		Version: f.Version, TOS: f.TOS, Start: f.Start, Stop: f.Stop, Size: f.Size, Payload: f.Payload,
		Random: unit.NewRandom(1, "flow")}, c)
	if err != nil {
		t.Fatal(err)
	}
}

func carry(t testing.TB, c Config) *Result {
	t.Helper()
	r, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if e := r.Errors(); len(e) > 0 {
		t.Errorf("lost: %v", e)
	}
	return r
}

// A flow of each kind, complete and counted.
func TestLoopback(t *testing.T) {
	const size = 1_000_000
	cbr := udp.Config{Rate: 80 * unit.Mbps, Pattern: udp.CBR}
	c := loopback(t, stream(4, size), stream(6, size), datagrams(t, 4, size, cbr), datagrams(t, 6, size, cbr))
	c.UntilDone, c.Duration = false, unit.Second/2
	r := carry(t, c)
	for i, f := range r.Flows {
		t.Logf("%d: %+v", i, f)
		if f.Failed != nil || f.FCT == unit.Never || f.Arrived == unit.Never || f.FCT <= 0 || f.Arrived <= 0 || f.Receiver.ReceivedBytes != size || f.Sender.SentBytes != size {
			t.Errorf("flow %d: %+v", i, f)
		}
		if c.Flows[i].TCP == nil {
			continue
		}
		if f.Written > f.FCT || f.Arrived > f.Start+f.FCT {
			t.Errorf("flow %d was written at %v, had arrived at %v and was acknowledged at %v", i, f.Written, f.Arrived, f.FCT)
		}
	}
	t.Logf("%+v", r.Late.Max)
}
