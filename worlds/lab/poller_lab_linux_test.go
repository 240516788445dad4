//go:build lab

package lab

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/ring"
	"weir/internal/rtnl"
	"weir/worlds/live"
)

// TestPollerNamesHost checks that a poller's error about a ring names its host.
func TestPollerNamesHost(t *testing.T) {
	needRoot(t)
	c := shaped("")
	l, err := Open(c.Wiring.Network, c.Wiring.Hosts, c.MTU)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	clock := &live.Clock{}
	if err := clock.Start(); err != nil {
		t.Fatal(err)
	}
	err = l.doInNamespace("server", func(conn *rtnl.Conn) error {
		s, err := ring.Open(ring.Config{Interface: NIC, MaxFrame: 1514, Rx: live.RxSlots, Tx: live.TxSlots})
		if err != nil {
			return err
		}
		g := live.NewRingGate(s, "server", clock)
		defer g.Close()
		i, err := conn.InterfaceByName(NIC)
		if err != nil {
			return err
		}
		if err := conn.SetDown(i.Index); err != nil {
			return err
		}
		_, _, err = live.NewPoller(clock, []*live.RingGate{g}, -1, -1).Wait(clock.Now() + 60*unit.Second)
		if !errors.Is(err, unix.ENETDOWN) || !strings.HasPrefix(err.Error(), "host server: ") {
			t.Errorf("of an interface that is down: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
