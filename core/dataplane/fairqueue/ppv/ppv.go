// Package ppv is Per Packet Value (Nádas, Turányi, Rácz, GLOBECOM 2016): an edge gives each packet a value, drawn such
// that what is left of a user when all packets below any threshold are dropped is a rate that the value alone
// decides; ports drop what has the least value, and have no state for users. Here a switch is edge and core in one.
//
// The throughput-value function of all users is one that falls with the throughput divided by the weight (PPV), so that
// equal thresholds mean shares by weight; which one does not matter, since only the order of values does. So a value
// is kept as its rank: the region of throughputs, from 0 upwards, that the number drawn between 0 and the user's rate
// falls into (PPV: a number drawn between 0 and the rate; regions of equal ratio).
//
// A port drops the least value when its buffer is full (drop: smallest, with the scheduler least), or keeps a
// congestion threshold value, the quantile of late values that drops the share that PIE would (drop: threshold).
package ppv

import (
	"fmt"
	"math"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/pie"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// Config has the parameters of marker and port.
type Config struct {
	users.Config
	K        unit.Time // averaging constant of users' rates
	From, To unit.Rate // throughputs that are told apart
	Steps    int       // regions a decade
	Smallest bool      // the least value goes when the buffer is full, in place of a threshold
	Target   unit.Time // delay that the threshold aims at
	Update   unit.Time // how often the threshold is set
	Window   unit.Time // of values that it is a quantile of
	Alpha    float64   // gains of PIE
	Beta     float64
}

// Traits returns that it drops packets where queues grow.
func (*Config) Traits() dataplane.Traits { return dataplane.Traits{DropsEarly: true} }

// mostRegions is how many regions there can be.
const mostRegions = 1 << 12

// Params binds the configuration.
func (c *Config) Params(p *scheme.Params) {
	c.Config.Params(p)
	p.Time(&c.K, "k", "100ms", "averaging constant of a user's rate", "ours; CSFQ: K").Min("1us")
	p.Rate(&c.From, "from", "10kbps", "throughput, per unit of weight, up to which values do not differ", "PPV").
		Min("1bps")
	p.Rate(&c.To, "to", "100Gbps", "throughput from which on values do not differ", "ours; PPV: 1 Gb/s").Min("1bps")
	p.Int(&c.Steps, "steps", "30", "values a decade of throughput", "PPV").Min("1").Max("300")
	p.Either(&c.Smallest, [2]string{"threshold", "smallest"}, "drop", "threshold",
		"what goes: packets beyond a threshold, or the least of a buffer that is full", "PVPIE; smallest: PPV")
	threshold := func() bool { return !c.Smallest }
	p.Time(&c.Target, "target", "15ms", "delay that the threshold aims at", "RFC 8033 §4.2").Min("1us").
		When("drop: threshold", threshold)
	p.Time(&c.Update, "update", "15ms", "how often the threshold is set", "RFC 8033 §4.2").Min("1us").
		When("drop: threshold", threshold)
	p.Time(&c.Window, "window", "100ms", "of values that the threshold is a quantile of: the last one to two",
		"ours").Min("1us").When("drop: threshold", threshold)
	p.Float(&c.Alpha, "alpha", "0.125", "gain by the delay above the target, in 1/s", "RFC 8033 §4.2").Min("0").
		When("drop: threshold", threshold)
	p.Float(&c.Beta, "beta", "1.25", "gain by the change of the delay, in 1/s", "RFC 8033 §4.2").Min("0").
		When("drop: threshold", threshold)

	p.Rule("to", func() error {
		switch n := c.regions(); {
		case c.To <= c.From:
			return fmt.Errorf("%v is not above from (%v): all packets would have one value", c.To, c.From)
		case n > mostRegions:
			return fmt.Errorf("%d values; at most %d are possible", n, mostRegions)
		}
		return nil
	})
	p.Rule("window", func() error {
		if !c.Smallest && c.Window < c.Update {
			return fmt.Errorf("%v is shorter than update (%v)", c.Window, c.Update)
		}
		return nil
	})
}

// warnTarget is issued where packets are lost whatever their values are.
var warnTarget = scheme.WarningKind{ID: "ppv-target",
	Condition: "target is not below the delay of a full buffer at a port at which data can queue"}

// Check warns of a target that a buffer never reaches, and of an update that PIE's gain is not for (RFC 8033 §4.2).
func (c *Config) Check(s *dataplane.SwitchContext) (all []scheme.Remark) {
	if c.Smallest {
		return nil
	}
	if p, holds := s.Short(dataplane.Always(c.Target)); p != nil {
		all = append(all, warnTarget.Remark("target", "the buffer of the port to %s holds %v, and the threshold aims at "+
			"%v: packets are lost without regard to their values", p.To, holds, c.Target).
			At(p.Port(), float64(c.Target)/float64(max(holds, 1))))
	}
	return append(all, dataplane.CheckUpdateInterval(c.Update, 15*unit.Millisecond, c.Alpha, 0.125)...)
}

// regions is how many ranks there are.
func (c *Config) regions() int {
	return 2 + int(math.Ceil(float64(c.Steps)*math.Log10(float64(c.To)/float64(c.From))))
}

// Rank is the region of a throughput: 0 up to from, then steps of one a factor of 10^(1/steps).
func (c *Config) Rank(throughput float64) uint32 {
	if throughput <= float64(c.From) {
		return 0
	}
	return uint32(min(1+int(float64(c.Steps)*math.Log10(throughput/float64(c.From))), c.regions()-1))
}

// Scheme is what an experiment names: switch: [forward, ppv].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "ppv", Doc: "per packet value: values of packets by what their user has " +
		"without them, and drops of those of least value", Source: "PPV",
		Warnings: []scheme.WarningKind{warnTarget}}, newProgram)
}

