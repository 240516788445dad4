package p4te

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/cc"
	"weir/core/cc/bbr"
	"weir/core/cc/cubic"
	"weir/core/cc/dctcp"
	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/tm"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/worlds/sim"
)

const ms = unit.Millisecond

func registry() *experiment.Registry {
	return &experiment.Registry{
		Measures: measure.Definitions(),
		Programs: []dataplane.Scheme{ecmp.Scheme(), Scheme()}, Schedulers: tm.Schemes(), Topologies: topology.Schemes(),
		Transports:  []transport.Scheme{tcp.Scheme(), udp.Scheme()},
		Controllers: []cc.Scheme{bbr.Scheme(), cubic.Scheme(), dctcp.Scheme(), reno.Scheme()},
	}
}

// network is a run with the programs of its switches and the senders of its hosts.
type network struct {
	*sim.Config
	t        testing.TB
	programs []*Program // by node; nil: none
	hooks    map[int]*hook
	senders  []*sender // by flow; nil: no TCP
}

// hook runs before P4TE in a switch.
type hook struct {
	ingress func(env *dataplane.Env, p *packet.Packet) dataplane.Verdict
	at      unit.Time
	tick    func()
}

func (h *hook) Name() string { return "hook" }
func (h *hook) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if h.ingress == nil {
		return dataplane.Accept
	}
	return h.ingress(env, p)
}
func (h *hook) Tick(env *dataplane.Env) unit.Time {
	switch {
	case h.tick == nil || env.Now() > h.at:
		return unit.Never
	case env.Now() < h.at:
		return h.at
	}
	h.tick()
	return unit.Never
}

// sender is a TCP sender under observation.
type sender struct {
	*tcp.Sender
	fakes, taken int        // fake ACKs that came; those that changed the window
	grown        int        // of these, those that made it larger
	largest      unit.Bytes // window that there was
	answered     int        // fake ACKs that were answered
	alarmed      int        // fake ACKs that changed the state of recovery
	seen         func(now unit.Time)
}

func (s *sender) Receive(now unit.Time, p *packet.Packet) bool {
	window, state, fake := s.PeerWindow(), s.State(), p.Meta.Flags&packet.Internal != 0
	reply := s.Sender.Receive(now, p)
	if fake {
		s.fakes++
		if s.PeerWindow() != window {
			s.taken++
		}
		if s.PeerWindow() > window {
			s.grown++
		}
		if reply {
			s.answered++
		}
		if s.State() != state {
			s.alarmed++
		}
	}
	s.largest = max(s.largest, s.PeerWindow())
	if s.seen != nil {
		s.seen(now)
	}
	return reply
}

// build makes the first run of an experiment.
func build(t testing.TB, text string) *network {
	t.Helper()
	c := plantest.Configure(t, registry(), text)
	n := &network{Config: c, t: t, programs: make([]*Program, len(c.Wiring.Network.Nodes)), hooks: map[int]*hook{},
		senders: make([]*sender, len(c.Flows))}
	for node := range c.Wiring.Switches {
		if !c.Wiring.Network.Nodes[node].Switch {
			continue
		}
		h := &hook{}
		n.hooks[node] = h
		make := c.Wiring.Switches[node].Programs
		c.Wiring.Switches[node].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			programs, err := make(site)
			for _, p := range programs {
				if x, ok := p.(*Program); ok {
					n.programs[node] = x
				}
			}
			return append([]dataplane.Program{h}, programs...), err
		}
	}
	for i := range c.Flows {
		if s, ok := c.Endpoints[i].Sender.(*tcp.Sender); ok {
			n.senders[i] = &sender{Sender: s}
			c.Endpoints[i].Sender = n.senders[i]
		}
	}
	return n
}

