package rtnl

import (
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// forwardAllGroups makes a bridge forward frames to the group addresses 01-80-c2-00-00-03 to -0f, such as LLDP and
// 802.1X, which it consumes by default. It forwards spanning-tree frames anyway, and the kernel does not allow
// pauses and LACP.
const forwardAllGroups = 0xfff8

// AddBridge creates a passive bridge: without spanning tree and multicast snooping, and, once SetUpQuiet has set it up,
// without frames of its own. It fails with EEXIST if the name is taken.
func (c *Conn) AddBridge(name string) error {
	r := newLinkRequest(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, 0)
	addAttribute(r, unix.IFLA_IFNAME, nl.ZeroTerminated(name))
	info := newNested(unix.IFLA_LINKINFO)
	info.AddRtAttr(unix.IFLA_INFO_KIND, nl.ZeroTerminated(bridgeKind))
	data := addNested(info, unix.IFLA_INFO_DATA)
	data.AddRtAttr(unix.IFLA_BR_STP_STATE, nl.Uint32Attr(0))
	data.AddRtAttr(unix.IFLA_BR_MCAST_SNOOPING, nl.Uint8Attr(0))
	data.AddRtAttr(unix.IFLA_BR_GROUP_FWD_MASK, nl.Uint16Attr(forwardAllGroups))
	r.AddData(info)
	if err := c.sendChange(r); err != nil {
		return fmt.Errorf("bridge %s: %w", name, err)
	}
	return nil
}

// bridgeKind is the kernel's name for bridge interfaces.
const bridgeKind = "bridge"

// IsBridge reports whether the interface is a bridge of the kernel.
func (i *Interface) IsBridge() bool { return i.Kind == bridgeKind }

// SetMaster puts the interface with the given index into the bridge master, or removes it from its bridge if
// master is 0.
func (c *Conn) SetMaster(index, master int) error {
	r := newLinkRequest(unix.RTM_SETLINK, 0, index)
	addAttribute(r, unix.IFLA_MASTER, nl.Uint32Attr(uint32(master)))
	if err := c.sendChange(r); err != nil {
		return fmt.Errorf("interface %d into bridge %d: %w", index, master, err)
	}
	return nil
}

// RemoveInterface deletes the interface with the given index.
func (c *Conn) RemoveInterface(index int) error {
	if err := c.sendChange(newLinkRequest(unix.RTM_DELLINK, 0, index)); err != nil {
		return fmt.Errorf("interface %d cannot be removed: %w", index, err)
	}
	return nil
}

// NamespaceNumber returns the number by which the connection's network namespace knows the namespace of the
// descriptor fd, or −1 if it has no number (ip-netns(8), list-id).
func (c *Conn) NamespaceNumber(fd int) (int, error) {
	r := newRequest(unix.RTM_GETNSID, 0, &nl.RtGenMsg{})
	addAttribute(r, unix.NETNSA_FD, nl.Uint32Attr(uint32(fd)))
	b, err := c.sendQuery(r)
	if err != nil {
		return 0, fmt.Errorf("network namespaces: %w", err)
	}
	number := -1
	if fixed := (&nl.RtGenMsg{}).Len(); len(b) >= fixed {
		err = forEachAttribute(b[fixed:], func(kind uint16, v []byte) {
			if kind == unix.NETNSA_NSID && len(v) >= 4 {
				number = int(int32(ne.Uint32(v)))
			}
		})
	}
	return number, err
}
