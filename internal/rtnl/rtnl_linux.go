package rtnl

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// link returns a request about an interface.
func link(kind, flags, index int) *nl.NetlinkRequest {
	return request(kind, flags, ifinfo(index, 0, 0))
}

// ifinfo is the fixed part of messages about interfaces.
func ifinfo(index int, flags, change uint32) *nl.IfInfomsg {
	m := nl.NewIfInfomsg(unix.AF_UNSPEC)
	m.Index, m.Flags, m.Change = int32(index), flags, change
	return m
}

// End is one end of a veth pair.
type End struct {
	Name string
	MAC  [6]byte
}

// AddVeth makes a pair of interfaces with one queue in each direction: near in the
// socket's namespace, far in that of the file descriptor. Its errors: EEXIST, a name is
// taken; EOPNOTSUPP, the kernel has no veth.
func (c *Conn) AddVeth(near, far End, farNamespace, mtu int) error {
	r := link(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, 0)
	for _, a := range endAttributes(near, mtu) {
		r.AddData(a)
	}
	info := nested(unix.IFLA_LINKINFO)
	info.AddRtAttr(unix.IFLA_INFO_KIND, nl.ZeroTerminated("veth"))
	peer := nest(nest(info, unix.IFLA_INFO_DATA), nl.VETH_INFO_PEER)
	peer.AddChild(ifinfo(0, 0, 0))
	for _, a := range endAttributes(far, mtu) {
		peer.AddChild(a)
	}
	peer.AddRtAttr(unix.IFLA_NET_NS_FD, nl.Uint32Attr(uint32(farNamespace)))
	r.AddData(info)
	if err := c.change(r); err != nil {
		return fmt.Errorf("veth pair %s, %s: %w", near.Name, far.Name, err)
	}
	return nil
}

// endAttributes returns the attributes of one end of a pair.
func endAttributes(e End, mtu int) []*nl.RtAttr {
	return []*nl.RtAttr{
		nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(e.Name)),
		nl.NewRtAttr(unix.IFLA_ADDRESS, e.MAC[:]),
		nl.NewRtAttr(unix.IFLA_MTU, nl.Uint32Attr(uint32(mtu))),
		nl.NewRtAttr(unix.IFLA_NUM_TX_QUEUES, nl.Uint32Attr(1)),
		nl.NewRtAttr(unix.IFLA_NUM_RX_QUEUES, nl.Uint32Attr(1)),
	}
}

// Interface is what the kernel says about an interface.
type Interface struct {
	Index              int
	Name               string
	MTU                int
	MAC                [6]byte
	Up                 bool
	Carrier            bool // it is up, and so is what is at the other end
	RxQueues, TxQueues int
	Segments           int    // that TCP may give it as one (gso_max_segs)
	Master             int    // index of the bridge or bond that it belongs to; 0: none
	Kind               string // such as veth, bridge; empty for cards
	// Peer is the index of the other end of a pair, 0 if there is none, in this network namespace or, if PeerNamespace
	// is not −1, in the one that has that number here (Conn.NamespaceNumber).
	Peer, PeerNamespace int
	// Dropped is how many frames the kernel dropped there in either direction.
	Dropped uint64
}

// Interface looks an interface up by its name. Its error is ENODEV if there is none.
func (c *Conn) Interface(name string) (Interface, error) {
	r := link(unix.RTM_GETLINK, 0, 0)
	add(r, unix.IFLA_IFNAME, nl.ZeroTerminated(name))
	i, err := c.getInterface(r)
	if err != nil {
		return Interface{}, fmt.Errorf("interface %s: %w", name, err)
	}
	return i, nil
}

// InterfaceAt looks an interface up by its index. Its error is ENODEV if there is none.
func (c *Conn) InterfaceAt(index int) (Interface, error) {
	i, err := c.getInterface(link(unix.RTM_GETLINK, 0, index))
	if err != nil {
		return Interface{}, fmt.Errorf("interface %d: %w", index, err)
	}
	return i, nil
}

