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

// chooseRuns sets x.chosen to one file for each run that a part has, with its traces (x.lists), the duplicates and the
// programs. The most frequent program has priority, and of equal files the target folder's. It returns an error if
// several folders have different results of a run, or unless AnyProgram is set, if several programs executed them.
func (x *merger) chooseRuns() error {
	at, counts := map[string][]*mergeRun{}, map[executor]int{}
	firsts := map[executor]*mergeRun{}
	for _, p := range x.parts {
		for _, m := range p.runs {
			key := planKey(m.run.Point, m.run.Seed)
			at[key] = append(at[key], m)
			if counts[m.executor]++; firsts[m.executor] == nil {
				firsts[m.executor] = m
			}
		}
	}
	var wrongs problems
	unknown := func(p executor) int { return 1 - min(len(p.executable), 1) }
	order := slices.SortedFunc(maps.Keys(counts), func(a, b executor) int {
		return cmp.Or(cmp.Compare(unknown(a), unknown(b)), cmp.Compare(counts[b], counts[a]),
			cmp.Compare(x.programLabel(a), x.programLabel(b)), cmp.Compare(a.executable, b.executable),
			cmp.Compare(a.generator, b.generator))
	})
	if len(order) > 1 && !x.AnyProgram {
		for _, other := range order[1:] {
			x.addProgramError(&wrongs, firsts[other], firsts[order[0]], counts)
		}
		return wrongs.asError()
	}
	x.lists = map[string]map[string][]*mergeRun{}
	for _, r := range x.order {
		all := at[planKey(r.Point, r.Seed)]
		if len(all) == 0 {
			continue
		}
		slices.SortStableFunc(all, func(a, b *mergeRun) int {
			return cmp.Or(cmp.Compare(slices.Index(order, a.executor), slices.Index(order, b.executor)), cmp.Compare(a.id, b.id))
		})
		best := all[0]
		for _, m := range all[1:] {
			if err := x.checkSame(best, m); err != nil {
				if err := wrongs.joinError(err); err != nil {
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
			x.duplicates = append(x.duplicates, best.id)
		}
		x.chosen = append(x.chosen, best)
		x.chooseLists(best, all, &wrongs)
	}
	x.setPrograms(order)
	return wrongs.asError()
}

// programLabel returns the name of a program in messages: its revision, or its digest.
func (x *merger) programLabel(p executor) string {
	text := p.executable
	if text == "" {
		text = "a program that no host.json names"
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

// addProgramError adds an error about run m, of another program than run other, and describes the difference. counts
// has the number of runs of each program.
func (x *merger) addProgramError(wrongs *problems, m, other *mergeRun, counts map[executor]int) {
	a, b := x.programLabel(executor{executable: m.executor.executable}),
		x.programLabel(executor{executable: other.executor.executable})
	why := fmt.Sprintf("%s, not %s", a, b)
	if ra, err := revision.Parse(a); err == nil {
		if rb, err := revision.Parse(b); err == nil {
			if _, why = revision.Compare(ra, rb); why == "" {
				why = "another build of the same revision, " + m.executor.executable + ", not " + other.executor.executable
			}
		}
	}
	if m.executor.executable == other.executor.executable {
		why = fmt.Sprintf("traffic by %s, not by %s", m.executor.generator, other.executor.generator)
	}
	runs := "1 run"
	if n := counts[m.executor]; n > 1 {
		runs = fmt.Sprintf("%d runs", n)
	}
	wrongs.addError(m.path(), "folders written by one program, or --revisions any",
		"the run was executed by another program than %s (%s in total): %s", other.path(), runs, why)
}

// checkSame returns an error unless two files have the same result of a run. In the lab only equal files do. Results of
// two programs may differ in the ID.
func (x *merger) checkSame(a, b *mergeRun) error {
	if a.sum == b.sum {
		return nil
	}
	var wrongs problems
	switch {
	case x.world == experiment.Lab:
		wrongs.addError(b.path(), "only one folder with this run; other seeds (--seed) do not conflict",
			"%s also has a measurement of this run (%s), and two measurements cannot be merged", a.path(),
			runLabel(a.run))
	case a.id == b.id:
		wrongs.addError(b.path(), "neither folder; weir run --fresh on each machine shows which result is right",
			"%s has a different result of the same run (%s) and program. A run yields the same bytes on every machine, so one "+
				"of the machines computes wrongly, or this is a bug in weir", a.path(), runLabel(a.run))
	default:
		ra, err := rereadRun(a)
		if err != nil {
			return err
		}
		rb, err := rereadRun(b)
		if err != nil {
			return err
		}
		if rb.ID = ra.ID; bytes.Equal(ra.EncodeJSON(true), rb.EncodeJSON(true)) {
			return nil
		}
		wrongs.addError(b.path(), "one of the two folders", "%s has a different result of the same run (%s), of another "+
			"program; only one of them can be merged", a.path(), runLabel(a.run))
	}
	return wrongs.asError()
}

// rereadRun reads a run's file again and parses it. A change since the first time is an error.
func rereadRun(m *mergeRun) (*Run, error) {
	data, err := m.readAgain()
	if err != nil {
		return nil, err
	}
	return ReadRun(data)
}

// chooseLists chooses the traces and captures of a chosen run from any part that has them with the same ID. It adds an
// error to wrongs if their digests differ between parts.
func (x *merger) chooseLists(best *mergeRun, candidates []*mergeRun, wrongs *problems) {
	lists := map[string][]*mergeRun{}
	texts := map[string][]byte{}
	for _, m := range candidates {
		if m.id != best.id {
			continue // the digests belong to a result with that id
		}
		for _, v := range m.lists {
			if first := lists[v.list]; first != nil && !bytes.Equal(texts[v.list], v.text) {
				wrongs.addError(first[0].part.path(v.list), "only one folder with a trace of this run, or identical traces",
					"%s has digests of different files. A run has one trace; the ports differ, or one of the machines computes "+
						"wrongly", m.part.path(v.list))
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

// setPrograms lists the chosen runs of each program if there are several, in the given order.
func (x *merger) setPrograms(order []executor) {
	runs := map[string][]string{}
	var labels []string
	for _, p := range order {
		if l := x.programLabel(p); !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	for _, m := range x.chosen {
		runs[x.programLabel(m.executor)] = append(runs[x.programLabel(m.executor)], m.id)
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
