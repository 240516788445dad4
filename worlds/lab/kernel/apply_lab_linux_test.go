//go:build lab

package kernel

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/sockdiag"
	"weir/internal/testkit/labtest"
	"weir/internal/testkit/realtime"
	"weir/worlds/lab"
)

var ne = binary.NativeEndian

func TestMain(m *testing.M) { labtest.RunMain(m) }

// modules returns the modules that the kernel has loaded.
func modules(t testing.TB) (names []string) {
	t.Helper()
	all, err := os.ReadFile("/proc/modules")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(all)) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	return names
}

// TestProbe_LeavesKernelUnchanged checks that a probe reports the kernel's state, with and without root, and leaves no
// change.
func TestProbe_LeavesKernelUnchanged(t *testing.T) {
	before := modules(t)
	k, err := Probe()
	if err != nil {
		t.Fatal(err)
	}
	if after := modules(t); len(after) > len(before) {
		t.Errorf("it has loaded modules: %v, before %v", after, before)
	}
	if _, err := net.InterfaceByName("probe0"); err == nil {
		t.Error("its interface remains")
	}
	t.Logf("Linux %s, %d CPUs, steal %.4f, tick %v, %v (restricted: %v, modules: %v), TCP_DELACK_MAX_US %v",
		k.Release, k.CPUs, k.Steal, k.Tick, k.CongestionControls, k.Restricted, k.Modules, k.DelayedACK)
	for _, f := range k.Features {
		t.Logf("%s: %v", f.Name, f.Missing)
	}
	if k.Release == "" || k.CPUs != runtime.NumCPU() || k.Tick < unit.Millisecond || k.Tick > 10*unit.Millisecond ||
		k.Steal < 0 || k.Steal > 1 {
		t.Errorf("%+v", k)
	}
	if !slices.Contains(k.CongestionControls, "reno") || k.CheckCongestionControl("reno") != nil ||
		k.CheckCongestionControl("nosuch") == nil {
		t.Errorf("%v", k.CongestionControls)
	}
	if !slices.IsSortedFunc(k.Sysctls, func(a, b Sysctl) int { return strings.Compare(a.Name, b.Name) }) ||
		!k.hasSysctl("tcp_wmem") || k.hasSysctl("tcp_nosuch") {
		t.Errorf("%v", k.Sysctls)
	}
	if os.Geteuid() == 0 {
		labtest.RequireRoot(t)
		if err := k.Err(); err != nil {
			t.Error(err)
		}
	} else if err := k.Err(); err == nil || !errors.Is(err, unix.EPERM) ||
		!strings.Contains(err.Error(), "CAP_SYS_ADMIN") {
		t.Errorf("without root: %v", err)
	}
	if _, err := k.TCPSettings(config(t)); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}

