package softswitch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/internal/document"
	"weir/internal/ring"
	"weir/internal/rtnl"
)

// plan is what a start would do.
type plan struct {
	config   *Config
	links    []rtnl.Interface
	on       [][]string // offloads that are on, by port
	uid, gid int
	warnings []string
}

func setup(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSetup, fmt.Sprintf(format, args...))
}

// look finds what a configuration runs on. It changes nothing, and needs no right.
func look(c *Config) (*plan, error) {
	p := &plan{config: c}
	warn := func(format string, args ...any) { p.warnings = append(p.warnings, fmt.Sprintf(format, args...)) }
	var wrong []error
	u, err := user.Lookup(c.User)
	if err == nil {
		p.uid, err = strconv.Atoi(u.Uid)
	}
	if err == nil {
		p.gid, err = strconv.Atoi(u.Gid)
	}
	switch {
	case err != nil:
		wrong = append(wrong, setup("there is no user %s to run as: %v", c.User, err))
	case p.uid == 0:
		wrong = append(wrong, setup("user %s is root, whose rights the switch gives up", c.User))
	}
	conn, err := rtnl.Open()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defaults := defaultRoutes()
	for _, port := range c.Ports {
		name := port.Interface
		i, err := conn.Interface(name)
		if errors.Is(err, unix.ENODEV) {
			wrong = append(wrong, setup("port %s: there is no interface %s%s", port.Name, name, meant(name)))
			continue
		}
		if err != nil {
			return nil, err
		}
		on, err := rtnl.Offloads(name)
		if err != nil {
			return nil, err
		}
		p.links, p.on = append(p.links, i), append(p.on, on)
		known, err := net.InterfaceByName(name)
		if err != nil {
			return nil, err
		}
		switch {
		case len(known.HardwareAddr) != 6 || known.Flags&net.FlagLoopback != 0:
			wrong = append(wrong, setup("port %s: %s is no Ethernet interface", port.Name, name))
		case !i.Up:
			wrong = append(wrong, setup("port %s: interface %s is down; set it up first (ip link set %s up)", port.Name,
				name, name))
		case i.Master != 0:
			wrong = append(wrong, setup("port %s: interface %s belongs to a bridge or a bond, which would forward "+
				"its frames too", port.Name, name))
		case i.MTU < 1280 || i.MTU > 9216:
			wrong = append(wrong, setup("port %s: interface %s has an MTU of %d bytes; 1280 to 9216 are possible", port.Name,
				name, i.MTU))
		}
		if i.MTU != p.links[0].MTU {
			warn("interface %s has an MTU of %d bytes, %s one of %d: frames that are too long for one of them are dropped there",
				name, i.MTU, c.Ports[0].Interface, p.links[0].MTU)
		}
		addresses, err := known.Addrs()
		if err != nil {
			return nil, err
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
				warn("interface %s has the address %v: this machine's own traffic there does not go through the switch, and it "+
					"answers beside it", name, n)
			}
		}
		if defaults[name] {
			warn("interface %s has a default route: is it this machine's own way out?", name)
		}
	}
	if c.Metrics.IsValid() && !c.Metrics.Addr().IsLoopback() {
		warn("metrics are at %v, for whoever can reach it", c.Metrics)
	}
	for i, port := range c.Ports {
		if port.Rate.Bits == 0 && port.Rate.Packets == 0 {
			warn("port %s has no rate: its queue, on which programs work, hardly fills", c.Ports[i].Name)
		}
	}
	return p, errors.Join(wrong...)
}

