package dataplane_test

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/drill"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/balance/letflow"
	"weir/core/dataplane/balance/spray"
	"weir/core/dataplane/balance/wecmp"
	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/unit"
)

const ms = unit.Millisecond

// balancers are all programs that leave out ports that are down after a time. Others that avoid them (CONGA, HULA,
// P4TE) do so by what their papers have.
var balancers = map[string]struct {
	scheme dataplane.Scheme
	given  []string
	stays  bool // a flow stays on its port
}{
	"ecmp":               {ecmp.Scheme(), nil, true},
	"ecmp crc16":         {ecmp.Scheme(), []string{"hash", "crc16"}, true},
	"wecmp":              {wecmp.Scheme(), nil, true},
	"letflow":            {letflow.Scheme(), []string{"gap", "1s"}, true},
	"spray permutation":  {spray.Scheme(), nil, false},
	"spray round robin":  {spray.Scheme(), []string{"order", "round_robin"}, false},
	"spray random":       {spray.Scheme(), []string{"order", "random"}, false},
	"drill":              {drill.Scheme(), nil, false},
	"drill, much memory": {drill.Scheme(), []string{"m", "4", "d", "1"}, false},
}

// uplinks is a leaf with four uplinks, ports 2 to 5.
func uplinks(t *testing.T, s dataplane.Scheme, given ...string) *dataplanetest.SingleSwitch {
	t.Helper()
	a, err := dataplanetest.NewSingleSwitch(s, dataplanetest.SwitchPosition{Tiers: 2, Tier: 1, Leaves: 2, Up: 4}, given...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// flows sends a packet of each of n flows at now. It returns by which port each departs, and the count of each port.
func flows(t *testing.T, a *dataplanetest.SingleSwitch, now unit.Time, n int) (ports []packet.PortID, count [6]int) {
	t.Helper()
	for i := range n {
		left := a.ReceivePacket(now, 0, a.NewPacket(dataplanetest.HostAddress(0, 0), dataplanetest.HostAddress(1, 0),
			uint16(i*7), 1500))
		if len(left) != 1 {
			t.Fatalf("%d packets leave", len(left))
		}
		ports = append(ports, left[0].Port)
		count[left[0].Port]++
	}
	return ports, count
}

// TestFailover_MovesOnlyFlowsOfDownPorts checks that a port is omitted once its link has been down for the time, and
// used again once it has been up for it. Shorter changes have no effect. Only flows of an omitted port move, evenly,
// and all of them return.
func TestFailover_MovesOnlyFlowsOfDownPorts(t *testing.T) {
	const n = 3000
	for name, x := range balancers {
		t.Run(name, func(t *testing.T) {
			a := uplinks(t, x.scheme, append(slices.Clone(x.given), "failover", "10ms")...)
			before, _ := flows(t, a, 0, n)
			look := func(at unit.Time, out ...int) []packet.PortID {
				t.Helper()
				ports, count := flows(t, a, at, n)
				for port := 2; port < 6; port++ {
					share := float64(count[port]) / n * float64(4-len(out))
					switch gone := slices.Contains(out, port); {
					case gone && count[port] > 0:
						t.Errorf("%v: %d packets by port %d, which is left out", at, count[port], port)
					case !gone && (share < 0.85 || share > 1.15):
						t.Errorf("%v: port %d has %.2f of what it should", at, port, share)
					}
				}
				for i := range ports {
					if x.stays && !slices.Contains(out, int(before[i])) && ports[i] != before[i] {
						t.Fatalf("%v: a flow of port %d, which is in use, is at %d", at, before[i], ports[i])
					}
				}
				return ports
			}
			a.SetDown(ms, 3, true)
			look(11*ms - 1)
			after := look(11*ms, 3)
			a.SetDown(12*ms, 5, true)
			look(22*ms-1, 3)
			look(22*ms, 3, 5)
			a.SetDown(23*ms, 3, false)
			look(33*ms-1, 3, 5)
			if x.stays && name != "letflow" { // whose flowlets stay where they have gone
				if back := look(33*ms, 5); slices.Equal(back, after) {
					t.Error("nothing has come back")
				}
			}
			a.SetDown(34*ms, 5, false)
			if name != "letflow" {
				look(44*ms, []int{}...)
			}
		})
	}
}

// TestNoFailover checks that without the parameter, and for less than its time, flows continue to a port with a failed
// link and are lost there.
func TestNoFailover(t *testing.T) {
	for name, x := range balancers {
		for _, given := range [][]string{nil, {"failover", "10ms"}} {
			t.Run(fmt.Sprint(name, given), func(t *testing.T) {
				a := uplinks(t, x.scheme, append(slices.Clone(x.given), given...)...)
				b := uplinks(t, x.scheme, x.given...)
				for i := range 20 {
					now := unit.Time(i) * 12 * ms
					a.SetDown(now, 4, true)
					got, _ := flows(t, a, now+9*ms, 100)
					a.SetDown(now+10*ms-1, 4, false)
					want, _ := flows(t, b, now+9*ms, 100)
					if !slices.Equal(got, want) {
						t.Fatalf("%v: %v, and %v where nothing happens", now, got, want)
					}
				}
			})
		}
	}
}

// TestFailoverAllDown checks that no port is omitted where all are down: packets are lost on the links. Once one is up
// again all use it.
func TestFailoverAllDown(t *testing.T) {
	for name, x := range balancers {
		t.Run(name, func(t *testing.T) {
			a := uplinks(t, x.scheme, append(slices.Clone(x.given), "failover", "1ms")...)
			for port := packet.PortID(2); port < 6; port++ {
				a.SetDown(0, port, true)
			}
			if _, count := flows(t, a, 2*ms, 2000); slices.Contains(count[2:], 0) || count[0]+count[1] > 0 {
				t.Errorf("%v", count)
			}
			a.SetDown(3*ms, 4, false)
			if _, count := flows(t, a, 4*ms, 2000); count[4] != 2000 {
				t.Errorf("%v", count)
			}
		})
	}
}

// TestFailoverFromTheStart checks that a program that is made while a link is down leaves its port out from the start.
func TestFailoverFromTheStart(t *testing.T) {
	a := uplinks(t, ecmp.Scheme())
	a.SetDown(0, 3, true)
	f := dataplane.NewFailover(&dataplane.Site{Ports: len(a.Ports), At: a.Ports}, ms)
	if p := (&dataplane.Env{}); !f.IsExcluded(p, 3) || f.IsExcluded(p, 2) {
		t.Error("port 3 is in use, or 2 is not")
	}
	if dataplane.NewFailover(&dataplane.Site{}, 0) != nil {
		t.Error("a time of 0 leaves ports out")
	}
}
