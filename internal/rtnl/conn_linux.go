package rtnl

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

var ne = binary.NativeEndian

// typeMask removes the flags from the type of an attribute (NLA_TYPE_MASK).
const typeMask = 0x3fff

// Conn is a netlink socket. It works on the network namespace in which it was opened, for
// as long as it is open. It is not safe for concurrent use.
type Conn struct{ sockets map[int]*nl.SocketHandle }

// Open opens a socket in the calling thread's network namespace.
func Open() (*Conn, error) {
	s, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	s.SetExtAck(true) // the kernel's words to errors; older kernels have none
	timeout := unix.NsecToTimeval(int64(10 * time.Second))
	s.SetSendTimeout(&timeout)
	s.SetReceiveTimeout(&timeout)
	return &Conn{map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: s}}}, nil
}

// Close closes the socket.
func (c *Conn) Close() { c.sockets[unix.NETLINK_ROUTE].Close() }

// change sends a request that changes something, and waits until the kernel has acknowledged it.
func (c *Conn) change(r *nl.NetlinkRequest) error {
	r.Flags |= unix.NLM_F_ACK
	_, err := c.query(r)
	return err
}

// query sends a request and returns the body of the answer.
func (c *Conn) query(r *nl.NetlinkRequest) ([]byte, error) {
	r.Sockets = c.sockets
	bodies, err := r.Execute(unix.NETLINK_ROUTE, 0)
	if err != nil || len(bodies) == 0 {
		return nil, err
	}
	return bodies[len(bodies)-1], nil
}

// request returns a request with its fixed part.
func request(kind, flags int, fixed nl.NetlinkRequestData) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(kind, flags)
	r.AddData(fixed)
	return r
}

// add adds an attribute to a request.
func add(r *nl.NetlinkRequest, kind int, value []byte) { r.AddData(nl.NewRtAttr(kind, value)) }

// nested returns an attribute that attributes can be added to.
func nested(kind int) *nl.RtAttr { return nl.NewRtAttr(kind|unix.NLA_F_NESTED, nil) }

// nest adds an attribute to another one, which attributes can be added to.
func nest(a *nl.RtAttr, kind int) *nl.RtAttr { return a.AddRtAttr(kind|unix.NLA_F_NESTED, nil) }

// attributes calls take for every attribute in b. It fails on lengths that lie.
func attributes(b []byte, take func(kind uint16, value []byte)) error {
	all, err := nl.ParseRouteAttr(b)
	if err != nil {
		return fmt.Errorf("netlink: attributes of %d bytes: %w", len(b), err)
	}
	for _, a := range all {
		take(a.Attr.Type&typeMask, a.Value)
	}
	return nil
}
