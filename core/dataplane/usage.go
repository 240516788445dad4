package dataplane

import "slices"

// Usage is the memory and the operations of the programs and schedulers of a switch. Comparisons of schemes use it.
type Usage struct {
	State              int64 // bits of tables and registers, of schedulers, and of queues for each flow or user
	Reads, Writes      int   // of registers by one packet, at most
	Lookups            int   // of tables by one packet, at most
	PipelineOperations int   // operations for one packet, at most, beyond comparing and adding, that a pipeline supports
	CostlyOperations   int   // for one packet, at most: operations that a pipeline cannot do (P4TE §4), and loops
}

// Usage returns the total usage of the switch's programs and of its ports' schedulers, without the control plane. ok is
// false if a program has no Footprint. The state of all ports counts, but the operations of one port, since a packet
// departs by one.
func (s *Switch) Usage() (t Usage, ok bool) {
	for _, p := range s.config.Programs {
		x, ok := p.(Footprinted)
		if !ok {
			return t, false
		}
		f := x.Footprint()
		sums, seen := f.Sums(), f.registerNames()
		t.State += sums.MemoryBits()
		t.Reads, t.Writes = t.Reads+sums.Reads, t.Writes+sums.Writes
		for _, stage := range f.Stages {
			if stage.Gress == InControl {
				continue
			}
			t.Lookups += len(stage.Tables)
			for _, o := range stage.Operations {
				if o.Kind.Section() != "" {
					t.CostlyOperations += o.Times
				} else {
					t.PipelineOperations += o.Times
				}
			}
			if stage.Gress == InManager { // the pipeline's sums exclude its registers
				for _, r := range stage.Registers {
					t.Reads, t.Writes = t.Reads+r.Reads, t.Writes+r.Writes
					if !slices.Contains(seen, r.Name) {
						seen = append(seen, r.Name)
						t.State += r.TotalBits()
					}
				}
			}
		}
	}
	for i, port := range s.ports {
		state := port.State()
		t.State += state.Bits
		if i == 0 { // a packet leaves by one port
			t.Reads, t.Writes, t.CostlyOperations = t.Reads+state.Reads, t.Writes+state.Writes,
				t.CostlyOperations+state.Operations
		}
	}
	return t, true
}
