package hpcc

import (
	"fmt"
	"strconv"
	"strings"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Mode selects when and to what HPCC++ reacts: its own way, or one of the paper's ablations (HPCC §5.4, figures 6 and
// 13; Appendix A).
type Mode uint8

// Modes.
const (
	PlusPlus Mode = iota // reacts to each ACK, commits once per round trip
	PerACK               // commits at each ACK: overreacts
	PerRTT               // uses one ACK per round trip only: slow
	RxRate               // measures arrivals at the port instead of departures: oscillates
	PerHop               // state and window per hop; the smallest window applies (MULTI_RATE)
)

var modes = []string{"hpcc++", "per_ack", "per_rtt", "rx_rate", "per_hop"}

// String returns the mode's name in specs; "mode N" for any other value N.
func (m Mode) String() string {
	if int(m) < len(modes) {
		return modes[m]
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// Preset selects MaxStage, N and T if they are not given.
type Preset uint8

// Presets.
const (
	Default   Preset = iota // the drafts' MaxStage; N and T are the path's
	Simulator               // the HPCC simulator's MaxStage of 0; N and T are the path's
	Draft                   // the values printed in draft-miao §4.1 and §5
	Agent                   // Linux' own TCP with weir agent; Rx-HPCC only (RxConfig)
)

var presets = []string{"default", "simulator", "draft", "agent"}

// draftStage is the MaxStage that paper and drafts print, "conservatively large for stability": with 0 the loop is
// unstable if feedback is late (docs/papers/hpcc.md#traffic-in-both-directions).
const draftStage = 5

// presetValues holds each preset's MaxStage, N and T. The draft names no N; HPCC assumes a hundred.
var presetValues = [...]struct {
	maxStage, n int       // n 0: W_ai is as given
	t           unit.Time // 0: the path's, or measured
}{
	Default:   {maxStage: draftStage},
	Simulator: {},
	Draft:     {maxStage: draftStage, n: 100, t: 5 * unit.Microsecond},
	Agent:     {maxStage: draftStage, n: 8},
}

// standardWAI is the default of w_ai.
const standardWAI = 80 * unit.Byte

// InFlightLimit selects the limit of data in flight, in addition to the rate W/T.
type InFlightLimit uint8

// Bounds.
const (
	VariableWindow InFlightLimit = iota // W
	InitialWindow                       // W_init
	NoWindow                            // no limit
)

var bounds = []string{cc.VariableWindow, cc.BDPWindow, cc.NoWindow}

// String returns the bound's name in specs; "bound N" for any other value N.
func (b InFlightLimit) String() string {
	if int(b) < len(bounds) {
		return bounds[b]
	}
	return fmt.Sprintf("bound %d", uint8(b))
}

// Config configures HPCC++ (draft-miao §4.1 and §5).
type Config struct {
	Preset   Preset
	Eta      float64    // target utilisation
	MaxStage int        // additive increases before a multiplicative one; −1: the preset's
	WAI      unit.Bytes // additive increase in a round trip
	N        int        // above 0: WAI is W_init·(1−Eta)/N instead (§5); 0: the preset's
	T        unit.Time  // base round-trip time; 0: the preset's, else cc.Flow.BaseRTT or the measured minimum
	MinRate  unit.Rate  // the window does not fall below MinRate·T
	Sojourn  bool       // use time in the switch instead of queue length (§9.4)
	Mode     Mode
	// the receiving host counts its flows, which gives N while the last hop is the bottleneck (§5, §6.2)
	Census        bool
	Bound         InFlightLimit // of what is in flight
	SamplesQueues bool          // between updates only hops with a queue count
}

// Defaults returns the scheme's default configuration.
func Defaults() Config { return scheme.Defaults[Config]() }

// Params binds the options of hpcc to the fields of c, which keep their values.
func (c *Config) Params(p *scheme.Params) {
	c.bindLaw(p, presets[:Agent])
	c.bindCensus(p, "off")
	scheme.Choice(p, &c.Mode, modes, "mode", "hpcc++", "variant: HPCC++, or one of the paper's ablations",
		"draft-miao §6.1; HPCC §5.4, figure 6, Appendix A")
	p.BoolWords(&c.Sojourn, [2]string{"queue", "sojourn"}, "delay", "queue",
		"measure of queueing; queue: the port's queue; sojourn: the packet's time in the switch",
		"draft-miao §4.2 line 5; §9.4")
	p.Bool(&c.SamplesQueues, "sample_feedback", "false",
		"between the updates of a round-trip time, use only hops with a queue", "HPCC simulator: SAMPLE_FEEDBACK")
	c.bindWindow(p)
}

// bindWindow binds the limit of a sender's data in flight.
func (c *Config) bindWindow(p *scheme.Params) {
	scheme.Choice(p, &c.Bound, bounds, "window", cc.VariableWindow,
		"limit of the payload in flight; variable: W; bdp: W_init; none: no limit; the rate is W/T in every case",
		"draft-miao §4.2; HPCC simulator: HAS_WIN, VAR_WIN")
}

// Traits returns the fields that the law reads, and with census the time within which the receiving host counts flows
// for N.
func (c *Config) Traits() cc.Traits {
	r := c.resolved()
	return cc.Traits{Reads: c.requiredFields(), CountsFlows: r.Census, CountTime: r.T}
}

// requiredFields returns the fields of each hop that the law needs (lines 4 and 5; draft-miao §9.4). If it includes
// telemetry.Load, the path's largest load is enough instead (draft-miao §9.1); the modes that read records lack it.
func (c *Config) requiredFields() telemetry.Field {
	needs := telemetry.Time | telemetry.TxBytes | telemetry.Rate
	switch {
	case c.Sojourn && (c.Mode == RxRate || c.SamplesQueues): // arrivals are departures and the queue's growth
		return needs | telemetry.Sojourn | telemetry.Queue
	case c.Sojourn:
		return needs | telemetry.Sojourn
	case c.Mode == RxRate || c.Mode == PerHop || c.SamplesQueues:
		return needs | telemetry.Queue
	}
	return needs | telemetry.Queue | telemetry.Load
}

// bindLaw binds the parameters common to all schemes with HPCC++'s law, with these presets.
func (c *Config) bindLaw(p *scheme.Params, presets []string) {
	text := "where max_stage, n and t come from if they are not given; default: max_stage 5, w_ai as given, t of the " +
		"path; simulator: the same with max_stage 0; draft: max_stage 5, n 100, t 5us"
	if len(presets) > int(Agent) {
		text += "; agent: max_stage 5, n 8, t of the path, no census, as in weir agent"
	}
	scheme.Choice(p, &c.Preset, presets, "preset", "default", text,
		"draft-miao §4.1, §5; HPCC simulator run.py")
	p.Share(&c.Eta, "eta", "95%", "target utilisation; lower it for a shorter queue, at the cost of the remaining "+
		"capacity", "draft-miao §4.1; HPCC §5.1").Min("0.01%").Max("100%")
	stages := make([]string, len(presets))
	for i := range presets {
		stages[i] = strconv.Itoa(presetValues[i].maxStage)
	}
	p.Int(&c.MaxStage, "max_stage", "-1",
		"number of additive increases before a multiplicative one; -1: the preset's value ("+strings.Join(stages, ", ")+")",
		"draft-miao §4.1: 5, for stability; HPCC simulator: MI_THRESH 0").Min("-1")
	p.Size(&c.WAI, "w_ai", "80 B", "additive increase per round-trip time; at most the headroom (1−eta)·B·t divided "+
		"by the number of flows, or a queue remains",
		"HPCC §5.1, footnote 4: 100 flows at 100 Gb/s").Min("0 B").
		When("n: 0", func() bool { return c.N == 0 })
	p.Int(&c.N, "n", "0", "number of flows expected on a link, n: w_ai is W_init·(1−eta)/n; 0: the preset's value "+
		"(draft 100, agent 8, otherwise w_ai applies)", "draft-miao §5; 100: HPCC §5.1, footnote 4").Min("0")
	bindPath(p, &c.T, &c.MinRate,
		"the preset's value (draft 5us, otherwise the path's time if it is known, or the minimum measured)")
	p.AddRule("w_ai", func() error {
		if presetValues[c.Preset].n > 0 && c.WAI != standardWAI {
			return fmt.Errorf("preset: %s has it by the rule of §5, from n: leave it out", presets[c.Preset])
		}
		return nil
	})
}

// resolved returns the configuration with the preset's values for parameters that are not given.
func (c Config) resolved() Config {
	values := presetValues[c.Preset]
	if c.MaxStage < 0 {
		c.MaxStage = values.maxStage
	}
	if c.N == 0 {
		c.N = values.n
	}
	if c.T == 0 {
		c.T = values.t
	}
	c.Census = c.Census && c.Preset != Agent
	return c
}

// bindCensus binds the receiver's count of flows for W_ai.
func (c *Config) bindCensus(p *scheme.Params, standard string) {
	p.BoolWords(&c.Census, [2]string{"off", "on"}, "census", standard,
		"the receiving host counts its flows; while the last hop is the bottleneck, n is their number and w_ai is the "+
			"hop's B·t·(1−eta)/n; otherwise, or if a hop wrote no record (telemetry: congestion), the given values apply",
		"draft-miao §5: receiver reported; §6.2")
}

// bindPath binds T and the minimum rate of windows.
func bindPath(p *scheme.Params, t *unit.Time, minRate *unit.Rate, otherwise string) {
	p.Time(t, "t", "0s", "base round-trip time; 0s: "+otherwise,
		"Weir; draft-miao §4.1: 5 us; HPCC §5.1: 9 us (testbed), 13 us (simulation)").Min("0s")
	p.Rate(minRate, "min_rate", "0bps", "minimum rate: the window is at least min_rate·t; 0bps: no minimum",
		"Weir: W_ai limits the window from below (draft-miao line 13); HPCC simulator: 100 Mb/s or 1 Gb/s").Min("0bps")
}

// Scheme returns the scheme for experiments: cc: hpcc.
func Scheme() cc.Scheme {
	return cc.DefineReusing(cc.Scheme{
		Scheme: scheme.Scheme{Name: "hpcc", Doc: "HPCC++: window from the telemetry of the path",
			Source:   "draft-miao-iccrg-hpccplus-01",
			Warnings: append([]scheme.WarningKind{warnUnevenHops}, windowWarnings...)},
		OwnRecovery: true, PerPath: true, Telemetry: telemetry.HopRecords, Signals: cc.ByTelemetry,
		KeepsOnSend: true,
	}, Renew)
}
