package bench

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/unit"
)

// hosts are two network namespaces: host 0 sends, host 1 receives.
type hosts struct {
	do   [2]func(what func() error) error
	addr [2]netip.Addr
	nic  string
	port uint16 // of the receiving host; 0: the kernel chooses one
	cc   string // congestion control of the flows; "": the system's default, which needs no privilege
}

// openSocket opens a blocking IPv4 socket of a kind (SOCK_STREAM, …) in the namespace of a host. Its calls time out
// after 5 s. A TCP socket has the hosts' congestion control. The caller closes it.
func (h *hosts) openSocket(host, kind int) (fd int, err error) {
	err = h.do[host](func() error {
		fd, err = unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
		return os.NewSyscallError("socket", err)
	})
	if err != nil {
		return -1, err
	}
	patience := unix.Timeval{Sec: 5}
	err = errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &patience))
	if err == nil && kind == unix.SOCK_STREAM && h.cc != "" {
		err = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, h.cc)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("socket options: %w", err)
	}
	return fd, nil
}

// address returns the IPv4 address of a port at a host.
func (h *hosts) address(host int, port uint16) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: int(port), Addr: h.addr[host].As4()}
}

// flow is a TCP connection that always has data: the sender writes 128 KiB at a time, the receiver reads as much. Both
// are threads of this process that block in their calls.
type flow struct {
	out, in int
	arrived atomic.Int64 // bytes
	threads sync.WaitGroup
}

// chunk is the size in bytes of a flow's reads and writes.
const chunk = 128 << 10

// startFlow starts a flow from host 0 to host 1. The caller must call end.
func (h *hosts) startFlow() (*flow, error) {
	listener, err := h.openSocket(1, unix.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	defer unix.Close(listener)
	if err := errors.Join(unix.Bind(listener, h.address(1, h.port)), unix.Listen(listener, 1)); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	to, err := unix.Getsockname(listener)
	if err != nil {
		return nil, os.NewSyscallError("getsockname", err)
	}
	f := &flow{}
	if f.out, err = h.openSocket(0, unix.SOCK_STREAM); err != nil {
		return nil, err
	}
	if err = connect(f.out, to); err == nil {
		f.in, _, err = unix.Accept4(listener, unix.SOCK_CLOEXEC)
		for err == unix.EINTR {
			f.in, _, err = unix.Accept4(listener, unix.SOCK_CLOEXEC)
		}
	}
	if err != nil {
		unix.Close(f.out)
		return nil, fmt.Errorf("TCP connection through the network: %w", err)
	}
	f.threads.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for b := make([]byte, chunk); ; {
			n, err := unix.Read(f.in, b)
			if err == unix.EINTR {
				continue
			}
			if n <= 0 || err != nil {
				return
			}
			f.arrived.Add(int64(n))
		}
	})
	f.threads.Go(func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for b := make([]byte, chunk); ; {
			if _, err := unix.Write(f.out, b); err != nil && err != unix.EINTR {
				return
			}
		}
	})
	return f, nil
}

// readBytes returns the bytes that have arrived so far, and when they were read.
func (f *flow) readBytes() (n int64, readAt time.Time) {
	for try := 0; ; try++ {
		before := time.Now()
		n, readAt = f.arrived.Load(), time.Now()
		if readAt.Sub(before) < 20*time.Microsecond || try == 100 { // otherwise the thread was interrupted in between
			return n, readAt
		}
	}
}

// end closes the connection and waits for the flow's threads.
func (f *flow) end() {
	unix.Shutdown(f.out, unix.SHUT_RDWR)
	unix.Shutdown(f.in, unix.SHUT_RDWR)
	f.threads.Wait()
	unix.Close(f.out)
	unix.Close(f.in)
}

