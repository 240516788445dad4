package tm

import (
	"fmt"
	"strconv"

	"weir/core/scheme"
	"weir/core/unit"
)

// Scheme is a scheduler that an experiment can name.
type Scheme struct {
	scheme.Scheme
	// Build creates the scheduler of a port with this many queues and this rate, from a configuration of the scheme;
	// nil: the defaults. define sets Build.
	Build func(queues int, rate unit.LinkRate, c scheme.Config) (Scheduler, error)
}

// define returns a scheme with the constructor build for configurations of type C. build gets only configurations with
// values in their ranges that fit together. Without a configuration, it gets the defaults.
func define[C any, P scheme.Bound[C]](s scheme.Scheme,
	build func(queues int, rate unit.LinkRate, c C) (Scheduler, error)) Scheme {
	s.Config = scheme.NewDefault[C, P]
	return Scheme{Scheme: s, Build: func(queues int, rate unit.LinkRate, c scheme.Config) (Scheduler, error) {
		own, err := scheme.ConfigAs[C, P](c)
		if err != nil {
			return nil, fmt.Errorf("scheduler %s: %w", s.Name, err)
		}
		return build(queues, rate, own)
	}}
}

// quantumConfig is the number of bytes that a queue earns a turn.
type quantumConfig struct{ Quantum unit.Bytes }

// Params binds the options of drr to the fields of c, which keep their values.
func (c *quantumConfig) Params(p *scheme.Params) {
	p.Size(&c.Quantum, "quantum", "1514 B", "bytes that a queue may send per round; at least the largest frame; "+
		"larger: longer turns, and longer waits between them",
		"DRR: Max").Min("64 B").Max("1MB")
}

// dwrr configures deficit weighted round robin.
type dwrr struct {
	quantumConfig
	Weights  []scheme.Pair[int, int] // by queue, default 1
	Priority int                     // number of first queues in strict priority over the others
}

// Params binds the options of dwrr to the fields of c, which keep their values.
func (c *dwrr) Params(p *scheme.Params) {
	c.quantumConfig.Params(p)
	scheme.MapOf(p, &c.Weights, parseQueue, scheme.Ints, "weights", "weight by queue, counted from 0: {0: 10, 1: 1}; a "+
		"queue that is not given has weight 1; a queue sends its weight times quantum per round",
		"Weir").Min("1").Max("1000")
	p.Int(&c.Priority, "priority", "0", "number of first queues that are served before the others, in strict "+
		"priority; 0: none",
		"Weir; HPCC simulator: 1").Min("0").Max("16")
}

// wrr configures weighted round robin by packets.
type wrr struct {
	Weights []scheme.Pair[int, int] // packets a turn by queue, default 1
}

// Params binds the options of wrr to the fields of c, which keep their values.
func (c *wrr) Params(p *scheme.Params) {
	scheme.MapOf(p, &c.Weights, parseQueue, scheme.Ints, "weights", "packets per round, by queue from 0: {0: 10, 1: 1}; "+
		"a queue that is not given sends 1; use dwrr if packets have different sizes", "Weir").Min("1").Max("100000")
}

// Traits returns that it takes turns.
func (c *wrr) Traits() Traits { return Traits{Turns: c.turnPackets} }

// turnPackets returns the maximum number of packets of each queue in its turn, by default 1. Weights of queues that do
// not exist do not count.
func (c *wrr) turnPackets(queues int) []int64 {
	turns := make([]int64, queues)
	for i := range turns {
		turns[i] = 1
	}
	for _, x := range c.Weights {
		if x.Key < queues {
			turns[x.Key] = int64(x.Value)
		}
	}
	return turns
}

// Params binds the options of fq to the fields of c, which keep their values.
func (c *FQ) Params(p *scheme.Params) {
	p.Int(&c.Flows, "flows", "1024", "number of hash buckets for flows in a queue; flows in one bucket share its "+
		"part, so raise it far above the number of flows",
		"RFC 8290 §5.2.5").Min("1").Max(strconv.Itoa(maxFlows))
	p.Size(&c.Quantum, "quantum", "1514 B", "bytes that a flow may send per round; at least the largest frame",
		"RFC 8290 §5.2.4").Min("64 B").Max("1MB")
	p.Bool(&c.NewFirst, "new_first", "false", "serve flows that had no waiting packet before the others, for up to "+
		"one quantum", "RFC 8290 §4.2; none: DRR")
	p.BoolWords(&c.FromHead, [2]string{"tail", "head"}, "drop", "tail",
		"packet of the longest flow that is dropped when the buffer is full: its last (tail) or first (head)",
		"Weir; RFC 8290 §4.1: head")
}

