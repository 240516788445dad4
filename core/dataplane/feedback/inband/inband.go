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
	format telemetry.Format
	clock  telemetry.Clock
	ports  []port
	id     uint32
	full   bool // the format is not HPCC's
	coded  bool // it has codes of rates
	keeps  bool // loads or classes, which every packet changes
	exact  bool // the clock is, and the format is HPCC's without loads and classes: a record is one word
	idle   unit.Time
}

// port is what the program keeps of an egress port. What hardly a packet needs is kept apart, so that of a switch's 16
// ports the rest fills six lines of 64 bytes, not eighteen.
type port struct {
	rate  unit.Rate // of which code is
	code  uint8
	coded bool
	*kept
}

type kept struct {
	mtu     int32 // largest IP packet that may leave; 0: any
	load    telemetry.PortLoad
	classes []class // by queue, of a port whose scheduler shares its rate; else nil
	strict  int     // the first of them, which have strict priority
}

// class is the link that a class of a port has. A class with a share of the port's rate has that share of what queues
// in strict priority send, too: what they leave is divided in the same way. A class in strict priority has the whole
// rate, and what the queues before it send.
type class struct {
	share    float64 // of the rate; 0: the class has strict priority
	txBytes  uint64
	fraction uint64    // of a byte that txBytes lacks, in 1/perByte
	left     unit.Time // when a packet of it left last
}

// perByte is the unit of class.fraction.
const perByte = 1 << 16

// add counts the class's share of a number of bytes.
func (c *class) add(bytes uint64, share float64) {
	c.fraction += bytes * uint64(share*perByte)
	c.txBytes += c.fraction / perByte
	c.fraction %= perByte
}

// Config is what is written, and how.
type Config struct {
	Format         string     // a name of telemetry.Profiles
	Multi          int        // of the units of HPCC's format
	Hops           int        // of which a packet has room for records; 0: the format's own number
	Fraction       string     // of IOAM's times: fractionNS or fractionUS
	Sojourn        bool       // records have the packet's time in the switch
	Base           float64    // of PINT's code
	T              unit.Time  // over which loads are averaged; 0: they are not
	CongestedLoad  float64    // from which on a port is congested
	CongestedQueue unit.Bytes // or from which on
	Idle           unit.Time  // after which a class leaves its share to the others; 0: never
	Identity       int        // of a switch on its own, in its records
	MTU            unit.Bytes // largest IP packet with its records; 0: what links have
}

// Units of a time's fraction of a second in IOAM.
const (
	fractionNS = "ns"
	fractionUS = "us"
)

