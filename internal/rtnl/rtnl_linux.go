package rtnl

import (
	"fmt"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"weir/core/unit"
)

// Conn is a netlink socket. It works on the network namespace in which it was opened, for
// as long as it is open. It is not safe for concurrent use.
type Conn struct {
	fd  int
	seq uint32
	buf []byte
}

// Open opens a socket in the calling thread's network namespace.
func Open() (*Conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	// Words to errors are a help, no need.
	unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})
	return &Conn{fd: fd, buf: make([]byte, 64<<10)}, nil
}

// Close closes the socket.
func (c *Conn) Close() error { return unix.Close(c.fd) }

// do sends a request and waits for its acknowledgement; what is the body of the answer, if
// there is one besides.
func (c *Conn) do(m *message) ([]byte, error) {
	c.seq++
	ne.PutUint32(m.b, uint32(len(m.b)))
	ne.PutUint32(m.b[8:], c.seq)
	if err := unix.Sendto(c.fd, m.b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, os.NewSyscallError("sendto", err)
	}
	var body []byte
	for {
		n, _, err := unix.Recvfrom(c.fd, c.buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, os.NewSyscallError("recvfrom", err)
		}
		part, done, err := answer(c.buf[:n], c.seq)
		if part != nil {
			body = append([]byte(nil), part...)
		}
		if done || err != nil {
			return body, err
		}
	}
}

