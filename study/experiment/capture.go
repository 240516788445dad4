package experiment

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/pcapng/pcapflows"
)

// Values of the key `as`: how a capture becomes traffic.
const (
	asPackets = "packets" // each IP packet becomes a datagram of the same size at the same time
	asFlows   = "flows"   // each TCP connection becomes one flow in each direction
)

// captureDecoder reads traffics that are defined by a capture.
type captureDecoder struct {
	*reader
	nodes  *nodeNames
	parsed map[string]*pcapflows.Source // by file and selection
}

// isCapture reports whether a traffic's file is a capture: by the key `as`, or by its extension. A capture without `as`
// is an error, but isCapture returns true.
func (d *captureDecoder) isCapture(x document.Map) bool {
	if as := x.Get("as"); as != nil {
		return true
	}
	file := x.Get("file")
	if ext := path.Ext(d.ReadText(file)); ext == ".pcapng" || ext == ".pcap" {
		d.Fail(x.Position, "as: flows or as: packets",
			"%q is a packet capture; the key as is missing, which selects its TCP connections or its packets", file.Text)
		return true
	}
	return false
}

// readFile reads a traffic that is defined by a capture, and adds it and its flows to the point. After an error the
// flows may be missing.
func (d *captureDecoder) readFile(x document.Map, p *Point, tr Traffic) {
	for _, k := range traffic.KeyNames(notInFlowFile) {
		if v := x.Get(k); v != nil {
			d.Fail(v.Position, "remove "+k+", or remove file and as",
				"%q is given together with a capture, which already has the flows or packets", k)
		}
	}
	for _, k := range []string{"format", "time_unit", "rest"} {
		if v := x.Get(k); v != nil {
			d.Fail(v.Position, "no "+k, "a capture states its own format (pcapng or pcap)")
		}
	}
	if x.Get("as") == nil {
		return // isCapture has reported this error
	}
	c := &captureTraffic{captureDecoder: d, x: x, p: p, tr: &tr, as: d.readWord(x.Get("as"), traffic, "as")}
	offset := document.ReadValue(d.Reader, x.GetDefault("offset"), unit.ParseTime)
	c.readHosts()
	s := c.readCapture()
	if s == nil || !d.entryOK() || !c.mapAddresses(s) {
		return
	}
	id := len(p.entries)
	p.entries = append(p.entries, tr)
	if c.as == asFlows {
		c.addFlows(s, id, offset)
	} else {
		c.addPackets(s, id, offset)
	}
	if d.entryOK() {
		c.addWarnings(s)
	}
}

// captureTraffic is the state of reading one traffic from a capture.
type captureTraffic struct {
	*captureDecoder
	x     document.Map
	p     *Point
	tr    *Traffic
	as    string
	given []hostPrefix // hosts that the key `hosts` assigns to addresses
	host  []int        // node by address of the capture; −1: no host
	name  string       // of the file
	left  []pcapflows.Omission
	short int // number of packets that are shorter than the smallest datagram
	late  int // number of packets or flows after the end of the run
}

// hostPrefix is a host that an address prefix stands for.
type hostPrefix struct {
	netip.Prefix
	node int
}

