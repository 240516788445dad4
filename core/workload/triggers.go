package workload

import (
	"fmt"
	"slices"
)

// TriggerKind is the effect of a trigger's activations.
type TriggerKind uint8

// Kinds of triggers, as htsim has them.
const (
	OneShot   TriggerKind = iota // the first begins all flows that wait
	MultiShot                    // each begins the next one
	Barrier                      // the last of Count begins all
)

// Trigger begins flows when others have ended. Flows are indices in a list of flows.
type Trigger struct {
	Kind    TriggerKind
	Count   int   // activations that a Barrier waits for
	Sent    []int // flows that activate it when their sender has received all acknowledgements
	Arrived []int // flows that activate it when their receiver has received all data
	Begins  []int // flows that wait for it, in the order in which a MultiShot begins them
	Line    int   // line of its declaration in the file
}

// maxActivations returns the maximum number of activations of the trigger.
func (t *Trigger) maxActivations() int { return len(t.Sent) + len(t.Arrived) }

// flowsBegun returns the flows that this number of activations begins. The slice is part of Begins.
func (t *Trigger) flowsBegun(activations int) []int {
	switch {
	case t.Kind == MultiShot:
		return t.Begins[:min(activations, len(t.Begins))]
	case t.Kind == Barrier && activations < t.Count, activations == 0:
		return nil
	}
	return t.Begins
}

// BegunBy returns the flows that activation n begins, counted from 1. The slice is part of Begins.
func (t *Trigger) BegunBy(n int) []int { return t.flowsBegun(n)[len(t.flowsBegun(n-1)):] }

// triggerUse is a place where a flow names a trigger.
type triggerUse struct {
	flow   int
	line   int
	column int
	word   string
	id     int64
}

// addUse records that the current flow names a trigger: its word is the given field and its number the next one.
func (m *matrixReader) addUse(field int) error {
	id, err := m.parseNumber(field+1, "the trigger", 0, 1<<40)
	if err == nil {
		m.uses = append(m.uses, triggerUse{len(m.flows), m.line, columnOf(m.text, field+1), m.fields[field], id})
	}
	return err
}

// parseTrigger parses a declaration. It fails on a repeated id, or on more triggers than announced.
func (m *matrixReader) parseTrigger() error {
	if len(m.fields) < 2 || m.fields[1] != "id" {
		return m.errorf(0, "a trigger is declared by: trigger id n oneshot, multishot or barrier [count] k")
	}
	id, err := m.parseNumber(2, "the trigger's id", 0, 1<<40)
	if err != nil {
		return err
	}
	if m.triggers[id] != nil {
		return m.errorf(2, "trigger %d is declared twice, first in line %d", id, m.triggers[id].Line)
	}
	if m.announcedTriggers >= 0 && int64(len(m.order)) == m.announcedTriggers {
		return m.errorf(0, "more than the %d triggers that the file announces", m.announcedTriggers)
	}
	t := &Trigger{Line: m.line}
	words, rest := []string{"oneshot", "multishot", "barrier"}, 4
	if len(m.fields) < 4 {
		return m.errorAt(len(m.text)+1, "the line ends; oneshot, multishot or barrier is missing")
	}
	kind := slices.Index(words, m.fields[3])
	if kind < 0 {
		return m.errorf(3, "%q is no kind of trigger; oneshot, multishot and barrier are", m.fields[3])
	}
	if t.Kind = TriggerKind(kind); t.Kind == Barrier && len(m.fields) > 4 {
		if m.fields[4] == "count" {
			rest = 5
		}
		n, err := m.parseNumber(rest, "the number of activations", 1, MaxFlows)
		if err != nil {
			return err
		}
		t.Count = int(n)
		rest++
	}
	if len(m.fields) > rest {
		return m.errorf(rest, "%q stands behind the trigger", m.fields[rest])
	}
	m.triggers[id] = t
	m.order = append(m.order, id)
	return nil
}

