package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/core/unit"
	"weir/study/report"
	"weir/worlds/live"
)

// SwitchOptions is what a benchmark of the lab's data plane takes.
type SwitchOptions struct {
	Runs int           // rounds, in each of which every row has its turn
	Time time.Duration // for which a flow is measured, in each of its turns
	// DataPlane is the process of the data plane (lab.Serve) of a run of an experiment of
	// Experiments.
	DataPlane func(experiment string, run int) (*exec.Cmd, error)
	Progress  func(doing string) // may be nil
	Only      []string           // rows besides the direct one; all if there are none
	// Schedulings, if there are any, are compared: each shaped row is there once for each, and nothing else.
	Schedulings []live.Scheduling
	// OnLeft is told what dead labs have left that cannot be removed; nil: nobody is.
	OnLeft func(left error)
}

// SwitchFigures is what a benchmark of the lab's data plane gives: one flow of the
// kernel's TCP (CUBIC, MTU 1500, offloads off) between two network namespaces, over a veth
// pair alone and through Weir's switch.
type SwitchFigures struct {
	Name     string       `json:"benchmark"`
	Runs     int          `json:"runs"`
	Time     float64      `json:"time_s"` // of each measurement
	Cores    int          `json:"cores"`
	CPU      string       `json:"cpu"`
	Kernel   string       `json:"kernel"`
	Unshaped []*SwitchRow `json:"unshaped"` // the first one is the veth pair
	Shaped   []*SwitchRow `json:"shaped"`
	Bars     []SwitchBar  `json:"bars"`
}

// SwitchRow is one way between the two hosts.
type SwitchRow struct {
	Name string `json:"name"` // program or rate
	// Scheduling of the data plane; empty: the lab's usual one.
	Scheduling live.Scheduling `json:"scheduling,omitempty"`
	Share      float64         `json:"payload_share_bps,omitempty"`
	Delay      float64         `json:"round_trip_s,omitempty"` // of the links
	// Medians over the turns that nothing disturbed, or over all if there are none.
	Goodput   float64 `json:"goodput_bps"`
	Least     float64 `json:"goodput_bps_min"`
	Most      float64 `json:"goodput_bps_max"`
	Ratio     float64 `json:"ratio_to_direct,omitempty"` // median of the rounds' ratios
	Compared  int     `json:"ratios"`                    // over how many; 0: all rounds were disturbed
	Packets   float64 `json:"packets_per_s"`             // that the two hosts received
	CPU       float64 `json:"dataplane_cpu,omitempty"`   // share of one core
	Lost      uint64  `json:"lost"`                      // in rings and by kernels; sum
	Disturbed int     `json:"disturbed_turns"`
	Repeats   int     `json:"repeats"` // turns that were repeated because they were disturbed
	// Percentiles of all these turns' echoes together.
	EchoP50 float64 `json:"echo_p50_s"`
	EchoP99 float64 `json:"echo_p99_s"`
	// How late frames left, of shaped rows: medians of the turns' percentiles.
	LateP50  float64       `json:"late_p50_s,omitempty"`
	LateP99  float64       `json:"late_p99_s,omitempty"`
	LateP999 float64       `json:"late_p999_s,omitempty"`
	Turns    []*SwitchTurn `json:"turns"`

	echoes []unit.Time
	least  float64 // ratio to direct that is met; 0: there is no bar
}

// SwitchTurn is one measurement.
type SwitchTurn struct {
	Goodput   float64   `json:"goodput_bps"`
	Packets   float64   `json:"packets_per_s"`
	CPU       float64   `json:"dataplane_cpu,omitempty"`
	Others    float64   `json:"others_cpu"` // share of one core that others used
	Lost      uint64    `json:"lost"`
	Late      []float64 `json:"late_s,omitempty"` // p50, p99, p99.9, most
	EchoP50   float64   `json:"echo_p50_s"`
	EchoP99   float64   `json:"echo_p99_s"`
	Disturbed []string  `json:"disturbed,omitempty"` // by what
	Repeats   int       `json:"repeats"`

	echoes []unit.Time
}

// SwitchBar is a bound and what was measured.
type SwitchBar struct {
	What    string  `json:"what"`
	Want    float64 `json:"want"`
	Got     float64 `json:"got"`
	Runs    int     `json:"runs"`    // that were not disturbed
	Verdict string  `json:"verdict"` // met, missed, or disturbed: all of them were
}