// Params binds the options of user_fq to the fields of c, which keep their values.
func (c *ByUser) Params(p *scheme.Params) {
	c.Config.Params(p)
	p.Size(&c.Quantum, "quantum", "1514 B",
		"bytes that the user with the smallest reference rate may send per round; other users in proportion; at least "+
			"the largest frame", "DRR: Max").Min("64 B").Max("1MB")
	p.BoolWords(&c.FromHead, [2]string{"tail", "head"}, "drop", "tail",
		"packet of the user with the most bytes that is dropped when the buffer is full: its last (tail) or first (head)",
		"Weir; RFC 8290 §4.1: head")
}

// guaranteeConfig configures shares of the port's rate.
type guaranteeConfig struct {
	quantumConfig
	Guarantees, Ceilings []scheme.Pair[int, float64] // by queue, defaults 0 and 1
	Hard                 bool                        // ceilings hold even if the port would idle
	Priority             int                         // number of first queues before the others while below their ceiling
	Burst                unit.Bytes                  // max distance of a queue ahead of its share
}

// Params binds the options of guarantee to the fields of c, which keep their values.
func (c *guaranteeConfig) Params(p *scheme.Params) {
	c.quantumConfig.Params(p)
	scheme.MapOf(p, &c.Guarantees, parseQueue, scheme.Shares, "guarantees",
		"guaranteed share of the rate, by queue from 0: {0: 30%}; a queue that is not given has 0", "Weir").Max("100%")
	scheme.MapOf(p, &c.Ceilings, parseQueue, scheme.Shares, "ceilings",
		"maximum share of the rate, by queue from 0: {1: 50%}; a queue that is not given has 100%",
		"Weir").Above("0%").Max("100%")
	p.Bool(&c.Hard, "hard", "false", "apply ceilings even if the port would otherwise be idle", "Weir")
	p.Int(&c.Priority, "priority", "0", "number of first queues that are served before the others while below their "+
		"ceiling, in strict priority; 0: none", "Weir; BS'19 §4.3: the control queue").Min("0").Max("16")
	bindBurst(p, &c.Burst)

	p.AddRule("guarantees", func() error {
		sum := 0.0
		for _, x := range c.Guarantees {
			for _, y := range c.Ceilings {
				if x.Key == y.Key && x.Value > y.Value {
					return fmt.Errorf("the guarantee of queue %d, %s, is above its ceiling, %s", x.Key, unit.FormatShare(x.Value),
						unit.FormatShare(y.Value))
				}
			}
			sum += x.Value
		}
		if sum > 1+rounding {
			return fmt.Errorf("they add up to %.4g%%; allowed: at most 100%%", 100*sum)
		}
		return nil
	})
}

// rounding is the tolerance for a sum of shares.
const rounding = 1e-9

// bindBurst binds the burst of a guarantee.
func bindBurst(p *scheme.Params, burst *unit.Bytes) {
	p.Size(burst, "burst", "3028 B", "bytes by which a queue may exceed its share in the short term; at least a "+
		"frame, more for traffic in bursts",
		"Weir: two frames").Min("64 B")
}

// queues configures NCF's queues.
type queues struct {
	quantumConfig
	NCF
	Burst unit.Bytes
}

