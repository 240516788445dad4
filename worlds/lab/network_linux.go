package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/core/topology"
	"weir/internal/netns"
	"weir/internal/rtnl"
	"weir/worlds/live"
)

// Network is the hosts of an experiment as network namespaces, each with one interface,
// which leads to the namespace of the data plane.
type Network struct {
	// Removed names what dead labs had left, which is gone now.
	Removed []string
	// Left says what dead labs had left and cannot be removed; nil: nothing. This lab has names of its own.
	Left error

	network *topology.Network
	book    *packet.Book
	mtu     int
	set     *netns.Set
	cables  []cable
	shaped  bool // hosts' kernels have limits

	plane, hosts live.Duty // of the processes
	cores        []int     // that this process had before Schedule took some of them; nil: it has them all
}

// planeName is the namespace of the data plane; no node has such a name.
const planeName = "@dataplane"

// NIC is the name of a host's interface in its namespace.
const NIC = "eth0"

func gateName(node int) string { return fmt.Sprintf("gate%d", node) }

// Open makes the namespaces, interfaces, addresses, routes and neighbours of the hosts of
// a network, and removes what dead labs have left, as far as that can be. An MTU of 0 is DefaultMTU. Whatever
// fails, nothing stays behind; it needs root.
func Open(n *topology.Network, book *packet.Book, mtu int) (l *Network, err error) {
	if os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	if mtu == 0 {
		mtu = DefaultMTU
	}
	l = &Network{network: n, book: book, mtu: mtu}
	if l.Removed, l.Left = netns.Clean(); l.Left != nil {
		l.Left = fmt.Errorf("lab: what a dead lab has left cannot be removed: %w", explain(l.Left))
	}
	var more []string
	l.set, more, err = netns.NewSet()
	l.Removed = append(l.Removed, more...)
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("lab: %w", explain(err))
			if c := l.Close(); c != nil {
				err = errors.Join(err, c)
			}
			l = nil
		}
	}()
	if err := l.set.Add(planeName); err != nil {
		return l, err
	}
	for i, node := range n.Nodes {
		if node.Switch {
			continue
		}
		if err := l.addHost(i); err != nil {
			return l, fmt.Errorf("host %s: %w", node.Name, err)
		}
	}
	return l, nil
}

// explain adds what an error of the kernel means here.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w; the lab needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW", err)
	case errors.Is(err, unix.EAFNOSUPPORT):
		return fmt.Errorf("%w; the lab needs a kernel with IPv6 and packet sockets (CONFIG_IPV6, CONFIG_PACKET)", err)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("%w; the lab needs a kernel with network namespaces, veth and packet sockets (CONFIG_NET_NS, "+
			"CONFIG_VETH, CONFIG_PACKET)", err)
	}
	return err
}

// locallyAdministered is the MAC address of the data plane's end: it is never used.
func locallyAdministered(node int) [6]byte {
	return [6]byte{0x02, 0x58, byte((node + 1) >> 24), byte((node + 1) >> 16), byte((node + 1) >> 8), byte(node + 1)}
}

func (l *Network) addHost(node int) error {
	name := l.network.Nodes[node].Name
	if err := l.set.Add(name); err != nil {
		return err
	}
	there, err := os.Open(netns.Path(l.set.Name(name)))
	if err != nil {
		return err
	}
	defer there.Close()
	self := packet.Addr(node + 1)
	err = l.in(planeName, func(c *rtnl.Conn) error {
		near := rtnl.End{Name: gateName(node), MAC: locallyAdministered(node)}
		if err := c.AddVeth(near, rtnl.End{Name: NIC, MAC: packet.MAC(self)}, int(there.Fd()), l.mtu); err != nil {
			return err
		}
		_, err := raise(c, near.Name)
		return err
	})
	if err != nil {
		return err
	}
	return l.in(name, func(c *rtnl.Conn) error {
		lo, err := c.Interface("lo")
		if err != nil {
			return err
		}
		if err := c.Up(lo.Index); err != nil {
			return err
		}
		index, err := raise(c, NIC)
		if err != nil {
			return err
		}
		for _, a := range [2]netip.Addr{l.book.V4(self), l.book.V6(self)} {
			if !a.IsValid() {
				continue
			}
			if err := c.AddAddress(index, netip.PrefixFrom(a, a.BitLen())); err != nil {
				return err
			}
			all := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
			if a.Is6() {
				all = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
			}
			if err := c.AddRoute(index, all); err != nil {
				return err
			}
		}
		for i, other := range l.network.Nodes {
			if other.Switch || i == node {
				continue
			}
			a := packet.Addr(i + 1)
			for _, x := range [2]netip.Addr{l.book.V4(a), l.book.V6(a)} {
				if !x.IsValid() {
					continue
				}
				if err := c.AddNeighbour(index, x, packet.MAC(a)); err != nil {
					return err
				}
			}
		}
		// A flow must not begin with what the kernel remembers of the one before.
		const remember = "/proc/sys/net/ipv4/tcp_no_metrics_save"
		return os.WriteFile(remember, []byte("1"), 0)
	})
}

// raise sets up an interface that was just made.
func raise(c *rtnl.Conn, name string) (int, error) {
	i, err := c.Interface(name)
	if err != nil {
		return 0, err
	}
	if i.RxQueues != 1 || i.TxQueues != 1 {
		return 0, fmt.Errorf("interface %s has %d and %d queues; one in each direction is needed", name, i.RxQueues,
			i.TxQueues)
	}
	if _, err := rtnl.NoOffloads(name); err != nil {
		return 0, err
	}
	return i.Index, c.Quiet(i.Index)
}

