package costbounds_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"weir/app"
	"weir/e2e/costbounds"
)

const file = "testdata/bounds.txt"

// TestBounds_HoldForEventsAndMemory compares the events, allocations and bytes of runs with the recorded bounds.
// TestBounds_HoldForInstructions does the same with instructions.
func TestBounds_HoldForEventsAndMemory(t *testing.T) {
	m := newMeter()
	m.countAll(t)
	if !t.Failed() {
		judge(t, m, func(figure string) bool { return figure == perHop || figure == perRun })
	}
}

// perHop and perRun are the figures that valgrind counts.
const (
	perHop = "instructions/hop"
	perRun = "instructions/run"
)

// judge compares figures with the recorded bounds, except for skipped figures.
func judge(t *testing.T, m *meter, skipped func(figure string) bool) {
	t.Helper()
	bounds, _ := recorded(t)
	for _, wrong := range bounds.CheckAll(m.figures, runtime.Version(), skipped) {
		t.Error(wrong)
	}
	if t.Failed() {
		t.Logf(`if this is meant, append it to %s with: go test -tags system ./e2e/costbounds `+
			`-run TestBounds_HoldForInstructions -record "why"`, file)
	}
}

// recorded reads the bounds, and also returns the file's text.
func recorded(t *testing.T) (costbounds.Bounds, []byte) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := costbounds.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return bounds, text
}

// workloads returns the short experiments that are measured.
func workloads(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/workloads/[^._]*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no workloads", err)
	}
	return files
}

// meter collects the measured figures.
type meter struct {
	sync.Mutex
	figures map[costbounds.BoundKey]float64
}

func newMeter() *meter { return &meter{figures: map[costbounds.BoundKey]float64{}} }

// countAll measures all figures that need no other program.
func (m *meter) countAll(t *testing.T) {
	t.Run("counted", func(t *testing.T) { m.counted(t, workloads(t)) })
	t.Run("bytes", m.bytes)
}

func (m *meter) set(workload, figure string, value float64) {
	m.Lock()
	defer m.Unlock()
	m.figures[costbounds.BoundKey{Workload: workload, Figure: figure}] = value
}

func name(workload string) string { return strings.TrimSuffix(filepath.Base(workload), ".yaml") }

func (m *meter) counted(t *testing.T, workloads []string) {
	bounds, _ := recorded(t)
	for _, w := range workloads {
		t.Run(name(w), func(t *testing.T) {
			figures := func(c *costbounds.RunCosts) map[costbounds.BoundKey]float64 {
				return map[costbounds.BoundKey]float64{{name(w), "events/hop"}: c.Events, {name(w),
					"allocations/packet"}: c.PerPacket,
					{name(w), "allocations/flow"}: c.PerFlow}
			}
			c, err := costbounds.Count(app.Registry(), w, func(c *costbounds.RunCosts) bool {
				return len(bounds.Compare(figures(c), runtime.Version())) == 0
			})
			if err != nil {
				t.Fatal(err)
			}
			for key, value := range figures(c) {
				m.set(key.Workload, key.Figure, value)
			}
		})
	}
}

// bytes measures the additional memory per host or flow. Hosts are measured with their share of a fat tree's
// switches, before a run. A user of P4-ABC is a pair of hosts at one bottleneck with a flow of TCP in flight and a
// meter, at the end of a run. A table of all users at each host, or of all pairs, would be visible there.
//
// Flows are measured in three stages: before their start, when both ends have sent and received and one to three
// packets are in flight, and after their end. Links are so long that all flows are at one stage at the end of the
// run.
func (m *meter) bytes(t *testing.T) {
	const hosts = `title: hosts
duration: 1ms
topology: {fat_tree: {k: %d, rate: 100Gbps, delay: 1us}}
switch: [ecmp, {shared_buffer: {size: 32MB}}, pfc, {ecn: {kmin: 400KB, kmax: 1600KB, pmax: 20%%}},
         {telemetry: {multi: 4}}]
traffic: [{name: one, from: h0, to: h1, transport: rdma, cc: {hpcc: {t: 13us}}, size: 1KB, start: 1us}]
`
	const flows = `title: flows
duration: %s
topology: {star: {hosts: 128, rate: 100Gbps, delay: %s}}
switch: [forward, {telemetry: {multi: 4}}]
traffic: [{name: many, from: "*", to: {stride: 1}, flows: %d, %s, size: 3000 B, start: %s}]
`
	const users = `title: users
duration: 70ms
topology: {dumbbell: {hosts: %[1]d, rate: 100Gbps, delay: 10ms, bottleneck: 4Gbps, buffer: 1300KB}}
switch: [forward, {abc: {domain: part, round_trip: 60ms, users: %[1]d}}]
traffic: [{name: one, from: "left*", to: right0, transport: tcp, cc: cubic}]
measure: [{jain: {by: sender}}]
`
	const few, many = 32, 64
	grow := func(t *testing.T, small, large string, carriedOut bool, by float64) float64 {
		var used [2]float64
		for i, experiment := range []string{small, small, large} { // the first time some things are made for good
			u, err := costbounds.MeasureMemory(app.Registry(), experiment, carriedOut)
			if err != nil {
				t.Fatal(err)
			}
			used[i/2] = u
		}
		return (used[1] - used[0]) / by
	}
	t.Run("host", func(t *testing.T) {
		m.set("fabric", "bytes/host", grow(t, fmt.Sprintf(hosts, 8), fmt.Sprintf(hosts, 16), false, 1024-128))
	})
	t.Run("user", func(t *testing.T) {
		m.set("p4abc", "bytes/host", grow(t, fmt.Sprintf(users, 100), fmt.Sprintf(users, 400), true, 2*(400-100)))
	})
	for _, c := range []struct{ name, transport, underWay string }{
		{"rdma", "transport: rdma, cc: {hpcc: {t: 41ms}}", "30ms"},
		{"tcp", "transport: tcp, cc: cubic", "70ms"},
	} {
		for _, stage := range []struct {
			figure, at, delay, start string
			carriedOut               bool
		}{
			{"bytes/flow-to-come", "1s", "10ms", "1us", false}, {"bytes/flow-under-way", c.underWay, "10ms", "1us", true},
			{"bytes/flow-over", "1s", "1us", "1us..990ms", true},
		} {
			t.Run(c.name+" "+stage.figure, func(t *testing.T) {
				of := func(n int) string {
					return fmt.Sprintf(flows, stage.at, stage.delay, n, c.transport, stage.start)
				}
				m.set(c.name, stage.figure, grow(t, of(few), of(many), stage.carriedOut, 128*(many-few)))
			})
		}
	}
}
