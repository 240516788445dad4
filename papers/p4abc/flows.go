package p4abc

import (
	"math"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// flowShares makes an aggregate's flows share its part fairly. The paper has fairness among aggregates only; this is
// Weir's addition. A flow's activity is what its aggregate's would be if no flow were faster than this one:
//
//	A_f = log2(Σ_g min(R_g, R_f) / R_r)
//
// Drops above an activity, a rate S of this aggregate, thus let through each flow's max-min fair share of S: flow f is
// above it if R_f is above the rate α at which Σ_g min(R_g, α) = S. The fastest flow has the aggregate's own activity,
// and no flow has a higher one. A single flow, equal flows and a flow that keeps changing its ports are unaffected.
// Flows slower than the fastest one give the aggregate no more than S, even if the fastest is lost entirely: a blast
// brings its sender no gain.
//
// Flows are places of a table, by hash; flows with the same place share its part. Only the edge has this state; marks,
// and their use in the core, are unchanged.
type flowShares struct {
	bits  []float64 // by place: Σ bits · exp((arrival − since)/M): only ratios matter, so no entry decays
	all   float64   // sum of bits
	since unit.Time
}

// maxRebaseMemories is the maximum time since the last rebase, in memories: exp stays within float64.
const maxRebaseMemories = 256

// newFlowShares returns an empty table; nil if flows are not separated (places ≤ 1).
func newFlowShares(places int) *flowShares {
	if places <= 1 {
		return nil
	}
	return &flowShares{bits: make([]float64, places)}
}

// countPacket adds a packet's bits to its flow's place and returns the flow's activity less its aggregate's, which is 0
// or below. memory is M_AM. It reads all places.
func (f *flowShares) countPacket(now unit.Time, p *packet.Packet, bits float64, memory unit.Time) float64 {
	if now-f.since > maxRebaseMemories*memory {
		f.rebase(now, memory)
	}
	x := &f.bits[flowPlace(p.Hash, len(f.bits))]
	bits = float64(bits * decay(f.since-now, memory))
	*x += bits
	f.all += bits
	own, capped := *x, 0.0
	for _, y := range f.bits {
		capped += min(y, own)
	}
	return math.Log2(min(capped/f.all, 1))
}

// adoptFrom continues the counts of an old program, decayed with its memory. Without an old table of the same size, f
// stays as it is. Both may be nil.
func (f *flowShares) adoptFrom(now unit.Time, old *flowShares, memory unit.Time) {
	if f == nil || old == nil || len(f.bits) != len(old.bits) {
		return
	}
	copy(f.bits, old.bits)
	f.since = old.since
	f.rebase(now, memory)
}

// reset clears the table, if f is not nil.
func (f *flowShares) reset() {
	if f != nil {
		clear(f.bits)
		f.all = 0
	}
}

// rebase decays all entries by the time since f.since, with a memory, and sets f.since to now and f.all to their new
// sum.
func (f *flowShares) rebase(now, memory unit.Time) {
	d := decay(now-f.since, memory)
	f.all, f.since = 0, now
	for i := range f.bits {
		f.bits[i] = float64(f.bits[i] * d)
		f.all += f.bits[i]
	}
}

// flowPlace returns the place of a flow in a table of n. Every bit of the hash affects every bit of the place (the
// finaliser of MurmurHash3), since other bits of the same hash select ports and queues.
func flowPlace(hash uint32, n int) int {
	h := (hash ^ hash>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	h ^= h >> 16
	return int(uint64(h) * uint64(n) >> 32)
}

// flowStage returns the pipeline stage of the flow tables of a number of aggregates.
func (g *aggregates) flowStage(aggregates int) dataplane.Stage {
	var f flowShares
	var x float64
	cells := dataplane.RegisterUse{Name: "flows of aggregates", Cells: aggregates * g.flowPlaces,
		Bits:  dataplane.WidthOf(x),
		Reads: g.flowPlaces, Writes: g.flowPlaces}
	return dataplane.Stage{Name: "flow's part of its aggregate", Gress: dataplane.InIngress,
		Registers: []dataplane.RegisterUse{cells,
			{Name: "sums of flows", Cells: aggregates, Bits: dataplane.WidthOf(f.all), Reads: 1, Writes: 1},
			{Name: "origins of flows", Cells: aggregates, Bits: dataplane.WidthOf(f.since), Reads: 1, Writes: 1}},
		Operations: []dataplane.Operation{
			{Kind: dataplane.Looping, What: "min(R_g, R_f) of all flows", Times: g.flowPlaces},
			{Kind: dataplane.FloatingPoint, What: "sum of min(R_g, R_f)", Times: g.flowPlaces},
			{Kind: dataplane.Transcendental, What: "growth exp(age/M), log2 of the part", Times: 2},
			{Kind: dataplane.Dividing, What: "the part", Times: 1}}}
}
