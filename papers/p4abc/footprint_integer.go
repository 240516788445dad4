package p4abc

import (
	"slices"

	"weir/core/dataplane"
)

// The footprint of the integer variant. It still breaks one limit of P4TE §4: S and A_avg are read in one stage and
// written in a later one. A target that cannot do that writes them with a recirculated copy, once a slot.
// Shifts by a looked-up number are table actions, one for each length.

// logTables returns the tables of log2Fixed of the named value: the first digit's position by longest prefix, and the
// curve.
func logTables(value string) []dataplane.TableUse {
	return []dataplane.TableUse{
		{Name: "first digit of " + value, Match: dataplane.MatchPrefix, Entries: 64, Key: 64, Action: 6},
		{Name: "log2 of " + value, Entries: curveParts, Key: curveBits, Action: fractionBits}}
}

// powerTable returns the use of the table of 2^x.
func powerTable() dataplane.TableUse {
	return dataplane.TableUse{Name: "2^x", Entries: curveParts, Key: curveBits, Action: fractionBits + 1}
}

// shiftAdds returns n additions of shifted numbers, at least one, as an operation.
func shiftAdds(what string, n int) []dataplane.Operation {
	return []dataplane.Operation{{Kind: dataplane.ShiftAdding, What: what, Times: max(n, 1)}}
}

// countDigits returns the maximum number of digits of a decay: the digits of all its table places.
func (s *slots) countDigits() (n int) {
	for i := range s.decays {
		n += len(s.decays[i].parts)
	}
	return n
}

// decayTable returns the use of the table of decays by number of slots; value names what decays.
func (s *slots) decayTable(value string) dataplane.TableUse {
	digits := 0
	for i := range s.decays {
		digits = max(digits, len(s.decays[i].parts))
	}
	return dataplane.TableUse{Name: "decay of " + value + " by slots", Entries: decayPlaces, Key: decayPlaces,
		Action: 6 + digits*dataplane.WidthOf(digit{})}
}

// integerMeterStages returns the stages of a number of integer meters.
func (a *Program) integerMeterStages(meters int) []dataplane.Stage {
	const in = dataplane.InIngress
	var m IntegerMeter
	register := func(name string, bits, writes int) []dataplane.RegisterUse {
		return []dataplane.RegisterUse{{Name: name, Cells: meters, Bits: bits, Reads: 1, Writes: writes}}
	}
	return []dataplane.Stage{
		{Name: "meter: slot", Gress: in, Registers: register("t_last of meters", dataplane.WidthOf(m.last), 1)},
		{Name: "meter: traffic", Gress: in, Tables: []dataplane.TableUse{a.slots.decayTable("S")},
			Registers:  register("S of meters", dataplane.WidthOf(m.sum), 1),
			Operations: shiftAdds("decay of S, in a slot's first packet", a.slots.countDigits())},
		{Name: "meter: length of the measurement", Gress: in, Tables: logTables("length"),
			Registers: register("t_start of meters", dataplane.WidthOf(m.start), 0)},
		{Name: "activity, equation (1)", Gress: in, Tables: slices.Concat(logTables("S"), []dataplane.TableUse{
			{Name: "log2 of T", Entries: spanOctaves << spanPlaces, Key: 10, Action: dataplane.WidthOf(a.slots.spans[0][0])}})},
	}
}

// integerStages returns the stages of the integer activity AQM.
func (a *Program) integerStages() []dataplane.Stage {
	const in = dataplane.InIngress
	gamma, frame := 0, 0
	for i := range a.integers.ports {
		gamma, frame = max(gamma, len(a.integers.ports[i].gamma)), max(frame, len(a.integers.ports[i].frame))
	}
	x := dataplane.Stage{Name: "threshold, equation (2)", Gress: in, Operations: shiftAdds("gamma (A - A_avg)", gamma)}
	if frame > 0 {
		x.Operations = append(x.Operations, shiftAdds("T_drop in bytes", frame)...)
	}
	a.compareQueue(&x)
	if !a.config.PerPacket {
		return a.rateStages(x)
	}
	var v IntegerAverage
	average := func(reads, writes int) []dataplane.RegisterUse {
		n := len(a.aqms)
		return []dataplane.RegisterUse{
			{Name: "base of A_avg", Cells: n, Bits: dataplane.WidthOf(v.base), Reads: reads, Writes: writes},
			{Name: "sum above base of A_avg", Cells: n, Bits: dataplane.WidthOf(v.above), Reads: reads, Writes: writes},
			{Name: "N of A_avg", Cells: n, Bits: dataplane.WidthOf(v.count), Reads: reads, Writes: writes}}
	}
	last := dataplane.RegisterUse{Name: "t_last of A_avg", Cells: len(a.aqms), Bits: dataplane.WidthOf(v.last), Reads: 1,
		Writes: 1}
	return []dataplane.Stage{
		{Name: "A_avg of the port", Gress: in, Registers: average(1, 0),
			Tables: slices.Concat(logTables("the sum"), logTables("N"))},
		{Name: "A_avg: quotient", Gress: in, Tables: []dataplane.TableUse{powerTable()}},
		x,
		{Name: "A_avg: accepted packets", Gress: in, Registers: append(average(1, 1), last),
			Tables:     []dataplane.TableUse{a.integers.average.decayTable("N")},
			Operations: shiftAdds("decay of N, in a slot's first packet", a.integers.average.countDigits())},
	}
}

// rateStages returns the stages of the integer AQM if A_avg is of the mean rate; threshold is its threshold stage.
func (a *Program) rateStages(threshold dataplane.Stage) []dataplane.Stage {
	const in = dataplane.InIngress
	var v IntegerRates
	average := func(reads, writes int) []dataplane.RegisterUse {
		n := len(a.aqms)
		return []dataplane.RegisterUse{
			{Name: "S of A_avg", Cells: n, Bits: dataplane.WidthOf(v.sum), Reads: reads, Writes: writes},
			{Name: "unit of S of A_avg", Cells: n, Bits: dataplane.WidthOf(v.unit), Reads: reads, Writes: writes},
			{Name: "N of A_avg", Cells: n, Bits: dataplane.WidthOf(v.bytes), Reads: reads, Writes: writes}}
	}
	last := dataplane.RegisterUse{Name: "t_last of A_avg", Cells: len(a.aqms), Bits: dataplane.WidthOf(v.last), Reads: 1,
		Writes: 1}
	return []dataplane.Stage{
		{Name: "A_avg of the port", Gress: in, Registers: average(1, 0),
			Tables: slices.Concat(logTables("S of A_avg"), logTables("N"))},
		threshold,
		{Name: "A_avg: size 2^A", Gress: in, Tables: append(logTables("the size"), powerTable())},
		{Name: "A_avg: accepted packets", Gress: in, Registers: append(average(1, 1), last),
			Tables:     []dataplane.TableUse{a.integers.average.decayTable("S and N")},
			Operations: shiftAdds("decay of S and N, in a slot's first packet", 2*a.integers.average.countDigits())},
	}
}
