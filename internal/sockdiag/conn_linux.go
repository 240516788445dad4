package sockdiag

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Conn is a socket to the kernel's sock_diag. It sees the network namespace in which it was opened for as long as
// it is open, from any thread. It needs no privilege. It is not safe for concurrent use.
type Conn struct {
	fd      int
	seq     uint32
	request []byte
	buf     []byte
	sockets []Socket
}

// bufferBytes exceeds the largest datagram of a dump (32 KiB).
const bufferBytes = 64 << 10

// Open opens a socket in the calling thread's network namespace. Its error names a missing kernel option. Reads
// time out after 10 s.
func Open() (*Conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		if err == unix.EPROTONOSUPPORT {
			err = fmt.Errorf("%w: the kernel has no sock_diag (CONFIG_INET_DIAG, module inet_diag)", err)
		}
		return nil, fmt.Errorf("sock_diag: socket: %w", err)
	}
	// A connected socket receives messages from the kernel only.
	if err := unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("sock_diag: socket: %w", err)
	}
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})
	return &Conn{fd: fd, buf: make([]byte, bufferBytes)}, nil
}

// Close closes the socket.
func (c *Conn) Close() error { return unix.Close(c.fd) }

// dumpTCP returns all TCP sockets of an address family, AF_INET or AF_INET6; IPv4 connections over an IPv6 socket
// belong to the latter. The result is valid until the next call. It allocates only when there are more sockets than in
// any call before.
//
// The kernel scans the machine's whole connection table, even for a namespace with few connections, so dumpTCP is much
// slower than FindSocket.
func (c *Conn) dumpTCP(family uint8) ([]Socket, error) { return c.Dump(family, Filter{}) }

// maxAttempts limits how often a dump is started.
const maxAttempts = 10

// Dump returns the TCP sockets of an address family that pass a filter; the result is valid until the next call.
// It repeats a dump that the kernel reports as interrupted, up to maxAttempts times.
func (c *Conn) Dump(family uint8, f Filter) ([]Socket, error) {
	if family != unix.AF_INET && family != unix.AF_INET6 {
		return nil, fmt.Errorf("sock_diag: address family %d; allowed: AF_INET or AF_INET6", family)
	}
	states := uint32(0)
	for _, s := range f.States {
		if s < Established || s > NewSynReceived {
			return nil, fmt.Errorf("sock_diag: no %v is known", s)
		}
		states |= 1 << s
	}
	if states == 0 {
		states = 1<<32 - 1
	}
	local, remote := netip.AddrPortFrom(netip.Addr{}, f.LocalPort), netip.AddrPortFrom(netip.Addr{}, f.RemotePort)
	var err error
	for range maxAttempts {
		err = c.fetchSockets(flagDump, family, states, local, remote, f.Storage)
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

// FindSocket returns the TCP socket with these two addresses and ports. A listening socket has a remote address of
// zeros and port 0. The kernel finds it without a scan. The result is valid until the next call. The error is
// ENOENT if there is no such socket.
func (c *Conn) FindSocket(local, remote netip.AddrPort) (*Socket, error) {
	family := uint8(unix.AF_INET)
	if !local.Addr().Is4() {
		family = unix.AF_INET6
	}
	if local.Addr().BitLen() != remote.Addr().BitLen() || local.Addr().BitLen() == 0 {
		return nil, fmt.Errorf("sock_diag: socket %v, %v: they are not of one version of IP", local, remote)
	}
	err := c.fetchSockets(0, family, 1<<32-1, local, remote, 0)
	// The kernel falls back to a listening socket.
	if err == nil && (len(c.sockets) != 1 || c.sockets[0].Remote != remote || c.sockets[0].Local.Port() != local.Port()) {
		err = unix.ENOENT
	}
	if err != nil {
		return nil, fmt.Errorf("sock_diag: socket %v, %v: %w", local, remote, err)
	}
	return &c.sockets[0], nil
}

// fetchSockets sends a request and reads the whole reply into c.sockets. storage is the descriptor of a BPF map, 0
// without one. It returns errInterrupted if the kernel's list changed during a dump.
func (c *Conn) fetchSockets(flags uint16, family uint8, states uint32, local, remote netip.AddrPort,
	storage int) error {
	c.seq++
	c.sockets = c.sockets[:0]
	c.request = appendRequest(c.request[:0], c.seq, flags, family, states, local, remote)
	if storage > 0 {
		c.request = appendStorageRequest(c.request, storage)
	}
	if _, err := unix.Write(c.fd, c.request); err != nil {
		return os.NewSyscallError("write", err)
	}
	interrupted := false
	for {
		n, err := unix.Read(c.fd, c.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("read", err)
		}
		var done bool
		c.sockets, done, err = parseSockets(c.buf[:n], c.seq, flags&flagDump == 0, c.sockets)
		if err == errInterrupted {
			interrupted, err = true, nil
		}
		if err != nil {
			return err
		}
		if done {
			if interrupted {
				return errInterrupted
			}
			return nil
		}
	}
}

// ReadSocket reads TCP's state of the connection with the descriptor fd of this process by getsockopt(TCP_INFO), which
// is cheaper than sock_diag.
func (i *Info) ReadSocket(fd int) error {
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
