package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// maxForeign limits the share of the cores that other processes use in a round that counts.
const maxForeign = 0.05

// ThreadsRow compares runs of one size on one thread and on several threads.
type ThreadsRow struct {
	Hosts     int       `json:"hosts"`
	Flow      int64     `json:"flow_bytes"`
	Threads   int       `json:"threads"`
	Auto      bool      `json:"auto,omitempty"`
	One       float64   `json:"wall_one_s"` // medians over rounds that count
	Wall      float64   `json:"wall_s"`
	SpeedUp   float64   `json:"speed_up"`  // median of the rounds' values
	MoreCPU   float64   `json:"cpu_ratio"` // median of the rounds' ratios of CPU time
	Rounds    int       `json:"rounds"`    // number of rounds that count
	Discarded int       `json:"discarded"`
	Turns     [][]*Turn `json:"turns"` // by round: the turn on one thread, then on several
}

// ThreadsFigures is the result of Threads.
type ThreadsFigures struct {
	Name    string        `json:"benchmark"`
	Machine Machine       `json:"machine"`
	Rows    []*ThreadsRow `json:"rows"`
}

// maxTries limits the rounds for each round that counts.
const maxTries = 4

// Threads times complete HPCC++ on one thread and on the given number of threads, in turns: 128 hosts with 2 MB and
// 1,024 hosts with 200 kB per flow. Rounds in which other processes used the cores are discarded and counted; after
// maxTries·o.Rounds rounds, a row may have fewer than o.Rounds. It returns an error if the results of both differ.
func Threads(ctx context.Context, threads int, o TurnOptions) (*ThreadsFigures, error) {
	f := &ThreadsFigures{Name: "threads", Machine: thisMachine()}
	for _, auto := range []bool{false, true} {
		f.Rows = append(f.Rows, &ThreadsRow{Hosts: 128, Flow: 2_000_000, Threads: threads, Auto: auto},
			&ThreadsRow{Hosts: 1024, Flow: 200_000, Threads: threads, Auto: auto})
	}
	for try := 0; try < maxTries*o.Rounds; try++ {
		open := false
		for _, r := range f.Rows {
			if r.Rounds == o.Rounds {
				continue
			}
			open = true
			o.report("round %d: %d hosts, %d discarded", try+1, r.Hosts, r.Discarded)
			if err := r.runRound(ctx, &o, try); err != nil {
				return nil, err
			}
		}
		if !open {
			break
		}
	}
	for _, r := range f.Rows {
		r.setMedians()
	}
	return f, nil
}

// runRound runs round number try, and adds its turns unless it is discarded. It returns an error if the results on one
// and several threads differ.
func (r *ThreadsRow) runRound(ctx context.Context, o *TurnOptions, try int) error {
	turns := make([]*Turn, 2)
	for k := range turns {
		which := (k + try) % 2 // the order alternates
		s := TurnSpec{Load: Permutation, Hosts: r.Hosts, Flow: r.Flow, Threads: 1}
		if which == 1 {
			s.Threads, s.Auto = r.Threads, r.Auto
		}
		t, err := o.RunTurn(ctx, s)
		if err != nil {
			return err
		}
		turns[which] = t
	}
	one, several := turns[0], turns[1]
	if one.FCTHash != several.FCTHash || one.Events != several.Events {
		return fmt.Errorf("bench threads: %d hosts: %d threads have other flow completion times than one thread",
			r.Hosts, r.Threads)
	}
	if max(one.OthersShare, several.OthersShare) > maxForeign {
		r.Discarded++
		return nil
	}
	r.Rounds++
	r.Turns = append(r.Turns, turns)
	return nil
}

// setMedians sets the row's figures from its turns. Without turns they stay 0.
func (r *ThreadsRow) setMedians() {
	var one, wall, up, cpu []float64
	for _, t := range r.Turns {
		one, wall = append(one, t[0].Wall), append(wall, t[1].Wall)
		up, cpu = append(up, t[0].Wall/t[1].Wall), append(cpu, t[1].CPU/t[0].CPU)
	}
	if len(up) > 0 {
		r.One, r.Wall, r.SpeedUp, r.MoreCPU = median(one), median(wall), median(up), median(cpu)
	}
}

// threadCount returns the number of threads as text.
func (r *ThreadsRow) threadCount() string {
	if r.Auto {
		return fmt.Sprintf("auto (%d)", r.Threads)
	}
	return fmt.Sprint(r.Threads)
}

// String returns the figures as text.
func (f *ThreadsFigures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "threads: complete HPCC++, permutations in fat trees\n%s\n\n", f.Machine)
	fmt.Fprintf(&b, "%6s %8s %9s %8s %8s %9s %8s %7s %9s\n", "hosts", "flow", "threads", "one", "several", "speed-up",
		"CPU", "rounds", "discarded")
	for _, r := range f.Rows {
		fmt.Fprintf(&b, "%6d %5.0f kB %9s %7.3fs %7.3fs %9.2f %8.2f %7d %9d\n", r.Hosts, float64(r.Flow)/1e3, r.threadCount(),
			r.One, r.Wall, r.SpeedUp, r.MoreCPU, r.Rounds, r.Discarded)
	}
	fmt.Fprintf(&b, "\nwall time; medians over rounds in which others had at most %.0f %% of the cores\n", 100*maxForeign)
	return b.String()
}

// Markdown returns the figures as a table.
func (f *ThreadsFigures) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Complete HPCC++, permutations in fat trees: wall time on one thread and on several, the "+
		"same results. "+
		"Rounds in which\nothers had more than %.0f %% of the cores are discarded.\n%s.\n\n", 100*maxForeign, f.Machine)
	b.WriteString("| hosts | flow | threads | one thread | several | speed-up | CPU time | rounds | discarded |\n" +
		"|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range f.Rows {
		fmt.Fprintf(&b, "| %d | %.0f kB | %s | %.3f s | %.3f s | %.2f | %.2f | %d | %d |\n", r.Hosts, float64(r.Flow)/1e3,
			r.threadCount(), r.One, r.Wall, r.SpeedUp, r.MoreCPU, r.Rounds, r.Discarded)
	}
	return b.String()
}

// JSON returns the figures as a document.
func (f *ThreadsFigures) JSON() []byte {
	b, _ := json.MarshalIndent(f, "", "  ")
	return append(b, '\n')
}
