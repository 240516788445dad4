package softswitch

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit/frametest"
	"weir/papers/p4abc"
	"weir/worlds/live"
	"weir/worlds/switch/frames"
)

// gate is a port of a bridge on a bench: arriving frames follow a script, and departing frames are kept.
type gate struct {
	in   [][]byte
	at   []unit.Time
	out  [][]byte
	when []unit.Time
	now  func() unit.Time
}

func (g *gate) Stamp() unit.Time {
	if len(g.at) == 0 {
		return unit.Never
	}
	return g.at[0]
}

func (g *gate) Take(b []byte) []byte {
	b = append(b, g.in[0]...)
	g.in, g.at = g.in[1:], g.at[1:]
	return b
}

func (g *gate) Put(f []byte) bool {
	g.out, g.when = append(g.out, bytes.Clone(f)), append(g.when, g.now())
	return true
}

func (g *gate) Flush() error            { return nil }
func (g *gate) Drop() int               { return 0 }
func (g *gate) Counts() live.GateCounts { return live.GateCounts{} }

// bench is a switch without interfaces, whose clock a test sets.
type bench struct {
	*live.Bridge
	gates   []*gate
	users   *frames.Users
	running []running
	time    unit.Time
}

func newBench(t testing.TB, c *Config) *bench {
	t.Helper()
	b := &bench{users: frames.NewUsers(&c.Users, 1)}
	var gates []live.Gate
	for range c.Ports {
		g := &gate{now: func() unit.Time { return b.time }}
		b.gates, gates = append(b.gates, g), append(gates, g)
	}
	var err error
	b.Bridge, err = live.NewBridge(c.bridgeConfig(1, 1514+frames.MaxTagged, b.users,
		func(site *dataplane.Site) (all []dataplane.Program, err error) {
			b.running, _, err = replacePrograms(0, site, nil, c.Programs)
			return listPrograms(b.running, frames.NewRefusals(c.Framing, len(c.Ports))), err
		}), gates, func() unit.Time { return b.time })
	if err != nil {
		t.Fatal(err)
	}
	b.users.OnReassign = func(a packet.Addr) { evictAddress(b.running, nil, a) }
	return b
}

// who returns the book's label of a number.
func (b *bench) who(a packet.Addr) string {
	prefix, word := b.users.Book.LabelOf(a)
	if prefix.IsSingleIP() {
		return prefix.Addr().String()
	}
	if prefix.IsValid() {
		return prefix.String()
	}
	return word
}

