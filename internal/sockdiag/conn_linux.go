package sockdiag

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Conn is a socket to the kernel's sock_diag. It sees the network namespace in which it
// was opened, for as long as it is open, from whatever thread it is used. It needs no
// privilege. It is not safe for concurrent use.
type Conn struct {
	fd      int
	seq     uint32
	request []byte
	buf     []byte
	sockets []Socket
}

// buffer is more than the kernel puts into one datagram of a dump (32 KiB).
const buffer = 64 << 10

// Open opens a socket in the calling thread's network namespace. Its error names what the
// kernel lacks.
func Open() (*Conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		if err == unix.EPROTONOSUPPORT {
			err = fmt.Errorf("%w: the kernel has no sock_diag (CONFIG_INET_DIAG, module inet_diag)", err)
		}
		return nil, fmt.Errorf("sock_diag: socket: %w", err)
	}
	// A connected socket takes messages from the kernel only.
	if err := unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("sock_diag: socket: %w", err)
	}
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})
	return &Conn{fd: fd, buf: make([]byte, buffer)}, nil
}

// Close closes the socket.
func (c *Conn) Close() error { return unix.Close(c.fd) }

// tcp gives all TCP sockets of an address family, AF_INET or AF_INET6: IPv4 over a socket
// of IPv6 is of the latter. What it returns is valid until the next call. Except for more
// sockets than ever before it allocates nothing.
//
// The kernel goes through the table of all connections of the machine for it, however few
// there are in the namespace: with the 262144 places of a common machine that takes 1.5 ms,
// and Socket 5 µs.
func (c *Conn) tcp(family uint8) ([]Socket, error) { return c.Dump(family, Filter{}) }

// attempts is how often a dump is begun, at most.
const attempts = 10

// Dump gives the TCP sockets of an address family that pass a filter, as tcp does. A dump
// that the kernel says was disturbed is repeated.
func (c *Conn) Dump(family uint8, f Filter) ([]Socket, error) {
	if family != unix.AF_INET && family != unix.AF_INET6 {
		return nil, fmt.Errorf("sock_diag: address family %d; AF_INET and AF_INET6 are possible", family)
	}
	wanted := uint32(0)
	for _, s := range f.States {
		if s < Established || s > NewSynReceived {
			return nil, fmt.Errorf("sock_diag: no %v is known", s)
		}
		wanted |= 1 << s
	}
	if wanted == 0 {
		wanted = 1<<32 - 1
	}
	local, remote := netip.AddrPortFrom(netip.Addr{}, f.LocalPort), netip.AddrPortFrom(netip.Addr{}, f.RemotePort)
	var err error
	for range attempts {
		err = c.ask(flagDump, family, wanted, local, remote, f.Storage)
		if err != errInterrupted {
			break
		}
	}
	if errors.Is(err, unix.ENOENT) {
		err = fmt.Errorf("%w: the kernel has no sock_diag for TCP (CONFIG_INET_TCP_DIAG, module tcp_diag)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("sock_diag: TCP sockets: %w", err)
	}
	return c.sockets, nil
}

// Socket gives the TCP socket with these two addresses and ports; that of a listening
// socket has a remote address of zeros and port 0. It finds it without going through
// others. What it returns is valid until the next call. Its error is ENOENT if there is
// none.
func (c *Conn) Socket(local, remote netip.AddrPort) (*Socket, error) {
	family := uint8(unix.AF_INET)
	if !local.Addr().Is4() {
		family = unix.AF_INET6
	}
	if local.Addr().BitLen() != remote.Addr().BitLen() || local.Addr().BitLen() == 0 {
		return nil, fmt.Errorf("sock_diag: socket %v, %v: they are not of one version of IP", local, remote)
	}
	err := c.ask(0, family, 1<<32-1, local, remote, 0)
	// The kernel falls back on a listening socket.
	if err == nil && (len(c.sockets) != 1 || c.sockets[0].Remote != remote || c.sockets[0].Local.Port() != local.Port()) {
		err = unix.ENOENT
	}
	if err != nil {
		return nil, fmt.Errorf("sock_diag: socket %v, %v: %w", local, remote, err)
	}
	return &c.sockets[0], nil
}

// ask sends a request and takes all of its answer.
func (c *Conn) ask(flags uint16, family uint8, states uint32, local, remote netip.AddrPort, storage int) error {
	c.seq++
	c.sockets = c.sockets[:0]
	c.request = appendRequest(c.request[:0], c.seq, flags, family, states, local, remote)
	if storage > 0 {
		c.request = askStorage(c.request, storage)
	}
	if _, err := unix.Write(c.fd, c.request); err != nil {
		return os.NewSyscallError("write", err)
	}
	disturbed := false
	for {
		n, err := unix.Read(c.fd, c.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("read", err)
		}
		var done bool
		c.sockets, done, err = parse(c.buf[:n], c.seq, flags&flagDump == 0, c.sockets)
		if err == errInterrupted {
			disturbed, err = true, nil
		}
		if err != nil {
			return err
		}
		if done {
			if disturbed {
				return errInterrupted
			}
			return nil
		}
	}
}

// Get fills in what TCP knows of the connection with a descriptor of this process:
// getsockopt(TCP_INFO), which takes less than asking sock_diag.
func (i *Info) Get(fd int) error {
	var b [2 * infoBytes]byte
	n := uint32(len(b))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&b)), uintptr(unsafe.Pointer(&n)), 0)
	if errno != 0 {
		return os.NewSyscallError("getsockopt TCP_INFO", errno)
	}
	i.parseInfo(b[:n])
	return nil
}
