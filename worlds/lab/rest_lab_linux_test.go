//go:build lab

package lab

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/ring"
	"weir/internal/rtnl"
)

// A thread sleeps until something is due or comes in; it looks at its descriptors at least every 10 ms when it has no
// time to sleep, and a run that is over comes first.
func TestRest(t *testing.T) {
	pipe := func() (r, w *os.File) {
		t.Helper()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		return r, w
	}
	control, ends := pipe()
	other, comes := pipe()
	clock := &wallClock{}
	if err := clock.start(); err != nil {
		t.Fatal(err)
	}
	r := newRest(clock, nil, int32(control.Fd()), int32(other.Fd()))
	until := func(due unit.Time, more, closed bool) {
		t.Helper()
		if m, c, err := r.until(due); m != more || c != closed || err != nil {
			t.Errorf("more %v, closed %v, %v; want %v, %v", m, c, err, more, closed)
		}
	}
	due := clock.now() + 3*unit.Millisecond
	for naps := 0; clock.now() < due; naps++ {
		if until(due, false, false); naps > 1000 {
			t.Fatal("it does not sleep")
		}
	}
	if _, err := comes.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	until(clock.now()+60*unit.Second, true, false) // else a sleep of 100 ms ends without more
	r.look = clock.now() + 60*unit.Second
	until(0, false, false) // there is no time
	r.look = clock.now()
	until(0, true, false)
	ends.Close()
	r.look = clock.now()
	until(0, false, true)
}

// What is wrong with a ring is said with its host.
func TestRestAtRing(t *testing.T) {
	needRoot(t)
	c := shaped("")
	l, err := Open(c.Network, c.Hosts, c.MTU)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	clock := &wallClock{}
	if err := clock.start(); err != nil {
		t.Fatal(err)
	}
	err = l.in("server", func(conn *rtnl.Conn) error {
		s, err := ring.Open(ring.Config{Interface: NIC, MaxFrame: 1514, Rx: rxSlots, Tx: txSlots})
		if err != nil {
			return err
		}
		g := &ringGate{Socket: s, host: "server", clock: clock}
		defer g.Close()
		i, err := conn.Interface(NIC)
		if err != nil {
			return err
		}
		if err := conn.Down(i.Index); err != nil {
			return err
		}
		_, _, err = newRest(clock, []*ringGate{g}, -1, -1).until(clock.now() + 60*unit.Second)
		if !errors.Is(err, unix.ENETDOWN) || !strings.HasPrefix(err.Error(), "host server: ") {
			t.Errorf("of an interface that is down: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
