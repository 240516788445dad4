package dataplanetest

import (
	"fmt"
	"strings"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// T is what Contract needs of a test: *testing.T, or a counter of errors.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// gigabit sends a frame of 125 bytes in 1 µs.
var gigabit = unit.LinkRate{Bits: unit.Gbps}

const (
	us  = unit.Microsecond
	pay = 125 - 42 // payload of a frame of 125 bytes
)

// String is a line a departure.
func (t Transcript) String() string {
	var b strings.Builder
	for _, d := range t.Departures {
		kind := map[packet.Kind]string{packet.Data: "data", packet.Pause: "pause", packet.Resume: "resume"}[d.Kind]
		fmt.Fprintf(&b, "%v port %d %s", d.At, d.Port, kind)
		if isPFC(d.Kind) == 1 {
			fmt.Fprintf(&b, " class %d\n", d.Class)
			continue
		}
		fmt.Fprintf(&b, " %d, %d B, hop limit %d", d.Seq, d.Size, d.HopLimit)
		if d.Flags&packet.Trimmed != 0 {
			b.WriteString(", trimmed")
		}
		b.WriteString("\n")
	}
	for why, n := range t.Drops {
		if n > 0 {
			fmt.Fprintf(&b, "dropped %d: %v\n", n, dataplane.Reason(why))
		}
	}
	if t.Live != 0 {
		fmt.Fprintf(&b, "%d packets are lost\n", t.Live)
	}
	return b.String()
}

// Scripts are the contract: each with the transcript that every driver must give.
func Scripts() []Script {
	two := func() []Port { return []Port{{Rate: gigabit, Queues: 1}, {Rate: gigabit, Queues: 1}} }
	return []Script{
		{"forwarding, and a queue that drains back to back", func() Setup {
			return with(Setup{Ports: two()})
		}, []Arrival{
			{At: 1 * us, Dst: 2, Seq: 1, Payload: pay}, {At: 1 * us, Dst: 2, Seq: 2, Payload: pay}, {At: 1*us + 1, Dst: 2,
				Seq: 3, Payload: pay},
			{At: 9 * us, Port: 1, Dst: 1, Seq: 4, Payload: pay},
		}, `2us port 1 data 1, 125 B, hop limit 63
3us port 1 data 2, 125 B, hop limit 63
4us port 1 data 3, 125 B, hop limit 63
10us port 0 data 4, 125 B, hop limit 63
`},
		{"hop limit and missing routes", func() Setup {
			return with(Setup{Ports: two()})
		}, []Arrival{
			{At: 1 * us, Dst: 2, Seq: 1, Payload: pay, HopLimit: 1}, {At: 2 * us, Dst: 2, Seq: 2, Payload: pay, HopLimit: 2},
			{At: 3 * us, Dst: 3, Seq: 3, Payload: pay},
		}, `3us port 1 data 2, 125 B, hop limit 1
dropped 1: no route
dropped 1: hop limit
`},
		{"a limit of two packets: the frame on the wire does not count", func() Setup {
			p := two()
			p[1].Total = tm.Limit{Packets: 2}
			return with(Setup{Ports: p})
		}, burst(5, 1*us), `2us port 1 data 0, 125 B, hop limit 63
3us port 1 data 1, 125 B, hop limit 63
4us port 1 data 2, 125 B, hop limit 63
dropped 2: port packets
`},
		{"a limit of 300 bytes in each queue", func() Setup {
			p := two()
			p[1].Each = tm.Limit{Bytes: 300}
			return with(Setup{Ports: p})
		}, burst(5, 1*us), `2us port 1 data 0, 125 B, hop limit 63
3us port 1 data 1, 125 B, hop limit 63
4us port 1 data 2, 125 B, hop limit 63
dropped 2: queue bytes
`},
		{"at the instant at which a port becomes free, the next frame leaves before one arrives", func() Setup {
			p := two()
			p[1].Total = tm.Limit{Packets: 1}
			return with(Setup{Ports: p})
		}, []Arrival{
			{At: 1 * us, Dst: 2, Seq: 1, Payload: pay}, {At: 1*us + 1, Dst: 2, Seq: 2, Payload: pay},
			{At: 2 * us, Dst: 2, Seq: 3, Payload: pay},
		}, `2us port 1 data 1, 125 B, hop limit 63
3us port 1 data 2, 125 B, hop limit 63
4us port 1 data 3, 125 B, hop limit 63
`},
		{"strict priority", func() Setup {
			p := two()
			p[1].Queues = 2
			return with(Setup{Ports: p}, &classifier{})
		}, []Arrival{
			{At: 1 * us, Dst: 2, Seq: 1, Payload: pay}, {At: 1 * us, Dst: 2, Seq: 3, Payload: pay}, {At: 1 * us, Dst: 2, Seq: 2,
				Payload: pay}, {At: 1 * us, Dst: 2, Seq: 4, Payload: pay},
		}, `2us port 1 data 1, 125 B, hop limit 63
3us port 1 data 2, 125 B, hop limit 63
4us port 1 data 4, 125 B, hop limit 63
5us port 1 data 3, 125 B, hop limit 63
`},
		// half of the rate, one frame of credit: two frames back to back, then every
		// other microsecond, from the picosecond after the bucket is even again
		{"a hard ceiling: the port comes back by itself", func() Setup {
			p := two()
			s, err := tm.NewGuarantee([]tm.Share{{Ceiling: 0.5, Hard: true}}, unit.Gbps, 125, 125)
			if err != nil {
				panic(err)
			}
			p[1].Scheduler = s
			return with(Setup{Ports: p})
		}, burst(4, 1*us), `2us port 1 data 0, 125 B, hop limit 63
3us port 1 data 1, 125 B, hop limit 63
4000.001ns port 1 data 2, 125 B, hop limit 63
6000.001ns port 1 data 3, 125 B, hop limit 63
`},
		{"pause holds one class, resume releases it, control frames pass", func() Setup {
			p := two()
			p[1].Queues = 2
			return with(Setup{Ports: p}, &classifier{})
		}, []Arrival{
			{At: 1 * us, Port: 1, Kind: packet.Pause, Class: 1}, {At: 2 * us, Dst: 2, Seq: 2, Payload: pay},
			{At: 2 * us, Dst: 2, Seq: 1, Payload: pay},
			{At: 9 * us, Port: 1, Kind: packet.Resume, Class: 1},
		}, `3us port 1 data 2, 125 B, hop limit 63
10us port 1 data 1, 125 B, hop limit 63
`},
		// 100 quanta of 512 bit times are 51.2 µs; 65535 (0 here) have no end
		{"a pause of some quanta ends by itself, and is renewed by the next one", func() Setup {
			return with(Setup{Ports: two()})
		}, []Arrival{
			{At: 1 * us, Port: 1, Kind: packet.Pause, Seq: 100}, {At: 2 * us, Dst: 2, Seq: 1, Payload: pay},
			{At: 60 * us, Port: 1, Kind: packet.Pause, Seq: 100}, {At: 61 * us, Dst: 2, Seq: 2, Payload: pay},
			{At: 90 * us, Port: 1, Kind: packet.Pause, Seq: 100},
			{At: 150 * us, Port: 1, Kind: packet.Pause}, {At: 151 * us, Dst: 2, Seq: 3, Payload: pay},
			{At: 900 * us, Port: 1, Kind: packet.Resume},
		}, `53.2us port 1 data 1, 125 B, hop limit 63
142.2us port 1 data 2, 125 B, hop limit 63
901us port 1 data 3, 125 B, hop limit 63
`},
		{"a class without a queue of its own is held with the last one", func() Setup {
			p := two()
			p[1].Queues = 2
			return with(Setup{Ports: p}, &classifier{})
		}, []Arrival{
			{At: 1 * us, Port: 1, Kind: packet.Pause, Class: 1}, {At: 1*us + 1, Port: 1, Kind: packet.Pause, Class: 5},
			{At: 2 * us, Dst: 2, Seq: 2, Payload: pay}, {At: 2 * us, Dst: 2, Seq: 1, Payload: pay},
			{At: 9 * us, Port: 1, Kind: packet.Resume, Class: 1}, {At: 11 * us, Port: 1, Kind: packet.Resume, Class: 5},
		}, `3us port 1 data 2, 125 B, hop limit 63
12us port 1 data 1, 125 B, hop limit 63
`},
		{"a program asks for a tick, and for a pause of some quanta", func() Setup {
			return with(Setup{Ports: two()}, &renewer{})
		}, []Arrival{{At: 4 * us, Dst: 2, Seq: 1, Payload: pay}}, `4.512us port 0 pause class 2
5us port 1 data 1, 125 B, hop limit 63
7.512us port 0 pause class 2
`},
		{"a program pauses its neighbour: 64 bytes, before what waits", func() Setup {
			return with(Setup{Ports: two()}, &pauser{})
		}, []Arrival{
			{At: 1 * us, Port: 1, Dst: 1, Seq: 1, Payload: pay}, {At: 1 * us, Port: 1, Dst: 1, Seq: 2, Payload: pay},
			{At: 1*us + 1, Dst: 2, Seq: 77, Payload: pay},
		}, `2us port 0 data 1, 125 B, hop limit 63
2000.001ns port 1 data 77, 125 B, hop limit 63
2.512us port 0 pause class 3
3.512us port 0 data 2, 125 B, hop limit 63
`},
		{"what hooks ask for happens after the packet in hand", func() Setup {
			return with(Setup{Ports: two()}, &asker{})
		}, []Arrival{{At: 1 * us, Dst: 2, Seq: 10, Payload: pay}}, `1.336us port 0 data 11, 42 B, hop limit 63, trimmed
2us port 1 data 10, 125 B, hop limit 63
2.336us port 0 data 12, 125 B, hop limit 62
`},
		{"recirculation has a rate and a queue", func() Setup {
			return with(Setup{Ports: two(), Recirculation: dataplane.Recirculation{Rate: unit.LinkRate{Bits: unit.Gbps / 10},
				Queue: 2}}, &recirculator{})
		}, burst(4, 1*us), `12us port 1 data 0, 125 B, hop limit 62
22us port 1 data 1, 125 B, hop limit 62
dropped 4: policed
dropped 2: recirculation full
`},
		{"trimming moves the header to the trim class; what does not fit then is dropped", func() Setup {
			p := two()
			p[1].Queues, p[1].Each = 2, tm.Limit{Packets: 1}
			return with(Setup{Ports: p, TrimClass: 0}, &trimmer{})
		}, burst(4, 1*us), `2us port 1 data 0, 125 B, hop limit 63
2.336us port 1 data 2, 42 B, hop limit 63, trimmed
3.336us port 1 data 1, 125 B, hop limit 63
dropped 1: queue packets
`},
		{"the packet that came last is trimmed, and the next one takes its place", func() Setup {
			p := two()
			p[1].Queues, p[1].Each = 2, tm.Limit{Packets: 2}
			return with(Setup{Ports: p, TrimClass: 0}, &tailTrimmer{})
		}, burst(6, 1*us), `2us port 1 data 0, 125 B, hop limit 63
2.336us port 1 data 2, 42 B, hop limit 63, trimmed
2.672us port 1 data 3, 42 B, hop limit 63, trimmed
3.672us port 1 data 1, 125 B, hop limit 63
4.672us port 1 data 5, 125 B, hop limit 63
dropped 1: queue packets
`},
		{"an evicted packet is the one that came last", func() Setup {
			return with(Setup{Ports: two()}, &evicter{})
		}, burst(4, 1*us), `2us port 1 data 0, 125 B, hop limit 63
3us port 1 data 1, 125 B, hop limit 63
4us port 1 data 3, 125 B, hop limit 63
dropped 1: evicted
`},
		// flow of port 0: 1 leaves at once, 2, 3 and 4 wait; 10 of port 1 takes the place of 4, for 5
		// there is none; with a quantum of one frame the flows take turns
		{"fair queues: turns of flows, and the longest flow gives way", func() Setup {
			p := append(two(), Port{Rate: gigabit, Queues: 1, Total: tm.Limit{Packets: 3}})
			s, err := tm.NewFQ(tm.FQ{Flows: 1024, Quantum: 125})
			if err != nil {
				panic(err)
			}
			p[2].Scheduler = s
			return with(Setup{Ports: p})
		}, []Arrival{
			{At: 1 * us, Dst: 3, Seq: 1, Payload: pay}, {At: 1 * us, Dst: 3, Seq: 2, Payload: pay}, {At: 1 * us, Dst: 3, Seq: 3,
				Payload: pay}, {At: 1 * us, Dst: 3, Seq: 4, Payload: pay},
			{At: 1*us + 100, Port: 1, Dst: 3, Seq: 10, Payload: pay}, {At: 1*us + 200, Dst: 3, Seq: 5, Payload: pay},
		}, `2us port 2 data 1, 125 B, hop limit 63
3us port 2 data 2, 125 B, hop limit 63
4us port 2 data 10, 125 B, hop limit 63
5us port 2 data 3, 125 B, hop limit 63
dropped 1: port packets
dropped 1: evicted
`},
		{"a tick comes when it was asked for, and may send", func() Setup {
			return with(Setup{Ports: two()}, &ticker{})
		}, []Arrival{{At: 4 * us, Dst: 2, Seq: 1, Payload: pay}}, `4us port 0 data 101, 125 B, hop limit 0
5us port 1 data 1, 125 B, hop limit 63
7us port 0 data 102, 125 B, hop limit 0
10us port 0 data 103, 125 B, hop limit 0
`},
		{"a packet dropped at release leaves the port to the next one at once", func() Setup {
			return with(Setup{Ports: two()}, &releaser{})
		}, burst(4, 1*us), `2us port 1 data 0, 125 B, hop limit 63
3us port 1 data 2, 125 B, hop limit 63
dropped 2: early drop
`},
	}
}

// Script is one script of the contract.
type Script struct {
	Name    string
	Setup   func() Setup
	Arrives []Arrival
	Want    string
}

// with adds forwarding, the given programs, and a bookkeeper that watches the
// order of hooks.
func with(s Setup, programs ...dataplane.Program) Setup {
	s.Programs = append(append([]dataplane.Program{forward.New(s.Site())}, programs...), &bookkeeper{})
	return s
}

// burst is n packets for port 1 at one time.
func burst(n int, at unit.Time) []Arrival {
	var a []Arrival
	for i := range n {
		a = append(a, Arrival{At: at, Dst: 2, Seq: int64(i), Payload: pay})
	}
	return a
}

// Contract runs every script on the driver, with packets as fields and as bytes,
// and reports what differs. It also checks the bookkeeping of hooks.
func Contract(t T, d Driver) {
	t.Helper()
	for _, s := range Scripts() {
		for _, wire := range []bool{false, true} {
			setup := s.Setup()
			setup.Wire = wire
			got := d(setup, append([]Arrival(nil), s.Arrives...))
			if got.String() != s.Want {
				t.Errorf("%s (bytes: %v): got\n%swant\n%s", s.Name, wire, got, s.Want)
			}
			k := setup.Programs[len(setup.Programs)-1].(*bookkeeper)
			if len(k.booked) != 0 && k.wrong == "" {
				k.wrong = fmt.Sprintf("%d packets were booked and neither left nor were dropped", len(k.booked))
			}
			if (k.packets != 0 || k.bytes != 0) && k.wrong == "" {
				k.wrong = fmt.Sprintf("%d packets, %d bytes, were booked and not unbooked", k.packets, k.bytes)
			}
			if k.wrong != "" {
				t.Errorf("%s (bytes: %v): %s", s.Name, wire, k.wrong)
			}
		}
	}
}

// bookkeeper checks the contract of hooks: what is booked leaves by release or is
// dropped once; nothing leaves that was not booked; times do not run back; link
// control frames are seen by no hook.
type bookkeeper struct {
	booked  map[*packet.Packet]bool // that are to be released or dropped
	packets int                     // booked and not unbooked, and their bytes: exactly what waits
	bytes   int64
	last    unit.Time
	wrong   string
}

func (k *bookkeeper) Name() string { return "bookkeeper" }

func (k *bookkeeper) see(env *dataplane.Env, p *packet.Packet, what string) {
	if env.Now() < k.last {
		k.wrong = fmt.Sprintf("%s at %v, after %v", what, env.Now(), k.last)
	}
	if isPFC(p.Kind) == 1 {
		k.wrong = what + " sees a link control frame"
	}
	k.last = env.Now()
}

func (k *bookkeeper) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	k.see(env, p, "ingress")
	return dataplane.Accept
}

