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
	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/switchfile"
	"weir/worlds/live"
	"weir/worlds/switch/control"
	"weir/worlds/switch/frames"
)

// Port configures a port of the switch.
type Port struct {
	Name      string
	Interface string
	Rate      unit.LinkRate // of departures; zero: as fast as the interface accepts
	Buffer    unit.Length   // limit of the whole port
	Queue     unit.Length   // limit of each queue; zero: only Buffer limits it
}

// Config is the content of a switch's file.
type Config struct {
	Ports     []Port // in the file's order
	Programs  []switchfile.Program
	Queues    int // number per port
	Scheduler string
	Framing   packet.Framing
	Users     frames.Rules   // how frames are assigned to users
	Metrics   netip.AddrPort // address of the metrics server; invalid: no metrics
	User      string         // user of the processes
	Resolved  string         // the file with all defaults

	remarks         []document.Warning  // warnings of programs with their places
	mtus            []int               // MTUs of the ports' interfaces; nil: unknown
	metrics         []dataplane.Metric  // metrics of all programs
	usersPlace      document.Position   // place of users, or else the file's
	usersGiven      bool                // the file declares users
	rates           []document.Position // places of the ports' rates
	scheduler       switchfile.NewScheduler
	schedulerChoice *switchfile.SchedulerChoice
}

// Limits of a file.
const (
	maxBuffer        = 1_000_000 // packets
	fullFrame        = 1514      // bytes of the largest frame with 1500 bytes of IP
	maxInterfaceName = 15        // characters of an interface name (IFNAMSIZ)
)

// unshaped is the rate of a port without a rate: frames do not wait for each other.
var unshaped = unit.LinkRate{Bits: 400 * unit.Gbps}

// Names of the switch's own metrics.
const (
	MetricBuildInfo = "weir_build_info"
	MetricsPrefix   = "weir_switch_"
)

// defaultMetrics is the address of metrics in a file without one.
const defaultMetrics = "127.0.0.1:9465"

var (
	topKeys  = []string{"ports", "switch", "queues", "scheduler", "framing", "users", "metrics", "user"}
	portKeys = []string{"interface", "rate", "buffer", "queue"}
)

const portExample = "{interface: eth1, rate: 50Mbps, buffer: 100 packets}"

// Schemes lists the programs and schedulers that a switch's file can name.
type Schemes struct {
	Programs   []dataplane.Scheme
	Schedulers []tm.Scheme
}

// withBridge returns the schemes with the bridge's own forwarding. Schemes that require a network stay, so that
// the error can explain it.
func (s Schemes) withBridge() Schemes {
	s.Programs = slices.Clone(s.Programs)
	bridge := forwardScheme()
	for i := range s.Programs {
		if s.Programs[i].Name == bridge.Name {
			s.Programs[i] = bridge
		}
	}
	return s
}

// fileKind is the name of a switch's file in messages.
var fileKind = document.FileKind{Name: "switch", Whole: "a switch file", First: "ports, switch, …"}

// decoder decodes a switch's file into c.
type decoder struct {
	*document.Reader
	known Schemes
	c     *Config
}