// dial makes a connection between the dumbbell's hosts and sends size bytes over it.
func dial(t testing.TB, l *lab.Network, to netip.AddrPort, size int, sender, receiver []Option) (here,
	there *net.TCPConn) {
	t.Helper()
	with := func(options []Option) func(string, string, syscall.RawConn) error {
		return func(_, _ string, c syscall.RawConn) error {
			var err error
			c.Control(func(fd uintptr) {
				for _, o := range options {
					err = errors.Join(err, o.Set(int(fd)))
				}
			})
			return err
		}
	}
	var listener net.Listener
	var c net.Conn
	err := errors.Join(
		l.Do(labtest.Server, func() (err error) {
			listener, err = (&net.ListenConfig{Control: with(receiver)}).Listen(t.Context(), "tcp", to.String())
			return err
		}),
		l.Do(labtest.Client, func() (err error) {
			c, err = (&net.Dialer{Control: with(sender)}).DialContext(t.Context(), "tcp4", to.String())
			return err
		}))
	if err != nil {
		t.Fatal(err)
	}
	a, err := listener.Accept()
	listener.Close()
	if err != nil {
		t.Fatal(err)
	}
	here, there = c.(*net.TCPConn), a.(*net.TCPConn)
	t.Cleanup(func() { here.Close(); there.Close() })
	go here.Write(make([]byte, size))
	if _, err := io.ReadFull(there, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	return here, there
}

func info(t testing.TB, c *net.TCPConn) (i sockdiag.Info) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err == nil {
		var refused error
		err = raw.Control(func(fd uintptr) { refused = i.ReadSocket(int(fd)) })
		err = errors.Join(err, refused)
	}
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// waits reports whether a connection's RTO is the smoothed RTT and the larger of least and four deviations (RFC
// 6298 §2.3), within the kernel's ticks.
func waits(k *Kernel, i sockdiag.Info, least unit.Time) bool {
	over := i.RTO - i.RTT - max(least, 4*i.RTTVar)
	return over > -2*k.Tick && over < 2*k.Tick
}

// apply configures the dumbbell's hosts for a flow from the client to the server.
func apply(t testing.TB, l *lab.Network, s Settings) (changed [2][]string) {
	t.Helper()
	err := errors.Join(
		l.Do(labtest.Client, func() (err error) { changed[0], err = s.Sender.Apply(lab.NIC); return err }),
		l.Do(labtest.Server, func() (err error) { changed[1], err = s.Receiver.Apply(lab.NIC); return err }))
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// TestApply_ChangesOnlyDifferences checks that the spec's defaults are Linux 6.18's and change no setting. Settings
// that differ from them are applied, and connections have them.
func TestApply_ChangesOnlyDifferences(t *testing.T) {
	d := labtest.Dumbbell{Rate: 100 * unit.Mbps, Delay: 5 * unit.Millisecond, Packets: 200}
	l, _ := labtest.OpenDumbbell(t, d)
	k, err := Probe()
	if err != nil {
		t.Fatal(err)
	}
	settings := func(given ...string) Settings {
		s, err := k.TCPSettings(config(t, given...))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	to := netip.AddrPortFrom(d.Config().Wiring.Hosts.V4(packet.Addr(labtest.Server+1)), 5001)

	plain := settings()
	if changed := apply(t, l, plain); len(changed[0])+len(changed[1]) > 0 {
		if strings.HasPrefix(k.Release, "6.18.") {
			t.Errorf("the defaults are not the kernel's: %q", changed)
		} else {
			t.Logf("Linux %s has other defaults: %q", k.Release, changed)
		}
	}
	here, _ := dial(t, l, to, 1, plain.SenderOptions, plain.ReceiverOptions)
	if i := info(t, here); i.Window != 10 || !waits(k, i, 200*unit.Millisecond) || i.Options&sockdiag.ECN != 0 {
		t.Errorf("by default: %+v", i)
	}

	other := settings("initial_window", "32 packets", "rto_min", "12ms", "ecn", "true", "pacing", "true", "bursts",
		"false", "send_buffer", "128KiB",
		"receive_buffer", "1MiB", "autotuning", "false", "delayed_ack", "12ms", "compressed_ack", "0s")
	changed := apply(t, l, other)
	t.Logf("%q", changed)
	if len(changed[0]) != 6 || len(changed[1]) != 3 {
		t.Errorf("changed %q", changed)
	}
	if again := apply(t, l, other); len(again[0]) > 1 || len(again[1]) > 0 { // routes are always replaced
		t.Errorf("again: %q", again)
	}
	here, there := dial(t, l, netip.AddrPortFrom(to.Addr(), 5002), 1, other.SenderOptions, other.ReceiverOptions)
	if i := info(t, here); i.Window != 32 || !waits(k, i, 12*unit.Millisecond) || i.Options&sockdiag.ECN == 0 {
		t.Errorf("%+v", i)
	}
	if i := info(t, here); i.MaxPacingRate != 8*unlimitedPacing {
		t.Errorf("pacing: %+v", i)
	}
	raw, err := there.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		wait, err := unix.GetsockoptInt(int(fd), protocolTCP, delackMaxUS)
		room, err2 := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF)
		if err != nil || err2 != nil || wait != 12000 || room < 1<<20 {
			t.Errorf("an ACK waits %d us, %v; a receive buffer of %d bytes, %v", wait, err, room, err2)
		}
	})

	// The route is the setting of Linux before 6.11, and has precedence over the sysctl.
	route := Settings{Sender: Host{RTOMin: 40 * unit.Millisecond}, Receiver: Host{QuickACK: true}}
	if changed := apply(t, l, route); len(changed[0]) != 1 || len(changed[1]) != 1 {
		t.Errorf("%q", changed)
	}
	here, _ = dial(t, l, netip.AddrPortFrom(to.Addr(), 5003), 1, nil, nil)
	if i := info(t, here); i.Window != 10 || !waits(k, i, 40*unit.Millisecond) {
		t.Errorf("%+v", i)
	}

	refuses(t, l)
}