func (k *bookkeeper) Book(env *dataplane.Env, p *packet.Packet) {
	k.see(env, p, "book")
	if k.booked == nil {
		k.booked = map[*packet.Packet]bool{}
	}
	k.booked[p] = true // also once more: its payload was cut off, and it waits elsewhere
	k.packets++
	k.bytes += int64(p.Size)
	k.waits(env, "booked")
	total := 0
	for i := range env.Ports() {
		total += int(env.Port(packet.PortID(i)).Packets())
	}
	if len(k.booked) < total { // more: what was evicted by this step's hooks is told when the step ends
		k.wrong = fmt.Sprintf("%d packets are booked, %d wait", len(k.booked), total)
	}
}

// waits compares what is booked with what waits.
func (k *bookkeeper) waits(env *dataplane.Env, what string) {
	packets, bytes := 0, int64(0)
	for i := range env.Ports() {
		packets += int(env.Port(packet.PortID(i)).Packets())
		bytes += int64(env.Port(packet.PortID(i)).Bytes())
	}
	if packets != k.packets || bytes != k.bytes || bytes != int64(env.Buffered()) {
		k.wrong = fmt.Sprintf("when a packet is %s %d packets, %d bytes, wait, %d and %d are booked", what, packets, bytes,
			k.packets, k.bytes)
	}
}

