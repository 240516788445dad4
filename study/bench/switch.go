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

// SwitchOptions are the options of a benchmark of the lab's data plane.
type SwitchOptions struct {
	Runs int           // rounds; each has one turn of every row
	Time time.Duration // the measured duration of a flow in a turn
	// DataPlane returns the command of the data plane's process (lab.Serve) for a run of an experiment of Experiments.
	DataPlane func(experiment string, run int) (*exec.Cmd, error)
	Progress  func(doing string) // may be nil
	Only      []string           // rows that are measured apart from the direct one; empty: all
	// Schedulings are compared: each shaped row is measured once with each, and unshaped rows are not measured. May be
	// empty.
	Schedulings []live.Scheduling
	// OnLeft receives an error about what dead labs have left that cannot be removed; may be nil.
	OnLeft func(left error)
}

// SwitchFigures is the result of a benchmark of the lab's data plane: one flow of the kernel's TCP (CUBIC, MTU 1500,
// offloads off) between two network namespaces, directly over a veth pair and through Weir's switch.
type SwitchFigures struct {
	Name     string       `json:"benchmark"`
	Runs     int          `json:"runs"`
	Time     float64      `json:"time_s"` // of each measurement
	Cores    int          `json:"cores"`
	CPU      string       `json:"cpu"`
	Kernel   string       `json:"kernel"`
	Unshaped []*SwitchRow `json:"unshaped"` // the first row is the veth pair
	Shaped   []*SwitchRow `json:"shaped"`
	Bars     []SwitchBar  `json:"bars"`
}

// SwitchRow is the result for one path between the two hosts.
type SwitchRow struct {
	Name string `json:"name"` // program or rate
	// Scheduling of the data plane; empty: the lab's default.
	Scheduling live.Scheduling `json:"scheduling,omitempty"`
	Share      float64         `json:"payload_share_bps,omitempty"`
	Delay      float64         `json:"round_trip_s,omitempty"` // of the links
	// Medians over undisturbed turns, or over all turns if all were disturbed.
	Goodput    float64 `json:"goodput_bps"`
	MinGoodput float64 `json:"goodput_bps_min"`
	MaxGoodput float64 `json:"goodput_bps_max"`
	Ratio      float64 `json:"ratio_to_direct,omitempty"` // median of the rounds' ratios
	Compared   int     `json:"ratios"`                    // number of these rounds; 0: all rounds were disturbed
	Packets    float64 `json:"packets_per_s"`             // that the two hosts received
	CPU        float64 `json:"dataplane_cpu,omitempty"`   // fraction of one core
	Lost       uint64  `json:"lost"`                      // in rings and by kernels; sum
	Disturbed  int     `json:"disturbed_turns"`
	Repeats    int     `json:"repeats"` // turns that were repeated because they were disturbed
	// Percentiles of the echoes of these turns together.
	EchoP50 float64 `json:"echo_p50_s"`
	EchoP99 float64 `json:"echo_p99_s"`
	// How late frames were sent in shaped rows: medians of the turns' percentiles.
	LateP50  float64       `json:"late_p50_s,omitempty"`
	LateP99  float64       `json:"late_p99_s,omitempty"`
	LateP999 float64       `json:"late_p999_s,omitempty"`
	Turns    []*SwitchTurn `json:"turns"`

	echoes   []unit.Time
	minRatio float64 // required ratio to direct; 0: there is no requirement
}

// SwitchTurn is one measurement of a row.
type SwitchTurn struct {
	Goodput   float64   `json:"goodput_bps"`
	Packets   float64   `json:"packets_per_s"`
	CPU       float64   `json:"dataplane_cpu,omitempty"`
	Others    float64   `json:"others_cpu"` // share of one core that other processes used
	Lost      uint64    `json:"lost"`
	Late      []float64 `json:"late_s,omitempty"` // p50, p99, p99.9, maximum
	EchoP50   float64   `json:"echo_p50_s"`
	EchoP99   float64   `json:"echo_p99_s"`
	Disturbed []string  `json:"disturbed,omitempty"` // the causes
	Repeats   int       `json:"repeats"`

	echoes []unit.Time
}