// refuses checks that a sysctl that no kernel has, and a value that none accepts, are refused.
func refuses(t testing.TB, l *lab.Network) {
	none := Host{Sysctls: []Sysctl{{"tcp_nosuch", "1"}}}
	wrong := Host{Sysctls: []Sysctl{{"tcp_ecn", "99"}}}
	l.Do(labtest.Client, func() error {
		if _, err := none.Apply(lab.NIC); !errors.Is(err, os.ErrNotExist) ||
			!strings.Contains(err.Error(), "net.ipv4.tcp_nosuch") {
			t.Error(err)
		}
		if _, err := wrong.Apply(lab.NIC); !errors.Is(err, unix.EINVAL) ||
			!strings.Contains(err.Error(), "net.ipv4.tcp_ecn = 99") {
			t.Error(err)
		}
		return nil
	})
}

// gaps returns the times between data packets that arrive at a port.
func gaps(t testing.TB, l *lab.Network, port uint16, while func()) (all []time.Duration) {
	t.Helper()
	fd := -1
	err := l.Do(labtest.Server, func() (err error) {
		network := ne.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_IP))
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(network)); err == nil {
			err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 200_000})
	while()
	last := time.Duration(0)
	for b, oob := make([]byte, 2000), make([]byte, 128); ; {
		n, m, _, from, err := unix.Recvmsg(fd, b, oob, 0)
		if err != nil {
			return all
		}
		if f, ok := from.(*unix.SockaddrLinklayer); !ok || f.Pkttype != unix.PACKET_HOST || n < 1000 || b[9] != protocolTCP ||
			uint16(b[22])<<8|uint16(b[23]) != port {
			continue
		}
		control, err := unix.ParseSocketControlMessage(oob[:m])
		if err != nil || len(control) != 1 || len(control[0].Data) < 16 {
			t.Fatalf("%v, %v", control, err)
		}
		at := time.Duration(ne.Uint64(control[0].Data))*time.Second + time.Duration(ne.Uint64(control[0].Data[8:]))
		if last > 0 {
			all = append(all, at-last)
		}
		last = at
	}
}

// TestApply_SegmentsLimitBursts checks that without bursts, packets of a paced flow arrive one by one. With them, at
// least every second one (tcp_min_tso_segs) arrives right after the previous one.
func TestApply_SegmentsLimitBursts(t *testing.T) {
	realtime.Test(t, func(t *realtime.Try) {
		d := labtest.Dumbbell{Rate: 200 * unit.Mbps, Delay: 5 * unit.Millisecond, Packets: 500}
		l, p := labtest.OpenDumbbell(t, d)
		defer func() {
			if r, err := p.Stop(); err == nil { // a machine that stands still makes bursts of its own
				t.NoteDisturbed(r.DisturbedStrictly(nil, 10*unit.Millisecond)...)
			}
		}()
		port := uint16(5000)
		measure := func(segments int) float64 {
			apply(t, l, Settings{Sender: Host{Segments: segments}})
			port++
			to := netip.AddrPortFrom(d.Config().Wiring.Hosts.V4(packet.Addr(labtest.Server+1)), port)
			// 10 Mb/s: a packet every 1.2 ms, which takes 61 us on the link.
			paced := []Option{{"SO_MAX_PACING_RATE", unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, 1_250_000}}
			near, n := 0.0, 0.0
			for _, gap := range gaps(t, l, port, func() { dial(t, l, to, 500_000, paced, nil) }) {
				if n++; gap < 300*time.Microsecond {
					near++
				}
			}
			if n < 250 {
				t.Fatalf("%v packets came", n)
			}
			return near / n
		}
		with, without := measure(0), measure(1)
		t.Logf("right after the one before: %.2f with bursts, %.2f without", with, without)
		if with < 0.35 || without > 0.5*with {
			t.Errorf("with bursts %.2f, without %.2f of the packets come right after the one before", with, without)
		}
	})
}
