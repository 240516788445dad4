package switchfile

import (
	"fmt"
	"sort"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/document"
)

// Program is one entry of a list of programs with its parameters.
type Program struct {
	Scheme   *dataplane.Scheme
	Config   scheme.Config     // values of the parameters
	Traits   dataplane.Traits  // with these parameters
	Position document.Position // place of the name
	entry    *document.Node
	params   *document.Node
}

// CanonicalText returns the program with all its parameters as canonical YAML. Two programs are equal if their texts
// are.
func (p *Program) CanonicalText() string { return p.entry.FormatFlow() }

// ReportRemarks checks the program in a switch context. It reports errors to r and passes warnings with their Excess to
// warn. Each remark carries the place of its parameter, else of the program's name.
func (p *Program) ReportRemarks(r *document.Reader, s *dataplane.SwitchContext,
	warn func(w document.Warning, excess float64)) {
	reportRemarks(r, s, "program "+p.Scheme.Name, p.Config, p.Position, p.params, warn)
}

// ReportRemarks checks the scheduler in a switch context, like Program.ReportRemarks.
func (x *SchedulerChoice) ReportRemarks(r *document.Reader, s *dataplane.SwitchContext,
	warn func(w document.Warning, excess float64)) {
	reportRemarks(r, s, "scheduler "+x.Scheme.Name, x.Config, x.Position, x.params, warn)
}

// reportRemarks passes the remarks of dataplane.Check about the configuration c to r (errors) and warn. subject, such
// as "program forward", and place identify it.
func reportRemarks(r *document.Reader, s *dataplane.SwitchContext, subject string, c scheme.Config,
	place document.Position, params *document.Node, warn func(w document.Warning, excess float64)) {
	for _, x := range dataplane.Check(c, s) {
		at, text := place, x.Text
		if x.Param != "" {
			text = x.Param + ": " + text
			if v := params.Find(x.Param); v != nil && v.Position.Line > 0 {
				at = v.Position
			}
		}
		if text = subject + ": " + text; s.Switch != "" {
			text = "switch " + s.Switch + ": " + text
		}
		if x.Refused {
			r.Fail(at, "", "%s", text)
		} else {
			warn(document.Warning{Kind: x.Kind, At: at, Port: x.Port, Text: text}, x.Excess)
		}
	}
}

// QueueLimit returns the maximum length of a switch's queue before the buffers of its ports: the lower of the queue
// limit and the limit of a shared buffer among the programs of list. Classes with pauses have no thresholds in a shared
// buffer, so only the queue limit applies. The argument ports is the number of ports.
func QueueLimit(limit unit.Length, list []Program, ports int) unit.Length {
	shared, pauses := unit.Length{}, false
	for i := range list {
		if t := &list[i].Traits; t.MaxQueue != nil {
			shared = shared.LowerOf(unit.Length{Bytes: t.MaxQueue(ports)})
		}
		pauses = pauses || list[i].Traits.Pauses
	}
	if pauses {
		return limit
	}
	return limit.LowerOf(shared)
}

// Placement is where a list of programs runs.
type Placement uint8

// The placements.
const (
	InNetwork  Placement = iota // switch in a network
	Standalone                  // switch on its own
	Sample                      // program without the others that it requires, to measure its footprint
)

// ReadPrograms reads a list of programs, each from known and at most once: names, or {name: {parameter: value}}. It
// expands names in t and fills in defaults. It skips the word none. It notes errors in r. Except for a Sample it checks
// the order of the programs: a program that uses the port needs an earlier one that chooses it.
func ReadPrograms(r *document.Reader, known []dataplane.Scheme, t *document.Node, place Placement) []Program {
	if t.Kind != document.List {
		r.Fail(t.Position, "[forward, …]", "the value is not a list of programs but %v", t.Kind)
		return nil
	}
	var names []string
	for _, s := range known {
		names = append(names, s.Name)
	}
	sort.Strings(names)
	var out []Program
	for _, x := range t.Items {
		where := x.Position
		if x.Kind == document.Scalar && x.Text == "none" {
			continue
		}
		name, params := r.SplitNamed(x, "program")
		if params == nil {
			continue
		}
		for i := range out {
			if out[i].Scheme.Name == name {
				r.Fail(where, "each program once", "%s is here a second time", name)
				break
			}
		}
		found := false
		for i := range known {
			if s := &known[i]; s.Name == name {
				c := r.DecodeConfig(&s.Scheme, params, nil)
				out = append(out, Program{s, c, dataplane.TraitsOf(c), where, x, params})
				found = true
			}
		}
		if !found {
			r.FailUnknown(where, "program", name, names)
		}
	}
	if place != Sample {
		checkOrder(r, out, place == Standalone)
	}
	return out
}

