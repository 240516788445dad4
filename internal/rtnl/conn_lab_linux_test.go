//go:build lab

package rtnl

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/netns"
)

// inNamespace runs a function with a connection on a thread in a separate network namespace.
func inNamespace(t *testing.T, what func(c *Conn) error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes network namespaces")
	}
	set, _, err := netns.NewSet()
	if err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := set.Add("rtnl"); errors.Is(err, unix.EPERM) {
		t.Skipf("no network namespaces here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	err = netns.Do(set.Name("rtnl"), func() error {
		c, err := Open()
		if err != nil {
			return err
		}
		defer c.Close()
		return what(c)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWordsOfErrors checks that a kernel's error has its text (NETLINK_EXT_ACK), and that another request on the
// connection succeeds afterwards.
func TestWordsOfErrors(t *testing.T) {
	inNamespace(t, func(c *Conn) error {
		r := newLinkRequest(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, 0)
		info := newNested(unix.IFLA_LINKINFO)
		info.AddRtAttr(unix.IFLA_INFO_KIND, nl.ZeroTerminated("unknown"))
		r.AddData(info)
		if err := c.sendChange(r); !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(err.Error(), "Unknown device type") {
			return fmt.Errorf("an unknown kind of interface: %v", err)
		}
		i, err := c.InterfaceByName("lo")
		if err != nil || i.Name != "lo" || i.Index != 1 {
			return fmt.Errorf("%+v, %v", i, err)
		}
		if _, err := c.InterfaceByName("other"); !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("an interface that is not there: %v", err)
		}
		if _, err := c.InterfaceByIndex(99); !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("an index that is not there: %v", err)
		}
		return nil
	})
}

// TestSetUp checks that the kernel applies the requests: an independent library reads the routes and the filter
// back.
func TestSetUp(t *testing.T) {
	inNamespace(t, func(c *Conn) error {
		here, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return err
		}
		defer here.Close()
		near, far := End{"a", [6]byte{2, 0, 0, 0, 0, 1}}, End{"b", [6]byte{2, 0, 0, 0, 0, 2}}
		if err := c.AddVeth(near, far, int(here.Fd()), 9000); err != nil {
			return err
		}
		if err := c.AddVeth(near, far, int(here.Fd()), 9000); !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("names that are taken: %v", err)
		}
		if err := c.AddBridge("br"); err != nil {
			return err
		}
		a, err := c.InterfaceByName("a")
		if err != nil {
			return err
		}
		b, err := c.InterfaceByName("b")
		if err != nil {
			return err
		}
		br, err := c.InterfaceByName("br")
		if err != nil {
			return err
		}
		if err := c.SetMaster(b.Index, br.Index); err != nil {
			return err
		}
		four, six := netip.MustParsePrefix("10.1.0.1/24"), netip.MustParsePrefix("fd01::1/64")
		for _, step := range []error{c.SetUpQuiet(a.Index), c.SetUp(b.Index), c.LimitSegments(a.Index, 1),
			c.AddAddress(a.Index, four), c.AddAddress(a.Index, six),
			c.AddNeighbour(a.Index, netip.MustParseAddr("fd01::2"), far.MAC),
			c.AddRoute(a.Index, netip.MustParsePrefix("10.2.0.0/16")),
			c.ReplaceRoute(a.Index, netip.MustParsePrefix("fd02::/32"), Metrics{InitialWindow: 32, InitialReceiveWindow: 5,
				RTOMin: 20 * unit.Millisecond, QuickACK: true}),
			c.LimitRate(a.Index, RateLimit{BytesPerSecond: 1 << 33, Overhead: 24, MinFrame: 84, Burst: 3027})} {
			if step != nil {
				return step
			}
		}
		if a, err = c.InterfaceByName("a"); err != nil || a.MTU != 9000 || a.MAC != near.MAC || !a.Up || a.Kind != "veth" ||
			a.Peer != b.Index || a.RxQueues != 1 || a.TxQueues != 1 || a.Segments != 1 || a.IsBridge() || !br.IsBridge() {
			return fmt.Errorf("%+v, %+v, %v", a, br, err)
		}
		if b, err = c.InterfaceByIndex(b.Index); err != nil || b.MAC != far.MAC || b.Master != br.Index || !b.Carrier {
			return fmt.Errorf("%+v, %v", b, err)
		}
		if err := c.SetDown(b.Index); err != nil {
			return err
		}
		if a, err = c.InterfaceByName("a"); err != nil || a.Carrier {
			return fmt.Errorf("%+v without its other end, %v", a, err)
		}
		if n, err := c.NamespaceNumber(int(here.Fd())); err != nil || n != -1 {
			return fmt.Errorf("the number of this namespace: %d, %v", n, err)
		}
		return errors.Join(checkRoutes(a.Index), checkFilter(a.Index), c.RemoveInterface(a.Index))
	})
}

// checkRoutes compares the routes of an interface with those of TestSetUp.
func checkRoutes(index int) error {
	device := &netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: index}}
	routes, err := netlink.RouteList(device, netlink.FAMILY_ALL)
	if err != nil {
		return err
	}
	var got []string
	for _, r := range routes {
		if r.Dst != nil && r.Protocol == unix.RTPROT_STATIC {
			got = append(got, fmt.Sprint(r.Dst, " ", r.Scope, " ", r.InitCwnd, " ", r.InitRwnd, " ", r.RtoMin, " ", r.QuickACK))
		}
	}
	slices.Sort(got)
	// routes of IPv6 have no scope
	if want := []string{"10.2.0.0/16 link 0 0 0 0", "fd02::/32 universe 32 5 20 1"}; !slices.Equal(got, want) {
		return fmt.Errorf("routes %q, want %q", got, want)
	}
	return nil
}

// checkFilter compares the filter of an interface with the one of TestSetUp.
func checkFilter(index int) error {
	all, err := netlink.QdiscList(&netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: index}})
	if err != nil {
		return err
	}
	for _, q := range all {
		if tbf, is := q.(*netlink.Tbf); is && tbf.Rate == 1<<33 && tbf.Limit == 1<<30 {
			return nil
		}
	}
	return fmt.Errorf("filters %v", all)
}
