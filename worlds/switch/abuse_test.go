package softswitch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"weir/core/cc/cubic"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/transport/tcp"
	"weir/core/unit"
)

// Part is the share of the link of the victim's user: it is named, and all others at the port are one user. Kept is
// the share of Part that an attack must leave.
const (
	Part = 0.5
	Kept = 0.8
)

// payloadOf is the ratio of goodput to the rate of frames (docs/design.md#bytes-queues-order).
const payloadOf = 1448.0 / 1514

// stage returns the file of a link of 50 Mb/s with an attacker and the victim at its left.
func stage(abc, users string) string { return stageAt(50*unit.Mbps, abc, users) }

func stageAt(rate unit.Rate, abc, users string) string {
	return fmt.Sprintf(`
ports: {left: {interface: a}, right: {interface: b, rate: %dbps, buffer: 100 packets}}
switch: [forward, {abc: {%s}}]
users: {%s}
metrics: none
`, int64(rate), abc, users)
}

// flight is a packet on its way to one of the two hosts.
type flight struct {
	at unit.Time
	p  *packet.Packet
}

// arena is a switch without interfaces, in event time, between the victim at the left, whose CUBIC flow goes to
// the right, and an attacker at the victim's port.
type arena struct {
	*bench
	t                *testing.T
	book             *packet.Book
	ends             [2]transport.Endpoint // at the left and at the right
	flying           [2][]flight           // to them
	free             [2]unit.Time          // when their interfaces are
	attack           *Attack
	frames           int
	next, end        unit.Time
	vlan             byte      // of the flow's frames; 0: they have no tag
	third            bool      // the attack comes in at the third port
	group            bool      // … and is to a group address
	scale            float64   // of all rates
	way              unit.Time // behind the switch, each way
	passed, attacked uint64    // frames of the attack that came through, and all
}

const (
	tick       = 20 * unit.Microsecond
	hostLink   = 100 * unit.Mbps
	attackFrom = 1500 * unit.Millisecond
	attackTo   = 6500 * unit.Millisecond
)

