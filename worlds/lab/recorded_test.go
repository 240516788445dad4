package lab_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/run"
	"weir/worlds/lab"
)

// recordings are captures of a real lab with the kernel's timestamps, in testdata. TestRecordings_CanBeMadeAgain
// records them again (go test -tags lab -run TestRecordings_CanBeMadeAgain ./worlds/lab -update).
var recordings = []struct {
	name   string
	config func() (*lab.Config, error)
	// mutant returns the same switch with another parameter.
	mutant func() (*lab.Config, error)
	drops  bool // there are some
	marks  bool
}{
	{"abc", func() (*lab.Config, error) { return recorded("") },
		func() (*lab.Config, error) { return recorded("19 packets") }, true, false},
	{"ecn", func() (*lab.Config, error) { return marking("5kB") }, func() (*lab.Config, error) { return marking("8kB") },
		false, true},
}

// recorded returns figure 5 with ABC without a warm-up.
func recorded(base string) (*lab.Config, error) {
	c, err := figure5(base)
	if err == nil {
		c.Lead, c.Warmup, c.Duration = 0, 0, 2*unit.Second
	}
	return c, err
}

// marking has one flow over a switch that marks above the given threshold.
func marking(from string) (*lab.Config, error) {
	return loadConfig(strings.ReplaceAll(`
title: x
duration: 2s
topology:
  hosts: [a, b]
  switches: [s1]
  links:
    - {ends: [a, s1], rate: 50Mbps, delay: 2ms}
    - {ends: [s1, b], rate: 10Mbps, delay: 2ms, buffer: 100 packets}
switch: [forward, {ecn: {kmin: FROM, kmax: FROM, pmax: 100%}}]
traffic: [{name: x, from: a, to: b, transport: tcp, cc: cubic, start: 0s}]
measure: [goodput]
`, "FROM", from))
}

func recording(name string) string { return filepath.Join("testdata", "recorded-"+name+".pcapng.gz") }

// readRecording reads a capture from testdata.
func readRecording(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(recording(name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRecordings_ReplayIdentically replays the frames that a real switch of the lab received from real kernels, at the
// times of the kernel's stamps. The switch sends the same frames in the same order at the same picoseconds, with the
// same drops and marks; one with another parameter does not. So does the complete data plane with gates in memory,
// whenever its thread runs.
func TestRecordings_ReplayIdentically(t *testing.T) {
	for _, x := range recordings {
		t.Run(x.name, func(t *testing.T) {
			c, err := x.config()
			if err != nil {
				t.Fatal(err)
			}
			capture := readRecording(t, x.name)
			checkRecording(t, c, capture, x.drops, x.marks)
			mutant, err := x.mutant()
			if err != nil {
				t.Fatal(err)
			}
			if r := replay(t, mutant, "s1", capture); r.First == nil {
				t.Error("a switch with another parameter sends the same")
			}
		})
	}
}

// checkRecording replays a capture of s1 through the standalone switch and through the whole data plane.
func checkRecording(t testing.TB, c *lab.Config, capture []byte, drops, marks bool) {
	t.Helper()
	alone := replay(t, c, "s1", capture)
	marked := 0
	for _, f := range read(t, capture) {
		if !f.Inbound && len(f.Data) > packet.EthernetHeader && f.Data[packet.EthernetHeader+1]&3 == packet.CE {
			marked++
		}
	}
	if alone.First != nil || alone.In < 200 || alone.Out < 100 || marks != (marked > 0) {
		t.Errorf("%+v, %d marked: %v", alone, marked, alone.First)
	}
	c.Capture = &lab.Capture{Switches: []string{"s1"}}
	script := arriving(t, c, capture)
	random := unit.NewRandom(1, "wake")
	r, again := lab.Scripted(t, c, script, func(now unit.Time) unit.Time {
		return now + 1 + unit.Time(random.Int64N(int64(unit.Millisecond)))
	}, alone.Until)
	dropped := uint64(0)
	for _, n := range r.Drops {
		dropped += n
	}
	if drops != (dropped > 0) {
		t.Errorf("dropped %v", r.Drops)
	}
	want, got := crossing(t, capture, alone.Until), crossing(t, again, alone.Until)
	if len(got) < len(want)*9/10 {
		t.Errorf("%d frames crossed the data plane, and %d the recorded one", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if w, g := &want[i], &got[i]; w.At != g.At || w.On != g.On || !bytes.Equal(w.Data, g.Data) {
			t.Fatalf("frame %d of %d: at %d ps %s\n%x\nrecorded is at %d ps %s\n%x", i, len(want), int64(g.At), g.On, g.Data,
				int64(w.At), w.On, w.Data)
		}
	}
}

// crossing returns the frames of a capture that arrived or departed before a time.
func crossing(t testing.TB, capture []byte, until unit.Time) []trace.Frame {
	t.Helper()
	return slices.DeleteFunc(read(t, capture), func(f trace.Frame) bool {
		return len(f.Data) == 0 || f.At >= until-10*unit.Millisecond
	})
}

// arriving returns the frames that arrived at s1, with the times at which kernels sent them: a delay and the time
// of all bytes before their arrival.
func arriving(t testing.TB, c *lab.Config, capture []byte) (script []lab.Arriving) {
	t.Helper()
	for _, f := range read(t, capture) {
		name, ours := strings.CutSuffix(f.On, "->s1 in")
		if !f.Inbound || !ours {
			continue
		}
		for node, n := range c.Wiring.Network.Nodes {
			for _, l := range c.Wiring.Network.Links {
				if n.Name != name || l.Ends[0] != node && l.Ends[1] != node {
					continue
				}
				size := c.Wiring.Framing.FrameBytes(int32(len(f.Data)), 0, false)
				takes := unit.TransmitTime(unit.Bytes(size), l.Rate.Bits)
				script = append(script, lab.Arriving{At: f.At - l.Delay - takes, Node: node, Frame: f.Data})
			}
		}
	}
	slices.SortStableFunc(script, func(a, b lab.Arriving) int { return int(a.At - b.At) })
	return script
}

// figure5 returns a run of figure 5's quick variant with ABC and one flow per client. It may have another q_base
// than the paper's.
func figure5(base string) (*lab.Config, error) {
	registry := app.Registry()
	src, err := registry.OpenExperiment("p4abc/fig5")
	if err != nil {
		return nil, err
	}
	if base != "" {
		src.Data = bytes.ReplaceAll(src.Data, []byte("q_base: 20 packets"), []byte("q_base: "+base))
	}
	s, err := plan.Load(registry, src, experiment.Options{Quick: true})
	if err != nil {
		return nil, err
	}
	for _, r := range plan.ListRuns(s) {
		if strings.Contains(measure.PointName(r.Point), "abc") {
			c, err := run.LabConfig(r)
			if err != nil {
				return nil, err
			}
			c.Lead, c.Warmup, c.Duration = 0, 500*unit.Millisecond, 2*unit.Second
			return c, nil
		}
	}
	return nil, errors.New("figure 5 has no run with ABC")
}
