package preflight

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"weir/core/packet"
	"weir/internal/document"
	"weir/internal/rtnl"
	softswitch "weir/worlds/switch"
)

// Plan describes what a start would do.
type Plan struct {
	Config   *softswitch.Config
	Links    []rtnl.Interface // by port
	Offloads [][]string       // enabled offloads, by port
	UID, GID int              // user and group of the processes
	Peers    []PeerOffloads   // local sender to each port
	Bypass   bool             // --bypass was given
	Bridge   rtnl.Interface   // current bridge of the ports; without a name: no bridge
	Warnings []document.Warning

	errs []error // reasons that prevent a start
}

// NewPlan examines the environment of a configuration. It makes no change and requires no privilege. The error lists
// all reasons that prevent a start; then the plan has the ports that could be examined.
func NewPlan(c *softswitch.Config, bypass bool) (*Plan, error) {
	p := &Plan{Config: c, Bypass: bypass}
	p.findUser()
	conn, err := rtnl.Open()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defaults := findDefaultRoutes()
	for _, port := range c.Ports {
		i, err := conn.InterfaceByName(port.Interface)
		if errors.Is(err, unix.ENODEV) {
			p.addError("port %s: there is no interface %s%s", port.Name, port.Interface, suggestName(port.Interface))
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := p.findPort(conn, port, i, defaults[port.Interface]); err != nil {
			return nil, err
		}
	}
	if err := p.findBridge(conn); err != nil {
		return nil, err
	}
	p.Warnings = append(p.Warnings, c.WarnOpenMetrics()...)
	if len(p.errs) == 0 {
		maxFrame := func(port int) int { return p.Links[port].MTU + packet.EthernetHeader }
		p.Warnings = append(p.Warnings, c.Warnings(maxFrame)...)
	}
	p.Warnings = append(p.Warnings, c.WarnUnshapedPorts()...)
	return p, errors.Join(p.errs...)
}

// addError adds a reason that prevents a start, which wraps softswitch.ErrSetup.
func (p *Plan) addError(format string, args ...any) {
	p.errs = append(p.errs, softswitch.SetupError(format, args...))
}

// findUser finds the user of the processes and sets UID and GID. A missing user and root prevent a start.
func (p *Plan) findUser() {
	u, err := user.Lookup(p.Config.User)
	if err == nil {
		p.UID, err = strconv.Atoi(u.Uid)
	}
	if err == nil {
		p.GID, err = strconv.Atoi(u.Gid)
	}
	switch {
	case err != nil:
		p.addError("the user %s, as which the switch would run, does not exist: %v", p.Config.User, err)
	case p.UID == 0:
		p.addError("user %s is root, whose rights the switch gives up; choose another user", p.Config.User)
	}
}

// findPort examines the interface i of a port and adds it to the plan, with the errors and warnings found. The returned
// error is of the kernel. defaultRoute reports whether the interface has a default route.
func (p *Plan) findPort(conn *rtnl.Conn, port softswitch.Port, i rtnl.Interface, defaultRoute bool) error {
	name := port.Interface
	on, err := rtnl.ListOffloads(name)
	if err != nil {
		return err
	}
	p.Links, p.Offloads = append(p.Links, i), append(p.Offloads, on)
	o := findPeer(conn, name, i)
	p.Peers = append(p.Peers, o)
	p.Warnings = append(p.Warnings, o.listWarnings(port)...)
	netInterface, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	switch {
	case len(netInterface.HardwareAddr) != 6 || netInterface.Flags&net.FlagLoopback != 0:
		p.addError("port %s: %s is not an Ethernet interface", port.Name, name)
	case !i.Up:
		p.addError("port %s: interface %s is down; set it up first (ip link set %s up)", port.Name, name, name)
	case i.Master != 0 && !p.Bypass:
		p.addError("port %s: interface %s belongs to a bridge or a bond%s", port.Name, name, bridgeHint(conn, i.Master))
	case i.MTU < 1280 || i.MTU > 9216:
		p.addError("port %s: interface %s has an MTU of %d bytes; allowed: 1280 to 9216 bytes", port.Name, name, i.MTU)
	}
	facts := interfaceFacts{mtu: i.MTU, firstMTU: p.Links[0].MTU, defaultRoute: defaultRoute, bypass: p.Bypass}
	for _, n := range interfaceAddresses(name) {
		facts.addresses = append(facts.addresses, n.String())
	}
	p.Warnings = append(p.Warnings, interfaceWarnings(p.Config.Ports[0].Interface, port, &facts)...)
	return nil
}

// interfaceAddresses returns the global unicast addresses of an interface, nil if it cannot be examined.
func interfaceAddresses(name string) (found []*net.IPNet) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil
	}
	addresses, _ := i.Addrs()
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			found = append(found, n)
		}
	}
	return found
}