// runNetwork runs the network's simulation, which must succeed.
func (n *network) runNetwork() *outcome.Result {
	n.t.Helper()
	r, err := sim.Run(n.Config)
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// node returns the number of a node.
func (n *network) node(name string) int {
	for i, x := range n.Wiring.Network.Nodes {
		if x.Name == name {
			return i
		}
	}
	n.t.Fatalf("no node %s", name)
	return -1
}

// counts returns the sum of all switches' counters.
func (n *network) counts() (c PacketCounters) {
	for _, p := range n.programs {
		if p != nil {
			x := p.Counts()
			c.ToControl += x.ToControl
			c.ToNeighbour += x.ToNeighbour
			c.Recirculated += x.Recirculated
			c.Lower += x.Lower
			c.Raise += x.Raise
			c.Repeated += x.Repeated
			c.LoweredWindows += x.LoweredWindows
		}
	}
	return c
}

// pair returns an experiment of two leaves with two hosts each and one spine. Links of hosts have 100 Mb/s, links of
// leaves 50 Mb/s with 100 packets. The round trip is 10 ms, as in docs/sources.md#injected-acks.
func pair(duration, program, traffic string) string {
	return fmt.Sprintf(`
duration: %s
addresses: hierarchical
topology:
  leaf_spine: {leaves: 2, spines: 1, hosts: 2, rate: 100Mbps, uplink: 50Mbps, delay: 1250us, buffer: 100 packets}
switch: [%s]
traffic:
%s`, duration, program, traffic)
}

// heavy returns one flow of the class with a safe rate of 35 Mb/s at a host's link. cc is its controller, and more has
// further keys.
func heavy(cc, more string) string {
	return fmt.Sprintf("  - {name: heavy, from: h0, to: h2, transport: tcp, cc: %s, tos: 0x08, start: 0s%s}\n", cc, more)
}

func mbps(r *outcome.Result, flow int) float64 {
	return float64(r.Flows[flow].Receiver.ReceivedBytes) * 8 / r.Measured.Seconds() / 1e6
}

// silence makes the leaf of the first hosts consume fake ACKs.
func (n *network) silence() {
	n.hooks[n.node("leaf0")].ingress = func(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
		var h Header
		if h.ReadFrom(p) && h.Fake {
			return dataplane.Consume
		}
		return dataplane.Accept
	}
}

// link returns the number of the link between two nodes.
func (n *network) link(x, y string) int {
	ends := [2]int{n.node(x), n.node(y)}
	for i, l := range n.Wiring.Network.Links {
		if l.Ends == ends || l.Ends == [2]int{ends[1], ends[0]} {
			return i
		}
	}
	n.t.Fatalf("no link between %s and %s", x, y)
	return -1
}

// index returns the number of the port by which a link leaves a node.
func (n *network) index(from, to string) int {
	l := n.link(from, to)
	if n.Wiring.Network.Links[l].Ends[1] == n.node(from) {
		return 2*l + 1
	}
	return 2 * l
}

// port returns the outcome of the port by which a link leaves a node.
func (n *network) port(r *outcome.Result, from, to string) *outcome.PortResult {
	return &r.Ports[n.index(from, to)]
}

// TestLastAckIsIgnored checks docs/sources.md#injected-acks: an ACK with the last sequence and a smaller window has no
// effect on a Linux sender. Here it is as old as its packet's queue, so it acknowledges less than later ones, and its
// stamp is from the past (PAWS). The goodput equals a run's without fake ACKs. So do retransmissions, against P4TE
// §7.2.1: "end-host protocol stacks can initiate retransmission". At 10 Gb/s, where all stamps are of the same ms, the
// result is the same.
func TestLastAckIsIgnored(t *testing.T) {
	for _, fast := range []bool{false, true} {
		for _, cc := range []string{"cubic", "reno", "bbr", "dctcp"} {
			text := pair("5s", "{p4te: {mark: false, repeats: true, bytes: 5000 B}}", heavy(cc, ""))
			if fast {
				text = quick("20ms", "{p4te: {mark: false, repeats: true, burst: 1ms, gap: 100us}}", heavy(cc, ""))
			}
			n, quiet := build(t, text), build(t, text)
			quiet.silence()
			r, q := n.runNetwork(), quiet.runNetwork()
			s, k := n.senders[0], n.counts()
			resent, without := r.Flows[0].Sender.Retransmitted, q.Flows[0].Sender.Retransmitted
			if s.fakes < 500 || k.Lower < 100 || k.Raise < 100 {
				t.Errorf("fast %v, %s: %d fake ACKs came; %+v", fast, cc, s.fakes, k)
			}
			// a larger window is taken if no newer ACK has arrived
			if s.taken > s.grown || s.grown > s.fakes/100 || s.alarmed > 0 {
				t.Errorf("fast %v, %s: %d of %d fake ACKs changed the window, %d made it larger, %d changed the state", fast, cc,
					s.taken, s.fakes, s.grown, s.alarmed)
			}
			if x, y := mbps(r, 0), mbps(q, 0); x < 0.99*y || x > 1.01*y || resent > without+without/10+2 {
				t.Errorf("fast %v, %s: %.2f Mb/s and %d packets sent again; without fake ACKs %.2f and %d", fast, cc, x, resent,
					y, without)
			}
		}
	}
}

// quick is pair at 10 Gb/s, with a round trip of 8 us.
func quick(duration, program, traffic string) string {
	return fmt.Sprintf(`
duration: %s
addresses: hierarchical
topology: {leaf_spine: {leaves: 2, spines: 1, hosts: 2, rate: 10Gbps, uplink: 5Gbps, delay: 1us, buffer: 100 packets}}
switch: [%s]
traffic:
%s`, duration, program, traffic)
}

// TestSender_OvertakingFakeACKKeepsGoodput checks docs/sources.md#injected-acks: a fake ACK that overtakes waiting
// ACKs, here in a separate queue to the host, is ahead of the sender's state. Its window applies until the next ACK
// that waited. The goodput stays.
func TestSender_OvertakingFakeACKKeepsGoodput(t *testing.T) {
	cross := "  - {name: cross, from: h1, to: h0, transport: udp, rate: 95Mbps, start: 0s}\n"
	n := build(t, pair("5s", "{p4te: {mark: false, repeats: true, bytes: 5000 B}}", heavy("cubic", "")+cross))
	leaf := n.node("leaf0")
	n.Wiring.Switches[leaf].Queues = 2
	n.Wiring.Network.Links[n.link("leaf0", "spine0")].Buffer = unit.Length{Packets: 20}
	n.hooks[leaf].ingress = func(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
		var h Header
		if p.Meta.Class = 1; h.ReadFrom(p) && h.Fake {
			p.Meta.Class = 0
		}
		return dataplane.Accept
	}
	s := n.senders[0]
	fell, longest := unit.Time(0), unit.Time(0)
	s.seen = func(now unit.Time) {
		switch lower := s.PeerWindow() < s.largest*9/10; {
		case lower && fell == 0:
			fell = now
		case !lower && fell > 0:
			longest, fell = max(longest, now-fell), 0
		}
	}
	if got := mbps(n.runNetwork(), 0); got < 42 || s.taken < 1000 || longest < unit.Millisecond || longest > 10*ms {
		t.Errorf("%.2f Mb/s; %d of %d fake ACKs changed the window, for %v at most", got, s.taken, s.fakes, longest)
	}
}

// TestNextByte checks the P4TE code (docs/sources.md#injected-acks): ack = seq + 1 acknowledges undelivered data.
// Without a loss that is a proxy: the sender sees no queue, and the goodput stays. After a loss the sender no longer
// has the data, and no further data arrives, as with Linux.
func TestNextByte(t *testing.T) {
	run := func(loss float64, size string) (*sender, *outcome.Result) {
		n := build(t, pair("10s", "{p4te: {rate: next_byte, repeats: true, mark: false, bytes: 5000 B}}",
			heavy("cubic", size)))
		n.Wiring.Network.Links[n.link("leaf1", "spine0")].Loss = loss
		r := n.runNetwork()
		return n.senders[0], r
	}
	s, r := run(0, "")
	if s.taken < 1000 || mbps(r, 0) < 44 || r.Flows[0].Sender.Retransmitted > 0 {
		t.Errorf("without loss: %d fake ACKs changed the window, %.2f Mb/s, %d packets sent again", s.taken, mbps(r, 0),
			r.Flows[0].Sender.Retransmitted)
	}
	s, r = run(0.005, "")
	sent, received := r.Flows[0].Sender.SentBytes, r.Flows[0].Receiver.ReceivedBytes
	if acked := sent - unit.Bytes(s.InFlight())*1448; acked < received+5e6 || received > 5e6 {
		t.Errorf("0.5 %% loss: %d bytes acknowledged, %d delivered", acked, received)
	}
	if s, r = run(0.005, ", size: 20MB"); len(r.Unfinished) != 1 || s.Timeouts() == 0 {
		t.Errorf("0.5 %% loss, 20 MB: unfinished %v, %d timeouts; the connection is not dead", r.Unfinished, s.Timeouts())
	}
	n := build(t, pair("10s", "{p4te: {repeats: true, mark: false, bytes: 5000 B}}", heavy("cubic", ", size: 2MB")))
	n.Wiring.Network.Links[n.link("leaf1", "spine0")].Loss = 0.005
	if r = n.runNetwork(); len(r.Unfinished) != 0 {
		t.Errorf("last_ack with 0.5 %% loss: unfinished %v", r.Unfinished)
	}
}

// TestEnforcedIsObeyed checks AC/DC (docs/sources.md#injected-acks): an unmodified sender obeys a window limited by the
// leaf. It gets W / RTT within 5 % under any controller, and the original window returns when the limit ends.
func TestEnforcedIsObeyed(t *testing.T) {
	for _, cc := range []string{"cubic", "reno", "bbr", "dctcp"} {
		t.Run(cc, func(t *testing.T) {
			n := build(t, pair("6s", "{p4te: {rate: enforced, bytes: 500MB, mark: false}}", heavy(cc, "")))
			n.Warmup, n.Duration = 2*unit.Second, 4*unit.Second
			leaf := n.node("leaf0")
			limit := func(bytes int64) func() {
				return func() {
					for i := range n.programs[leaf].rate.flows {
						if c := &n.programs[leaf].rate.flows[i]; c.used && c.hasAck {
							c.limit, c.quietFrom = bytes, c.nextByte
						}
					}
				}
			}
			h := n.hooks[leaf]
			h.at, h.tick = unit.Second, limit(30000)
			r := n.runNetwork()
			s := n.senders[0]
			want := 30720 * 8 / s.SRTT().Seconds() / 1e6 // whole units of 1024, and no less
			if got := mbps(r, 0); got < 0.95*want || got > 1.05*want || s.PeerWindow() != 30720 ||
				s.SRTT() > 11500*unit.Microsecond || r.Flows[0].Sender.Retransmitted > 0 {
				t.Errorf("%s: %.2f Mb/s, want %.2f; window %d, SRTT %v, %d packets sent again", cc, got, want, s.PeerWindow(),
					s.SRTT(), r.Flows[0].Sender.Retransmitted)
			}
			if n.counts().LoweredWindows < 1000 {
				t.Errorf("%s: %d windows held", cc, n.counts().LoweredWindows)
			}
		})
	}
}

// TestEnforcedFlows checks rate adaptation by itself. By the paper's decision, flows of the class above its safe rate
// are held where the link is over-utilised (70 % of 50 Mb/s), so that no queue persists. By default they are held where
// packets wait, too: the link is full, and the queue is at most what it sends in a round trip or so. Without rate
// adaptation the buffer is full.
// Several flows share the rest evenly if a window gains a segment, the additive increase of §6.4.2's AIMD, which also
// uses more of the link. They do not if it gains 1/256 of itself: with both multiplicative, shares do not converge
// (Chiu, Jain 1989).
func TestEnforcedFlows(t *testing.T) {
	type figures struct {
		goodput, jain float64
		queue         int64
		drops         uint64
	}
	run := func(mode, cc string) (o figures) {
		n := build(t, pair("10s", "{p4te: {mark: false, rate: "+mode+"}}", heavy(cc, ", flows: 4")))
		n.Warmup = 4 * unit.Second
		n.Watches = append(n.Watches, outcome.Watch{What: outcome.QueuePackets, Index: n.index("leaf0", "spine0"), Every: ms})
		r := n.runNetwork()
		var sum, squares float64
		for i := range n.senders {
			x := mbps(r, i)
			sum += x
			squares += x * x
		}
		slices.Sort(r.Watched[0])
		p := n.port(r, "leaf0", "spine0")
		for _, d := range p.Drops {
			o.drops += d
		}
		o.goodput, o.jain, o.queue = sum, sum*sum/4/squares, r.Watched[0][len(r.Watched[0])*95/100]
		return o
	}
	for _, cc := range []string{"cubic", "reno", "bbr", "dctcp"} {
		t.Run(cc, func(t *testing.T) {
			free, held := run("off", cc), run("enforced, decision: paper, bytes: 5000 B, rise: share", cc)
			even, full := run("enforced, decision: paper", cc), run("enforced", cc)
			if free.goodput < 46 || free.queue < 80 {
				t.Errorf("%s, not held: %+v", cc, free)
			}
			if held.goodput < 0.9*0.7*47.8 || held.goodput > 1.02*0.7*47.8 || held.queue > 5 || held.drops > 0 {
				t.Errorf("%s, held: %+v; want 70 %% of the link and no queue", cc, held)
			}
			if full.goodput < 0.95*47.8 || full.queue > 50 || full.drops > 0 || full.jain < 0.9 {
				t.Errorf("%s, held where packets wait: %+v", cc, full)
			}
			if even.goodput < 0.9*0.7*47.8 || even.goodput > 0.95*47.8 || even.queue > 20 || even.drops > 0 ||
				even.jain < 0.92 {
				t.Errorf("%s, held, with additive increase: %+v", cc, even)
			}
			if cc != "bbr" && held.jain > 0.9 {
				t.Errorf("%s, held: Jain %.2f; 1/256 of the window more and 1/4 less do not converge", cc, held.jain)
			}
		})
	}
}

// TestEnforcedRises checks that a flow limited far below its class's safe rate, where P4TE §6.4.1 changes no rate,
// rises.
func TestEnforcedRises(t *testing.T) {
	n := build(t, pair("14s", "{p4te: {rate: enforced, mark: false}}", heavy("cubic", "")))
	n.Warmup, n.Duration = 10*unit.Second, 14*unit.Second
	leaf := n.node("leaf0")
	h := n.hooks[leaf]
	var lowered uint64
	h.at, h.tick = unit.Second, func() {
		lowered = n.counts().Lower
		for i := range n.programs[leaf].rate.flows {
			if c := &n.programs[leaf].rate.flows[i]; c.used && c.hasAck {
				c.limit, c.quietFrom = 3000, c.nextByte
			}
		}
	}
	if got := mbps(n.runNetwork(), 0); got < 28 || n.counts().Lower == lowered {
		t.Errorf("%.2f Mb/s 9 s after it was held at one segment a round trip", got)
	}
}