// stepUntil advances the switch's time to the given one in steps of 10 µs.
func (b *bench) stepUntil(t testing.TB, until unit.Time) {
	t.Helper()
	for ; b.time <= until; b.time += 10 * unit.Microsecond {
		if err := b.Step(b.time); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *bench) send(port int, at unit.Time, f []byte) {
	g := b.gates[port]
	g.in, g.at = append(g.in, f), append(g.at, at)
}

func decode(t testing.TB, text string) *Config {
	t.Helper()
	c, err := Decode(schemes(), "switch.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const three = `
ports: {a: {interface: a}, b: {interface: b}, c: {interface: c}}
switch: [forward]
metrics: none
`

// TestForward_LearnsAddresses checks that three ports learn (IEEE 802.1Q §8.7). Frames to unknown addresses and
// groups are sent to all other ports, frames to known ones to the last port in their VLAN, and to all again after
// 300 s. Frames for the side they arrived from are not forwarded.
func TestForward_LearnsAddresses(t *testing.T) {
	b := newBench(t, decode(t, three))
	tagged := func(f []byte, vlan uint16) []byte {
		return append(binary.BigEndian.AppendUint16(append(bytes.Clone(f[:12]), 0x81, 0), vlan), f[12:]...)
	}
	broadcast := frametest.NewDatagram(t, 1, 2, 0, 100)
	copy(broadcast, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	for i, x := range []struct {
		in    int
		frame []byte
		out   []int
	}{
		{0, frametest.NewDatagram(t, 1, 2, 0, 100), []int{1, 2}}, // 2 is not known
		{1, frametest.NewDatagram(t, 2, 1, 0, 100), []int{0}},
		{0, frametest.NewDatagram(t, 1, 2, 0, 100), []int{1}},
		{0, broadcast, []int{1, 2}},
		{2, frametest.NewDatagram(t, 3, 1, 0, 100), []int{0}},
		{0, frametest.NewDatagram(t, 4, 1, 0, 100), nil},                      // both at port 0
		{0, tagged(frametest.NewDatagram(t, 1, 2, 0, 100), 5), []int{1, 2}},   // not known in VLAN 5
		{1, tagged(frametest.NewDatagram(t, 2, 1, 0, 100), 5), []int{0}},      //
		{0, tagged(frametest.NewDatagram(t, 1, 2, 0, 100), 0xf005), []int{1}}, // priority is no part of the VLAN
		{2, frametest.NewDatagram(t, 2, 1, 0, 100), []int{0}},                 // 2 has moved, or another says so
		{0, frametest.NewDatagram(t, 1, 2, 0, 100), []int{1, 2}},
		{1, frametest.NewDatagram(t, 1, 2, 0, 100), []int{2}}, // so has 1
	} {
		for _, g := range b.gates {
			g.out = nil
		}
		b.send(x.in, b.time, x.frame)
		b.stepUntil(t, b.time+unit.Millisecond)
		for port, g := range b.gates {
			want := 0
			for _, o := range x.out {
				if o == port {
					want = 1
				}
			}
			if len(g.out) != want || want == 1 && !bytes.Equal(g.out[0], x.frame) {
				t.Errorf("frame %d: %d came out at port %d, want %d", i, len(g.out), port, want)
			}
		}
	}
	to2 := func(want ...int) {
		t.Helper()
		for _, g := range b.gates {
			g.out = nil
		}
		b.send(0, b.time, frametest.NewDatagram(t, 1, 2, 0, 100))
		b.stepUntil(t, b.time+unit.Millisecond)
		if got := []int{len(b.gates[1].out), len(b.gates[2].out)}; !slices.Equal(got, want) {
			t.Errorf("after %v, %v frames came out at ports 1 and 2, want %v", b.time, got, want)
		}
	}
	for range 2 { // 2 keeps to its new place
		b.time += 160 * unit.Second
		b.send(2, b.time, frametest.NewDatagram(t, 2, 1, 0, 100))
		b.stepUntil(t, b.time+unit.Millisecond)
	}
	to2(0, 1)
	b.time += 301 * unit.Second
	to2(1, 1)
}

// TestLearningIsFair checks that a sender with others' addresses, from other ports, takes no entries from them, for any
// number of further addresses: those displace no address of another port.
func TestLearningIsFair(t *testing.T) {
	f := &forward{ports: 3, table: make([]macEntry, macSets*macWays), seed: 1}
	const honest = 500
	at := func(i int) (key uint64, port packet.PortID) {
		return uint64(i)<<16 | 0x2000000000000, packet.PortID(i % 2)
	}
	for i := range honest {
		key, port := at(i)
		f.learnAddress(0, key, port)
	}
	for i := range uint64(200_000) { // at port 2, in 100 s
		now := unit.Time(i) * 500 * unit.Microsecond
		f.learnAddress(now, scatter(int(i))&^0xffff|1, 2)
		key, _ := at(int(i) % honest)
		f.learnAddress(now, key, 2)
	}
	for i := range honest {
		key, port := at(i)
		if s := f.findEntry(key); s == nil || s.ports>>port&1 == 0 {
			t.Errorf("address %d is not behind its port any more", i)
		}
	}
}

// TestLearningIsBounded checks that the table of a bridge is bounded. Of more addresses than entries, nearly all of
// the last are stored. Each displaces an entry of its own port, and sets hold different numbers of those.
func TestLearningIsBounded(t *testing.T) {
	f := &forward{ports: 3, table: make([]macEntry, macSets*macWays), seed: 1}
	for i := range uint64(100_000) {
		f.learnAddress(unit.Time(i), i<<16|1, packet.PortID(i%3))
	}
	found := 0
	for i := uint64(100_000 - 1000); i < 100_000; i++ {
		if s := f.findEntry(i<<16 | 1); s != nil && s.port == packet.PortID(i%3) {
			found++
		}
	}
	if found < 900 || len(f.table) != macSets*macWays {
		t.Errorf("%d of the last 1000 addresses are known, in %d places", found, len(f.table))
	}
}

// TestCountsOfCopies checks that a frame that departs by several ports counts for its user at each: as bytes where the
// queue accepts it, as a loss where it does not, in any order.
func TestCountsOfCopies(t *testing.T) {
	for _, slow := range []string{"b", "c"} {
		t.Run(slow, func(t *testing.T) {
			b := newBench(t, decode(t, strings.Replace(`
ports: {a: {interface: a}, b: {interface: b}, c: {interface: c}}
switch: [forward, {abc: {}}]
users: {new: 0s}
metrics: none
`, slow+": {interface: "+slow, slow+": {rate: 1Mbps, buffer: 2 packets, interface: "+slow, 1)))
			const n = 10
			for i := range n { // in 10 ms
				b.send(0, unit.Time(i)*unit.Millisecond, frametest.NewDatagram(t, 1, 2, 0, 1000))
			}
			b.stepUntil(t, 100*unit.Millisecond)
			taken := len(b.gates[1].out) + len(b.gates[2].out)
			if taken <= n || taken == 2*n {
				t.Fatalf("%d copies came out: this tests nothing", taken)
			}
			var u [1]p4abc.User
			abcOf(b).ListActiveUsers(b.time, u[:])
			if u[0].Bytes != uint64(1000*taken) || u[0].Dropped != uint64(2*n-taken) {
				t.Errorf("%d bytes and %d drops, of %d copies of 1000 bytes that came out and %d that did not", u[0].Bytes,
					u[0].Dropped, taken, 2*n-taken)
			}
		})
	}
}

const wire2 = `
ports: {users: {interface: a}, uplink: {interface: b, rate: 10Mbps, buffer: 50 packets}}
switch:
  - forward
  - abc: {q_min: 2 packets, q_base: 4 packets, gamma: 4 packets}
  - ecn: {kmin: 1kB, kmax: 1kB, pmax: 100%, at: enqueue}
users: {new: 0s}
metrics: none
`

// TestControlIsNotABC checks that ABC drops packets of a user that sends twice the link's rate, and never ARP and
// neighbour discovery, which belong to no user, however long the queue. ECN marks, and changes no other part of a
// frame.
func TestControlIsNotABC(t *testing.T) {
	b := newBench(t, decode(t, wire2))
	arp := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 6}, make([]byte, 46)...)
	ns := append(append([]byte{0x33, 0x33, 0xff, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 24, 58, 255},
		make([]byte, 32)...), 135, 0, 0, 0)
	ns = append(ns, make([]byte, 20)...)
	const n = 1000
	for i := range n {
		at := unit.Time(i) * 600 * unit.Microsecond // 1500 B in 600 us: 20 Mb/s
		b.send(0, at, frametest.NewDatagram(t, 1, 2, 2, 1500))
		if i%20 == 0 {
			b.send(0, at, arp)
			b.send(0, at, ns)
		}
	}
	b.stepUntil(t, n*700*unit.Microsecond)
	arps, discoveries, users, marked := 0, 0, 0, 0
	plain := frametest.NewDatagram(t, 1, 2, 2, 1500)
	for _, f := range b.gates[1].out {
		switch {
		case bytes.Equal(f, arp):
			arps++
		case bytes.Equal(f, ns):
			discoveries++
		case f[15] == 3:
			marked++
			ip := packet.IPv4(bytes.Clone(f[14:]))
			if !ip.ChecksumOK() {
				t.Fatal("the checksum of a marked frame is wrong")
			}
			if ip.SetTOS(2); !bytes.Equal(ip, plain[14:]) {
				t.Fatal("a marked frame has more changed than its mark")
			}
		case bytes.Equal(f, plain):
			users++
		default:
			t.Fatalf("%x", f)
		}
	}
	if arps != n/20 || discoveries != n/20 || marked < 100 || users+marked > 600 {
		t.Errorf("%d of %d ARP requests, %d of %d solicitations, %d frames of the user, %d marked", arps, n/20, discoveries,
			n/20, users, marked)
	}
	var top [3]p4abc.User
	if n := abcOf(b).ListActiveUsers(b.time, top[:]); n != 1 || top[0].Source == 0 ||
		b.who(top[0].Source) != "10.0.0.1" {
		t.Errorf("%d users are metered: %v", n, top[:n])
	}
	if d := b.PortDrops(1); d[dataplane.ActivityExceeded] < 300 || d[dataplane.PortPacketLimit] > 0 {
		t.Errorf("drops %v", d)
	}
}

func abcOf(b *bench) *p4abc.Program {
	for _, x := range b.running {
		if a, ok := x.Program.(*p4abc.Program); ok {
			return a
		}
	}
	return nil
}

// TestSetPrograms_KeepsPacketsAndMeters checks that a change of programs, rates and limits between two packets loses no
// waiting packet, and ABC's activities continue.
func TestSetPrograms_KeepsPacketsAndMeters(t *testing.T) {
	const before = `
ports: {left: {interface: a}, right: {interface: b, rate: 10Mbps, buffer: 1000 packets}}
switch: [forward, {abc: {q_min: 900 packets, q_base: 950 packets, memory: 1s}}]
metrics: none
`
	const after = `
ports: {left: {interface: a}, right: {interface: b, rate: 20Mbps, buffer: 10 packets}}
switch: [forward, {abc: {q_min: 900 packets, q_base: 950 packets, memory: 3s}}, {ecn: {}}]
metrics: none
`
	b := newBench(t, decode(t, before))
	const n = 200
	for i := range n {
		b.send(0, unit.Time(i)*unit.Millisecond, frametest.NewDatagram(t, 1, 2, 0, 1500)) // 12 Mb/s
	}
	b.stepUntil(t, n*unit.Millisecond)
	waiting := b.WaitingPackets()
	var was, is [1]p4abc.User
	abcOf(b).ListActiveUsers(b.time, was[:])
	c := decode(t, after)
	list, notes, err := replacePrograms(b.time, b.Site(c.bridgePorts()), b.running, c.Programs)
	if err != nil {
		t.Fatal(err)
	}
	b.running = list
	if err := b.SetPrograms(b.time, listPrograms(list)); err != nil {
		t.Fatal(err)
	}
	b.SetPorts(c.bridgePorts())
	abcOf(b).ListActiveUsers(b.time, is[:])
	if len(notes) != 2 || notes[0] != "abc has other parameters and keeps its meters" ||
		notes[1] != "ecn starts now" {
		t.Errorf("%q", notes)
	}
	if waiting < 20 || b.WaitingPackets() != waiting {
		t.Errorf("%d frames waited, and %d do now", waiting, b.WaitingPackets())
	}
	if d := is[0].Activity - was[0].Activity; d > 1e-9 || d < -1e-9 || was[0].Source != is[0].Source {
		t.Errorf("the activity was %v, and is %v", was, is)
	}
	start := b.time
	b.stepUntil(t, b.time+unit.Second)
	if g := b.gates[1]; len(g.out) != n {
		t.Errorf("%d of %d frames came out", len(g.out), n)
	} else if took, want := g.when[n-1]-start, unit.Time(waiting)*600*unit.Microsecond; took > want+unit.Millisecond {
		t.Errorf("%d frames at 20 Mb/s took %v, want %v", waiting, took, want)
	}
	if b.Port(1).Limit().Packets != 10 {
		t.Error("the buffer's size is the old one")
	}
}

// TestReload_FixesPortWithLowRate checks that a rate that is far too low, and fixed by the next reload, leaves no port
// dead: the rest of the frame in service is sent at the new rate, and the next frames follow.
func TestReload_FixesPortWithLowRate(t *testing.T) {
	const file = `
ports: {left: {interface: a}, right: {interface: b, rate: 50Mbps, buffer: 1000 packets}}
switch: [forward]
metrics: none
`
	for _, wrong := range []string{"1bps", "100bps", "1kbps", "1000pps"} {
		t.Run(wrong, func(t *testing.T) {
			b := newBench(t, decode(t, file))
			b.SetPorts(decode(t, strings.Replace(file, "50Mbps", wrong, 1)).bridgePorts())
			for range 3 {
				b.send(0, b.time, frametest.NewDatagram(t, 1, 2, 0, 1400))
			}
			b.stepUntil(t, b.time+500*unit.Microsecond)
			if n := len(b.gates[1].out); n != 0 {
				t.Fatalf("%d frames came out at %s", n, wrong)
			}
			b.SetPorts(decode(t, file).bridgePorts())
			b.stepUntil(t, b.time+3*unit.Millisecond)
			if n := len(b.gates[1].out); n != 3 || b.WaitingPackets() != 0 {
				t.Errorf("%d of 3 frames came out, %d wait", n, b.WaitingPackets())
			}
		})
	}
}

// TestChangeOfRate checks that thresholds by a port's rate follow its new rate after a change, although the program's
// own parameters stay. Other values do not change.
func TestChangeOfRate(t *testing.T) {
	const file = `
ports: {left: {interface: a}, right: {interface: b, rate: 10Mbps, buffer: 1000 packets}}
switch:
  - forward
  - abc: {q_min: 900 packets, q_base: 950 packets}
  - ecn: {kmin: 15kB, kmax: 15kB, pmax: 100%, at_rate: 10Mbps, at: enqueue}
metrics: none
`
	b := newBench(t, decode(t, file))
	c := decode(t, strings.Replace(file, "rate: 10Mbps", "rate: 100Mbps", 1))
	was := b.running
	list, notes, err := replacePrograms(b.time, b.Site(c.bridgePorts()), was, c.Programs)
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) > 0 { // nothing is lost: ecn keeps its counts
		t.Errorf("%q", notes)
	}
	if err := b.SetPrograms(b.time, listPrograms(list)); err != nil {
		t.Fatal(err)
	}
	b.SetPorts(c.bridgePorts())
	for range 150 { // 10 times 15 kB is reached by the hundredth
		b.send(0, b.time, frametest.NewDatagram(t, byte(1), 2, 2, 1500))
	}
	b.stepUntil(t, b.time+20*unit.Millisecond)
	first := slices.IndexFunc(b.gates[1].out, func(f []byte) bool { return f[15]&3 == 3 })
	if first < 100 || first > 105 {
		t.Errorf("of %d frames, number %d is the first with a mark", len(b.gates[1].out), first)
	}
	again, notes, err := replacePrograms(b.time, b.Site(c.bridgePorts()), list, c.Programs)
	if err != nil || len(notes) > 0 || again[2].Program != list[2].Program {
		t.Errorf("nothing has changed: %q, %v", notes, err)
	}
}

// TestStopReceiving_SendsWaitingFrames checks that frames after a request to stop stay outside, and frames in the
// switch are sent.
func TestStopReceiving_SendsWaitingFrames(t *testing.T) {
	b := newBench(t, decode(t, wire2))
	for i := range 5 {
		b.send(0, unit.Time(i), frametest.NewDatagram(t, 1, 2, 0, 1500))
	}
	b.stepUntil(t, 100*unit.Microsecond)
	b.StopReceiving()
	b.send(0, b.time, frametest.NewDatagram(t, 1, 2, 0, 1500))
	b.send(1, b.time, frametest.NewDatagram(t, 2, 1, 0, 1500))
	b.stepUntil(t, b.time+20*unit.Millisecond)
	if out, back := len(b.gates[1].out), len(b.gates[0].out); out != 5 || back != 0 || b.WaitingPackets() != 0 {
		t.Errorf("%d frames came out, %d the other way, %d wait", out, back, b.WaitingPackets())
	}
}

// loopGate repeats the same frames, and keeps no frame.
type loopGate struct {
	frames [][]byte
	next   int
	until  int
	now    *unit.Time
	out    int
}

func (g *loopGate) Stamp() unit.Time {
	if g.next >= g.until {
		return unit.Never
	}
	return *g.now
}

func (g *loopGate) Take(b []byte) []byte {
	g.next++
	return append(b, g.frames[g.next%len(g.frames)]...)
}
func (g *loopGate) Put([]byte) bool         { g.out++; return true }
func (g *loopGate) Flush() error            { return nil }
func (g *loopGate) Drop() int               { return 0 }
func (g *loopGate) Counts() live.GateCounts { return live.GateCounts{} }

// TestNoGarbage checks that carrying a frame allocates no memory, with ABC and marks, for any kind of frame.
func TestNoGarbage(t *testing.T) {
	c := decode(t, wire2)
	b := &bench{users: frames.NewUsers(&c.Users, 1)}
	all := [][]byte{frametest.NewDatagram(t, 1, 2, 2, 1500), frametest.NewDatagram(t, 3, 4, 2, 100)}
	for _, f := range frametest.AllFrames() {
		all = append(all, f.Bytes)
	}
	gates := []live.Gate{&loopGate{frames: all, now: &b.time}, &loopGate{frames: all, now: &b.time}}
	var err error
	b.Bridge, err = live.NewBridge(c.bridgeConfig(1, 1514+frames.MaxTagged, b.users,
		func(site *dataplane.Site) ([]dataplane.Program, error) {
			list, _, err := replacePrograms(0, site, nil, c.Programs)
			return listPrograms(list), err
		}), gates, func() unit.Time { return b.time })
	if err != nil {
		t.Fatal(err)
	}
	step := func() {
		for _, g := range gates {
			g.(*loopGate).until += 20
		}
		b.time += 10 * unit.Millisecond
		if err := b.Step(b.time); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		step()
	}
	if n := testing.AllocsPerRun(200, step); n > 0 {
		t.Errorf("%v allocations for 40 frames", n)
	}
	if g := gates[0].(*loopGate); g.out < 1000 {
		t.Errorf("%d frames went through", g.out)
	}
}
