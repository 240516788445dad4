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

// state is passed from Start to the supervisor: what Start has opened and changed.
type state struct {
	File     string
	Data     []byte
	Sockets  []control.Socket
	Links    []int  // by port: tcx links that hold frames back from the bridge; empty without a bypass
	Bypass   string // name of the bridge; "": no bypass
	Peers    []preflight.PeerOffloads
	Record   int
	Listener int // −1: no metrics
	Changed  []preflight.Change
}

// Start starts a switch. This process becomes its supervisor (Supervise) with the command line self and the number of
// a file descriptor. Start returns only with an error, after undoing all changes. With bypass, a kernel bridge takes
// over when the switch ends in any way. It requires root: missing requirements wrap softswitch.ErrSetup. Warnings go
// to stderr.
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
		return softswitch.SetupError("it requires root, to open packet sockets and to switch offloads off")
	}
	p, err := preflight.NewPlan(c, bypass)
	if err != nil {
		return err
	}
	for _, w := range p.Warnings {
		w.Print(stderr)
	}
	s := &start{Plan: p, state: state{File: file, Data: data, Listener: -1}}
	// The record precedes the search for others: of two simultaneous starts, at least one sees the other.
	if err := s.createRecord(); err != nil {
		return err
	}
	defer func() { err = s.undoStart(err) }() // reached only after a failure
	if err := s.claimInterfaces(stderr); err != nil {
		return err
	}
	if s.Plan, err = preflight.NewPlan(c, bypass); err != nil { // again, with restored interfaces
		return err
	}
	if err := s.takePorts(); err != nil {
		return err
	}
	if c.Metrics.IsValid() {
		if err := s.openListener(); err != nil {
			return err
		}
	}
	fd, err := s.writeState()
	if err != nil {
		return err
	}
	return becomeSupervisor(s.UID, s.GID, append(append([]string{}, self...), strconv.Itoa(fd)), s.keep)
}

// start is a start in progress, with what it has opened and changed so far.
type start struct {
	*preflight.Plan
	state  state
	record *preflight.Record
	keep   []int       // descriptors for the supervisor
	opened []io.Closer // closed if the start fails
	// bridged is the bridge of the bypass, zero without one.
	bridged bypass
}

// takePorts takes over the ports. The order ensures that no frame takes two ways: a bridge with the ports forwards
// until holdFrames, and sockets, where frames wait from then on, are opened only afterwards.
func (s *start) takePorts() error {
	s.state.Peers = s.Peers
	for i := range s.Config.Ports {
		if err := s.disableOffloads(i); err != nil {
			return err
		}
	}
	if s.Bypass {
		if err := s.holdFrames(); err != nil {
			return err
		}
	}
	for i := range s.Config.Ports {
		if err := s.openSocket(i); err != nil {
			return err
		}
	}
	if s.Bypass {
		return s.joinBridge()
	}
	return nil
}

