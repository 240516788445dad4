package inband

import (
	"fmt"
	"strconv"
	"strings"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Program writes telemetry.
type Program struct {
	format        telemetry.Format
	clock         telemetry.Clock
	ports         []port
	id            uint32
	full          bool // the format is not HPCC's
	coded         bool // it has codes of rates
	updatesAlways bool // every packet changes loads or classes
	exact         bool // the clock is exact, and the format is HPCC's without loads and classes: a record is one word
	idle          unit.Time
}

// port is the program's state of an egress port. State that few packets need is separate, so that the rest of a
// switch's 16 ports fits into six cache lines of 64 bytes, not eighteen.
type port struct {
	rate  unit.Rate // for which code is valid
	code  uint8
	coded bool
	*rarePortState
}

// rarePortState is the part of a port's state that few packets need.
type rarePortState struct {
	mtu     int32 // max IP packet that may depart; 0: any
	load    telemetry.PortLoad
	classes []class // by queue, if the port's scheduler shares its rate; otherwise nil
	strict  int     // the number of first classes in strict priority
}

// class is the link that a class of a port has. A class with a share of the port's rate has the same share of the
// queues in strict priority, because the rate that they leave is divided in the same way. A class in strict priority
// has the whole rate, and the bytes of the queues before it.
type class struct {
	share         float64 // of the rate; 0: the class has strict priority
	txBytes       uint64
	fraction      uint64    // of a byte, in addition to txBytes, in 1/perByte
	lastDeparture unit.Time // when a packet of the class departed last
}

// perByte is the unit of class.fraction.
const perByte = 1 << 16

// addShare adds a share, 0 to 1, of a number of bytes to the class's sent bytes. It keeps the fraction of a byte.
func (c *class) addShare(bytes uint64, share float64) {
	c.fraction += bytes * uint64(share*perByte)
	c.txBytes += c.fraction / perByte
	c.fraction %= perByte
}

// Config selects the content of the telemetry, and its form.
type Config struct {
	Format         string     // a name of telemetry.Profiles
	Multi          int        // multiplier of the units of HPCC's format
	Hops           int        // max records in a packet; 0: the format's own number
	Fraction       string     // of IOAM's times: fractionNS or fractionUS
	Sojourn        bool       // records have the packet's time in the switch
	Base           float64    // of PINT's code
	T              unit.Time  // time over which loads are averaged; 0: no averages
	CongestedLoad  float64    // load from which on a port is congested
	CongestedQueue unit.Bytes // or queue
	Idle           unit.Time  // time after which a class leaves its share to the others; 0: never
	Identity       int        // identity of a standalone switch in its records
	MTU            unit.Bytes // max IP packet with its records; 0: the links' MTU
}

// Units of a time's fraction of a second in IOAM.
const (
	fractionNS = "ns"
	fractionUS = "us"
)

// Params binds the options of telemetry to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	var formats []string
	for _, x := range telemetry.Profiles {
		formats = append(formats, x.Name)
	}
	p.Text(&c.Format, "format", "hpcc",
		"format of the telemetry; ioam-gafni: bytes and speed in bits 12 and 13 of the trace type; ifa: without sent "+
			"bytes; ifa-ext: ifa with Weir's sent bytes; relative: no records, but the maximum load on the path (needs t)",
		"HPCC §4.1, figure 7; P4 INT v2.1; RFC 9197; draft-kumar-ippm-ifa; relative: draft-miao §9.1").Words(formats...)
	p.Int(&c.Multi, "multi", "1", "with format: hpcc: multiplier of its units, which are 128 B sent and 80 B queued; "+
		"raise it at fast ports, whose counters otherwise wrap within a round-trip time",
		"HPCC simulator: INT_MULTI; HPCC simulator run.py: the NIC's rate / 25 Gb/s").Min("1").Max("65536").
		When("format: hpcc", func() bool { return c.Format == "hpcc" })
	p.Int(&c.Hops, "hops", "0", "maximum number of records in a packet; 0: 16, but 5 with ioam, which reserves the "+
		"space at the sender",
		"P4 INT v2.1: Remaining Hop Count; RFC 9197 §4.4.1: RemainingLen; draft-kumar-ippm-ifa: Max Length").
		Min("0").Max(strconv.Itoa(telemetry.MaxHops)).
		When("format: int-md, ioam, ioam-gafni, ifa or ifa-ext", func() bool {
			return c.Format != "hpcc" && c.Format != "relative"
		})
	p.Text(&c.Fraction, "fraction", fractionNS, "unit of ioam's times below one second; us: the unit of Linux, whose "+
		"nodes then share one namespace with Weir's", "RFC 9197 §5.1, §5.3").Words(fractionNS, fractionUS).
		When("format: ioam or ioam-gafni", func() bool { return strings.HasPrefix(c.Format, "ioam") })
	p.BoolWords(&c.Sojourn, [2]string{"off", "on"}, "sojourn", "off", "add the packet's time in the switch to "+
		"records: 4 bytes per hop with int-md and ioam; ifa always has it",
		"P4 INT v2.1: hop latency; RFC 9197 §4.4.2.5: transit delay")
	p.Float(&c.Base, "base", "1.05", "base of PINT's code: a value takes 1 byte with 1.05 and 2 bytes with 1.01",
		"PINT (SIGCOMM 2020); HPCC simulator: PINT_LOG_BASE").Min("1.0002").Max("2").
		When("t above 0s", func() bool { return c.T > 0 })
	p.Time(&c.T, "t", "0s", "averaging time of a port's load, for PINT, format: relative and telemetry upon "+
		"congestion; 0s: no average", "HPCC simulator: the largest RTT").Max("1s")
	p.Share(&c.CongestedLoad, "congested_load", "80%",
		"load from which on a port is congested, for packets that request telemetry upon congestion; not above the "+
			"controller's target, such as eta of hpcc",
		"Weir: below eta").Min("1%").Max("100%")
	p.Size(&c.CongestedQueue, "congested_queue", "5000 B", "queue from which on a port is congested, for packets that "+
		"request telemetry upon congestion", "Weir").Min("1 B")
	p.Time(&c.Idle, "idle", "0s",
		"under DWRR: time without a packet after which a class leaves its share to the others; 0s: never",
		"draft-miao §9.4: the guaranteed bandwidth")
	p.Int(&c.Identity, "identity", "0", "identity in the records of a standalone switch; must differ on a path; 0 in "+
		"networks, whose switches use their numbers", "P4 INT v2.1: node ID; RFC 9197 §4.4.2.1").Min("0").Max("1048575")
	p.Size(&c.MTU, "mtu", "0 B", "maximum IP packet with its records; no record is added beyond it; 0 B: the MTU of "+
		"the interface, or no limit in networks, whose links are virtual", "P4 INT v2.1: M, MTU exceeded").Max("65535 B")
}

