package ncf

import (
	"fmt"
	"slices"

	"weir/core/dataplane"
)

// Footprint returns what NCF uses of a switch as implemented here, in the order of a packet's way; BS'19 builds none of
// it. Each row of the sketch is a separate array: a packet reads and writes one cell, clearing old counts on the way.
// Another array counts the port's drops. Memory on demand is booked at arrival and at departure, and it evicts queued
// packets: no pipeline can do either.
func (g *Program) Footprint() dataplane.Footprint {
	stages := slices.Concat(g.sketchStages(), g.topStages(), g.echoStages(), g.budgetStages(), g.supplyStages(),
		g.changeStages(), g.memoryStages())
	if c := g.changes; c != nil {
		stages = append(stages, dataplane.Stage{Name: "change of class: packet leaves", Gress: dataplane.InEgress,
			Registers: []dataplane.RegisterUse{
				{Name: "bytes through queues", Cells: len(c.ports), Bits: dataplane.WidthOf(c.ports[0]), Reads: 1, Writes: 1}}})
	}
	return dataplane.Footprint{Stages: stages}
}

// sketchStages returns the stages of the sketch, row by row, and of the decision on its counts.
func (g *Program) sketchStages() (stages []dataplane.Stage) {
	var sketches []*Sketch
	for i := range g.ports {
		if x := g.ports[i].sketch; !slices.Contains(sketches, x) {
			sketches = append(sketches, x)
		}
	}
	s, windows := sketches[0], g.config.Sketch.Windows
	var cell quad
	for _, what := range []string{"", ": dropped"} {
		for r := range s.rows {
			stages = append(stages, dataplane.Stage{Name: fmt.Sprintf("sketch, row %d%s", r+1, what),
				Gress: dataplane.InIngress,
				Registers: []dataplane.RegisterUse{{Name: fmt.Sprintf("row %d%s", r+1, what),
					Cells: len(sketches) * len(s.cells) / s.quads / len(s.rows), Bits: s.quads * dataplane.WidthOf(cell), Reads: 1,
					Writes: 1}},
				Operations: []dataplane.Operation{{Kind: dataplane.Looping, What: "clears old windows of the cell",
					Times: windows}}})
		}
	}
	elephant := dataplane.Stage{Name: "elephant or mouse", Gress: dataplane.InIngress,
		Registers: []dataplane.RegisterUse{{Name: "totals of windows", Cells: len(sketches) * windows,
			Bits: dataplane.WidthOf(s.totals[0]), Reads: windows, Writes: 1},
			{Name: "dropped by window", Cells: len(sketches) * windows, Bits: dataplane.WidthOf(s.losses[0]), Reads: windows,
				Writes: 1},
			{Name: "flows by window", Cells: len(sketches) * windows, Bits: dataplane.WidthOf(s.latest[0]), Reads: min(windows,
				2),
				Writes: min(windows, 2)}},
		Operations: []dataplane.Operation{{Kind: dataplane.FloatingPoint, What: "share of the total", Times: 2}}}
	if g.config.Detector.Form == MeanOfShares {
		elephant.Operations = append(elephant.Operations, dataplane.Operation{Kind: dataplane.Dividing,
			What: "shares of windows", Times: 2 * windows})
	}
	return append(stages, elephant)
}

