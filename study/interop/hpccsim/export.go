package hpccsim

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"

	"weir/core/unit"
	"weir/core/workload"
	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/interop/simfiles"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
)

// exportedRun is a run written as the HPCC simulator's files.
type exportedRun struct {
	Run        *results.Run
	Folder     string // with fct.txt, flow.txt, topology.txt and, if the measures kept them, qlen.txt and pfc.txt
	Flows      []simfiles.FCT
	List       []workload.Flow // finite flows that have started, by start time
	Unfinished int
	Omitted    []string // files that are not written, and why
}

// slowdownTable is the analysis of the flows to one destination port.
type slowdownTable struct {
	Port  uint16
	Flows int
	Rows  []simfiles.SlowdownRow
}

// Slowdowns returns the simulator's own analysis: a table with the given number of rows for each of the two
// destination ports that the run has flows to.
func (x *exportedRun) Slowdowns(rows int) (out []slowdownTable) {
	for _, port := range []uint16{simfiles.NormalPort, simfiles.IncastPort} {
		t := slowdownTable{Port: port, Rows: simfiles.ComputeSlowdowns(x.Flows, port, math.MaxInt64, rows)}
		for _, f := range x.Flows {
			if f.DstPort == port {
				t.Flows++
			}
		}
		if t.Flows > 0 {
			out = append(out, t)
		}
	}
	return out
}

// exportRuns writes each finished run into a folder below into, named by the run's id. offset is added to all times,
// because the simulator's flows begin at 2 s. Existing files are replaced. It returns the runs written so far with an
// error if no run is finished, a run cannot be converted or a file cannot be written.
func exportRuns(o *results.Outcome, into string, offset unit.Time) ([]exportedRun, error) {
	var out []exportedRun
	if len(o.Runs) == 0 {
		return nil, document.InputErrors{{File: o.Dir, Line: 1, Column: 1, Msg: "no run is finished",
			Allowed: "results with at least one run"}}
	}
	points := map[string]*experiment.Point{}
	for _, r := range plan.ListRuns(o.Spec) {
		points[measure.PointName(r.Point)] = r.SpecPoint
	}
	for _, r := range o.Runs {
		p := points[measure.PointName(r.Point)]
		if p == nil || r.Flows == nil {
			return out, document.InputErrors{{File: filepath.Join(o.Dir, "runs", r.ID+".json"), Line: 1, Column: 1,
				Msg: "the run has no table of flows"}}
		}
		x, err := exportRun(p, r, offset)
		if err != nil {
			return out, document.InputErrors{{File: filepath.Join(o.Dir, "runs", r.ID+".json"), Line: 1, Column: 1,
				Msg: err.Error()}}
		}
		x.Folder = filepath.Join(into, r.ID)
		if err := os.MkdirAll(x.Folder, 0o777); err != nil {
			return out, fmt.Errorf("%s: it cannot be made: %w", x.Folder, document.UnwrapPathError(err))
		}
		files := []struct {
			name  string
			write func(b *bytes.Buffer) error
		}{
			{"fct.txt", func(b *bytes.Buffer) error { return simfiles.WriteFCT(b, x.Flows) }},
			{"flow.txt", func(b *bytes.Buffer) error { return workload.WriteHPCCFlows(b, x.List) }},
			{"topology.txt", func(b *bytes.Buffer) error { return p.Network().WriteHPCC(b) }},
		}
		if q := queueHistograms(o.Spec, p, r, offset); q != nil {
			files = append(files, struct {
				name  string
				write func(b *bytes.Buffer) error
			}{"qlen.txt", func(b *bytes.Buffer) error { return simfiles.WriteQueues(b, []simfiles.Queues{*q}) }})
		} else {
			x.Omitted = append(x.Omitted, "qlen.txt: no queues are kept ({queue: {switches: \"*\", unit: bytes, every: "+
				"1us, log: true}})")
		}
		if r.PFC != nil {
			files = append(files, struct {
				name  string
				write func(b *bytes.Buffer) error
			}{"pfc.txt", func(b *bytes.Buffer) error { return simfiles.WritePFC(b, pfcFrames(p, r, offset)) }})
		} else {
			x.Omitted = append(x.Omitted, "pfc.txt: PFC's frames are not kept ({pfc_pause: {log: true}})")
		}
		for _, f := range files {
			var b bytes.Buffer
			if err := f.write(&b); err != nil {
				return out, err
			}
			if err := results.WriteFile(filepath.Join(x.Folder, f.name), b.Bytes()); err != nil {
				return out, err
			}
		}
		out = append(out, *x)
	}
	return out, nil
}

// pfcFrames returns the lines of pfc.txt. Interfaces count from 1, after the loopback. offset is added to the times.
func pfcFrames(p *experiment.Point, r *results.Run, offset unit.Time) (out []simfiles.PFC) {
	for _, f := range r.PFC {
		out = append(out, simfiles.PFC{Time: int64(offset/unit.Nanosecond) + f.TimeNs, Node: f.Node,
			Switch: p.Network().Nodes[f.Node].Switch, Port: f.Port + 1, Pause: f.Paused})
	}
	return out
}

