package softswitch

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sort"
	"strconv"
	"strings"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
	"weir/study/experiment"
	"weir/worlds/lab"
)

// Port is a port of the switch.
type Port struct {
	Name      string
	Interface string
	Rate      unit.LinkRate // of what leaves; zero: as fast as the interface takes it
	Buffer    unit.Length   // of the port as a whole
	Queue     unit.Length   // of each of its queues; zero: no other bound than Buffer
}

// Config is a switch as its file has it.
type Config struct {
	Ports     []Port // in the file's order
	Programs  []experiment.NamedProgram
	Queues    int // a port
	Scheduler string
	Framing   packet.Framing
	Behind    int            // port behind which users are; −1: users are sources
	Users     int            // how many addresses of users have room
	Metrics   netip.AddrPort // where metrics are served; invalid: nowhere
	User      string         // whom the processes run as
	Resolved  string         // the file with all defaults

	scheduler func(queues int, r unit.LinkRate) (tm.Scheduler, error)
}

// Bounds of a file.
const (
	mostPorts  = 16
	mostUsers  = 1 << 16
	mostBuffer = 1_000_000 // packets
	fullFrame  = 1514      // bytes of the largest frame with 1500 bytes of IP
	longest    = 15        // characters of an interface's name (IFNAMSIZ)
)

// unshaped is the rate of a port that has none: no frame waits for the one before.
var unshaped = unit.LinkRate{Bits: 400 * unit.Gbps}

// DefaultMetrics is where metrics are if the file does not say where.
const DefaultMetrics = "127.0.0.1:9465"

var (
	topKeys  = []string{"ports", "switch", "queues", "scheduler", "framing", "users", "metrics", "user"}
	portKeys = []string{"interface", "rate", "buffer", "queue"}
)

const portExample = "{interface: eth1, rate: 50Mbps, buffer: 100 packets}"

// unfit are programs of experiments that a bridge has no use for, and why.
var unfit = func() map[string]string {
	const (
		paths = "it chooses among the paths of a network, and a bridge has one"
		hosts = "it sends messages to hosts that have to know what they mean"
	)
	m := map[string]string{
		"pfc":           "it stops neighbours, who have to know that",
		"shared_buffer": "a bridge's ports have buffers of their own; say them under ports",
	}
	for _, name := range []string{"conga", "drill", "ecmp", "hula", "letflow", "p4te", "spray", "wecmp"} {
		m[name] = paths
	}
	for _, name := range []string{"fast_cnp", "ncf", "ndp"} {
		m[name] = hosts
	}
	return m
}()

// registry is that of experiments, with the bridge's own forwarding and without what does
// not fit. Unfit names stay known, to say why.
func registry(r *experiment.Registry) *experiment.Registry {
	own := *r
	own.Programs = nil
	for _, s := range r.Programs {
		if s.Name == "forward" {
			s = forwardScheme()
		}
		own.Programs = append(own.Programs, s)
	}
	return &own
}

