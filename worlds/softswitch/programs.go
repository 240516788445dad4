package softswitch

import (
	"fmt"
	"slices"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/switchfile"
	"weir/papers/p4abc"
)

// running is a program with what it was made of.
type running struct {
	dataplane.Program
	text  string
	lines []dataplane.Line // of its site
}

// same tells whether the program would be made again of that. Others than the bridge's own
// forwarding and ABC may go by the ports' rates, as ecn does (at_rate, kmin_map).
func (r *running) same(text string, lines []dataplane.Line) bool {
	if r.text != text {
		return false
	}
	switch r.Program.(type) {
	case *forward, *p4abc.Program:
		return true
	}
	return slices.Equal(r.lines, lines)
}

// programs are those of a list that runs.
func programs(list []running) (all []dataplane.Program) {
	for _, p := range list {
		all = append(all, p.Program)
	}
	return all
}

// forget tells programs that a number has another user.
func forget(list []running, a packet.Addr) {
	for _, p := range list {
		if x, ok := p.Program.(interface{ Forget(packet.Addr) }); ok {
			x.Forget(a)
		}
	}
}

// behind is the port behind which users are, as the codec has it.
func behind(c *Config) packet.PortID {
	if c.Behind < 0 {
		return packet.NoPort
	}
	return packet.PortID(c.Behind)
}

// adopt makes a list of programs out of those that run: what would be the same goes on as it
// is, ABC with others takes over what it has measured, and what is left begins
// anew. notes say what was lost.
func adopt(now unit.Time, site *dataplane.Site, was []running, want []switchfile.Program) (list []running,
	notes []string, err error) {
	for _, w := range want {
		i := slices.IndexFunc(was, func(r running) bool { return r.Name() == w.Scheme.Name })
		if i >= 0 && was[i].same(w.Text(), site.Lines) {
			list = append(list, was[i])
			continue
		}
		p, err := w.Scheme.Build(site, w.Values)
		if err != nil {
			return nil, nil, fmt.Errorf("program %s: %w", w.Scheme.Name, err)
		}
		list = append(list, running{p, w.Text(), site.Lines})
		switch {
		case i < 0 && was != nil:
			notes = append(notes, w.Scheme.Name+" begins now")
		case i < 0:
		case was[i].text == w.Text():
			notes = append(notes, w.Scheme.Name+" begins anew, with the ports' other rates")
		default:
			old, ok := was[i].Program.(*p4abc.Program)
			if x, abc := p.(*p4abc.Program); abc && ok {
				note := "abc has other parameters and keeps its meters"
				for _, lost := range x.Adopt(now, old) {
					note += "; lost: " + lost
				}
				notes = append(notes, note)
			} else {
				notes = append(notes, w.Scheme.Name+" has other parameters and begins anew")
			}
		}
	}
	for _, x := range was {
		if !slices.ContainsFunc(want, func(w switchfile.Program) bool { return w.Scheme.Name == x.Name() }) {
			notes = append(notes, x.Name()+" has ended")
		}
	}
	return list, notes, nil
}
