package ncf

import (
	"fmt"
	"slices"

	"weir/core/dataplane"
)

// Footprint is NCF's as it is here, in a packet's order; BS'19 builds none of it. A row of the
// sketch is an array of its own, whose cell a packet reads and writes once; what is old in it
// is cleared on the way. Memory on demand is accounted for where packets come in and where
// they go out, and takes back what waits: a pipeline can do neither.
func (g *Program) Footprint() dataplane.Footprint {
	const in, out = dataplane.InIngress, dataplane.InEgress
	var sketches []*Sketch
	var memories []*Memory
	entries, tally := 0, 0
	for i := range g.ports {
		x := &g.ports[i]
		if !slices.Contains(sketches, x.sketch) {
			sketches = append(sketches, x.sketch)
		}
		if x.memory != nil && !slices.Contains(memories, x.memory) {
			memories = append(memories, x.memory)
		}
		entries += cap(x.top.keys)
		tally += len(x.mice.slots)
	}
	s, windows, heaviest := sketches[0], g.config.Sketch.Windows, cap(g.ports[0].top.keys)
	var f dataplane.Footprint
	var cell quad
	for r := range s.rows {
		f.Stages = append(f.Stages, dataplane.Stage{Name: fmt.Sprintf("sketch, row %d", r+1), Gress: in,
			Registers: []dataplane.RegisterUse{{Name: fmt.Sprintf("row %d", r+1),
				Cells: len(sketches) * len(s.cells) / s.quads / len(s.rows), Bits: s.quads * dataplane.Bits(cell), Reads: 1,
				Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.Looping, What: "clears old windows of the cell",
				Times: windows}}})
	}
	elephant := dataplane.Stage{Name: "elephant or mouse", Gress: in,
		Registers: []dataplane.RegisterUse{{Name: "totals of windows", Cells: len(sketches) * windows,
			Bits: dataplane.Bits(s.totals[0]), Reads: windows, Writes: 1}},
		Operations: []dataplane.Operation{{Kind: dataplane.FloatingPoint, What: "share of the total", Times: 1}}}
	if g.config.Detector.Form == MeanOfShares {
		elephant.Operations = append(elephant.Operations, dataplane.Operation{Kind: dataplane.Dividing,
			What: "shares of windows", Times: windows})
	}
	var o Origin
	f.Stages = append(f.Stages, elephant,
		dataplane.Stage{Name: "heaviest flows", Gress: in,
			Registers: []dataplane.RegisterUse{{Name: "heaviest: keys", Cells: entries, Bits: dataplane.Bits(o.Key),
				Reads: heaviest, Writes: 1},
				{Name: "heaviest: headers", Cells: entries, Bits: dataplane.Bits(o), Reads: 1, Writes: 1},
				{Name: "heaviest: counts", Cells: entries * windows, Bits: dataplane.Bits(g.ports[0].top.counts[0]), Reads: windows,
					Writes: windows}},
			Operations: []dataplane.Operation{{Kind: dataplane.Looping, What: "over the heaviest flows", Times: heaviest}}},
		dataplane.Stage{Name: "traffic of mice and control", Gress: in,
			Registers: []dataplane.RegisterUse{{Name: "mice, control, packets by window", Cells: 3 * tally,
				Bits: dataplane.Bits(g.ports[0].mice.slots[0]), Reads: 1, Writes: 1}}})
	if g.config.Nack != NackNone && (g.config.Top > 0 || g.config.Early > 0) {
		x := dataplane.Stage{Name: "NACK to an elephant", Gress: in, Operations: []dataplane.Operation{
			{Kind: dataplane.MakingPacket, What: "NACK of the headers in the table", Times: 1}, {Kind: dataplane.Dividing,
				What: "supply, by the elephants", Times: 1},
			{Kind: dataplane.Looping, What: "over the heaviest flows", Times: heaviest}}}
		f.Stages = append(f.Stages, x)
	}
	if c := g.changes; c != nil {
		var s slot
		f.Stages = append(f.Stages, dataplane.Stage{Name: "change of class", Gress: in, Registers: []dataplane.RegisterUse{
			{Name: "flows by class", Cells: len(c.slots), Bits: dataplane.Bits(s), Reads: 1, Writes: 1},
			{Name: "bytes through queues", Cells: len(c.ports), Bits: dataplane.Bits(c.ports[0]), Reads: 1, Writes: 1}}})
	}
	if len(memories) > 0 {
		used := dataplane.RegisterUse{Name: "memory in use", Cells: len(memories) * int(Classes),
			Bits: dataplane.Bits(memories[0].used[0]), Reads: int(Classes), Writes: 1}
		f.Stages = append(f.Stages, dataplane.Stage{Name: "memory: room for the packet", Gress: in,
			Registers: []dataplane.RegisterUse{used}})
		evict := dataplane.Stage{Name: "memory: taken back", Gress: dataplane.InManager,
			Operations: []dataplane.Operation{{Kind: dataplane.TouchingTail, What: "evicts what waits", Times: mostEvicted}}}
		if g.config.Nack != NackNone {
			evict.Operations = append(evict.Operations, dataplane.Operation{Kind: dataplane.TouchingTail,
				What: "answers what finds no room by a NACK", Times: 1})
			if g.pending != nil {
				evict.Operations = append(evict.Operations, dataplane.Operation{Kind: dataplane.TouchingTail,
					What: "keeps a NACK until its time has come", Times: 1})
			}
		}
		f.Stages = append(f.Stages, evict, dataplane.Stage{Name: "memory: packet leaves", Gress: out,
			Registers: []dataplane.RegisterUse{used}})
	}
	if c := g.changes; c != nil {
		f.Stages = append(f.Stages, dataplane.Stage{Name: "change of class: packet leaves", Gress: out,
			Registers: []dataplane.RegisterUse{
				{Name: "bytes through queues", Cells: len(c.ports), Bits: dataplane.Bits(c.ports[0]), Reads: 1, Writes: 1}}})
	}
	return f
}