// SwitchBar is a bound and the value that was measured.
type SwitchBar struct {
	What    string  `json:"what"`
	Want    float64 `json:"want"`
	Got     float64 `json:"got"`
	Runs    int     `json:"runs"`    // number of undisturbed runs
	Verdict string  `json:"verdict"` // met, missed, or disturbed: all runs were disturbed
}

// Bounds of shaped rows.
const (
	shareWithin = 0.003
	echoAbove   = 500e-6 // s
)

// minRatio returns the required goodput of a row of the unshaped experiment, as a share of the direct path's goodput.
// It reads an embedded file next to the experiment; 0: the row has no requirement.
func minRatio(row string) (required float64, err error) {
	const file = "experiments/switch.bars.txt"
	text, err := Experiments.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if name, ratio, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == row {
			if required, err = strconv.ParseFloat(strings.TrimSpace(ratio), 64); err != nil {
				return 0, fmt.Errorf("%s: %s: %w", file, row, err)
			}
		}
	}
	return required, nil
}

// maxRepeats limits the repetitions of a disturbed turn.
const maxRepeats = 3

// maxOthers limits the share of one core that other processes use in an undisturbed turn.
const maxOthers = 0.1

// ErrRounds is the error of SwitchOptions with numbers out of range.
var ErrRounds = errors.New("bench switch: wrong --runs or --time; 1 to 100 runs of 0.1 s to 60 s are allowed")

// check returns an error if numbers are out of range.
func (o *SwitchOptions) check() error {
	if o.Runs < 1 || o.Runs > 100 || o.Time < 100*time.Millisecond || o.Time > time.Minute {
		return ErrRounds
	}
	return nil
}

// undisturbedTurns returns the indices of the turns that count: the undisturbed ones, or all if all were disturbed.
func (r *SwitchRow) undisturbedTurns() (indices []int) {
	for i, t := range r.Turns {
		if len(t.Disturbed) == 0 {
			indices = append(indices, i)
		}
	}
	if indices == nil {
		for i := range r.Turns {
			indices = append(indices, i)
		}
	}
	return indices
}

// summarize computes the row's figures from its turns, at least one, and from the turns of the direct path in the same
// rounds. direct may be nil: then there is no ratio.
func (r *SwitchRow) summarize(direct *SwitchRow) {
	indices := r.undisturbedTurns()
	medianOf := func(value func(i int) float64) float64 {
		var all []float64
		for _, i := range indices {
			all = append(all, value(i))
		}
		return median(all)
	}
	r.Goodput = medianOf(func(i int) float64 { return r.Turns[i].Goodput })
	r.Packets = medianOf(func(i int) float64 { return r.Turns[i].Packets })
	r.CPU = medianOf(func(i int) float64 { return r.Turns[i].CPU })
	if direct != nil {
		r.Ratio, r.Compared = medianRatio(r, direct)
	}
	r.MinGoodput, r.MaxGoodput = r.Goodput, r.Goodput
	r.Lost, r.Disturbed, r.Repeats, r.echoes = 0, 0, 0, nil
	for _, i := range indices {
		t := r.Turns[i]
		r.MinGoodput, r.MaxGoodput = min(r.MinGoodput, t.Goodput), max(r.MaxGoodput, t.Goodput)
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
		late := func(k int) float64 { return medianOf(func(i int) float64 { return r.Turns[i].Late[k] }) }
		r.LateP50, r.LateP99, r.LateP999 = late(0), late(1), late(2)
	}
}

// medianRatio returns the median over rounds of r's goodput divided by base's. Both must have turns of the same rounds.
// The result compared is the number of these rounds: those in which both turns were undisturbed. Without such rounds it
// takes all rounds and returns 0.
func medianRatio(r, base *SwitchRow) (_ float64, compared int) {
	var quiet, all []float64
	for i, t := range r.Turns {
		q := t.Goodput / base.Turns[i].Goodput
		if all = append(all, q); len(t.Disturbed)+len(base.Turns[i].Disturbed) == 0 {
			quiet = append(quiet, q)
		}
	}
	if quiet == nil {
		return median(all), 0
	}
	return median(quiet), len(quiet)
}