// fillEcho replaces the contents of b by an ICMP echo request (RFC 792) with a sequence number, as long as ping's: 64
// bytes, which are 98 bytes of Ethernet.
func fillEcho(b []byte, seq uint16) []byte {
	b = append(b[:0], icmpEcho, 0, 0, 0, identifier>>8, identifier&0xff, byte(seq>>8), byte(seq))
	b = append(b, make([]byte, 56)...)
	binary.BigEndian.PutUint16(b[2:], packet.Checksum(packet.Sum(0, b)))
	return b
}

// isReply reports whether an IPv4 packet is the reply to the echo request seq.
func isReply(b []byte, seq uint16) bool {
	h, err := packet.ParseIPv4(b)
	if err != nil || h.Protocol() != packet.ProtoICMP {
		return false
	}
	m := h.Payload()
	return len(m) >= 8 && m[0] == icmpReply && binary.BigEndian.Uint16(m[4:]) == identifier &&
		binary.BigEndian.Uint16(m[6:]) == seq
}

// Types of echo messages, and the identifier of the benchmark's.
const (
	icmpReply  = 0
	icmpEcho   = 8
	identifier = 0xbe5c
)

// connect connects a socket to an address. If a signal interrupts connect, the kernel continues to connect, and the
// socket becomes writable when it is connected (connect(2)). connect waits for that.
func connect(fd int, address unix.Sockaddr) error {
	err := unix.Connect(fd, address)
	if err != unix.EINTR {
		return err
	}
	for err == unix.EINTR {
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
	}
	if err != nil {
		return err
	}
	number, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && number != 0 {
		err = unix.Errno(number)
	}
	return err
}

// maxUnanswered limits a turn's unanswered echo requests. Each takes replyTimeout.
const (
	maxUnanswered = 3
	replyTimeout  = 2 // seconds
)

