package p4abc

import (
	"math"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// flowShares lets an aggregate's flows share its part fairly; the paper has fairness among aggregates only, this is
// ours. A flow's activity is that which its aggregate would have if none of its flows were faster than this one:
//
//	A_f = log2(Σ_g min(R_g, R_f) / R_r)
//
// So whoever drops above an activity, which is a rate S of this aggregate, lets through what of S each flow gets
// max-min fairly: flow f is above it if R_f is above the rate α at which Σ_g min(R_g, α) = S. The fastest flow has
// the aggregate's own activity, and none has a higher one: of a single flow, of equal flows or of one that changes its
// ports all the time, nothing changes. That flows go slower than the fastest one gives the aggregate no more than S,
// also if the fastest one is lost entirely: a blast buys its sender nothing.
//
// Flows are places of a table, by hash; flows that share a place share its part. Only the edge has this state; marks,
// and what the core does with them, stay as they are.
type flowShares struct {
	bits  []float64 // by place: Σ bits · exp((arrival − since)/M): only their ratios matter, so nothing has to decay
	all   float64   // their sum
	since unit.Time
}

// furthest is how many memories a table may be ahead of since, for exp to be within float64.
const furthest = 256

// newFlowShares makes an empty table; nil if all flows are one.
func newFlowShares(places int) *flowShares {
	if places <= 1 {
		return nil
	}
	return &flowShares{bits: make([]float64, places)}
}

// count counts a packet, and returns the activity of its flow less that of the aggregate, which is 0 or below.
func (f *flowShares) count(now unit.Time, p *packet.Packet, bits float64, memory unit.Time) float64 {
	if now-f.since > furthest*memory {
		f.rebase(now, memory)
	}
	x := &f.bits[place(p.Hash, len(f.bits))]
	bits = float64(bits * decay(f.since-now, memory))
	*x += bits
	f.all += bits
	own, capped := *x, 0.0
	for _, y := range f.bits {
		capped += min(y, own)
	}
	return math.Log2(min(capped/f.all, 1))
}

// adopt continues what an old program has counted with its memory; in a table of another size flows begin anew,
// alike.
func (f *flowShares) adopt(now unit.Time, old *flowShares, memory unit.Time) {
	if f == nil || old == nil || len(f.bits) != len(old.bits) {
		return
	}
	copy(f.bits, old.bits)
	f.since = old.since
	f.rebase(now, memory)
}

// forget resets the table.
func (f *flowShares) forget() {
	if f != nil {
		clear(f.bits)
		f.all = 0
	}
}

// rebase lets since be now.
func (f *flowShares) rebase(now, memory unit.Time) {
	d := decay(now-f.since, memory)
	f.all, f.since = 0, now
	for i := range f.bits {
		f.bits[i] = float64(f.bits[i] * d)
		f.all += f.bits[i]
	}
}

// place is where a flow is in a table of n: every bit of the hash reaches every bit of it (the finaliser of
// MurmurHash3), for ports and queues are chosen by other bits of the same hash.
func place(hash uint32, n int) int {
	h := (hash ^ hash>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	h ^= h >> 16
	return int(uint64(h) * uint64(n) >> 32)
}

// flowStage is what the flows of so many aggregates take.
func (g *aggregates) flowStage(aggregates int) dataplane.Stage {
	var f flowShares
	var x float64
	cells := dataplane.RegisterUse{Name: "flows of aggregates", Cells: aggregates * g.places, Bits: dataplane.Bits(x),
		Reads: g.places, Writes: g.places}
	return dataplane.Stage{Name: "flow's part of its aggregate", Gress: dataplane.InIngress,
		Registers: []dataplane.RegisterUse{cells,
			{Name: "sums of flows", Cells: aggregates, Bits: dataplane.Bits(f.all), Reads: 1, Writes: 1},
			{Name: "origins of flows", Cells: aggregates, Bits: dataplane.Bits(f.since), Reads: 1, Writes: 1}},
		Operations: []dataplane.Operation{
			{Kind: dataplane.Looping, What: "min(R_g, R_f) of all flows", Times: g.places},
			{Kind: dataplane.FloatingPoint, What: "sum of min(R_g, R_f)", Times: g.places},
			{Kind: dataplane.Transcendental, What: "growth exp(age/M), log2 of the part", Times: 2},
			{Kind: dataplane.Dividing, What: "the part", Times: 1}}}
}
