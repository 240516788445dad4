package p4abc

import (
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
)

// Footprint returns what ABC uses of this switch, in the order of P4-ABC §5.2's two tables. An aggregate's meter takes
// three registers (§3.2: S, t_last, t_start), as does A_avg at a port (§3.3: S, N, t_last). A source without an
// aggregate has its own meter from its first packet on.
func (a *Program) Footprint() dataplane.Footprint {
	const in = dataplane.InIngress
	var f dataplane.Footprint
	if slices.Contains(a.sides, Outside) {
		sources, made := 0, 0
		for i, own := range a.ownAggregate {
			if own >= 0 {
				made++
			}
			if a.book.V4(packet.Addr(i)).IsValid() || a.book.V6(packet.Addr(i)).IsValid() {
				sources++
			}
		}
		meters := len(a.meters)/directions - made
		x := dataplane.Stage{Name: "aggregate of the source", Gress: in}
		x.Tables = a.descriptorTables()
		if a.commonAggregate < 0 {
			meters += sources
			x.Tables = append(x.Tables, dataplane.TableUse{Name: "sources", Entries: sources, Key: 128,
				Action: dataplane.WidthOf(a.commonAggregate)})
			x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.WritingTables,
				What: "a source's first packet gives it a meter", Times: 1})
		}
		if a.config.UserRule == ToNamed {
			meters *= directions // for sent and received traffic
		}
		f.Stages = append(f.Stages, x)
		f.Stages = append(f.Stages, a.meterStages(meters)...)
		if a.flowPlaces > 1 {
			f.Stages = append(f.Stages, a.flowStage(meters))
		}
	}
	if a.growsThresholds() {
		f.Stages = append(f.Stages, a.roomStages()...)
	}
	if a.integers != nil {
		f.Stages = append(f.Stages, a.integerStages()...)
	} else {
		f.Stages = append(f.Stages, a.aqmStages()...)
	}
	if a.growsThresholds() {
		f.Stages = append(f.Stages, dataplane.Stage{Name: "end of departing frames", Gress: dataplane.InEgress,
			Registers: []dataplane.RegisterUse{roomUse("end of departing frames", len(a.aqms), 0, 1)},
			Operations: shiftAdds("transmission time of a size", a.maxOverPorts(func(q *activityAQM) int {
				return len(q.room.byteTime)
			}))})
	}
	if a.config.Register {
		queue := a.queueUse()
		queue.Reads = 0
		f.Stages = append(f.Stages, dataplane.Stage{Name: "queue length, §5.3", Gress: dataplane.InEgress,
			Registers: []dataplane.RegisterUse{queue}})
	}
	return f
}

// growsThresholds reports whether any port has thresholds that can grow. The pipeline is the same for all ports.
func (a *Program) growsThresholds() bool {
	return slices.ContainsFunc(a.aqms, func(q activityAQM) bool { return q.room.max > 0 })
}

// maxOverPorts returns the largest count over the ports; the pipeline has stages for it.
func (a *Program) maxOverPorts(count func(*activityAQM) int) (n int) {
	for i := range a.aqms {
		n = max(n, count(&a.aqms[i]))
	}
	return n
}

// roomUse returns the use of one register of room, with a cell for each port.
func roomUse(name string, ports, reads, writes int) dataplane.RegisterUse {
	return dataplane.RegisterUse{Name: name, Cells: ports, Bits: dataplane.WidthOf(room{}.level), Reads: reads,
		Writes: writes}
}

// roomStages returns the stages that grow thresholds at an empty port. A drop writes the end of the time that counts.
func (a *Program) roomStages() []dataplane.Stage {
	digits, ports := 0, len(a.aqms)
	for i := range roomPortions {
		digits = max(digits, len(roomPortions[i].parts))
	}
	return []dataplane.Stage{{Name: "room of the port", Gress: dataplane.InIngress,
		Registers: []dataplane.RegisterUse{roomUse("last arrival", ports, 1, 1),
			roomUse("end of departing frames", ports, 1, 0), roomUse("end of idle time that counts", ports, 1, 1),
			roomUse("room", ports, 1, 1)},
		Tables: []dataplane.TableUse{{Name: "steps of the room", Entries: len(roomPortions), Key: roomSteps,
			Action: digits * dataplane.WidthOf(digit{})}},
		Operations: shiftAdds("the queue less its room", digits)}}
}

// queueUse returns the use of the prototype's queue register.
func (a *Program) queueUse() dataplane.RegisterUse {
	return dataplane.RegisterUse{Name: "queue length", Cells: len(a.aqms), Bits: dataplane.WidthOf(a.aqms[0].register),
		Reads: 1, Writes: 1}
}

