//go:build lab

package lab

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"weir/core/fabric/wiring"
	"weir/core/unit"
	"weir/internal/rtnl"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
)

func init() {
	Roles["cabled"] = func(string) error { return Serve(cabled(), os.Stdin, os.Stdout) }
}

// cabled is the dumbbell with a bottleneck that goes down at 300 ms and up at 600 ms, and an access link that would
// go down in an hour.
func cabled() *Config {
	c := shaped("")
	c.Duration = 2 * 3600 * unit.Second
	c.Wiring.Events = []wiring.Event{
		{At: 300 * unit.Millisecond, Link: 1, Down: true},
		{At: 400 * unit.Millisecond, Link: 1, Rate: unit.LinkRate{Bits: 20 * unit.Mbps}},
		{At: 600 * unit.Millisecond, Link: 1},
		{At: 3600 * unit.Second, Link: 0, Down: true},
	}
	return c
}

// TestPlane_FollowsCarrier checks that a link is down from the kernel's RTM_SETLINK, as by ip-link(8), until it is up
// again, and the data plane detects it only by the carrier, also without an event of the experiment. Frames sent
// meanwhile are lost.
func TestPlane_FollowsCarrier(t *testing.T) { realtime.Test(t, carrier) }

func carrier(t *realtime.Try) {
	needRoot(t)
	c := cabled()
	l, err := Open(c.Wiring.Network, c.Wiring.Hosts, c.MTU)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.LayCables(c.CableLinks()); err != nil {
		t.Fatal(err)
	}
	p, err := l.Start(again(t, "cabled"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	defer disturbed(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	pulled := make(chan error, 1)
	go func() { pulled <- p.PullCables(ctx, c) }()
	lost, kept := 0, 0
	for seq := range uint16(40) { // one every 20 ms
		if answered(t, l, c, seq, 20*time.Millisecond) {
			kept++
		} else {
			lost++
		}
	}
	err = l.doInNamespace(planeName, func(n *rtnl.Conn) error { // somebody else does it
		i, err := n.InterfaceByName(l.cables[0].Ends[1])
		if err != nil {
			return err
		}
		return n.SetDown(i.Index)
	})
	if err != nil {
		t.Fatal(err)
	}
	seq := uint16(99)
	await.AwaitCondition(t, "the loss of an echo", func() bool {
		seq++
		return !answered(t, l, c, seq,
			100*time.Millisecond)
	})
	if answered(t, l, c, 98, 100*time.Millisecond) {
		t.Error("an echo has crossed a link whose other end is down")
	}
	cancel()
	if err := <-pulled; err != nil {
		t.Error(err)
	}
	r, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d echoes answered, %d lost; %+v; %v", kept, lost, r.Carriers, r)
	if len(r.Carriers) != 3 || r.Carriers[0].Link != 1 || !r.Carriers[0].Down || r.Carriers[1].Link != 1 ||
		r.Carriers[1].Down || r.Carriers[2].Link != 0 || !r.Carriers[2].Down {
		t.Fatalf("%+v", r.Carriers)
	}
	for i, at := range []unit.Time{300 * unit.Millisecond, 600 * unit.Millisecond} {
		if late := r.Carriers[i].At - at; late < 0 || late > 500*unit.Millisecond {
			t.Errorf("carrier %d: noticed %v after its time", i, late)
		}
	}
	if lost == 0 || kept == 0 {
		t.Errorf("%d echoes answered, %d lost", kept, lost)
	}
}

// answered reports whether an echo returns within the given time. It always takes that time.
func answered(t testing.TB, l *Network, c *Config, seq uint16, within time.Duration) bool {
	t.Helper()
	end := time.Now().Add(within)
	defer func() { time.Sleep(time.Until(end)) }()
	var conn net.PacketConn
	if err := l.Do(client, func() (err error) {
		conn, err = net.ListenPacket("ip4:icmp", "0.0.0.0")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.WriteTo(echoRequest(seq), &net.IPAddr{IP: c.Wiring.Hosts.V4(server + 1).AsSlice()}); err != nil {
		t.Fatal(err)
	}
	conn.SetReadDeadline(end)
	for b := make([]byte, 200); ; {
		n, _, err := conn.ReadFrom(b)
		if err != nil {
			return false
		}
		if n == 56 && b[0] == 0 && b[6] == byte(seq>>8) && b[7] == byte(seq) {
			return true
		}
	}
}