// Params binds the options of the scheduler ncf to the fields of c, which keep their values.
func (c *queues) Params(p *scheme.Params) {
	c.quantumConfig.Params(p)
	p.Share(&c.Control, "control", "5%", "ceiling of the control queue, which is the first", "BS'19 §4.2").
		Above("0%").Max("100%")
	p.Bool(&c.Hard, "hard", "false", "apply the ceiling even if the port would otherwise be idle",
		"Weir; BS'19 §4.2: a maximum, but also work conserving")
	p.Share(&c.Mice, "mice", "10%", "guarantee of the mice's queue, which is the second",
		"BS'19 §4.2").Min("0%").Max("100%")
	p.Share(&c.Elephants, "elephants", "10%", "guarantee of all elephants' queues together, which are the remaining "+
		"ones", "BS'19 §4.2").Min("0%").Max("100%")
	bindBurst(p, &c.Burst)

	p.AddRule("elephants", func() error {
		if sum := c.Mice + c.Elephants; sum > 1 {
			return fmt.Errorf("with mice this is %s; allowed: at most 100%%", unit.FormatShare(sum))
		}
		return nil
	})
}

// parseQueue parses the number of a queue, a decimal integer of 0 or more.
func parseQueue(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a queue", s)
	}
	return n, nil
}

// checkQueue returns an error unless queue is below queues, the number of a port's queues.
func checkQueue(queue, queues int) error {
	if queue >= queues {
		return fmt.Errorf("\"%d\" is not a queue; the port has 0 … %d", queue, queues-1)
	}
	return nil
}

// queueWeights returns the weights of all queues, by default 1. It fails if a queue does not exist.
func queueWeights(pairs []scheme.Pair[int, int], queues int) ([]int32, error) {
	all := make([]int32, queues)
	for i := range all {
		all[i] = 1
	}
	for _, x := range pairs {
		if err := checkQueue(x.Key, queues); err != nil {
			return nil, err
		}
		all[x.Key] = int32(x.Value)
	}
	return all, nil
}

// newScheduler returns the scheduler of so many queues. It fails if a queue does not exist, or if there are fewer
// queues than Priority.
func (c *dwrr) newScheduler(queues int) (Scheduler, error) {
	all, err := queueWeights(c.Weights, queues)
	if err != nil {
		return nil, err
	}
	if c.Priority > queues {
		return nil, fmt.Errorf("%d queues go before the others, the port has %d", c.Priority, queues)
	}
	return NewPriorityDWRR(c.Priority, all, int32(c.quantumConfig.Quantum)), nil
}

// newScheduler returns the scheduler of a port. It fails if a queue does not exist, if there are fewer queues than
// Priority, or the rate is not in bit/s.
func (c *guaranteeConfig) newScheduler(queues int, rate unit.Rate) (Scheduler, error) {
	shares := make([]Share, queues)
	for i := range shares {
		shares[i] = Share{Ceiling: 1, Hard: c.Hard}
	}
	for _, x := range c.Guarantees {
		if err := checkQueue(x.Key, queues); err != nil {
			return nil, err
		}
		shares[x.Key].Guarantee = x.Value
	}
	for _, x := range c.Ceilings {
		if err := checkQueue(x.Key, queues); err != nil {
			return nil, err
		}
		shares[x.Key].Ceiling = x.Value
	}
	if c.Priority > queues {
		return nil, fmt.Errorf("%d queues go before the others, the port has %d", c.Priority, queues)
	}
	return newPriorityGuarantee(c.Priority, shares, rate, int32(c.quantumConfig.Quantum), c.Burst)
}

