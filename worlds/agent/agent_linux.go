package agent

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"weir/core/unit"
	"weir/internal/rtnl"
	"weir/internal/sockdiag"
)

//go:generate bpf/build.sh

// object holds the programs for HPCC++, built from bpf/agent.c (TestObjects_MatchSources).
//
//go:embed bpf/agent.o
var object []byte

// Controller is the name of the congestion control. Further agents of a machine, in other network namespaces,
// append a number to it.
const Controller = "weir_hpcc"

// maxAgents limits the number of agents on a machine.
const maxAgents = 64

// Agent is a running agent. It is not safe for concurrent use.
type Agent struct {
	Interfaces []string // through which connections go; RemoveGone removes those that no longer exist
	Controller string   // name of its congestion control

	collection *ebpf.Collection // programs for HPCC++; nil without HPCC++
	ncf        *ebpf.Collection // programs for NCF; nil without NCF
	links      []link.Link
	diag       *sockdiag.Conn
	routes     *rtnl.Conn
	indices    []int        // of Interfaces
	claim      net.Listener // holds the network namespace
}

// errClosed is the error of calls to a closed agent.
var errClosed = errors.New("agent: the agent has been closed")

// Start loads programs and attaches them in the calling thread's network namespace, to interfaces and to a cgroup. They
// act on connections opened afterwards, until Close or the end of the process. It may make the kernel load CUBIC. A
// network namespace has at most one agent: the error is ErrRunning if it has one, ErrConfig for a wrong configuration,
// errUnsupported if the machine lacks a feature, and errGone without an interface.
func Start(c Config) (a *Agent, err error) {
	if err := c.checkFields(); err != nil {
		return nil, err
	}
	m := ProbeMachine()
	if err := m.checkFor(c.followsHPCC(), c.followsHPCC() || c.Cgroup != ""); err != nil {
		return nil, err
	}
	names, err := findInterfaces(c.Interface)
	cgroup := c.Cgroup
	if cgroup == "" {
		cgroup = m.Cgroup
	} else {
		err = errors.Join(err, checkCgroup(cgroup, m.Cgroup))
	}
	if err != nil {
		return nil, err
	}
	a = &Agent{}
	defer func() {
		if err != nil {
			a.Close()
			a = nil
		}
	}()
	if a.claim, err = claimNamespace(); err != nil {
		return a, err
	}
	if c.followsHPCC() {
		if err := a.loadHPCC(c); err != nil {
			return a, err
		}
	}
	if c.followsNCF() {
		if err := a.loadNCF(c); err != nil {
			return a, fmt.Errorf("agent: %w", err)
		}
	}
	if a.diag, err = sockdiag.Open(); err != nil {
		return a, err
	}
	if a.routes, err = rtnl.Open(); err != nil {
		return a, err
	}
	return a, a.attach(names, &c, cgroup)
}

// loadHPCC loads the programs for HPCC++ under the first free name of a congestion control, and sets a.Controller to
// it.
func (a *Agent) loadHPCC(c Config) error {
	cookie, err := namespaceCookie()
	if err != nil {
		return err
	}
	for i := range maxAgents {
		if a.Controller = Controller; i > 0 {
			a.Controller += fmt.Sprint(i + 1)
		}
		err := a.loadAs(c, cookie)
		if err == nil {
			return nil
		}
		a.unload()
		if !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("agent: %w", err)
		}
	}
	return fmt.Errorf("agent: this machine already runs %d agents; stop one of them", maxAgents)
}

// loadAs loads the programs under the name a.Controller into a.collection and registers the congestion control. It
// fails with EEXIST if the name is taken. After an error the caller unloads. cookie is the network namespace's.
func (a *Agent) loadAs(c Config, cookie uint64) error {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return err
	}
	var controller [16]byte
	copy(controller[:], a.Controller)
	for name, value := range map[string]any{"parameters": c.buildParameters(), "namespace_cookie": cookie,
		"base_rtt": uint64(c.RTT / unit.Nanosecond), "line_rate": uint64(c.Rate / 8), "controller": controller} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	control := spec.Maps[Controller]
	data := slices.Clone(control.Contents[0].Value.([]byte))
	place := bytes.Index(data, []byte(Controller+"\x00"))
	if place < 0 {
		return fmt.Errorf("the BPF object has no program %s", Controller)
	}
	copy(data[place:], controller[:])
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

// attach attaches the programs to the interfaces names and to a cgroup. Without an interface in c it skips those that
// have disappeared, and fails with errGone if all have. Programs for NCF alone need no cgroup.
func (a *Agent) attach(names []string, c *Config, cgroup string) error {
	for _, name := range names {
		err := a.attachTo(name)
		if errors.Is(err, unix.ENODEV) && c.Interface == "" {
			continue // the interface disappeared after it was listed
		}
		if err != nil {
			return err
		}
	}
	if len(a.Interfaces) == 0 {
		return fmt.Errorf("%w: %s", errGone, strings.Join(names, ", "))
	}
	if a.collection == nil {
		return nil
	}
	l, err := link.AttachCgroup(link.CgroupOptions{Path: cgroup, Attach: ebpf.AttachCGroupSockOps,
		Program: a.collection.Programs["talks"]})
	if err != nil {
		return fmt.Errorf("agent: cgroup %s: %w", cgroup, err)
	}
	a.links = append(a.links, l)
	return nil
}

