package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"weir/core/jobs/job"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/report"
	"weir/study/results"
)

const timelineSpec = `duration: 1s
framing: hpcc
mtu: 1000 B payload
topology: {leaf_spine: {leaves: 1, spines: 1, hosts: 4, rate: 100Gbps, delay: 1us}}
switch: [ecmp]
groups: {late: [h2], others: [h0, h1, h3]}
traffic:
  - {name: train, job: {all_reduce: {size: 400kB, iterations: 3, compute: 100us, slow: {h2: 1.5}}}, hosts: "*",
     transport: rdma, cc: dctcp, start: 10us}
measure: [job%s]
%s`

// TestTimeline_AddsUpToJobMeasure checks that the computation of ranks is the same on both kinds of networks, and
// that timelines agree with the measure job. The rank that computes longest waits least. Without the measure no
// timeline is kept, and the run is otherwise unchanged.
func TestTimeline_AddsUpToJobMeasure(t *testing.T) {
	for _, network := range []string{"packets", "{loggops: {L: 2us, o: 0s, g: 0s, G: 80ps, S: 1GB}}"} {
		t.Run(network, func(t *testing.T) {
			o := executeJob(t, fmt.Sprintf(timelineSpec, ", timeline", "network: "+network+"\n"))
			r := o.Runs[0]
			if len(r.Timelines) != 1 || r.Timelines[0].Traffic != "train" || r.Timelines[0].LeftOut != 0 {
				t.Fatalf("%+v", r.Timelines)
			}
			x := r.Timelines[0]
			computing, last := make([]float64, 4), make([]float64, 4)
			iterations := map[int32]bool{}
			for i, rank := range x.Rank {
				from := 10e-6 // the job's start
				if last[rank] > 0 {
					from = last[rank]
				}
				if x.BeginS[i] != from {
					t.Errorf("row %d begins at %v, not %v", i, x.BeginS[i], from)
				}
				last[rank] = x.EndS[i]
				if d := job.Activity(x.Does[i]); d == job.Computes || d == job.Overlaps {
					computing[rank] += x.EndS[i] - x.BeginS[i]
				}
				iterations[x.Iteration[i]] = true
			}
			for rank, want := range []float64{300e-6, 300e-6, 450e-6, 300e-6} {
				testkit.CheckNear(t, fmt.Sprintf("computing of rank %d", rank), computing[rank], want, rounding)
			}
			if slowest, waited := x.RanksByWait(); slowest[0] != 2 || waited[0] >= waited[1] || len(iterations) != 3 {
				t.Errorf("first %v, which waited %v; iterations %v", slowest, waited, iterations)
			}
			plain := executeJob(t, fmt.Sprintf(timelineSpec, "", "network: "+network+"\n")).Runs[0]
			if plain.Timelines != nil || plain.Events != r.Events || plain.PacketHops != r.PacketHops {
				t.Errorf("without the measure: %d events, not %d", plain.Events, r.Events)
			}
		})
	}
	runs := plan.ListRuns(plantest.Load(t, room(), fmt.Sprintf(timelineSpec, "", ""), experiment.Options{}))
	if c, err := runs[0].Config(); err != nil || c.Jobs[0].Timeline != nil {
		t.Errorf("nothing asks for a timeline: %v, %v", c.Jobs[0].Timeline, err)
	}
}

// TestTimelineChosen checks that hosts, times and a limit select the rows. The results and the figure report the
// rows beyond the limit.
func TestTimelineChosen(t *testing.T) {
	all := executeJob(t, fmt.Sprintf(timelineSpec, ", timeline", "")).Runs[0].Timelines[0]
	part := executeJob(t, fmt.Sprintf(timelineSpec, ", {timeline: {hosts: [late, h0], from: 100us, until: 300us}}",
		"")).Runs[0].Timelines[0]
	ranks, _ := part.RanksByWait()
	if len(ranks) != 2 || part.Rank[0] != 0 || part.BeginS[0] != 100e-6 || part.EndS[len(part.EndS)-1] != 300e-6 {
		t.Errorf("ranks %v, %v", ranks, part)
	}
	o := executeJob(t, fmt.Sprintf(timelineSpec, ", {timeline: {traffic: tr*, most: 20}}",
		"plot: [{kind: timeline, ranks: 2}]\n"))
	short := o.Runs[0].Timelines[0]
	if short.LeftOut < 10 || len(short.Rank) >= len(all.Rank) || short.CutS <= 0 {
		t.Errorf("%d of %d rows, %d left out", len(short.Rank), len(all.Rank), short.LeftOut)
	}
	f, err := report.PlotFigure(o, o.Spec.Plots()[0])
	if err != nil || f == nil {
		t.Fatal(err)
	}
	if len(f.Panels) != 1 || len(f.Panels[0].Rows.Names) != 2 ||
		!strings.Contains(f.Note, "of the 4 ranks of train, the 2 that wait least") ||
		!strings.Contains(f.Note, "where the limit of its timeline was reached") {
		t.Errorf("%s; %+v", f.Note, f.Panels)
	}
}

