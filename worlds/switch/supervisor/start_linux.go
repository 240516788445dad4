package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/internal/rtnl"
	softswitch "weir/worlds/switch"
	"weir/worlds/switch/control"
	"weir/worlds/switch/preflight"
)

// state is what Start leaves to the supervisor: what it has opened and changed.
type state struct {
	File     string
	Data     []byte
	Sockets  []control.Socket
	Links    []int  // by port, that hold frames back from the bridge; none without a bypass
	Bypass   string // the bridge
	Peers    []preflight.PeerOffloads
	Record   int
	Listener int // −1: none
	Changed  []preflight.Change
}

// Start starts a switch: this process becomes its supervisor, whose command line is self and
// the number of a file descriptor (Supervise). It returns only with an error, and then has
// undone what it has done. With bypass a bridge of the kernel takes over when the switch ends, however it ends. It
// needs root.
func Start(known softswitch.Schemes, file string, bypass bool, self []string, stderr io.Writer) (err error) {
	data, err := softswitch.ReadFile(file)
	if err != nil {
		return err
	}
	c, err := softswitch.Decode(known, file, data)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return softswitch.SetupError("it needs root, to open packet sockets and to switch offloads off")
	}
	p, err := preflight.NewPlan(c, bypass)
	if err != nil {
		return err
	}
	for _, w := range p.Warnings {
		w.Print(stderr)
	}
	s := &start{Plan: p, state: state{File: file, Data: data, Listener: -1}}
	// Before others are looked for: of two that start at once, one at least sees the other.
	if err := s.enter(); err != nil {
		return err
	}
	defer func() { err = s.undo(err) }() // all that follows has failed, or we would not be here
	if err := s.claim(stderr); err != nil {
		return err
	}
	if s.Plan, err = preflight.NewPlan(c, bypass); err != nil { // with what was restored
		return err
	}
	if err := s.take(); err != nil {
		return err
	}
	if c.Metrics.IsValid() {
		if err := s.listen(); err != nil {
			return err
		}
	}
	fd, err := s.leave()
	if err != nil {
		return err
	}
	return become(s.UID, s.GID, append(append([]string{}, self...), strconv.Itoa(fd)), s.keep)
}

// start is a start under way: what it has opened and changed so far.
type start struct {
	*preflight.Plan
	state  state
	record *preflight.Record
	keep   []int       // descriptors that the supervisor has
	opened []io.Closer // closed if the start fails
	// bridged is the bridge of the bypass, if there is one.
	bridged bypass
}

// take takes the ports. The order is that of a bypass, and no frame goes two ways at any time: a bridge that has the
// ports forwards until they are held; only then are there sockets, for which frames wait from here on.
func (s *start) take() error {
	s.state.Peers = s.Peers
	for i := range s.Config.Ports {
		if err := s.bare(i); err != nil {
			return err
		}
	}
	if s.Bypass {
		if err := s.hold(); err != nil {
			return err
		}
	}
	for i := range s.Config.Ports {
		if err := s.open(i); err != nil {
			return err
		}
	}
	if s.Bypass {
		return s.join()
	}
	return nil
}

// enter makes the record of what will be changed.
func (s *start) enter() (err error) {
	var interfaces []string
	for _, port := range s.Config.Ports {
		interfaces = append(interfaces, port.Interface)
	}
	if s.record, err = preflight.NewRecord(interfaces, s.Bypass); err != nil {
		return err
	}
	s.state.Record = s.record.FD()
	s.keep = append(s.keep, s.state.Record)
	return nil
}

// undo restores what was changed, and closes what was opened.
func (s *start) undo(why error) error {
	for _, x := range s.opened {
		x.Close()
	}
	_, err := preflight.RestoreOffloads(s.state.Changed)
	err = errors.Join(err, s.bridged.leave())
	if err == nil {
		s.record.Remove()
	}
	s.record.Close()
	return errors.Join(why, err)
}

// claim restores what switches that died have left, and returns an error if one runs on these interfaces.
func (s *start) claim(stderr io.Writer) error {
	var taken error
	err := preflight.Records(func(r preflight.Recorded) (bool, error) {
		was, err := preflight.RestoreOffloads(r.Changes)
		for _, what := range was {
			fmt.Fprintln(stderr, "restored what a switch has left that died:", what)
		}
		return true, err
	}, func(r preflight.Recorded) {
		if r.Path != s.record.Name() {
			taken = errors.Join(taken, r.Taken(s.Config))
		}
	})
	return errors.Join(err, taken)
}