// exportRun converts run r of point p, with flows in the order of their ends and offset added to all times. r must have
// its table of flows. Source ports count up from 10000 for each pair of hosts in the order of starts, like the
// simulator's. The destination port is the flow file's; otherwise it is 200 for the flows of an incast, which begin
// together, and 100 for others. Flows without a size are left out; unfinished ones are only counted, and listed if they
// have started. It returns an error for a flow that p does not have, and for more than 65,536 nodes.
func exportRun(p *experiment.Point, r *results.Run, offset unit.Time) (*exportedRun, error) {
	x := &exportedRun{Run: r}
	f := r.Flows
	nodes := map[string]int{}
	for i, n := range p.Network().Nodes {
		nodes[n.Name] = i
	}
	traffics := map[string]*experiment.Traffic{}
	incasts := map[*experiment.Traffic]bool{}
	for i := range p.Entries() {
		tr := p.Entry(i)
		g, drawn := tr.Generator()
		traffics[tr.Name()], incasts[tr] = tr, drawn && g.FromCount > 0
	}
	if len(p.Network().Nodes) > 1<<16 {
		return nil, fmt.Errorf("the simulator's addresses are for 65536 nodes; the topology has %d", len(p.Network().Nodes))
	}
	order := make([]int, 0, len(f.Traffic))
	for i := range f.Traffic { // started flows first; the others are only counted
		if !math.IsNaN(float64(f.StartS[i])) {
			order = append(order, i)
		}
	}
	begun := len(order)
	for i := range f.Traffic {
		if math.IsNaN(float64(f.StartS[i])) {
			order = append(order, i)
		}
	}
	// The simulator's clock counts nanoseconds, Weir's picoseconds.
	picoseconds := func(s measure.Number) int64 { return int64(math.Round(float64(s) * 1e12)) }
	sort.SliceStable(order[:begun], func(a, b int) bool {
		return float64(f.StartS[order[a]]) < float64(f.StartS[order[b]])
	})
	pairs := map[[2]int]simfiles.Pair{}
	next := map[[2]int]int{}
	for _, i := range order {
		src, ok := nodes[f.Names[f.Src[i]]]
		dst, ok2 := nodes[f.Names[f.Dst[i]]]
		tr := traffics[f.Names[f.Traffic[i]]]
		if !ok || !ok2 || tr == nil || src == dst {
			return nil, fmt.Errorf("flow %d is not of this experiment", i)
		}
		pair := [2]int{src, dst}
		sport := simfiles.FirstPort + next[pair]%(1<<16-simfiles.FirstPort)
		next[pair]++
		if f.SizeBytes[i] < 1 {
			continue
		}
		dport := simfiles.NormalPort
		switch {
		case i < p.Flows() && p.Flow(i).Port > 0:
			dport = p.Flow(i).Port
		case incasts[tr]:
			dport = simfiles.IncastPort
		}
		start := int64(offset) + picoseconds(f.StartS[i])
		if begun := !math.IsNaN(float64(f.StartS[i])); begun {
			x.List = append(x.List, workload.Flow{Src: src, Dst: dst, Class: 3, Port: dport, Size: unit.Bytes(f.SizeBytes[i]),
				Start: unit.Time(start)})
		}
		if math.IsNaN(float64(f.FCTS[i])) {
			x.Unfinished++
			continue
		}
		if _, known := pairs[pair]; !known {
			links, _ := pathBetween(p.Routes(), src, dst)
			pairs[pair] = simfiles.NewPair(pathLegs(p.Network(), links), int64(tr.Payload()))
		}
		end := (start + picoseconds(f.FCTS[i])) / 1000
		x.Flows = append(x.Flows, simfiles.FCT{Src: src, Dst: dst, SrcPort: uint16(sport), DstPort: uint16(dport),
			Size:  f.SizeBytes[i],
			Start: start / 1000, FCT: end - start/1000, Standalone: pairs[pair].StandaloneFCT(f.SizeBytes[i],
				int64(tr.Payload()))})
	}
	end := func(f simfiles.FCT) int64 { return f.Start + f.FCT }
	sort.SliceStable(x.Flows, func(a, b int) bool { return end(x.Flows[a]) < end(x.Flows[b]) })
	return x, nil
}

// queueHistograms returns the histograms of switch ports from the run's queue histograms in kB or queue samples in
// bytes; nil if the run has neither. Ports of a node are numbered from 1 in the order of its links. The time is the
// run's end plus offset.
func queueHistograms(spec *experiment.Spec, p *experiment.Point, r *results.Run, offset unit.Time) *simfiles.Queues {
	counts := map[string][]uint64{}
	for i := range r.Series {
		if s := &r.Series[i]; s.Unit == "bytes" && spec.Kind(s.Name).Queues {
			var q simfiles.QueueHistogram
			for _, v := range s.Values {
				q.AddSample(int64(v))
			}
			counts[s.Group] = q.Counts
		}
	}
	for i := range r.Histograms {
		if h := &r.Histograms[i]; h.Unit == "kB" && spec.Kind(h.Name).Queues {
			counts[h.Group] = h.Counts
		}
	}
	q := &simfiles.Queues{Time: int64(offset+unit.Time(math.Round(r.End.TimeS*1e12))) / 1000}
	ports := make([]int, len(p.Network().Nodes))
	for l := range p.Network().Links {
		for e, node := range p.Network().Links[l].Ends {
			ports[node]++
			if c, there := counts[p.Network().PortName(l, e)]; there && p.Network().Nodes[node].Switch {
				q.Ports = append(q.Ports, simfiles.QueueHistogram{Switch: node, Port: ports[node], Counts: c})
			}
		}
	}
	if len(q.Ports) == 0 {
		return nil
	}
	sort.SliceStable(q.Ports, func(a, b int) bool {
		return q.Ports[a].Switch < q.Ports[b].Switch || q.Ports[a].Switch == q.Ports[b].Switch &&
			q.Ports[a].Port < q.Ports[b].Port
	})
	return q
}
