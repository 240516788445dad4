package traffic

import (
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// netOffset is the offset of the IP header in classic BPF (SKF_NET_OFF).
const netOffset = 0xfff00000

// maxSteps limits the length of such a program (BPF_MAXINSNS).
const maxSteps = 4096

// steerConnections directs connections by the sender's port if several sockets with different buffers listen at
// one address.
func (c *connections) steerConnections() error {
	type address struct {
		node int
		addr netip.AddrPort
	}
	groups := map[address][]int{}
	for i := range c.listeners {
		l := &c.listeners[i]
		key := address{l.node, l.addr}
		groups[key] = append(groups[key], i) // in order of listen, as in the kernel
	}
	for i := range c.listeners {
		group := groups[address{c.listeners[i].node, c.listeners[i].addr}]
		if len(group) == 1 || group[0] != i {
			continue
		}
		var ports [][]uint16
		for _, k := range group {
			ports = append(ports, c.listeners[k].ports)
		}
		filter := steeringProgram(c.listeners[i].addr.Addr().Is4(), ports)
		if len(filter) > maxSteps {
			return fmt.Errorf("host %d: the ports of flows with different receive buffers alternate too often at %v: %d "+
				"steps; allowed: up to %d", c.listeners[i].node, c.listeners[i].addr, len(filter), maxSteps)
		}
		program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		if err := unix.SetsockoptSockFprog(c.listeners[i].fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF,
			&program); err != nil {
			return fmt.Errorf("setsockopt SO_ATTACH_REUSEPORT_CBPF: %w", err)
		}
	}
	return nil
}

// steeringProgram returns a classic BPF program that maps a packet's source port to the index of the list with that
// port, 0 if it is in no list. It has one branch for each range of ports in lists 1 and later.
func steeringProgram(ip4 bool, ports [][]uint16) []unix.SockFilter {
	offset := uint32(40) // of the port behind an IPv6 header
	if ip4 {
		offset = 20
	}
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: netOffset + offset}}
	for number, list := range ports[1:] {
		list = slices.Sorted(slices.Values(list))
		for len(list) > 0 {
			n := 1
			for n < len(list) && list[n] <= list[n-1]+1 {
				n++
			}
			filter = append(filter,
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jf: 2, K: uint32(list[0])},
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, Jt: 1, K: uint32(list[n-1])},
				unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: uint32(number + 1)})
			list = list[n:]
		}
	}
	return append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K})
}