func newArena(t *testing.T, file string, attack *Attack, version uint8) *arena {
	t.Helper()
	a := &arena{t: t, bench: newBench(t, decode(t, file)), book: packet.NewBook(), attack: attack, next: attackFrom,
		scale: 1, way: unit.Millisecond, end: attackTo}
	src := a.book.Add(Victim, netip.MustParseAddr("fd09:1::1"))
	dst := a.book.Add(Receiver, netip.MustParseAddr("fd09::2"))
	controller := cubic.Scheme()
	l2, _ := packet.FramingByName("l2")
	sender, receiver, err := tcp.New(transport.Flow{Src: src, Dst: dst, SrcPort: 10000, DstPort: 5000, Version: version,
		Payload: 1448, Framing: l2, Random: unit.NewRandom(1, "flow"), CC: &controller, Stop: unit.Never}, tcp.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	a.ends = [2]transport.Endpoint{sender, receiver}
	return a
}

// at returns the time of the given bits at a rate, on a link of 50 Mb/s.
func (a *arena) at(bits int, rate unit.Rate) unit.Time {
	return unit.Time(float64(bits) / (a.scale * float64(rate)) * float64(unit.Second))
}

// wire has an end's packet leave its interface for the switch.
func (a *arena) wire(end int, p *packet.Packet) {
	p.Src, p.Dst = packet.Addr(1+end), packet.Addr(2-end)
	f, err := p.Emit(a.book, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	copy(f, []byte{2, 0, 0, 0, 0, byte(2 - end), 2, 0, 0, 0, 0, byte(1 + end)}) // stations that attackers know
	if a.vlan > 0 {
		f = slices.Insert(f, typeAt, 0x81, 0, 0, a.vlan)
	}
	a.send(end, a.time, f)
	a.free[end] = max(a.free[end], a.time) + a.at(8*len(f), hostLink)
}

// host lets one end send and receive all due packets.
func (a *arena) host(end int) {
	e := a.ends[end]
	for len(a.flying[end]) > 0 && a.flying[end][0].at <= a.time {
		p := a.flying[end][0].p
		a.flying[end] = a.flying[end][1:]
		if e.Receive(a.time, p) {
			a.wire(end, p)
		}
	}
	if e.NextTimer() <= a.time {
		e.Advance(a.time)
	}
	for a.free[end] <= a.time && e.NextSend() <= a.time {
		p := &packet.Packet{Sent: a.time}
		e.Emit(a.time, p)
		a.wire(end, p)
	}
}

// assault sends the attack's frames that are due.
func (a *arena) assault() {
	x := a.attack
	for x != nil && a.next <= a.time && a.next < a.end {
		if cycle := x.On + x.Off; cycle > 0 && (a.next-attackFrom)%cycle >= x.On {
			a.next += cycle - (a.next-attackFrom)%cycle
			continue
		}
		f := x.Frame(a.frames)
		a.frames++
		a.attacked++
		port := 0
		if a.third && (!x.Second || a.frames%2 == 0) {
			port = 2
		}
		if a.group {
			f[0] = 0xff
		}
		a.send(port, a.time, f)
		a.next += a.at(8*len(f), AttackRate)
	}
}

// until advances the time to end, and returns the victim's received traffic as a rate of frames.
func (a *arena) until(end unit.Time) unit.Rate {
	begin, before := a.time, a.ends[1].Counters().ReceivedBytes
	for ; a.time < end; a.time += tick {
		a.host(0)
		a.host(1)
		a.assault()
		if err := a.Step(a.time); err != nil {
			a.t.Fatal(err)
		}
		for port, g := range a.gates {
			for _, f := range g.out {
				p := &packet.Packet{}
				if a.vlan > 0 && f[typeAt] == 0x81 && f[typeAt+3] == a.vlan {
					f = slices.Delete(f, typeAt, typeAt+tagBytes)
				}
				if err := p.Parse(a.book, f); err != nil || p.Proto != packet.ProtoTCP || p.Src != packet.Addr(2-port) {
					a.passed++
					continue
				}
				a.flying[port] = append(a.flying[port], flight{a.time + a.way, p})
			}
			g.out, g.when = g.out[:0], g.when[:0]
		}
	}
	got := float64(a.ends[1].Counters().ReceivedBytes-before) / payloadOf
	return unit.Rate(8 * got / (end - begin).Seconds())
}

// abuse is a switch under attack, with the form of the victim's flow.
type abuse struct {
	name, file string
	version    uint8
	vlan       byte
	named      bool
	only       string // a pattern of attacks' names
	third      bool   // the bridge has three ports, and the attacker is at the third
	group      bool   // … and sends to a group, so that the bridge floods it
}

var abused = []abuse{
	{"named", stage(`aggregates: {10.9.0.1: 10kbps, "fd09:1::/64": 10kbps}`, ""), 4, 0, true, "", false, false},
	{"named as users, IPv6", stage("", `named: [10.9.0.1, "fd09:1::/64"]`), 6, 0, true,
		"sources|solicitations|PPPoE|^UDP|ARP|bursts", false, false},
	{"all others are one", stage("aggregates: {10.9.0.1: 10kbps}", "unnamed: shared"), 4, 0, true, "sources",
		false, false},
	{"nobody is named", stage("", ""), 4, 0, false, "", false, false},
	{"nobody is named, IPv6", stage("", ""), 6, 0, false, "sources", false, false},
	{"VLANs", stage("", "by: vlan, named: [5]"), 4, 5, true, "tags", false, false},
	{"pairs of VLANs", stage("", "by: qinq, named: [5, 7.1]"), 4, 5, true, "tags", false, false},
	{"nobody is named, VLANs", stage("", "by: vlan"), 4, 5, false, "tags", false, false},
	{"to all ports", third(stage("aggregates: {10.9.0.1: 10kbps}", "")), 4, 0, true, "0x88b5", true, true},
	{"three ports", third(stage("aggregates: {10.9.0.1: 10kbps}", "")), 4, 0, true,
		"MAC addr|two ports|^UDP|sources", true, false},
	{"three ports, IPv6", third(stage(`aggregates: {"fd09:1::/64": 10kbps}`, "")), 6, 0, true, "MAC addr", true, false},
	{"three ports, nobody is named", third(stage("", "")), 4, 0, false, "MAC addr|two ports", true, false},
}

// third adds a port for the attacker to a file.
func third(file string) string {
	return strings.Replace(file, "}}\nswitch", "}, evil: {interface: c}}\nswitch", 1)
}

// kept runs an attack on a switch, and checks the victim's share. It keeps 0.8 of its half, unless the file names
// no user and the attacker uses many addresses, each of which is a user then.
func (in *abuse) kept(t *testing.T, x *Attack) {
	a := newArena(t, in.file, x, in.version)
	a.vlan, a.third, a.group = in.vlan, in.third, in.group
	a.until(attackFrom)
	got := a.until(attackTo)
	t.Logf("%v; %d of %d frames of the attack came through", got, a.passed, a.attacked)
	switch part := unit.Rate(Part * 50e6); {
	case !in.named && x.Many:
		if float64(got) >= Kept*float64(part) {
			t.Errorf("the victim keeps %v of %v: who needs names?", got, part)
		}
	case float64(got) < Kept*float64(part):
		t.Errorf("the victim keeps %v of %v", got, part)
	}
}

// TestAttacks_LeaveNamedUserItsShare checks that for attacks of each kind at 80 Mb/s, a TCP user that the file names
// keeps 0.8 of its half of the link. TestEveryAbuse has all attacks.
func TestAttacks_LeaveNamedUserItsShare(t *testing.T) {
	for name, attacks := range map[string][]string{
		"named":                {"IPv4 longer than its frame", "changing sources of IPv4"},
		"named as users, IPv6": {"sources within a /64"},
		"VLANs":                {"tags"},
		"to all ports":         {"Ethernet type 0x88b5"},
	} {
		in := &abused[slices.IndexFunc(abused, func(x abuse) bool { return x.name == name })]
		for _, attack := range attacks {
			all := Attacks()
			i := slices.IndexFunc(all, func(x Attack) bool { return strings.Contains(x.Name, attack) && !x.Third })
			t.Run(name+": "+strings.ReplaceAll(attack, "/", "_"), func(t *testing.T) {
				in.kept(t, &all[i])
			})
		}
	}
}

// TestArena_GivesVictimTheLink checks that a victim of harmless traffic gets the link: the arena itself costs no
// throughput.
func TestArena_GivesVictimTheLink(t *testing.T) {
	a := newArena(t, abused[0].file, nil, 4)
	a.until(attackFrom)
	if got := a.until(attackTo); got < 49500*unit.Kbps || got > 50100*unit.Kbps {
		t.Errorf("alone, the victim gets %v of 50 Mb/s", got)
	}
}
