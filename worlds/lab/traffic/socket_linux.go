package traffic

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sockaddr is an address as the kernel takes it.
func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// addrPort is what the kernel says of an address.
func addrPort(s unix.Sockaddr) netip.AddrPort {
	switch s := s.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(s.Addr), uint16(s.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(s.Addr), uint16(s.Port))
	}
	return netip.AddrPort{}
}

// option is one of a socket's.
type option struct {
	name              string
	level, opt, value int
}

// socket opens a socket bound to an address.
func socket(kind int, at netip.AddrPort, options ...option) (fd int, err error) {
	family := unix.AF_INET6
	if at.Addr().Is4() {
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
	if err := unix.Bind(fd, sockaddr(at)); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("bind to %v: %w", at, err)
	}
	return fd, nil
}

// tos is the option for the TOS or traffic class of what a socket sends.
func tos(version, value uint8) option {
	if version == 6 {
		return option{"IPV6_TCLASS", unix.IPPROTO_IPV6, unix.IPV6_TCLASS, int(value)}
	}
	return option{"IP_TOS", unix.IPPROTO_IP, unix.IP_TOS, int(value)}
}

// Ports are distinguished by their tuples: neither what a connection before has left nor
// others with the same port are in the way.
var shared = []option{
	{"SO_REUSEADDR", unix.SOL_SOCKET, unix.SO_REUSEADDR, 1},
	{"SO_REUSEPORT", unix.SOL_SOCKET, unix.SO_REUSEPORT, 1},
}

// forget has a connection's socket be closed with all that it holds, also if that is since this process is killed: else
// the kernel would send it again for minutes, from a namespace that nobody has any more. Who closes one in order waits
// until both ends have said so.
func forget(fd int) {
	unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// abort closes a connection's socket: nothing of it stays.
func abort(fd int) {
	forget(fd)
	unix.Close(fd)
}

// pending is the error of a socket.
func pending(fd int) error {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	if n == 0 {
		return nil
	}
	return unix.Errno(n)
}

// drops counts what a socket had no room for (SO_MEMINFO, SK_MEMINFO_DROPS).
func drops(fd int) uint64 {
	var m [9]uint32
	n := uint32(unsafe.Sizeof(m))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&n)), 0)
	if e != 0 {
		return 0
	}
	return uint64(m[8])
}

// explain adds what to do about an error of this machine.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE):
		return fmt.Errorf("%w: too many flows at a time; raise the limit of open files (ulimit -n)", err)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fmt.Errorf("%w: the host does not have the address, or another connection has the same ports still; use "+
			"other ports", err)
	case errors.Is(err, unix.EADDRINUSE):
		return fmt.Errorf("%w: another program has the port; use another one", err)
	case errors.Is(err, unix.EMSGSIZE):
		return fmt.Errorf("%w: the datagram is longer than the MTU allows; set a smaller payload", err)
	case errors.Is(err, unix.ENETUNREACH):
		return fmt.Errorf("%w: the host has no route there", err)
	}
	return err
}