// createRecord creates the record of the following changes, which this switch owns from then on, and keeps its
// descriptor for the supervisor.
func (s *start) createRecord() (err error) {
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

// undoStart restores all changes, closes what was opened, and returns cause joined with its own errors. The record
// remains if a change cannot be restored.
func (s *start) undoStart(cause error) error {
	for _, x := range s.opened {
		x.Close()
	}
	_, err := preflight.RestoreOffloads(s.state.Changed)
	err = errors.Join(err, s.bridged.leaveBridge())
	if err == nil {
		s.record.Remove()
	}
	s.record.Close()
	return errors.Join(cause, err)
}

// claimInterfaces restores the remains of dead switches, which it reports to stderr. It returns an error if a running
// switch has one of the interfaces.
func (s *start) claimInterfaces(stderr io.Writer) error {
	var conflicts error
	err := preflight.ForEachRecord(func(r preflight.RecordContent) (bool, error) {
		was, err := preflight.RestoreOffloads(r.Changes)
		for _, what := range was {
			fmt.Fprintln(stderr, "restored the settings that a dead switch had left:", what)
		}
		return true, err
	}, func(r preflight.RecordContent) {
		if r.Path != s.record.Name() {
			conflicts = errors.Join(conflicts, r.CheckTaken(s.Config))
		}
	})
	return errors.Join(err, conflicts)
}

// disableOffloads records the enabled offloads of port i, in the record and in s.state.Changed, and then disables them.
func (s *start) disableOffloads(i int) error {
	port := s.Config.Ports[i]
	for _, offload := range s.Offloads[i] {
		x := preflight.Change{Interface: port.Interface, Offload: offload, Index: s.Links[i].Index}
		if err := s.record.AddChange(x); err != nil {
			return err
		}
		s.state.Changed = append(s.state.Changed, x)
	}
	_, err := rtnl.DisableOffloads(port.Interface)
	return err
}

// openSocket opens the socket of port i, for frames up to the interface's MTU, and adds it to s.state.Sockets. Frames
// wait there from then on.
func (s *start) openSocket(i int) error {
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

// openListener opens the socket of metrics, which may require a privilege that the supervisor lacks, and stores its
// descriptor in s.state.Listener. Clients wait until the supervisor serves them.
func (s *start) openListener() error {
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

// writeState writes the state to a file in memory that the supervisor inherits, and returns its descriptor.
func (s *start) writeState() (fd int, err error) {
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

// executable is this program, even if its path is not accessible for the user that it runs as.
const executable = "/proc/self/exe"

// becomeSupervisor replaces this process by the supervisor: another user with CAP_NET_ADMIN only, which cannot gain
// another capability. Only this thread changes its credentials, and the new program has only this thread. The new
// program inherits the outputs and the descriptors keep. It returns only with an error, after which the process must
// end.
func becomeSupervisor(uid, gid int, args []string, keep []int) error {
	runtime.LockOSThread() // permanently: after an error the thread must not be used
	if err := keepDescriptors(keep); err != nil {
		return err
	}
	// 20 − Niceness is the limit for the data plane.
	const limit = 20 - softswitch.Niceness
	if err := unix.Setrlimit(unix.RLIMIT_NICE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil && err != unix.EPERM {
		return os.NewSyscallError("setrlimit", err)
	}
	if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("PR_SET_KEEPCAPS", err)
	}
	// Raising CAP_NET_ADMIN in the ambient set, which the new program gets, requires it in the inheritable set.
	// Adding it there requires it in the bounding set, which can be empty afterwards.
	if err := setInheritable(1 << unix.CAP_NET_ADMIN); err != nil {
		return err
	}
	for x := uintptr(0); x < 64; x++ {
		// EINVAL: the kernel has no further capability
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, x, 0, 0, 0); err != nil && err != unix.EINVAL {
			return os.NewSyscallError("PR_CAPBSET_DROP", err)
		}
	}
	// Raw calls change this thread only.
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
	if err := setCapabilities(1<<unix.CAP_NET_ADMIN, 1<<unix.CAP_NET_ADMIN); err != nil {
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
		return softswitch.SetupError("the user as which the switch runs may not execute this program; change the " +
			"program's permissions or the user")
	}
	return os.NewSyscallError("execve", err)
}

// keepDescriptors passes only the outputs and keep to the next program, also of descriptors inherited from this
// process's parent. Its standard input is empty.
func keepDescriptors(keep []int) error {
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Dup3(null, 0, 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", os.DevNull, err)
	}
	if err := closeOnExecFrom(3); err != nil {
		return err
	}
	for _, fd := range keep {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return os.NewSyscallError("fcntl", err)
		}
	}
	return nil
}

// closeOnExecFrom hides all descriptors from first on from programs that this process executes (close_range(2)).
func closeOnExecFrom(first uint) error {
	err := unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil || err != unix.ENOSYS && err != unix.EINVAL && err != unix.EPERM {
		return os.NewSyscallError("close_range", err)
	}
	open, err := os.ReadDir("/proc/self/fd") // Linux before 5.11
	if err != nil {
		return err
	}
	for _, x := range open {
		// A descriptor that is gone was the folder's.
		if fd, err := strconv.Atoi(x.Name()); err == nil && uint(fd) >= first {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// setInheritable sets the calling thread's inheritable capabilities only.
func setInheritable(set uint32) error {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	if err := unix.Capget(&h, &d[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	d[0].Inheritable, d[1].Inheritable = set, 0
	return os.NewSyscallError("capset", unix.Capset(&h, &d[0]))
}

// setCapabilities sets the calling thread's effective and permitted capabilities to set, and those inheritable by
// programs that it executes. Both are bit sets of the first 32 capabilities.
func setCapabilities(set, inheritable uint32) error {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	d[0] = unix.CapUserData{Effective: set, Permitted: set, Inheritable: inheritable}
	return os.NewSyscallError("capset", unix.Capset(&h, &d[0]))
}
