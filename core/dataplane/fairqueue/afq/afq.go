// Package afq is Approximate Fair Queueing (Sharma, Liu, Atreya, Krishnamurthy, NSDI 2018). Each packet joins the
// round in which it would depart under bit-by-bit round robin, where a round is BpR bytes of each user. Rounds are
// the port's queues, which the scheduler calendar serves one after the other. A packet with a round beyond the last
// queue is dropped. A count-min sketch holds the users' bids.
//
// The paper is fair among flows; here it is among the users of P4-ABC, with weights, unless by: flow.
package afq

import (
	"fmt"
	"math"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// config holds the sizes of rounds and sketch.
type config struct {
	users.Config
	Round   unit.Bytes // BpR
	Rows    int
	Columns int
	Flows   bool
}

// Traits returns that it drops packets where queues grow.
func (*config) Traits() dataplane.Traits { return dataplane.Traits{DropsEarly: true} }

// Params binds the options of afq to the fields of c, which keep their values.
func (c *config) Params(p *scheme.Params) {
	c.Config.Params(p)
	p.Size(&c.Round, "round", "8 kB", "BpR: bytes that a user sends per round and unit of weight; more for long "+
		"round-trip times, less for shorter queues and finer shares",
		"AFQ").Min("64 B").Max("1GB")
	p.Int(&c.Rows, "rows", "3", "number of rows of the sketch; more rows make it rarer that users share all of their "+
		"cells", "Weir").Min("1").Max("8")
	p.Int(&c.Columns, "columns", "1024", "number of cells in a row of the sketch; users that share a cell in every "+
		"row share their rounds", "Weir").
		Min("1").Max("1048576")
	p.BoolWords(&c.Flows, [2]string{"user", "flow"}, "by", "user", "unit of fairness; user: each user gets an equal "+
		"part; flow: each flow", "Weir; flow: AFQ")
}

// Kinds of warnings.
var (
	warnBuffer = scheme.WarningKind{ID: "afq-buffer",
		Condition: "one user's rounds fill the buffer of a port at which data can queue"}
	warnRound = scheme.WarningKind{ID: "afq-round",
		Condition: "one user's rounds hold less than a round trip of a port at which data can queue"}
)

// Check warns about the slowest ports if one user's rounds fill the buffer, so that the buffer decides on losses.
// Otherwise it warns about ports where one user's rounds do not hold a round trip of the link.
func (c *config) Check(s *dataplane.SwitchContext) []scheme.Remark {
	rounds := max(s.Queues, 1)
	horizon := c.Round * unit.Bytes(rounds)
	drain := func(rate unit.Rate) unit.Time { return unit.Time(float64(horizon) * 8e12 / float64(rate)) }
	if p, holds := s.FindShortBuffer(drain); p != nil {
		return []scheme.Remark{warnBuffer.NewRemark("round", "a user can queue %d rounds of %v, but the buffer of the port "+
			"to %s is full after %v, before users are distinguished", rounds, c.Round, p.To, holds).
			WithPort(p.PortName(), float64(horizon)*8e12/float64(p.Rate.Bits)/float64(max(holds, 1)))}
	}
	var all []scheme.Remark
	for _, p := range s.QueueingPorts() {
		need := unit.Bytes(float64(p.Rate.Bits) / 8 * s.MaxTrip(p).Seconds())
		if horizon < need && (s.Switch != "" || p.Rate.Bits == s.MinPortRate()) {
			all = append(all, warnRound.NewRemark("round",
				"a user can queue %d rounds of %v, but a round trip of the port to %s holds %v, which a single user does not "+
					"fill", rounds, c.Round, p.To, need).
				WithPort(p.PortName(), float64(need)/float64(horizon)))
		}
	}
	return scheme.KeepWorst(all)
}

// Scheme returns the scheme of the program afq. A program before it chooses the port:
// {queues: 16, scheduler: calendar, programs: [forward, afq]}.
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "afq",
		Doc: "approximate fair queueing: queues are the rounds of a calendar, chosen by a sketch of the bytes that " +
			"users have sent", Source: "AFQ",
		Warnings: []scheme.WarningKind{warnBuffer, warnRound}}, newProgram)
}

// program is AFQ in one switch.
type program struct {
	config config
	table  *users.Table
	queues uint64
	seeds  []uint32
	bids   [][]uint64 // by port: rows × columns

	bid    uint64 // of the packet in hand, in bytes
	places []int32
}

