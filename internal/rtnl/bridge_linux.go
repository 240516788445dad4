package rtnl

import (
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// everyGroup has a bridge forward the frames to 01-80-c2-00-00-03 to -0f, such as LLDP and 802.1X, which it would
// keep to itself. Those of spanning trees it forwards without that, and of the others (pauses, LACP) the kernel does
// not let it.
const everyGroup = 0xfff8

// AddBridge makes a bridge that takes no part in what passes it: no spanning tree, no look at groups, and once it is
// up (Quiet), no frame of its own. Its error is EEXIST if the name is taken.
func (c *Conn) AddBridge(name string) error {
	r := link(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, 0)
	add(r, unix.IFLA_IFNAME, nl.ZeroTerminated(name))
	info := nested(unix.IFLA_LINKINFO)
	info.AddRtAttr(unix.IFLA_INFO_KIND, nl.ZeroTerminated(bridge))
	data := nest(info, unix.IFLA_INFO_DATA)
	data.AddRtAttr(unix.IFLA_BR_STP_STATE, nl.Uint32Attr(0))
	data.AddRtAttr(unix.IFLA_BR_MCAST_SNOOPING, nl.Uint8Attr(0))
	data.AddRtAttr(unix.IFLA_BR_GROUP_FWD_MASK, nl.Uint16Attr(everyGroup))
	r.AddData(info)
	if err := c.change(r); err != nil {
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
	r := link(unix.RTM_SETLINK, 0, index)
	add(r, unix.IFLA_MASTER, nl.Uint32Attr(uint32(master)))
	if err := c.change(r); err != nil {
		return fmt.Errorf("interface %d into bridge %d: %w", index, master, err)
	}
	return nil
}

// Remove removes an interface.
func (c *Conn) Remove(index int) error {
	if err := c.change(link(unix.RTM_DELLINK, 0, index)); err != nil {
		return fmt.Errorf("interface %d cannot be removed: %w", index, err)
	}
	return nil
}

// NamespaceNumber is what the connection's network namespace calls another one that a descriptor leads to; −1 if it
// has no name for it (ip-netns(8), list-id).
func (c *Conn) NamespaceNumber(fd int) (int, error) {
	r := request(unix.RTM_GETNSID, 0, &nl.RtGenMsg{})
	add(r, unix.NETNSA_FD, nl.Uint32Attr(uint32(fd)))
	b, err := c.query(r)
	if err != nil {
		return 0, fmt.Errorf("network namespaces: %w", err)
	}
	number := -1
	if fixed := (&nl.RtGenMsg{}).Len(); len(b) >= fixed {
		err = attributes(b[fixed:], func(kind uint16, v []byte) {
			if kind == unix.NETNSA_NSID && len(v) >= 4 {
				number = int(int32(ne.Uint32(v)))
			}
		})
	}
	return number, err
}