// measureEchoes sends n echo requests, one after the other with a pause before each, to the other host's kernel, which
// answers them. took has the round-trip times, measured as by ping(8): from before the request is sent until the
// kernel's receive time stamp. The first requests, which find caches cold, are not included. It returns the number of
// unanswered requests, and fails beyond maxUnanswered.
func (h *hosts) measureEchoes(n int, pause time.Duration) (took []unit.Time, unanswered int, err error) {
	const cold = 5
	var fd int
	err = h.do[0](func() error {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
		return os.NewSyscallError("socket", err)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("echo: %w", err)
	}
	defer unix.Close(fd)
	err = errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: replyTimeout}),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1), unix.Connect(fd, h.address(1, 0)))
	if err != nil {
		return nil, 0, fmt.Errorf("echo: %w", err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	in, notes := make([]byte, 2000), make([]byte, 200)
	var out []byte
	for seq := range uint16(cold + n) {
		time.Sleep(pause)
		out = fillEcho(out, seq)
		start := time.Now()
		if _, err := unix.Write(fd, out); err != nil {
			return nil, 0, fmt.Errorf("echo: %w", err)
		}
		for {
			n, noted, _, _, err := unix.Recvmsg(fd, in, notes, 0)
			if err == unix.EINTR {
				continue
			}
			if err == unix.EAGAIN && unanswered < maxUnanswered {
				unanswered++
				break
			}
			if err != nil {
				return nil, 0, fmt.Errorf("echo: request %d was not answered: %w", seq, err)
			}
			if !isReply(in[:n], seq) {
				continue
			}
			stamp, err := receiveTime(notes[:noted])
			if err != nil {
				return nil, 0, fmt.Errorf("echo: answer %d: %w", seq, err)
			}
			if seq >= cold {
				d, maxTime := time.Duration(stamp-start.UnixNano()), time.Since(start)
				if d < 0 || d > maxTime { // the clock was set
					d = maxTime
				}
				took = append(took, unit.Time(d)*unit.Nanosecond)
			}
			break
		}
	}
	return took, unanswered, nil
}

// receiveTime returns when a message arrived, by SO_TIMESTAMPNS: CLOCK_REALTIME in ns.
func receiveTime(notes []byte) (ns int64, err error) {
	all, err := unix.ParseSocketControlMessage(notes)
	if err != nil {
		return 0, err
	}
	for _, m := range all {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= 16 {
			return int64(binary.NativeEndian.Uint64(m.Data))*1e9 + int64(binary.NativeEndian.Uint64(m.Data[8:])), nil
		}
	}
	return 0, errors.New("the kernel gave no stamp")
}

// receivedPackets returns the number of packets that the two hosts' interfaces have received so far.
func (h *hosts) receivedPackets() (n uint64, err error) {
	for host := range 2 {
		err := h.do[host](func() error {
			text, err := os.ReadFile("/proc/thread-self/net/dev")
			if err != nil {
				return err
			}
			k, err := parseReceived(string(text), h.nic)
			n += k
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// parseReceived returns an interface's received packets in the text of /proc/net/dev (proc(5)).
func parseReceived(text, name string) (uint64, error) {
	for l := range strings.SplitSeq(text, "\n") {
		if label, rest, ok := strings.Cut(strings.TrimSpace(l), ":"); ok && label == name {
			if f := strings.Fields(rest); len(f) > 1 {
				return strconv.ParseUint(f[1], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("/proc/net/dev: nothing of interface %s", name)
}

// cpuTimes has the CPU times of the machine so far, in seconds.
type cpuTimes struct {
	busy, stolen   float64 // of all cores
	process, plane float64 // of this process; of the data plane's process
	softirq        float64 // of the kernel's threads for network work
}

// ticks is the number of /proc's time units per second (USER_HZ).
const ticks = 100

// readCPUTimes reads the CPU times of the machine since its start. The argument pid is the data plane's process; 0: it
// is not running.
func readCPUTimes(pid int) (m cpuTimes, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m, err
	}
	if m.busy, m.stolen, err = coresTime(string(text)); err != nil {
		return m, err
	}
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return m, os.NewSyscallError("getrusage", err)
	}
	m.process = float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	if pid != 0 {
		if m.plane, err = readProcessTime(pid); err != nil {
			return m, err
		}
	}
	for _, pid := range softirqs() {
		s, _ := readProcessTime(pid)
		m.softirq += s
	}
	return m, nil
}

// coresTime returns the time of all cores in the text of /proc/stat (proc(5)), in seconds: busy, and stolen by the
// hypervisor. Busy time includes neither idle time nor waits for a disk.
func coresTime(text string) (busy, stolen float64, err error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0, fmt.Errorf("/proc/stat: %q", line)
	}
	for i, s := range fields[1:9] { // later fields are included in user and nice
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/stat: %w", err)
		}
		switch i {
		case 3, 4: // idle, waiting for a disk
		case 7:
			stolen = float64(n) / ticks
		default:
			busy += float64(n) / ticks
		}
	}
	return busy, stolen, nil
}

// readProcessTime returns the CPU time of a process in user mode and in the kernel, in seconds.
func readProcessTime(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return processTime(string(text))
}

// processTime returns the CPU time in the text of /proc/PID/stat (proc(5)), in seconds.
func processTime(text string) (float64, error) {
	// The name is in parentheses and may have spaces.
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(f) < 13 {
		return 0, fmt.Errorf("/proc/PID/stat: %q", text)
	}
	user, err1 := strconv.ParseUint(f[11], 10, 64)
	system, err2 := strconv.ParseUint(f[12], 10, 64)
	return float64(user+system) / ticks, errors.Join(err1, err2)
}

// softirqs returns the process IDs of the kernel's threads (ksoftirqd) that do deferred network work, if they are
// visible.
var softirqs = sync.OnceValue(func() (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if name, _ := os.ReadFile("/proc/" + e.Name() + "/comm"); strings.HasPrefix(string(name), "ksoftirqd/") {
			pids = append(pids, pid)
		}
	}
	return pids
})
