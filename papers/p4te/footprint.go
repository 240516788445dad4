package p4te

import "weir/core/dataplane"

// Footprint returns what P4TE uses of this switch (P4TE §6.6). Steps of algorithms 1 to 3 that depend on each other are
// in successive stages; the paper counts two stages for each of algorithms 1 and 2, and gives no number for the rest.
// Its register of 4 bytes per flow is "last change"; the registers before it hold the other input of a fake ACK (P4TE
// §7.2.1: the last acknowledgement), which P4TE §6.6 leaves out.
func (t *Program) Footprint() dataplane.Footprint {
	f := &footprint{t: t}
	f.addClasses()
	if t.config.Monitor {
		f.addIngressMonitoring()
	}
	f.addRoutes()
	if t.rate != nil && len(t.rate.flows) > 0 {
		t.rate.addRegisters(func(name string, bits int) {
			x := f.addStage(dataplane.InIngress, "rate control: "+name)
			addRegister(x, name, len(t.rate.flows), bits)
			if t.config.Rate.WithinLeaf { // the cell of either direction
				x.Registers[0].Reads, x.Registers[0].Writes = min(2, len(t.rate.flows)), min(2, len(t.rate.flows))
			}
		})
	}
	if t.config.Monitor {
		f.addEgressMonitoring()
	}
	if t.config.Paths && len(t.place.Up) > 0 {
		x := f.addStage(dataplane.InControl, "routing groups: algorithm 4")
		for m, groups := range t.control.group {
			x.Registers = append(x.Registers, dataplane.RegisterUse{Name: "group by port, " + Metric(m).String(),
				Cells: len(groups), Bits: dataplane.WidthOf(groups[0]), Reads: 1, Writes: 1})
		}
	}
	return f.Footprint
}

// footprint collects the use of a P4TE switch, stage by stage.
type footprint struct {
	dataplane.Footprint
	t *Program
}

// addStage appends a stage. The result is valid until the next call.
func (f *footprint) addStage(g dataplane.SwitchPart, name string) *dataplane.Stage {
	f.Stages = append(f.Stages, dataplane.Stage{Name: name, Gress: g})
	return &f.Stages[len(f.Stages)-1]
}

// addRegister adds an array in which each packet reads and writes one cell.
func addRegister(x *dataplane.Stage, name string, cells, bits int) {
	x.Registers = append(x.Registers, dataplane.RegisterUse{Name: name, Cells: cells, Bits: bits, Reads: 1, Writes: 1})
}

// addClasses adds the table of traffic classes.
func (f *footprint) addClasses() {
	class := len(f.t.config.Class)
	x := f.addStage(dataplane.InIngress, "traffic class")
	x.Tables = append(x.Tables, dataplane.TableUse{Name: "class by DSCP", Entries: class,
		Key: dataplane.IndexBits(class), Action: dataplane.IndexBits(int(ClassCount))})
}

