package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"weir/core/dataplane"
	"weir/internal/command"
	"weir/internal/document"
	"weir/internal/text"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/report"
)

// standardTopology is the topology of a program's footprint if the command names none.
const standardTopology = "fat_tree: {k: 8, rate: 10Gbps, delay: 1us}"

// printFootprint prints the pipeline resources of a program in a topology, or of an experiment's programs. It sets
// s.Topology to the topology used.
func (s *showCmd) printFootprint(a *app) error {
	if s.YAML {
		return fmt.Errorf("%w: --yaml prints the file and --footprint the resources of its programs; only one of them is "+
			"allowed", command.ErrInput)
	}
	program, other := false, ""
	for _, k := range a.listSchemes() {
		if k.s.Name == s.Name {
			if k.kind == "program" {
				program = true
			} else {
				other = k.kind
			}
		}
	}
	var points []plan.PointFootprint
	switch {
	case program:
		if s.Seed != nil || s.Quick {
			return fmt.Errorf("%w: --seed and --quick are for experiments, and %s is a switch program; leave them out",
				command.ErrInput, s.Name)
		}
		topology := s.Topology
		if topology == "" {
			topology = standardTopology
		}
		f, err := plan.Footprint(a.registry, s.Name, topology, s.Set)
		if err != nil {
			var wrong document.InputErrors
			if s.Topology == "" && errors.As(err, &wrong) && wrong[0].File == "--topology" {
				wrong[0].Msg += "; --topology sets another network"
			}
			return err
		}
		s.Topology, points = topology, []plan.PointFootprint{{Points: []string{""}, Switches: f}}
	case other != "":
		return fmt.Errorf("%w: %s is not a switch program (it is a %s) and uses no resources of a switch pipeline; name a "+
			"program of weir list schemes", command.ErrInput,
			s.Name, other)
	default:
		if s.Topology != "" {
			return fmt.Errorf("%w: --topology is for switch programs; change the topology of an experiment with --set "+
				"topology.…", command.ErrInput)
		}
		exp, err := s.loadSpec(a)
		if err != nil {
			return err
		}
		if points, err = plan.ListFootprints(exp); err != nil {
			return err
		}
	}
	if s.JSON {
		return a.footprintJSON(s, points)
	}
	title := s.Name + ": footprint"
	if s.Topology != "" {
		title += " in " + s.Topology
	}
	fmt.Fprintln(a.stdout, report.WrapText(title, a.lineWidth(), "    "))
	for _, p := range points {
		if len(points) > 1 || p.Points[0] != "" {
			fmt.Fprintf(a.stdout, "\n%s\n", report.WrapText(inCommon(p.Points), a.lineWidth(), "    "))
		}
		for i := 0; i < len(p.Switches); {
			n := i + 1
			for n < len(p.Switches) && reflect.DeepEqual(p.Switches[n].Programs, p.Switches[i].Programs) {
				n++
			}
			fmt.Fprint(a.stdout, "\n", footprintText(p.Switches[i:n], a.lineWidth()))
			i = n
		}
	}
	return nil
}

// inCommon names points of a sweep, at least one: the values that all have in common and the number of points. Without
// common values, it names the first point and counts the others.
func inCommon(points []string) string {
	common := strings.Fields(points[0])
	for _, p := range points[1:] {
		words := strings.Fields(p)
		common = slices.DeleteFunc(common, func(w string) bool { return !slices.Contains(words, w) })
	}
	switch {
	case len(points) == 1:
		return points[0]
	case len(common) == 0:
		return fmt.Sprintf("%s and %s more", points[0], text.Count(len(points)-1, "point"))
	}
	return fmt.Sprintf("%s (%s)", strings.Join(common, " "), text.Count(len(points), "point"))
}