// Params binds the configuration.
func (c *Config) Params(p *scheme.Params) {
	var formats []string
	for _, x := range telemetry.Profiles {
		formats = append(formats, x.Name)
	}
	p.Text(&c.Format, "format", "hpcc",
		"how it is carried; ioam-gafni has bytes and speed in bits 12 and 13 of the trace, ifa has no bytes sent and "+
			"ifa-ext has ours; relative has no records, but the path's largest load (needs t)",
		"HPCC §4.1, figure 7; P4 INT v2.1; RFC 9197; draft-kumar-ippm-ifa; relative: draft-miao §9.1").Words(formats...)
	p.Int(&c.Multi, "multi", "1", "hpcc: multiplier of the units, 128 B sent and 80 B queued",
		"HPCC simulator: INT_MULTI; HPCC simulator run.py: the NIC's rate / 25 Gb/s").Min("1").Max("65536").
		When("format: hpcc", func() bool { return c.Format == "hpcc" })
	p.Int(&c.Hops, "hops", "0", "hops of which a packet has room for records; 0: 16, and of ioam, which takes the room "+
		"from the sender on, 5",
		"P4 INT v2.1: Remaining Hop Count; RFC 9197 §4.4.1: RemainingLen; draft-kumar-ippm-ifa: Max Length").
		Min("0").Max(strconv.Itoa(telemetry.MaxHops)).
		When("format: int-md, ioam, ioam-gafni, ifa or ifa-ext", func() bool {
			return c.Format != "hpcc" && c.Format != "relative"
		})
	p.Text(&c.Fraction, "fraction", fractionNS, "unit of the times of ioam below a second; us is that of Linux, "+
		"whose nodes and ours then are of one namespace", "RFC 9197 §5.1, §5.3").Words(fractionNS, fractionUS).
		When("format: ioam or ioam-gafni", func() bool { return strings.HasPrefix(c.Format, "ioam") })
	p.Either(&c.Sojourn, [2]string{"off", "on"}, "sojourn", "off", "records have the packet's time in the switch: 4 "+
		"bytes a hop of int-md and ioam; ifa always has it",
		"P4 INT v2.1: hop latency; RFC 9197 §4.4.2.5: transit delay")
	p.Float(&c.Base, "base", "1.05", "of PINT's code: 1.05 takes 1 byte, 1.01 takes 2",
		"PINT (SIGCOMM 2020); HPCC simulator: PINT_LOG_BASE").Min("1.0002").Max("2").
		When("t above 0s", func() bool { return c.T > 0 })
	p.Time(&c.T, "t", "0s", "time over which a port's load is averaged, for PINT, format: relative and telemetry upon "+
		"congestion; 0s: it is not", "HPCC simulator: the largest RTT").Max("1s")
	p.Share(&c.CongestedLoad, "congested_load", "80%",
		"for packets that ask for it upon congestion: the load from which on a port is congested",
		"ours: below eta").Min("1%").Max("100%")
	p.Size(&c.CongestedQueue, "congested_queue", "5000 B", "or the queue", "ours").Min("1 B")
	p.Time(&c.Idle, "idle", "0s",
		"under DWRR: a class that has sent nothing for so long leaves its share to the others; 0s: never",
		"draft-miao §9.4: the guaranteed bandwidth")
	p.Int(&c.Identity, "identity", "0", "of a switch on its own, in its records: each on a path has another one; in a "+
		"network switches have numbers", "P4 INT v2.1: node ID; RFC 9197 §4.4.2.1").Min("0").Max("1048575")
	p.Size(&c.MTU, "mtu", "0 B", "largest IP packet with its records: none is added that makes it longer; 0 B: that of "+
		"the interface, and any in networks, whose links are virtual", "P4 INT v2.1: M, MTU exceeded").Max("65535 B")
}

// Traits returns the format of its telemetry.
func (c *Config) Traits() dataplane.Traits { return dataplane.Traits{Telemetry: c.Telemetry} }

// Telemetry returns the format of telemetry in a network with links of these rates.
func (c *Config) Telemetry(rates []unit.Rate) (telemetry.Format, error) {
	f, err := telemetry.NewFormat(c.Format, int64(c.Multi), c.Base, rates)
	f.Micro = c.Fraction == fractionUS
	f.T, f.Load, f.Queue = c.T, c.CongestedLoad, c.CongestedQueue
	if err == nil {
		err = f.Shape(c.Hops, c.Sojourn)
	}
	return f, err
}

// Scheme is what an experiment names: switch: [ecmp, telemetry].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "telemetry",
		Doc: "writes time, queue, sent bytes and rate of the egress " +
			"port into packets that ask for it",
		Source: "draft-miao-iccrg-hpccplus-01 §6.1, §7.1; HPCC (SIGCOMM 2019) §4.1"}, newAt)
}

func build(site *dataplane.Site, c Config) (*Program, error) {
	f, err := c.Telemetry(site.Rates)
	if err != nil {
		return nil, err
	}
	f.Counted = site.Counted
	return New(site, f, c.Idle, c.MTU)
}

