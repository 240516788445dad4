package agent

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/sockdiag"
)

//go:generate bpf/build.sh

// object are the programs, built from bpf/agent.c (TestObject).
//
//go:embed bpf/agent.o
var object []byte

// Controller is the name of the congestion control; further agents of a machine, of other network namespaces, have
// a number behind it.
const Controller = "weir_hpcc"

// mostAgents is how many agents a machine can have at a time.
const mostAgents = 64

// Agent is a running one. It is not safe for concurrent use.
type Agent struct {
	Interfaces []string // through which connections go
	Controller string   // its congestion control's name

	collection *ebpf.Collection
	links      []link.Link
	diag       *sockdiag.Conn
}

// Start loads programs and attaches them in the calling thread's network namespace: to interfaces there, and to a
// cgroup. They hold for connections that are opened from then on, until Close, or the end of the process.
func Start(c Config) (a *Agent, err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	m := Probe()
	if err := m.Check(); err != nil {
		return nil, err
	}
	names, err := interfaces(c.Interface)
	if err != nil {
		return nil, err
	}
	at := c.Cgroup
	if at == "" {
		at = m.Cgroup
	} else if err := inCgroup(at, m.Cgroup); err != nil {
		return nil, err
	}
	a = &Agent{Interfaces: names}
	defer func() {
		if err != nil {
			a.Close()
			a = nil
		}
	}()
	if err := a.load(c); err != nil {
		return a, err
	}
	if a.diag, err = sockdiag.Open(); err != nil {
		return a, err
	}
	return a, a.attach(at)
}

// load loads the programs, under the first name of a congestion control that is free.
func (a *Agent) load(c Config) error {
	cookie, err := cookieOfNamespace()
	if err != nil {
		return err
	}
	for i := range mostAgents {
		if a.Controller = Controller; i > 0 {
			a.Controller += fmt.Sprint(i + 1)
		}
		err := a.loadAs(c, cookie)
		if err == nil {
			return nil
		}
		a.Close()
		if !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("agent: %w", err)
		}
	}
	return fmt.Errorf("agent: %d agents run on this machine already", mostAgents)
}

func (a *Agent) loadAs(c Config, cookie uint64) error {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return err
	}
	var name [16]byte
	copy(name[:], a.Controller)
	for of, value := range map[string]any{"parameters": c.parameters(), "namespace_cookie": cookie,
		"base_rtt": uint64(c.RTT / unit.Nanosecond), "line_rate": uint64(c.Rate / 8), "controller": name} {
		if err := spec.Variables[of].Set(value); err != nil {
			return fmt.Errorf("%s: %w", of, err)
		}
	}
	control := spec.Maps[Controller]
	data := slices.Clone(control.Contents[0].Value.([]byte))
	place := bytes.Index(data, []byte(Controller+"\x00"))
	if place < 0 {
		return fmt.Errorf("the programs have no name %s", Controller)
	}
	copy(data[place:], name[:])
	control.Contents[0].Value = data
	if a.collection, err = ebpf.NewCollection(spec); err != nil {
		return err
	}
	l, err := link.AttachStructOps(link.StructOpsOptions{Map: a.collection.Maps[Controller]})
	if err != nil {
		return fmt.Errorf("congestion control %s: %w", a.Controller, err)
	}
	a.links = append(a.links, l)
	return nil
}

// attach attaches programs to the interfaces and a cgroup.
func (a *Agent) attach(cgroup string) error {
	for _, name := range a.Interfaces {
		i, err := net.InterfaceByName(name)
		if err != nil {
			return fmt.Errorf("agent: interface %s: %w", name, err)
		}
		for program, where := range map[string]ebpf.AttachType{"comes": ebpf.AttachTCXIngress,
			"leaves": ebpf.AttachTCXEgress} {
			l, err := link.AttachTCX(link.TCXOptions{Interface: i.Index, Program: a.collection.Programs[program], Attach: where})
			if err != nil {
				return fmt.Errorf("agent: interface %s: %v: %w", name, where, err)
			}
			a.links = append(a.links, l)
		}
	}
	l, err := link.AttachCgroup(link.CgroupOptions{Path: cgroup, Attach: ebpf.AttachCGroupSockOps,
		Program: a.collection.Programs["talks"]})
	if err != nil {
		return fmt.Errorf("agent: cgroup %s: %w", cgroup, err)
	}
	a.links = append(a.links, l)
	return nil
}