// program is PPV in one switch.
type program struct {
	config Config
	rates  users.Rates // by user
	ports  []PortState
	random unit.Random
}

// PortState is the state of a port's threshold.
type PortState struct {
	probability, delay float64   // PIE's, and the delay at the last update in s
	next               unit.Time // of the update
	turn               unit.Time // of the window
	now, before        []int64   // bytes that came by rank, in this window and in the one before
	threshold          uint32    // ranks above it are dropped
	part               float64   // and this share of those at it
}

// newProgram returns the program for a site.
func newProgram(site *dataplane.Site, c Config) (*program, error) {
	x := &program{config: c, rates: users.NewRates(site.Book, &c.Config), ports: make([]PortState, site.Ports),
		random: site.Random("ppv")}
	for i := range x.ports {
		switch {
		case !c.Smallest && i < len(site.Lines) && site.Lines[i].Rate.Bits == 0:
			return nil, fmt.Errorf("ppv: port %d has %v: a delay needs ports whose rates are in bit/s", i, site.Lines[i].Rate)
		case !c.Smallest:
			x.ports[i] = PortState{now: make([]int64, c.regions()), before: make([]int64, c.regions()),
				threshold: math.MaxUint32}
		case i < len(site.At) && !site.At[i].Ranks():
			return nil, fmt.Errorf("ppv: drop: smallest needs the scheduler least, which port %d does not have", i)
		}
	}
	return x, nil
}

// Name is "ppv".
func (x *program) Name() string { return "ppv" }

// Ingress is the marker: the rank of a number drawn between 0 and the user's rate. Packets that switches make have
// the greatest value.
func (x *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Flags&packet.Internal == 0 {
		u, rate := x.rates.Update(env.Now(), p, x.config.K)
		p.Meta.User = x.config.Rank(x.random.Float64() * rate / x.rates.Weight(u))
	}
	return dataplane.Accept
}

// Admit drops what is beyond the threshold. What is at it is dropped in part, by a number of its own, so that the
// share is PIE's whatever the regions are (ours).
func (x *program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if x.config.Smallest || p.Meta.Flags&packet.Internal != 0 {
		return dataplane.Accept
	}
	out := env.Port(p.Meta.Out)
	k := &x.ports[p.Meta.Out]
	k.count(env.Now(), p.Meta.User, int64(p.Size), x.config.Window)
	if env.Now() >= k.next {
		k.update(float64(out.Bytes())*8/float64(out.Rate().Bits), &x.config)
		k.next = env.Now() + x.config.Update
	}
	if r := p.Meta.User; r > k.threshold || r == k.threshold && x.random.Float64() < k.part {
		return dataplane.Drop(dataplane.EarlyDrop)
	}
	return dataplane.Accept
}

// count counts what comes, whatever becomes of it.
func (k *PortState) count(now unit.Time, rank uint32, bytes int64, window unit.Time) {
	if now >= k.turn {
		if now >= k.turn+window { // nothing came in a whole window
			clear(k.now)
		}
		k.now, k.before = k.before, k.now
		clear(k.now)
		k.turn = now + window
	}
	k.now[rank] += bytes
}

// update is PIE's control law (RFC 8033 §4.2) without its cap (§5.5), and then the quantile.
func (k *PortState) update(delay float64, c *Config) {
	k.probability = pie.Law{Target: c.Target, Alpha: c.Alpha, Beta: c.Beta}.Next(k.probability, k.delay, delay)
	k.delay = delay
	k.quantile()
}

// quantile finds the threshold above which, with a part of what is at it, lies the probability's share of bytes.
func (k *PortState) quantile() {
	total := int64(0)
	for i := range k.now {
		total += k.now[i] + k.before[i]
	}
	left := float64(k.probability * float64(total))
	k.threshold, k.part = math.MaxUint32, 0
	for i := len(k.now) - 1; i >= 0 && left > 0; i-- {
		n := float64(k.now[i] + k.before[i])
		if n == 0 {
			continue
		}
		if k.threshold = uint32(i); left < n {
			k.part = left / n
			return
		}
		k.part, left = 1, left-n
	}
}

// EvictAddress starts the rate of a source that is another's now afresh.
func (x *program) EvictAddress(a packet.Addr) {
	x.rates.EvictAddress(a)
}

// threshold is the rank above which a port drops, and the share of those at it, for tests.
func (x *program) threshold(out packet.PortID) (rank uint32, part float64) {
	return x.ports[out].threshold, x.ports[out].part
}