// Decode reads a switch's file. Its errors are experiment.InputErrors.
func Decode(r *experiment.Registry, file string, data []byte) (*Config, error) {
	doc := experiment.ParseDocument(registry(r), "switch", "ports, switch, …", file, data)
	c := &Config{Behind: -1}
	root := doc.Root()
	if doc.OK() && root.Keys("key", topKeys...) {
		c.decode(doc)
	}
	if doc.OK() {
		c.try()
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	c.Resolved = doc.Resolved()
	return c, nil
}

func (c *Config) decode(doc *experiment.Document) {
	root := doc.Root()
	if v, ok := root.Need("ports", "key", topKeys, "ports: {name: "+portExample+", …}"); ok {
		c.ports(v)
	}
	c.Queues = root.Default("queues", "1", "ours").Integer(1, tm.MaxQueues)
	standard := "fifo"
	if c.Queues > 1 {
		standard = "strict"
	}
	c.scheduler, c.Scheduler = root.Default("scheduler", standard,
		"ours: one queue, or strict priority").Scheduler(c.Queues)
	framing := root.Default("framing", "l2", "ours: frames without FCS, what Linux counts")
	var names []string
	for _, f := range packet.Framings {
		if !f.Fixed() {
			names = append(names, f.Name)
		}
	}
	c.Framing, _ = packet.FramingByName(framing.Word("framing", names))
	if v, ok := root.Need("switch", "key", topKeys, "switch: [forward, …]"); ok {
		c.programs(v, doc.OK)
	}
	c.Users = 4096
	if v, ok := root.Get("users"); ok && v.Keys("key of users", "behind", "most") {
		c.Users = v.Default("most", "4096", "ours").Integer(1, mostUsers)
		if at, ok := v.Get("behind"); ok {
			var ports []string
			for _, p := range c.Ports {
				ports = append(ports, p.Name)
			}
			c.Behind = slices.Index(ports, at.Word("port", ports))
		}
	}
	metrics := root.Default("metrics", DefaultMetrics, "ours: loopback")
	if text := metrics.Text(); text != "none" {
		var err error
		if c.Metrics, err = address4(text); err != nil {
			metrics.Fail("an address with a port such as 127.0.0.1:9465, a port, none", "%v", err)
		}
	}
	user := root.Default("user", "nobody", "ours")
	if c.User = user.Text(); c.User == "root" || c.User == "0" {
		user.Fail("a user without rights", "the switch gives root's rights up")
	} else if c.User == "" {
		user.Fail("the name of a user", "this is no name")
	}
}

// address4 reads where metrics are to be.
func address4(text string) (netip.AddrPort, error) {
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if n, err := strconv.ParseUint(text, 10, 16); err == nil && n > 0 {
		return netip.AddrPortFrom(loopback, uint16(n)), nil
	}
	if port, ok := strings.CutPrefix(text, "localhost:"); ok {
		text = "127.0.0.1:" + port
	}
	a, err := netip.ParseAddrPort(text)
	if err == nil && a.Port() == 0 {
		err = errors.New("port 0 cannot be asked for")
	}
	if err != nil {
		return a, fmt.Errorf("%q is no address with a port", text)
	}
	return a, nil
}

func (c *Config) ports(v experiment.Value) {
	taken := map[string]string{}
	for _, f := range v.Fields("name: " + portExample) {
		if len(c.Ports) == mostPorts {
			f.Key.Fail(fmt.Sprintf("%d ports at most", mostPorts), "there are too many ports")
			return
		}
		if !word(f.Name) {
			f.Key.Fail("letters, digits, - and _", "a port cannot be called %q", f.Name)
		}
		p := Port{Name: f.Name}
		if f.Value.Keys("key of a port", portKeys...) {
			if x, ok := f.Value.Need("interface", "key of a port", portKeys, "interface: eth1"); ok {
				p.Interface = x.Text()
				switch other, again := taken[p.Interface]; {
				case p.Interface == "" || len(p.Interface) > longest || strings.ContainsAny(p.Interface, "/ \t\n:") ||
					p.Interface == "." || p.Interface == "..":
					x.Fail(fmt.Sprintf("up to %d characters without /, : and space", longest), "no interface can be called %q",
						p.Interface)
				case again:
					x.Fail("another interface", "interface %s is that of port %s already", p.Interface, other)
				}
				taken[p.Interface] = p.Name
			}
			if x, ok := f.Value.Get("rate"); ok {
				p.Rate = x.LinkRate()
			}
			p.Buffer = bound(f.Value.Default("buffer", "100 packets", "ours: 24 ms of full frames at 50 Mb/s"))
			if x, ok := f.Value.Get("queue"); ok {
				p.Queue = bound(x)
			}
		}
		c.Ports = append(c.Ports, p)
	}
	if len(c.Ports) < 2 {
		v.Fail("two ports at least", "ports to switch between are missing: there are %d", len(c.Ports))
	}
}

// bound is that of a queue: it holds a full frame, and memory holds it.
func bound(v experiment.Value) unit.Length {
	l := v.Buffer()
	switch {
	case l.Bytes > 0 && l.Bytes < fullFrame:
		v.Fail(fmt.Sprintf("at least %d B, or a number of packets", fullFrame), "a buffer of %v is below a full frame",
			l.Bytes)
	case l.Packets > mostBuffer || l.Bytes > mostBuffer*fullFrame:
		v.Fail(fmt.Sprintf("up to %d packets", mostBuffer), "this buffer is too large")
	}
	return l
}

// word tells whether s can be a name in metrics and messages.
func word(s string) bool {
	return s != "" && len(s) <= 40 &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

func (c *Config) programs(v experiment.Value, ok func() bool) {
	c.Programs = v.Programs()
	forwards := false
	for i, p := range c.Programs {
		name := p.Scheme.Name
		forwards = forwards || name == "forward"
		why := unfit[name]
		if why == "" && p.Scheme.Telemetry != nil {
			why = "it writes telemetry into packets for hosts that read it"
		}
		if why != "" {
			p.At.Fail("programs that a bridge can run: "+strings.Join(fit(v), ", "), "%s is not for a switch on its own: %s",
				name, why)
		}
		if name == "abc" && p.Values.Text("role") != "alone" {
			p.At.Fail("role: alone", "role %s of abc puts activities into packets, which an access link has no room for",
				p.Values.Text("role"))
		}
		for _, q := range c.Programs[:i] {
			if q.Scheme.Name == name {
				p.At.Fail("each program once", "%s is here a second time", name)
			}
		}
	}
	if !forwards && ok() {
		v.Fail("[forward, …]", "no program forwards")
	}
}

// fit lists programs that a bridge can run.
func fit(v experiment.Value) (names []string) {
	for _, s := range v.Known() {
		if unfit[s.Name] == "" && s.Telemetry == nil {
			names = append(names, s.Name)
		}
	}
	sort.Strings(names)
	return names
}

// try builds the programs once, for what only they can tell.
func (c *Config) try() {
	u := newUsers(1, 0)
	site := &dataplane.Site{Switch: "switch", Ports: len(c.Ports), Book: u.book, Queues: c.Queues, Framing: c.Framing,
		MaxFrame: c.Framing.Frame(fullFrame, 0, true), Random: func(string) unit.Random {
			return unit.NewRandom(1, "switch")
		}}
	for _, p := range c.links() {
		s, err := c.scheduler(c.Queues, p.Rate)
		if err != nil {
			continue // it has been said
		}
		site.At = append(site.At, tm.NewPort(tm.NewBuffer(c.Queues, p.Queue, p.Buffer), s, p.Rate))
		site.Lines = append(site.Lines, dataplane.Line{Rate: p.Rate})
	}
	for _, p := range c.Programs {
		if _, err := p.Scheme.Build(site, p.Values); err != nil {
			p.At.Fail("", "%v", err)
		}
	}
}

// links are the ports as the data plane has them.
func (c *Config) links() (all []lab.BridgePort) {
	limit := func(l unit.Length) tm.Limit { return tm.Limit{Packets: l.Packets, Bytes: l.Bytes} }
	for _, p := range c.Ports {
		rate := p.Rate
		if rate == (unit.LinkRate{}) {
			rate = unshaped
		}
		all = append(all, lab.BridgePort{Name: p.Name, Rate: rate, Buffer: limit(p.Buffer), Queue: limit(p.Queue)})
	}
	return all
}

// Keeps tells whether a running switch can go over to next; the error says what would have
// to stay as it is.
func (c *Config) Keeps(next *Config) error {
	describe := func(c *Config) (s []string) {
		for _, p := range c.Ports {
			s = append(s, p.Name+" = "+p.Interface)
		}
		return s
	}
	behind := func(c *Config) string {
		if c.Behind < 0 {
			return "no port"
		}
		return c.Ports[c.Behind].Name
	}
	for _, x := range []struct{ what, was, is string }{
		{"ports and their interfaces", strings.Join(describe(c), ", "), strings.Join(describe(next), ", ")},
		{"queues", strconv.Itoa(c.Queues), strconv.Itoa(next.Queues)},
		{"scheduler", c.Scheduler, next.Scheduler},
		{"framing", c.Framing.Name, next.Framing.Name},
		{"users.behind", behind(c), behind(next)},
		{"users.most", strconv.Itoa(c.Users), strconv.Itoa(next.Users)},
		{"metrics", c.Metrics.String(), next.Metrics.String()},
		{"user", c.User, next.User},
	} {
		if x.was != x.is {
			return fmt.Errorf("%s cannot change while the switch runs (%s; the file now says %s): stop it and start it again",
				x.what, x.was, x.is)
		}
	}
	return nil
}
