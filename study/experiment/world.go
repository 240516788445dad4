package experiment

import (
	"fmt"
	"math"

	"weir/study/measure"
)

// Worlds that an experiment runs in.
const (
	Sim = "sim" // the simulator: the same results again, to the byte
	Lab = "lab" // this machine's kernel and real packets: measurements
)

// Attempt is what a run of the lab says of the machine. A disturbed attempt is made again,
// up to a limit; the last one counts.
type Attempt struct {
	Disturbed []string `json:"disturbed"` // by what; empty: by nothing
	Errors    []string `json:"errors"`    // what must not happen: frames lost where the experiment has no loss
	Frames    uint64   `json:"frames"`    // that left for hosts
	LateP50S  float64  `json:"late_p50_s"`
	LateP99S  float64  `json:"late_p99_s"`
	LateP999S float64  `json:"late_p999_s"`
	LateMaxS  float64  `json:"late_max_s"`
	// frames by powers of two: entry i were less than 2^i ns late, and not less than half of that
	Lateness []uint64  `json:"lateness"`
	StallS   float64   `json:"stall_s"` // longest time in which something was to be done and nothing happened
	RingLost uint64    `json:"ring_lost"`
	Lost     uint64    `json:"lost"`    // frames that kernels dropped or did not take
	Steal    float64   `json:"steal"`   // share of all cores that the hypervisor kept back
	CPU      float64   `json:"cpu"`     // share of one core that the data plane used
	OwnCPU   float64   `json:"own_cpu"` // … and of the process that sends and receives
	Send     *SendLate `json:"send,omitempty"`
	WallS    float64   `json:"wall_s"`
	Replays  []Replay  `json:"replays,omitempty"` // of captured switches
}

// Replay is what came of giving a switch of the simulator the input that one of the lab
// had: the same output, byte for byte and to the picosecond, or the first difference.
type Replay struct {
	Switch     string `json:"switch"`
	In         uint64 `json:"in"`                   // frames that came in
	Out        uint64 `json:"out"`                  // frames that went out alike
	Cut        bool   `json:"cut,omitempty"`        // the capture had no room for what came after
	Difference string `json:"difference,omitempty"` // empty: there is none
}

// SendLate is how late datagrams were sent after their schedule.
type SendLate struct {
	Datagrams uint64  `json:"datagrams"`
	P50S      float64 `json:"p50_s"`
	P99S      float64 `json:"p99_s"`
	MaxS      float64 `json:"max_s"`
}

// Agreement is how one value of one point of the sweep compares between simulator and
// lab: means over the seeds.
type Agreement struct {
	Point    []measure.Coordinate
	Measure  string // goodput, …
	Group    string // "" if the measure has none
	Unit     string
	Sim, Lab float64
	// Judged values are goodputs: they agree if they differ by less than a tenth of the
	// simulator's, or by less than 1 Mb/s (issue "The lab").
	Judged, Agrees bool
}

// Bounds within which a goodput of the lab agrees with the simulator's.
const (
	agreeShare = 0.10
	agreeBPS   = 1e6
)

// mayDisagree is the share of points of which a goodput may be outside.
const mayDisagree = 0.1

// Agreements compares the outcome, which is the lab's, with the simulator's beside it,
// over the points that both have; nil if there is nothing to compare. Points are in the
// order of the sweep, measures in that of the file.
func (o *Outcome) Agreements() []Agreement {
	if o.Beside == nil {
		return nil
	}
	type key struct{ point, measure, group string }
	type sum struct {
		of float64
		n  int
	}
	means := func(runs []*Run) (map[key]*sum, []Agreement) {
		at := map[key]*sum{}
		var order []Agreement
		for _, r := range runs {
			add := func(m *measure.Measured, group string, v float64) {
				k := key{measure.PointName(r.Point), m.Name, group}
				if at[k] == nil {
					at[k] = &sum{}
					order = append(order, Agreement{Point: r.Point, Measure: m.Name, Group: group, Unit: m.Unit})
				}
				at[k].of += v
				at[k].n++
			}
			for i := range r.Measures {
				m := &r.Measures[i]
				if m.Groups == nil {
					add(m, "", m.Value)
				}
				for _, g := range m.Groups {
					add(m, g.Group, g.Value)
				}
			}
		}
		return at, order
	}
	simulated, _ := means(o.Beside.Runs)
	measured, all := means(o.Runs)
	var out []Agreement
	for _, a := range all {
		k := key{measure.PointName(a.Point), a.Measure, a.Group}
		s, l := simulated[k], measured[k]
		if s == nil {
			continue
		}
		a.Sim, a.Lab = s.of/float64(s.n), l.of/float64(l.n)
		if a.Judged = a.Measure == "goodput"; a.Judged {
			a.Agrees = math.Abs(a.Lab-a.Sim) <= max(agreeShare*a.Sim, agreeBPS)
		}
		out = append(out, a)
	}
	return out
}

// Agree says in how many points all goodputs of simulator and lab agree, and whether that
// is enough: one point in ten may be outside.
func Agree(all []Agreement) (inside, points int, enough bool) {
	outside := map[string]bool{}
	for _, a := range all {
		if a.Judged {
			name := measure.PointName(a.Point)
			outside[name] = outside[name] || !a.Agrees
		}
	}
	for _, o := range outside {
		if points++; !o {
			inside++
		}
	}
	return inside, points, float64(points-inside) <= mayDisagree*float64(points)
}

// String is the comparison in words.
func (a *Agreement) String() string {
	name := a.Measure
	if a.Group != "" {
		name += "." + a.Group
	}
	return fmt.Sprintf("%s %s: %s in the simulator, %s in the lab", measure.PointName(a.Point), name, measure.SI(a.Sim)+a.Unit,
		measure.SI(a.Lab)+a.Unit)
}