// readHosts reads `hosts`, which maps addresses to hosts, into c.given. A prefix must not have bits beyond its length.
// Without the key, c.given stays nil.
func (c *captureTraffic) readHosts() {
	v := c.x.Get("hosts")
	if v == nil {
		return
	}
	const allowed = "{10.0.0.1: client, 10.1.0.0/16: server}"
	if v.Kind != document.Mapping || len(v.Keys) == 0 {
		c.Fail(v.Position, allowed, "hosts of a capture is not a map from addresses or prefixes to hosts")
		return
	}
	n := c.p.measured.Network
	for _, e := range c.x.GetEntries("hosts") {
		prefix, err := netip.ParsePrefix(e.Name)
		if address, wrong := netip.ParseAddr(e.Name); wrong == nil && address.Zone() == "" {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil || prefix != prefix.Masked() {
			c.Fail(e.Position, allowed, "%q is neither an address nor a prefix", e.Name)
			continue
		}
		i, ok := c.nodes.directory.indexNetwork(n).nodes[c.ReadText(e.Value)]
		switch {
		case !ok:
			c.FailUnknown(e.Value.Position, "host", e.Value.Text, c.nodes.directory.hosts)
			continue
		case n.Nodes[i].Switch:
			c.Fail(e.Value.Position, document.JoinNear(e.Value.Text, c.nodes.directory.hosts),
				"%q is a switch; flows go from host to host",
				e.Value.Text)
			continue
		}
		c.given = append(c.given, hostPrefix{prefix, i})
	}
}

// readCapture reads the capture and sets c.name to its file; nil after an error. It caches captures for the other
// points of a sweep.
func (c *captureTraffic) readCapture() *pcapflows.Source {
	want := pcapflows.Selection{Flows: c.as == asFlows}
	if v := c.x.Get("port"); v != nil {
		want.Port = uint16(c.ReadInteger(v, 1, 65535))
	}
	patterns := c.readInterfaces()
	if len(patterns) > 0 {
		want.WantsInterface = func(name string) bool {
			return slices.ContainsFunc(patterns, func(pattern string) bool {
				ok, err := path.Match(pattern, name)
				return pattern == name || ok && err == nil
			})
		}
	}
	file := c.x.Get("file")
	data, name := c.openFile(file)
	if c.name = name; !c.OK() {
		return nil
	}
	key := fmt.Sprintf("%x %s %d %q", sha256.Sum256(data), c.as, want.Port, patterns)
	if s := c.parsed[key]; s != nil {
		return s
	}
	s, err := pcapflows.Read(data, want)
	if err != nil {
		c.Fail(file.Position, "", "%s: %v", file.Text, err)
		return nil
	}
	if c.parsed == nil {
		c.parsed = map[string]*pcapflows.Source{}
	}
	c.parsed[key] = s
	return s
}

// readInterfaces reads patterns of the capture's interfaces that count; nil: all count. It reports an error for an
// invalid pattern.
func (c *captureTraffic) readInterfaces() (patterns []string) {
	v := c.x.Get("interfaces")
	if v == nil {
		return nil
	}
	items := []*document.Node{v}
	if v.Kind == document.List {
		items = v.Items
	}
	for _, y := range items {
		pattern := c.ReadText(y)
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			c.Fail(y.Position, "a name or a pattern, such as eth0 or eth*",
				"%q is neither the name of an interface nor a pattern", pattern)
		}
		patterns = append(patterns, pattern)
	}
	return patterns
}

// mapAddresses sets c.host, the host of each address: by the longest prefix of `hosts`, or without this key in the
// order of addresses and hosts. An address without a host gets −1. It reports an error if `hosts` is required or has an
// entry without packets, and then returns false.
func (c *captureTraffic) mapAddresses(s *pcapflows.Source) bool {
	n := c.p.measured.Network
	c.host = make([]int, len(s.Addresses))
	if c.given == nil {
		var hosts []int
		for i := range n.Nodes {
			if !n.Nodes[i].Switch {
				hosts = append(hosts, i)
			}
		}
		if len(s.Addresses) > len(hosts) {
			c.Fail(c.x.Position, "hosts: {"+s.Addresses[0].String()+": "+n.Nodes[hosts[0]].Name+", …}",
				"%s has packets of %d addresses, but the topology has %d hosts; assign addresses to hosts with the key hosts",
				c.name,
				len(s.Addresses), len(hosts))
			return false
		}
		copy(c.host, hosts)
		return true
	}
	used := make([]bool, len(c.given))
	for i, a := range s.Addresses {
		c.host[i] = -1
		best := -1
		for k, m := range c.given {
			if m.Contains(a) && (best < 0 || m.Bits() > c.given[best].Bits()) {
				best = k
			}
		}
		if best >= 0 {
			c.host[i], used[best] = c.given[best].node, true
		}
	}
	for k, is := range used {
		if !is {
			c.Fail(c.x.GetEntries("hosts")[k].Position, joinAddresses(s.Addresses), "%s has no usable packet of %v",
				c.name,
				c.given[k].Prefix)
			return false
		}
	}
	return true
}

