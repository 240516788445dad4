package rtnl

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// ne is this machine's byte order, which netlink uses.
var ne = binary.NativeEndian

// typeMask selects the type of an attribute without its flags (NLA_TYPE_MASK).
const typeMask = 0x3fff

// Conn is a netlink socket. It acts on the network namespace in which it was opened for as long as it is open. It
// is not safe for concurrent use.
type Conn struct{ sockets map[int]*nl.SocketHandle }

// Open opens a socket in the calling thread's network namespace. Requests time out after 10 s.
func Open() (*Conn, error) {
	s, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	s.SetExtAck(true) // error texts of the kernel; older kernels have no such option
	timeout := unix.NsecToTimeval(int64(10 * time.Second))
	s.SetSendTimeout(&timeout)
	s.SetReceiveTimeout(&timeout)
	return &Conn{map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: s}}}, nil
}

// Close closes the socket.
func (c *Conn) Close() { c.sockets[unix.NETLINK_ROUTE].Close() }

// sendChange sends a request that changes state, and waits for the kernel's acknowledgement.
func (c *Conn) sendChange(r *nl.NetlinkRequest) error {
	r.Flags |= unix.NLM_F_ACK
	_, err := c.sendQuery(r)
	return err
}

// sendQuery sends a request and returns the body of the last message of the reply, nil if the reply is empty.
func (c *Conn) sendQuery(r *nl.NetlinkRequest) ([]byte, error) {
	r.Sockets = c.sockets
	bodies, err := r.Execute(unix.NETLINK_ROUTE, 0)
	if err != nil || len(bodies) == 0 {
		return nil, err
	}
	return bodies[len(bodies)-1], nil
}

// newRequest returns a request with the given fixed part.
func newRequest(kind, flags int, fixed nl.NetlinkRequestData) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(kind, flags)
	r.AddData(fixed)
	return r
}

// addAttribute adds an attribute to a request.
func addAttribute(r *nl.NetlinkRequest, kind int, value []byte) { r.AddData(nl.NewRtAttr(kind, value)) }

// newNested returns an attribute that can hold attributes.
func newNested(kind int) *nl.RtAttr { return nl.NewRtAttr(kind|unix.NLA_F_NESTED, nil) }

// addNested adds a nested attribute of a kind to attribute a, and returns the new one.
func addNested(a *nl.RtAttr, kind int) *nl.RtAttr { return a.AddRtAttr(kind|unix.NLA_F_NESTED, nil) }

// forEachAttribute calls visit for every attribute in b. It returns an error without a call if a length is
// inconsistent.
func forEachAttribute(b []byte, visit func(kind uint16, value []byte)) error {
	all, err := nl.ParseRouteAttr(b)
	if err != nil {
		return fmt.Errorf("netlink: attributes of %d bytes: %w", len(b), err)
	}
	for _, a := range all {
		visit(a.Attr.Type&typeMask, a.Value)
	}
	return nil
}
