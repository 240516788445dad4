package rtnl

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Carriers tells of interfaces that get or lose their carrier, in the network namespace in which it was made. It is not
// safe for concurrent use.
type Carriers struct {
	fd  int
	buf []byte
}

// WatchCarriers begins to watch all interfaces of the calling thread's network namespace (RTMGRP_LINK, rtnetlink(7)).
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

// FD is readable when something has changed.
func (c *Carriers) FD() int { return c.fd }

// Close closes the socket.
func (c *Carriers) Close() error { return unix.Close(c.fd) }

// Read calls take for all that waits, in its order, without waiting itself: the index of an interface, and whether it
// is up and has a carrier. Other changes of an interface are told, too. Its error is ENOBUFS if some were lost.
func (c *Carriers) Read(take func(index int, carrier bool)) error {
	for {
		n, _, err := unix.Recvfrom(c.fd, c.buf, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			return os.NewSyscallError("recvfrom", err)
		default:
			if err := changes(c.buf[:n], take); err != nil {
				return err
			}
		}
	}
}

// changes goes through the messages of a datagram that tell of interfaces.
func changes(b []byte, take func(index int, carrier bool)) error {
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
		if data[0] != unix.AF_UNSPEC { // what a bridge says of its port
			continue
		}
		take(int(int32(ne.Uint32(data[4:]))), kind == unix.RTM_NEWLINK && carries(ne.Uint32(data[8:])))
	}
	return nil
}

// carries reports whether an interface with these flags is up and has a carrier.
func carries(flags uint32) bool {
	const both = unix.IFF_UP | unix.IFF_LOWER_UP
	return flags&both == both
}
