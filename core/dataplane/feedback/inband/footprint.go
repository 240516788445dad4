package inband

import (
	"weir/core/dataplane"
	"weir/core/telemetry"
)

// Footprint returns the use by the snapshot. The traffic manager's data about the port is metadata, the bytes sent
// are a register. Ports that share their rate among classes have a register for each class, and loads have one for
// each port.
func (t *Program) Footprint() dataplane.Footprint {
	const out = dataplane.InEgress
	var h telemetry.Hop
	coded, classes := 0, 0
	var most, strict int
	for i := range t.ports {
		if t.ports[i].coded {
			coded++
		}
		classes, most = classes+len(t.ports[i].classes), max(most, len(t.ports[i].classes))
		if t.ports[i].classes != nil {
			strict = max(strict, t.ports[i].strict)
		}
	}
	record := dataplane.Stage{Name: "record", Gress: out,
		Registers: []dataplane.RegisterUse{{Name: "bytes sent by port", Cells: len(t.ports),
			Bits:  dataplane.WidthOf(h.TxBytes),
			Reads: 1, Writes: 1}}}
	rate := dataplane.TableUse{Name: "rate by port", Entries: len(t.ports), Key: dataplane.PortBits,
		Action: dataplane.WidthOf(h.Rate)}
	if !t.full {
		rate.Entries, rate.Action = coded, dataplane.WidthOf(t.ports[0].code)
	}
	if rate.Entries > 0 {
		record.Tables = append(record.Tables, rate)
	}
	f := dataplane.Footprint{Stages: []dataplane.Stage{record}}
	if classes > 0 {
		var c class
		writes := 1
		if strict > 0 { // a packet in strict priority counts for all classes
			writes = most
		}
		x := dataplane.Stage{Name: "class's share", Gress: out,
			Registers: []dataplane.RegisterUse{{Name: "bytes sent by class", Cells: classes, Bits: dataplane.WidthOf(c.txBytes),
				Reads: 1, Writes: writes}},
			Operations: []dataplane.Operation{{Kind: dataplane.FloatingPoint, What: "share of the rate", Times: 1}}}
		if t.idle > 0 {
			x.Registers = append(x.Registers, dataplane.RegisterUse{Name: "last packet of class", Cells: classes,
				Bits: dataplane.WidthOf(c.lastDeparture), Reads: most, Writes: 1})
			x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.Looping, What: "over the classes",
				Times: most}, dataplane.Operation{Kind: dataplane.Dividing, What: "by the busy classes' share", Times: 1})
		}
		f.Stages = append(f.Stages, x)
	}
	if t.format.LoadInterval > 0 {
		var l telemetry.PortLoad
		f.Stages = append(f.Stages, dataplane.Stage{Name: "port's load", Gress: out,
			Registers: []dataplane.RegisterUse{{Name: "load by port", Cells: len(t.ports), Bits: dataplane.WidthOf(l), Reads: 1,
				Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.Dividing, What: "dt/T, bytes by B T", Times: 3},
				{Kind: dataplane.FloatingPoint, What: "moving average", Times: 1}, {Kind: dataplane.Transcendental,
					What: "PINT's code of the load", Times: 1}}})
		if t.format.IsRelative() { // steps of 1/4096 of the capacity
			x := &f.Stages[len(f.Stages)-1]
			x.Operations = x.Operations[:2]
		}
	}
	return f
}
