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

// T is the part of a test that CheckContract uses: *testing.T, or a counter of errors.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// gigabit is a rate at which a frame of 125 bytes takes 1 µs.
var gigabit = unit.LinkRate{Bits: unit.Gbps}

const (
	us  = unit.Microsecond
	pay = 125 - 42 // payload of a frame of 125 bytes
)

// String returns a line for each departure, then the drops by reason, and the number of lost packets if it is not 0.
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

// Script is one script of the contract.
type Script struct {
	Name    string
	Setup   func() Setup
	Arrives []Arrival
	Want    string
}

// withBookkeeper returns s with forwarding, the given programs, and a bookkeeper that checks the order of hooks.
func withBookkeeper(s Setup, programs ...dataplane.Program) Setup {
	s.Programs = append(append([]dataplane.Program{forward.New(s.NewSite())}, programs...), &bookkeeper{})
	return s
}

// newBurst returns n simultaneous packets for the address of port 1, numbered from 0, which arrive at port 0 at
// arrivalTime.
func newBurst(n int, arrivalTime unit.Time) []Arrival {
	var a []Arrival
	for i := range n {
		a = append(a, Arrival{At: arrivalTime, Dst: 2, Seq: int64(i), Payload: pay})
	}
	return a
}

// CheckContract runs every script on the driver, with packets as fields and as bytes, and reports differences. It also
// checks the bookkeeping of hooks. The last program of each script must be the bookkeeper.
func CheckContract(t T, d ScriptRunner) {
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
			if len(k.booked) != 0 && k.violation == "" {
				k.violation = fmt.Sprintf("%d packets were booked and neither left nor were dropped", len(k.booked))
			}
			if (k.packets != 0 || k.bytes != 0) && k.violation == "" {
				k.violation = fmt.Sprintf("%d packets, %d bytes, were booked and not unbooked", k.packets, k.bytes)
			}
			if k.violation != "" {
				t.Errorf("%s (bytes: %v): %s", s.Name, wire, k.violation)
			}
		}
	}
}

// bookkeeper checks the contract of hooks. A booked packet is released or dropped exactly once, and no other packet
// is. Times do not run back. Hooks do not see link control frames.
type bookkeeper struct {
	booked    map[*packet.Packet]bool // packets to be released or dropped
	packets   int                     // booked and not unbooked packets, and their bytes: exactly the waiting ones
	bytes     int64
	last      unit.Time
	violation string
}

func (k *bookkeeper) Name() string { return "bookkeeper" }

// checkStep checks the time and the kind of packet at a hook. what names the hook. A violation is stored, not returned.
func (k *bookkeeper) checkStep(env *dataplane.Env, p *packet.Packet, what string) {
	if env.Now() < k.last {
		k.violation = fmt.Sprintf("%s at %v, after %v", what, env.Now(), k.last)
	}
	if isPFC(p.Kind) == 1 {
		k.violation = what + " sees a link control frame"
	}
	k.last = env.Now()
}

func (k *bookkeeper) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	k.checkStep(env, p, "ingress")
	return dataplane.Accept
}

// Book records the packet, and checks that the booked packets are those that wait in all ports. A violation is stored.
func (k *bookkeeper) Book(env *dataplane.Env, p *packet.Packet) {
	k.checkStep(env, p, "book")
	if k.booked == nil {
		k.booked = map[*packet.Packet]bool{}
	}
	k.booked[p] = true // also again after its payload was cut off, if it waits elsewhere
	k.packets++
	k.bytes += int64(p.Size)
	k.compareWaiting(env, "booked")
	total := 0
	for i := range env.Ports() {
		total += int(env.Port(packet.PortID(i)).Packets())
	}
	if len(k.booked) < total { // more: packets evicted by this step's hooks are reported at its end
		k.violation = fmt.Sprintf("%d packets are booked, %d wait", len(k.booked), total)
	}
}

// compareWaiting compares number and bytes of the booked packets with those that wait in all ports. A difference is
// stored as violation, with what as the hook's effect.
func (k *bookkeeper) compareWaiting(env *dataplane.Env, what string) {
	packets, bytes := 0, int64(0)
	for i := range env.Ports() {
		packets += int(env.Port(packet.PortID(i)).Packets())
		bytes += int64(env.Port(packet.PortID(i)).Bytes())
	}
	if packets != k.packets || bytes != k.bytes || bytes != int64(env.BufferedBytes()) {
		k.violation = fmt.Sprintf("when a packet is %s %d packets, %d bytes, wait, %d and %d are booked", what, packets,
			bytes,
			k.packets, k.bytes)
	}
}

// Unbook checks its time, and that without p the booked packets are the waiting ones.
func (k *bookkeeper) Unbook(env *dataplane.Env, p *packet.Packet) {
	k.checkStep(env, p, "unbook")
	k.packets--
	k.bytes -= int64(p.Size)
	k.compareWaiting(env, "unbooked")
}

// Release checks that p was booked and not released before, and forgets p. It accepts every packet.
func (k *bookkeeper) Release(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	k.checkStep(env, p, "release")
	if !k.booked[p] {
		k.violation = "a packet leaves that was never booked"
	}
	delete(k.booked, p)
	return dataplane.Accept
}