// newProgram returns the program. It fails if a port's scheduler is no calendar, or the rounds do not hold a frame.
func newProgram(site *dataplane.Site, c config) (*program, error) {
	x := &program{config: c, table: users.NewTable(site.Book, &c.Config), queues: uint64(max(site.Queues, 1)),
		bids: make([][]uint64, site.Ports), places: make([]int32, c.Rows)}
	random := site.Random("afq")
	for range c.Rows {
		x.seeds = append(x.seeds, uint32(random.Uint64()))
	}
	for i := range x.bids {
		x.bids[i] = make([]uint64, c.Rows*c.Columns)
		if i < len(site.At) {
			if _, ok := site.At[i].CurrentRound(); !ok {
				return nil, fmt.Errorf("afq: it needs the scheduler calendar, which port %d does not have", i)
			}
		}
	}
	if horizon, frame := unit.Bytes(x.queues)*c.Round, unit.Bytes(site.MaxFrame); horizon <= frame+c.Round {
		return nil, fmt.Errorf("afq: %d rounds of %v do not hold a frame of %v", x.queues, c.Round, frame)
	}
	return x, nil
}

// Name returns "afq".
func (x *program) Name() string { return "afq" }

// Admit finds the round of a packet (AFQ §3.3), and sets Meta.Queue to the round's queue. The bid of its user or flow,
// at least the current round's, grows by its size over the user's weight. Packets made by switches join the current
// round. A packet with a round beyond the last queue is dropped. The bid is only written by Book.
func (x *program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	m := &p.Meta
	round, _ := env.Port(m.Out).CurrentRound()
	if x.bid = 0; m.Flags&packet.Internal != 0 {
		m.Queue = uint8(round % x.queues)
		return dataplane.Accept
	}
	key, size := p.Hash, uint64(p.Size)
	if !x.config.Flows {
		u := x.table.UserOf(p)
		key, size = uint32(u), uint64(math.Ceil(float64(p.Size)/x.table.Weight(u)))
	}
	bid := x.readBid(x.bids[m.Out], key)
	perRound := uint64(x.config.Round)
	x.bid = max(bid, round*perRound) + size
	at := x.bid / perRound
	if at-round >= x.queues {
		return dataplane.Drop(dataplane.EarlyDrop)
	}
	m.Queue = uint8(at % x.queues)
	return dataplane.Accept
}

// readBid returns the count-min estimate of a key's bid in bytes: the smallest of its cells in all rows of bids, a
// port's. It also stores the places of the cells in x.places.
func (x *program) readBid(bids []uint64, key uint32) uint64 {
	least := ^uint64(0)
	for i, seed := range x.seeds {
		h := key ^ seed // every bit reaches every bit (MurmurHash3's finaliser)
		h = (h ^ h>>16) * 0x85ebca6b
		h = (h ^ h>>13) * 0xc2b2ae35
		h ^= h >> 16
		x.places[i] = int32(i*x.config.Columns) + int32(uint64(h)*uint64(x.config.Columns)>>32)
		least = min(least, bids[x.places[i]])
	}
	return least
}

// Book writes the bid that Admit found for a packet, which has entered its round. Cells above it stay, because other
// users share them. Packets without a bid, made by switches, change no cell.
func (x *program) Book(_ *dataplane.Env, p *packet.Packet) {
	if x.bid == 0 {
		return
	}
	for _, at := range x.places {
		cell := &x.bids[p.Meta.Out][at]
		*cell = max(*cell, x.bid)
	}
	x.bid = 0
}

// EvictAddress resets an address that is reassigned. Its bids stay in the sketch, and lose their effect with the
// rounds.
func (x *program) EvictAddress(a packet.Addr) { x.table.EvictAddress(a) }

// Footprint returns the use by a sketch for each port, with a row per stage.
func (x *program) Footprint() dataplane.Footprint {
	const in = dataplane.InIngress
	var f dataplane.Footprint
	if !x.config.Flows {
		f.Stages = append(f.Stages, dataplane.UserStage(x.table))
	}
	for i := range x.seeds {
		f.Stages = append(f.Stages, dataplane.Stage{Name: fmt.Sprintf("bids, row %d", i+1), Gress: in,
			Registers: []dataplane.RegisterUse{{Name: fmt.Sprintf("row %d", i+1), Cells: x.config.Columns * len(x.bids),
				Bits: dataplane.WidthOf(x.bid), Reads: 1, Writes: 1}}})
	}
	f.Stages = append(f.Stages, dataplane.Stage{Name: "round of the packet", Gress: in, Operations: []dataplane.Operation{
		{Kind: dataplane.ReadingEgress, What: "current round of the port", Times: 1},
		{Kind: dataplane.Dividing, What: "size by the weight; by BpR, a shift if that is a power of 2", Times: 2}}},
		dataplane.Stage{Name: "rotation of the queues", Gress: dataplane.InManager})
	return f
}
