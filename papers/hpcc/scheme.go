package hpcc

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Mode is when and on what HPCC++ reacts: itself, and the paper's ablations (HPCC §5.4,
// figures 6 and 13; Appendix A).
type Mode uint8

// Modes.
const (
	PlusPlus Mode = iota // reacts to each ACK, commits once per round trip
	PerACK               // commits at each ACK: overreacts
	PerRTT               // looks at one ACK per round trip only: slow
	RxRate               // takes the rate of arrivals at the port for that of departures: oscillates
	PerHop               // state and window for each hop, of which the least holds (MULTI_RATE)
)

var modes = []string{"hpcc++", "per_ack", "per_rtt", "rx_rate", "per_hop"}

func (m Mode) String() string {
	if int(m) < len(modes) {
		return modes[m]
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// Config is what draft-miao §4.1 and §5 configure.
type Config struct {
	Eta      float64    // target utilisation
	MaxStage int        // additive increases before a multiplicative one
	WAI      unit.Bytes // additive increase in a round trip
	N        int        // above 0: WAI is W_init·(1−Eta)/N instead (§5)
	T        unit.Time  // base round-trip time; 0: cc.Flow.BaseRTT, and without it the least measured
	MinRate  unit.Rate  // the window does not fall below MinRate·T
	Sojourn  bool       // takes time in the switch for the queue's length (§9.4)
	Mode     Mode
}

// Defaults are those of the scheme.
func Defaults() Config { return Config{Eta: 0.95, WAI: 80} }

// Validate says what is wrong.
func (c *Config) Validate() error {
	switch {
	case !(c.Eta > 0 && c.Eta <= 1):
		return fmt.Errorf("hpcc: eta is %v; it is above 0%% and at most 100%%", c.Eta)
	case c.MaxStage < 0:
		return fmt.Errorf("hpcc: max_stage is %d; it is 0 or more", c.MaxStage)
	case c.WAI < 0:
		return fmt.Errorf("hpcc: w_ai is %v; it is 0 or more", c.WAI)
	case c.N < 0:
		return fmt.Errorf("hpcc: n is %d; it is 0 or more", c.N)
	case c.T < 0:
		return fmt.Errorf("hpcc: t is %v; it is 0 or more", c.T)
	case c.MinRate < 0:
		return fmt.Errorf("hpcc: min_rate is %v; it is 0 or more", c.MinRate)
	case int(c.Mode) >= len(modes):
		return fmt.Errorf("hpcc: there is no %v", c.Mode)
	}
	return nil
}

var (
	etaParam = scheme.Param{Name: "eta", Kind: scheme.Share, Default: "95%", Min: "0.01%", Max: "100%",
		Doc: "target utilisation", Source: "draft-miao §4.1; HPCC §5.1"}
	maxStageParam = scheme.Param{Name: "max_stage", Kind: scheme.Int, Default: "0", Min: "0",
		Doc:    "additive increases before a multiplicative one",
		Source: "the authors' project page: the 5 of paper and draft is a typo; their simulator (MI_THRESH 0)"}
	waiParam = scheme.Param{Name: "w_ai", Kind: scheme.Size, Default: "80 B", Min: "0 B",
		Doc: "additive increase in a round trip", Source: "HPCC §5.1, footnote 4: 100 flows at 100 Gb/s"}
	nParam = scheme.Param{Name: "n", Kind: scheme.Int, Default: "0", Min: "0",
		Doc: "flows expected on a link: w_ai is W_init·(1−eta)/n; 0: as given", Source: "draft-miao §5"}
	tParam = scheme.Param{Name: "t", Kind: scheme.Duration, Default: "0s", Min: "0s",
		Doc:    "base round-trip time; 0s: the path's if it is known, or the least measured",
		Source: "ours; draft-miao §4.1 has 5 us, HPCC §5.1 9 us (testbed) and 13 us (simulation)"}
	minRateParam = scheme.Param{Name: "min_rate", Kind: scheme.Rate, Default: "0bps", Min: "0bps",
		Doc:    "the window does not fall below min_rate·t",
		Source: "ours: W_ai bounds the window from below (line 13); HPCC's simulator has 100 Mb/s or 1 Gb/s"}
)

// config reads what the laws share.
func config(v scheme.Values) Config {
	return Config{Eta: v.Float("eta"), MaxStage: v.Int("max_stage"), WAI: v.Bytes("w_ai"), N: v.Int("n"), T: v.Time("t"),
		MinRate: v.Rate("min_rate")}
}

// Scheme is what an experiment names: cc: hpcc.
func Scheme() cc.Scheme {
	return cc.Scheme{
		Scheme: scheme.Scheme{Name: "hpcc", Doc: "HPCC++: windows from the telemetry of the path",
			Source: "draft-miao-iccrg-hpccplus-01", Params: []scheme.Param{
				etaParam, maxStageParam, waiParam, nParam, tParam, minRateParam,
				{Name: "mode", Kind: scheme.Text, Words: modes, Default: "hpcc++", Doc: "HPCC++, or an ablation of the paper",
					Source: "draft-miao §6.1; HPCC §5.4, figure 6, Appendix A"},
				{Name: "delay", Kind: scheme.Text, Words: []string{"queue", "sojourn"}, Default: "queue",
					Doc:    "what tells the queueing: the port's queue, or the packet's time in the switch",
					Source: "draft-miao §4.2 line 5; §9.4"},
			}},
		OwnRecovery: true, Telemetry: telemetry.HopRecords,
		Build: func(f cc.Flow, v scheme.Values) (cc.Controller, error) {
			c := config(v)
			c.Sojourn = v.Text("delay") == "sojourn"
			for i, m := range modes {
				if m == v.Text("mode") {
					c.Mode = Mode(i)
				}
			}
			return build(New(f, c))
		},
	}
}

// build makes a controller of a pointer and an error: no pointer, no controller.
func build[T any, P interface {
	*T
	cc.Controller
}](c P, err error) (cc.Controller, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}
