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

// Network is the set of hosts of an experiment: network namespaces with one interface each, connected to the data
// plane's namespace.
type Network struct {
	// Removed lists the remains of dead labs that Open removed.
	Removed []string
	// CleanError reports remains of dead labs that cannot be removed; nil if there are no such remains. They do not
	// affect this lab.
	CleanError error

	network *topology.Network
	book    *packet.Book
	mtu     int
	set     *netns.Set
	cables  []cable
	shaped  bool // hosts' kernels have rate limits

	plane, hosts live.Duty // schedulings of the two processes
	cores        []int     // this process's processors before Schedule took some; nil: it has all
}

// planeName is the data plane's namespace. No node has such a name.
const planeName = "@dataplane"

// NIC is the name of a host's interface in its namespace.
const NIC = "eth0"

// gateName returns the name of the data plane's interface to a host.
func gateName(node int) string { return fmt.Sprintf("gate%d", node) }

// Open creates the namespaces, interfaces, addresses, routes and neighbours of a network's hosts, and removes remains
// of dead labs where possible. An mtu of 0 means DefaultMTU. book has the address of node i as number i+1. After an
// error it has removed everything that it created. It requires root: else the error is ErrNotRoot.
func Open(n *topology.Network, book *packet.Book, mtu int) (l *Network, err error) {
	if os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	if mtu == 0 {
		mtu = DefaultMTU
	}
	l = &Network{network: n, book: book, mtu: mtu}
	if l.Removed, l.CleanError = netns.RemoveDead(); l.CleanError != nil {
		l.CleanError = fmt.Errorf("lab: the namespaces and interfaces of a dead lab cannot be removed: %w",
			explainError(l.CleanError))
	}
	var more []string
	l.set, more, err = netns.NewSet()
	l.Removed = append(l.Removed, more...)
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("lab: %w", explainError(err))
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

// explainError adds the likely cause to an error of the kernel, which it wraps. Other errors are returned unchanged.
func explainError(err error) error {
	switch {
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w; the lab requires CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW", err)
	case errors.Is(err, unix.EAFNOSUPPORT):
		return fmt.Errorf("%w; the lab requires a kernel with IPv6 and packet sockets (CONFIG_IPV6, CONFIG_PACKET)", err)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("%w; the lab requires a kernel with network namespaces, veth and packet sockets "+
			"(CONFIG_NET_NS, CONFIG_VETH, CONFIG_PACKET)", err)
	}
	return err
}

// gateMAC returns the MAC address of the data plane's end, which no frame uses.
func gateMAC(node int) [6]byte {
	return [6]byte{0x02, 0x58, byte((node + 1) >> 24), byte((node + 1) >> 16), byte((node + 1) >> 8), byte(node + 1)}
}

// addHost creates the namespace of a host, its link to the data plane, and its addresses, routes and neighbours. All
// default routes use the link, and all other hosts are neighbours. The data plane's namespace must exist.
func (l *Network) addHost(node int) error {
	name := l.network.Nodes[node].Name
	if err := l.set.Add(name); err != nil {
		return err
	}
	hostNamespace, err := os.Open(netns.Path(l.set.Name(name)))
	if err != nil {
		return err
	}
	defer hostNamespace.Close()
	self := packet.Addr(node + 1)
	err = l.doInNamespace(planeName, func(c *rtnl.Conn) error {
		near := rtnl.End{Name: gateName(node), MAC: gateMAC(node)}
		if err := c.AddVeth(near, rtnl.End{Name: NIC, MAC: packet.MAC(self)}, int(hostNamespace.Fd()), l.mtu); err != nil {
			return err
		}
		_, err := setUpInterface(c, near.Name)
		return err
	})
	if err != nil {
		return err
	}
	return l.doInNamespace(name, func(c *rtnl.Conn) error {
		lo, err := c.InterfaceByName("lo")
		if err != nil {
			return err
		}
		if err := c.SetUp(lo.Index); err != nil {
			return err
		}
		index, err := setUpInterface(c, NIC)
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
		// A flow must not start with the kernel's metrics of an earlier one.
		const remember = "/proc/sys/net/ipv4/tcp_no_metrics_save"
		return os.WriteFile(remember, []byte("1"), 0)
	})
}

// setUpInterface sets up a new interface without offloads and returns its index. It fails unless the interface has
// one queue in each direction.
func setUpInterface(c *rtnl.Conn, name string) (int, error) {
	i, err := c.InterfaceByName(name)
	if err != nil {
		return 0, err
	}
	if i.RxQueues != 1 || i.TxQueues != 1 {
		return 0, fmt.Errorf("interface %s has %d and %d queues; one in each direction is required", name, i.RxQueues,
			i.TxQueues)
	}
	if _, err := rtnl.DisableOffloads(name); err != nil {
		return 0, err
	}
	return i.Index, c.SetUpQuiet(i.Index)
}

// doInNamespace runs action in a namespace of the set, by its name there, with a netlink socket that closes
// afterwards.
func (l *Network) doInNamespace(name string, action func(c *rtnl.Conn) error) error {
	return netns.Do(l.set.Name(name), func() error {
		c, err := rtnl.Open()
		if err != nil {
			return err
		}
		defer c.Close()
		return action(c)
	})
}

// Namespace returns the name of a host's network namespace (ip-netns(8)).
func (l *Network) Namespace(node int) string { return l.set.Name(l.network.Nodes[node].Name) }

// Do runs action in a host's namespace and returns its error; sockets that it opens stay there.
func (l *Network) Do(node int, action func() error) error {
	return netns.Do(l.Namespace(node), action)
}

// countDropped returns the number of frames that the kernel dropped at the interfaces of the hosts and of the data
// plane.
func (l *Network) countDropped() (uint64, error) {
	sum := uint64(0)
	add := func(name string) func(c *rtnl.Conn) error {
		return func(c *rtnl.Conn) error {
			i, err := c.InterfaceByName(name)
			sum += i.Dropped
			return err
		}
	}
	for i, node := range l.network.Nodes {
		if node.Switch {
			continue
		}
		if err := l.doInNamespace(planeName, add(gateName(i))); err != nil {
			return 0, err
		}
		if err := l.doInNamespace(node.Name, add(NIC)); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

// Close removes all namespaces and with them all interfaces. It may be called repeatedly.
func (l *Network) Close() error {
	if err := errors.Join(l.releaseCores(), l.set.Close()); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return nil
}

// CloseLabs removes the namespaces of all labs of this process, which cannot continue, and refuses new ones. A
// process calls it before it exits without waiting for its labs. The data planes end with the process.
func CloseLabs() error {
	if err := netns.CloseAll(); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return nil
}

// RemoveDead removes the remains of dead labs and returns their names. It requires root.
func RemoveDead() ([]string, error) {
	if os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	removed, err := netns.RemoveDead()
	if err != nil {
		err = fmt.Errorf("lab: %w", explainError(err))
	}
	return removed, err
}

// Schedule sets the scheduling of processes that are started later; the default is live.DefaultScheduling. With
// Core, this process's threads avoid the processors of those processes until Close or the next call.
func (l *Network) Schedule(s live.Scheduling) error {
	if err := l.releaseCores(); err != nil {
		return err
	}
	all, err := live.ListCores()
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	var rest []int
	if l.plane, l.hosts, rest = s.DivideCores(all); rest == nil {
		return nil
	}
	l.cores = all
	if err := live.ConfineThreads(rest); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return nil
}

// releaseCores gives this process's threads all processors again. It has no effect if Schedule took no processor.
func (l *Network) releaseCores() error {
	if l.cores == nil {
		return nil
	}
	if err := live.ConfineThreads(l.cores); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	l.cores = nil
	return nil
}

// ensureSchedule sets live.DefaultScheduling if Schedule was not called.
func (l *Network) ensureSchedule() error {
	if l.plane.Kind != "" {
		return nil
	}
	return l.Schedule(live.DefaultScheduling)
}

// DataPlane is the running process of a network's data plane.
type DataPlane struct {
	// Epoch is event time 0 by CLOCK_MONOTONIC, in ns. Time 0 of the experiment is Config.Lead later.
	Epoch int64

	process
	network *Network
	dropped uint64
}

// Start starts the data plane and returns when it runs. command is a process that calls Serve with its standard input
// and output. The data plane dies with this process. The caller must call Stop or Kill. Without an earlier Schedule it
// sets the default scheduling.
func (l *Network) Start(command *exec.Cmd) (*DataPlane, error) {
	p := &DataPlane{network: l, process: process{name: "data plane"}}
	var err error
	if p.dropped, err = l.countDropped(); err != nil {
		return nil, p.wrapError(err)
	}
	if err := l.ensureSchedule(); err != nil {
		return nil, err
	}
	w := planeStart{Namespace: l.set.Name(planeName), Interfaces: make([]string, len(l.network.Nodes)), Cables: l.cables,
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

// Stop ends the data plane and returns its report. If the data plane ended earlier, the error is Err's. It must be
// called once.
func (p *DataPlane) Stop() (*Report, error) {
	r := &Report{}
	if err := p.stopProcess(r); err != nil {
		return nil, err
	}
	now, err := p.network.countDropped()
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	r.VethLost = now - p.dropped
	return r, nil
}

// HostsProcess is the running process of Weir's own hosts.
type HostsProcess struct{ process }

// StartHosts starts Weir's own hosts at the nodes that ownNodes marks, after the data plane. epoch is time 0 of the
// experiment by CLOCK_MONOTONIC, in ns. command is a process that calls ServeHosts with its standard input and output.
// The process dies with this one and ends with its flows. Without an earlier Schedule it sets the default scheduling.
// After an error the result must not be used.
func (l *Network) StartHosts(command *exec.Cmd, ownNodes []bool, epoch int64) (*HostsProcess, error) {
	if err := l.ensureSchedule(); err != nil {
		return nil, err
	}
	w := hostsStart{Epoch: epoch, Namespaces: make([]string, len(ownNodes)), Duty: l.hosts}
	for i, isOwn := range ownNodes {
		if isOwn {
			w.Namespaces[i] = l.Namespace(i)
		}
	}
	p := &HostsProcess{process{name: "hosts", mayExit: true}}
	return p, p.start(command, w, &ready{})
}

// Stop ends the hosts unless they have ended. It decodes the flows' results into result, a pointer, and returns
// the report.
func (p *HostsProcess) Stop(result any) (*HostsReport, error) {
	var all hostsEnd
	all.Result = result
	if err := p.stopProcess(&all); err != nil {
		return nil, err
	}
	return &all.HostsReport, nil
}