// Close detaches and gives back all. Connections that are open go on as CUBIC.
func (a *Agent) Close() error {
	var errs []error
	for _, l := range slices.Backward(a.links) {
		errs = append(errs, l.Close())
	}
	a.links = nil
	if a.collection != nil {
		a.collection.Close()
		a.collection = nil
	}
	if a.diag != nil {
		errs = append(errs, a.diag.Close())
		a.diag = nil
	}
	return errors.Join(errs...)
}

// Connections appends those that are open and known to the agent.
func (a *Agent) Connections(to []Connection) ([]Connection, error) {
	if a.collection == nil {
		return to, errors.New("agent: it has ended")
	}
	open := []sockdiag.State{sockdiag.Established, sockdiag.FinWait1, sockdiag.FinWait2, sockdiag.CloseWait,
		sockdiag.LastAck, sockdiag.Closing}
	sockets, err := a.diag.Dump(unix.AF_INET6, sockdiag.Filter{States: open,
		Storage: a.collection.Maps["connections"].FD()})
	if err != nil {
		return to, err
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return to, os.NewSyscallError("clock_gettime", err)
	}
	for i := range sockets {
		s := &sockets[i]
		if s.Storage == nil {
			continue
		}
		c := Connection{Local: s.Local, Remote: s.Remote, Controller: s.CongestionControl.String(), RTT: s.Info.RTT,
			Window: uint32(s.Info.Window), Pacing: s.Info.PacingRate}
		if err := c.decode(s.Storage, now.Nano()); err != nil {
			return to, err
		}
		to = append(to, c)
	}
	return to, nil
}

// cookieOfNamespace tells the network namespace.
func cookieOfNamespace() (uint64, error) {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("agent: socket of IPv6: %w", err)
	}
	defer unix.Close(fd)
	v, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if err != nil {
		return 0, os.NewSyscallError("SO_NETNS_COOKIE", err)
	}
	return v, nil
}

// interfaces are those that are meant: one, or all that are up and have Ethernet's frames.
func interfaces(name string) (names []string, err error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("agent: interfaces: %w", err)
	}
	for _, i := range all {
		ethernet := len(i.HardwareAddr) == 6 && i.Flags&net.FlagLoopback == 0
		switch {
		case i.Name == name && !ethernet:
			return nil, fmt.Errorf("%w: interface %s has no Ethernet frames", ErrConfig, name)
		case i.Name == name, name == "" && ethernet && i.Flags&net.FlagUp != 0:
			names = append(names, i.Name)
		}
	}
	switch {
	case len(names) > 0:
		return names, nil
	case name == "":
		return nil, fmt.Errorf("%w: no Ethernet interface is up here", ErrConfig)
	}
	var known []string
	for _, i := range all {
		known = append(known, i.Name)
	}
	return nil, fmt.Errorf("%w: there is no interface %s here; there are %s", ErrConfig, name, strings.Join(known, ", "))
}

// inCgroup says why a folder is no cgroup of the unified hierarchy.
func inCgroup(path, root string) error {
	if i, err := os.Stat(path); err != nil || !i.IsDir() {
		return fmt.Errorf("%w: %s is no folder of a cgroup; they are below %s", ErrConfig, path, root)
	}
	if _, err := os.Stat(filepath.Join(path, "cgroup.procs")); err != nil {
		return fmt.Errorf("%w: %s is no cgroup; they are below %s", ErrConfig, path, root)
	}
	return nil
}