func (k *bookkeeper) OnDrop(env *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	k.checkStep(env, p, "drop")
	delete(k.booked, p)
}

// classifier sets class 1 for odd packets.
type classifier struct{}

func (*classifier) Name() string { return "classifier" }
func (*classifier) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Class = uint8(p.Seq & 1)
	return dataplane.Accept
}

// pauser pauses class 3 of the neighbour that sent packet 77.
type pauser struct{}

func (*pauser) Name() string { return "pauser" }

// Ingress sends a Pause frame for class 3 to the neighbour of packet 77. It accepts every packet.
func (*pauser) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Seq == 77 {
		env.SendPFC(p.Meta.In, packet.Pause, 3)
	}
	return dataplane.Accept
}

// renewer pauses its neighbour when a packet arrives, and once more 3 µs later.
type renewer struct{}

func (*renewer) Name() string { return "renewer" }

// Ingress pauses class 2 of the neighbour for 1000 quanta, and requests a tick in 3 µs. It accepts every packet.
func (r *renewer) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	env.SendPause(p.Meta.In, 2, 1000)
	env.TickAt(r, env.Now()+3*us)
	return dataplane.Accept
}

// Tick pauses class 2 of the neighbour at port 0 again, except at time 0.
func (r *renewer) Tick(env *dataplane.Env) unit.Time {
	if env.Now() > 0 {
		env.SendPause(0, 2, 1000)
	}
	return unit.Never
}

// asker answers packet 10 with a trimmed clone 11 to port 0, and with 12, which goes through the ingress again.
type asker struct{}

func (*asker) Name() string { return "asker" }

// Ingress accepts every packet. For packet 10, except in clones, it makes packets 11 and 12 by clones.
func (*asker) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Seq == 10 && p.Meta.Flags&packet.Internal == 0 {
		c := env.ClonePacket(p, true)
		c.Seq = 11
		c.Data = nil
		env.SendPacket(c, 0, 0)
		c = env.ClonePacket(p, false)
		c.Seq, c.Dst = 12, 1
		c.Data = nil
		env.InjectPacket(c)
	}
	return dataplane.Accept
}

// recirculator sends every packet through the ingress a second time.
type recirculator struct{}

func (*recirculator) Name() string { return "recirculator" }

// Ingress recirculates a clone of each packet that arrives from a link, and drops the original as Policed.
func (*recirculator) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.In != packet.NoPort {
		env.RecirculatePacket(env.ClonePacket(p, false))
		return dataplane.Drop(dataplane.Policed)
	}
	return dataplane.Accept
}

// trimmer trims packets that do not fit into queue 1.
type trimmer struct{}

func (*trimmer) Name() string { return "trimmer" }
func (*trimmer) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	p.Meta.Class = 1
	return dataplane.Accept
}

// Admit trims a packet that does not fit, unless it is trimmed already.
func (*trimmer) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if m.Flags&packet.Trimmed == 0 && env.Port(m.Out).Fits(m.Queue, p.Size) != tm.Fits {
		return dataplane.Trim
	}
	return dataplane.Accept
}

// tailTrimmer trims the last packet of queue 1 when the queue is full.
type tailTrimmer struct{ trimmer }

func (*tailTrimmer) Name() string { return "tail trimmer" }

// Admit trims the last packet of queue 1 if p does not fit there. It accepts p in any case.
func (*tailTrimmer) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	if m.Queue == 1 && env.Port(m.Out).Fits(m.Queue, p.Size) != tm.Fits {
		env.TrimTail(m.Out, m.Queue)
	}
	return dataplane.Accept
}

// evicter evicts a packet when packet 3 is about to enter.
type evicter struct{}

func (*evicter) Name() string { return "evicter" }

// Admit evicts the last packet of packet 3's queue. It accepts every packet.
func (*evicter) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Seq == 3 {
		env.EvictTail(p.Meta.Out, p.Meta.Queue)
	}
	return dataplane.Accept
}

// ticker sends packets 101, 102 and 103 to port 0 at 3, 6 and 9 µs.
type ticker struct{ n int64 }

func (*ticker) Name() string { return "ticker" }

// Tick sends a packet, except at time 0, and asks for the next tick until three packets are sent.
func (k *ticker) Tick(env *dataplane.Env) unit.Time {
	if env.Now() > 0 {
		p := env.NewPacket()
		p.Seq, p.Payload, p.Size, p.Version = 100+k.n, pay, 125, 4
		env.SendPacket(p, 0, 0)
	}
	if k.n++; k.n > 3 {
		return unit.Never
	}
	return unit.Time(k.n) * 3 * us
}

// releaser drops odd packets when they leave their queue.
type releaser struct{}

func (*releaser) Name() string { return "releaser" }

// Release drops packets with an odd number as EarlyDrop.
func (*releaser) Release(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Seq&1 == 1 {
		return dataplane.Drop(dataplane.EarlyDrop)
	}
	return dataplane.Accept
}