// footprintText returns the table of switches with the same programs, at least one, for lines of width characters: the
// switches, the stages of the programs, the sums and the violated limits of P4TE §4.
func footprintText(kinds []plan.SwitchFootprint, width int) string {
	var b strings.Builder
	for i := range kinds {
		k := &kinds[i]
		fmt.Fprintf(&b, "%s: %s; %s, %s\n", k.Tier, text.Count(k.Count, "switch"), k.Switch, text.Count(k.Ports, "port"))
	}
	f := &kinds[0]
	for i := range f.Programs {
		p := &f.Programs[i]
		fmt.Fprintf(&b, "  %s\n", p.Name)
		wide := 0
		for _, x := range p.Stages {
			for _, r := range listUses(&x) {
				wide = min(max(wide, utf8.RuneCountInString(r[1])), max(width-52, 8))
			}
		}
		for _, x := range p.Stages {
			fmt.Fprintf(&b, "    %-8s %s\n", x.Gress, x.Name)
			for _, r := range listUses(&x) {
				line := fmt.Sprintf("      %-8s  %-*s  %s", r[0], wide, r[1], r[2])
				if utf8.RuneCountInString(r[1]) > wide || utf8.RuneCountInString(line) > width {
					below := strings.Repeat(" ", min(18, width/3))
					line = fmt.Sprintf("      %-8s  %s\n%s", r[0], r[1], report.WrapHanging(below, r[2], below, width))
				}
				b.WriteString(line + "\n")
			}
			for _, o := range x.Operations {
				b.WriteString(report.WrapHanging("      ! ", o.String(), "        ", width) + "\n")
			}
		}
	}
	s := f.Sums()
	sums := fmt.Sprintf("total: %s at ingress, %d at egress; %s; SRAM %s, TCAM %s; registers %s; %s; %s and %s of "+
		"registers per packet",
		text.Count(s.Ingress, "stage"), s.Egress, text.Count(s.Entries, "entry"), formatMemory(s.SRAM), formatMemory(s.TCAM),
		formatMemory(s.Registers), text.Count(s.Meters, "meter"), text.Count(s.Reads, "read"), text.Count(s.Writes, "write"))
	b.WriteString(report.WrapHanging("  ", sums, "    ", width) + "\n")
	breaks := f.Breaks(dataplane.RMT)
	if len(breaks) == 0 {
		b.WriteString("  within all limits of P4TE §4\n")
		return b.String()
	}
	b.WriteString("  violations of the limits of P4TE §4\n")
	slices.SortStableFunc(breaks, func(x, y plan.ProgramBreak) int { return strings.Compare(x.Section, y.Section) })
	for _, x := range breaks {
		where := x.Stage
		if len(f.Programs) > 1 && x.Program != x.Stage {
			where = x.Program + ", " + x.Stage
		}
		b.WriteString(report.WrapHanging("    ", fmt.Sprintf("§%s %s: %s", x.Section, where, x.What), "         ", width) +
			"\n")
	}
	return b.String()
}

// listUses returns the rows of a stage: kind, name, size.
func listUses(x *dataplane.Stage) (rows [][3]string) {
	for _, t := range x.Tables {
		size := fmt.Sprintf("%s of %d + %d bits", text.Count(t.Entries, "entry"), t.Key, t.Action)
		if t.Match == dataplane.MatchSelector {
			size = fmt.Sprintf("%s of %d bits", text.Count(t.Entries, "member"), t.Action)
		}
		rows = append(rows, [3]string{t.Match.String(), t.Name, size})
	}
	for _, r := range x.Registers {
		rows = append(rows, [3]string{"register", r.Name, fmt.Sprintf("%d of %d bits; %s, %s", r.Cells, r.Bits,
			text.Count(r.Reads, "read"), text.Count(r.Writes, "write"))})
	}
	for _, m := range x.Meters {
		rows = append(rows, [3]string{"meter", m.Name, fmt.Sprintf("%d with %s", m.Count, text.Count(m.Rates, "rate"))})
	}
	return rows
}

// formatMemory returns a number of bits as text, with the bytes from 8000 bits on.
func formatMemory(bits int64) string {
	if bits < 8000 {
		return fmt.Sprintf("%d bit", bits)
	}
	return fmt.Sprintf("%d bit (%sB)", bits, measure.FormatSI(float64(bits)/8))
}
