//go:build !race

// Left out of race: long simulations that start no goroutines of their own.

package cli

import (
	be "encoding/binary"
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/worlds/lab"
	"weir/worlds/sim"
)

// intruder is a program of a switch on the path that makes packets against flow 0, as frames like any others. It
// marks each of its frames with a bit of the TOS byte, which only the test reads.
type intruder struct {
	mode string
	old  packet.Packet
	n    int
}

const touched uint8 = 0x80

func (*intruder) Name() string { return "intruder" }

func (a *intruder) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	own := p.Meta.In == packet.NoPort && !(a.mode == "nacks again" && p.IsNotification())
	if own || p.Flow != 0 || p.TOS&touched != 0 {
		return dataplane.Accept
	}
	_, records := p.Extension(telemetry.Extension &^ telemetry.Asked)
	_, told := p.Extension(transport.Feedback)
	back := p.Payload == 0 && p.Dst == 1 // to left0
	switch {
	case a.mode == "feedback" && (records || told) && back:
		q := a.clone(env, p)
		lie(q)
		if a.n%2 == 0 {
			if b, ok := q.Extension(transport.Authentication); ok { // a number that has not been
				b[3]++
			}
		}
		env.InjectPacket(q)
	case a.mode == "replay" && (records || told) && back:
		if a.n == 20 {
			a.old = *p
		}
		if a.n++; a.n > 21 {
			env.InjectPacket(a.clone(env, &a.old))
		}
	case a.mode == "acks" && back && !p.IsNotification() && p.Kind == packet.Ack && p.TCP.Flags&packet.SYN == 0:
		q := a.clone(env, p)
		q.Ack, q.Seq = q.Ack+1<<22, q.Seq+1<<22 // of what was never sent
		env.InjectPacket(q)
	case a.mode == "nacks again" && back && p.IsNotification():
		for range 5 {
			env.InjectPacket(a.clone(env, p))
		}
	case (a.mode == "another place" || a.mode == "another transmission") && p.Payload > 0 && p.Kind == packet.Data:
		env.InjectPacket(a.nack(env, p))
	}
	return dataplane.Accept
}

func (a *intruder) clone(env *dataplane.Env, p *packet.Packet) *packet.Packet {
	a.n++
	q := env.ClonePacket(p, false)
	q.TOS |= touched
	return q
}

// nack makes a NACK of a packet in flight, as NCF does (BS'19 §4.3), except for one field that an attacker has to
// guess.
func (a *intruder) nack(env *dataplane.Env, p *packet.Packet) *packet.Packet {
	a.n++
	c := env.ClonePacket(p, true)
	switch tcp := p.Proto == packet.ProtoTCP; {
	case a.mode == "another place" && tcp:
		c.Seq += 1 << 22
	case a.mode == "another place":
		c.Seq += 5000
	case tcp:
		c.TCP.TSVal += 500
	default:
		c.Ack = 1 + int64(a.n%126)
	}
	n := packet.Notification{Cause: packet.CauseTrimmed, Lost: p.Payload, Supply: unit.Mbps, Demand: unit.Gbps}
	c.SwapEnds()
	c.ClearExtensions()
	if c.Proto == packet.ProtoTCP {
		c.SetNotice(&n)
	} else {
		c.SetNotification(&n)
	}
	c.Kind, c.Payload = packet.Nack, 0
	c.TOS = c.TOS&^packet.ECN | touched
	c.Size = packet.Framings[0].FrameBytes(c.Headers()+c.ExtensionBytes(), 0, false)
	return c
}

// lie writes a forged value into a packet's feedback. The first hop reports the longest queue that the format can
// hold, a nanosecond later, or the window is a byte.
func lie(p *packet.Packet) {
	if b, ok := p.Extension(telemetry.Extension &^ telemetry.Asked); ok {
		for i := range int(b[0] >> 4) {
			w := be.BigEndian.Uint64(b[2+8*i:])
			be.BigEndian.PutUint64(b[2+8*i:], w&^(1<<17-1)+1<<37|1<<17-1)
		}
	}
	if b, ok := p.Extension(transport.Feedback); ok {
		be.BigEndian.PutUint32(b, 1)
	}
}

// intrusion holds the parameter of the intruder: its attack.
type intrusion struct{ mode string }

func (c *intrusion) Params(p *scheme.Params) {
	p.Text(&c.mode, "mode", "none", "what it does", "Weir").Words("none", "feedback", "replay", "acks", "nacks again",
		"another place", "another transmission")
}

// besiegedSender counts the attacks on a sender and the changes that they cause.
type besiegedSender struct {
	transport.Endpoint
	attacks, changes, answers int
}

func (v *besiegedSender) state() string {
	c := v.Counters()
	return fmt.Sprintf("%+v %v %v %v %v %v", v.Endpoint.(transport.Gauged).Gauge(), v.NextSend(), v.NextTimer(),
		c.Retransmitted, c.NacksTaken, c.Finished)
}