// Traits returns the format of its telemetry.
func (c *Config) Traits() dataplane.Traits { return dataplane.Traits{Telemetry: c.Telemetry} }

// Telemetry returns the format of telemetry in a network with links of these rates. It fails if the format does not
// exist, or cannot have this shape.
func (c *Config) Telemetry(rates []unit.Rate) (telemetry.Format, error) {
	f, err := telemetry.NewFormat(c.Format, int64(c.Multi), c.Base, rates)
	f.Microseconds = c.Fraction == fractionUS
	f.LoadInterval, f.Load, f.Queue = c.T, c.CongestedLoad, c.CongestedQueue
	if err == nil {
		err = f.SetShape(c.Hops, c.Sojourn)
	}
	return f, err
}

// Scheme returns the scheme of the program telemetry. A program before it chooses the port:
// switch: [ecmp, telemetry].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "telemetry",
		Doc:    "writes time, queue, sent bytes and rate of the egress port into packets that request it",
		Source: "draft-miao-iccrg-hpccplus-01 §6.1, §7.1; HPCC (SIGCOMM 2019) §4.1"}, newProgram)
}

// buildProgram returns the program with the format that c has for the rates of the site's links. It fails if the format
// cannot describe them.
func buildProgram(site *dataplane.Site, c Config) (*Program, error) {
	f, err := c.Telemetry(site.Rates)
	if err != nil {
		return nil, err
	}
	f.InFraming = site.CountsTelemetry
	return New(site, f, c.Idle, c.MTU)
}

