package rtnl

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// newLinkRequest returns a request about the interface with the given index; 0 if an attribute names it.
func newLinkRequest(kind, flags, index int) *nl.NetlinkRequest {
	return newRequest(kind, flags, newIfInfo(index, 0, 0))
}

// newIfInfo returns the fixed part of messages about interfaces; flags in the mask change are to be set.
func newIfInfo(index int, flags, change uint32) *nl.IfInfomsg {
	m := nl.NewIfInfomsg(unix.AF_UNSPEC)
	m.Index, m.Flags, m.Change = int32(index), flags, change
	return m
}

// End is one end of a veth pair.
type End struct {
	Name string
	MAC  [6]byte
}

// AddVeth creates a pair of interfaces with one queue in each direction and an MTU in bytes: near in the socket's
// namespace, far in the namespace of the descriptor farNamespace. Both are down. It fails with EEXIST if a name is
// taken and with EOPNOTSUPP if the kernel has no veth.
func (c *Conn) AddVeth(near, far End, farNamespace, mtu int) error {
	r := newLinkRequest(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, 0)
	for _, a := range endAttributes(near, mtu) {
		r.AddData(a)
	}
	info := newNested(unix.IFLA_LINKINFO)
	info.AddRtAttr(unix.IFLA_INFO_KIND, nl.ZeroTerminated("veth"))
	peer := addNested(addNested(info, unix.IFLA_INFO_DATA), nl.VETH_INFO_PEER)
	peer.AddChild(newIfInfo(0, 0, 0))
	for _, a := range endAttributes(far, mtu) {
		peer.AddChild(a)
	}
	peer.AddRtAttr(unix.IFLA_NET_NS_FD, nl.Uint32Attr(uint32(farNamespace)))
	r.AddData(info)
	if err := c.sendChange(r); err != nil {
		return fmt.Errorf("veth pair %s, %s: %w", near.Name, far.Name, err)
	}
	return nil
}

// endAttributes returns the attributes of one end of a veth pair.
func endAttributes(e End, mtu int) []*nl.RtAttr {
	return []*nl.RtAttr{
		nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(e.Name)),
		nl.NewRtAttr(unix.IFLA_ADDRESS, e.MAC[:]),
		nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(mtu))),
		nl.NewRtAttr(unix.IFLA_NUM_TX_QUEUES, nl.Uint32Attr(1)),
		nl.NewRtAttr(unix.IFLA_NUM_RX_QUEUES, nl.Uint32Attr(1)),
	}
}

// Interface is the kernel's description of an interface.
type Interface struct {
	Index              int
	Name               string
	MTU                int
	MAC                [6]byte
	Up                 bool
	Carrier            bool // the interface and its link partner are up
	RxQueues, TxQueues int
	Segments           int    // limit of TCP segments per packet that it is given (gso_max_segs)
	Master             int    // index of its bridge or bond; 0: no master
	Kind               string // such as veth, bridge; empty for network cards
	// Peer is the index of the pair's other end, 0 without one. It is an index in this network namespace or, if
	// PeerNamespace is not −1, in the namespace with that number here (Conn.NamespaceNumber).
	Peer, PeerNamespace int
	// Dropped counts the frames that the kernel dropped at the interface in both directions.
	Dropped uint64
}

// InterfaceByName looks up an interface by name. It fails with ENODEV if there is no such interface.
func (c *Conn) InterfaceByName(name string) (Interface, error) {
	r := newLinkRequest(unix.RTM_GETLINK, 0, 0)
	addAttribute(r, unix.IFLA_IFNAME, nl.ZeroTerminated(name))
	i, err := c.getInterface(r)
	if err != nil {
		return Interface{}, fmt.Errorf("interface %s: %w", name, err)
	}
	return i, nil
}