// Bounds of the bars.
const (
	shareWithin = 0.003
	echoAbove   = 500e-6 // s
)

// leastRatio is the least goodput of a row of the unshaped experiment, as a share of the direct
// way's, which stands beside the experiment; 0: the row has no bar.
func leastRatio(row string) (least float64, err error) {
	const file = "experiments/switch.bars.txt"
	text, err := Experiments.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if name, ratio, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == row {
			if least, err = strconv.ParseFloat(strings.TrimSpace(ratio), 64); err != nil {
				return 0, fmt.Errorf("%s: %s: %w", file, row, err)
			}
		}
	}
	return least, nil
}

// most is how often a disturbed turn is repeated.
const mostRepeats = 3

// mostOthers is the share of one core that others may use in an undisturbed turn.
const mostOthers = 0.1

// ErrRounds: numbers of SwitchOptions that cannot be.
var ErrRounds = errors.New("bench switch: 1 to 100 runs of 0.1 s to 60 s are possible")

func (o *SwitchOptions) check() error {
	if o.Runs < 1 || o.Runs > 100 || o.Time < 100*time.Millisecond || o.Time > time.Minute {
		return ErrRounds
	}
	return nil
}

// undisturbed returns the turns that count: those that nothing disturbed, or all if
// there is none.
func (r *SwitchRow) undisturbed() (at []int) {
	for i, t := range r.Turns {
		if len(t.Disturbed) == 0 {
			at = append(at, i)
		}
	}
	if at == nil {
		for i := range r.Turns {
			at = append(at, i)
		}
	}
	return at
}

// sum makes a row's figures of its turns, and of those of the direct way, nil if there
// is none to be compared with.
func (r *SwitchRow) sum(direct *SwitchRow) {
	at := r.undisturbed()
	of := func(value func(i int) float64) float64 {
		var all []float64
		for _, i := range at {
			all = append(all, value(i))
		}
		return median(all)
	}
	r.Goodput = of(func(i int) float64 { return r.Turns[i].Goodput })
	r.Packets = of(func(i int) float64 { return r.Turns[i].Packets })
	r.CPU = of(func(i int) float64 { return r.Turns[i].CPU })
	if direct != nil {
		r.Ratio, r.Compared = ratio(r, direct)
	}
	r.Least, r.Most = r.Goodput, r.Goodput
	r.Lost, r.Disturbed, r.Repeats, r.echoes = 0, 0, 0, nil
	for _, i := range at {
		t := r.Turns[i]
		r.Least, r.Most = min(r.Least, t.Goodput), max(r.Most, t.Goodput)
		r.echoes = append(r.echoes, t.echoes...)
	}
	for _, t := range r.Turns {
		r.Lost += t.Lost
		r.Repeats += t.Repeats
		if len(t.Disturbed) > 0 {
			r.Disturbed++
		}
	}
	slices.Sort(r.echoes)
	r.EchoP50, r.EchoP99 = percentile(r.echoes, 50), percentile(r.echoes, 99)
	if r.Share > 0 {
		late := func(k int) float64 { return of(func(i int) float64 { return r.Turns[i].Late[k] }) }
		r.LateP50, r.LateP99, r.LateP999 = late(0), late(1), late(2)
	}
}

// ratio is the median over the rounds of the ratio of two rows' goodputs, and over how
// many that was: the rounds in which nothing disturbed either, or all if there are none.
func ratio(r, to *SwitchRow) (_ float64, compared int) {
	var quiet, all []float64
	for i, t := range r.Turns {
		q := t.Goodput / to.Turns[i].Goodput
		if all = append(all, q); len(t.Disturbed)+len(to.Turns[i].Disturbed) == 0 {
			quiet = append(quiet, q)
		}
	}
	if quiet == nil {
		return median(all), 0
	}
	return median(quiet), len(quiet)
}

// percentile is that of a sorted list, in seconds: the least value that p per cent do not
// exceed; 0 of an empty list.
func percentile(sorted []unit.Time, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1].Seconds()
}

