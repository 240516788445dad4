package traffic

import (
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// netOffset is where a classic BPF program finds the IP header (SKF_NET_OFF).
const netOffset = 0xfff00000

// mostSteps is how long such a program can be (BPF_MAXINSNS).
const mostSteps = 4096

// steer sees that connections to an address at which several sockets listen, which have different buffers, come to
// that of their flow: by the sender's port.
func (c *connections) steer() error {
	type address struct {
		node int
		at   netip.AddrPort
	}
	groups := map[address][]int{}
	for i := range c.listeners {
		l := &c.listeners[i]
		who := address{l.node, l.at}
		groups[who] = append(groups[who], i) // in the order in which they have begun to listen, as the kernel has them
	}
	for i := range c.listeners {
		group := groups[address{c.listeners[i].node, c.listeners[i].at}]
		if len(group) == 1 || group[0] != i {
			continue
		}
		var ports [][]uint16
		for _, k := range group {
			ports = append(ports, c.listeners[k].ports)
		}
		filter := steering(c.listeners[i].at.Addr().Is4(), ports)
		if len(filter) > mostSteps {
			return fmt.Errorf("host %d: the ports of flows with different receive buffers alternate too often at %v: %d "+
				"steps, and %d is the most", c.listeners[i].node, c.listeners[i].at, len(filter), mostSteps)
		}
		program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		if err := unix.SetsockoptSockFprog(c.listeners[i].fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF,
			&program); err != nil {
			return fmt.Errorf("setsockopt SO_ATTACH_REUSEPORT_CBPF: %w", err)
		}
	}
	return nil
}

// steering is the program that gives a packet's source port the number of the list that has it; 0: none has.
func steering(ip4 bool, ports [][]uint16) []unix.SockFilter {
	at := uint32(40) // behind the header of IPv6
	if ip4 {
		at = 20
	}
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: netOffset + at}}
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
