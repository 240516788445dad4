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

// sysctlDir is the folder of net.ipv4's sysctls.
const sysctlDir = "/proc/sys/net/ipv4"

// Probe probes the kernel of this machine. Without privileges it reports them as missing features. It leaves no
// trace: all trials run in an unnamed network namespace that ends with the call.
func Probe() (*Kernel, error) {
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
	// Without the file, Steal stays 0.
	if stat, err := os.ReadFile("/proc/stat"); err == nil {
		k.Steal = stolenShare(stat)
	}

	answer := make(chan error)
	go func() {
		// The thread is never unlocked. It ends with its goroutine, and the namespace ends with the thread.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		k.addFeature("network namespaces", err, "CAP_SYS_ADMIN and CONFIG_NET_NS")
		answer <- k.probe(err == nil)
	}()
	if err := <-answer; err != nil {
		return nil, fmt.Errorf("kernel: %w", err)
	}
	return k, nil
}

// addFeature records a feature; err is nil if it is available, else requirement names what provides it.
func (k *Kernel) addFeature(name string, err error, requirement string) {
	if err != nil {
		err = fmt.Errorf("%w; it requires %s", err, requirement)
	}
	k.Features = append(k.Features, Feature{name, err})
}

// stolenShare returns the share of stolen time, 0 to 1, in /proc/stat (proc(5)): user, nice, system, idle, iowait,
// irq, softirq, steal. Guests' time is part of user. It returns 0 for another format.
func stolenShare(stat []byte) float64 {
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

// probe examines the calling thread's network namespace and sets the remaining fields of k. It creates interfaces
// there only if the namespace is private. A missing feature is not an error.
func (k *Kernel) probe(private bool) error {
	entries, err := os.ReadDir(sysctlDir)
	if err != nil {
		return err
	}
	for _, e := range entries { // in order of name
		if !strings.HasPrefix(e.Name(), "tcp_") {
			continue
		}
		// Some are write-only or exist in the first namespace only.
		if v, err := readSysctl(e.Name()); err == nil {
			k.Sysctls = append(k.Sysctls, Sysctl{e.Name(), v})
		}
	}
	k.addFeature("IPv6", trySocket(unix.AF_INET6, unix.SOCK_DGRAM, 0, nil), "CONFIG_IPV6")
	k.addFeature("packet sockets with rings (TPACKET_V2)", trySocket(unix.AF_PACKET, unix.SOCK_RAW, 0, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2)
	}), "CAP_NET_RAW and CONFIG_PACKET")
	// The latest of the lab's requirements. A TCP socket accepts it only when connected.
	k.addFeature("time stamps of acknowledgements by offset (SOF_TIMESTAMPING_OPT_ID_TCP)", trySocket(unix.AF_INET,
		unix.SOCK_DGRAM, 0, func(fd int) error {
			return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
				unix.SOF_TIMESTAMPING_TX_ACK|unix.SOF_TIMESTAMPING_SOFTWARE|unix.SOF_TIMESTAMPING_OPT_TSONLY|
					unix.SOF_TIMESTAMPING_OPT_ID|unix.SOF_TIMESTAMPING_OPT_ID_TCP)
		}), "Linux 6.2")
	k.addFeature("pacing by sockets (SO_MAX_PACING_RATE)", trySocket(unix.AF_INET, unix.SOCK_STREAM, 0,
		func(fd int) error {
			return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, unlimitedPacing)
		}), "Linux 4.13")
	k.addFeature("TCP sockets by netlink (sock_diag)", checkSockDiag(), "CONFIG_INET_DIAG and CONFIG_INET_TCP_DIAG")
	if private {
		veth, metrics := checkInterfaces()
		k.addFeature("pairs of interfaces (veth)", veth, "CAP_NET_ADMIN and CONFIG_VETH")
		if veth == nil {
			k.addFeature("routes with an initial window and a minimum RTO, and interfaces without bursts",
				metrics, "Linux 4.16")
		}
	}
	k.DelayedACK = trySocket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, delackMaxUS, int(delackMin/unit.Microsecond))
	}) == nil
	return k.findControls()
}

// trySocket opens a socket, calls action with it unless action is nil, and closes it.
func trySocket(family, kind, protocol int, action func(fd int) error) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	if action == nil {
		return nil
	}
	return os.NewSyscallError("setsockopt", action(fd))
}

// checkSockDiag returns an error if TCP sockets cannot be listed by sock_diag.
func checkSockDiag() error {
	c, err := sockdiag.Open()
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Dump(unix.AF_INET, sockdiag.Filter{LocalPort: 1})
	return err
}

// checkInterfaces creates a veth pair in the calling thread's namespace, and a route with metrics over it, and leaves
// them there. It returns an error for each that fails; without veth, metrics is nil.
func checkInterfaces() (veth, metrics error) {
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
	i, err := c.InterfaceByName(near.Name)
	if err == nil {
		err = c.SetUp(i.Index)
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

// findControls sets the congestion controls of k: those that the kernel lists, the restricted ones and further modules.
// It tries the listed ones only, because trying others would load modules. A control that requires privileges is
// available.
func (k *Kernel) findControls() error {
	named, err := readSysctl("tcp_available_congestion_control")
	if err != nil {
		return err
	}
	allowed, err := readSysctl("tcp_allowed_congestion_control")
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(named) {
		err := trySocket(unix.AF_INET, unix.SOCK_STREAM, 0, func(fd int) error {
			return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
		})
		if err != nil && !errors.Is(err, unix.EPERM) { // EPERM: requires root, which the lab needs anyway
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

// readSysctl returns a sysctl of net.ipv4 in the calling thread's network namespace, with single spaces between its
// words. The error wraps fs.ErrNotExist if the kernel lacks it.
func readSysctl(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(sysctlDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the kernel has no sysctl net.ipv4.%s: %w", name, fs.ErrNotExist)
	}
	return strings.Join(strings.Fields(string(b)), " "), err
}

// Apply configures the calling thread's network namespace and its interface nic, which the default routes use, as h
// demands. It returns the settings that it changed, also with an error, after which the others remain unchanged. New
// connections use them; existing ones may not. It requires CAP_NET_ADMIN.
func (h *Host) Apply(nic string) (changed []string, err error) {
	for _, x := range h.Sysctls {
		was, err := readSysctl(x.Name)
		if err != nil {
			return changed, err
		}
		if was == x.Value {
			continue
		}
		if err := os.WriteFile(filepath.Join(sysctlDir, x.Name), []byte(x.Value), 0); err != nil {
			return changed, fmt.Errorf("net.ipv4.%s = %s: %w", x.Name, x.Value, errors.Unwrap(err))
		}
		// The kernel accepts some values only in part.
		if value, err := readSysctl(x.Name); err != nil || value != x.Value {
			return changed, fmt.Errorf("net.ipv4.%s = %s: the kernel changed the value to %s", x.Name, x.Value, value)
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
	i, err := c.InterfaceByName(nic)
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
	note := "default routes:"
	if h.InitialWindow > 0 {
		note += fmt.Sprintf(" initcwnd %d", h.InitialWindow)
	}
	if h.RTOMin > 0 {
		note += fmt.Sprintf(" rto_min %v", h.RTOMin)
	}
	if h.QuickACK {
		note += " quickack"
	}
	return append(changed, note), nil
}

// Set sets the option of a socket of this process.
func (o Option) Set(fd int) error {
	if err := unix.SetsockoptInt(fd, o.Level, o.Code, o.Value); err != nil {
		return fmt.Errorf("socket option %s = %d: %w", o.Name, o.Value, err)
	}
	return nil
}
