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
	Interfaces []string // through which connections go; Gone takes off those that are not there any more
	Controller string   // its congestion control's name

	collection *ebpf.Collection // of HPCC++; nil: it is not followed
	ncf        *ebpf.Collection // of NCF; nil: it is not followed
	links      []link.Link
	diag       *sockdiag.Conn
	routes     *rtnl.Conn
	indices    []int        // of Interfaces
	claim      net.Listener // of the network namespace
}

// errEnded is that an agent is closed.
var errEnded = errors.New("agent: it has ended")

// Start loads programs and attaches them in the calling thread's network namespace: to interfaces there, and to a
// cgroup. They hold for connections that are opened from then on, until Close, or the end of the process. A network
// namespace has one agent at most.
func Start(c Config) (a *Agent, err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	m := Probe()
	if err := m.check(c.hpcc(), c.hpcc() || c.Cgroup != ""); err != nil {
		return nil, err
	}
	names, err := interfaces(c.Interface)
	at := c.Cgroup
	if at == "" {
		at = m.Cgroup
	} else {
		err = errors.Join(err, inCgroup(at, m.Cgroup))
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
	if a.claim, err = claim(); err != nil {
		return a, err
	}
	if c.hpcc() {
		if err := a.load(c); err != nil {
			return a, err
		}
	}
	if c.ncf() {
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
	return a, a.attach(names, &c, at)
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
		a.unload()
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
func (a *Agent) attach(names []string, c *Config, cgroup string) error {
	for _, name := range names {
		err := a.attachTo(name)
		if errors.Is(err, unix.ENODEV) && c.Interface == "" {
			continue // it went while this came
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

// attachTo attaches programs to an interface.
func (a *Agent) attachTo(name string) error {
	i, err := a.routes.Interface(name)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	for _, x := range a.ofInterfaces() {
		l, err := link.AttachTCX(link.TCXOptions{Interface: i.Index, Program: x.program, Attach: x.where})
		if err != nil {
			return fmt.Errorf("agent: interface %s: %v: %w", name, x.where, err)
		}
		a.links = append(a.links, l)
	}
	a.Interfaces, a.indices = append(a.Interfaces, name), append(a.indices, i.Index)
	return nil
}

// hook is a program of interfaces.
type hook struct {
	program *ebpf.Program
	where   ebpf.AttachType
}

func (a *Agent) ofInterfaces() (all []hook) {
	if a.collection != nil {
		all = append(all, hook{a.collection.Programs["comes"], ebpf.AttachTCXIngress},
			hook{a.collection.Programs["leaves"], ebpf.AttachTCXEgress})
	}
	if a.ncf != nil {
		all = append(all, hook{a.ncf.Programs["comes"], ebpf.AttachTCXIngress})
	}
	return all
}

// Close detaches and gives back all. Connections that are open go on as CUBIC.
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
	if a.claim != nil { // the last, when the namespace is free for another
		errs = append(errs, a.claim.Close())
		a.claim = nil
	}
	return errors.Join(errs...)
}

// unload detaches and unloads programs.
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

// Connections appends those that are open and known to the agent.
func (a *Agent) Connections(to []Connection) ([]Connection, error) {
	if a.collection == nil && a.ncf == nil {
		return to, errEnded
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return to, os.NewSyscallError("clock_gettime", err)
	}
	first := len(to)
	if a.collection != nil {
		err := a.dump(unix.AF_INET6, a.collection.Maps["connections"], func(s *sockdiag.Socket) error {
			c := connectionOf(s)
			c.Traces = true
			to = append(to, c)
			return to[len(to)-1].decode(s.Storage, now.Nano())
		})
		if err != nil {
			return to, err
		}
	}
	if a.ncf == nil {
		return to, nil
	}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		err := a.dump(family, a.ncf.Maps["nacks"], func(s *sockdiag.Socket) error {
			at := first + slices.IndexFunc(to[first:], func(c Connection) bool {
				return c.Local == s.Local && c.Remote == s.Remote
			})
			if at < first {
				at, to = len(to), append(to, connectionOf(s))
			}
			to[at].Nacks = &Nacks{}
			return to[at].Nacks.decode(s.Storage, now.Nano())
		})
		if err != nil {
			return to, err
		}
	}
	return to, nil
}

// dump calls with with the connections of a family that a map has something about.
func (a *Agent) dump(family uint8, m *ebpf.Map, with func(*sockdiag.Socket) error) error {
	open := []sockdiag.TCPState{sockdiag.Established, sockdiag.FinWait1, sockdiag.FinWait2, sockdiag.CloseWait,
		sockdiag.LastAck, sockdiag.Closing}
	sockets, err := a.diag.Dump(family, sockdiag.Filter{States: open, Storage: m.FD()})
	if err != nil {
		return err
	}
	for i := range sockets {
		if s := &sockets[i]; s.Storage != nil {
			if err := with(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func connectionOf(s *sockdiag.Socket) Connection {
	return Connection{Local: s.Local, Remote: s.Remote, Controller: s.CongestionControl.String(), RTT: s.Info.RTT,
		Window: uint32(s.Info.Window), Pacing: s.Info.PacingRate}
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
