package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/rtnl"
	"weir/internal/sockdiag"
)

const sysctls = "/proc/sys/net/ipv4"

// Ask asks the kernel. It needs no privilege, but without it says that this is missing. Of
// what it tries, nothing remains: it does so in a network namespace without a name, which
// ends with it.
func Ask() (*Kernel, error) {
	k := &Kernel{CPUs: runtime.NumCPU()}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return nil, fmt.Errorf("kernel: uname: %w", err)
	}
	k.Release = unix.ByteSliceToString(name.Release[:])
	var tick unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &tick); err != nil {
		return nil, fmt.Errorf("kernel: tick: %w", err)
	}
	k.Tick = unit.Time(tick.Nano()) * unit.Nanosecond
	// Without the file there is no steal to speak of.
	if stat, err := os.ReadFile("/proc/stat"); err == nil {
		k.Steal = steal(stat)
	}

	answer := make(chan error)
	go func() {
		// The thread is never unlocked, so that it ends with its goroutine, and the namespace
		// with the thread.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		k.feature("network namespaces", err, "CAP_SYS_ADMIN and CONFIG_NET_NS")
		answer <- k.ask(err == nil)
	}()
	if err := <-answer; err != nil {
		return nil, fmt.Errorf("kernel: %w", err)
	}
	return k, nil
}

// feature notes whether something is there, and else what has it.
func (k *Kernel) feature(name string, err error, has string) {
	if err != nil {
		err = fmt.Errorf("%w; it takes %s", err, has)
	}
	k.Features = append(k.Features, Feature{name, err})
}

// steal is the share of stolen time in proc(5)'s stat: user, nice, system, idle, iowait,
// irq, softirq, steal; guests are part of user.
func steal(stat []byte) float64 {
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) < 9 || words[0] != "cpu" {
		return 0
	}
	sum, stolen := 0.0, 0.0
	for i, w := range words[1:9] {
		n, err := strconv.ParseUint(w, 10, 64)
		if err != nil {
			return 0
		}
		sum += float64(n)
		if i == 7 {
			stolen = float64(n)
		}
	}
	if sum == 0 {
		return 0
	}
	return stolen / sum
}

// ask asks in the calling thread's network namespace, in which it may do what it likes if
// it is our own.
func (k *Kernel) ask(own bool) error {
	entries, err := os.ReadDir(sysctls)
	if err != nil {
		return err
	}
	for _, e := range entries { // in the order of names
		if !strings.HasPrefix(e.Name(), "tcp_") {
			continue
		}
		// Some are for writing or for the first namespace only.
		if v, err := read(e.Name()); err == nil {
			k.Sysctls = append(k.Sysctls, Sysctl{e.Name(), v})
		}
	}
	k.feature("IPv6", try(unix.AF_INET6, unix.SOCK_DGRAM, 0, nil), "CONFIG_IPV6")
	k.feature("packet sockets with rings (TPACKET_V2)", try(unix.AF_PACKET, unix.SOCK_RAW, 0, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2)
	}), "CAP_NET_RAW and CONFIG_PACKET")
	// Of the lab's needs the youngest. A TCP socket takes it when it is connected.
	k.feature("stamps of acknowledgements by offset (SOF_TIMESTAMPING_OPT_ID_TCP)", try(unix.AF_INET, unix.SOCK_DGRAM, 0,
		func(fd int) error {
			return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
				unix.SOF_TIMESTAMPING_TX_ACK|unix.SOF_TIMESTAMPING_SOFTWARE|unix.SOF_TIMESTAMPING_OPT_TSONLY|
					unix.SOF_TIMESTAMPING_OPT_ID|unix.SOF_TIMESTAMPING_OPT_ID_TCP)
		}), "Linux 6.2")
	k.feature("sockets' own pacing (SO_MAX_PACING_RATE)", try(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, mostPacing)
	}), "Linux 4.13")
	k.feature("TCP sockets by netlink (sock_diag)", diag(), "CONFIG_INET_DIAG and CONFIG_INET_TCP_DIAG")
	if own {
		veth, metrics := wire()
		k.feature("pairs of interfaces (veth)", veth, "CAP_NET_ADMIN and CONFIG_VETH")
		if veth == nil {
			k.feature("routes with an initial window and a least RTO, and interfaces without bursts", metrics, "Linux 4.16")
		}
	}
	k.DelayedACK = try(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, delackMaxUS, int(delackMin/unit.Microsecond))
	}) == nil
	return k.askControls()
}

// try makes a socket and does what with it.
func try(family, kind, protocol int, what func(fd int) error) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	if what == nil {
		return nil
	}
	return os.NewSyscallError("setsockopt", what(fd))
}

func diag() error {
	c, err := sockdiag.Open()
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Dump(unix.AF_INET, sockdiag.Filter{LocalPort: 1})
	return err
}

