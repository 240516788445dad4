// Package ppv is Per Packet Value (Nádas, Turányi, Rácz, GLOBECOM 2016). An edge draws a value for each packet. If
// all packets below a threshold are dropped, a user keeps a rate that depends only on the threshold. Ports drop the
// packets with the least value, without state for users. Here a switch is edge and core in one.
//
// The throughput-value function of all users falls with the throughput divided by the weight (PPV), so that equal
// thresholds give shares by weight. Any such function will do, since only the order of values matters. So a value is
// stored as its rank: the region of throughputs, from 0 upwards, that contains the number drawn between 0 and the
// user's rate (PPV: a number drawn between 0 and the rate; regions of equal ratio).
//
// A port drops the least value when its buffer is full (drop: smallest, with the scheduler least). Or it has a
// congestion threshold value, the quantile of recent values that drops PIE's share (drop: threshold).
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

// Config holds the parameters of marker and port.
type Config struct {
	users.Config
	K        unit.Time // averaging constant of users' rates
	From, To unit.Rate // range of throughputs with different values
	Steps    int       // regions per decade
	Smallest bool      // the least value is dropped when the buffer is full, in place of a threshold
	Target   unit.Time // delay that the threshold aims at
	Update   unit.Time // time between updates of the threshold
	Window   unit.Time // of values for the quantile
	Alpha    float64   // gains of PIE
	Beta     float64
}

// Traits returns that the program drops packets where queues grow, unless drop is smallest: then only a full buffer
// drops packets.
func (c *Config) Traits() dataplane.Traits { return dataplane.Traits{DropsEarly: !c.Smallest} }

// maxRegions limits the number of regions.
const maxRegions = 1 << 12

// Params binds the options of ppv to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	c.Config.Params(p)
	p.Time(&c.K, "k", "100ms", "averaging constant of a user's rate; longer than the bursts and round-trip times of "+
		"users, shorter than the time in which the fair share changes", "Weir; CSFQ: K").Min("1us")
	p.Rate(&c.From, "from", "10kbps", "throughput per unit of weight up to which packets have the same value", "PPV").
		Min("1bps")
	p.Rate(&c.To, "to", "100Gbps", "throughput above which packets have the same value", "Weir; PPV: 1 Gb/s").Min("1bps")
	p.Int(&c.Steps, "steps", "30", "number of values per decade of throughput; more values divide users more finely, "+
		"with more memory per port", "PPV").Min("1").Max("300")
	p.BoolWords(&c.Smallest, [2]string{"threshold", "smallest"}, "drop", "threshold",
		"which packets are dropped; threshold: those with a value below a threshold; smallest: the smallest value in a "+
			"full buffer", "PVPIE; smallest: PPV")
	threshold := func() bool { return !c.Smallest }
	p.Time(&c.Target, "target", "15ms", "target delay of the threshold; it must be below the delay of a full buffer, "+
		"or packets are lost regardless of their values", "RFC 8033 §4.2").Min("1us").
		When("drop: threshold", threshold)
	p.Time(&c.Update, "update", "15ms", "period between updates of the threshold", "RFC 8033 §4.2").Min("1us").
		When("drop: threshold", threshold)
	p.Time(&c.Window, "window", "100ms", "period of the histogram of values by which the threshold is a quantile; it "+
		"covers the last one to two periods", "Weir").Min("1us").When("drop: threshold", threshold)
	p.Float(&c.Alpha, "alpha", "0.125", "gain of the delay's distance from the target [1/s]; raise it to reach the "+
		"target sooner, lower it if the delay oscillates", "RFC 8033 §4.2").Min("0").
		When("drop: threshold", threshold)
	p.Float(&c.Beta, "beta", "1.25", "gain of the delay's change since the last update [1/s]; raise it to damp "+
		"oscillations, lower it if the threshold follows bursts", "RFC 8033 §4.2").Min("0").
		When("drop: threshold", threshold)

	p.AddRule("to", func() error {
		switch n := c.regionCount(); {
		case c.To <= c.From:
			return fmt.Errorf("%v is not above from (%v): all packets would have one value", c.To, c.From)
		case n > maxRegions:
			return fmt.Errorf("%d values; allowed: at most %d", n, maxRegions)
		}
		return nil
	})
	p.AddRule("window", func() error {
		if !c.Smallest && c.Window < c.Update {
			return fmt.Errorf("%v is shorter than update (%v)", c.Window, c.Update)
		}
		return nil
	})
}