// checkOrder notes an error for each program that uses the egress port unless it follows all programs of the list that
// choose the port, and the list has at least one.
func checkOrder(r *document.Reader, list []Program, standalone bool) {
	last := -1 // index of the last program that chooses the port
	for i := range list {
		if list[i].Traits.ChoosesPort(standalone) {
			last = i
		}
	}
	for i := range list {
		p := &list[i]
		switch {
		case !p.Traits.UsesPort || last >= 0 && last < i:
		case last < 0:
			r.Fail(p.Position, fmt.Sprintf("[forward, …, %s]", p.Scheme.Name),
				"program %s uses the egress port of packets, which "+
					"no program of the list chooses", p.Scheme.Name)
		default:
			r.Fail(p.Position, fmt.Sprintf("[%s, …, %s]", list[last].Scheme.Name, p.Scheme.Name),
				"program %s uses the egress port "+
					"of packets, which program %s chooses after it", p.Scheme.Name, list[last].Scheme.Name)
		}
	}
}

// NewScheduler creates the scheduler of a port with the given number of queues and rate.
type NewScheduler func(queues int, rate unit.LinkRate) (tm.Scheduler, error)

// SchedulerChoice is the scheduler of a port's queues with its parameters.
type SchedulerChoice struct {
	Scheme   *tm.Scheme
	Config   scheme.Config
	Traits   dataplane.Traits  // with these parameters
	Position document.Position // place of the name
	Make     NewScheduler
	params   *document.Node
}

// ReadScheduler reads the scheduler of a port's queues, one of known. It expands a name in t and fills in defaults. It
// checks that the scheduler supports the number of queues. It notes errors in r and returns nil if there is no such
// scheduler.
func ReadScheduler(r *document.Reader, known []tm.Scheme, t *document.Node, queues int) *SchedulerChoice {
	where := t.Position
	name, params := r.SplitNamed(t, "scheduler")
	if params == nil {
		return nil
	}
	var names []string
	for i := range known {
		s := &known[i]
		names = append(names, s.Name)
		if s.Name == name {
			c := r.DecodeConfig(&s.Scheme, params, nil)
			if _, err := s.Build(queues, unit.LinkRate{Bits: unit.Gbps}, c); err != nil && r.OK() {
				r.Fail(where, "", "%v", err)
			}
			return &SchedulerChoice{s, c, dataplane.TraitsOf(c), where, func(queues int, rate unit.LinkRate) (tm.Scheduler,
				error) {
				return s.Build(queues, rate, c)
			}, params}
		}
	}
	r.FailUnknown(where, "scheduler", name, names)
	return nil
}

// ReadQueueCount reads the number of queues of a port, 1 to tm.MaxQueues. It notes an error in r and returns 1 for any
// other value.
func ReadQueueCount(r *document.Reader, t *document.Node) int {
	return r.ReadInteger(t, 1, tm.MaxQueues)
}

// ReadBuffer reads the limit of a port's buffer or of one of its queues, in packets or bytes. It must be at least one
// of them. It notes errors in r.
func ReadBuffer(r *document.Reader, t *document.Node) unit.Length {
	l, err := unit.ParseLength(r.ReadText(t))
	switch {
	case t.Kind != document.Scalar:
	case err != nil:
		r.Fail(t.Position, "24 packets, or 36kB", "%v", err)
	case l.Packets < 1 && l.Bytes < 1:
		r.Fail(t.Position, "at least 1 packet", "a buffer of %q holds no packet", t.Text)
	}
	return l
}
