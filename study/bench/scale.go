package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"weir/study/report"
)

// TurnOptions are the options of benchmarks that consist of turns.
type TurnOptions struct {
	Rounds   int
	RunTurn  func(ctx context.Context, s TurnSpec) (*Turn, error) // runs a turn, in a process of its own
	Progress func(doing string)                                   // may be nil
}

// Machine describes where and when a benchmark ran.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Date   string `json:"date"`
}

// thisMachine describes this machine.
func thisMachine() Machine {
	return Machine{processorName(), runtime.NumCPU(), kernelRelease(), runtime.Version(),
		time.Now().UTC().Format(time.DateOnly)}
}

// String returns the description as text.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, Linux %s, %s, %s", m.CPU, m.Cores, m.Kernel, m.Go, m.Date)
}

// ScaleRow is the result for one size and load.
type ScaleRow struct {
	Load       Load    `json:"load"`
	Hosts      int     `json:"hosts"`
	Flow       int64   `json:"flow_bytes,omitempty"`
	Flows      int     `json:"flows"`
	PacketHops uint64  `json:"packet_hops"`
	NsPerHop   float64 `json:"cpu_ns_per_packet_hop"` // medians
	SetUp      float64 `json:"set_up_cpu_s"`
	Peak       float64 `json:"peak_memory_bytes"`
	PerHost    float64 `json:"peak_memory_bytes_per_host"`
	PerOp      float64 `json:"packet_hops_per_calibration_op"`
	Turns      []*Turn `json:"turns"`
}

// ScaleFigures is the result of Scale.
type ScaleFigures struct {
	Name    string      `json:"benchmark"`
	Machine Machine     `json:"machine"`
	Rounds  int         `json:"rounds"`
	Rows    []*ScaleRow `json:"rows"`
}

// permutationFlow returns the size in bytes of a permutation's flows: 100 kB, and more in small networks, so that a
// turn has some million packet-hops.
func permutationFlow(hosts int) int64 { return max(100_000, 256_000_000/int64(hosts)) }

// Scale times complete HPCC++ in fat trees with the given numbers of hosts (Sizes), on one thread. o.Rounds is 1 or
// more; sizes above 8,192 hosts have one round. It returns an error for another number of hosts before it starts.
func Scale(ctx context.Context, hosts []int, o TurnOptions) (*ScaleFigures, error) {
	f := &ScaleFigures{Name: "scale", Machine: thisMachine(), Rounds: o.Rounds}
	for _, h := range hosts {
		for _, l := range []Load{Permutation, WebSearch} {
			row := &ScaleRow{Load: l, Hosts: h}
			if l == Permutation {
				row.Flow = permutationFlow(h)
			}
			if err := (&TurnSpec{Load: l, Hosts: h, Threads: 1}).Check(); err != nil {
				return nil, err
			}
			f.Rows = append(f.Rows, row)
		}
	}
	for round := range o.Rounds {
		for _, row := range f.Rows {
			if round > 0 && row.Hosts > 8192 {
				continue
			}
			o.report("round %d of %d: %d hosts, %s", round+1, o.Rounds, row.Hosts, row.Load)
			t, err := o.RunTurn(ctx, TurnSpec{Load: row.Load, Hosts: row.Hosts, Flow: row.Flow, Threads: 1})
			if err != nil {
				return nil, err
			}
			row.Turns = append(row.Turns, t)
		}
	}
	for _, row := range f.Rows {
		row.setMedians()
	}
	return f, nil
}