// ifinfo is the fixed part of messages about interfaces (struct ifinfomsg).
func ifinfo(index int, flags, change uint32) []byte {
	b := make([]byte, unix.SizeofIfInfomsg)
	ne.PutUint32(b[4:], uint32(index))
	ne.PutUint32(b[8:], flags)
	ne.PutUint32(b[12:], change)
	return b
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
	const peer = 1 // VETH_INFO_PEER
	m := newMessage(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, ifinfo(0, 0, 0))
	end := func(e End) {
		m.text(unix.IFLA_IFNAME, e.Name)
		m.attribute(unix.IFLA_ADDRESS, e.MAC[:])
		m.number(unix.IFLA_MTU, uint32(mtu))
		m.number(unix.IFLA_NUM_TX_QUEUES, 1)
		m.number(unix.IFLA_NUM_RX_QUEUES, 1)
	}
	end(near)
	m.nest(unix.IFLA_LINKINFO, func() {
		m.text(unix.IFLA_INFO_KIND, "veth")
		m.nest(unix.IFLA_INFO_DATA, func() {
			m.nest(peer, func() {
				m.b = append(m.b, ifinfo(0, 0, 0)...)
				end(far)
				m.number(unix.IFLA_NET_NS_FD, uint32(farNamespace))
			})
		})
	})
	if _, err := c.do(m); err != nil {
		return fmt.Errorf("veth pair %s, %s: %w", near.Name, far.Name, err)
	}
	return nil
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
	m := newMessage(unix.RTM_GETLINK, 0, ifinfo(0, 0, 0))
	m.text(unix.IFLA_IFNAME, name)
	b, err := c.do(m)
	if err != nil {
		return Interface{}, fmt.Errorf("interface %s: %w", name, err)
	}
	i, err := parseInterface(b)
	if err != nil {
		return Interface{}, fmt.Errorf("interface %s: %w", name, err)
	}
	return i, nil
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

// InterfaceAt looks an interface up by its index. Its error is ENODEV if there is none.
func (c *Conn) InterfaceAt(index int) (Interface, error) {
	b, err := c.do(newMessage(unix.RTM_GETLINK, 0, ifinfo(index, 0, 0)))
	var i Interface
	if err == nil {
		i, err = parseInterface(b)
	}
	if err != nil {
		return Interface{}, fmt.Errorf("interface %d: %w", index, err)
	}
	return i, nil
}

// Quiet sets an interface up so that the kernel sends nothing by itself there: no ARP,
// no neighbour or router discovery, no group reports (IFF_NOARP), and no link-local
// address. Then neighbours have to be static.
func (c *Conn) Quiet(index int) error {
	const none = 1 // IN6_ADDR_GEN_MODE_NONE
	m := newMessage(unix.RTM_SETLINK, 0, ifinfo(index, 0, 0))
	m.nest(unix.IFLA_AF_SPEC, func() {
		m.nest(unix.AF_INET6, func() { m.attribute(unix.IFLA_INET6_ADDR_GEN_MODE, []byte{none}) })
	})
	if _, err := c.do(m); err != nil {
		return fmt.Errorf("address mode of interface %d: %w", index, err)
	}
	return c.flags(index, unix.IFF_UP|unix.IFF_NOARP, unix.IFF_UP|unix.IFF_NOARP)
}

// Up sets an interface up.
func (c *Conn) Up(index int) error { return c.flags(index, unix.IFF_UP, unix.IFF_UP) }

// Down sets an interface down.
func (c *Conn) Down(index int) error { return c.flags(index, 0, unix.IFF_UP) }

func (c *Conn) flags(index int, flags, change uint32) error {
	if _, err := c.do(newMessage(unix.RTM_SETLINK, 0, ifinfo(index, flags, change))); err != nil {
		return fmt.Errorf("flags of interface %d: %w", index, err)
	}
	return nil
}

func family(a netip.Addr) byte {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// AddAddress gives an interface an address, without duplicate address detection.
func (c *Conn) AddAddress(index int, p netip.Prefix) error {
	b := make([]byte, unix.SizeofIfAddrmsg)
	b[0], b[1] = family(p.Addr()), byte(p.Bits())
	ne.PutUint32(b[4:], uint32(index))
	m := newMessage(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, b)
	m.attribute(unix.IFA_LOCAL, p.Addr().AsSlice())
	m.attribute(unix.IFA_ADDRESS, p.Addr().AsSlice())
	m.number(unix.IFA_FLAGS, unix.IFA_F_NODAD)
	if _, err := c.do(m); err != nil {
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

func (c *Conn) route(flags uint16, index int, p netip.Prefix, metrics Metrics) error {
	if _, err := c.do(routeMessage(flags, index, p, metrics)); err != nil {
		return fmt.Errorf("route to %v: %w", p, err)
	}
	return nil
}

func routeMessage(flags uint16, index int, p netip.Prefix, metrics Metrics) *message {
	b := make([]byte, unix.SizeofRtMsg)
	b[0], b[1] = family(p.Addr()), byte(p.Bits())
	b[4], b[5], b[6], b[7] = unix.RT_TABLE_MAIN, unix.RTPROT_STATIC, unix.RT_SCOPE_LINK, unix.RTN_UNICAST
	m := newMessage(unix.RTM_NEWROUTE, flags, b)
	if p.Bits() > 0 {
		m.attribute(unix.RTA_DST, p.Masked().Addr().AsSlice())
	}
	m.number(unix.RTA_OIF, uint32(index))
	if metrics == (Metrics{}) {
		return m
	}
	m.nest(unix.RTA_METRICS, func() {
		if metrics.RTOMin > 0 {
			m.number(unix.RTAX_LOCK, 1<<unix.RTAX_RTO_MIN) // else it is a hint that TCP passes over
			m.number(unix.RTAX_RTO_MIN, uint32(metrics.RTOMin/unit.Millisecond))
		}
		if metrics.InitialWindow > 0 {
			m.number(unix.RTAX_INITCWND, uint32(metrics.InitialWindow))
		}
		if metrics.InitialReceiveWindow > 0 {
			m.number(unix.RTAX_INITRWND, uint32(metrics.InitialReceiveWindow))
		}
		if metrics.QuickACK {
			m.number(unix.RTAX_QUICKACK, 1)
		}
	})
	return m
}

// LimitSegments says how many segments TCP may give to an interface as one, to be cut
// there or above it (gso_max_segs): with 1 none are ever sent in one piece.
func (c *Conn) LimitSegments(index, segments int) error {
	const most = 65535 // GSO_MAX_SEGS
	if segments < 1 || segments > most {
		return fmt.Errorf("interface %d: at most %d segments in one; 1 to %d are possible", index, segments, most)
	}
	m := newMessage(unix.RTM_SETLINK, 0, ifinfo(index, 0, 0))
	m.number(unix.IFLA_GSO_MAX_SEGS, uint32(segments))
	if _, err := c.do(m); err != nil {
		return fmt.Errorf("interface %d: at most %d segments in one: %w", index, segments, err)
	}
	return nil
}

// AddNeighbour says for ever which MAC address a neighbour at an interface has.
func (c *Conn) AddNeighbour(index int, a netip.Addr, mac [6]byte) error {
	b := make([]byte, unix.SizeofNdMsg)
	b[0] = family(a)
	ne.PutUint32(b[4:], uint32(index))
	ne.PutUint16(b[8:], unix.NUD_PERMANENT)
	m := newMessage(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, b)
	m.attribute(unix.NDA_DST, a.AsSlice())
	m.attribute(unix.NDA_LLADDR, mac[:])
	if _, err := c.do(m); err != nil {
		return fmt.Errorf("neighbour %v: %w", a, err)
	}
	return nil
}
