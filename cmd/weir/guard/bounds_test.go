package guard_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/cmd/weir/cli"
	"weir/cmd/weir/guard"
)

var record = flag.String("record", "", "why bounds move: measure, and append what has moved to "+file)

const file = "testdata/bounds.txt"

// What runs cost is what was recorded.
func TestBounds(t *testing.T) {
	m := &meter{figures: map[guard.Key]float64{}, skipped: map[string]bool{}}
	workloads, err := filepath.Glob("testdata/workloads/*.yaml")
	if err != nil || len(workloads) == 0 {
		t.Fatal("no workloads", err)
	}
	t.Run("counted", func(t *testing.T) { m.counted(t, workloads) })
	t.Run("bytes", m.bytes)
	t.Run("instructions", func(t *testing.T) { m.instructions(t, workloads) })
	if t.Failed() {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := guard.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if *record != "" {
		if len(m.skipped) > 0 {
			t.Fatal("a record has all figures")
		}
		more, err := bounds.Record(m.figures, runtime.Version(), time.Now(), *record)
		if err == nil {
			err = os.WriteFile(file, append(text, more...), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s", more)
		return
	}
	for _, wrong := range bounds.Judge(m.figures, runtime.Version(), func(f string) bool { return m.skipped[f] }) {
		t.Error(wrong)
	}
	if t.Failed() {
		t.Logf(`if this is meant, append it to %s with: go test ./cmd/weir/guard -record "why"`, file)
	}
}

// meter collects what is measured.
type meter struct {
	sync.Mutex
	figures map[guard.Key]float64
	skipped map[string]bool // figures that this machine cannot measure
}

func (m *meter) set(workload, figure string, value float64) {
	m.Lock()
	defer m.Unlock()
	m.figures[guard.Key{Workload: workload, Figure: figure}] = value
}

func name(workload string) string { return strings.TrimSuffix(filepath.Base(workload), ".yaml") }

func (m *meter) counted(t *testing.T, workloads []string) {
	for _, w := range workloads {
		t.Run(name(w), func(t *testing.T) {
			c, err := guard.Count(cli.Registry(), w)
			if err != nil {
				t.Fatal(err)
			}
			m.set(name(w), "events/hop", c.Events)
			m.set(name(w), "allocations/packet", c.PerPacket)
			m.set(name(w), "allocations/flow", c.PerFlow)
		})
	}
}

// Memory is what more hosts or flows take more. Hosts come with their share of a fat tree's switches. Flows are seen
// before they start, when either end has sent and heard of the other, with one to three packets on
// the way, and when they are over. Links are so long that all flows are at one stage at the end of
// the run.
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
	const few, many = 32, 64
	grow := func(t *testing.T, small, large string, carriedOut bool, by float64) float64 {
		var used [2]float64
		for i, experiment := range []string{small, small, large} { // the first time some things are made for good
			u, err := guard.Built(cli.Registry(), experiment, carriedOut)
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

func (m *meter) instructions(t *testing.T, workloads []string) {
	why := ""
	if testing.Short() {
		why = "not in short tests"
	} else if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		why = "bounds are for linux on amd64"
	} else if _, err := exec.LookPath("valgrind"); err != nil {
		why = "valgrind counts them, and is not installed (apt-get install valgrind)"
	}
	if why != "" {
		m.skipped["instructions/hop"] = true
		t.Skip(why)
	}
	binary := filepath.Join(t.TempDir(), "weir")
	if err := guard.Build(binary); err != nil {
		t.Fatal(err)
	}
	for _, w := range workloads {
		t.Run(name(w), func(t *testing.T) {
			t.Parallel()
			n, err := guard.Instructions(binary, w, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			m.set(name(w), "instructions/hop", n)
		})
	}
}
