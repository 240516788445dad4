//go:build lab

package softswitch_test

import (
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"weir/internal/netns"
	"weir/internal/ring"
	"weir/internal/rtnl"
	"weir/internal/testkit/realtime"
)

// lengthen puts a host behind another one. Frames that arrive at the eth0 of relay go to the eth1 of far after a
// delay, and back. This needs no netem, which some kernels lack. Far has 10.8.0.3 there, and near 10.8.0.1 at its
// eth0.
func (w *wire) lengthen(near, relay, far string, delay time.Duration) {
	w.t.Helper()
	there, err := os.Open(netns.Path(w.set.Name(far)))
	if err != nil {
		w.t.Fatal(err)
	}
	defer there.Close()
	ready := func(c *rtnl.Conn, name, address string) error {
		x, err := c.InterfaceByName(name)
		if err == nil && name != "eth0" {
			_, err = rtnl.DisableOffloads(name)
		}
		if err == nil && address != "" {
			err = c.AddAddress(x.Index, netip.MustParsePrefix(address))
		}
		if err == nil {
			err = c.SetUp(x.Index)
		}
		return err
	}
	w.in(relay, func(c *rtnl.Conn) error {
		if err := c.AddVeth(rtnl.End{Name: "on", MAC: [6]byte{2, 0, 0, 3, 0, 1}},
			rtnl.End{Name: "eth1", MAC: [6]byte{2, 0, 0, 3, 0, 2}}, int(there.Fd()), 1500); err != nil {
			return err
		}
		return ready(c, "on", "")
	})
	w.in(far, func(c *rtnl.Conn) error { return ready(c, "eth1", "10.8.0.3/24") })
	w.in(near, func(c *rtnl.Conn) error { return ready(c, "eth0", "10.8.0.1/24") })
	var ends [2]*ring.Socket
	for i, name := range [2]string{"eth0", "on"} {
		if err := w.do(relay, func() (err error) {
			ends[i], err = ring.Open(ring.Config{Interface: name, MaxFrame: 1514, Rx: 4096, Tx: 64, Promiscuous: true})
			return err
		}); err != nil {
			w.t.Fatal(err)
		}
	}
	over, ended := make(chan struct{}), make(chan struct{})
	w.relay = &lateness{}
	go func() {
		defer close(ended)
		relayFrames(ends, delay, over, w.relay)
	}()
	w.t.Cleanup(func() {
		close(over)
		<-ended
		ends[0].Close()
		ends[1].Close()
	})
}

// relayFrames carries frames from each socket to the other, a delay after their arrival, and counts the late ones.
func relayFrames(ends [2]*ring.Socket, delay time.Duration, over chan struct{}, count *lateness) {
	for ; ; time.Sleep(200 * time.Microsecond) {
		select {
		case <-over:
			return
		default:
		}
		for i, from := range ends {
			to := ends[1-i]
			for {
				stamp, ok := from.NextArrival()
				if !ok {
					break
				}
				age := time.Since(time.Unix(0, stamp))
				if age < delay {
					break
				}
				count.add(age - delay)
				to.Put(from.Take(nil))
			}
			to.Flush()
		}
	}
}

const held = `
ports:
  left: {interface: left, rate: 20Mbps}
  right: {interface: right, rate: 20Mbps}
switch: [forward%s]
`

// TestHeldByWindow checks that an unmodified sender of Linux obeys the window of a switch with P4TE: the port is
// committed to half of 20 Mb/s, and passing acknowledgements have a window for that much. Without P4TE the same flow
// fills the link.
func TestHeldByWindow(t *testing.T) {
	lab := lay(t, 1500, "left", "right", "far")
	lab.loopback()
	port := 5000
	lab.lengthen("left", "right", "far", 10*time.Millisecond)
	const payload = 1448. / 1514
	for _, x := range []struct {
		name, parameters string
		low, high        float64 // Mb/s
	}{
		{"without", "", 16, 20.5}, // what waited before the measurement comes on top
		{"p4te", "round_trip: 20ms", 8, 12},
		{"p4te that knows no round trip", "round_trip: 0s", 8, 12},
		{"p4te with the paper's rise", "rise: share, bytes: 5000 B", 8.5, 11},
	} {
		t.Run(x.name, func(t *testing.T) {
			program := ""
			if x.parameters != "" {
				program = ", p4te: {paths: false, rate: enforced, classes: {0x00: high_throughput}, committed: 50%, " +
					"safe_high_throughput: 20%, " + x.parameters + "}"
			}
			realtime.Test(t, func(t *realtime.Try) {
				w := lab.on(t)
				w.open(fmt.Sprintf(held, program))
				defer w.judge(t)()
				port++
				got, err := w.transfer("left", "far", netip.MustParseAddrPort(fmt.Sprint("10.8.0.3:", port)), 1, 2*time.Second,
					3*time.Second, "cubic")
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%.2f Mb/s, want %.2f to %.2f", got/1e6, x.low*payload, x.high*payload)
				if got < x.low*payload*1e6 || got > x.high*payload*1e6 {
					t.Errorf("%.2f Mb/s, want %.2f to %.2f", got/1e6, x.low*payload, x.high*payload)
				}
				if program == "" {
					return
				}
				m := w.metrics()
				for _, name := range []string{`weir_p4te_rate_changes_total{change="lower"}`, "weir_p4te_windows_lowered_total"} {
					if m[name] == 0 {
						t.Errorf("%s is %v", name, m[name])
					}
				}
				t.Logf("held %v, lowered %v, raised %v", m["weir_p4te_held_flows"],
					m[`weir_p4te_rate_changes_total{change="lower"}`], m[`weir_p4te_rate_changes_total{change="raise"}`])
			})
		})
	}
}