// topStages returns the stages of the heaviest flows, of the counts of other traffic, and of NACKs to elephants.
func (g *Program) topStages() (stages []dataplane.Stage) {
	windows, heaviest := g.config.Sketch.Windows, cap(g.ports[0].top.keys)
	entries, tally := 0, 0
	for i := range g.ports {
		entries += cap(g.ports[i].top.keys)
		tally += len(g.ports[i].mice.slots)
	}
	var o Origin
	stages = append(stages,
		dataplane.Stage{Name: "heaviest flows", Gress: dataplane.InIngress,
			Registers: []dataplane.RegisterUse{{Name: "heaviest: keys", Cells: entries, Bits: dataplane.WidthOf(o.Key),
				Reads: heaviest, Writes: 1},
				{Name: "heaviest: headers", Cells: entries, Bits: dataplane.WidthOf(o), Reads: 1, Writes: 1},
				{Name: "heaviest: counts", Cells: entries * windows, Bits: dataplane.WidthOf(g.ports[0].top.counts[0]),
					Reads:  windows,
					Writes: windows}},
			Operations: []dataplane.Operation{{Kind: dataplane.Looping, What: "over the heaviest flows", Times: heaviest}}},
		dataplane.Stage{Name: "traffic by class", Gress: dataplane.InIngress,
			Registers: []dataplane.RegisterUse{{Name: "mice by window", Cells: tally,
				Bits: dataplane.WidthOf(g.ports[0].mice.slots[0]), Reads: 1, Writes: 1},
				{Name: "mice of all windows", Cells: len(g.ports), Bits: dataplane.WidthOf(g.ports[0].mice.total), Reads: 1,
					Writes: 1},
				{Name: "present, by class", Cells: len(g.ports), Bits: dataplane.WidthOf(g.ports[0].input), Reads: 1, Writes: 1},
				{Name: "overload", Cells: len(g.ports), Bits: dataplane.WidthOf(g.ports[0].overload), Reads: 1, Writes: 1}}})
	if n := len(g.ports[0].repeats); n > 0 {
		h := &stages[len(stages)-1].Registers
		*h = append(*h, dataplane.RegisterUse{Name: "mice dropped", Cells: len(g.ports) * n,
			Bits: dataplane.WidthOf(g.ports[0].repeats[0]), Reads: 1, Writes: 1})
	}
	if x := g.ports[0].top.headers; x != nil {
		h := &stages[len(stages)-2].Registers
		*h = append(*h, dataplane.RegisterUse{Name: "heaviest: frames", Cells: entries, Bits: dataplane.WidthOf(x[0]),
			Reads:  1,
			Writes: 1})
	}
	if g.config.Nack != NackNone && (g.config.Top > 0 || g.config.EarlyShare > 0) {
		stages = append(stages, dataplane.Stage{Name: "NACK to an elephant", Gress: dataplane.InIngress,
			Registers: []dataplane.RegisterUse{{Name: "next of the heaviest", Cells: len(g.ports),
				Bits: dataplane.IndexBits(heaviest), Reads: 1, Writes: 1}},
			Operations: []dataplane.Operation{
				{Kind: dataplane.MakingPacket, What: "NACK of the headers in the table", Times: 1},
				{Kind: dataplane.Looping, What: "over the heaviest flows", Times: heaviest}}})
	}
	return stages
}

// echoStages returns the stage of the flows' last acknowledgements, which are copied to senders.
func (g *Program) echoStages() []dataplane.Stage {
	t := g.echoes
	if t == nil {
		return nil
	}
	x := dataplane.Stage{Name: "last acknowledgements", Gress: dataplane.InIngress,
		Registers: []dataplane.RegisterUse{{Name: "last ACKs", Cells: len(t.flows), Bits: dataplane.WidthOf(t.flows[0]),
			Reads: 2 * echoWays, Writes: 2}}, // of the segment's flow and of the opposite one
		Operations: []dataplane.Operation{{Kind: dataplane.MakingPacket, What: "copy of an acknowledgement", Times: 1}}}
	if t.headers != nil {
		x.Registers = append(x.Registers, dataplane.RegisterUse{Name: "headers of last ACKs", Cells: len(t.headers),
			Bits: dataplane.WidthOf(t.headers[0]), Reads: 1, Writes: 1})
	}
	return []dataplane.Stage{x}
}

// listMemories returns the memories of the ports, each once.
func (g *Program) listMemories() (memories []*Memory) {
	for i := range g.ports {
		for _, x := range []*Memory{g.ports[i].memory, g.ports[i].part} {
			if x != nil && !slices.Contains(memories, x) {
				memories = append(memories, x)
			}
		}
	}
	return memories
}

// budgetStages returns the stages of the budget of throttling, and of elephants that do not respond.
func (g *Program) budgetStages() (stages []dataplane.Stage) {
	memories := g.listMemories()
	if len(memories) == 0 {
		return nil
	}
	m := memories[0]
	b, x := &m.budget, dataplane.Stage{Name: "budget of throttling", Gress: dataplane.InIngress,
		Operations: []dataplane.Operation{{Kind: dataplane.Dividing, What: "time by windows", Times: 1}}}
	x.Registers = []dataplane.RegisterUse{{Name: "congestion", Cells: len(memories),
		Bits: dataplane.WidthOf(m.congested) + dataplane.WidthOf(m.spiking) + dataplane.WidthOf(m.last), Reads: 1, Writes: 1}}
	if b.rolling {
		x.Registers = append(x.Registers, dataplane.RegisterUse{Name: "time by window",
			Cells: len(memories) * len(b.windows.slots), Bits: dataplane.WidthOf(b.windows.slots[0]), Reads: 1, Writes: 1},
			dataplane.RegisterUse{Name: "time of all windows", Cells: len(memories), Bits: dataplane.WidthOf(b.windows.total),
				Reads: 1, Writes: 1})
	} else {
		x.Registers = append(x.Registers, dataplane.RegisterUse{Name: "time", Cells: len(memories), Reads: 1, Writes: 1,
			Bits: dataplane.WidthOf(b.spent) + dataplane.WidthOf(b.exhausted) + dataplane.WidthOf(b.pressed) +
				dataplane.WidthOf(b.credited)})
	}
	stages = append(stages, x)
	if !g.config.TrimsAlike && g.config.Nack != NackNone {
		entries, heaviest := 0, cap(g.ports[0].top.keys)
		for i := range g.ports {
			entries += cap(g.ports[i].top.keys)
		}
		stages = append(stages, dataplane.Stage{Name: "elephants that ignore NACKs", Gress: dataplane.InIngress,
			Registers: []dataplane.RegisterUse{{Name: "heaviest: headers", Cells: entries,
				Bits: dataplane.WidthOf(Origin{}), Reads: 1, Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.Looping, What: "over the heaviest flows", Times: heaviest},
				{Kind: dataplane.FloatingPoint, What: "part that is trimmed", Times: 1}}})
	}
	return stages
}

