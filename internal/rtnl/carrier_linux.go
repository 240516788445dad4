package rtnl

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Carriers reports interfaces that gain or lose their carrier in the network namespace where it was created. It is
// not safe for concurrent use.
type Carriers struct {
	fd  int
	buf []byte
}

// WatchCarriers starts to watch all interfaces of the calling thread's network namespace (RTMGRP_LINK, rtnetlink(7)).
// The caller calls Close.
func WatchCarriers() (*Carriers, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("netlink socket: %w", err)
	}
	return &Carriers{fd: fd, buf: make([]byte, 64<<10)}, nil
}

// FD returns the socket's descriptor, which becomes readable when an interface changes.
func (c *Carriers) FD() int { return c.fd }

// Close closes the socket.
func (c *Carriers) Close() error { return unix.Close(c.fd) }

// Read calls visit for every pending change, in order, and does not block. The function visit gets the interface's
// index and whether it is up with a carrier; other changes of an interface are reported, too. Read returns ENOBUFS if
// changes were lost.
func (c *Carriers) Read(visit func(index int, carrier bool)) error {
	for {
		n, _, err := unix.Recvfrom(c.fd, c.buf, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			return os.NewSyscallError("recvfrom", err)
		default:
			if err := parseLinkChanges(c.buf[:n], visit); err != nil {
				return err
			}
		}
	}
}

// parseLinkChanges calls visit for every message in the datagram b that is about an interface. A removed interface has
// no carrier.
func parseLinkChanges(b []byte, visit func(index int, carrier bool)) error {
	messages, err := syscall.ParseNetlinkMessage(b)
	if err != nil {
		return fmt.Errorf("netlink: messages of %d bytes: %w", len(b), err)
	}
	for _, m := range messages {
		kind, data := m.Header.Type, m.Data
		if kind != unix.RTM_NEWLINK && kind != unix.RTM_DELLINK {
			continue
		}
		if len(data) < unix.SizeofIfInfomsg {
			return fmt.Errorf("netlink: %d bytes about an interface", len(data))
		}
		if data[0] != unix.AF_UNSPEC { // a bridge's message about its port
			continue
		}
		visit(int(int32(ne.Uint32(data[4:]))), kind == unix.RTM_NEWLINK && hasCarrier(ne.Uint32(data[8:])))
	}
	return nil
}

// hasCarrier reports whether an interface with these flags is up and has a carrier.
func hasCarrier(flags uint32) bool {
	const both = unix.IFF_UP | unix.IFF_LOWER_UP
	return flags&both == both
}
