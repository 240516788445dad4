//go:build lab

package softswitch_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/internal/netns"
	"weir/internal/rtnl"
	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
)

// trunk joins two switches in the switches' namespace, by interfaces trunk0 and trunk1 with an MTU.
func (w *wire) trunk(mtu int) {
	w.t.Helper()
	here, err := os.Open(netns.Path(w.set.Name(middle)))
	if err != nil {
		w.t.Fatal(err)
	}
	defer here.Close()
	w.in(middle, func(c *rtnl.Conn) error {
		err := c.AddVeth(rtnl.End{Name: "trunk0", MAC: [6]byte{2, 0, 0, 2, 0, 1}},
			rtnl.End{Name: "trunk1", MAC: [6]byte{2, 0, 0, 2, 0, 2}}, int(here.Fd()), mtu)
		if err != nil {
			return err
		}
		for _, name := range []string{"trunk0", "trunk1"} {
			x, err := c.InterfaceByName(name)
			if err == nil {
				err = c.SetUpQuiet(x.Index)
			}
			if err == nil {
				_, err = rtnl.DisableOffloads(name)
			}
			if err == nil {
				err = c.SetUp(x.Index)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// half is one switch of a domain: hosts are outside, and the trunk is inside.
const half = `
ports:
  %s: {interface: %[1]s}
  trunk: {interface: %s, rate: 50Mbps, buffer: 24 packets}
switch: [forward, {abc: {domain: part, ports: {trunk: inside}}}]
metrics: %s
`

// icmp returns the ICMP errors that a host has received.
func (w *wire) icmp(host string) (errors string) {
	w.t.Helper()
	if err := w.do(host, func() error {
		for _, file := range []string{"/proc/thread-self/net/snmp", "/proc/thread-self/net/snmp6"} {
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			lines := strings.Split(string(data), "\n")
			for i, line := range lines {
				f := strings.Fields(line)
				switch {
				case strings.HasPrefix(line, "Icmp: ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "Icmp: "):
					for k, name := range f {
						if v := strings.Fields(lines[i+1])[k]; name == "InDestUnreachs" && v != "0" {
							errors += " " + name + " " + v
						}
					}
				case len(f) == 2 && (f[0] == "Icmp6InDestUnreachs" || f[0] == "Icmp6InPktTooBigs" ||
					f[0] == "Icmp6InParmProblems") &&
					f[1] != "0":
					errors += " " + line
				}
			}
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	return errors
}

// TestDomain_CarriesActivitiesUnseen checks two switches that form one domain, between unmodified hosts. Activities
// cross in real frames, TCP over IPv4 and IPv6 leaves space for them, no host gets a mark, and senders of datagrams
// are notified of the allowed length.
func TestDomain_CarriesActivitiesUnseen(t *testing.T) { realtime.Test(t, domain) }

func domain(t *realtime.Try) {
	w := lay(t, 1500, "left", "right")
	w.loopback()
	w.trunk(1500)
	w.open(fmt.Sprintf(half, "left", "trunk0", "none"))
	w.open(fmt.Sprintf(half, "right", "trunk1", "9465"))
	defer w.judge(t)()
	for _, to := range []string{"10.9.0.2", "fd09::2"} {
		rate, err := w.transfer("left", "right", netip.AddrPortFrom(netip.MustParseAddr(to), 5001), 1, time.Second,
			2*time.Second, "cubic")
		if err != nil {
			t.Fatal(err)
		}
		if rate < 25e6 { // 47 on a quiet machine
			t.Errorf("TCP to %s gets %.1f Mb/s", to, rate/1e6)
		}
	}
	for _, host := range []string{"left", "right"} {
		if e := w.icmp(host); e != "" {
			t.Errorf("%s has received%s", host, e)
		}
	}
	m := w.metrics()
	if a := m[`weir_abc_average_activity{port="right"}`]; a < 8 {
		t.Errorf("the second switch reads activities of %.2f: %v", a, m)
	}
	if _, metered := m[`weir_abc_user_activity{user="10.9.0.1"}`]; metered {
		t.Error("the second switch meters a user of the first")
	}
	for _, x := range []struct {
		to                   string
		family, option, want int
	}{{"10.9.0.2", unix.IPPROTO_IP, unix.IP_MTU, 1492}, {"fd09::2", unix.IPPROTO_IPV6, unix.IPV6_MTU, 1492}} {
		w.learns(t, x.to, x.family, x.option, x.want)
	}
}

// learns sends datagrams that are too long until the kernel has the allowed length.
func (w *wire) learns(t testing.TB, to string, family, option, want int) {
	at := netip.AddrPortFrom(netip.MustParseAddr(to), 7)
	w.echo("right", at)
	var c net.Conn
	if err := w.do("left", func() (err error) { c, err = net.Dial("udp", at.String()); return err }); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.UDPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	await.AwaitCondition(t, "an MTU", func() bool {
		payload := 1472
		if family == unix.IPPROTO_IPV6 {
			payload -= 20
		}
		c.Write(make([]byte, payload))
		raw.Control(func(fd uintptr) { known, _ = unix.GetsockoptInt(int(fd), family, option) })
		return known < 1500
	})
	if known != want {
		t.Errorf("datagrams may have %d bytes, want %d", known, want)
	}
}
