// Package rainbow is Rainbow Fair Queueing (Cao, Zegura, Wang, 2005). Edges divide a user's traffic into layers by
// rate and colour each packet with its layer. A port drops the colours above a threshold, without state for users.
// The threshold falls while the queue is long and rises while it is short. Here a switch is edge and core in one.
//
// Only the papers' abstracts are available. That layers have a ratio, not equal rates, is the papers' non-linear
// encoding. Range, number and ratio of layers, and the times at which the threshold moves, are Weir's. The range does
// not depend on the ports: fair shares behind fast access links would all lie in the first layer, which is never
// dropped.
package rainbow

import (
	"fmt"
	"math"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config holds the parameters of edge and core.
type Config struct {
	users.Config
	K        unit.Time // averaging constant of users' rates
	Colours  int
	From, To unit.Rate  // upper bounds of the first layer and of the last, per unit of weight
	Low      unit.Depth // queue length below which the threshold rises
	High     unit.Depth // queue length above which it falls
	Interval unit.Time  // min time between moves by one colour
}

// Traits returns that it drops packets where queues grow.
func (*Config) Traits() dataplane.Traits { return dataplane.Traits{DropsEarly: true} }

// Params binds the options of rainbow to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	c.Config.Params(p)
	p.Time(&c.K, "k", "100ms", "averaging constant of a user's rate; longer than the bursts and round-trip times of "+
		"users, shorter than the time in which the fair share changes", "Weir; CSFQ: K").Min("1us")
	p.Int(&c.Colours, "colours", "148", "number of layers of rate; their bounds form a geometric sequence; more "+
		"layers come closer to equal rates, but the threshold needs longer to a new fair rate",
		"Weir").Min("2").Max("4096")
	p.Rate(&c.From, "from", "10kbps", "upper bound of the first layer per unit of weight; every user keeps at least "+
		"this rate", "Weir").Min("1bps")
	p.Rate(&c.To, "to", "100Gbps", "upper bound of the last layer per unit of weight", "Weir").Min("1bps")
	p.Depth(&c.Low, "low", "2500us", "queue below which the threshold rises by one colour", "Weir")
	p.Depth(&c.High, "high", "5ms", "queue above which the threshold falls by one colour, unless the queue has become "+
		"shorter", "Weir")
	p.Time(&c.Interval, "interval", "10ms", "time in which the threshold changes by at most one colour; about a "+
		"round-trip time, in which senders respond",
		"Weir").Min("1us")

	p.AddRule("to", func() error {
		if c.To <= c.From {
			return fmt.Errorf("%v is not above from (%v): all packets would have one colour", c.To, c.From)
		}
		return nil
	})
	p.AddRule("high", func() error {
		low, high := c.Low, c.High
		if (low.Bytes > 0) != (high.Bytes > 0) || (low.Time > 0) != (high.Time > 0) ||
			low.Packets >= high.Packets && low.Bytes >= high.Bytes && low.Time >= high.Time {
			return fmt.Errorf("low is %v and high is %v: low must be below it, and both in packets, in bytes or as times",
				low, high)
		}
		return nil
	})
}

// Kinds of warnings.
var (
	warnColours = scheme.WarningKind{ID: "rainbow-colours",
		Condition: "the bounds of two adjacent colours differ by more than a factor of 1.5"}
	warnFrom = scheme.WarningKind{ID: "rainbow-from",
		Condition: "fewer than 100 users are enough for shares of a port below from"}
	warnTo = scheme.WarningKind{ID: "rainbow-to",
		Condition: "to is below the rate of a port at which data can queue"}
	warnHigh = scheme.WarningKind{ID: "rainbow-high",
		Condition: "1.5 times high is not below the delay of a full buffer at a port at which data can queue"}
	warnInterval = scheme.WarningKind{ID: "rainbow-interval",
		Condition: "the threshold moves by more than 20 colours in a round trip"}
)

