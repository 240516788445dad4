package uet

import (
	"slices"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/unit"
)

// TestConfig_CheckRemarksUnsuitableSites checks that each unsuitable switch or time gives a warning at its parameter,
// and suitable ones give none.
func TestConfig_CheckRemarksUnsuitableSites(t *testing.T) {
	trims := cc.FlowContext{Paths: []cc.FlowPath{{Path: cc.Path{NICRate: 100 * unit.Gbps, BaseRTT: 10 * us}, Trims: true}}}
	with := func(change func(s *cc.FlowContext)) cc.FlowContext {
		s := trims
		s.Paths = slices.Clone(s.Paths)
		change(&s)
		return s
	}
	plain := with(func(s *cc.FlowContext) { s.Paths[0].Trims = false })
	unmarked := with(func(s *cc.FlowContext) { s.Paths[0].WhyUnmarked = "no switch marks" })
	for name, x := range map[string]struct {
		site   cc.FlowContext
		change func(c *Config)
		want   string
	}{
		"all fits":    {trims, func(*Config) {}, ""},
		"no trimming": {plain, func(*Config) {}, "sleek: no switch trims packets (program trimming)"},
		"with sleek":  {plain, func(c *Config) { c.Sleek = true }, ""},
		"lossless": {with(func(s *cc.FlowContext) { s.Paths[0].Trims, s.Paths[0].WhyLossless = false, "pfc" }),
			func(*Config) {}, ""},
		"both": {trims, func(c *Config) { c.Sleek = true }, "sleek: switches trim packets"},
		"reps": {plain, func(c *Config) { c.Sleek, c.Balance = true, balanceREPS },
			"balance: no switch trims packets"},
		"no marks": {unmarked, func(*Config) {}, "control: no switch marks"},
		"credit":   {unmarked, func(c *Config) { c.Control = byReceiver }, ""},
		"sprayed":  {with(func(s *cc.FlowContext) { s.Sprayed = true }), func(*Config) {}, "balance: a program of"},
		"one path": {with(func(s *cc.FlowContext) { s.Flowlets = true }),
			func(c *Config) { c.Balance = balanceOnePath }, ""},
		"short network": {trims, func(c *Config) { c.Network = us },
			"network_rtt: the round trip of the longest path without queues is 10us"},
		"short timeout": {trims, func(c *Config) { c.RTOBase, c.RTOQueues = 9*us, 0 }, "rto_base: the timeout, 9us"},
		"long queues": {with(func(s *cc.FlowContext) { s.Paths[0].MaxQueueDelay, s.Paths[0].Hops = 20*us, 4 }),
			func(*Config) {},
			"network_rtt: the timeout is 75us on a path with a round trip of 10us without queues and of up to 90us " +
				"with the queues of its switches, 4 times 20us before they trim"},
		"few queues": {with(func(s *cc.FlowContext) { s.Paths[0].MaxQueueDelay, s.Paths[0].Hops = 20*us, 4 }),
			func(c *Config) { c.Network, c.RTOQueues = 10*us, 4 }, "rto_queues: the timeout is 55us on a path"},
		"queues fit": {with(func(s *cc.FlowContext) { s.Paths[0].MaxQueueDelay, s.Paths[0].Hops = 12*us, 5 }),
			func(*Config) {}, ""},
		"estimated": {with(func(s *cc.FlowContext) { s.Paths[0].MaxQueueDelay, s.Paths[0].Hops = 20*us, 4 }),
			func(c *Config) { c.RTO = estimatedRTO }, ""},
		"no path": {with(func(s *cc.FlowContext) { s.Paths = nil }), func(c *Config) { c.RTOBase, c.RTOQueues = 1, 0 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := Defaults()
			x.change(&c)
			var all []string
			for _, r := range c.Check(&x.site) {
				all = append(all, r.Param+": "+r.Text)
			}
			if got := strings.Join(all, "\n"); x.want == "" && got != "" || len(all) > 1 || !strings.Contains(got, x.want) {
				t.Errorf("%q\nwant %q", got, x.want)
			}
		})
	}
}
