package traffic

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// toSockaddr converts an address for the kernel.
func toSockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// toAddrPort converts an address of the kernel, invalid for other families.
func toAddrPort(s unix.Sockaddr) netip.AddrPort {
	switch s := s.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(s.Addr), uint16(s.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(s.Addr), uint16(s.Port))
	}
	return netip.AddrPort{}
}

// socketOption is an option of a socket with its value.
type socketOption struct {
	name              string
	level, opt, value int
}

// openSocket opens a non-blocking socket of type kind, sets options and binds it to an address in the calling
// thread's namespace. After an error it is closed.
func openSocket(kind int, address netip.AddrPort, options ...socketOption) (fd int, err error) {
	family := unix.AF_INET6
	if address.Addr().Is4() {
		family = unix.AF_INET
	}
	fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.opt, o.value); err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("setsockopt %s %d: %w", o.name, o.value, err)
		}
	}
	if err := unix.Bind(fd, toSockaddr(address)); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("bind to %v: %w", address, err)
	}
	return fd, nil
}

// tosOption returns the option for the TOS or traffic class of sent packets.
func tosOption(version, value uint8) socketOption {
	if version == 6 {
		return socketOption{"IPV6_TCLASS", unix.IPPROTO_IPV6, unix.IPV6_TCLASS, int(value)}
	}
	return socketOption{"IP_TOS", unix.IPPROTO_IP, unix.IP_TOS, int(value)}
}

// sharedPortOptions allow sockets with the same port, since flows differ by their tuples, and ports of earlier
// connections.
var sharedPortOptions = []socketOption{
	{"SO_REUSEADDR", unix.SOL_SOCKET, unix.SO_REUSEADDR, 1},
	{"SO_REUSEPORT", unix.SOL_SOCKET, unix.SO_REUSEPORT, 1},
}

// setAbortOnClose makes a close discard the connection with all its data, also when this process is killed.
// Otherwise the kernel would retransmit for minutes from an abandoned namespace. A regular close must wait until
// both ends have closed.
func setAbortOnClose(fd int) {
	unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// abortSocket closes a connection's socket and discards its data.
func abortSocket(fd int) {
	setAbortOnClose(fd)
	unix.Close(fd)
}

// pendingError returns and clears the pending error of a socket, nil without one.
func pendingError(fd int) error {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	if n == 0 {
		return nil
	}
	return unix.Errno(n)
}

// countDrops returns the number of packets that a socket had no space for (SO_MEMINFO, SK_MEMINFO_DROPS), 0 on
// error.
func countDrops(fd int) uint64 {
	var m [9]uint32
	n := uint32(unsafe.Sizeof(m))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&n)), 0)
	if e != 0 {
		return 0
	}
	return uint64(m[8])
}

// explainError adds advice to an error of this machine, which it wraps. Other errors are returned unchanged.
func explainError(err error) error {
	switch {
	case errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE):
		return fmt.Errorf("%w: too many flows at a time; raise the limit of open files (ulimit -n)", err)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fmt.Errorf("%w: the host does not have the address, or another connection still has the same ports; use "+
			"other ports", err)
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("%w: another program uses the port; use another port", err)
	case errors.Is(err, unix.EMSGSIZE):
		return fmt.Errorf("%w: the datagram is longer than the MTU allows; set a smaller payload", err)
	case errors.Is(err, unix.ENETUNREACH):
		return fmt.Errorf("%w: the host has no route to the destination; add a route", err)
	}
	return err
}
