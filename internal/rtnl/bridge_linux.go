package rtnl

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// everyGroup has a bridge forward the frames to 01-80-c2-00-00-03 to -0f, such as LLDP and 802.1X, which it would
// keep to itself. Those of spanning trees it forwards without that, and of the others (pauses, LACP) the kernel does
// not let it.
const everyGroup = 0xfff8

// AddBridge makes a bridge that takes no part in what passes it: no spanning tree, no look at groups, and once it is
// up (Quiet), no frame of its own. Its error is EEXIST if the name is taken.
func (c *Conn) AddBridge(name string) error {
	m := newMessage(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, ifinfo(0, 0, 0))
	m.text(unix.IFLA_IFNAME, name)
	m.nest(unix.IFLA_LINKINFO, func() {
		m.text(unix.IFLA_INFO_KIND, bridge)
		m.nest(unix.IFLA_INFO_DATA, func() {
			m.number(unix.IFLA_BR_STP_STATE, 0)
			m.attribute(unix.IFLA_BR_MCAST_SNOOPING, []byte{0})
			m.attribute(unix.IFLA_BR_GROUP_FWD_MASK, ne.AppendUint16(nil, everyGroup))
		})
	})
	if _, err := c.do(m); err != nil {
		return fmt.Errorf("bridge %s: %w", name, err)
	}
	return nil
}

// bridge is the kind of interface that a bridge is.
const bridge = "bridge"

// IsBridge reports whether an interface is a bridge of the kernel.
func (i *Interface) IsBridge() bool { return i.Kind == bridge }

// SetMaster puts an interface into a bridge, or, with master 0, takes it out.
func (c *Conn) SetMaster(index, master int) error {
	m := newMessage(unix.RTM_SETLINK, 0, ifinfo(index, 0, 0))
	m.number(unix.IFLA_MASTER, uint32(master))
	if _, err := c.do(m); err != nil {
		return fmt.Errorf("interface %d into bridge %d: %w", index, master, err)
	}
	return nil
}

// Remove removes an interface.
func (c *Conn) Remove(index int) error {
	if _, err := c.do(newMessage(unix.RTM_DELLINK, 0, ifinfo(index, 0, 0))); err != nil {
		return fmt.Errorf("interface %d cannot be removed: %w", index, err)
	}
	return nil
}

// NamespaceNumber is what the connection's network namespace calls another one that a descriptor leads to; −1 if it
// has no name for it (ip-netns(8), list-id).
func (c *Conn) NamespaceNumber(fd int) (int, error) {
	const rtgenmsg = 4
	m := newMessage(unix.RTM_GETNSID, 0, make([]byte, rtgenmsg))
	m.number(unix.NETNSA_FD, uint32(fd))
	b, err := c.do(m)
	if err != nil {
		return 0, fmt.Errorf("network namespaces: %w", err)
	}
	number := -1
	if len(b) >= rtgenmsg {
		err = attributes(b[rtgenmsg:], func(kind uint16, v []byte) {
			if kind == unix.NETNSA_NSID && len(v) >= 4 {
				number = int(int32(ne.Uint32(v)))
			}
		})
	}
	return number, err
}
