package tm

import (
	"fmt"
	"math/bits"

	"weir/core/scheme"
	"weir/core/unit"
)

// fifo serves queue 0, the only one.
type fifo struct{}

// NewFIFO returns the scheduler of a port with one queue: first in, first out.
func NewFIFO() Scheduler { return fifo{} }

func (fifo) Next(unit.Time, *Buffer) (QueueID, unit.Time) { return 0, unit.Never }

// strict serves the first ready queue.
type strict struct{}

// NewStrict returns strict priority: queue 0 before queue 1 and so on.
func NewStrict() Scheduler { return strict{} }

func (strict) Next(_ unit.Time, b *Buffer) (QueueID, unit.Time) {
	return QueueID(bits.TrailingZeros32(b.Ready())), unit.Never
}

// deficit is deficit round robin (Shreedhar, Varghese, SIGCOMM'95): each time
// that a backlogged queue's turn comes it earns its quantum, and it sends while
// its deficit counter covers the head packet. A queue that runs empty loses what
// it has saved; one that is paused keeps it and is passed over.
type deficit struct {
	quantum []int32 // bytes a turn
	counter []int64
	turn    int    // queue whose turn it is
	earned  bool   // it has earned its quantum for this turn
	first   uint32 // queues that go before, the first one first
}

// NewDRR returns deficit round robin with one quantum in bytes for all queues.
// The quantum should be at least the largest frame, so that each turn sends.
func NewDRR(queues int, quantum int32) Scheduler {
	weights := make([]int32, queues)
	for i := range weights {
		weights[i] = 1
	}
	return NewDWRR(weights, quantum)
}

// NewDWRR returns deficit weighted round robin: queue i earns weights[i] × quantum
// bytes a turn, all above 0.
func NewDWRR(weights []int32, quantum int32) Scheduler {
	d := &deficit{quantum: make([]int32, len(weights)), counter: make([]int64, len(weights))}
	for i, w := range weights {
		d.quantum[i] = w * quantum
	}
	return d
}

// NewPriorityDWRR returns strict priority of the first queues, one before the other,
// over NewDWRR among the rest.
func NewPriorityDWRR(priority int, weights []int32, quantum int32) Scheduler {
	d := NewDWRR(weights, quantum).(*deficit)
	d.first = 1<<priority - 1
	return d
}

func (d *deficit) Next(_ unit.Time, b *Buffer) (QueueID, unit.Time) {
	ready := b.Ready()
	if first := ready & d.first; first != 0 {
		return QueueID(bits.TrailingZeros32(first)), unit.Never
	}
	return d.next(b, ready), unit.Never
}

// next serves round robin among the queues in set, which is not empty.
func (d *deficit) next(b *Buffer, set uint32) QueueID {
	for {
		q := d.turn
		if set&(1<<q) != 0 {
			if !d.earned {
				d.counter[q] += int64(d.quantum[q])
				d.earned = true
			}
			head := int64(b.queues[q].head.Size)
			if head <= d.counter[q] {
				d.counter[q] -= head
				if b.queues[q].packets == 1 { // it becomes empty
					d.counter[q] = 0
					d.pass()
				}
				return QueueID(q)
			}
		}
		if b.waiting&(1<<q) == 0 {
			d.counter[q] = 0
		}
		d.pass()
	}
}

// Share is queue q's share of the port's rate while all queues are busy.
func (d *deficit) Share(q QueueID) float64 {
	sum := 0.0
	for _, x := range d.quantum {
		sum += float64(x)
	}
	return float64(d.quantum[q]) / sum
}

func (d *deficit) pass() {
	if d.turn++; d.turn == len(d.counter) {
		d.turn = 0
	}
	d.earned = false
}

// Share is what one queue of NewGuarantee may count on, and may use at most, as
// shares of the port's rate.
type Share struct {
	Guarantee float64 // served before others while below it; 0 … 1
	Ceiling   float64 // 0 … 1; 1 is none
	Hard      bool    // the ceiling holds also when the port would idle
}