// Schemes returns the schedulers that an experiment can name.
func Schemes() []Scheme {
	return []Scheme{
		define(scheme.Scheme{Name: "deadline", Doc: "classes of delay: sends the packet with the earliest deadline, " +
			"which is its arrival plus its queue's offset",
			Source: "Delay-EDD (JSAC 1990)"},
			func(queues int, _ unit.LinkRate, c deadlineConfig) (Scheduler, error) { return c.newScheduler(queues) }),
		define(scheme.Scheme{Name: "cake", Doc: "CAKE: each queue is fair among hosts and among the flows of a host, " +
			"with COBALT (CoDel and BLUE) per flow; a full buffer drops from the longest flow; queues in strict priority; " +
			"no shaper, no tins",
			Source: "CAKE (LANMAN 2018)"},
			func(_ int, rate unit.LinkRate, c Cake) (Scheduler, error) { return newCakeScheduler(c, rate), nil }),
		define(scheme.Scheme{Name: "calendar", Doc: "queues are rounds of the program afq: each is served in turn until " +
			"it is empty", Source: "AFQ §3.4"},
			func(queues int, _ unit.LinkRate, _ scheme.None) (Scheduler, error) { return NewCalendar(queues), nil }),
		define(scheme.Scheme{Name: "drr", Doc: "deficit round robin with equal shares",
			Source: "DRR (SIGCOMM 1995)"},
			func(queues int, _ unit.LinkRate, c quantumConfig) (Scheduler, error) {
				return NewDRR(queues, int32(c.Quantum)), nil
			}),
		define(scheme.Scheme{Name: "dwrr", Doc: "deficit weighted round robin", Source: "DRR (SIGCOMM 1995)"},
			func(queues int, _ unit.LinkRate, c dwrr) (Scheduler, error) { return c.newScheduler(queues) }),
		define(scheme.Scheme{Name: "fifo", Doc: "first in, first out; one queue", Source: "Weir"},
			func(queues int, _ unit.LinkRate, _ scheme.None) (Scheduler, error) {
				if queues != 1 {
					return nil, fmt.Errorf("fifo serves one queue, the port has %d", queues)
				}
				return NewFIFO(), nil
			}),
		define(scheme.Scheme{Name: "fq", Doc: "each queue is fair among flows, by deficit round robin; a full buffer " +
			"drops from the longest flow; queues in strict priority",
			Source: "RFC 8290 §4.2: without CoDel; DRR (SIGCOMM 1995)"},
			func(_ int, _ unit.LinkRate, c FQ) (Scheduler, error) { return NewFQ(c), nil }),
		define(scheme.Scheme{Name: "fq_codel", Doc: "each queue is fair among flows, with CoDel per flow; flows that " +
			"had no waiting packet go first; queues in strict priority", Source: "RFC 8290"},
			func(_ int, rate unit.LinkRate, c FQCoDel) (Scheduler, error) { return NewFQCoDel(c, rate), nil }),
		define(scheme.Scheme{Name: "guarantee", Doc: "guaranteed share and ceiling per queue; the rest is work conserving",
			Source: "NCF (Feldmann et al., BS 2019) §4.2"},
			func(queues int, rate unit.LinkRate, c guaranteeConfig) (Scheduler, error) {
				return c.newScheduler(queues, rate.Bits)
			}),
		define(scheme.Scheme{Name: "least", Doc: "first in, first out; a full buffer drops the packet with the highest " +
			"rank that programs assigned (ppv); queues in strict priority", Source: "PPV"},
			func(int, unit.LinkRate, scheme.None) (Scheduler, error) { return NewLeastValue(), nil }),
		define(scheme.Scheme{Name: "ncf", Doc: "NCF's queues: control first up to a ceiling; a guarantee each for mice " +
			"and elephants; the rest is work conserving", Source: "NCF (Feldmann et al., BS 2019) §4.2, §4.3"},
			func(queues int, rate unit.LinkRate, c queues) (Scheduler, error) {
				return NewNCF(queues, c.NCF, rate.Bits, int32(c.quantumConfig.Quantum), c.Burst)
			}),
		define(scheme.Scheme{Name: "strict", Doc: "strict priority, queue 0 first", Source: "Weir"},
			func(int, unit.LinkRate, scheme.None) (Scheduler, error) { return NewStrict(), nil }),
		define(scheme.Scheme{Name: "user_fq", Doc: "ideal fairness among users in each queue: deficit round robin with " +
			"their reference rates as weights; a full buffer drops from the longest user; queues in strict priority",
			Source: "DRR (SIGCOMM 1995); P4-ABC §2: WFQ"},
			func(_ int, _ unit.LinkRate, c ByUser) (Scheduler, error) { return NewByUser(c), nil }),
		define(scheme.Scheme{Name: "wrr", Doc: "weighted round robin by packets: a queue sends at most its weight in " +
			"packets per round", Source: "WRR (Katevenis et al., JSAC 1991); NDP (SIGCOMM 2017) §3.1: {0: 10}"},
			func(queues int, _ unit.LinkRate, c wrr) (Scheduler, error) {
				all, err := queueWeights(c.Weights, queues)
				if err != nil {
					return nil, err
				}
				return NewWRR(all), nil
			}),
	}
}