// in runs what in a namespace of the set, with a netlink socket there.
func (l *Network) in(short string, what func(c *rtnl.Conn) error) error {
	return netns.Do(l.set.Name(short), func() error {
		c, err := rtnl.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		return what(c)
	})
}

// Namespace is the name of a host's network namespace, as ip-netns(8) knows it.
func (l *Network) Namespace(node int) string { return l.set.Name(l.network.Nodes[node].Name) }

// Do runs what in a host's namespace; sockets that it opens stay there.
func (l *Network) Do(node int, what func() error) error {
	return netns.Do(l.Namespace(node), what)
}

// dropped counts the frames that the kernel has dropped at the hosts' interfaces and the
// data plane's.
func (l *Network) dropped() (uint64, error) {
	sum := uint64(0)
	add := func(name string) func(c *rtnl.Conn) error {
		return func(c *rtnl.Conn) error {
			i, err := c.Interface(name)
			sum += i.Dropped
			return err
		}
	}
	for i, node := range l.network.Nodes {
		if node.Switch {
			continue
		}
		if err := l.in(planeName, add(gateName(i))); err != nil {
			return 0, err
		}
		if err := l.in(node.Name, add(NIC)); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// Close removes all namespaces and so all interfaces. It may be called again.
func (l *Network) Close() error {
	if err := errors.Join(l.together(), l.set.Close()); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return nil
}

// CloseAll removes the namespaces of all labs of this process, whatever they do; they cannot go on, and none can begin:
// it is what to do before a process ends that cannot wait for them. Their data planes die with the process.
func CloseAll() error {
	if err := netns.CloseAll(); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return nil
}

// Clean removes what dead labs have left and returns its names. It needs root.
func Clean() ([]string, error) {
	if os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	removed, err := netns.Clean()
	if err != nil {
		err = fmt.Errorf("lab: %w", explain(err))
	}
	return removed, err
}

// Schedule sets how the processes that are started from now on are scheduled; without it that is
// live.DefaultScheduling.
// With Core all threads of this process stay away from the processors that those have until Close, or until it is
// called again.
func (l *Network) Schedule(s live.Scheduling) error {
	if err := l.together(); err != nil {
		return err
	}
	all, err := live.Cores()
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	var rest []int
	if l.plane, l.hosts, rest = s.Duties(all); rest == nil {
		return nil
	}
	l.cores = all
	if err := live.ConfineThreads(rest); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return nil
}

// together gives this process's threads all processors again.
func (l *Network) together() error {
	if l.cores == nil {
		return nil
	}
	if err := live.ConfineThreads(l.cores); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	l.cores = nil
	return nil
}

// scheduled sees to it that there is a scheduling.
func (l *Network) scheduled() error {
	if l.plane.Kind != "" {
		return nil
	}
	return l.Schedule(live.DefaultScheduling)
}

// DataPlane is the running process of a network's data plane.
type DataPlane struct {
	// Epoch is the CLOCK_MONOTONIC of event time 0, in ns: time 0 of the experiment is
	// Config.Lead later.
	Epoch int64

	process
	network *Network
	dropped uint64
}

// Start starts the data plane: command is a process that calls Serve with its standard
// input and output. It dies with this process.
func (l *Network) Start(command *exec.Cmd) (*DataPlane, error) {
	p := &DataPlane{network: l, process: process{what: "data plane"}}
	var err error
	if p.dropped, err = l.dropped(); err != nil {
		return nil, p.error(err)
	}
	if err := l.scheduled(); err != nil {
		return nil, err
	}
	w := places{Namespace: l.set.Name(planeName), Interfaces: make([]string, len(l.network.Nodes)), Cables: l.cables,
		Duty: l.plane}
	for i, node := range l.network.Nodes {
		if !node.Switch {
			w.Interfaces[i] = gateName(i)
		}
	}
	var r ready
	if err := p.start(command, w, &r); err != nil {
		return nil, err
	}
	p.Epoch = r.Epoch
	return p, nil
}

// Stop ends the data plane and returns what it has counted. If it has ended by itself, the
// error is Err's.
func (p *DataPlane) Stop() (*Report, error) {
	r := &Report{}
	if err := p.stop(r); err != nil {
		return nil, err
	}
	now, err := p.network.dropped()
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	r.VethLost = now - p.dropped
	return r, nil
}

// HostsProcess is the running process of the hosts that are Weir's own.
type HostsProcess struct{ process }

// StartHosts starts the hosts of these nodes, when the data plane runs; time 0 of the experiment is at epoch, by
// CLOCK_MONOTONIC in ns. command is a process that calls ServeHosts with its standard input and output. It dies with
// this process, and ends when its flows have.
func (l *Network) StartHosts(command *exec.Cmd, own []bool, epoch int64) (*HostsProcess, error) {
	if err := l.scheduled(); err != nil {
		return nil, err
	}
	w := stations{Epoch: epoch, Namespaces: make([]string, len(own)), Duty: l.hosts}
	for i, is := range own {
		if is {
			w.Namespaces[i] = l.Namespace(i)
		}
	}
	p := &HostsProcess{process{what: "hosts", mayExit: true}}
	return p, p.start(command, w, &ready{})
}

// Stop ends the hosts, if they have not ended, and reads what came of their flows into result, and what they have
// counted.
func (p *HostsProcess) Stop(result any) (*HostsReport, error) {
	var all hostsEnd
	all.Result = result
	if err := p.stop(&all); err != nil {
		return nil, err
	}
	return &all.HostsReport, nil
}