// TestTimelineFiles checks that the rows are in the run's file, which is read back unchanged, in Parquet and in
// CSV. Results without a timeline have no such file.
func TestTimelineFiles(t *testing.T) {
	o := execute(t, fmt.Sprintf(timelineSpec, ", timeline", ""), Options{Dir: t.TempDir()})
	data, err := os.ReadFile(filepath.Join(o.Dir, "runs", o.Runs[0].ID+".json"))
	if err != nil {
		t.Fatal(err)
	}
	back, err := results.ReadRun(data)
	if err != nil {
		t.Fatal(err)
	}
	if again := back.EncodeJSON(true); !bytes.Equal(again, data) {
		t.Errorf("written again it is\n%.300s\nwas\n%.300s", again, data)
	}
	type row struct {
		Traffic   string  `parquet:"traffic"`
		Rank      int32   `parquet:"rank"`
		Host      string  `parquet:"host"`
		Iteration *int32  `parquet:"iteration,optional"`
		Operation *int32  `parquet:"operation,optional"`
		Does      string  `parquet:"does"`
		Begin     float64 `parquet:"begin_s"`
		End       float64 `parquet:"end_s"`
	}
	rows, err := parquet.ReadFile[row](filepath.Join(o.Dir, results.TimelineFile))
	x := o.Runs[0].Timelines[0]
	if err != nil || len(rows) != len(x.Rank) || len(rows) < 30 {
		t.Fatalf("%d rows of %d, error %v", len(rows), len(x.Rank), err)
	}
	for i, r := range rows {
		if r.Traffic != "train" || r.Host != fmt.Sprintf("h%d", r.Rank) || r.Rank != x.Rank[i] ||
			*r.Iteration != x.Iteration[i] ||
			(r.Operation == nil) != (x.Operation[i] < 0) || r.Does != job.ActivityNames()[x.Does[i]] || r.Begin != x.BeginS[i] ||
			r.End != x.EndS[i] {
			t.Fatalf("row %d: %+v", i, r)
		}
	}
	var csv bytes.Buffer
	for _, s := range results.Sheets() {
		if s.Name == "timeline" {
			if err := s.WriteCSV(o, &csv); err != nil {
				t.Fatal(err)
			}
		}
	}
	if lines := strings.Split(csv.String(), "\n"); len(lines) != len(rows)+2 ||
		!strings.Contains(lines[1], ",train,0,h0,0,,computing,1e-05,0.00011") {
		t.Errorf("%d lines; %s", len(lines), lines[1])
	}
	if err := (&measure.Timeline{Does: []int8{0}}).Check(); err == nil {
		t.Error("columns of different lengths pass")
	}
	without := execute(t, fmt.Sprintf(timelineSpec, "", ""), Options{Dir: t.TempDir()})
	if _, err := os.Stat(filepath.Join(without.Dir, results.TimelineFile)); err == nil {
		t.Error("results without a timeline have a file of them")
	}
}

// TestTimelineErrors checks that an impossible timeline, and an impossible plot of one, are errors.
func TestTimelineErrors(t *testing.T) {
	for text, want := range map[string]string{
		"measure: [{timeline: {hosts: h9}}]":             `unknown host "h9"`,
		"measure: [{timeline: {from: 2s}}]":              "is outside the run",
		"measure: [{timeline: {from: 2ms, until: 1ms}}]": "a time after 2ms",
		"measure: [{timeline: {most: 0}}]":               "most",
		"measure: [{timeline: {traffic: trane}}]":        `did you mean "train"?`,
		"plot: [{kind: timeline}]": "no measure of the experiment records the activity of ranks of " +
			"jobs",
		"plot: [{kind: timeline, y: job}]": `has no "y"`,
		"plot: [{x: time, y: job, ranks: 3}]": "ranks is given, but only a plot of kind: timeline " +
			"has ranks",
		"measure: [timeline]\nplot: [{kind: timeline, ranks: [4]}]": `rank "4" does not exist in any job`,
		"measure: [timeline]\nplot: [{kind: timeline, traffic: x}]": `unknown group of timeline "x"`,
	} {
		t.Run(text, func(t *testing.T) {
			whole := fmt.Sprintf(timelineSpec, "", "")
			if strings.HasPrefix(text, "measure") {
				whole = strings.Replace(whole, "measure: [job]\n", "", 1)
			}
			_, err := plan.Load(room(), file("t.yaml", whole+text+"\n"), experiment.Options{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
	whole := fmt.Sprintf(timelineSpec, ", timeline", "")
	_, err := plan.Load(room(), file("t.yaml", strings.Replace(whole,
		"job: {all_reduce: {size: 400kB, iterations: 3, compute: 100us, slow: {h2: 1.5}}}, hosts: \"*\"",
		"from: h0, to: h1, size: 1MB", 1)), experiment.Options{})
	if err == nil || !strings.Contains(err.Error(), "no traffic of the experiment is a job") {
		t.Error(err)
	}
}
