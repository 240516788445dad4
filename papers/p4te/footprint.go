package p4te

import "weir/core/dataplane"

// Footprint is what P4TE takes of this switch (§6.6). What algorithms 1 to 3 need of each
// other comes in stages one after another; the paper counts two stages for each of
// algorithms 1 and 2, and gives no number for the others. Its register of 4 bytes a flow is
// "last change"; the registers before it are what a fake ACK needs besides (§7.2.1: the last
// acknowledgement), which §6.6 leaves out.
func (t *Program) Footprint() dataplane.Footprint {
	var f dataplane.Footprint
	stage := func(g dataplane.Gress, name string) *dataplane.Stage {
		f.Stages = append(f.Stages, dataplane.Stage{Name: name, Gress: g})
		return &f.Stages[len(f.Stages)-1]
	}
	register := func(x *dataplane.Stage, name string, cells, bits int) {
		x.Registers = append(x.Registers, dataplane.RegisterUse{Name: name, Cells: cells, Bits: bits, Reads: 1, Writes: 1})
	}
	const in, out = dataplane.InIngress, dataplane.InEgress
	const address = 128 // of IPv6
	port, monitor := dataplane.PortBits, t.config.Monitor

	x := stage(in, "traffic class")
	x.Tables = append(x.Tables, dataplane.TableUse{Name: "class by DSCP", Entries: len(t.config.Class),
		Key: dataplane.IndexBits(len(t.config.Class)), Action: dataplane.IndexBits(int(TrafficClasses))})
	if monitor {
		x = stage(in, "delay, safe rate: algorithm 2")
		if t.place.Tier > 1 { // of what switches send up
			register(x, "old delays", len(t.delay.old), dataplane.Bits(t.delay.old[0]))
			x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.Copying, What: "feedback to the neighbour",
				Times: 1})
		}
		meters, rates := 0, 1
		for _, classes := range t.safe.meters {
			for _, m := range classes {
				if m != nil {
					meters++
				}
			}
		}
		for _, classes := range t.safe.three {
			for _, m := range classes {
				if rates = 2; m != nil {
					meters++
				}
			}
		}
		x.Tables = append(x.Tables, dataplane.TableUse{Name: "MAT_Rate^In", Entries: meters, Key: port +
			dataplane.IndexBits(int(TrafficClasses)), Action: dataplane.IndexBits(meters)})
		x.Meters = append(x.Meters, dataplane.MeterUse{Name: "safe rates", Count: meters, Rates: rates})
	}

	x = stage(in, "routes")
	x.Tables = append(x.Tables, dataplane.TableUse{Name: "MAT_Down", Match: dataplane.MatchPrefix,
		Entries: len(t.place.Routes), Key: address, Action: port})
	if len(t.place.Up) > 0 {
		if t.config.Paths {
			for m, u := range t.upward {
				members := 0
				for i := range u.groups {
					members += cap(u.groups[i])
				}
				name := [Metrics]string{"MAT_Up^Delay", "MAT_Up^Queue_Depth", "MAT_Up^Link_Util"}[m]
				x.Tables = append(x.Tables,
					dataplane.TableUse{Name: name, Match: dataplane.MatchTernary, Entries: len(u.groups), Key: address,
						Action: dataplane.IndexBits(len(u.groups))},
					dataplane.TableUse{Name: name + " groups", Match: dataplane.MatchSelector, Entries: members, Action: port})
			}
			gap, last := t.flowlets.Stages()
			f.Stages = append(f.Stages, gap)
			register(stage(in, "utilisation of the port"), "port utilisations", len(t.used), dataplane.Bits(t.used[0]))
			last.Name = "path by class: algorithm 3"
			f.Stages = append(f.Stages, last)
		} else {
			x.Tables = append(x.Tables, dataplane.TableUse{Name: "upward ports", Match: dataplane.MatchSelector,
				Entries: len(t.place.Up), Action: port})
		}
	}
	if t.rate != nil && len(t.rate.flows) > 0 {
		t.rate.footprint(func(name string, bits int) {
			x := stage(in, "rate control: "+name)
			register(x, name, len(t.rate.flows), bits)
			if t.config.Rate.Within { // the cell of either direction
				x.Registers[0].Reads, x.Registers[0].Writes = min(2, len(t.rate.flows)), min(2, len(t.rate.flows))
			}
		})
	}

	if monitor {
		x = stage(out, "depth, utilisation: algorithm 1")
		if len(t.place.Up) > 0 {
			register(x, "old queue depths", len(t.depth.old), dataplane.Bits(t.depth.old[0]))
		}
		x.Tables = append(x.Tables, dataplane.TableUse{Name: "MAT_Rate^Link_Util", Entries: len(t.colours.meters), Key: port,
			Action: dataplane.IndexBits(len(t.colours.meters))})
		x.Meters = append(x.Meters, dataplane.MeterUse{Name: "link utilisation", Count: len(t.colours.meters), Rates: 2})
		x = stage(out, "colours: algorithm 1")
		register(x, "old packet colours", len(t.colours.old), dataplane.Bits(t.colours.old[0]))
		if len(t.place.Up) > 0 { // there is no choice between others
			x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.Copying,
				What: "feedback to the control plane", Times: 1},
				dataplane.Operation{Kind: dataplane.Recirculating, What: "feedback to ingress", Times: 1})
		}
		if t.rate != nil {
			x = stage(out, "rate control: decision")
			x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.Recirculating, What: "fake ACK", Times: 1})
		}
	}
	if t.config.Paths && len(t.place.Up) > 0 {
		x = stage(dataplane.InControl, "routing groups: algorithm 4")
		for m, groups := range t.control.group {
			x.Registers = append(x.Registers, dataplane.RegisterUse{Name: "group by port, " + Metric(m).String(),
				Cells: len(groups), Bits: dataplane.Bits(groups[0]), Reads: 1, Writes: 1})
		}
	}
	return f
}

// footprint tells the registers of a leaf's flows, each with its bits a flow, in the order
// of their use: each has the fields that a packet reads or writes in one place.
func (r *rater) footprint(register func(name string, bits int)) {
	var c flowCell
	owner := dataplane.Bits(c.tag) + dataplane.Bits(c.used)
	ack := dataplane.Bits(c.known) + dataplane.Bits(c.stamped) + dataplane.Bits(c.scale) + dataplane.Bits(c.window) +
		dataplane.Bits(c.ack) + dataplane.Bits(c.seq) + dataplane.Bits(c.tsVal) + dataplane.Bits(c.tsEcho)
	change, sent := dataplane.Bits(c.changed), dataplane.Bits(c.next)+dataplane.Bits(c.largest)
	register("owner of the cell", owner)
	register("last acknowledgement", ack)
	register("last change", change)
	if r.config.Mode == Enforced {
		register("sent last", sent)
		register("limit", dataplane.Bits(c)-owner-ack-change-sent)
	}
}