// meant suggests another interface.
func meant(name string) string {
	all, _ := net.Interfaces()
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	if n := document.Nearest(name, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// defaultRoutes are the interfaces that have one (proc(5), route files).
func defaultRoutes() map[string]bool {
	found := map[string]bool{}
	four, _ := os.ReadFile("/proc/thread-self/net/route")
	for _, line := range strings.Split(string(four), "\n") {
		if f := strings.Fields(line); len(f) > 7 && f[1] == "00000000" && f[7] == "00000000" {
			found[f[0]] = true
		}
	}
	six, _ := os.ReadFile("/proc/thread-self/net/ipv6_route")
	for _, line := range strings.Split(string(six), "\n") {
		if f := strings.Fields(line); len(f) > 9 && f[1] == "00" && strings.Trim(f[0], "0") == "" {
			found[f[9]] = true
		}
	}
	delete(found, "lo")
	return found
}

// Check reads a switch's file, looks at what it is to run on and writes what a start would
// do, or that the switch of these interfaces runs, which can read the file anew. It changes
// nothing, and needs no right.
func Check(known Schemes, file string, out io.Writer) error {
	data, err := readFile(file)
	if err != nil {
		return err
	}
	c, err := Decode(known, file, data)
	if err != nil {
		return err
	}
	p, err := look(c)
	if err != nil {
		return err
	}
	var taken error
	runs := 0
	err = records(func(recorded) (bool, error) { return false, nil }, func(r recorded) {
		if p.of(r) {
			runs = r.owner
			return
		}
		taken = errors.Join(taken, p.taken(r))
	})
	if err = errors.Join(err, taken); err != nil {
		return err
	}
	if c.Metrics.IsValid() && runs == 0 {
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(c.Metrics))
		if err == nil {
			l.Close()
		} else if !errors.Is(err, unix.EACCES) { // of a low port, which root may have
			return setup("metrics: %v", err)
		}
	}
	p.print(out)
	if runs != 0 {
		fmt.Fprintf(out, "the switch of these interfaces runs: kill -HUP %d has it read its file anew; offloads are "+
			"off already\n", runs)
	} else if os.Geteuid() != 0 {
		fmt.Fprintln(out, "warning: starting needs root")
	}
	return nil
}

// of tells whether the plan is for the interfaces of a switch, in its order.
func (p *plan) of(r recorded) bool {
	return slices.EqualFunc(p.config.Ports, r.ports, func(own Port, name string) bool { return own.Interface == name })
}

// taken tells whether a living switch has one of the plan's interfaces.
func (p *plan) taken(r recorded) error {
	for _, port := range p.config.Ports {
		for _, name := range r.ports {
			if name == port.Interface {
				return setup("port %s: interface %s is that of a switch that runs (process %d)", port.Name, name, r.owner)
			}
		}
	}
	return nil
}

func (p *plan) print(out io.Writer) {
	c := p.config
	for i, port := range c.Ports {
		l := p.links[i]
		rate := "as fast as it takes"
		if port.Rate.Bits > 0 || port.Rate.Packets > 0 {
			rate = port.Rate.String()
		}
		off := "no offloads are on"
		if len(p.on[i]) > 0 {
			off = "switched off, and on again at the end: " + strings.Join(p.on[i], ", ")
		}
		fmt.Fprintf(out, "port %s: interface %s, MTU %d, %s, buffer %v; promiscuous; %s\n", port.Name, port.Interface, l.MTU,
			rate, port.Buffer, off)
	}
	var names []string
	for _, x := range c.Programs {
		names = append(names, x.Scheme.Name)
	}
	fmt.Fprintf(out, "programs: %s\n", strings.Join(names, ", "))
	switch {
	case c.Behind >= 0:
		fmt.Fprintf(out, "users: addresses behind port %s, up to %d\n", c.Ports[c.Behind].Name, c.Users)
	default:
		fmt.Fprintf(out, "users: source addresses, up to %d\n", c.Users)
	}
	if c.Metrics.IsValid() {
		fmt.Fprintf(out, "metrics: http://%v/metrics\n", c.Metrics)
	} else {
		fmt.Fprintln(out, "metrics: none")
	}
	fmt.Fprintf(out, "runs as %s (%d:%d): the data plane without capabilities, its supervisor with CAP_NET_ADMIN\n",
		c.User, p.uid, p.gid)
	for _, w := range p.warnings {
		fmt.Fprintln(out, "warning:", w)
	}
}

// largestFile is the most that is read of a file: the decoder says what is wrong with it.
const largestFile = 1<<20 + 1

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSetup, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, largestFile))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSetup, err)
	}
	return data, nil
}

// state is what Start leaves to the supervisor: what it has opened and changed.
type state struct {
	File     string
	Data     []byte
	Sockets  []socket
	Record   int
	Listener int // −1: none
	Changed  []change
}

