package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"weir/internal/revision"
	"weir/study/results"

	"weir/core/cc/cubic"
	"weir/internal/testkit/plantest"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/plan"
)

const runnable = small + smallTraffic + `switch: [forward]
sweep: {rate: [500kbps, 1Mbps, 16Mbps]}
measure: [goodput, {throughput: {port: s->c}}, {throughput: {port: s->a}}, loss, delay, jitter, jain,
  {queue: {port: s->c, every: 1ms}}, drops, {utilisation: {port: s->c}}]
expect:
  - {id: more, says: more is more, where: {rate: "<= 1Mbps"}, along: rate, that: next.goodput.a > goodput.a}
  - {id: overload, says: it drops, where: {rate: 16Mbps}, that: loss.a > 10% and drops.port_packets > 0}
`

// TestExecute_AppliesTCPParameters checks TCP in a spec: a sweep of controllers, with parameters. The last write
// returns before the last byte is acknowledged. MTU, TOS and IP version reach the flows.
func TestExecute_AppliesTCPParameters(t *testing.T) {
	text := strings.Replace(small, "duration: 200ms", "duration: 2s", 1) + `mtu: 1500 B
traffic:
  - {name: a, from: a, to: c, transport: tcp, cc: $cc, size: 300kB, tos: 0xb8, start: 0s, ip: 6}
  - {name: b, from: b, to: c, transport: {tcp: {rate: 1Mbps, rto_min: 50ms}},
      cc: {cubic: {beta: 0.5, hystart: hystart++}}, start: 0s}
switch: [forward]
sweep: {cc: [cubic, reno, bbr, dctcp]}
measure: [goodput, fct, retransmissions]
expect:
  - {id: written, says: the last write returns first, that: fct_written.a < fct.a and fct_finished.a == 1}
  - {id: rate, says: the rate is kept, that: abs(goodput.b / 1Mbps - 1) < 5%}
`
	o := execute(t, text, Options{})
	if len(o.Runs) != 8 {
		t.Fatalf("%d runs", len(o.Runs))
	}
	for _, c := range o.Claims {
		if c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
	s := plantest.Load(t, room(), text, experiment.Options{})
	f := s.Points()[0].Entry(0)
	controller, _ := f.CC()
	if _, config := s.Points()[0].Entry(1).CC(); f.Payload() != 1500-40-32 || f.TOSOf(0) != 0xb8 ||
		controller.Name != "cubic" || config.(*cubic.Config).Beta != 0.5 {
		t.Errorf("%+v", f)
	}
}

// contents returns the files of a results folder by name, without the data about the machine.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := readContents(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func readContents(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || strings.HasPrefix(info.Name(), "host.") {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[rel] = string(data)
		return err
	})
	return files, err
}