// suggestName returns the part of a message that suggests the interface with the most similar name; "": no name is
// similar.
func suggestName(name string) string {
	all, _ := net.Interfaces()
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	if n := document.FindNearest(name, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// findDefaultRoutes returns the interfaces with a default route of IPv4 or IPv6 (proc(5), route files), except for
// loopback. Files that cannot be read have no routes.
func findDefaultRoutes() map[string]bool {
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

// CheckFile reads a switch's file, examines the environment and writes to out what a start would do, or that the switch
// of these interfaces runs and can reload the file. It makes no change and requires no privilege, except that it
// briefly opens the port of metrics, and removes records of network namespaces that are gone. The error lists all
// reasons that prevent a start.
func CheckFile(known softswitch.Schemes, file string, bypass bool, out io.Writer) error {
	data, err := softswitch.ReadFile(file)
	if err != nil {
		return err
	}
	c, err := softswitch.Decode(known, file, data)
	if err != nil {
		return err
	}
	var conflicts error
	runs := 0
	err = ForEachRecord(func(RecordContent) (bool, error) { return false, nil }, func(r RecordContent) {
		if r.matchesConfig(c) {
			runs, bypass = r.owner, bypass || r.bypass
			return
		}
		conflicts = errors.Join(conflicts, r.CheckTaken(c))
	})
	p, unfit := NewPlan(c, bypass)
	if err = errors.Join(err, conflicts, unfit); err != nil {
		return err
	}
	if c.Metrics.IsValid() && runs == 0 {
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(c.Metrics))
		if err == nil {
			l.Close()
		} else if !errors.Is(err, unix.EACCES) { // a low port, which root may open
			return softswitch.SetupError("metrics: %v", err)
		}
	}
	p.printPlan(out)
	if runs != 0 {
		fmt.Fprintf(out, "the switch of these interfaces is running: kill -HUP %d makes it read its file again; "+
			"offloads are already off\n", runs)
	}
	for _, w := range rootWarnings(runs != 0, os.Geteuid()) {
		w.Print(out)
	}
	return nil
}

// matchesConfig reports whether a record belongs to the switch of a file's interfaces, in their order.
func (r *RecordContent) matchesConfig(c *softswitch.Config) bool {
	return slices.EqualFunc(c.Ports, r.ports, func(own softswitch.Port, name string) bool { return own.Interface == name })
}

// CheckTaken returns an error if the record's switch, which runs, has an interface of the file c. It wraps
// softswitch.ErrSetup.
func (r *RecordContent) CheckTaken(c *softswitch.Config) error {
	for _, port := range c.Ports {
		for _, name := range r.ports {
			if name == port.Interface {
				return softswitch.SetupError("port %s: interface %s belongs to a running switch (process %d)", port.Name, name,
					r.owner)
			}
		}
	}
	return nil
}

// printPlan writes the plan to out: a line for each port, for programs, users, metrics, bypass and rights, and then its
// warnings. It ignores errors of out.
func (p *Plan) printPlan(out io.Writer) {
	c := p.Config
	for i, port := range c.Ports {
		l := p.Links[i]
		rate := "at the interface's own rate"
		if port.Rate.Bits > 0 || port.Rate.Packets > 0 {
			rate = port.Rate.String()
		}
		off := "no offloads are on"
		if len(p.Offloads[i]) > 0 {
			off = "switched off until the end: " + strings.Join(p.Offloads[i], ", ")
		}
		fmt.Fprintf(out, "port %s: interface %s, MTU %d, %s, buffer %v; promiscuous; %s\n", port.Name, port.Interface, l.MTU,
			rate, port.Buffer, off)
	}
	var names []string
	for _, x := range c.Programs {
		names = append(names, x.Scheme.Name)
	}
	fmt.Fprintf(out, "programs: %s\n", strings.Join(names, ", "))
	fmt.Fprintf(out, "users: %v\n", &c.Users)
	if c.Metrics.IsValid() {
		fmt.Fprintf(out, "metrics: http://%v/metrics\n", c.Metrics)
	} else {
		fmt.Fprintln(out, "metrics: none")
	}
	fmt.Fprintf(out, "bypass: %s\n", p.bypassText())
	fmt.Fprintf(out, "runs as %s (%d:%d): the data plane without capabilities, its supervisor with CAP_NET_ADMIN\n",
		c.User, p.UID, p.GID)
	for _, w := range p.Warnings {
		w.Print(out)
	}
}