// New returns the program for a switch. If the port's scheduler guarantees a class a share of the rate,
// the telemetry of that class describes a port of that rate; once another class has sent nothing for idle,
// above 0, its share counts for the others. A record that would make an IP packet longer than mtu, or 0 and then than
// the link carries, is not added. A port whose rate has no code in the format is an error: its hop would be missing.
func New(site *dataplane.Site, f telemetry.Format, idle unit.Time, mtu unit.Bytes) (*Program, error) {
	t := &Program{format: f, clock: site.Clock, ports: make([]port, site.Ports), id: uint32(site.ID),
		full: f.Profile.Name != "hpcc", coded: f.Coded(), keeps: f.T > 0, idle: idle}
	for i := range t.ports {
		t.ports[i].kept = &kept{mtu: int32(mtu)}
		if mtu == 0 && i < len(site.Lines) {
			t.ports[i].mtu = site.Lines[i].MTU
		}
	}
	for i, p := range site.At {
		x := &t.ports[i]
		for q := range p.Queues() {
			share, ok := p.Share(uint8(q))
			if !ok {
				share = 0
				x.strict++
			}
			if p.Shares() {
				x.classes = append(x.classes, class{share: share, left: -1 << 62})
			}
		}
		t.keeps = t.keeps || x.classes != nil
		rate := site.Rate(i).Bits
		if x.classes != nil && f.Relative() {
			return nil, fmt.Errorf("program telemetry: port %d shares its rate among classes, and format: relative is of ports",
				i)
		}
		if x.classes != nil && t.coded {
			for q, c := range x.classes {
				if c.share > 0 && (!f.Tells(unit.Rate(float64(rate)*c.share)) || idle > 0) {
					return nil, fmt.Errorf("program telemetry: class %d of port %d has %.4g of %v, for which format %s has no "+
						"code; format: int-md has", q, i, c.share, rate, f.Profile.Name)
				}
			}
		}
		if x.set(&f, rate); rate > 0 && t.coded && !f.Tells(rate) {
			return nil, fmt.Errorf("program telemetry: format %s has no code for the rate %v of port %d", f.Profile.Name, rate,
				i)
		}
	}
	t.exact = !t.full && !t.keeps && t.clock == (telemetry.Clock{})
	return t, nil
}

func (x *port) set(f *telemetry.Format, rate unit.Rate) {
	x.rate = rate
	x.code, x.coded = f.HPCC.Code(rate)
}

// Name is "telemetry".
func (t *Program) Name() string { return "telemetry" }

// Egress takes the snapshot of the port: after the dequeue, before the packet counts as sent.
func (t *Program) Egress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if !t.keeps && !p.AsksAny() { // nearly all packets that want nothing
		return dataplane.Accept
	}
	if t.exact && p.Asks(telemetry.Extension) && !p.Asks(telemetry.IfCongested) {
		// Nearly all packets of HPCC: the record goes from the port to the header without a Hop.
		x, out := &t.ports[p.Meta.Out], env.Port(p.Meta.Out)
		b := p.Leading(telemetry.Extension, telemetry.HPCCBytes)
		if b != nil && x.coded && out.Rate().Bits == x.rate {
			t.format.HPCC.Put(b, x.code, t.id, env.Now(), out.TxBytes(), out.Bytes())
			return dataplane.Accept
		}
	}
	t.egress(env, p)
	return dataplane.Accept
}

// egress is Egress in general. It reports whether p asks for something, and whether that was written.
func (t *Program) egress(env *dataplane.Env, p *packet.Packet) (asked, written bool) {
	m := &p.Meta
	want := t.format.Wants(p)
	if want == 0 && !t.keeps {
		return false, false
	}
	x, out := &t.ports[m.Out], env.Port(m.Out)
	rate := out.Rate().Bits
	if rate != x.rate { // an event has changed it
		x.set(&t.format, rate)
	}
	h := telemetry.Hop{Time: t.clock.Read(env.Now()), TxBytes: out.TxBytes(), Queue: out.Bytes(), Rate: rate, Switch: t.id,
		Port: uint16(m.Out)}
	load := 0.0
	if t.format.T > 0 {
		load = x.load.Dequeue(h.Time, unit.Bytes(p.Size), h.Queue, rate, t.format.T)
	}
	if x.classes != nil {
		t.class(env, m, &h)
	}
	if want != 0 && rate > 0 {
		asked, written = t.write(env, p, x, &h, want, load)
	}
	if x.classes != nil {
		t.count(env, m, uint64(p.Size))
	}
	return asked, written
}