// warnTarget is issued if packets are lost regardless of their values.
var warnTarget = scheme.WarningKind{ID: "ppv-target",
	Condition: "target is not below the delay of a full buffer at a port at which data can queue"}

// Check warns of a target that a buffer never reaches, and of an update for which PIE's gain is not meant (RFC 8033
// §4.2).
func (c *Config) Check(s *dataplane.SwitchContext) (all []scheme.Remark) {
	if c.Smallest {
		return nil
	}
	if p, holds := s.FindShortBuffer(dataplane.ConstantDelay(c.Target)); p != nil {
		all = append(all, warnTarget.NewRemark("target", "the buffer of the port to %s holds %v, but the threshold aims at "+
			"%v, so packets are lost regardless of their values", p.To, holds, c.Target).
			WithPort(p.PortName(), float64(c.Target)/float64(max(holds, 1))))
	}
	return append(all, dataplane.CheckUpdateInterval(c.Update, 15*unit.Millisecond, c.Alpha, 0.125)...)
}

// regionCount returns the number of ranks.
func (c *Config) regionCount() int {
	return 2 + int(math.Ceil(float64(c.Steps)*math.Log10(float64(c.To)/float64(c.From))))
}

// RankOf returns the region of a throughput in bit/s per unit of weight: 0 up to From, then a step for each factor of
// 10^(1/Steps).
func (c *Config) RankOf(throughput float64) uint32 {
	if throughput <= float64(c.From) {
		return 0
	}
	return uint32(min(1+int(float64(c.Steps)*math.Log10(throughput/float64(c.From))), c.regionCount()-1))
}

// Scheme returns the scheme of the program ppv. A program before it chooses the port:
// switch: [forward, ppv].
func Scheme() dataplane.Scheme {
	return dataplane.Define(scheme.Scheme{Name: "ppv", Doc: "per packet value: gives packets values by their user's " +
		"throughput and drops those with the smallest values", Source: "PPV",
		Warnings: []scheme.WarningKind{warnTarget}}, newProgram)
}

// program is PPV in one switch.
type program struct {
	config Config
	rates  users.Rates // by user
	ports  []portState
	random unit.Random
}

// portState is the state of a port's threshold.
type portState struct {
	probability, delay          float64   // PIE's probability, and the delay at the last update in s
	nextUpdate                  unit.Time // time of the next update
	windowEnd                   unit.Time // end of the window
	currentBytes, previousBytes []int64   // bytes that arrived by rank, in this window and in the one before
	threshold                   uint32    // ranks above it are dropped
	partAtThreshold             float64   // share of the packets with this rank that is dropped
}

// newProgram returns the program. It fails if a port's rate is not in bit/s or, with drop: smallest, its scheduler is
// not least.
func newProgram(site *dataplane.Site, c Config) (*program, error) {
	x := &program{config: c, rates: users.NewRates(site.Book, &c.Config), ports: make([]portState, site.Ports),
		random: site.Random("ppv")}
	for i := range x.ports {
		switch {
		case !c.Smallest && i < len(site.Lines) && site.Lines[i].Rate.Bits == 0:
			return nil, fmt.Errorf("ppv: port %d has %v: a delay needs ports whose rates are in bit/s", i, site.Lines[i].Rate)
		case !c.Smallest:
			x.ports[i] = portState{currentBytes: make([]int64, c.regionCount()), previousBytes: make([]int64, c.regionCount()),
				threshold: math.MaxUint32}
		case i < len(site.At) && !site.At[i].HasRanks():
			return nil, fmt.Errorf("ppv: drop: smallest needs the scheduler least, which port %d does not have", i)
		}
	}
	return x, nil
}