// report calls Progress unless it is nil.
func (o *TurnOptions) report(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// setMedians sets the row's figures from its turns. It needs at least one turn.
func (r *ScaleRow) setMedians() {
	medianOf := func(value func(*Turn) float64) float64 {
		var x []float64
		for _, t := range r.Turns {
			x = append(x, value(t))
		}
		return median(x)
	}
	r.Flows, r.PacketHops = r.Turns[0].Flows, r.Turns[0].PacketHops
	r.NsPerHop = medianOf(func(t *Turn) float64 { return 1e9 * t.CPU / float64(t.PacketHops) })
	r.PerOp = medianOf(func(t *Turn) float64 { return float64(t.PacketHops) / t.CPU / t.Calibrated })
	r.SetUp = medianOf(func(t *Turn) float64 { return t.SetUp })
	r.Peak = medianOf(func(t *Turn) float64 { return float64(t.Peak) })
	r.PerHost = r.Peak / float64(r.Hosts)
}

// String returns the figures as text.
func (f *ScaleFigures) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "scale: complete HPCC++ in fat trees, one thread, medians of %d rounds\n%s\n\n", f.Rounds, f.Machine)
	fmt.Fprintf(&b, "%7s %-12s %8s %9s %7s %7s %8s %8s\n", "hosts", "load", "flows", "M hops", "ns/hop", "set-up", "peak",
		"a host")
	for _, r := range f.Rows {
		fmt.Fprintf(&b, "%7d %-12s %8d %9.2f %7.0f %6.2fs %5.0f MB %5.0f kB\n", r.Hosts, r.Load, r.Flows,
			float64(r.PacketHops)/1e6, r.NsPerHop, r.SetUp, r.Peak/1e6, r.PerHost/1e3)
	}
	b.WriteString("\nCPU time in ns per packet-hop; set-up in CPU time; peak resident memory\n")
	return b.String()
}

// Markdown returns the figures as a table.
func (f *ScaleFigures) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Complete HPCC++ in k-ary fat trees (100 Gb/s, 1 us), one thread; medians of %d rounds, of "+
		"one at 65,536 "+
		"hosts.\n%s.\n\n", f.Rounds, f.Machine)
	b.WriteString("| hosts | load | flows | packet-hops | CPU ns per packet-hop | hops per calibration op | set-up | " +
		"peak memory | a host |\n|---:|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range f.Rows {
		load := string(r.Load)
		if r.Load == Permutation {
			load = fmt.Sprintf("permutation, %.3g MB", float64(r.Flow)/1e6)
		}
		fmt.Fprintf(&b, "| %d | %s | %d | %.2f M | %.0f | %.4f | %.2f s | %.0f MB | %.0f kB |\n", r.Hosts, load, r.Flows,
			float64(r.PacketHops)/1e6, r.NsPerHop, r.PerOp, r.SetUp, r.Peak/1e6, r.PerHost/1e3)
	}
	return b.String()
}

// SVG returns plots of the nanoseconds per packet-hop, and of the memory per host, over the number of hosts.
func (f *ScaleFigures) SVG() (speed, memory []byte, err error) {
	lines := func(value func(*ScaleRow) float64) (out []report.BenchmarkCurve) {
		for _, l := range []Load{Permutation, WebSearch} {
			x := report.BenchmarkCurve{Name: string(l)}
			for _, r := range f.Rows {
				if r.Load == l {
					x.X, x.Y = append(x.X, float64(r.Hosts)), append(x.Y, value(r))
				}
			}
			out = append(out, x)
		}
		return out
	}
	speed, err1 := report.LinesSVG("CPU time per packet-hop", "hosts", "ns",
		lines(func(r *ScaleRow) float64 { return r.NsPerHop }))
	memory, err2 := report.LinesSVG("peak memory per host", "hosts", "kB",
		lines(func(r *ScaleRow) float64 { return r.PerHost / 1e3 }))
	return speed, memory, errors.Join(err1, err2)
}

// JSON returns the figures as a document.
func (f *ScaleFigures) JSON() []byte {
	b, _ := json.MarshalIndent(f, "", "  ")
	return append(b, '\n')
}

// ListHosts returns the numbers of hosts in Sizes, ascending.
func ListHosts() (all []int) {
	for h := range Sizes { //weir:unordered they are sorted
		all = append(all, h)
	}
	slices.Sort(all)
	return all
}