// getInterface sends a request for an interface.
func (c *Conn) getInterface(r *nl.NetlinkRequest) (Interface, error) {
	b, err := c.query(r)
	if err != nil {
		return Interface{}, err
	}
	return parseInterface(b)
}

// Places of rx_dropped and tx_dropped in struct rtnl_link_stats64, in words.
const (
	rxDropped  = 6
	txDropped  = 7
	statsWords = 8
)

func parseInterface(b []byte) (Interface, error) {
	if len(b) < unix.SizeofIfInfomsg {
		return Interface{}, fmt.Errorf("netlink: %d bytes about an interface", len(b))
	}
	flags := ne.Uint32(b[8:])
	i := Interface{Index: int(int32(ne.Uint32(b[4:]))), Up: flags&unix.IFF_UP != 0, Carrier: carries(flags),
		PeerNamespace: -1}
	err := attributes(b[unix.SizeofIfInfomsg:], func(kind uint16, v []byte) {
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
			i.Kind = kindOf(v)
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

// kindOf is what kind of interface an attribute IFLA_LINKINFO tells of.
func kindOf(b []byte) (kind string) {
	attributes(b, func(of uint16, v []byte) { // it is of the kernel, and inside what was looked at
		if of == unix.IFLA_INFO_KIND {
			kind = strings.TrimRight(string(v), "\x00")
		}
	})
	return kind
}

// Quiet sets an interface up so that the kernel sends nothing by itself there: no ARP,
// no neighbour or router discovery, no group reports (IFF_NOARP), and no link-local
// address. Then neighbours have to be static.
func (c *Conn) Quiet(index int) error {
	r := link(unix.RTM_SETLINK, 0, index)
	family := nested(unix.IFLA_AF_SPEC)
	nest(family, unix.AF_INET6).AddRtAttr(unix.IFLA_INET6_ADDR_GEN_MODE, nl.Uint8Attr(nl.IN6_ADDR_GEN_MODE_NONE))
	r.AddData(family)
	if err := c.change(r); err != nil {
		return fmt.Errorf("address mode of interface %d: %w", index, err)
	}
	return c.flags(index, unix.IFF_UP|unix.IFF_NOARP, unix.IFF_UP|unix.IFF_NOARP)
}

// Up sets an interface up.
func (c *Conn) Up(index int) error { return c.flags(index, unix.IFF_UP, unix.IFF_UP) }

// Down sets an interface down.
func (c *Conn) Down(index int) error { return c.flags(index, 0, unix.IFF_UP) }

func (c *Conn) flags(index int, flags, change uint32) error {
	if err := c.change(request(unix.RTM_SETLINK, 0, ifinfo(index, flags, change))); err != nil {
		return fmt.Errorf("flags of interface %d: %w", index, err)
	}
	return nil
}

func family(a netip.Addr) int {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// AddAddress gives an interface an address, without duplicate address detection.
func (c *Conn) AddAddress(index int, p netip.Prefix) error {
	fixed := nl.NewIfAddrmsg(family(p.Addr()))
	fixed.Prefixlen, fixed.Index = uint8(p.Bits()), uint32(index)
	r := request(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, fixed)
	add(r, unix.IFA_LOCAL, p.Addr().AsSlice())
	add(r, unix.IFA_ADDRESS, p.Addr().AsSlice())
	add(r, unix.IFA_FLAGS, nl.Uint32Attr(unix.IFA_F_NODAD))
	if err := c.change(r); err != nil {
		return fmt.Errorf("address %v: %w", p, err)
	}
	return nil
}

// Metrics are what TCP takes from a route (ip-route(8)). 0 leaves a value to the kernel.
type Metrics struct {
	InitialWindow        int       // congestion window of new connections, in packets (initcwnd)
	InitialReceiveWindow int       // the most that is offered at first, in packets (initrwnd)
	RTOMin               unit.Time // least part of the RTO above the smoothed RTT, in whole ms (rto_min, locked)
	QuickACK             bool      // each segment is acknowledged at once (quickack)
}

// AddRoute makes the addresses of a prefix neighbours at an interface.
func (c *Conn) AddRoute(index int, p netip.Prefix) error {
	return c.route(unix.NLM_F_CREATE|unix.NLM_F_EXCL, index, p, Metrics{})
}

// ReplaceRoute is AddRoute with metrics, also if there is such a route. Connections that
// are there keep what they have.
func (c *Conn) ReplaceRoute(index int, p netip.Prefix, m Metrics) error {
	const most = 1 << 20
	if m.InitialWindow < 0 || m.InitialWindow > most || m.InitialReceiveWindow < 0 || m.InitialReceiveWindow > most ||
		m.RTOMin < 0 || m.RTOMin > 1000*unit.Second || m.RTOMin%unit.Millisecond != 0 {
		return fmt.Errorf("route to %v: windows of %d and %d packets, an RTO of %v", p, m.InitialWindow,
			m.InitialReceiveWindow, m.RTOMin)
	}
	return c.route(unix.NLM_F_CREATE|unix.NLM_F_REPLACE, index, p, m)
}

func (c *Conn) route(flags, index int, p netip.Prefix, metrics Metrics) error {
	if err := c.change(routeRequest(flags, index, p, metrics)); err != nil {
		return fmt.Errorf("route to %v: %w", p, err)
	}
	return nil
}

// routeRequest returns the request for a route to neighbours.
func routeRequest(flags, index int, p netip.Prefix, metrics Metrics) *nl.NetlinkRequest {
	fixed := nl.NewRtMsg() // of unicast, in the main table
	fixed.Family, fixed.Dst_len = uint8(family(p.Addr())), uint8(p.Bits())
	fixed.Protocol, fixed.Scope = unix.RTPROT_STATIC, unix.RT_SCOPE_LINK
	r := request(unix.RTM_NEWROUTE, flags, fixed)
	if p.Bits() > 0 {
		add(r, unix.RTA_DST, p.Masked().Addr().AsSlice())
	}
	add(r, unix.RTA_OIF, nl.Uint32Attr(uint32(index)))
	if metrics == (Metrics{}) {
		return r
	}
	all := nested(unix.RTA_METRICS)
	number := func(kind int, v int) { all.AddRtAttr(kind, nl.Uint32Attr(uint32(v))) }
	if metrics.RTOMin > 0 {
		number(unix.RTAX_LOCK, 1<<unix.RTAX_RTO_MIN) // else it is a hint that TCP passes over
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

// LimitSegments says how many segments TCP may give to an interface as one, to be cut
// there or above it (gso_max_segs): with 1 none are ever sent in one piece.
func (c *Conn) LimitSegments(index, segments int) error {
	const most = 65535 // GSO_MAX_SEGS
	if segments < 1 || segments > most {
		return fmt.Errorf("interface %d: at most %d segments in one; 1 to %d are possible", index, segments, most)
	}
	r := link(unix.RTM_SETLINK, 0, index)
	add(r, unix.IFLA_GSO_MAX_SEGS, nl.Uint32Attr(uint32(segments)))
	if err := c.change(r); err != nil {
		return fmt.Errorf("interface %d: at most %d segments in one: %w", index, segments, err)
	}
	return nil
}

// AddNeighbour says for ever which MAC address a neighbour at an interface has.
func (c *Conn) AddNeighbour(index int, a netip.Addr, mac [6]byte) error {
	r := request(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, &ndMsg{Family: uint8(family(a)),
		Ifindex: int32(index), State: unix.NUD_PERMANENT})
	add(r, unix.NDA_DST, a.AsSlice())
	add(r, unix.NDA_LLADDR, mac[:])
	if err := c.change(r); err != nil {
		return fmt.Errorf("neighbour %v: %w", a, err)
	}
	return nil
}

// ndMsg is the fixed part of messages about neighbours.
type ndMsg unix.NdMsg

// Len returns the length of the serialized form.
func (m *ndMsg) Len() int { return unix.SizeofNdMsg }

// Serialize returns struct ndmsg.
func (m *ndMsg) Serialize() []byte {
	b := make([]byte, unix.SizeofNdMsg)
	b[0] = m.Family
	ne.PutUint32(b[4:], uint32(m.Ifindex))
	ne.PutUint16(b[8:], m.State)
	return b
}