// joinAddresses returns a list of addresses as text, at most eight and their total number.
func joinAddresses(addresses []netip.Addr) string {
	const maxShown = 8
	var words []string
	for i, a := range addresses {
		if i == maxShown {
			words = append(words, "… ("+strconv.Itoa(len(addresses))+")")
			break
		}
		words = append(words, a.String())
	}
	return strings.Join(words, ", ")
}

// countLeft counts a packet or flow that is omitted in c.left, by the reason.
func (c *captureTraffic) countLeft(reason string) {
	i := slices.IndexFunc(c.left, func(l pcapflows.Omission) bool { return l.Why == reason })
	if i < 0 {
		i = len(c.left)
		c.left = append(c.left, pcapflows.Omission{Why: reason})
	}
	c.left[i].Packets++
}

// findHosts returns the hosts of a packet or flow; false: it is omitted, or has no path. It counts what it omits. A
// time after the end of the run counts as late, and ok is still true.
func (c *captureTraffic) findHosts(from, to int32, time, offset unit.Time) (src, dst int, ok bool) {
	src, dst = c.host[from], c.host[to]
	switch {
	case src < 0 || dst < 0:
		c.countLeft("from or to an address that the key hosts does not list")
	case src == dst:
		c.countLeft("within one host")
	case time < offset:
		c.countLeft("before the offset")
	case !c.nodes.checkPath(c.x.Get("file").Position, c.p, src, dst):
	default:
		if time-offset >= c.p.measured.End() {
			c.late++
		}
		return src, dst, true
	}
	return 0, 0, false
}

// addFlows adds a flow for each direction of a connection that carried data, to traffic id. The time offset is
// subtracted from their starts. It reports an error if no flow is left.
func (c *captureTraffic) addFlows(s *pcapflows.Source, id int, offset unit.Time) {
	if !c.checkFlowCount(c.x.Get("file").Position, c.p, float64(len(s.Flows))) {
		return
	}
	index := 0
	for _, f := range s.Flows {
		src, dst, ok := c.findHosts(f.Src, f.Dst, f.Start, offset)
		if !ok {
			continue
		}
		c.p.flows.addFlow(Flow{Traffic: id, Index: index, Src: src, Dst: dst, Size: unit.Bytes(f.Bytes), Fixed: true,
			Start: f.Start - offset, captured: true})
		index++
	}
	if index == 0 && c.OK() {
		c.Fail(c.x.Get("file").Position, "a capture with TCP connections, or as: packets",
			"%s has no usable TCP connection (%s)", c.name,
			c.listLeft(s))
	}
}

// addPackets adds a flow for each pair of hosts, with its packets as datagrams. A flow begins with its first packet,
// and offset is subtracted from its start. Smaller packets get the smallest payload. A packet larger than the traffic's
// MTU, and a capture without usable packets, are errors.
func (c *captureTraffic) addPackets(s *pcapflows.Source, id int, offset unit.Time) {
	headers := int32(packet.IPv4Header)
	if c.tr.measured.Version == 6 {
		headers = packet.IPv6Header
	}
	headers += packet.UDPHeader
	var order [][2]int
	made := map[[2]int]*Flow{}
	for _, x := range s.Packets {
		src, dst, ok := c.findHosts(x.Src, x.Dst, x.At, offset)
		if !ok {
			continue
		}
		payload := x.Length - headers
		if payload > c.tr.measured.Payload {
			c.Fail(c.x.Get("file").Position, fmt.Sprintf("mtu: %d B, as: flows, or a capture taken after segmentation",
				x.Length),
				"block %d of %s has an IP packet of %d bytes, but packets of the traffic have at most %d bytes", x.Block,
				c.name, x.Length,
				c.tr.measured.Payload+headers)
			return
		}
		if payload < minCaptured {
			payload = minCaptured
			c.short++
		}
		f := made[[2]int{src, dst}]
		if f == nil {
			f = &Flow{Traffic: id, Index: len(order), Src: src, Dst: dst, Fixed: true, Start: x.At - offset, captured: true}
			made[[2]int{src, dst}] = f
			order = append(order, [2]int{src, dst})
		}
		f.Size += unit.Bytes(payload)
		f.script = append(f.script, transport.Datagram{Offset: x.At - offset - f.Start, Payload: payload})
	}
	if !c.checkFlowCount(c.x.Get("file").Position, c.p, float64(len(order))) {
		return
	}
	for _, pair := range order {
		c.p.flows.addFlow(*made[pair])
	}
	if len(order) == 0 && c.OK() {
		c.Fail(c.x.Get("file").Position, "a capture with IP packets between hosts", "%s has no usable packet (%s)", c.name,
			c.listLeft(s))
	}
}