// Check warns of layers that do not distinguish users, of a queue that the buffer does not hold, and of a threshold
// that moves by more than 20 colours in a round trip.
func (c *Config) Check(s *dataplane.SwitchContext) (all []scheme.Remark) {
	if r := c.boundRatio(); r > 1.5 {
		all = append(all, warnColours.NewRemark("colours", "adjacent bounds of %d colours differ by a factor of %.2g, so "+
			"users with rates between two bounds are treated alike", c.Colours, r))
	}
	port := s.SlowestPort()
	if port == nil {
		return all
	}
	slowest, at := port.Rate.Bits, port.PortName()
	if n := slowest / c.From; n < 100 {
		all = append(all, warnFrom.NewRemark("from", "%d users have shares of a port of %v that are below %v, so all their "+
			"packets have the first colour, which is never dropped first", int64(n)+1, slowest, c.From).WithPort(at, 0))
	}
	if c.To < slowest {
		all = append(all, warnTo.NewRemark("to", "a port has %v, so users with more than %v are treated alike", slowest,
			c.To).
			WithPort(at, float64(slowest)/float64(c.To)))
	}
	high := func(rate unit.Rate) unit.Time {
		return unit.Time(c.High.BytesAt(rate, s.FrameSize()) * 8e12 / float64(rate))
	}
	if p, holds := s.FindShortBuffer(func(rate unit.Rate) unit.Time { return high(rate) + high(rate)/2 }); p != nil &&
		high(p.Rate.Bits) > 0 {
		all = append(all, warnHigh.NewRemark("high",
			"the buffer of the port to %s is full after %v, but the threshold falls above %v, so bursts are lost regardless "+
				"of their colours; half of the buffer is sufficient", p.To, holds,
			high(p.Rate.Bits)).WithPort(p.PortName(), 1.5*float64(high(p.Rate.Bits))/float64(max(holds, 1))))
	}
	if n := s.MaxTrip(port) / c.Interval; n > 20 {
		all = append(all, warnInterval.NewRemark("interval", "in a round trip of %v the threshold moves by %d colours, a "+
			"factor of %.2g, before senders react: it overshoots and leaves the link idle", s.MaxTrip(port), n,
			math.Pow(c.boundRatio(), float64(n))).WithPort(at, float64(n)/20))
	}
	return all
}

// boundRatio returns the ratio of the bounds of two layers.
func (c *Config) boundRatio() float64 {
	return math.Pow(float64(c.To)/float64(c.From), 1/float64(c.Colours-1))
}

// Scheme returns the scheme of the program rainbow. A program before it chooses the port:
// switch: [forward, rainbow].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "rainbow", Doc: "rainbow fair queueing: colours packets by layers of " +
		"their user's rate and drops colours above each port's threshold", Source: "Rainbow FQ",
		Warnings: []scheme.WarningKind{warnColours, warnFrom, warnTo, warnHigh, warnInterval}}, New)
}

// Program is Rainbow Fair Queueing in one switch.
type Program struct {
	config Config
	rates  users.Rates // by user
	ports  []portState
	random unit.Random
	scale  float64 // factor of a bound's logarithm: 1/ln(ratio)
}

// portState is the state of a port.
type portState struct {
	threshold uint32  // colours above it are dropped
	highest   uint32  // highest colour that arrived since the last move
	lastQueue float64 // length at the last move
	nextMove  unit.Time
}

// New returns the program. It fails if High is a time and a port's rate is not in bit/s.
func New(site *dataplane.Site, c Config) (*Program, error) {
	for i, l := range site.Lines {
		if c.High.Time > 0 && l.Rate.Bits == 0 {
			return nil, fmt.Errorf("rainbow: port %d has %v: queues as times need ports whose rates are in bit/s", i, l.Rate)
		}
	}
	x := &Program{config: c, rates: users.NewRates(site.Book, &c.Config), ports: make([]portState, site.Ports),
		random: site.Random("rainbow"), scale: 1 / math.Log(c.boundRatio())}
	for i := range x.ports {
		x.ports[i].threshold = uint32(c.Colours - 1)
	}
	return x, nil
}

// Name returns "rainbow".
func (x *Program) Name() string { return "rainbow" }