func (k *bookkeeper) Unbook(env *dataplane.Env, p *packet.Packet) {
	k.see(env, p, "unbook")
	k.packets--
	k.bytes -= int64(p.Size)
	k.waits(env, "unbooked")
}

func (k *bookkeeper) Release(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	k.see(env, p, "release")
	if !k.booked[p] {
		k.wrong = "a packet leaves that was never booked"
	}
	delete(k.booked, p)
	return dataplane.Accept
}

func (k *bookkeeper) OnDrop(env *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	k.see(env, p, "drop")
	delete(k.booked, p)
}

// classifier puts odd packets into class 1.
type classifier struct{}

func (*classifier) Name() string { return "classifier" }
func (*classifier) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Class = uint8(p.Seq & 1)
	return dataplane.Accept
}

// pauser pauses class 3 of the neighbour by which packet 77 came.
type pauser struct{}

func (*pauser) Name() string { return "pauser" }
func (*pauser) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Seq == 77 {
		env.Control(p.Meta.In, packet.Pause, 3)
	}
	return dataplane.Accept
}

// renewer pauses its neighbour when a packet comes, and once more 3 µs later.
type renewer struct{}

func (*renewer) Name() string { return "renewer" }
func (r *renewer) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	env.Pause(p.Meta.In, 2, 1000)
	env.TickAt(r, env.Now()+3*us)
	return dataplane.Accept
}
func (r *renewer) Tick(env *dataplane.Env) unit.Time {
	if env.Now() > 0 {
		env.Pause(0, 2, 1000)
	}
	return unit.Never
}