// InterfaceByIndex looks up an interface by index. It fails with ENODEV if there is no such interface.
func (c *Conn) InterfaceByIndex(index int) (Interface, error) {
	i, err := c.getInterface(newLinkRequest(unix.RTM_GETLINK, 0, index))
	if err != nil {
		return Interface{}, fmt.Errorf("interface %d: %w", index, err)
	}
	return i, nil
}

// getInterface sends the request r and parses the interface in the reply.
func (c *Conn) getInterface(r *nl.NetlinkRequest) (Interface, error) {
	b, err := c.sendQuery(r)
	if err != nil {
		return Interface{}, err
	}
	return parseInterface(b)
}

// Positions of rx_dropped and tx_dropped in struct rtnl_link_stats64, in 8-byte words.
const (
	rxDropped  = 6
	txDropped  = 7
	statsWords = 8
)

// parseInterface parses the body of an RTM_NEWLINK message.
func parseInterface(b []byte) (Interface, error) {
	if len(b) < unix.SizeofIfInfomsg {
		return Interface{}, fmt.Errorf("netlink: %d bytes about an interface", len(b))
	}
	flags := ne.Uint32(b[8:])
	i := Interface{Index: int(int32(ne.Uint32(b[4:]))), Up: flags&unix.IFF_UP != 0, Carrier: hasCarrier(flags),
		PeerNamespace: -1}
	err := forEachAttribute(b[unix.SizeofIfInfomsg:], func(kind uint16, v []byte) {
		switch {
		case kind == unix.IFLA_IFNAME:
			i.Name = strings.TrimRight(string(v), "\x00")
		case kind == unix.IFLA_MTU && len(v) >= 4:
			i.MTU = int(ne.Uint32(v))
		case kind == unix.IFLA_ADDRESS && len(v) == 6:
			copy(i.MAC[:], v)
		case kind == unix.IFLA_MASTER && len(v) >= 4:
			i.Master = int(ne.Uint32(v))
		case kind == unix.IFLA_LINK && len(v) >= 4:
			i.Peer = int(ne.Uint32(v))
		case kind == unix.IFLA_LINK_NETNSID && len(v) >= 4:
			i.PeerNamespace = int(int32(ne.Uint32(v)))
		case kind == unix.IFLA_LINKINFO:
			i.Kind = parseLinkKind(v)
		case kind == unix.IFLA_NUM_RX_QUEUES && len(v) >= 4:
			i.RxQueues = int(ne.Uint32(v))
		case kind == unix.IFLA_NUM_TX_QUEUES && len(v) >= 4:
			i.TxQueues = int(ne.Uint32(v))
		case kind == unix.IFLA_GSO_MAX_SEGS && len(v) >= 4:
			i.Segments = int(ne.Uint32(v))
		case kind == unix.IFLA_STATS64 && len(v) >= 8*statsWords:
			i.Dropped = ne.Uint64(v[8*rxDropped:]) + ne.Uint64(v[8*txDropped:])
		}
	})
	return i, err
}

// parseLinkKind returns the interface kind in an attribute IFLA_LINKINFO, empty if it is missing.
func parseLinkKind(b []byte) (kind string) {
	forEachAttribute(b, func(attribute uint16, v []byte) { // lengths were checked with the outer attribute
		if attribute == unix.IFLA_INFO_KIND {
			kind = strings.TrimRight(string(v), "\x00")
		}
	})
	return kind
}

// SetUpQuiet sets an interface up without frames of the kernel's own: no ARP, no neighbour or router discovery, no
// group reports (IFF_NOARP), and no link-local address. Neighbours must be static.
func (c *Conn) SetUpQuiet(index int) error {
	r := newLinkRequest(unix.RTM_SETLINK, 0, index)
	family := newNested(unix.IFLA_AF_SPEC)
	addNested(family, unix.AF_INET6).AddRtAttr(unix.IFLA_INET6_ADDR_GEN_MODE, nl.Uint8Attr(nl.IN6_ADDR_GEN_MODE_NONE))
	r.AddData(family)
	if err := c.sendChange(r); err != nil {
		return fmt.Errorf("address mode of interface %d: %w", index, err)
	}
	return c.setFlags(index, unix.IFF_UP|unix.IFF_NOARP, unix.IFF_UP|unix.IFF_NOARP)
}