// New returns the program for a switch. If a port's scheduler guarantees a class a share of the rate, the telemetry
// of that class describes a port of that rate. If another class has sent no packet for idle, above 0, its share
// counts for the others. A record is not added if it would make an IP packet longer than mtu (0: the link's MTU). New
// fails if the format has no code for a port's rate, because its hop would be missing.
func New(site *dataplane.Site, f telemetry.Format, idle unit.Time, mtu unit.Bytes) (*Program, error) {
	t := &Program{format: f, clock: site.Clock, ports: make([]port, site.Ports), id: uint32(site.ID),
		full: f.Profile.Name != "hpcc", coded: f.HasRateCodes(), updatesAlways: f.LoadInterval > 0, idle: idle}
	for i := range t.ports {
		t.ports[i].rarePortState = &rarePortState{mtu: int32(mtu)}
		if mtu == 0 && i < len(site.Lines) {
			t.ports[i].mtu = site.Lines[i].MTU
		}
	}
	for i, p := range site.At {
		x := &t.ports[i]
		for q := range p.Queues() {
			share, ok := p.QueueShare(uint8(q))
			if !ok {
				share = 0
				x.strict++
			}
			if p.HasShares() {
				x.classes = append(x.classes, class{share: share, lastDeparture: -1 << 62})
			}
		}
		t.updatesAlways = t.updatesAlways || x.classes != nil
		rate := site.PortRate(i).Bits
		if x.classes != nil && f.IsRelative() {
			return nil, fmt.Errorf("program telemetry: port %d shares its rate among classes, and format: relative is of ports",
				i)
		}
		if x.classes != nil && t.coded {
			for q, c := range x.classes {
				if c.share > 0 && (!f.CanRepresent(unit.Rate(float64(rate)*c.share)) || idle > 0) {
					return nil, fmt.Errorf("program telemetry: class %d of port %d has %.4g of %v, for which format %s has no "+
						"code; format: int-md has", q, i, c.share, rate, f.Profile.Name)
				}
			}
		}
		if x.setRate(&f, rate); rate > 0 && t.coded && !f.CanRepresent(rate) {
			return nil, fmt.Errorf("program telemetry: format %s has no code for the rate %v of port %d", f.Profile.Name, rate,
				i)
		}
	}
	t.exact = !t.full && !t.updatesAlways && t.clock == (telemetry.Clock{})
	return t, nil
}

// setRate sets the port's rate, and its code in HPCC's format.
func (x *port) setRate(f *telemetry.Format, rate unit.Rate) {
	x.rate = rate
	x.code, x.coded = f.HPCC.RateCode(rate)
}

// Name returns "telemetry".
func (t *Program) Name() string { return "telemetry" }

// Egress takes the snapshot of the port: after the dequeue, before the packet counts as sent. It writes the snapshot
// into p if p requests it, and updates the port's load and classes. It accepts every packet.
func (t *Program) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if !t.updatesAlways && !p.HasAnyHotExtension() { // nearly all packets without a request
		return dataplane.Accept
	}
	if t.exact && p.HasHotExtension(telemetry.Extension) && !p.HasHotExtension(telemetry.IfCongested) {
		// Nearly all packets of HPCC: the record goes from the port to the header without a Hop.
		x, out := &t.ports[p.Meta.Out], env.Port(p.Meta.Out)
		b := p.LeadingExtension(telemetry.Extension, telemetry.HPCCBytes)
		if b != nil && x.coded && out.Rate().Bits == x.rate {
			t.format.HPCC.PutFields(b, x.code, t.id, env.Now(), out.TxBytes(), out.Bytes())
			return dataplane.Accept
		}
	}
	t.writeTelemetry(env, p)
	return dataplane.Accept
}

// writeTelemetry is the general Egress. It reports whether p requests telemetry, and whether that was written. It also
// updates the port's load and its classes, whether or not p requests telemetry.
func (t *Program) writeTelemetry(env *dataplane.Env, p *packet.Packet) (asked, written bool) {
	m := &p.Meta
	want := t.format.RequestsOf(p)
	if want == 0 && !t.updatesAlways {
		return false, false
	}
	x, out := &t.ports[m.Out], env.Port(m.Out)
	rate := out.Rate().Bits
	if rate != x.rate { // an event has changed it
		x.setRate(&t.format, rate)
	}
	h := telemetry.Hop{Time: t.clock.Read(env.Now()), TxBytes: out.TxBytes(), Queue: out.Bytes(), Rate: rate, Switch: t.id,
		Port: uint16(m.Out)}
	load := 0.0
	if t.format.LoadInterval > 0 {
		load = x.load.Dequeue(h.Time, unit.Bytes(p.Size), h.Queue, rate, t.format.LoadInterval)
	}
	if x.classes != nil {
		t.describeClass(env, m, &h)
	}
	if want != 0 && rate > 0 {
		asked, written = t.writeWanted(env, p, x, &h, want, load)
	}
	if x.classes != nil {
		t.countClass(env, m, uint64(p.Size))
	}
	return asked, written
}