func execute(t *testing.T, text string, o Options, set ...string) *results.Outcome {
	t.Helper()
	out, err := Execute(context.Background(), plantest.Load(t, room(), text, experiment.Options{Set: set}), o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEndToEnd simulates, measures and judges an experiment, and checks the value of every measure.
func TestEndToEnd(t *testing.T) {
	dir := t.TempDir()
	out := execute(t, runnable, Options{Jobs: 2, Dir: dir, Executable: "e"})
	if len(out.Runs) != 6 || len(out.Failed) != 0 || out.Missing != 0 {
		t.Fatalf("got %d runs, failed %v", len(out.Runs), out.Failed)
	}
	for _, c := range out.Claims {
		if c.Verdict != claim.Holds {
			t.Errorf("%+v", c)
		}
	}
	var doc struct {
		Runs []struct {
			Point    map[string]string          `json:"point"`
			Measures map[string]json.RawMessage `json:"measures"`
		} `json:"runs"`
		Claims []claim.Claim `json:"claims"`
	}
	if err := json.Unmarshal(out.JSON(), &doc); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range out.Runs[0].Measures {
		names = append(names, m.JSONName())
		if _, ok := doc.Runs[0].Measures[m.JSONName()]; !ok {
			t.Errorf("%s is missing in the document", m.JSONName())
		}
	}
	if len(names) != len(doc.Runs[0].Measures) {
		t.Errorf("a key is there twice: %v", names)
	}
	// 16 + 8 Mb/s into 10 Mb/s: the link is full and carries the payload's share,
	// 1448 of 1490 bytes (docs/design.md#bytes-queues-order)
	last := out.Runs[4]
	groups := func(name string) map[string]float64 {
		m := map[string]float64{}
		for _, x := range last.Measures {
			for _, g := range x.Groups {
				if x.Name == name {
					m[g.Group] = g.Value
				}
			}
		}
		return m
	}
	if sum := groups("goodput")["a"] + groups("goodput")["b"]; sum < 0.97*10e6*1448/1490 || sum > 1.01*10e6*1448/1490 {
		t.Errorf("goodput %v", sum)
	}
	if u := groups("utilisation")["s->c"]; u < 0.99 || u > 1.01 {
		t.Errorf("utilisation %v", u)
	}
	if x := groups("throughput"); x["s->a"] != 0 || x["s->c"] < 9.9e6 {
		t.Errorf("throughput %v", x)
	}
	// the shortest delay: two links' propagation and a full queue of 24 frames of 1490 B
	// at 10 Mb/s is 28.6 ms more
	if d := groups("delay_max")["a"]; d < 0.028 || d > 0.034 {
		t.Errorf("largest delay %v", d)
	}
	if q := groups("queue"); q["max"] != 24 || q["mean"] < 15 {
		t.Errorf("queue %v", q)
	}
	if s := last.Series; len(s) != 1 || s[0].Name != "queue" || s[0].Unit != "packets" || s[0].Group != "s->c" ||
		s[0].StepS != 1e-3 || len(s[0].Values) != 200 {
		t.Errorf("series %v", s)
	}
	for _, name := range []string{"spec.yaml", "origin.json", "runs.json", "host.json", "runs/" + last.ID + ".json"} {
		if _, err := os.Stat(filepath.Join(out.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	want := filepath.Join(dir, "test-"+out.Spec.Hash()[:12]+"-"+revision.This().FolderKey())
	if out.Dir != want {
		t.Errorf("the folder is %s, not %s", out.Dir, want)
	}
}

// TestSameBytes checks that any number of jobs, and reused runs, give the same bytes.
func TestSameBytes(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	a := execute(t, runnable, Options{Jobs: 1, Dir: one, Executable: "e"})
	b := execute(t, runnable, Options{Jobs: 3, Dir: two, Executable: "e"})
	want, got := contents(t, one), contents(t, two)
	if len(want) != 5+6 || fmt.Sprint(want) != fmt.Sprint(got) {
		t.Errorf("%d and %d files, or they differ", len(want), len(got))
	}
	if string(a.JSON()) != string(b.JSON()) {
		t.Error("the documents differ")
	}
	// One run's file is missing and another is damaged: only these two are executed again.
	os.Remove(filepath.Join(a.Dir, "runs", a.Runs[1].ID+".json"))
	os.WriteFile(filepath.Join(a.Dir, "runs", a.Runs[2].ID+".json"), []byte("{"), 0o666)
	c := execute(t, runnable, Options{Jobs: 2, Dir: one, Executable: "e"})
	if c.Found != 4 || string(c.JSON()) != string(a.JSON()) || fmt.Sprint(contents(t, one)) != fmt.Sprint(want) {
		t.Errorf("%d were found, or the bytes differ", c.Found)
	}
	if c = execute(t, runnable, Options{Dir: one, Executable: "e", Fresh: true}); c.Found != 0 {
		t.Error("--fresh found runs")
	}
	if c = execute(t, runnable, Options{Dir: one, Executable: "another"}); c.Found != 0 {
		t.Error("another executable's runs were found")
	}
}

// TestExecute_ResumesAfterInterruption checks that finished runs stay and the others are missing, and that the next
// execution runs only those.
func TestExecute_ResumesAfterInterruption(t *testing.T) {
	dir := t.TempDir()
	s := plantest.Load(t, room(), runnable, experiment.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, err := Execute(ctx, s, Options{Jobs: 1, Dir: dir, OnProgress: func(p Progress) {
		if p.Done == 2 {
			cancel()
		}
	}})
	if err != nil || len(out.Runs) != 2 || out.Missing != 4 || len(out.Failed) != 0 {
		t.Fatalf("%d runs, %d missing, failed %v, %v", len(out.Runs), out.Missing, out.Failed, err)
	}
	if out.Claims[0].Verdict != claim.Undecided {
		t.Errorf("%+v", out.Claims[0])
	}
	out, err = Execute(context.Background(), s, Options{Jobs: 2, Dir: dir})
	if err != nil || out.Found != 2 || len(out.Runs) != 6 {
		t.Errorf("%d found, %d runs, %v", out.Found, len(out.Runs), err)
	}
}

// TestExecute_PanicFailsItsRunOnly checks that a scheme that panics fails only its own run.
func TestExecute_PanicFailsItsRunOnly(t *testing.T) {
	out := execute(t, small+smallTraffic+
		"sweep: {rate: [1Mbps], x: {bad: {switch: [crash]}, good: {switch: [forward]}}}\n", Options{Jobs: 2})
	if len(out.Runs) != 2 || len(out.Failed) != 2 {
		t.Fatalf("%d runs, %d failed", len(out.Runs), len(out.Failed))
	}
	f := out.Failed[0]
	if !strings.Contains(f.Err.Error(), "a mistake of the scheme") || f.Point[1].Text != "bad" || f.Seed != 1 {
		t.Errorf("got %+v", f)
	}
}

// TestSeveralQueues checks that the names of queues contain the port if several ports are measured.
func TestSeveralQueues(t *testing.T) {
	out := execute(t, small+smallTraffic+`switch: [forward]
sweep: {rate: [1Mbps]}
measure: [{queue: {port: s->c}}, {queue: {port: s->a}}]
expect: [{id: x, says: y, that: "queue['s->c max'] >= queue['s->a max']"}]
`, Options{})
	if m := out.Runs[0].Measures; len(m) != 1 || len(m[0].Groups) != 6 || m[0].Groups[3].Group != "s->a mean" {
		t.Errorf("got %v", m)
	}
	if out.Claims[0].Verdict != claim.Holds {
		t.Errorf("%+v", out.Claims[0])
	}
}

// Example runs an experiment file and prints the verdict of its claim.
func Example() {
	registry := room()
	s, err := plan.Load(registry, file("small.yaml", small+smallTraffic+`switch: [forward]
sweep: {rate: [1Mbps, 16Mbps]}
expect:
  - {id: full, says: what is offered arrives while the link is not full, where: {rate: 1Mbps},
      that: goodput.a >= 90% * rate}
`), experiment.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	outcome, err := Execute(context.Background(), s, Options{Jobs: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range outcome.Claims {
		fmt.Println(c.ID, c.Verdict, c.N)
	}
	// Output: full holds 2
}
