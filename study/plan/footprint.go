package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"weir/core/dataplane"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/worlds/sim"
)

// SwitchFootprint is the resources that the programs of one kind of switch use. Switches of one tier with the same
// programs are one kind. The switch with the most memory represents it, the first of several.
type SwitchFootprint struct {
	Tier     string // leaf, spine, super spine; switch if the network is not a fat tree
	Switch   string // name of the switch that represents the kind
	Count    int    // number of switches of the kind
	Ports    int
	Programs []ProgramFootprint
}

// ProgramFootprint is the footprint of one program.
type ProgramFootprint struct {
	Name string
	dataplane.Footprint
}

// Sums returns the sum of the programs' footprints.
func (f *SwitchFootprint) Sums() (s dataplane.Sums) {
	for i := range f.Programs {
		s.Add(f.Programs[i].Sums())
	}
	return s
}

// ProgramBreak is a limit that a program, or all programs of a switch together, exceed.
type ProgramBreak struct {
	Program string // "all": all programs of the switch
	dataplane.Violation
}

// Breaks lists the limits that are exceeded: by each program, and for stages by all programs together.
func (f *SwitchFootprint) Breaks(l dataplane.Limits) (out []ProgramBreak) {
	programLimits := l
	programLimits.Stages = int(^uint(0) >> 1)
	for i := range f.Programs {
		for _, b := range f.Programs[i].FindViolations(programLimits) {
			out = append(out, ProgramBreak{f.Programs[i].Name, b})
		}
	}
	if s := f.Sums(); s.Ingress+s.Egress > l.Stages {
		out = append(out, ProgramBreak{"all", dataplane.Violation{Section: "4.1", Stage: "all",
			What: fmt.Sprintf("%d stages; allowed: at most %d", s.Ingress+s.Egress, l.Stages)}})
	}
	return out
}

// PointFootprint is the footprint of a network's switches at points of a sweep that have the same footprint.
type PointFootprint struct {
	Points   []string // names by PointName; one empty name without a sweep
	Switches []SwitchFootprint
}

// ListFootprints returns the footprints of the programs of an experiment's switches, by kind of switch. Points of the
// sweep with the same footprints are merged. A program that does not report its footprint is an error.
func ListFootprints(s *experiment.Spec) (out []PointFootprint, err error) {
	for _, p := range s.Points() {
		c, err := Config(p, 1)
		if err != nil {
			return nil, err
		}
		c.Flows, c.Jobs, c.Wiring.Events, c.Watches, c.Onsets = nil, nil, nil, nil, nil
		f, err := buildFootprints(c)
		if err != nil {
			return nil, err
		}
		k := slices.IndexFunc(out, func(o PointFootprint) bool { return reflect.DeepEqual(o.Switches, f) })
		if k < 0 {
			out = append(out, PointFootprint{Switches: f})
			k = len(out) - 1
		}
		out[k].Points = append(out[k].Points, measure.PointName(p.Coordinates()))
	}
	return out, nil
}

// Footprint returns the footprint of one program in the switches of a topology, by kind of switch. topology is the
// value of an experiment's key of that name. set has parameters of the program, or of switches (queues), as key=value.
// Fat trees have hierarchical addresses. Errors in the arguments are returned as document.InputErrors; a program that
// does not report its footprint is another error.
func Footprint(r *experiment.Registry, name, topology string, set []string) ([]SwitchFootprint, error) {
	p, err := r.FootprintPoint(name, topology, set)
	if err != nil {
		return nil, err
	}
	config, err := Config(p, 1)
	if err != nil {
		return nil, err
	}
	out, err := buildFootprints(config)
	var no *noFootprint
	if err != nil && !errors.As(err, &no) {
		c := document.NewReader(experiment.FileKind)
		c.Remember(experiment.TopologyFlag, []byte(topology))
		c.Fail(document.Position{File: experiment.TopologyFlag, Line: 1, Column: 1}, "", "%s does not fit this network: %v",
			name, err)
		return nil, c.Err()
	}
	return out, err
}

// noFootprint is the error of a program that does not report its footprint.
type noFootprint struct{ program string }

func (e *noFootprint) Error() string {
	return fmt.Sprintf("program %s does not report its footprint", e.program)
}

// buildFootprints builds the switches of a run and queries their programs. It changes c, so the run cannot be made with
// it. Kinds are in the order of tiers, then of switches. It does not keep the programs: the registers of a large
// network would not fit into memory together.
func buildFootprints(c *sim.Config) (out []SwitchFootprint, err error) {
	programs := make([][]ProgramFootprint, len(c.Wiring.Network.Nodes))
	for i := range c.Wiring.Switches {
		build := c.Wiring.Switches[i].Programs
		if build == nil {
			continue
		}
		c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			list, err := build(site)
			if err != nil {
				return nil, err
			}
			for _, p := range list {
				x, ok := p.(dataplane.Footprinted)
				if !ok {
					return nil, &noFootprint{p.Name()}
				}
				programs[i] = append(programs[i], ProgramFootprint{p.Name(), x.Footprint()})
			}
			return nil, nil
		}
	}
	if _, err := sim.New(c); err != nil {
		return nil, err
	}
	tree, ports := c.Wiring.Tree, c.Wiring.Network.Ports()
	if tree == nil {
		tree, _ = c.Wiring.Network.FindTree() // nil: the network is no fat tree
	}
	var kinds []string
	var memories []int64
	var tiers []uint8
	for i, node := range c.Wiring.Network.Nodes {
		if !node.Switch {
			continue
		}
		f := SwitchFootprint{Tier: "switch", Switch: node.Name, Ports: len(ports[i])}
		tier := uint8(0)
		if tree != nil {
			tier = tree.Tier[i]
			f.Tier = [...]string{"switch", "leaf", "spine", "super spine"}[tier]
		}
		kind := f.Tier
		f.Programs = programs[i]
		for _, p := range f.Programs {
			kind += " " + p.Name
		}
		sums := f.Sums()
		k := slices.Index(kinds, kind)
		if k < 0 {
			k = len(out)
			for k > 0 && tiers[k-1] > tier {
				k--
			}
			out, kinds, memories, tiers = slices.Insert(out, k, f), slices.Insert(kinds, k, kind), slices.Insert(memories, k,
				sums.MemoryBits()), slices.Insert(tiers, k, tier)
		} else if sums.MemoryBits() > memories[k] {
			f.Count = out[k].Count
			out[k], memories[k] = f, sums.MemoryBits()
		}
		out[k].Count++
	}
	return out, nil
}