// meterStages returns the stages of a number of meters, and of the fair meter if it is in use.
func (a *Program) meterStages(meters int) (all []dataplane.Stage) {
	const in = dataplane.InIngress
	if a.integers != nil {
		all = a.integerMeterStages(meters)
	} else {
		var m Meter
		all = append(all, dataplane.Stage{Name: "meter: time", Gress: in,
			Registers: []dataplane.RegisterUse{{Name: "t_last of meters",
				Cells: meters, Bits: dataplane.WidthOf(m.last), Reads: 1, Writes: 1}}},
			dataplane.Stage{Name: "meter: traffic, equations (28) to (30)", Gress: in,
				Registers: []dataplane.RegisterUse{{Name: "S of meters", Cells: meters, Bits: dataplane.WidthOf(m.bits), Reads: 1,
					Writes: 1}},
				Operations: []dataplane.Operation{{Kind: dataplane.Transcendental, What: "decay exp(-age/M)", Times: 1},
					{Kind: dataplane.FloatingPoint, What: "S", Times: 1}}},
			dataplane.Stage{Name: "activity, equation (1)", Gress: in,
				Registers: []dataplane.RegisterUse{{Name: "t_start of meters", Cells: meters, Bits: dataplane.WidthOf(m.start),
					Reads: 1}},
				Operations: []dataplane.Operation{{Kind: dataplane.Transcendental, What: "T, decay, log2(R_m/R_r)", Times: 3},
					{Kind: dataplane.Dividing, What: "S/T, R_m/R_r", Times: 2}}})
	}
	if a.spread != nil {
		x := dataplane.Stage{Name: "fair meter, §2", Gress: in}
		if a.integers != nil {
			x.Tables = logTables("rate drawn")
			x.Operations = shiftAdds("the share of a random number", len(a.spread.part.parts))
		} else {
			x.Operations = []dataplane.Operation{{Kind: dataplane.Transcendental, What: "log2 of a random number", Times: 1},
				{Kind: dataplane.FloatingPoint, What: "the share of it", Times: 1}}
		}
		all = append(all, x)
	}
	return all
}

// aqmStages returns the stages of the activity AQM.
func (a *Program) aqmStages() (all []dataplane.Stage) {
	const in = dataplane.InIngress
	var v Average
	ports := len(a.aqms)
	average := func(reads, writes int, t bool) []dataplane.RegisterUse {
		r := []dataplane.RegisterUse{{Name: "S of A_avg", Cells: ports, Bits: dataplane.WidthOf(v.sum), Reads: reads,
			Writes: writes},
			{Name: "N of A_avg", Cells: ports, Bits: dataplane.WidthOf(v.count), Reads: reads, Writes: writes}}
		if t {
			r = append(r, dataplane.RegisterUse{Name: "t_last of A_avg", Cells: ports, Bits: dataplane.WidthOf(v.last), Reads: 1,
				Writes: 1})
		}
		return r
	}
	value := []dataplane.Operation{{Kind: dataplane.Dividing, What: "S/N", Times: 1}}
	sample := []dataplane.Operation{{Kind: dataplane.Transcendental, What: "decay exp(-age/M)", Times: 1},
		{Kind: dataplane.FloatingPoint, What: "S, N", Times: 2}}
	if !a.config.PerPacket {
		value = append(value, dataplane.Operation{Kind: dataplane.Transcendental, What: "log2(S/N)", Times: 1})
		sample = []dataplane.Operation{{Kind: dataplane.Transcendental, What: "decay exp(-age/M), 2^A", Times: 2},
			{Kind: dataplane.FloatingPoint, What: "S, N, size 2^A", Times: 3}}
	}
	all = append(all, dataplane.Stage{Name: "A_avg of the port", Gress: in, Registers: average(1, 0, false),
		Operations: value})
	x := dataplane.Stage{Name: "threshold, equation (2)", Gress: in,
		Operations: []dataplane.Operation{{Kind: dataplane.FloatingPoint, What: "gamma (A - A_avg)", Times: 1}}}
	if a.maxOverPorts(func(q *activityAQM) int { return int(q.frame) }) > 0 {
		x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.FloatingPoint, What: "T_drop in bytes",
			Times: 1})
	}
	a.compareQueue(&x)
	return append(all, x, dataplane.Stage{Name: "A_avg: accepted packets", Gress: in,
		Registers: average(1, 1, true), Operations: sample})
}

// compareQueue adds to a stage the operations that read Q.
func (a *Program) compareQueue(x *dataplane.Stage) {
	if n := a.maxOverPorts(func(q *activityAQM) int { return len(q.packetBytes) }); n > 0 {
		x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.ReadingEgress, What: "packets of the port",
			Times: 1}, shiftAdds("packets as bytes", n)[0])
	}
	if a.config.Register {
		x.Registers = append(x.Registers, a.queueUse())
		return
	}
	x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.ReadingEgress, What: "queue of the port",
		Times: 1})
}

// descriptorTables returns the tables of the configuration's aggregates.
func (a *Program) descriptorTables() (all []dataplane.TableUse) {
	action := dataplane.WidthOf(a.commonAggregate) + dataplane.WidthOf(a.config.Reference)
	if n := a.addresses.PrefixCount(); n > 0 {
		all = append(all, dataplane.TableUse{Name: "aggregates", Match: dataplane.MatchPrefix, Entries: n, Key: 128,
			Action: action})
	}
	if n := len(a.narrowRules); n > 0 {
		all = append(all, dataplane.TableUse{Name: "aggregates by more than an address", Match: dataplane.MatchTernary,
			Entries: n, Key: 2*128 + 6 + 8 + 2*16, Action: action})
	}
	return all
}