// addIngressMonitoring adds the stages of algorithm 2 (delays and the safe rate) at ingress, by the switch's tier.
func (f *footprint) addIngressMonitoring() {
	t := f.t
	if t.place.Tier > 1 { // algorithm 2 uses the difference itself
		var m minDelay
		addRegister(f.addStage(dataplane.InIngress, "queueing delay"), "minimum delays", len(t.links.ports),
			dataplane.WidthOf(m.difference)+dataplane.WidthOf(m.measuredAt)+dataplane.WidthOf(m.isSet))
	}
	x := f.addStage(dataplane.InIngress, "delay, safe rate: algorithm 2")
	if t.place.Tier > 1 { // for packets from switches below
		addRegister(x, "old delays", len(t.delay.old), dataplane.WidthOf(t.delay.old[0]))
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
	for _, classes := range t.safe.threeColours {
		for _, m := range classes {
			if rates = 2; m != nil {
				meters++
			}
		}
	}
	x.Tables = append(x.Tables, dataplane.TableUse{Name: "MAT_Rate^In", Entries: meters, Key: dataplane.PortBits +
		dataplane.IndexBits(int(ClassCount)), Action: dataplane.IndexBits(meters)})
	x.Meters = append(x.Meters, dataplane.MeterUse{Name: "safe rates", Count: meters, Rates: rates})
}

// addRoutes adds the downward routes, by prefix, and the upward ones, by algorithm 3 or by hash.
func (f *footprint) addRoutes() {
	const address = 128 // of IPv6
	t := f.t
	x := f.addStage(dataplane.InIngress, "routes")
	x.Tables = append(x.Tables, dataplane.TableUse{Name: "MAT_Down", Match: dataplane.MatchPrefix,
		Entries: len(t.place.Routes), Key: address, Action: dataplane.PortBits})
	if len(t.place.Up) == 0 {
		return
	}
	if !t.config.Paths {
		x.Tables = append(x.Tables, dataplane.TableUse{Name: "upward ports", Match: dataplane.MatchSelector,
			Entries: len(t.place.Up), Action: dataplane.PortBits})
		return
	}
	for m, u := range t.upward {
		members := 0
		for i := range u.groups {
			members += cap(u.groups[i])
		}
		name := [MetricCount]string{"MAT_Up^Delay", "MAT_Up^Queue_Depth", "MAT_Up^Link_Util"}[m]
		x.Tables = append(x.Tables,
			dataplane.TableUse{Name: name, Match: dataplane.MatchTernary, Entries: len(u.groups), Key: address,
				Action: dataplane.IndexBits(len(u.groups))},
			dataplane.TableUse{Name: name + " groups", Match: dataplane.MatchSelector, Entries: members,
				Action: dataplane.PortBits})
	}
	gap, last := t.flowlets.Stages()
	f.Stages = append(f.Stages, gap)
	addRegister(f.addStage(dataplane.InIngress, "utilisation of the port"), "port utilisations", len(t.utilisation),
		dataplane.WidthOf(t.utilisation[0]))
	last.Name = "path by class: algorithm 3"
	f.Stages = append(f.Stages, last)
}

// addEgressMonitoring adds algorithm 1 and the decision of P4TE §6.4.1.
func (f *footprint) addEgressMonitoring() {
	t := f.t
	x := f.addStage(dataplane.InEgress, "depth, utilisation: algorithm 1")
	if len(t.place.Up) > 0 {
		addRegister(x, "old queue depths", len(t.depth.old), dataplane.WidthOf(t.depth.old[0]))
	}
	x.Tables = append(x.Tables, dataplane.TableUse{Name: "MAT_Rate^Link_Util", Entries: len(t.colours.meters),
		Key: dataplane.PortBits, Action: dataplane.IndexBits(len(t.colours.meters))})
	x.Meters = append(x.Meters, dataplane.MeterUse{Name: "link utilisation", Count: len(t.colours.meters), Rates: 2})
	x = f.addStage(dataplane.InEgress, "colours: algorithm 1")
	addRegister(x, "old packet colours", len(t.colours.old), dataplane.WidthOf(t.colours.old[0]))
	if len(t.place.Up) > 0 { // other switches have no choice of ports
		x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.Copying,
			What: "feedback to the control plane", Times: 1},
			dataplane.Operation{Kind: dataplane.Recirculating, What: "feedback to ingress", Times: 1})
	}
	if t.rate != nil {
		x = f.addStage(dataplane.InEgress, "rate control: decision")
		x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.Recirculating, What: "fake ACK", Times: 1})
	}
}

// addRegisters calls register for each register of a leaf's flows, with its bits per flow, in the order of use. The
// fields of a register are those that a packet accesses in one place.
func (r *rater) addRegisters(register func(name string, bits int)) {
	var c flowCell
	owner := dataplane.WidthOf(c.tag) + dataplane.WidthOf(c.used)
	ack := dataplane.WidthOf(c.hasAck) + dataplane.WidthOf(c.stamped) + dataplane.WidthOf(c.scale) +
		dataplane.WidthOf(c.window) +
		dataplane.WidthOf(c.ack) + dataplane.WidthOf(c.seq) + dataplane.WidthOf(c.tsVal) + dataplane.WidthOf(c.tsEcho)
	change, sent := dataplane.WidthOf(c.lastChange), dataplane.WidthOf(c.nextByte)+dataplane.WidthOf(c.maxPayload)
	register("owner of the cell", owner)
	register("last acknowledgement", ack)
	register("last change", change)
	if r.config.Mode == Enforced {
		register("sent last", sent)
		register("limit", dataplane.WidthOf(c)-owner-ack-change-sent)
	}
}