// SetUp sets the interface with the given index up.
func (c *Conn) SetUp(index int) error { return c.setFlags(index, unix.IFF_UP, unix.IFF_UP) }

// SetDown sets the interface with the given index down.
func (c *Conn) SetDown(index int) error { return c.setFlags(index, 0, unix.IFF_UP) }

// setFlags sets the flags of an interface in the mask change.
func (c *Conn) setFlags(index int, flags, change uint32) error {
	if err := c.sendChange(newRequest(unix.RTM_SETLINK, 0, newIfInfo(index, flags, change))); err != nil {
		return fmt.Errorf("flags of interface %d: %w", index, err)
	}
	return nil
}

// addressFamily returns AF_INET or AF_INET6.
func addressFamily(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// AddAddress assigns an address with its prefix length to an interface, without duplicate address detection. It fails
// with EEXIST if the interface has it.
func (c *Conn) AddAddress(index int, p netip.Prefix) error {
	fixed := nl.NewIfAddrmsg(addressFamily(p.Addr()))
	fixed.Prefixlen, fixed.Index = uint8(p.Bits()), uint32(index)
	r := newRequest(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, fixed)
	addAttribute(r, unix.IFA_LOCAL, p.Addr().AsSlice())
	addAttribute(r, unix.IFA_ADDRESS, p.Addr().AsSlice())
	addAttribute(r, unix.IFA_FLAGS, nl.Uint32Attr(unix.IFA_F_NODAD))
	if err := c.sendChange(r); err != nil {
		return fmt.Errorf("address %v: %w", p, err)
	}
	return nil
}

// Metrics are the parameters that TCP takes from a route (ip-route(8)). 0 leaves a value to the kernel.
type Metrics struct {
	InitialWindow        int       // congestion window of new connections, in packets (initcwnd)
	InitialReceiveWindow int       // receive window offered at first, in packets (initrwnd)
	RTOMin               unit.Time // minimum of the RTO above the smoothed RTT, in whole ms (rto_min, locked)
	QuickACK             bool      // acknowledge each segment at once (quickack)
}

// AddRoute adds a route that makes the addresses of a prefix neighbours at an interface. It fails with EEXIST if there
// is such a route.
func (c *Conn) AddRoute(index int, p netip.Prefix) error {
	return c.setRoute(unix.NLM_F_CREATE|unix.NLM_F_EXCL, index, p, Metrics{})
}

// ReplaceRoute adds or replaces the route of AddRoute, with metrics. Existing connections keep their parameters.
// It refuses windows outside 0 … 2²⁰ packets and an RTO that is not in whole ms up to 1,000 s.
func (c *Conn) ReplaceRoute(index int, p netip.Prefix, m Metrics) error {
	const maxWindow = 1 << 20
	if m.InitialWindow < 0 || m.InitialWindow > maxWindow ||
		m.InitialReceiveWindow < 0 || m.InitialReceiveWindow > maxWindow ||
		m.RTOMin < 0 || m.RTOMin > 1000*unit.Second || m.RTOMin%unit.Millisecond != 0 {
		return fmt.Errorf("route to %v: windows of %d and %d packets, an RTO of %v", p, m.InitialWindow,
			m.InitialReceiveWindow, m.RTOMin)
	}
	return c.setRoute(unix.NLM_F_CREATE|unix.NLM_F_REPLACE, index, p, m)
}

// setRoute adds or replaces a route, as flags demand.
func (c *Conn) setRoute(flags, index int, p netip.Prefix, metrics Metrics) error {
	if err := c.sendChange(routeRequest(flags, index, p, metrics)); err != nil {
		return fmt.Errorf("route to %v: %w", p, err)
	}
	return nil
}

// routeRequest returns the request for a route to neighbours with the given metrics.
func routeRequest(flags, index int, p netip.Prefix, metrics Metrics) *nl.NetlinkRequest {
	fixed := nl.NewRtMsg() // a unicast route in the main table
	fixed.Family, fixed.Dst_len = uint8(addressFamily(p.Addr())), uint8(p.Bits())
	fixed.Protocol, fixed.Scope = unix.RTPROT_STATIC, unix.RT_SCOPE_LINK
	r := newRequest(unix.RTM_NEWROUTE, flags, fixed)
	if p.Bits() > 0 {
		addAttribute(r, unix.RTA_DST, p.Masked().Addr().AsSlice())
	}
	addAttribute(r, unix.RTA_OIF, nl.Uint32Attr(uint32(index)))
	if metrics == (Metrics{}) {
		return r
	}
	all := newNested(unix.RTA_METRICS)
	number := func(kind int, v int) { all.AddRtAttr(kind, nl.Uint32Attr(uint32(v))) }
	if metrics.RTOMin > 0 {
		number(unix.RTAX_LOCK, 1<<unix.RTAX_RTO_MIN) // without the lock, TCP treats it as a hint and may ignore it
		number(unix.RTAX_RTO_MIN, int(metrics.RTOMin/unit.Millisecond))
	}
	if metrics.InitialWindow > 0 {
		number(unix.RTAX_INITCWND, metrics.InitialWindow)
	}
	if metrics.InitialReceiveWindow > 0 {
		number(unix.RTAX_INITRWND, metrics.InitialReceiveWindow)
	}
	if metrics.QuickACK {
		number(unix.RTAX_QUICKACK, 1)
	}
	r.AddData(all)
	return r
}

// LimitSegments sets the maximum number of segments that a TCP packet given to an interface may hold (gso_max_segs), 1
// to 65535. The interface or the layer above cuts the packet; with 1 each segment is sent separately.
func (c *Conn) LimitSegments(index, segments int) error {
	const maxSegments = 65535 // GSO_MAX_SEGS
	if segments < 1 || segments > maxSegments {
		return fmt.Errorf("interface %d: at most %d segments in one; allowed: 1 to %d", index, segments, maxSegments)
	}
	r := newLinkRequest(unix.RTM_SETLINK, 0, index)
	addAttribute(r, unix.IFLA_GSO_MAX_SEGS, nl.Uint32Attr(uint32(segments)))
	if err := c.sendChange(r); err != nil {
		return fmt.Errorf("interface %d: at most %d segments in one: %w", index, segments, err)
	}
	return nil
}

// AddNeighbour adds or replaces a permanent entry with the MAC address of a neighbour at an interface.
func (c *Conn) AddNeighbour(index int, a netip.Addr, mac [6]byte) error {
	r := newRequest(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, &ndMsg{Family: uint8(addressFamily(a)),
		Ifindex: int32(index), State: unix.NUD_PERMANENT})
	addAttribute(r, unix.NDA_DST, a.AsSlice())
	addAttribute(r, unix.NDA_LLADDR, mac[:])
	if err := c.sendChange(r); err != nil {
		return fmt.Errorf("neighbour %v: %w", a, err)
	}
	return nil
}

// ndMsg is the fixed part of messages about neighbours (struct ndmsg).
type ndMsg unix.NdMsg

// Len returns the length of the serialized form.
func (m *ndMsg) Len() int { return unix.SizeofNdMsg }

// Serialize returns the bytes of struct ndmsg.
func (m *ndMsg) Serialize() []byte {
	b := make([]byte, unix.SizeofNdMsg)
	b[0] = m.Family
	ne.PutUint32(b[4:], uint32(m.Ifindex))
	ne.PutUint16(b[8:], m.State)
	return b
}