func (v *besiegedSender) Receive(now unit.Time, p *packet.Packet) bool {
	if p.TOS&touched == 0 {
		return v.Endpoint.Receive(now, p)
	}
	v.attacks++
	before := v.state()
	reply := v.Endpoint.Receive(now, p)
	if v.state() != before {
		v.changes++
	}
	if reply {
		v.answers++
	}
	return reply
}

// besieged is an experiment with a flow next to another one, and an intruder at the first switch of the path.
const besieged = `duration: 1s
topology: {dumbbell: {hosts: 2, rate: 1Gbps, delay: 200us, bottleneck: 1Gbps, buffer: 40 packets}}
switches: {"*": {programs: [forward%s]}, left: {programs: [{intruder: {mode: %s}}, forward%s]}}
traffic:
  - {name: one, from: left0, to: right0, transport: %s, size: 2MB, start: 0s}
  - {name: two, from: left1, to: right0, transport: %s, size: 2MB, start: 0s}
measure: [fct]
`

// TestAttackersInTheLab checks that the attackers of the simulator's tests change no sender when they send frames
// to the lab's hosts, and that flows end when they do without an attack.
//
// The attacks are forged and repeated feedback with a key (draft-miao §9.1), acknowledgements of data that was
// never sent (RFC 9293 §3.10.7.4), and NACKs. The NACKs do not match a packet in flight, or are repeated (BS'19
// §5); a round trip is longer than a tick of TCP's timestamps. TCP answers a segment outside its window with an
// acknowledgement, at a limited rate (RFC 9293 §3.10.7.4; Linux' tcp_oow_rate_limited).
func TestAttackersInTheLab(t *testing.T) {
	const key = ", integrity: keyed, cc: {hpcc: {w_ai: 150 B}}"
	const rx = ", integrity: keyed, cc: {rx_hpcc: {w_ai: 150 B}}"
	const told, trimmed = ", telemetry", ", ncf"
	for _, x := range []struct {
		transport, programs string
		modes               []string
	}{
		{"rdma" + key, told, []string{"feedback", "replay", "acks"}},
		{"rdma" + rx, told, []string{"feedback", "replay"}},
		{"tcp, stack: weir" + key, told, []string{"feedback", "replay"}},
		{"udp_controlled" + key, told, []string{"feedback", "replay"}},
		{"rdma, cc: dctcp", "", []string{"acks"}},
		{"{tcp: {stack: weir}}, cc: cubic", "", []string{"acks"}},
		{"{rdma: {nacks: loss}}, cc: dctcp", trimmed, []string{"another place", "another transmission", "nacks again"}},
		{"{tcp: {stack: weir, nacks: loss}}, cc: cubic", trimmed,
			[]string{"another place", "another transmission", "nacks again"}},
	} {
		quiet, _ := siege(t, x.transport, x.programs, "none")
		for _, mode := range x.modes {
			t.Run(x.transport+" "+mode, func(t *testing.T) {
				fct, v := siege(t, x.transport, x.programs, mode)
				t.Logf("%d attacks, %d count; FCT %v, without attack %v", v.attacks, v.changes, fct, quiet)
				if v.attacks < 5 || v.changes > 0 || v.answers > 1 || fct == unit.Never || fct != quiet {
					t.Errorf("%d attacks, of which %d change something; FCT %v, without attack %v", v.attacks, v.changes, fct,
						quiet)
				}
			})
		}
	}
}

// siege runs the experiment besieged with an intruder of the given mode. It returns the flow's completion time and
// the watched sender.
func siege(t *testing.T, transport, programs, mode string) (unit.Time, *besiegedSender) {
	t.Helper()
	r := Registry()
	r.Programs = append(r.Programs, dataplane.Define(scheme.Scheme{Name: "intruder", Doc: "for tests"},
		func(_ *dataplane.Site, c intrusion) (*intruder, error) { return &intruder{mode: c.mode}, nil }))
	text := fmt.Sprintf(besieged, programs, mode, programs, transport, transport)
	s := plantest.LoadSource(t, r, plantest.NewSource("siege.yaml", text), experiment.Options{})
	one := plan.ListRuns(s)[0]
	network, err := run.LabConfig(one)
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := run.HostsConfig(one)
	if err != nil {
		t.Fatal(err)
	}
	c, err := one.Config()
	if err == nil {
		err = c.MakeEndpoints()
	}
	if err != nil {
		t.Fatal(err)
	}
	v := &besiegedSender{Endpoint: c.Endpoints[0].Sender}
	c.Endpoints[0].Sender, c.Selection = v, outcome.Selection{}
	hosts.Make = func(send func(node int, now unit.Time, p *packet.Packet)) (lab.Edge, func() any, error) {
		e, err := sim.NewEdge(c, nil, send)
		if err != nil {
			return nil, nil, err
		}
		return e, func() any { return e.Result() }, nil
	}
	report, ends, result, err := lab.Rehearse(network, hosts)
	if err != nil {
		t.Fatal(err)
	}
	if all := append(report.Errors(), ends.Errors()...); len(all) > 0 {
		t.Error(all)
	}
	return result.(*outcome.Result).Flows[0].FCT, v
}