// percentile returns a percentile of a sorted list in seconds: the smallest value that is not exceeded by p per cent of
// the list, with p from 1 to 100; 0 for an empty list.
func percentile(sorted []unit.Time, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1].Seconds()
}

// addBars compares the rows with their bounds and replaces the bars. Schedulings (name clock) have no bounds in shaped
// rows.
func (f *SwitchFigures) addBars() {
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
		if r.minRatio > 0 {
			bar(r.Compared, r.Name+": goodput, share of direct", r.minRatio, r.Ratio, r.Ratio >= r.minRatio)
		}
	}
	if f.Name == "clock" {
		return // schedulings are only compared
	}
	for _, r := range f.Shaped {
		quiet := len(r.Turns) - r.Disturbed
		off := max(r.MaxGoodput/r.Share-1, 1-r.MinGoodput/r.Share)
		bar(quiet, r.Name+": largest error of goodput", shareWithin, off, off <= shareWithin)
		above := r.EchoP99 - r.Delay
		bar(quiet, r.Name+": idle echo p99 above the delay [s]", echoAbove, above, above < echoAbove)
	}
}

// String returns the figures as text in 80 columns.
func (f *SwitchFigures) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, report.WrapText(fmt.Sprintf("%s: %d interleaved runs of %.3g s, on %d cores of %s, Linux %s", f.Name,
		f.Runs, f.Time, f.Cores, f.CPU, f.Kernel), report.DefaultWidth, "    "))
	mega := func(v float64) string { return fmt.Sprintf("%.0f", v/1e6) }
	if len(f.Unshaped) > 0 {
		b.WriteString(`
One TCP flow (CUBIC), MTU 1500, no offloads; direct: a veth pair, no switch.
Medians; packets of both hosts; CPU of the data plane, in % of a core; d/r: runs
that were disturbed, and repetitions of disturbed runs.

          goodput [Mb/s]            of   kpkt  CPU  idle echo [us]
          median        min–max direct     /s    %     p50    p99  lost   d/r
`)
		for _, r := range f.Unshaped {
			cpu, lost := fmt.Sprintf("%.0f", 100*r.CPU), fmt.Sprint(r.Lost)
			if r.Name == direct {
				cpu, lost = "–", "–"
			}
			fmt.Fprintf(&b, "%-8s %7s %14s %6.2f %6.0f %4s %7.0f %6.0f %5s %5s\n", r.Name, mega(r.Goodput),
				mega(r.MinGoodput)+"–"+
					mega(r.MaxGoodput), r.Ratio,
				r.Packets/1e3, cpu, 1e6*r.EchoP50, 1e6*r.EchoP99, lost, r.disturbances())
		}
	}
	if len(f.Shaped) > 0 {
		b.WriteString(`
One TCP flow at a bottleneck, 5 ms each way; error against the payload's share,
1448 of 1514 bytes; late: delay of frames after their transmission time;
echoes without the links' 10 ms.

                 goodput  error [%]    CPU          late [us]     idle [us]
                  [Mb/s]   min   max     %   p50    p99  p99.9    p50    p99 d/r
`)
		for _, r := range f.Shaped {
			off := func(v float64) float64 { return 100 * (v/r.Share - 1) }
			fmt.Fprintf(&b, "%-7s %-8s %7.2f %+5.2f %+5.2f  %4.0f %5.0f %6.0f %6.0f %6.0f %6.0f %3s\n", r.Name, r.Scheduling,
				r.Goodput/1e6,
				off(r.MinGoodput), off(r.MaxGoodput), 100*r.CPU,
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
				fmt.Fprintln(&b, report.WrapText(fmt.Sprintf("disturbed: %s, run %d: %s", name, i+1, strings.Join(t.Disturbed,
					", ")),
					report.DefaultWidth, "    "))
			}
		}
	}
	return b.String()
}

// disturbances returns the number of the row's disturbed runs and of its repetitions, as text: 1/2.
func (r *SwitchRow) disturbances() string { return fmt.Sprintf("%d/%d", r.Disturbed, r.Repeats) }

// JSON returns the figures as a document.
func (f *SwitchFigures) JSON() []byte {
	b, _ := json.MarshalIndent(f, "", "  ")
	return append(b, '\n')
}

// direct is the name of the path without a switch.
const direct = "direct"