// writeWanted writes the telemetry that p requests into p, and reports whether a request counts and whether telemetry
// was written. A request for congested ports only does not count at an uncongested port.
func (t *Program) writeWanted(env *dataplane.Env, p *packet.Packet, x *port, h *telemetry.Hop,
	requests telemetry.RequestSet,
	load float64) (asked, written bool) {
	if requests&telemetry.WantsRecordIfCongested != 0 && h.Queue < t.format.Queue && load < t.format.Load {
		requests &^= telemetry.WantsRecordIfCongested
	}
	switch {
	case requests&telemetry.WantsRecord != 0 && !t.full && x.classes == nil:
		if b, ok := p.Extension(telemetry.Extension); ok && x.coded {
			written = t.format.HPCC.PushCode(b, x.code, h)
		}
	case requests&(telemetry.WantsRecord|telemetry.WantsRecordIfCongested) != 0:
		h.Sojourn = env.Now() - p.Enqueued
		if x.mtu == 0 {
			written = t.format.PushRecord(p, h)
		} else {
			written = t.format.PushWithin(p, h, x.mtu-packetLength(p))
		}
	}
	if requests&telemetry.WantsRelative != 0 {
		t.format.PushRelative(p, load)
		written = true
	}
	if requests&telemetry.WantsLoad != 0 {
		t.format.PushLoad(p, load, env.Random())
		written = true
	}
	return requests != 0, written
}

// packetLength returns the length in bytes of p's IP packet. Additions of programs before are not in the frame yet, and
// tags do not count for an MTU. It is at least the length in the frame.
func packetLength(p *packet.Packet) int32 {
	n := p.Headers() + p.ExtensionBytes() + p.Payload - packet.EthernetHeader
	if p.Data == nil {
		return n
	}
	at := 12
	for at+4 <= len(p.Data) {
		switch uint16(p.Data[at])<<8 | uint16(p.Data[at+1]) {
		case 0x8100, 0x88a8, 0x9100:
			at += 4
			continue
		}
		break
	}
	return max(n, int32(len(p.Data)-at-2))
}

// describeClass changes h from the port's snapshot to the class's (m.Queue): its queue, its bytes, and its share of the
// rate (draft-miao §9.4), with its part of the queues in strict priority.
func (t *Program) describeClass(env *dataplane.Env, m *packet.Metadata, h *telemetry.Hop) {
	x, out := &t.ports[m.Out], env.Port(m.Out)
	c := &x.classes[m.Queue]
	h.TxBytes = c.txBytes
	var before unit.Bytes // in strict priority over the packet's class, or in it if it has that
	for q := range min(x.strict, int(m.Queue)+1) {
		before += out.Queue(uint8(q)).Bytes()
	}
	if c.share == 0 {
		h.Queue = before
		return
	}
	share := t.classShare(x, out, m.Queue, t.busyShares(x, out, env.Now()), env.Now())
	h.Queue = out.Queue(m.Queue).Bytes() + unit.Bytes(share*float64(before))
	h.Rate = unit.Rate(float64(h.Rate) * share)
}

// countClass counts a departing packet of so many bytes for its class and, in strict priority, for the classes that
// it precedes.
func (t *Program) countClass(env *dataplane.Env, m *packet.Metadata, bytes uint64) {
	x, out, now := &t.ports[m.Out], env.Port(m.Out), env.Now()
	c := &x.classes[m.Queue]
	c.lastDeparture = now
	if c.share > 0 {
		c.txBytes += bytes
		return
	}
	busy := t.busyShares(x, out, now)
	for q := range x.classes {
		switch o := &x.classes[q]; {
		case o.share > 0:
			o.addShare(bytes, t.classShare(x, out, uint8(q), busy, now))
		case q >= int(m.Queue):
			o.txBytes += bytes
		}
	}
}

// isBusy reports whether class q keeps its share: it has packets, or had some within idle.
func (t *Program) isBusy(x *port, out *tm.Port, q uint8, now unit.Time) bool {
	return out.Queue(q).Packets() > 0 || now-t.idle < x.classes[q].lastDeparture
}

// busyShares returns the sum of the shares of all busy classes; 0 if classes always keep their shares.
func (t *Program) busyShares(x *port, out *tm.Port, now unit.Time) (sum float64) {
	if t.idle == 0 {
		return 0
	}
	for q := range x.classes {
		if t.isBusy(x, out, uint8(q), now) {
			sum += x.classes[q].share
		}
	}
	return sum
}

// classShare returns class q's share of the rate while it is busy, next to the busy classes, which have the sum busySum
// of shares. With idle 0 it is the configured share.
func (t *Program) classShare(x *port, out *tm.Port, q uint8, busySum float64, now unit.Time) float64 {
	own := x.classes[q].share
	if t.idle == 0 {
		return own
	}
	if !t.isBusy(x, out, q, now) {
		busySum += own
	}
	return own / busySum
}