// minCaptured is the smallest payload of a datagram (udp.MinCaptured).
const minCaptured = 16

// listLeft returns what was omitted, as text: the number of packets or flows for each reason.
func (c *captureTraffic) listLeft(s *pcapflows.Source) string {
	var words []string
	for _, l := range slices.Concat(s.Omissions, c.left) {
		words = append(words, fmt.Sprintf("%d %s", l.Packets, l.Why))
	}
	if len(words) == 0 {
		return "it has no packets"
	}
	return strings.Join(words, ", ")
}

// addWarnings warns about differences between the traffic and the capture.
func (c *captureTraffic) addWarnings(s *pcapflows.Source) {
	warn := func(kind scheme.WarningKind, format string, args ...any) {
		c.warn(kind, c.x.Get("file").Position, "traffic %s: %s: %s", c.tr.measured.Name, c.x.Get("file").Text,
			fmt.Sprintf(format, args...))
	}
	if len(s.Omissions)+len(c.left) > 0 {
		warn(warnCaptureLeft, "packets are left out: %s", c.listLeft(s))
	}
	if c.as == asPackets && s.Interfaces > 1 && c.x.Get("interfaces") == nil {
		warn(warnCaptureInterfaces, "packets of %d interfaces are used, so a packet that passed two of them counts twice; "+
			"select interfaces with the key interfaces",
			s.Interfaces)
	}
	if c.short > 0 {
		warn(warnCaptureShort, "%d packets are shorter than the smallest datagram and are sent with %d B of payload",
			c.short, minCaptured)
	}
	if c.late > 0 {
		warn(warnCaptureLate, "%d %s begin after the end of the run and are left out", c.late, c.as)
	}
	if s.Unopened > 0 {
		warn(warnCaptureMidway, "%d of %d connections have no SYN in the capture; their bytes count from the first segment "+
			"on",
			s.Unopened, s.Connections)
	}
	if s.Missing > 0 {
		warn(warnCaptureMissing, "%v of TCP streams are missing from the capture but count, since the bytes before and "+
			"after them were delivered", unit.Bytes(s.Missing))
	}
}

// Script returns the datagrams of a flow from a capture; nil for other flows.
func (f *Flow) Script() []transport.Datagram { return slices.Clone(f.script) }

// CountDatagrams returns the number of datagrams of a flow from a capture; 0 for other flows.
func (f *Flow) CountDatagrams() int { return len(f.script) }

// Duration returns the time from the first datagram to the last one; 0 without datagrams.
func (f *Flow) Duration() unit.Time {
	if len(f.script) == 0 {
		return 0
	}
	return f.script[len(f.script)-1].Offset
}

// peak is the interval over which PeakRates averages.
const peak = 100 * unit.Millisecond

// PeakRates returns the highest rates of datagrams and of payload bytes over 100 ms, both per second; 0 for flows that
// are not from a capture.
func (f *Flow) PeakRates() (datagrams, bytes float64) {
	first, sum := 0, int64(0)
	for i, d := range f.script {
		sum += int64(d.Payload)
		for f.script[first].Offset <= d.Offset-peak {
			sum -= int64(f.script[first].Payload)
			first++
		}
		datagrams, bytes = max(datagrams, float64(i+1-first)), max(bytes, float64(sum))
	}
	return datagrams / peak.Seconds(), bytes / peak.Seconds()
}