// write writes what p wants. What wants something only of a port that is congested has not asked where none is.
func (t *Program) write(env *dataplane.Env, p *packet.Packet, x *port, h *telemetry.Hop, want telemetry.Wanted,
	load float64) (asked, written bool) {
	if want&telemetry.WantsIf != 0 && h.Queue < t.format.Queue && load < t.format.Load {
		want &^= telemetry.WantsIf
	}
	switch {
	case want&telemetry.WantsRecord != 0 && !t.full && x.classes == nil:
		if b, ok := p.Extension(telemetry.Extension); ok && x.coded {
			written = t.format.HPCC.PushCode(b, x.code, h)
		}
	case want&(telemetry.WantsRecord|telemetry.WantsIf) != 0:
		h.Sojourn = env.Now() - p.Enqueued
		if x.mtu == 0 {
			written = t.format.Push(p, h)
		} else {
			written = t.format.PushWithin(p, h, x.mtu-length(p))
		}
	}
	if want&telemetry.WantsRelative != 0 {
		t.format.PushRelative(p, load)
		written = true
	}
	if want&telemetry.WantsLoad != 0 {
		t.format.PushLoad(p, load, env.Random())
		written = true
	}
	return want != 0, written
}

// length is that of p's IP packet. What programs before have added is in no frame yet, and tags are no part of what an
// MTU counts.
func length(p *packet.Packet) int32 {
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

// class turns the port's snapshot into that of the packet's class: its queue, its bytes, and its share of the rate
// (draft-miao §9.4), with its part of the queues in strict priority.
func (t *Program) class(env *dataplane.Env, m *packet.Metadata, h *telemetry.Hop) {
	x, out := &t.ports[m.Out], env.Port(m.Out)
	c := &x.classes[m.Queue]
	h.TxBytes = c.txBytes
	var before unit.Bytes // in strict priority over the packet's class, or in the class if it has that itself
	for q := range min(x.strict, int(m.Queue)+1) {
		before += out.Queue(uint8(q)).Bytes()
	}
	if c.share == 0 {
		h.Queue = before
		return
	}
	share := t.share(x, out, m.Queue, t.busy(x, out, env.Now()), env.Now())
	h.Queue = out.Queue(m.Queue).Bytes() + unit.Bytes(share*float64(before))
	h.Rate = unit.Rate(float64(h.Rate) * share)
}

// count counts a packet that leaves, with so many bytes, in the records of its class and of those that it precedes in
// strict priority.
func (t *Program) count(env *dataplane.Env, m *packet.Metadata, bytes uint64) {
	x, out, now := &t.ports[m.Out], env.Port(m.Out), env.Now()
	c := &x.classes[m.Queue]
	c.left = now
	if c.share > 0 {
		c.txBytes += bytes
		return
	}
	busy := t.busy(x, out, now)
	for q := range x.classes {
		switch o := &x.classes[q]; {
		case o.share > 0:
			o.add(bytes, t.share(x, out, uint8(q), busy, now))
		case q >= int(m.Queue):
			o.txBytes += bytes
		}
	}
}

// isBusy reports whether class q keeps its share from the others: it has packets, or had some within idle.
func (t *Program) isBusy(x *port, out *tm.Port, q uint8, now unit.Time) bool {
	return out.Queue(q).Packets() > 0 || now-t.idle < x.classes[q].left
}

// busy returns the sum of the shares of all classes that are busy; 0 if classes always keep their shares.
func (t *Program) busy(x *port, out *tm.Port, now unit.Time) (sum float64) {
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

// share returns the share of the rate that class q has while it and those that busy is the sum of are busy.
func (t *Program) share(x *port, out *tm.Port, q uint8, busy float64, now unit.Time) float64 {
	own := x.classes[q].share
	if t.idle == 0 {
		return own
	}
	if !t.isBusy(x, out, q, now) {
		busy += own
	}
	return own / busy
}