// Start starts a switch: this process becomes its supervisor, whose command line is self and
// the number of a file descriptor (Supervise). It returns only with an error, and then has
// undone what it has done. It needs root.
func Start(known Schemes, file string, self []string, stderr io.Writer) (err error) {
	data, err := readFile(file)
	if err != nil {
		return err
	}
	c, err := Decode(known, file, data)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return setup("it needs root, to open packet sockets and to switch offloads off")
	}
	p, err := look(c)
	if err != nil {
		return err
	}
	for _, w := range p.warnings {
		fmt.Fprintln(stderr, "warning:", w)
	}
	s := state{File: file, Data: data, Listener: -1}
	var interfaces []string
	for _, port := range c.Ports {
		interfaces = append(interfaces, port.Interface)
	}
	// Before others are looked for: of two that start at once, one at least sees the other.
	rec, err := newRecord(interfaces)
	if err != nil {
		return err
	}
	s.Record = int(rec.file.Fd())
	defer func() { // all that follows has failed, or we would not be here
		_, undone := restore(s.Changed)
		if err = errors.Join(err, undone); undone == nil {
			rec.file.Truncate(0) // who is not root any more may not remove it
			os.Remove(rec.file.Name())
		}
		rec.file.Close()
	}()
	var taken error
	err = records(func(r recorded) (bool, error) {
		was, err := restore(r.changes)
		for _, what := range was {
			fmt.Fprintln(stderr, "restored what a switch has left that died:", what)
		}
		return true, err
	}, func(r recorded) {
		if r.path != rec.file.Name() {
			taken = errors.Join(taken, p.taken(r))
		}
	})
	if err = errors.Join(err, taken); err != nil {
		return err
	}
	if p, err = look(c); err != nil { // with what was restored
		return err
	}
	var sockets []*ring.Socket
	for i, port := range c.Ports {
		for _, offload := range p.on[i] {
			x := change{port.Interface, offload, p.links[i].Index}
			if err := rec.add(x); err != nil {
				return err
			}
			s.Changed = append(s.Changed, x)
		}
		if _, err := rtnl.NoOffloads(port.Interface); err != nil {
			return err
		}
		maxFrame := p.links[i].MTU + packet.EthernetHeader
		x, err := openSocket(port.Interface, maxFrame)
		if err != nil {
			return fmt.Errorf("port %s: %w", port.Name, err)
		}
		defer x.Close()
		sockets = append(sockets, x)
		s.Sockets = append(s.Sockets, socket{FD: x.FD(), Port: port.Interface, MaxFrame: maxFrame})
	}
	keep := []int{s.Record}
	for _, x := range sockets {
		keep = append(keep, x.FD())
	}
	if c.Metrics.IsValid() {
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(c.Metrics))
		if err != nil {
			return setup("metrics: %v", err)
		}
		defer l.Close()
		f, err := l.File()
		if err != nil {
			return err
		}
		defer f.Close()
		s.Listener = int(f.Fd())
		keep = append(keep, s.Listener)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("weir switch", 0)
	if err != nil {
		return os.NewSyscallError("memfd_create", err)
	}
	memory := os.NewFile(uintptr(fd), "state")
	defer memory.Close()
	if _, err := memory.Write(text); err != nil {
		return err
	}
	return become(p.uid, p.gid, append(append([]string{}, self...), strconv.Itoa(fd)), keep)
}

// executable is this program, also where its path cannot be walked by the user that it runs as.
const executable = "/proc/self/exe"

// become makes this process the supervisor: another user that has CAP_NET_ADMIN alone, and
// can get no other capability. It is the thread that changes, and the new program that has
// only this thread.
func become(uid, gid int, args []string, keep []int) error {
	runtime.LockOSThread() // for ever: after an error the thread is not to be used
	for _, fd := range keep {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
	}
	// 20 − niceness: what the data plane may ask for.
	if err := unix.Setrlimit(unix.RLIMIT_NICE, &unix.Rlimit{Cur: 20 - niceness, Max: 20 - niceness}); err != nil &&
		err != unix.EPERM {
		return os.NewSyscallError("setrlimit", err)
	}
	if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("PR_SET_KEEPCAPS", err)
	}
	for x := uintptr(0); x < 64; x++ {
		if x == unix.CAP_NET_ADMIN {
			continue
		}
		// EINVAL: this kernel has no more
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, x, 0, 0, 0); err != nil && err != unix.EINVAL {
			return os.NewSyscallError("PR_CAPBSET_DROP", err)
		}
	}
	// Raw calls, of this thread alone.
	for _, x := range []struct {
		name       string
		trap, a, b uintptr
	}{
		{"setgroups", unix.SYS_SETGROUPS, 0, 0},
		{"setresgid", unix.SYS_SETRESGID, uintptr(gid), uintptr(gid)},
		{"setresuid", unix.SYS_SETRESUID, uintptr(uid), uintptr(uid)},
	} {
		if _, _, errno := unix.RawSyscall(x.trap, x.a, x.b, x.b); errno != 0 {
			return os.NewSyscallError(x.name, errno)
		}
	}
	if err := capabilities(1<<unix.CAP_NET_ADMIN, 1<<unix.CAP_NET_ADMIN); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_NET_ADMIN, 0, 0); err != nil {
		return os.NewSyscallError("PR_CAP_AMBIENT_RAISE", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("PR_SET_NO_NEW_PRIVS", err)
	}
	err := unix.Exec(executable, args, os.Environ())
	if err == unix.EACCES {
		return setup("the user that it is to run as may not execute this program")
	}
	return os.NewSyscallError("execve", err)
}

// capabilities sets the calling thread's: what it has and may have, and what it may leave
// to programs that it executes.
func capabilities(own, inheritable uint32) error {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	d[0] = unix.CapUserData{Effective: own, Permitted: own, Inheritable: inheritable}
	return os.NewSyscallError("capset", unix.Capset(&h, &d[0]))
}