// Name returns "ppv".
func (x *program) Name() string { return "ppv" }

// Ingress is the marker. It counts p in its user's rate, and writes the rank of p into Meta.User: RankOf a random
// throughput between 0 and the user's rate per unit of weight. Rank 0 has the greatest value. Packets made by switches
// are not counted and keep rank 0. It accepts every packet.
func (x *program) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Flags&packet.Internal == 0 {
		u, rate := x.rates.AddPacket(env.Now(), p, x.config.K)
		p.Meta.User = x.config.RankOf(x.random.Float64() * rate / x.rates.Weight(u))
	}
	return dataplane.Accept
}

// Admit drops packets beyond the threshold. Packets at the threshold are dropped in part, by a random number, so that
// the share is PIE's with any regions. It first counts the packet and, if an update is due, sets the threshold. With
// Smallest, and for packets made by switches, it accepts all.
func (x *program) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if x.config.Smallest || p.Meta.Flags&packet.Internal != 0 {
		return dataplane.Accept
	}
	out := env.Port(p.Meta.Out)
	k := &x.ports[p.Meta.Out]
	k.countBytes(env.Now(), p.Meta.User, int64(p.Size), x.config.Window)
	if env.Now() >= k.nextUpdate {
		k.updateThreshold(float64(out.Bytes())*8/float64(out.Rate().Bits), &x.config)
		k.nextUpdate = env.Now() + x.config.Update
	}
	if r := p.Meta.User; r > k.threshold || r == k.threshold && x.random.Float64() < k.partAtThreshold {
		return dataplane.Drop(dataplane.EarlyDrop)
	}
	return dataplane.Accept
}

// countBytes counts the bytes of an arriving packet for its rank, whether or not it is dropped. It first swaps the
// windows if the current one has ended.
func (k *portState) countBytes(now unit.Time, rank uint32, bytes int64, window unit.Time) {
	if now >= k.windowEnd {
		if now >= k.windowEnd+window { // the last window had no packets
			clear(k.currentBytes)
		}
		k.currentBytes, k.previousBytes = k.previousBytes, k.currentBytes
		clear(k.currentBytes)
		k.windowEnd = now + window
	}
	k.currentBytes[rank] += bytes
}

// updateThreshold updates the probability by PIE's control law (RFC 8033 §4.2) without its cap (RFC 8033 §5.5), and
// then sets the threshold. delay is in seconds.
func (k *portState) updateThreshold(delay float64, c *Config) {
	k.probability = pie.Law{Target: c.Target, Alpha: c.Alpha, Beta: c.Beta}.NextProbability(k.probability, k.delay, delay)
	k.delay = delay
	k.findThreshold()
}

// findThreshold sets threshold and partAtThreshold such that the packets above it, and a part of those at it, have the
// probability's share of the bytes of both windows.
func (k *portState) findThreshold() {
	total := int64(0)
	for i := range k.currentBytes {
		total += k.currentBytes[i] + k.previousBytes[i]
	}
	left := float64(k.probability * float64(total))
	k.threshold, k.partAtThreshold = math.MaxUint32, 0
	for i := len(k.currentBytes) - 1; i >= 0 && left > 0; i-- {
		n := float64(k.currentBytes[i] + k.previousBytes[i])
		if n == 0 {
			continue
		}
		if k.threshold = uint32(i); left < n {
			k.partAtThreshold = left / n
			return
		}
		k.partAtThreshold, left = 1, left-n
	}
}

// EvictAddress resets the rate of a source when its address is reassigned.
func (x *program) EvictAddress(a packet.Addr) {
	x.rates.EvictAddress(a)
}

// threshold returns the rank above which a port drops, and the share at it, for tests.
func (x *program) threshold(port packet.PortID) (rank uint32, part float64) {
	return x.ports[port].threshold, x.ports[port].partAtThreshold
}