// bare switches a port's offloads off.
func (s *start) bare(i int) error {
	port := s.Config.Ports[i]
	for _, offload := range s.Offloads[i] {
		x := preflight.Change{Interface: port.Interface, Offload: offload, Index: s.Links[i].Index}
		if err := s.record.Add(x); err != nil {
			return err
		}
		s.state.Changed = append(s.state.Changed, x)
	}
	_, err := rtnl.NoOffloads(port.Interface)
	return err
}

// open opens a port's socket.
func (s *start) open(i int) error {
	port := s.Config.Ports[i]
	maxFrame := s.Links[i].MTU + packet.EthernetHeader
	x, err := softswitch.OpenSocket(port.Interface, maxFrame)
	if err != nil {
		return fmt.Errorf("port %s: %w", port.Name, err)
	}
	s.opened = append(s.opened, x)
	s.keep = append(s.keep, x.FD())
	s.state.Sockets = append(s.state.Sockets, control.Socket{FD: x.FD(), Port: port.Interface, MaxFrame: maxFrame})
	return nil
}

// listen opens the socket of metrics, which may need a right that the supervisor has not.
func (s *start) listen() error {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(s.Config.Metrics))
	if err != nil {
		return softswitch.SetupError("metrics: %v", err)
	}
	s.opened = append(s.opened, l)
	f, err := l.File()
	if err != nil {
		return err
	}
	s.opened = append(s.opened, f)
	s.state.Listener = int(f.Fd())
	s.keep = append(s.keep, s.state.Listener)
	return nil
}

// leave writes the state to a file in memory, which the supervisor inherits.
func (s *start) leave() (fd int, err error) {
	text, err := json.Marshal(s.state)
	if err != nil {
		return 0, err
	}
	if fd, err = unix.MemfdCreate("weir switch", unix.MFD_CLOEXEC); err != nil {
		return 0, os.NewSyscallError("memfd_create", err)
	}
	memory := os.NewFile(uintptr(fd), "state")
	s.opened, s.keep = append(s.opened, memory), append(s.keep, fd)
	_, err = memory.Write(text)
	return fd, err
}

// executable is this program, also where its path cannot be walked by the user that it runs as.
const executable = "/proc/self/exe"

// become makes this process the supervisor: another user that has CAP_NET_ADMIN alone, and
// can get no other capability. It is the thread that changes, and the new program that has
// only this thread. Of what this process has open the new program has its outputs and keep.
func become(uid, gid int, args []string, keep []int) error {
	runtime.LockOSThread() // for ever: after an error the thread is not to be used
	if err := leaveOpen(keep); err != nil {
		return err
	}
	// 20 − Niceness: what the data plane may ask for.
	const limit = 20 - softswitch.Niceness
	if err := unix.Setrlimit(unix.RLIMIT_NICE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil && err != unix.EPERM {
		return os.NewSyscallError("setrlimit", err)
	}
	if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("PR_SET_KEEPCAPS", err)
	}
	// The ambient set, which the new program gets, asks for CAP_NET_ADMIN in the inheritable one, and that
	// for it in the bounding set, when it comes in. After that the bounding set can be empty.
	if err := inheritable(1 << unix.CAP_NET_ADMIN); err != nil {
		return err
	}
	for x := uintptr(0); x < 64; x++ {
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
		return softswitch.SetupError("the user that it is to run as may not execute this program")
	}
	return os.NewSyscallError("execve", err)
}

// leaveOpen leaves of all descriptors, also those that who started this process has left open, only outputs
// and keep to the next program. Its input is empty.
func leaveOpen(keep []int) error {
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Dup3(null, 0, 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", os.DevNull, err)
	}
	if err := keepFrom(3); err != nil {
		return err
	}
	for _, fd := range keep {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
	}
	return nil
}

// keepFrom keeps all descriptors from this one on from programs that this process starts (close_range(2)).
func keepFrom(first uint) error {
	err := unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil || err != unix.ENOSYS && err != unix.EINVAL && err != unix.EPERM {
		return os.NewSyscallError("close_range", err)
	}
	open, err := os.ReadDir("/proc/self/fd") // Linux before 5.11
	if err != nil {
		return err
	}
	for _, x := range open {
		// One that is gone was that of the folder.
		if fd, err := strconv.Atoi(x.Name()); err == nil && uint(fd) >= first {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// inheritable changes the calling thread's inheritable capabilities alone.
func inheritable(set uint32) error {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	if err := unix.Capget(&h, &d[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	d[0].Inheritable, d[1].Inheritable = set, 0
	return os.NewSyscallError("capset", unix.Capset(&h, &d[0]))
}

// capabilities sets the calling thread's: what it has and may have, and what it may leave
// to programs that it executes.
func capabilities(own, inheritable uint32) error {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	d[0] = unix.CapUserData{Effective: own, Permitted: own, Inheritable: inheritable}
	return os.NewSyscallError("capset", unix.Capset(&h, &d[0]))
}