// guarantee serves queues below their guaranteed share first, then the rest work
// conserving, but for queues above their ceiling. Both shares are token buckets
// in parts of a byte: tokens grow with share × rate and are capped at burst.
type guarantee struct {
	share  []Share
	rate   float64 // bytes/ps
	burst  float64
	tokens []float64 // of the guarantee
	room   []float64 // of the ceiling
	last   unit.Time
	rest   *deficit
	first  *deficit
	before uint32 // queues that go before all others while below guarantee or ceiling
}

// NewGuarantee returns a scheduler with a guaranteed share and a ceiling per
// queue of a port with this bit rate. quantum is that of the round robin among
// equals; burst, in bytes, is how far a queue may be ahead of its share.
func NewGuarantee(shares []Share, rate unit.Rate, quantum int32, burst unit.Bytes) (Scheduler, error) {
	g, err := newGuarantee(shares, rate, quantum, burst)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// NewPriorityGuarantee is NewGuarantee with so many first queues that go before all
// others, one before the other, as long as they are below their ceiling.
func NewPriorityGuarantee(priority int, shares []Share, rate unit.Rate, quantum int32, burst unit.Bytes) (Scheduler,
	error) {
	g, err := newGuarantee(shares, rate, quantum, burst)
	if err != nil {
		return nil, err
	}
	if priority < 0 || priority > len(shares) {
		return nil, fmt.Errorf("%d queues go before the others, the port has %d", priority, len(shares))
	}
	g.before = 1<<priority - 1
	return g, nil
}

func newGuarantee(shares []Share, rate unit.Rate, quantum int32, burst unit.Bytes) (*guarantee, error) {
	sum := 0.0
	for i, s := range shares {
		if !(s.Guarantee >= 0 && s.Guarantee <= 1 && s.Ceiling > 0 && s.Ceiling <= 1 && s.Guarantee <= s.Ceiling) {
			return nil, fmt.Errorf("queue %d: guarantee %g and ceiling %g; needed is 0 ≤ guarantee ≤ ceiling ≤ 1, ceiling > 0",
				i, s.Guarantee, s.Ceiling)
		}
		sum += s.Guarantee
	}
	if sum > 1+1e-9 {
		return nil, fmt.Errorf("guarantees add up to %g; at most 1 is possible", sum)
	}
	if rate <= 0 {
		return nil, fmt.Errorf("guarantees and ceilings need a port whose rate is in bit/s")
	}
	n := len(shares)
	g := &guarantee{
		share: shares, rate: float64(rate) / 8e12, burst: float64(burst),
		tokens: make([]float64, n), room: make([]float64, n),
		rest: NewDRR(n, quantum).(*deficit), first: NewDRR(n, quantum).(*deficit),
	}
	for i := range shares {
		g.tokens[i], g.room[i] = g.burst, g.burst
	}
	return g, nil
}

// SetRate changes the rate that shares are of.
func (g *guarantee) SetRate(rate unit.LinkRate) { g.rate = float64(rate.Bits) / 8e12 }

func (g *guarantee) Next(now unit.Time, b *Buffer) (QueueID, unit.Time) {
	earned := float64(now-g.last) * g.rate
	g.last = now
	ready := b.Ready()
	var below, free, soft uint32 // below its guarantee; below its ceiling; above a soft ceiling
	again := unit.Never
	for i := range g.share {
		s := &g.share[i]
		g.tokens[i] = min(g.tokens[i]+float64(s.Guarantee*earned), g.burst)
		g.room[i] = min(g.room[i]+float64(s.Ceiling*earned), g.burst)
		bit := uint32(1) << i
		if ready&bit == 0 {
			continue
		}
		switch {
		case s.Guarantee > 0 && g.tokens[i] > 0:
			below |= bit
		case s.Ceiling == 1 || g.room[i] > 0:
			free |= bit
		case !s.Hard:
			soft |= bit
		default:
			wait := unit.Time((-g.room[i])/(g.rate*s.Ceiling)) + 1
			again = min(again, now+max(wait, 1))
		}
	}
	var q QueueID
	switch before := (below | free) & g.before; {
	case before != 0:
		q = QueueID(bits.TrailingZeros32(before))
		below &= 1 << q
	case below != 0:
		q = g.first.next(b, below)
	case free != 0:
		q = g.rest.next(b, free)
	case soft != 0:
		q = g.rest.next(b, soft)
	default:
		return NoQueue, again
	}
	size := float64(b.queues[q].head.Size)
	if below != 0 { // what is beyond the guarantee is not paid from it
		g.tokens[q] -= size
	}
	g.room[q] -= size
	if !g.share[q].Hard {
		g.room[q] = max(g.room[q], -g.burst)
	}
	return q, unit.Never
}

// NCF is how NCF's queues share a port (BS'19 §4.2), as shares of its rate.
type NCF struct {
	Control         float64 // ceiling of the control queue
	Hard            bool    // which holds also when the port would idle
	Mice, Elephants float64 // guarantees
}

// NewNCF returns the scheduler of a port with NCF's queues: with one queue first in, first
// out; with two the control queue, and one for all else; with more the control queue,
// the mice's, and those of elephants. The control queue goes first while it is below its
// ceiling, and above it only when nothing else waits, or with Hard not at all. What is
// beyond the guarantees is shared alike by mice and elephants.
func NewNCF(queues int, c NCF, rate unit.Rate, quantum int32, burst unit.Bytes) (Scheduler, error) {
	if queues == 1 {
		return NewFIFO(), nil
	}
	shares := make([]Share, queues)
	shares[0] = Share{Ceiling: c.Control, Hard: c.Hard}
	if queues == 2 {
		shares[1] = Share{Guarantee: c.Mice + c.Elephants, Ceiling: 1}
		return NewPriorityGuarantee(1, shares, rate, quantum, burst)
	}
	weights := make([]int32, queues)
	weights[0], weights[1] = 1, int32(queues-2)
	shares[1] = Share{Guarantee: c.Mice, Ceiling: 1}
	for i := 2; i < queues; i++ {
		shares[i] = Share{Guarantee: c.Elephants / float64(queues-2), Ceiling: 1}
		weights[i] = 1
	}
	g, err := newGuarantee(shares, rate, quantum, burst)
	if err != nil {
		return nil, err
	}
	g.before = 1
	g.rest = NewDWRR(weights, quantum).(*deficit)
	return g, nil
}

// Schemes returns the schedulers that an experiment can name.
func Schemes() []Scheme {
	quantum := scheme.Param{Name: "quantum", Kind: scheme.Size, Default: "1514 B", Min: "64 B", Max: "1MB",
		Doc: "bytes that a queue earns a turn; at least the largest frame", Source: "Shreedhar, Varghese 1995: Max"}
	burst := scheme.Param{Name: "burst", Kind: scheme.Size, Default: "3028 B", Min: "64 B",
		Doc: "how far a queue may be ahead of its share", Source: "ours: two frames"}
	return []Scheme{
		{scheme.Scheme{Name: "drr", Doc: "deficit round robin, equal shares", Source: "Shreedhar, Varghese, SIGCOMM'95",
			Params: []scheme.Param{quantum}},
			func(queues int, _ unit.LinkRate, v scheme.Values) (Scheduler, error) {
				return NewDRR(queues, int32(v.Bytes("quantum"))), nil
			}},
		{scheme.Scheme{Name: "dwrr", Doc: "deficit weighted round robin", Source: "Shreedhar, Varghese, SIGCOMM'95",
			Params: []scheme.Param{quantum,
				{Name: "weights", Kind: scheme.Map, Of: scheme.Int, Doc: "weight by queue, 1 where none is given", Source: "ours"},
				{Name: "priority", Kind: scheme.Int, Default: "0", Min: "0", Max: "16",
					Doc: "so many first queues go before the others, in strict priority", Source: "ours; HPCC simulator: 1"}}},
			func(queues int, _ unit.LinkRate, v scheme.Values) (Scheduler, error) {
				weights := make([]int32, queues)
				for i := range weights {
					weights[i] = 1
				}
				for _, e := range v.Map("weights") {
					i, err := queueOf(e.Key, queues)
					if err != nil {
						return nil, err
					}
					if w := e.Value.(int); w < 1 || w > 1000 {
						return nil, fmt.Errorf("queue %d: weight %d; 1 … 1000 is possible", i, w)
					}
					weights[i] = int32(e.Value.(int))
				}
				if v.Int("priority") > queues {
					return nil, fmt.Errorf("%d queues go before the others, the port has %d", v.Int("priority"), queues)
				}
				return NewPriorityDWRR(v.Int("priority"), weights, int32(v.Bytes("quantum"))), nil
			}},
		{scheme.Scheme{Name: "fifo", Doc: "first in, first out; one queue", Source: "ours"},
			func(queues int, _ unit.LinkRate, _ scheme.Values) (Scheduler, error) {
				if queues != 1 {
					return nil, fmt.Errorf("fifo serves one queue, the port has %d", queues)
				}
				return NewFIFO(), nil
			}},
		{scheme.Scheme{Name: "fq", Doc: "each queue fair among flows, by deficit round robin; the longest flow gives way; " +
			"queues in strict priority", Source: "RFC 8290 §4.2 without CoDel; Shreedhar, Varghese, SIGCOMM'95",
			Params: []scheme.Param{
				{Name: "flows", Kind: scheme.Int, Default: "1024", Min: "1", Max: "65536",
					Doc: "places for flows in a queue, by their hash", Source: "RFC 8290 §5.2.5"},
				{Name: "quantum", Kind: scheme.Size, Default: "1514 B", Min: "64 B", Max: "1MB",
					Doc: "bytes that a flow may send a turn; at least the largest frame", Source: "RFC 8290 §5.2.4"},
				{Name: "new_first", Kind: scheme.Bool, Default: "false",
					Doc:    "flows that had nothing waiting go before the others, up to a quantum",
					Source: "RFC 8290 §4.2; none: Shreedhar, Varghese 1995"},
				{Name: "drop", Kind: scheme.Text, Words: []string{"tail", "head"}, Default: "tail",
					Doc: "which packet of the longest flow goes when there is no room", Source: "ours; RFC 8290 §4.1 has head"}}},
			func(_ int, _ unit.LinkRate, v scheme.Values) (Scheduler, error) {
				return NewFQ(FQ{Flows: v.Int("flows"), Quantum: int32(v.Bytes("quantum")), NewFirst: v.Bool("new_first"),
					FromHead: v.Text("drop") == "head"})
			}},
		{scheme.Scheme{Name: "guarantee", Doc: "guaranteed share and ceiling per queue, the rest work conserving",
			Source: "Feldmann et al. BS'19 §4.2", Params: []scheme.Param{quantum,
				{Name: "guarantees", Kind: scheme.Map, Of: scheme.Share,
					Doc: "guaranteed share of the rate by queue, 0 where none is given", Source: "ours"},
				{Name: "ceilings", Kind: scheme.Map, Of: scheme.Share,
					Doc: "largest share of the rate by queue, 100% where none is given", Source: "ours"},
				{Name: "hard", Kind: scheme.Bool, Default: "false", Doc: "ceilings hold also when the port would idle",
					Source: "ours"},
				{Name: "priority", Kind: scheme.Int, Default: "0", Min: "0", Max: "16",
					Doc:    "so many first queues go before the others, in strict priority, while below their ceiling",
					Source: "ours; BS'19 §4.3: the control queue"},
				burst}},
			func(queues int, rate unit.LinkRate, v scheme.Values) (Scheduler, error) {
				shares := make([]Share, queues)
				for i := range shares {
					shares[i] = Share{Ceiling: 1, Hard: v.Bool("hard")}
				}
				for _, list := range []string{"guarantees", "ceilings"} {
					for _, e := range v.Map(list) {
						i, err := queueOf(e.Key, queues)
						if err != nil {
							return nil, err
						}
						if list == "ceilings" {
							shares[i].Ceiling = e.Value.(float64)
						} else {
							shares[i].Guarantee = e.Value.(float64)
						}
					}
				}
				return NewPriorityGuarantee(v.Int("priority"), shares, rate.Bits, int32(v.Bytes("quantum")), v.Bytes("burst"))
			}},
		{scheme.Scheme{Name: "ncf", Doc: "NCF's queues: control first up to a ceiling; mice and elephants with a guarantee " +
			"each; the rest work conserving", Source: "Feldmann et al. BS'19 §4.2, §4.3", Params: []scheme.Param{quantum,
			{Name: "control", Kind: scheme.Share, Default: "5%", Max: "100%", Doc: "ceiling of the control queue, the first",
				Source: "BS'19 §4.2"},
			{Name: "hard", Kind: scheme.Bool, Default: "false", Doc: "the ceiling holds also when the port would idle",
				Source: "ours; BS'19 §4.2 says maximum, and work conserving"},
			{Name: "mice", Kind: scheme.Share, Default: "10%", Min: "0%", Max: "100%",
				Doc: "guarantee of the mice's queue, the second", Source: "BS'19 §4.2"},
			{Name: "elephants", Kind: scheme.Share, Default: "10%", Min: "0%", Max: "100%",
				Doc: "guarantee of the elephants' queues, all others, together", Source: "BS'19 §4.2"},
			burst}},
			func(queues int, rate unit.LinkRate, v scheme.Values) (Scheduler, error) {
				return NewNCF(queues, NCF{Control: v.Float("control"), Hard: v.Bool("hard"), Mice: v.Float("mice"),
					Elephants: v.Float("elephants")},
					rate.Bits, int32(v.Bytes("quantum")), v.Bytes("burst"))
			}},
		{scheme.Scheme{Name: "strict", Doc: "strict priority, queue 0 first", Source: "ours"},
			func(int, unit.LinkRate, scheme.Values) (Scheduler, error) { return NewStrict(), nil }},
		{scheme.Scheme{Name: "wrr", Doc: "weighted round robin by packets: a queue sends up to its weight of packets a turn",
			Source: "Katevenis, Sidiropoulos, Courcoubetis, JSAC 1991; NDP (SIGCOMM 2017) §3.1: {0: 10}", Params: []scheme.Param{
				{Name: "weights", Kind: scheme.Map, Of: scheme.Int, Doc: "packets a turn by queue, 1 where none is given",
					Source: "ours"}}},
			func(queues int, _ unit.LinkRate, v scheme.Values) (Scheduler, error) {
				weights := make([]int32, queues)
				for i := range weights {
					weights[i] = 1
				}
				for _, e := range v.Map("weights") {
					i, err := queueOf(e.Key, queues)
					if err != nil {
						return nil, err
					}
					w := e.Value.(int)
					if w < 1 || w > 100_000 {
						return nil, fmt.Errorf("queue %d: weight %d; 1 … 100000 is possible", i, w)
					}
					weights[i] = int32(w)
				}
				return NewWRR(weights), nil
			}},
	}
}

// queueOf reads a queue's number.
func queueOf(s string, queues int) (int, error) {
	n := 0
	if _, err := fmt.Sscanf(s, "%d", &n); err != nil || n < 0 || n >= queues || fmt.Sprint(n) != s {
		return 0, fmt.Errorf("%q is not a queue; the port has 0 … %d", s, queues-1)
	}
	return n, nil
}