// asker answers packet 10 by a trimmed clone 11 to port 0, and by 12, which goes
// through the ingress again.
type asker struct{}

func (*asker) Name() string { return "asker" }
func (*asker) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Seq == 10 && p.Meta.Flags&packet.Internal == 0 {
		c := env.Clone(p, true)
		c.Seq = 11
		c.Data = nil
		env.Send(c, 0, 0)
		c = env.Clone(p, false)
		c.Seq, c.Dst = 12, 1
		c.Data = nil
		env.Inject(c)
	}
	return dataplane.Accept
}

// recirculator sends every packet once more through the ingress.
type recirculator struct{}

func (*recirculator) Name() string { return "recirculator" }
func (*recirculator) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.In != packet.NoPort {
		env.Recirculate(env.Clone(p, false))
		return dataplane.Drop(dataplane.Policed)
	}
	return dataplane.Accept
}

// trimmer trims what does not fit into queue 1.
type trimmer struct{}

func (*trimmer) Name() string { return "trimmer" }
func (*trimmer) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Class = 1
	return dataplane.Accept
}
func (*trimmer) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if m.Flags&packet.Trimmed == 0 && env.Port(m.Out).Fits(m.Queue, p.Size) != tm.Fits {
		return dataplane.Trim
	}
	return dataplane.Accept
}