// Decode decodes a switch's file with content data and checks it, as far as that needs no machine: it also builds its
// programs once. file is the name in messages. Its errors are document.InputErrors, with all mistakes found.
func Decode(s Schemes, file string, data []byte) (*Config, error) {
	d := &decoder{document.NewReader(fileKind), s.withBridge(), &Config{}}
	root := document.Parse(d.Reader, file, data)
	if d.OK() && d.CheckKeys(root, "key", topKeys) {
		d.decodeKeys(root)
	}
	if d.OK() {
		d.checkSchemes()
		if d.OK() { // a scheme that failed its check would fail here again with a less precise error
			d.buildOnce()
		}
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	var b strings.Builder
	root.WriteYAML(&b, 0)
	d.c.Resolved = b.String()
	return d.c, nil
}

// requireKey returns the value of a key of t, and whether t has it. It reports an error if a mapping lacks the key.
// what describes the key, known lists the possible keys, and allowed is an example.
func (d *decoder) requireKey(t *document.Node, key, what string, known []string,
	allowed string) (*document.Node, bool) {
	v := t.Find(key)
	if v == nil && t.Kind == document.Mapping {
		d.FailMissing(t, key, what, known, allowed, "%s is missing", key)
	}
	return v, v != nil
}

// decodeKeys decodes all keys of the file into d.c, and adds missing ones with their defaults to the document.
func (d *decoder) decodeKeys(root *document.Node) {
	c := d.c
	if t, ok := d.requireKey(root, "ports", "key", topKeys, "ports: {name: "+portExample+", …}"); ok {
		d.decodePorts(t)
	}
	c.Queues = switchfile.ReadQueueCount(d.Reader, d.ReadDefault(root, "queues", "1", "Weir"))
	standard := "fifo"
	if c.Queues > 1 {
		standard = "strict"
	}
	scheduler := d.ReadDefault(root, "scheduler", standard, "Weir: one queue, or strict priority")
	if s := switchfile.ReadScheduler(d.Reader, d.known.Schedulers, scheduler, c.Queues); s != nil {
		c.scheduler, c.schedulerChoice = s.Make, s
	}
	c.Scheduler = scheduler.FormatFlow()
	framing := d.ReadDefault(root, "framing", "l2", "Weir: frames without FCS, as Linux counts them")
	var names []string
	for _, f := range packet.Framings {
		if !f.IsFixed() {
			names = append(names, f.Name)
		}
	}
	c.Framing = switchfile.ReadFraming(d.Reader, framing, names)
	if t, ok := d.requireKey(root, "switch", "key", topKeys, "switch: [forward, …]"); ok {
		d.decodePrograms(t)
	}
	c.usersPlace = root.Position
	if t := root.Find("users"); t != nil {
		c.usersPlace, c.usersGiven = t.Position, true
	}
	d.decodeUsers(root.Find("users"), root.Position)
	metrics := d.ReadDefault(root, "metrics", defaultMetrics, "Weir: loopback")
	if text := d.ReadText(metrics); text != "none" {
		var err error
		if c.Metrics, err = parseMetricsAddress(text); err != nil {
			d.Fail(metrics.Position, "an address with a port such as 127.0.0.1:9465, a port, none", "%v", err)
		}
	}
	user := d.ReadDefault(root, "user", "nobody", "Weir")
	if c.User = d.ReadText(user); c.User == "root" || c.User == "0" {
		d.Fail(user.Position, "a user without rights", "the switch gives up root's rights, which this user has")
	} else if c.User == "" {
		d.Fail(user.Position, "the name of a user", "this is not a user name")
	}
}

// parseMetricsAddress parses the address of metrics: an address with a port, or a port of the loopback address. Port
// 0 is an error.
func parseMetricsAddress(text string) (netip.AddrPort, error) {
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if n, err := strconv.ParseUint(text, 10, 16); err == nil && n > 0 {
		return netip.AddrPortFrom(loopback, uint16(n)), nil
	}
	if port, ok := strings.CutPrefix(text, "localhost:"); ok {
		text = "127.0.0.1:" + port
	}
	a, err := netip.ParseAddrPort(text)
	if err == nil && a.Port() == 0 {
		err = errors.New("port 0 is not allowed")
	}
	if err != nil {
		return a, fmt.Errorf("%q is not an address with a port", text)
	}
	return a, nil
}

// decodePorts decodes the ports, from two up to control.MaxPorts, with different interfaces, and appends them to
// d.c.Ports. A port without a buffer gets the default, also in the document.
func (d *decoder) decodePorts(t *document.Node) {
	c := d.c
	if t.Kind != document.Mapping {
		d.Fail(t.Position, "name: "+portExample, "the value is %v", t.Kind)
	}
	taken := map[string]string{}
	for _, k := range t.Keys {
		if len(c.Ports) == control.MaxPorts {
			d.Fail(k.Position, fmt.Sprintf("up to %d ports", control.MaxPorts), "there are too many ports")
			return
		}
		if !isWord(k.Name) {
			d.Fail(k.Position, "letters, digits, - and _", "%q is not the name of a port", k.Name)
		}
		p, rate := Port{Name: k.Name}, k.Position
		if v := k.Value; d.CheckKeys(v, "port key", portKeys) {
			if x, ok := d.requireKey(v, "interface", "port key", portKeys, "interface: eth1"); ok {
				p.Interface = d.ReadText(x)
				switch other, exists := taken[p.Interface]; {
				case p.Interface == "" || len(p.Interface) > maxInterfaceName || strings.ContainsAny(p.Interface, "/ \t\n:") ||
					p.Interface == "." || p.Interface == "..":
					d.Fail(x.Position, fmt.Sprintf("up to %d characters without /, : and space", maxInterfaceName),
						"%q is not the name of an interface", p.Interface)
				case exists:
					d.Fail(x.Position, "another interface", "port %s already has the interface %s", other, p.Interface)
				}
				taken[p.Interface] = p.Name
			}
			if x := v.Find("rate"); x != nil {
				p.Rate, rate = document.ReadValue(d.Reader, x, unit.ParseLinkRate), x.Position
			}
			p.Buffer = d.decodeBound(d.ReadDefault(v, "buffer", "100 packets", "Weir: 24 ms of full frames at 50 Mb/s"))
			if x := v.Find("queue"); x != nil {
				p.Queue = d.decodeBound(x)
			}
		}
		c.Ports, c.rates = append(c.Ports, p), append(c.rates, rate)
	}
	if len(c.Ports) < 2 {
		d.Fail(t.Position, "at least two ports", "there are %d ports to switch between", len(c.Ports))
	}
}

// decodeBound reads the limit of a queue. It reports an error if the limit holds no full frame or more than maxBuffer
// packets.
func (d *decoder) decodeBound(t *document.Node) unit.Length {
	l := switchfile.ReadBuffer(d.Reader, t)
	switch {
	case l.Bytes > 0 && l.Bytes < fullFrame:
		d.Fail(t.Position, fmt.Sprintf("at least %d B, or a number of packets", fullFrame),
			"a buffer of %v is smaller than a full frame", l.Bytes)
	case l.Packets > maxBuffer || l.Bytes > maxBuffer*fullFrame:
		d.Fail(t.Position, fmt.Sprintf("up to %d packets", maxBuffer), "this buffer is too large")
	}
	return l
}

// isWord reports whether s can be a name in metrics and messages: 1 to 40 ASCII letters, digits, - and _.
func isWord(s string) bool {
	return s != "" && len(s) <= 40 &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// decodePrograms decodes the programs, and reports those that need a network and a list that does not forward
// packets.
func (d *decoder) decodePrograms(t *document.Node) {
	c := d.c
	c.Programs = switchfile.ReadPrograms(d.Reader, d.known.Programs, t, switchfile.Standalone)
	forwards := false
	for _, p := range c.Programs {
		forwards = forwards || p.Traits.Forwards
		if why := p.Traits.WhyNotStandalone; why != "" {
			d.Fail(p.Position, d.suggestAlternative(p.Scheme), "%s is not available in a standalone switch: %s",
				p.Scheme.Name, why)
		}
	}
	if !forwards && d.OK() {
		d.Fail(t.Position, "[forward, …]", "no program forwards packets")
	}
}

// suggestAlternative returns the alternatives to a program that cannot run standalone with its parameters: itself
// with other parameters, or programs that can run in a bridge with their defaults.
func (d *decoder) suggestAlternative(refused *dataplane.Scheme) string {
	var names []string
	for _, s := range d.known.Programs {
		switch {
		case dataplane.TraitsOf(s.NewConfig()).WhyNotStandalone != "":
		case s.Name == refused.Name:
			return s.Name + " with other parameters"
		default:
			names = append(names, s.Name)
		}
	}
	sort.Strings(names)
	return document.JoinChoices(names)
}

// checkSchemes lets the programs and the scheduler check the switch. Their errors are the file's; their warnings
// become d.c.remarks.
func (d *decoder) checkSchemes() {
	s := &dataplane.SwitchContext{Framing: d.c.Framing, Queues: d.c.Queues,
		QueueLimit: switchfile.QueueLimit(unit.Length{}, d.c.Programs, len(d.c.Ports)),
		Book:       frames.NewUsers(&d.c.Users, 0).Book}
	for _, p := range d.c.Ports {
		rate := p.Rate
		if rate == (unit.LinkRate{}) {
			rate = unshaped
		}
		s.Ports = append(s.Ports, dataplane.Peer{To: p.Name, Rate: rate, Buffer: p.Buffer})
	}
	warn := func(w document.Warning, _ float64) { d.c.remarks = append(d.c.remarks, w) }
	for i := range d.c.Programs {
		d.c.Programs[i].ReportRemarks(d.Reader, s, warn)
	}
	if x := d.c.schedulerChoice; x != nil {
		x.ReportRemarks(d.Reader, s, warn)
	}
}

// buildOnce builds the programs and schedulers once, for errors that only building finds, and collects the programs'
// metrics in d.c.metrics. What it has built is dropped.
func (d *decoder) buildOnce() {
	c := d.c
	u := frames.NewUsers(&c.Users, 0)
	b := c.bridgeConfig(1, fullFrame, u, func(site *dataplane.Site) ([]dataplane.Program, error) {
		for _, p := range c.Programs {
			x, err := p.Scheme.Build(site, p.Config)
			if err == nil {
				err = c.addMetrics(x)
			}
			if err != nil {
				d.Fail(p.Position, "", "%v", err)
			}
		}
		return nil, nil
	})
	for i, p := range b.Ports {
		if _, err := c.scheduler(c.Queues, p.Rate); err != nil {
			d.Fail(c.rates[i], "", "port %s: scheduler %s: %v", p.Name, c.schedulerChoice.Scheme.Name, err)
		}
	}
	b.Scheduler = func(queues int, r unit.LinkRate) (tm.Scheduler, error) {
		s, err := c.scheduler(queues, r)
		if err != nil {
			s = tm.NewFIFO() // the error is reported above
		}
		return s, nil
	}
	b.Switch() // programs have reported their errors above
}

// bridgeConfig returns the data plane's configuration for frames of up to maxFrame bytes, with tags. programs builds
// its programs. seed determines all random numbers.
func (c *Config) bridgeConfig(seed uint64, maxFrame int, u *frames.Users,
	programs func(site *dataplane.Site) ([]dataplane.Program, error)) live.BridgeConfig {
	return live.BridgeConfig{
		Name: "switch", Seed: seed, Ports: c.bridgePorts(), MaxFrame: maxFrame, Framing: c.Framing, Book: u.Book,
		SwitchConfig: wiring.SwitchConfig{
			Programs: programs, Queues: c.Queues, Scheduler: c.scheduler, Codec: frames.NewCodec(u),
		},
	}
}

// addMetrics adds the metrics of a program, if it has any. It returns an error unless they differ from other programs'
// and the switch's own.
func (c *Config) addMetrics(p dataplane.Program) error {
	x, ok := p.(dataplane.Metered)
	if !ok {
		return nil
	}
	c.metrics = append(c.metrics, x.Metrics()...)
	if err := dataplane.CheckMetrics(c.metrics); err != nil {
		return fmt.Errorf("%s: %w", p.Name(), err)
	}
	for _, m := range x.Metrics() {
		switch {
		case len(m.Name) > control.MaxText:
			return fmt.Errorf("%s: metric %s has a name of more than %d characters", p.Name(), m.Name, control.MaxText)
		case strings.HasPrefix(m.Name, MetricsPrefix) || m.Name == MetricBuildInfo:
			return fmt.Errorf("%s: metric %s has the name of a metric of the switch", p.Name(), m.Name)
		}
	}
	return nil
}

// bridgePorts returns the ports for the data plane. A port without a rate is unshaped, and MTU is 0 if it is unknown.
func (c *Config) bridgePorts() (all []live.BridgePort) {
	limit := func(l unit.Length) tm.Limit { return tm.Limit{Packets: l.Packets, Bytes: l.Bytes} }
	for i, p := range c.Ports {
		rate, mtu := p.Rate, 0
		if rate == (unit.LinkRate{}) {
			rate = unshaped
		}
		if i < len(c.mtus) {
			mtu = c.mtus[i]
		}
		all = append(all, live.BridgePort{Name: p.Name, Rate: rate, Buffer: limit(p.Buffer), Queue: limit(p.Queue), MTU: mtu})
	}
	return all
}

// Warnings returns warnings of probable mistakes: remarks of programs, exempt frames that could fill a port, and
// users without protection for what they receive. It also warns of rates at which a full frame blocks a port for
// more than a second. maxFrame returns the bytes of such a frame at a port, without tags.
func (c *Config) Warnings(maxFrame func(port int) int) (warnings []document.Warning) {
	warnings = append(append(slices.Clone(c.remarks), c.exemptWarnings()...), c.receiverWarnings()...)
	for i, p := range c.Ports {
		frame := int64(c.Framing.FrameBytes(int32(maxFrame(i)), 0, true))
		if p.Rate.Bits == 0 || 8*frame <= int64(p.Rate.Bits) {
			continue
		}
		w := document.Warn(warnSlowFrame, c.rates[i], "port %s: a frame of %d bytes takes %d s at %v, during which no "+
			"other frame is sent", p.Name, frame, 8*frame/int64(p.Rate.Bits), p.Rate)
		w.Port = p.Name
		warnings = append(warnings, w)
	}
	return warnings
}

// ProgramMetrics returns the metrics of all programs.
func (c *Config) ProgramMetrics() []dataplane.Metric { return c.metrics }

// CheckReload returns an error if a running switch cannot change to next. The error names the key that must not change.
func (c *Config) CheckReload(next *Config) error {
	describe := func(c *Config) (s []string) {
		for _, p := range c.Ports {
			s = append(s, p.Name+" = "+p.Interface)
		}
		return s
	}
	for _, x := range []struct{ what, oldValue, newValue string }{
		{"ports and their interfaces", strings.Join(describe(c), ", "), strings.Join(describe(next), ", ")},
		{"queues", strconv.Itoa(c.Queues), strconv.Itoa(next.Queues)},
		{"scheduler", c.Scheduler, next.Scheduler},
		{"framing", c.Framing.Name, next.Framing.Name},
		{"users", c.Users.Fixed(), next.Users.Fixed()},
		{"metrics", c.Metrics.String(), next.Metrics.String()},
		{"user", c.User, next.User},
	} {
		if x.oldValue != x.newValue {
			return fmt.Errorf("%s cannot change while the switch runs (%s; the file now has %s); stop the switch and "+
				"start it again",
				x.what, x.oldValue, x.newValue)
		}
	}
	return nil
}