// joinTriggers connects triggers and flows in m.triggers, and verifies that all flows begin. A Barrier without a count
// gets the number of its possible activations. The result is in the order of the declarations. It must be called once.
func (m *matrixReader) joinTriggers() ([]Trigger, error) {
	waits := map[int]triggerUse{}
	for _, u := range m.uses {
		t := m.triggers[u.id]
		if t == nil {
			return nil, m.errorAtLine(u.line, u.column, "there is no trigger %d; the file declares %s", u.id, m.listDeclared())
		}
		switch u.word {
		case "trigger":
			t.Begins = append(t.Begins, u.flow)
			waits[u.flow] = u
		case "send_done_trigger":
			t.Sent = append(t.Sent, u.flow)
		default:
			t.Arrived = append(t.Arrived, u.flow)
		}
	}
	var all []Trigger
	for _, id := range m.order {
		t := m.triggers[id]
		n := t.maxActivations()
		if t.Kind == Barrier && t.Count == 0 {
			t.Count = n
		}
		switch {
		case len(t.Begins) == 0: // no flow waits for it
		case n == 0:
			return nil, m.errorAtLine(t.Line, 1, "nothing activates trigger %d, for which %s", id, m.describeWaiting(t.Begins))
		case t.Kind == Barrier && n < t.Count:
			return nil, m.errorAtLine(t.Line, 1, "barrier %d waits for %d activations, and there are %d; %s", id, t.Count, n,
				m.describeWaiting(t.Begins))
		case t.Kind == MultiShot && n < len(t.Begins):
			return nil, m.errorAtLine(t.Line, 1, "trigger %d is activated %d times, and %s", id, n, m.describeWaiting(t.Begins))
		}
		all = append(all, *t)
	}
	if stuck := m.findStuck(all, waits); stuck >= 0 {
		u := waits[stuck]
		return nil, m.errorAtLine(u.line, u.column, "the flow never begins: trigger %d comes after the flow itself, by the "+
			"flows of lines %s", u.id, m.listCircle(stuck, waits))
	}
	return all, nil
}

// errorAtLine returns an error at a position of the file.
func (m *matrixReader) errorAtLine(line, column int, format string, args ...any) error {
	return &FormatError{m.file, line, column, fmt.Sprintf(format, args...), false}
}

// listDeclared lists up to five declared triggers, for errors.
func (m *matrixReader) listDeclared() (text string) {
	for i, id := range m.order {
		if i == 5 {
			return text + ", …"
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(id)
	}
	if text == "" {
		return "none"
	}
	return text
}

// describeWaiting describes the number of waiting flows, for errors.
func (m *matrixReader) describeWaiting(flows []int) string {
	if len(flows) == 1 {
		return fmt.Sprintf("the flow of line %d waits", m.flows[flows[0]].At.Line)
	}
	return fmt.Sprintf("%d flows wait, the first in line %d", len(flows), m.flows[flows[0]].At.Line)
}

// findStuck returns the first flow that never begins, or −1. startTriggers has the trigger for which each waiting flow
// waits.
func (m *matrixReader) findStuck(all []Trigger, startTriggers map[int]triggerUse) int {
	fires := make([][]int, len(m.flows)) // by flow, the triggers that it activates
	for k := range all {
		for _, f := range slices.Concat(all[k].Sent, all[k].Arrived) {
			fires[f] = append(fires[f], k)
		}
	}
	var begun []int
	began := make([]bool, len(m.flows))
	begin := func(f int) {
		if !began[f] {
			began[f] = true
			begun = append(begun, f)
		}
	}
	for f := range m.flows {
		if _, ok := startTriggers[f]; !ok {
			begin(f)
		}
	}
	count := make([]int, len(all))
	for i := 0; i < len(begun); i++ {
		for _, k := range fires[begun[i]] {
			count[k]++
			for _, f := range all[k].BegunBy(count[k]) {
				begin(f)
			}
		}
	}
	return slices.Index(began, false)
}

// listCircle lists the lines of the flows that a flow which never begins waits for, up to the first that repeats.
// startTriggers is as in findStuck.
func (m *matrixReader) listCircle(flow int, startTriggers map[int]triggerUse) (lines string) {
	seen := map[int]bool{}
	for at := flow; !seen[at]; {
		seen[at] = true
		if lines != "" {
			lines += ", "
		}
		lines += fmt.Sprint(m.flows[at].At.Line)
		t := m.triggers[startTriggers[at].id]
		next := -1
		for _, f := range slices.Concat(t.Sent, t.Arrived) {
			if _, ok := startTriggers[f]; ok && next < 0 {
				next = f
			}
		}
		if next < 0 {
			break
		}
		at = next
	}
	return lines
}