// tailTrimmer trims the packet queued last when queue 1 is full.
type tailTrimmer struct{ trimmer }

func (*tailTrimmer) Name() string { return "tail trimmer" }
func (*tailTrimmer) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if m.Queue == 1 && env.Port(m.Out).Fits(m.Queue, p.Size) != tm.Fits {
		env.TrimTail(m.Out, m.Queue)
	}
	return dataplane.Accept
}

// evicter evicts when packet 3 is about to enter.
type evicter struct{}

func (*evicter) Name() string { return "evicter" }
func (*evicter) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Seq == 3 {
		env.Evict(p.Meta.Out, p.Meta.Queue)
	}
	return dataplane.Accept
}

// ticker sends packets 101, 102 and 103 to port 0 at 3, 6 and 9 µs.
type ticker struct{ n int64 }

func (*ticker) Name() string { return "ticker" }
func (k *ticker) Tick(env *dataplane.Env) unit.Time {
	if env.Now() > 0 {
		p := env.New()
		p.Seq, p.Payload, p.Size, p.Version = 100+k.n, pay, 125, 4
		env.Send(p, 0, 0)
	}
	if k.n++; k.n > 3 {
		return unit.Never
	}
	return unit.Time(k.n) * 3 * us
}

// releaser drops odd packets when they leave.
type releaser struct{}

func (*releaser) Name() string { return "releaser" }
func (*releaser) Release(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Seq&1 == 1 {
		return dataplane.Drop(dataplane.EarlyDrop)
	}
	return dataplane.Accept
}