// supplyStages returns the stage of the offer in NACKs.
func (g *Program) supplyStages() []dataplane.Stage {
	if g.config.Nack == NackNone {
		return nil
	}
	return []dataplane.Stage{{Name: "supply", Gress: dataplane.InIngress,
		Registers: []dataplane.RegisterUse{{Name: "supply, by class", Cells: len(g.ports),
			Bits: dataplane.WidthOf(g.ports[0].offer), Reads: 1, Writes: 1}},
		Operations: []dataplane.Operation{{Kind: dataplane.ReadingEgress, What: "bytes that wait", Times: 1},
			{Kind: dataplane.Dividing, What: "by the flows, and by the elephants", Times: 2},
			{Kind: dataplane.Transcendental, What: "number of flows", Times: 1}}}}
}

// changeStages returns the stage that delays a flow's change of class (Config.ChangesByFlowlet).
func (g *Program) changeStages() []dataplane.Stage {
	c := g.changes
	if c == nil {
		return nil
	}
	var s slot
	return []dataplane.Stage{{Name: "change of class", Gress: dataplane.InIngress, Registers: []dataplane.RegisterUse{
		{Name: "flows by class", Cells: len(c.slots), Bits: dataplane.WidthOf(s), Reads: 1, Writes: 1},
		{Name: "bytes through queues", Cells: len(c.ports), Bits: dataplane.WidthOf(c.ports[0]), Reads: 1, Writes: 1}}}}
}

// memoryStages returns the stages of memory on demand: booking, eviction and release.
func (g *Program) memoryStages() []dataplane.Stage {
	memories := g.listMemories()
	if len(memories) == 0 {
		return nil
	}
	used := dataplane.RegisterUse{Name: "memory in use", Cells: len(memories) * int(ClassCount),
		Bits: dataplane.WidthOf(memories[0].used[0]), Reads: int(ClassCount), Writes: 1}
	evict := dataplane.Stage{Name: "memory: taken back", Gress: dataplane.InManager,
		Operations: []dataplane.Operation{{Kind: dataplane.TouchingTail, What: "evicts what waits", Times: maxEvicted},
			{Kind: dataplane.TouchingTail, What: "has the sketch count what is dropped", Times: 1}}}
	if g.config.Nack != NackNone {
		evict.Operations = append(evict.Operations, dataplane.Operation{Kind: dataplane.TouchingTail,
			What: "answers what finds no room by a NACK", Times: 1})
		if g.pending != nil {
			evict.Registers = append(evict.Registers, dataplane.RegisterUse{Name: "NACKs that wait", Cells: len(g.pending),
				Bits: dataplane.WidthOf(g.pending[0]), Reads: 1, Writes: 1})
			if len(g.pendingHeaders) > 0 {
				evict.Registers = append(evict.Registers, dataplane.RegisterUse{Name: "headers of NACKs that wait",
					Cells: len(g.pendingHeaders), Bits: dataplane.WidthOf(g.pendingHeaders[0]), Reads: 1, Writes: 1})
			}
			evict.Operations = append(evict.Operations, dataplane.Operation{Kind: dataplane.TouchingTail,
				What: "keeps a NACK until its time has come", Times: 1})
		}
	}
	leaves := dataplane.Stage{Name: "memory: packet leaves", Gress: dataplane.InEgress,
		Registers: []dataplane.RegisterUse{used}}
	if a := g.allowance; a != nil {
		owed := dataplane.RegisterUse{Name: "NACKs of flows", Cells: len(a.owed), Bits: dataplane.WidthOf(a.owed[0]),
			Reads:  1,
			Writes: 1}
		evict.Registers = append(evict.Registers, owed)
		owed.Reads, owed.Writes = 2, 2 // the packet's flow, and one in turn
		leaves.Registers = append(leaves.Registers, owed)
	}
	return []dataplane.Stage{
		{Name: "memory: room for the packet", Gress: dataplane.InIngress, Registers: []dataplane.RegisterUse{used}},
		evict, leaves}
}