// ColourOf returns the layer of a throughput in bit/s per unit of weight: 0 up to the first bound, then a layer for
// each factor of the ratio, at most the last layer (Colours − 1).
func (x *Program) ColourOf(throughput float64) uint32 {
	from := float64(x.config.From)
	if throughput <= from {
		return 0
	}
	return uint32(min(1+int(math.Log(throughput/from)*x.scale), x.config.Colours-1))
}

// Ingress is the edge. It counts p in its user's rate, and writes the colour of p into Meta.User: ColourOf a random
// throughput between 0 and the user's rate per unit of weight. So a packet gets each colour with the share that its
// layer has in the rate. Packets made by switches are not counted and get the first colour, 0. It accepts every packet.
func (x *Program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.User = 0; p.Meta.Flags&packet.Internal == 0 {
		u, rate := x.rates.AddPacket(env.Now(), p, x.config.K)
		p.Meta.User = x.ColourOf(x.random.Float64() * rate / x.rates.Weight(u))
	}
	return dataplane.Accept
}

// Admit is the core. It drops packets with a colour above the port's threshold, which it first moves, at most once an
// interval. Packets made by switches are accepted and have no effect.
func (x *Program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Flags&packet.Internal != 0 {
		return dataplane.Accept
	}
	k, out := &x.ports[p.Meta.Out], env.Port(p.Meta.Out)
	k.highest = max(k.highest, p.Meta.User)
	if env.Now() >= k.nextMove {
		rate, queue := out.Rate().Bits, float64(out.Bytes())
		if x.config.High.Packets > 0 {
			queue = float64(out.Packets())
		}
		k.moveThreshold(queue, x.config.Low.BytesAt(rate, 1), x.config.High.BytesAt(rate, 1), uint32(x.config.Colours-1))
		k.nextMove = env.Now() + x.config.Interval
	}
	if p.Meta.User > k.threshold {
		return dataplane.Drop(dataplane.EarlyDrop)
	}
	return dataplane.Accept
}

// moveThreshold lowers the threshold, from the highest colour since the last move, while the queue is long and does not
// become shorter. It raises the threshold, at most to maxColour, while the queue is short. The lengths are in bytes, or
// in packets if High is. It stores the length for the next move.
func (k *portState) moveThreshold(queue, low, high float64, maxColour uint32) {
	switch {
	case queue > high && queue >= k.lastQueue:
		if k.threshold = min(k.threshold, k.highest); k.threshold > 0 {
			k.threshold--
		}
	case queue < low && k.threshold < maxColour:
		k.threshold++
	}
	k.lastQueue, k.highest = queue, 0
}

// EvictAddress resets the rate of a source when its address is reassigned.
func (x *Program) EvictAddress(a packet.Addr) {
	x.rates.EvictAddress(a)
}

// Footprint returns the use by the edge, with a rate for each user, and by the core: a threshold for each port.
func (x *Program) Footprint() dataplane.Footprint {
	const in = dataplane.InIngress
	var k portState
	return dataplane.Footprint{Stages: []dataplane.Stage{dataplane.UserStage(x.rates.Table),
		{Name: "colour of the packet", Gress: in, Registers: []dataplane.RegisterUse{{Name: "rates of users",
			Cells: x.rates.StateCount(), Bits: dataplane.WidthOf(users.Rate{}), Reads: 1, Writes: 1}},
			Operations: []dataplane.Operation{
				{Kind: dataplane.Transcendental, What: "decay exp(-T/K), logarithm of the throughput", Times: 2},
				{Kind: dataplane.Dividing, What: "l/T, T/K, by the weight", Times: 3},
				{Kind: dataplane.FloatingPoint, What: "rate, number drawn", Times: 4}}},
		{Name: "threshold of colours", Gress: in,
			Registers: []dataplane.RegisterUse{{Name: "threshold, highest colour, queue",
				Cells: len(x.ports), Bits: dataplane.WidthOf(k), Reads: 1, Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.ReadingEgress, What: "queue of the port", Times: 1}}}}}
}