// attachTo attaches the programs to one interface and adds it to a.Interfaces. It fails with ENODEV if the interface
// does not exist.
func (a *Agent) attachTo(name string) error {
	i, err := a.routes.InterfaceByName(name)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	for _, x := range a.interfaceHooks() {
		l, err := link.AttachTCX(link.TCXOptions{Interface: i.Index, Program: x.program, Attach: x.where})
		if err != nil {
			return fmt.Errorf("agent: interface %s: %v: %w", name, x.where, err)
		}
		a.links = append(a.links, l)
	}
	a.Interfaces, a.indices = append(a.Interfaces, name), append(a.indices, i.Index)
	return nil
}

// hook is a program with its place at an interface.
type hook struct {
	program *ebpf.Program
	where   ebpf.AttachType
}

// interfaceHooks returns the loaded programs that belong at interfaces.
func (a *Agent) interfaceHooks() (all []hook) {
	if a.collection != nil {
		all = append(all, hook{a.collection.Programs["comes"], ebpf.AttachTCXIngress},
			hook{a.collection.Programs["leaves"], ebpf.AttachTCXEgress})
	}
	if a.ncf != nil {
		all = append(all, hook{a.ncf.Programs["comes"], ebpf.AttachTCXIngress})
	}
	return all
}

// Close detaches the programs and frees all resources. Open connections continue with CUBIC. Further calls have no
// effect.
func (a *Agent) Close() error {
	errs := []error{a.unload()}
	if a.diag != nil {
		errs = append(errs, a.diag.Close())
		a.diag = nil
	}
	if a.routes != nil {
		a.routes.Close()
		a.routes = nil
	}
	if a.claim != nil { // last, when another agent can take the namespace
		errs = append(errs, a.claim.Close())
		a.claim = nil
	}
	return errors.Join(errs...)
}

// unload detaches and unloads all programs, and continues after errors.
func (a *Agent) unload() error {
	var errs []error
	for _, l := range slices.Backward(a.links) {
		errs = append(errs, l.Close())
	}
	a.links = nil
	for _, c := range []**ebpf.Collection{&a.collection, &a.ncf} {
		if *c != nil {
			(*c).Close()
			*c = nil
		}
	}
	return errors.Join(errs...)
}

// AppendConnections appends the agent's open connections to list and returns it. Connections of HPCC++ come first. NACK
// counters of a connection that it has appended are added to its entry. After an error the list may be incomplete.
// After Close the error is errClosed.
func (a *Agent) AppendConnections(list []Connection) ([]Connection, error) {
	if a.collection == nil && a.ncf == nil {
		return list, errClosed
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return list, os.NewSyscallError("clock_gettime", err)
	}
	first := len(list)
	if a.collection != nil {
		err := a.dumpSockets(unix.AF_INET6, a.collection.Maps["connections"], func(s *sockdiag.Socket) error {
			c := newConnection(s)
			c.Traces = true
			list = append(list, c)
			return list[len(list)-1].decode(s.Storage, now.Nano())
		})
		if err != nil {
			return list, err
		}
	}
	if a.ncf == nil {
		return list, nil
	}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		err := a.dumpSockets(family, a.ncf.Maps["nacks"], func(s *sockdiag.Socket) error {
			at := first + slices.IndexFunc(list[first:], func(c Connection) bool {
				return c.Local == s.Local && c.Remote == s.Remote
			})
			if at < first {
				at, list = len(list), append(list, newConnection(s))
			}
			list[at].Nacks = &Nacks{}
			return list[at].Nacks.decode(s.Storage, now.Nano())
		})
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

// dumpSockets calls visit for each open connection of an address family that has a value in the socket-storage map m.
// The first error of visit ends it.
func (a *Agent) dumpSockets(family uint8, m *ebpf.Map, visit func(*sockdiag.Socket) error) error {
	open := []sockdiag.TCPState{sockdiag.Established, sockdiag.FinWait1, sockdiag.FinWait2, sockdiag.CloseWait,
		sockdiag.LastAck, sockdiag.Closing}
	sockets, err := a.diag.Dump(family, sockdiag.Filter{States: open, Storage: m.FD()})
	if err != nil {
		return err
	}
	for i := range sockets {
		if s := &sockets[i]; s.Storage != nil {
			if err := visit(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// newConnection returns a connection with the kernel's values of a socket.
func newConnection(s *sockdiag.Socket) Connection {
	return Connection{Local: s.Local, Remote: s.Remote, Controller: s.CongestionControl.String(), RTT: s.Info.RTT,
		Window: uint32(s.Info.Window), Pacing: s.Info.PacingRate}
}

// namespaceCookie returns the kernel's number of the calling thread's network namespace.
func namespaceCookie() (uint64, error) {
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
