package softswitch

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
)

// plan is what a start would do.
type plan struct {
	config   *Config
	links    []rtnl.Interface
	on       [][]string // offloads that are on, by port
	uid, gid int
	others   []other        // what sends to each port, if it is on this machine
	bypass   bool           // it is wanted
	bridge   rtnl.Interface // that the ports belong to already; without a name: none
	warnings []string
	wrong    []error // why there can be no start
}

func setup(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrSetup, fmt.Sprintf(format, args...))
}

// look finds what a configuration runs on. It changes nothing, and needs no right.
func look(c *Config, bypass bool) (*plan, error) {
	p := &plan{config: c, bypass: bypass}
	p.lookUser()
	conn, err := rtnl.Open()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defaults := defaultRoutes()
	for _, port := range c.Ports {
		i, err := conn.Interface(port.Interface)
		if errors.Is(err, unix.ENODEV) {
			p.refuse("port %s: there is no interface %s%s", port.Name, port.Interface, meant(port.Interface))
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := p.lookPort(conn, port, i, defaults[port.Interface]); err != nil {
			return nil, err
		}
	}
	if err := p.lookBypass(conn); err != nil {
		return nil, err
	}
	if c.Metrics.IsValid() && !c.Metrics.Addr().Unmap().IsLoopback() {
		p.warn("metrics are at %v, for whoever can reach it", c.Metrics)
	}
	if len(p.wrong) == 0 {
		p.warnings = append(p.warnings, c.questions(func(port int) int {
			return p.links[port].MTU +
				packet.EthernetHeader
		})...)
	}
	for i, port := range c.Ports {
		if port.Rate.Bits == 0 && port.Rate.Packets == 0 {
			p.warn("port %s has no rate: its queue, on which programs work, hardly fills", c.Ports[i].Name)
		}
	}
	return p, errors.Join(p.wrong...)
}

func (p *plan) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

func (p *plan) refuse(format string, args ...any) { p.wrong = append(p.wrong, setup(format, args...)) }

// lookUser finds whom the processes run as.
func (p *plan) lookUser() {
	u, err := user.Lookup(p.config.User)
	if err == nil {
		p.uid, err = strconv.Atoi(u.Uid)
	}
	if err == nil {
		p.gid, err = strconv.Atoi(u.Gid)
	}
	switch {
	case err != nil:
		p.refuse("there is no user %s to run as: %v", p.config.User, err)
	case p.uid == 0:
		p.refuse("user %s is root, whose rights the switch gives up", p.config.User)
	}
}

// lookPort looks at the interface of a port.
func (p *plan) lookPort(conn *rtnl.Conn, port Port, i rtnl.Interface, defaultRoute bool) error {
	name := port.Interface
	on, err := rtnl.Offloads(name)
	if err != nil {
		return err
	}
	p.links, p.on = append(p.links, i), append(p.on, on)
	o := lookOther(conn, name, i)
	p.others = append(p.others, o)
	p.warnings = append(p.warnings, o.warnings(port)...)
	known, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	switch {
	case len(known.HardwareAddr) != 6 || known.Flags&net.FlagLoopback != 0:
		p.refuse("port %s: %s is no Ethernet interface", port.Name, name)
	case !i.Up:
		p.refuse("port %s: interface %s is down; set it up first (ip link set %s up)", port.Name, name, name)
	case i.Master != 0 && !p.bypass:
		p.refuse("port %s: interface %s belongs to a bridge or a bond%s", port.Name, name, bridgeHint(conn, i.Master))
	case i.MTU < 1280 || i.MTU > 9216:
		p.refuse("port %s: interface %s has an MTU of %d bytes; 1280 to 9216 are possible", port.Name, name, i.MTU)
	}
	if i.MTU != p.links[0].MTU {
		p.warn("interface %s has an MTU of %d bytes, %s one of %d: frames that are too long for one of them are "+
			"dropped there",
			name, i.MTU, p.config.Ports[0].Interface, p.links[0].MTU)
	}
	for _, n := range addressesOf(name) {
		if p.bypass {
			p.warn("interface %s has the address %v: with --bypass nothing that comes in there reaches it", name, n)
			continue
		}
		p.warn("interface %s has the address %v: this machine's own traffic there does not go through the switch, and it "+
			"answers beside it", name, n)
	}
	if defaultRoute {
		p.warn("interface %s has a default route: is it this machine's own way out?", name)
	}
	return nil
}

// addressesOf are the addresses of an interface at which others reach this machine.
func addressesOf(name string) (found []*net.IPNet) {
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
func Check(known Schemes, file string, bypass bool, out io.Writer) error {
	data, err := readFile(file)
	if err != nil {
		return err
	}
	c, err := Decode(known, file, data)
	if err != nil {
		return err
	}
	var taken error
	runs := 0
	err = records(func(recorded) (bool, error) { return false, nil }, func(r recorded) {
		if c.of(r) {
			runs, bypass = r.owner, bypass || r.bypass
			return
		}
		taken = errors.Join(taken, c.taken(r))
	})
	p, unfit := look(c, bypass)
	if err = errors.Join(err, taken, unfit); err != nil {
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

// of reports whether the file is for the interfaces of a switch, in its order.
func (c *Config) of(r recorded) bool {
	return slices.EqualFunc(c.Ports, r.ports, func(own Port, name string) bool { return own.Interface == name })
}

// taken reports whether a living switch has one of the file's interfaces.
func (c *Config) taken(r recorded) error {
	for _, port := range c.Ports {
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
	fmt.Fprintf(out, "users: %v\n", &c.Users)
	if c.Metrics.IsValid() {
		fmt.Fprintf(out, "metrics: http://%v/metrics\n", c.Metrics)
	} else {
		fmt.Fprintln(out, "metrics: none")
	}
	fmt.Fprintf(out, "bypass: %s\n", p.bypassText())
	fmt.Fprintf(out, "runs as %s (%d:%d): the data plane without capabilities, its supervisor with CAP_NET_ADMIN\n",
		c.User, p.uid, p.gid)
	for _, w := range p.warnings {
		fmt.Fprintln(out, "warning:", w)
	}
}