// wire makes a pair of interfaces, and a route with metrics over it.
func wire() (veth, metrics error) {
	here, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err, nil
	}
	defer here.Close()
	c, err := rtnl.Open()
	if err != nil {
		return err, nil
	}
	defer c.Close()
	near, far := rtnl.End{Name: "probe0", MAC: [6]byte{2, 0, 0, 0, 0, 1}}, rtnl.End{Name: "probe1",
		MAC: [6]byte{2, 0, 0, 0, 0, 2}}
	if err := c.AddVeth(near, far, int(here.Fd()), 1500); err != nil {
		return err, nil
	}
	i, err := c.Interface(near.Name)
	if err == nil {
		err = c.Up(i.Index)
	}
	if err != nil {
		return err, nil
	}
	to := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if err := c.ReplaceRoute(i.Index, to, rtnl.Metrics{InitialWindow: 20, RTOMin: 100 * unit.Millisecond,
		QuickACK: true}); err != nil {
		return nil, err
	}
	return nil, c.LimitSegments(i.Index, 1)
}

// askControls tries the congestion controls that the kernel names. It tries no other:
// that would load modules.
func (k *Kernel) askControls() error {
	named, err := read("tcp_available_congestion_control")
	if err != nil {
		return err
	}
	allowed, err := read("tcp_allowed_congestion_control")
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(named) {
		err := try(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
			return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
		})
		if err != nil && !errors.Is(err, unix.EPERM) { // not permitted without root, which the lab needs
			return fmt.Errorf("congestion control %s: %w", name, err)
		}
		k.CongestionControls = append(k.CongestionControls, name)
		if !slices.Contains(strings.Fields(allowed), name) {
			k.Restricted = append(k.Restricted, name)
		}
	}
	files, err := filepath.Glob(filepath.Join("/lib/modules", k.Release, "kernel/net/ipv4/tcp_*.ko*"))
	if err != nil {
		return err
	}
	for _, f := range files {
		name, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(f), "tcp_"), ".")
		if name != "diag" && !slices.Contains(strings.Fields(named), name) {
			k.Modules = append(k.Modules, name)
		}
	}
	return nil
}

// read is a sysctl of net.ipv4 in the calling thread's network namespace.
func read(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(sysctls, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the kernel has no sysctl net.ipv4.%s: %w", name, fs.ErrNotExist)
	}
	return strings.Join(strings.Fields(string(b)), " "), err
}

// Apply gives the calling thread's network namespace, and the interface nic in it over
// which its default routes lead, what h wants, and returns what it has changed: nothing of
// what is so already. New connections have it; those that are there need not.
func (h *Host) Apply(nic string) (changed []string, err error) {
	for _, x := range h.Sysctls {
		was, err := read(x.Name)
		if err != nil {
			return changed, err
		}
		if was == x.Value {
			continue
		}
		if err := os.WriteFile(filepath.Join(sysctls, x.Name), []byte(x.Value), 0); err != nil {
			return changed, fmt.Errorf("net.ipv4.%s = %s: %w", x.Name, x.Value, errors.Unwrap(err))
		}
		// The kernel takes some values only in part.
		if is, err := read(x.Name); err != nil || is != x.Value {
			return changed, fmt.Errorf("net.ipv4.%s = %s: the kernel made %s of it", x.Name, x.Value, is)
		}
		changed = append(changed, fmt.Sprintf("net.ipv4.%s = %s (was %s)", x.Name, x.Value, was))
	}
	metrics := rtnl.Metrics{InitialWindow: h.InitialWindow, RTOMin: h.RTOMin, QuickACK: h.QuickACK}
	if metrics == (rtnl.Metrics{}) && h.Segments == 0 {
		return changed, nil
	}
	c, err := rtnl.Open()
	if err != nil {
		return changed, err
	}
	defer c.Close()
	i, err := c.Interface(nic)
	if err != nil {
		return changed, err
	}
	if h.Segments > 0 && i.Segments != h.Segments {
		if err := c.LimitSegments(i.Index, h.Segments); err != nil {
			return changed, err
		}
		changed = append(changed, fmt.Sprintf("%s: gso_max_segs %d (was %d)", nic, h.Segments, i.Segments))
	}
	if metrics == (rtnl.Metrics{}) {
		return changed, nil
	}
	for _, to := range [2]netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		if err := c.ReplaceRoute(i.Index, netip.PrefixFrom(to, 0), metrics); err != nil {
			return changed, err
		}
	}
	said := "default routes:"
	if h.InitialWindow > 0 {
		said += fmt.Sprintf(" initcwnd %d", h.InitialWindow)
	}
	if h.RTOMin > 0 {
		said += fmt.Sprintf(" rto_min %v", h.RTOMin)
	}
	if h.QuickACK {
		said += " quickack"
	}
	return append(changed, said), nil
}

// Set gives a socket of this process the option.
func (o Option) Set(fd int) error {
	if err := unix.SetsockoptInt(fd, o.Level, o.Code, o.Value); err != nil {
		return fmt.Errorf("socket option %s = %d: %w", o.Name, o.Value, err)
	}
	return nil
}