// judge makes the bars.
func (f *SwitchFigures) judge() {
	f.Bars = nil
	bar := func(quiet int, what string, want, got float64, met bool) {
		verdict := "missed"
		switch {
		case quiet == 0:
			verdict = "disturbed"
		case met:
			verdict = "met"
		}
		f.Bars = append(f.Bars, SwitchBar{what, want, got, quiet, verdict})
	}
	for _, r := range f.Unshaped {
		if r.least > 0 {
			bar(r.Compared, r.Name+": goodput, share of direct", r.least, r.Ratio, r.Ratio >= r.least)
		}
	}
	if f.Name == "clock" {
		return // it compares
	}
	for _, r := range f.Shaped {
		quiet := len(r.Turns) - r.Disturbed
		off := max(r.Most/r.Share-1, 1-r.Least/r.Share)
		bar(quiet, r.Name+": largest error of goodput", shareWithin, off, off <= shareWithin)
		above := r.EchoP99 - r.Delay
		bar(quiet, r.Name+": idle echo p99 above the delay [s]", echoAbove, above, above < echoAbove)
	}
}

// String prints the figures for people, in 80 columns.
func (f *SwitchFigures) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, report.Wrap(fmt.Sprintf("%s: %d interleaved runs of %.3g s, on %d cores of %s, Linux %s", f.Name,
		f.Runs, f.Time, f.Cores, f.CPU, f.Kernel), report.Width, "    "))
	mega := func(v float64) string { return fmt.Sprintf("%.0f", v/1e6) }
	if len(f.Unshaped) > 0 {
		b.WriteString(`
One TCP flow (CUBIC), MTU 1500, no offloads; direct: a veth pair, no switch.
Medians; packets of both hosts; CPU of the data plane, of a core; d/r: runs that
were disturbed, and how often disturbed ones were repeated.

          goodput [Mb/s]            of   kpkt  CPU  idle echo [us]
          median        min–max direct     /s    %     p50    p99  lost   d/r
`)
		for _, r := range f.Unshaped {
			cpu, lost := fmt.Sprintf("%.0f", 100*r.CPU), fmt.Sprint(r.Lost)
			if r.Name == direct {
				cpu, lost = "–", "–"
			}
			fmt.Fprintf(&b, "%-8s %7s %14s %6.2f %6.0f %4s %7.0f %6.0f %5s %5s\n", r.Name, mega(r.Goodput), mega(r.Least)+"–"+
				mega(r.Most), r.Ratio,
				r.Packets/1e3, cpu, 1e6*r.EchoP50, 1e6*r.EchoP99, lost, r.disturbances())
		}
	}
	if len(f.Shaped) > 0 {
		b.WriteString(`
One TCP flow at a bottleneck, 5 ms each way; error against the payload's share,
1448 of 1514 bytes; late: how long after their time frames left; echoes without
the links' 10 ms.

                 goodput  error [%]    CPU          late [us]     idle [us]
                  [Mb/s]   min   max     %   p50    p99  p99.9    p50    p99 d/r
`)
		for _, r := range f.Shaped {
			off := func(v float64) float64 { return 100 * (v/r.Share - 1) }
			fmt.Fprintf(&b, "%-7s %-8s %7.2f %+5.2f %+5.2f  %4.0f %5.0f %6.0f %6.0f %6.0f %6.0f %3s\n", r.Name, r.Scheduling,
				r.Goodput/1e6,
				off(r.Least), off(r.Most), 100*r.CPU,
				1e6*r.LateP50, 1e6*r.LateP99, 1e6*r.LateP999, 1e6*(r.EchoP50-r.Delay), 1e6*(r.EchoP99-r.Delay), r.disturbances())
		}
	}
	b.WriteString("\n")
	for _, bar := range f.Bars {
		fmt.Fprintf(&b, "%-9s %-41s %.3g, bar %.3g, n = %d\n", bar.Verdict, bar.What, bar.Got, bar.Want, bar.Runs)
	}
	for _, r := range append(slices.Clone(f.Unshaped), f.Shaped...) {
		name := strings.TrimSpace(r.Name + " " + string(r.Scheduling))
		for i, t := range r.Turns {
			if len(t.Disturbed) > 0 {
				fmt.Fprintln(&b, report.Wrap(fmt.Sprintf("disturbed: %s, run %d: %s", name, i+1, strings.Join(t.Disturbed, ", ")),
					report.Width, "    "))
			}
		}
	}
	return b.String()
}

// disturbances are how many of a row's runs were disturbed, and how many repeats there
// were.
func (r *SwitchRow) disturbances() string { return fmt.Sprintf("%d/%d", r.Disturbed, r.Repeats) }

// JSON prints them for programs.
func (f *SwitchFigures) JSON() []byte {
	b, _ := json.MarshalIndent(f, "", "  ")
	return append(b, '\n')
}

// direct is the name of the way without a switch.
const direct = "direct"
