package results

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"weir/internal/revision"
	"weir/study/experiment"
)

// choose takes one file for each run that is there. Where several folders have a run, all must have the same.
func (x *merging) choose() error {
	at, counts := map[string][]*mergeable{}, map[program]int{}
	firsts := map[program]*mergeable{}
	for _, p := range x.parts {
		for _, m := range p.runs {
			key := place(m.run.Point, m.run.Seed)
			at[key] = append(at[key], m)
			if counts[m.program]++; firsts[m.program] == nil {
				firsts[m.program] = m
			}
		}
	}
	var wrongs problems
	unknown := func(p program) int { return 1 - min(len(p.executable), 1) }
	order := slices.SortedFunc(maps.Keys(counts), func(a, b program) int {
		return cmp.Or(cmp.Compare(unknown(a), unknown(b)), cmp.Compare(counts[b], counts[a]),
			cmp.Compare(x.label(a), x.label(b)), cmp.Compare(a.executable, b.executable),
			cmp.Compare(a.generator, b.generator))
	})
	if len(order) > 1 && !x.Any {
		for _, other := range order[1:] {
			x.otherProgram(&wrongs, firsts[other], firsts[order[0]], counts)
		}
		return wrongs.err()
	}
	x.lists = map[string]map[string][]*mergeable{}
	for _, r := range x.order {
		all := at[place(r.Point, r.Seed)]
		if len(all) == 0 {
			continue
		}
		slices.SortStableFunc(all, func(a, b *mergeable) int {
			return cmp.Or(cmp.Compare(slices.Index(order, a.program), slices.Index(order, b.program)), cmp.Compare(a.id, b.id))
		})
		best := all[0]
		for _, m := range all[1:] {
			if err := x.same(best, m); err != nil {
				if err := wrongs.join(err); err != nil {
					return err
				}
			}
		}
		several := -1
		for _, m := range all {
			if !m.part.target {
				several++
			} else if m.id == best.id {
				best = m
			}
		}
		if several > 0 {
			x.alike = append(x.alike, best.id)
		}
		x.chosen = append(x.chosen, best)
		x.chooseLists(best, all, &wrongs)
	}
	x.tellPrograms(order)
	return wrongs.err()
}

// label is what a program is known by.
func (x *merging) label(p program) string {
	text := p.executable
	if text == "" {
		text = "one that no host.json names"
	}
	for _, part := range x.parts {
		for _, h := range part.hosts.Machines {
			if h.Executable == p.executable && h.Revision != "" {
				text = h.Revision
			}
		}
	}
	if p.executable == revision.Executable() {
		text = revision.This().String()
	}
	if p.generator != "" {
		text += ", traffic by " + p.generator
	}
	return text
}

// otherProgram says that two runs are of different programs, and what is different.
func (x *merging) otherProgram(wrongs *problems, m, than *mergeable, counts map[program]int) {
	a, b := x.label(program{executable: m.program.executable}), x.label(program{executable: than.program.executable})
	why := fmt.Sprintf("%s, not %s", a, b)
	if ra, err := revision.Parse(a); err == nil {
		if rb, err := revision.Parse(b); err == nil {
			if _, why = revision.Same(ra, rb); why == "" {
				why = "another build of the same revision, " + m.program.executable + ", not " + than.program.executable
			}
		}
	}
	if m.program.executable == than.program.executable {
		why = fmt.Sprintf("traffic by %s, not by %s", m.program.generator, than.program.generator)
	}
	runs := "1 run"
	if n := counts[m.program]; n > 1 {
		runs = fmt.Sprintf("%d runs", n)
	}
	wrongs.add(m.file(), "folders that one program has written, or --revisions any", "another program than that of %s "+
		"has carried it out (%s in all): %s", than.file(), runs, why)
}

// same is an error unless two files have the same result of a run.
func (x *merging) same(a, b *mergeable) error {
	if a.sum == b.sum {
		return nil
	}
	var wrongs problems
	switch {
	case x.world == experiment.Lab:
		wrongs.add(b.file(), "folders of which only one has the run, or --seed with other seeds",
			"%s has measured the same run (%s), and no two measurements are alike: neither is taken for both", a.file(),
			named(a.run))
	case a.id == b.id:
		wrongs.add(b.file(), "neither of the two, until weir run --fresh has told on each machine which is right",
			"%s has another result of the same run (%s, of the same program): a run gives the same bytes wherever it is "+
				"carried out, so that one of the machines computes wrongly, or this is a bug of weir", a.file(), named(a.run))
	default:
		ra, err := rereadRun(a)
		if err != nil {
			return err
		}
		rb, err := rereadRun(b)
		if err != nil {
			return err
		}
		if rb.ID = ra.ID; bytes.Equal(ra.Json(true), rb.Json(true)) {
			return nil
		}
		wrongs.add(b.file(), "one of the two folders", "%s has another result of the same run (%s), of another program: "+
			"both cannot be in one folder", a.file(), named(a.run))
	}
	return wrongs.err()
}

// rereadRun reads a run that was read before.
func rereadRun(m *mergeable) (*Run, error) {
	data, err := m.reread()
	if err != nil {
		return nil, err
	}
	return ReadRun(data)
}

// chooseLists takes the traces and captures of the run that was chosen, from whichever part has them.
func (x *merging) chooseLists(best *mergeable, all []*mergeable, wrongs *problems) {
	lists := map[string][]*mergeable{}
	texts := map[string][]byte{}
	for _, m := range all {
		if m.id != best.id {
			continue // the digests are of a result with that id
		}
		for _, v := range m.lists {
			if first := lists[v.list]; first != nil && !bytes.Equal(texts[v.list], v.text) {
				wrongs.add(first[0].part.at(v.list), "folders of which only one has the run's trace, or both the same",
					"%s has digests of other files: a run has one trace, and these are of other ports, or one of the machines "+
						"computes wrongly", m.part.at(v.list))
				continue
			}
			texts[v.list] = v.text
			lists[v.list] = append(lists[v.list], m)
		}
	}
	if len(lists) > 0 {
		x.lists[best.id] = lists
	}
}

// tellPrograms notes which of the chosen runs are of which program, if there are several.
func (x *merging) tellPrograms(order []program) {
	runs := map[string][]string{}
	var labels []string
	for _, p := range order {
		if l := x.label(p); !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	for _, m := range x.chosen {
		runs[x.label(m.program)] = append(runs[x.label(m.program)], m.id)
	}
	if len(runs) < 2 {
		return
	}
	for _, l := range labels {
		if len(runs[l]) > 0 {
			x.programs = append(x.programs, Program{l, runs[l]})
		}
	}
}
