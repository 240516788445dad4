package experiment_test

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"weir/core/cc/cubic"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
)

// TestSeveralErrors checks that errors are reported together, in the order of the file.
func TestSeveralErrors(t *testing.T) {
	e := wrong(t, strings.Replace(small, "rate: 100Mbps, delay: 1ms}\n    - {ends: [b",
		"rate: 0Mbps, delay: 1}\n    - {ends: [b", 1)+smallTraffic+"switch: [forward]\nsweep: {rate: [1Mbps]}\n",
		experiment.Options{})
	if len(e) != 2 || e[0].Column >= e[1].Column {
		t.Errorf("got %v", e)
	}
}

// TestListRuns_VariesSeedsFastest checks that the first sweep key varies slowest, seeds fastest; run k has seed + k.
func TestListRuns_VariesSeedsFastest(t *testing.T) {
	s := plantest.Load(t, room(),
		small+smallTraffic+"seed: 7\nsweep:\n  scheme: {x: {switch: [forward]}, y: {switch: [ecmp]}}\n  rate: "+
			"[1Mbps, 2Mbps]\n", experiment.Options{})
	var got []string
	ids := map[string]bool{}
	for _, r := range plan.ListRuns(s) {
		got = append(got, measure.PointName(r.Point)+" "+string(rune('0'+r.Seed)))
		ids[r.ID("x")] = true
	}
	want := "scheme=x rate=1Mbps 7|scheme=x rate=1Mbps 8|scheme=x rate=2Mbps 7|scheme=x rate=2Mbps 8|" +
		"scheme=y rate=1Mbps 7|scheme=y rate=1Mbps 8|scheme=y rate=2Mbps 7|scheme=y rate=2Mbps 8"
	if strings.Join(got, "|") != want {
		t.Errorf("got\n%v\nwant\n%v", strings.Join(got, "|"), want)
	}
	if len(ids) != 8 {
		t.Errorf("%d ids for 8 runs", len(ids))
	}
	if r := plan.ListRuns(s)[0]; r.ID("x") == r.ID("y") {
		t.Error("the id does not depend on the executable")
	}
	if c := plan.ListRuns(s)[2].Point[1]; !c.IsNum || c.Value != 2e6 || c.Text != "2Mbps" {
		t.Errorf("got %+v", c)
	}
}

// TestSweep_SubstitutesKeysInEachPoint checks that $key is replaced by a plain value anywhere, also where it names a
// scheme. Each point has its own value.
func TestSweep_SubstitutesKeysInEachPoint(t *testing.T) {
	s := plantest.Load(t, room(),
		small+`traffic: [{name: a, from: $from, to: c, transport: {udp: {rate: $rate}}, start: 0s}]
switch: [$program]
sweep: {program: [forward, ecmp], from: [a, b], rate: [1Mbps, 2Mbps]}
`, experiment.Options{})
	want := []string{"forward", "ecmp"}
	for i, p := range s.Points() {
		if !strings.Contains(p.Canonical(), "{"+want[i/4]+": {") {
			t.Errorf("point %d: the program is not %s:\n%s", i, want[i/4], p.Canonical())
		}
		if got := p.Network().Nodes[p.Flow(0).Src].Name; got != []string{"a", "b"}[i/2%2] {
			t.Errorf("point %d comes from %s", i, got)
		}
		if got := appRate(p.Entry(0)); int64(got) != int64(1e6)*int64(1+i%2) {
			t.Errorf("point %d has rate %v", i, got)
		}
	}
	// the transports of a sweep have parameters of their own
	s = plantest.Load(t, room(), small+`traffic: [{name: a, from: a, to: c, transport: $t, size: 10kB, start: 0s}]
switch: [forward]
sweep: {t: {udp: {traffic: [{name: a, from: a, to: c, transport: udp, rate: 1Mbps, start: 0s}]},
            window: {traffic: [{name: a, from: a, to: c,
                transport: {window: {window: 4 packets}}, size: 10kB, start: 0s}]}}}
`, experiment.Options{})
	if a, b := transportOf(s.Points()[0].Entry(0)), transportOf(s.Points()[1].Entry(0)); a != "udp" || b != "window" {
		t.Errorf("got %s and %s", a, b)
	}
	// a scheme that a $key names has defaults, too, and all are written out
	s = plantest.Load(t, room(), small+smallTraffic+"switch: [forward, $aqm]\nsweep: {rate: [1Mbps], aqm: [ecmp, abc]}\n",
		experiment.Options{})
	for _, p := range s.Parameters() {
		if strings.HasSuffix(p.Path, "abc.memory") && p.Value == "3s" && p.Source == "default: P4-ABC §6.1.3" {
			return
		}
	}
	t.Errorf("the default of abc.memory is silent: %v", s.Parameters())
}

// TestSchedulerOverride checks that a block replaces a scheduler, and does not mix with it.
func TestSchedulerOverride(t *testing.T) {
	plantest.Load(t, room(), small+smallTraffic+`switch: [forward]
switches: {"*": {queues: 2, scheduler: strict}}
sweep: {rate: [1Mbps], scheduler: {strict: {switches: {s: {queues: 2}}}, drr: {switches: {"*": {scheduler: drr}}}}}
`, experiment.Options{})
}

// TestPointsAreDistinct checks that points with the same specs are still different runs.
func TestPointsAreDistinct(t *testing.T) {
	s := plantest.Load(t, room(),
		small+smallTraffic+"sweep: {rate: [1Mbps], x: {a: {switch: [forward]}, b: {switch: [forward]}}}\n",
		experiment.Options{})
	if r := plan.ListRuns(s); r[0].ID("") == r[2].ID("") {
		t.Error("two points share an id")
	}
}

// TestInputFilesCount checks that a run's id depends on the contents of the files that the spec names.
func TestInputFilesCount(t *testing.T) {
	const fromFile = `title: x
duration: 1ms
topology: {file: x.topo, format: hpcc}
switch: [ecmp]
framing: hpcc
mtu: 1000 B payload
traffic: [{name: a, file: x.flow, format: hpcc, transport: {window: {window: 8 packets}}}]
measure: [fct]
`
	id := func(size string) string {
		fs := fstest.MapFS{
			"experiments/x.yaml": {Data: []byte(fromFile)},
			"experiments/x.topo": {Data: []byte("3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n")},
			"experiments/x.flow": {Data: []byte("1\n0 1 3 100 " + size + " 0.0\n")},
		}
		r := room()
		r.Library = []experiment.Library{{Name: "lib", Files: fs}}
		src, err := r.OpenExperiment("lib/x")
		if err != nil {
			t.Fatal(err)
		}
		s := plantest.LoadSource(t, r, src, experiment.Options{})
		return plan.ListRuns(s)[0].ID("")
	}
	small, again, large := id("1000"), id("1000"), id("2000")
	if small == large || small != again {
		t.Error("the id does not follow the flow file")
	}
}

// TestResolved_IsSameExperiment checks that the resolved spec is the same experiment, and that its bytes are stable.
func TestResolved_IsSameExperiment(t *testing.T) {
	testkit.Golden(t, "resolved.yaml", string(plantest.Load(t, room(), runnable, experiment.Options{}).Resolved()))
	for _, text := range []string{
		small + smallTraffic + "switch: [forward]\nsweep: {rate: [1Mbps, 2Mbps]}\nquick: {rate: [1Mbps]}\n",
		small + smallTraffic + "switches: {\"*\": {programs: [forward, {abc: {aggregates: {10.0.0.1: 20kbps}}}], queues: " +
			"2, scheduler: drr}}\nsweep: {rate: [1Mbps]}\nmeasure: [jain, goodput, {queue: {port: s->c}}]\nplot: [{x: rate, " +
			"y: jain}]\nexpect: [{id: a, says: \"it's: #so\", that: goodput.a < 1.5 * goodput.b}]\n",
	} {
		s := plantest.Load(t, room(), text, experiment.Options{})
		first := s.Resolved()
		if !bytes.Equal(first, s.Resolved()) || !bytes.Equal(first, plantest.Load(t, room(), text,
			experiment.Options{}).Resolved()) {
			t.Error("the bytes are not stable")
		}
		again := plantest.Load(t, room(), string(first), experiment.Options{})
		if !bytes.Equal(first, again.Resolved()) {
			t.Errorf("resolved again it is different:\n%s\n%s", first, again.Resolved())
		}
		if s.Hash() != again.Hash() || plan.ListRuns(s)[0].ID("x") != plan.ListRuns(again)[0].ID("x") {
			t.Error("the resolved spec is another experiment")
		}
		if bytes.Contains(first, []byte("quick")) {
			t.Error("quick stayed")
		}
	}
}

// TestResolvedPoints checks sweeps in which a block's value has different defaults at each point, and a name used twice
// has the defaults of both places. The resolved spec has what all points have alike, and the rest follows from it.
func TestResolvedPoints(t *testing.T) {
	s := plantest.Load(t, room(), small+`switch: [$first]
traffic: [{name: a, from: a, to: c, start: 0s, transport: $over},
  {name: b, from: b, to: c, start: 0s, transport: {tcp: {}}, cc: $cc}]
sweep:
  over: {tcp: {over: {tcp: {nacks: loss}}}, udp: {over: {udp: {rate: 1Mbps}}}}
  first: {x: {first: forward}, y: {first: ecmp, mtu: 1400 B}}
  cc: [cubic, reno]
`, experiment.Options{})
	again := plantest.Load(t, room(), string(s.Resolved()), experiment.Options{Resolved: true})
	was, is := plan.ListRuns(s), plan.ListRuns(again)
	if len(was) != len(is) || len(was) == 0 {
		t.Fatalf("%d runs were %d", len(is), len(was))
	}
	for i := range was {
		if was[i].ID("") != is[i].ID("") {
			t.Errorf("%v: it was\n%s\nand is\n%s", was[i].Point, was[i].SpecPoint.Canonical(), is[i].SpecPoint.Canonical())
		}
	}
	if !bytes.Equal(s.Resolved(), again.Resolved()) {
		t.Errorf("resolved again it is\n%s\nand was\n%s", again.Resolved(), s.Resolved())
	}
}

// TestLoad_ReadsVariantsOfFigure4 checks that p4abc/fig4 of the library is valid. --quick keeps both schemes and both
// ends, and two --set options give the paper's length.
func TestLoad_ReadsVariantsOfFigure4(t *testing.T) {
	r := room()
	src, err := r.OpenExperiment("p4abc/fig4")
	if err != nil {
		t.Fatal(err)
	}
	s := plantest.LoadSource(t, r, src, experiment.Options{})
	if n := len(plan.ListRuns(s)); n != 2*10*3 {
		t.Errorf("%d runs", n)
	}
	quick := plantest.LoadSource(t, r, src, experiment.Options{Quick: true})
	if n := len(plan.ListRuns(quick)); n != 2*3*1 { // both schemes, both ends, and where R0 is below R1
		t.Errorf("quick has %d runs", n)
	}
	paper := plantest.LoadSource(t, r, src, experiment.Options{Set: []string{"duration=300s", "repeat=10"}})
	if n := len(plan.ListRuns(paper)); n != 2*10*10 || paper.Points()[0].Duration().String() != "300s" {
		t.Errorf("the paper's has %d runs of %v", n, paper.Points()[0].Duration())
	}
	if plan.EstimateHops(plan.ListRuns(paper)[0]) < 4*plan.EstimateHops(plan.ListRuns(s)[0]) {
		t.Error("the estimate does not follow the duration")
	}
}

// TestParameters_IncludeSchemesWithoutOptions checks that a scheme without parameters is a parameter itself, and that
// defaults of a sweep's block are listed once.
func TestParameters_IncludeSchemesWithoutOptions(t *testing.T) {
	s := plantest.Load(t, room(),
		small+smallTraffic+"sweep: {rate: [1Mbps], scheme: {plain: {switch: [forward]}, abc: {switch: "+
			"[forward, abc]}}}\nmeasure: [drops]\n", experiment.Options{})
	var got []string
	for _, p := range s.Parameters() {
		if strings.Contains(p.Path, "switch") && !strings.Contains(p.Path, "topology") ||
			strings.HasPrefix(p.Path, "measure") {
			got = append(got, p.Path+"="+p.Value)
		}
	}
	text := strings.Join(got, " ")
	for _, want := range []string{"sweep.scheme.plain.switch.0=forward", "sweep.scheme.abc.switch.0=forward",
		"sweep.scheme.abc.switch.1.abc.memory=3s", "measure.0=drops"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in %s", want, text)
			}
		})
	}
	if strings.Count(text, "abc.memory=") != 1 {
		t.Errorf("a default stands twice: %s", text)
	}
}

// transportOf returns the name of a traffic's transport.
func transportOf(tr *experiment.Traffic) string {
	s, _ := tr.Transport()
	return s.Name
}

// appRate returns the rate of a traffic's application.
func appRate(tr *experiment.Traffic) unit.Rate {
	return tr.Traits().AppRate
}

// TestLoad_SetChangesValues checks that --set reaches keys, sweep keys and named entries. Its mistakes are errors.
func TestLoad_SetChangesValues(t *testing.T) {
	text := small + smallTraffic + "switch: [forward]\nsweep: {rate: [1Mbps, 2Mbps]}\n"
	seed := uint64(42)
	s := plantest.Load(t, room(), text, experiment.Options{Set: []string{"rate=3Mbps", "duration=250ms",
		"traffic.b.rate=1Mbps"},
		Seed: &seed})
	if r := plan.ListRuns(s); len(r) != 2 || r[0].Seed != 42 || r[0].Point[0].Text != "3Mbps" {
		t.Errorf("got %v", r)
	}
	if p := s.Points()[0]; p.Duration().String() != "250ms" || appRate(p.Entry(1)) != unit.Mbps {
		t.Errorf("got %v, %v", p.Duration(), p.Entry(1))
	}
	sources := map[string]string{}
	for _, p := range s.Parameters() {
		sources[p.Path] = p.Source
	}
	for path, want := range map[string]string{"duration": "--set", "warmup": "test.yaml:3", "traffic.b.rate": "--set",
		"framing": "default: Weir: frames without FCS, as Linux counts them", "seed": "--seed", "sweep.rate": "--set"} {
		t.Run(path, func(t *testing.T) {
			if sources[path] != want {
				t.Errorf("%s comes from %q, not %q", path, sources[path], want)
			}
		})
	}
	for _, set := range []string{"durration=1s", "duration", "traffic.b.rat=1Mbps", "traffic.z.rate=1Mbps",
		"duration=1Mbps", "rate=fast"} {
		t.Run("refused: "+set, func(t *testing.T) {
			e := wrong(t, text, experiment.Options{Set: []string{set}})
			if e[0].File != "--set "+set && !strings.Contains(e[0].Error(), "--set "+set) {
				t.Errorf("%s: the error is at %s: %v", set, e[0].File, e)
			}
		})
	}
}

// TestSetMap checks that a map that --set gives is resolved like one in the file, with every default that is read
// inside it. So both are one experiment with one folder of results.
func TestSetMap(t *testing.T) {
	const text = small + "switch: [forward]\ntraffic: [{name: a, from: a, to: c, transport: tcp, start: 0s}]\n" +
		"measure: [goodput]\n"
	for _, x := range []struct{ name, set, line, want string }{
		{"a scheme in a list", "switch=[forward, {abc: {memory: 2s}}]", "switch: [forward]", "gamma: 16 packets"},
		{"a scheme's name", "switch=[forward, abc]", "switch: [forward]", "gamma: 16 packets"},
		{"a measure", "measure=[{queue: {port: s->c}}]", "measure: [goodput]", "every: 10ms"},
		{"a list of maps", "traffic=[{name: a, from: a, to: c, transport: tcp, start: 0s, cc: cubic}]",
			"traffic: [{name: a, from: a, to: c, transport: tcp, start: 0s}]", "beta: "},
	} {
		t.Run(x.name, func(t *testing.T) {
			key, value, _ := strings.Cut(x.set, "=")
			set := plantest.Load(t, room(), text, experiment.Options{Set: []string{x.set}})
			given := plantest.Load(t, room(), strings.Replace(text, x.line, key+": "+value, 1), experiment.Options{})
			if got := string(set.Resolved()); got != string(given.Resolved()) || set.Hash() != given.Hash() {
				t.Errorf("with --set it is\n%s\nand in the file\n%s", got, given.Resolved())
			} else if !strings.Contains(got, x.want) {
				t.Errorf("no default %q in\n%s", x.want, got)
			}
		})
	}
}

// TestOpenExperiment_SuggestsNearestName checks library names, paths, and the nearest name for what is neither.
func TestOpenExperiment_SuggestsNearestName(t *testing.T) {
	r := room()
	_, err := r.OpenExperiment("p4abc/fig5x")
	if err == nil || !strings.Contains(err.Error(), `did you mean "p4abc/fig5"?`) {
		t.Errorf("got %v", err)
	}
	src, err := r.OpenExperiment("../../papers/p4abc/experiments/fig4.yaml")
	if err != nil || src.Name != "fig4" {
		t.Errorf("got %v, %v", src, err)
	}
	list := r.Experiments()
	at := slices.IndexFunc(list, func(e experiment.LibraryEntry) bool { return e.Name == "p4abc/fig4" })
	if at < 0 || list[at].Title == "" || list[at].Paper.Name != "p4-abc" {
		t.Errorf("got %v", list)
	}
}

// FuzzLoad_GivesSpecOrPlacedErrors checks that any file is a spec or an input error with a place. A spec's resolved
// form is the same experiment.
func FuzzLoad_GivesSpecOrPlacedErrors(f *testing.F) {
	for _, a := range badInputs(f) {
		for _, x := range a.Select(".yaml") {
			f.Add(x.Data)
		}
	}
	fig4, err := os.ReadFile("../../papers/p4abc/experiments/fig4.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(fig4)
	f.Add([]byte(small + smallTraffic + "switch: [forward]\nsweep: {rate: [1Mbps, 2Mbps]}\nquick: {rate: [1Mbps]}\n"))
	r := room()
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4000 {
			return
		}
		s, err := plan.Load(r, file("fuzz.yaml", string(data)), experiment.Options{})
		if err != nil {
			placed(t, err)
			return
		}
		if s.Resolved(); len(s.Points()) > 50 {
			return
		}
		again, err := plan.Load(r, file("resolved.yaml", string(s.Resolved())), experiment.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, s.Resolved())
		}
		if !bytes.Equal(s.Resolved(), again.Resolved()) {
			t.Fatalf("resolved again it is different:\n%s\n%s", s.Resolved(), again.Resolved())
		}
	})
}

// placed checks that an error is an input error with a place and a message that a terminal can show.
func placed(t *testing.T, err error) {
	t.Helper()
	list, ok := err.(document.InputErrors)
	if !ok || len(list) == 0 {
		t.Fatalf("%T: %v", err, err)
	}
	for _, e := range list {
		if e.File == "" || e.Line < 1 || e.Column < 1 || e.Msg == "" || e.Caret > len([]rune(e.Excerpt)) {
			t.Fatalf("%+v", e)
		}
		for _, r := range e.Excerpt {
			if !strconv.IsPrint(r) {
				t.Fatalf("%q in %q", r, e.Excerpt)
			}
		}
	}
}

// FuzzLoad_SetGivesSpecOrPlacedErrors checks that any --set gives a spec or an input error with a place.
func FuzzLoad_SetGivesSpecOrPlacedErrors(f *testing.F) {
	for _, set := range []string{"rate=3Mbps", "traffic.b.rate=1Mbps", "traffic.0.size=1MB", "duration",
		"sweep.rate=[1Mbps]", "topology.links.1.delay={a: b}", "measure=[jain, [", "switch.0.abc.memory=1s", "traffic=x",
		"sweep=1"} {
		f.Add(set)
	}
	r := room()
	f.Fuzz(func(t *testing.T, set string) {
		src := file("fuzz.yaml", small+smallTraffic+"switch: [forward]\nsweep: {rate: [1Mbps, 2Mbps]}\n")
		if _, err := plan.Load(r, src, experiment.Options{Set: []string{set}}); err != nil {
			placed(t, err)
		}
	})
}

// FuzzInputFiles checks that any contents of the files that a spec names give a spec or an input error with a place.
func FuzzInputFiles(f *testing.F) {
	const fromFile = `title: from files
duration: 10ms
topology: {file: net, format: $format}
switch: [ecmp]
traffic:
  - {name: list, file: list, format: hpcc, transport: tcp}
  - {name: matrix, file: matrix, format: htsim, time_unit: 1us, transport: tcp}
  - {name: drawn, from: "*", to: random, transport: tcp, sizes: {file: sizes}, load: 0.1%}
sweep: {format: [hpcc, htsim]}
`
	good := map[string]string{
		"net":    "5 1 4\n4\n0 4 10Gbps 1us 0\n1 4 10Gbps 1us 0\n2 4 10Gbps 1us 0\n3 4 10Gbps 1us 0\n",
		"list":   "2\n0 1 3 100 20000 0.001\n1 2 3 100 20000 0.002\n",
		"matrix": "Nodes 4\nConnections 2\n0->1 id 1 start 0 size 20000\n2->1 id 2 start 5 size 20000\n",
		"sizes":  "0 0\n1000000 50\n3000000 100\n", // few of them: a flow costs time
	}
	names, formats := slices.Sorted(maps.Keys(good)), []string{"hpcc", "htsim"}
	for i, name := range names {
		f.Add(uint8(i), good[name])
	}
	f.Add(uint8(2+len(names)), "Nodes 4\nTiers 2\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nTier "+
		"1\nDownlink_speed_Gbps 100\nRadix_Down 2\n")
	r := room()
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		if len(text) > 2000 {
			return
		}
		src := &experiment.Source{Name: "fuzz", File: "fuzz.yaml", Data: []byte(fromFile),
			Open: func(name string) ([]byte, error) {
				if name == names[int(which)%len(names)] {
					return []byte(text), nil
				}
				return []byte(good[name]), nil
			}}
		format := formats[int(which)/len(names)%len(formats)]
		if _, err := plan.Load(r, src, experiment.Options{Set: []string{"format=" + format}}); err != nil {
			placed(t, err)
		}
	})
}

// TestSweep_VariablesTakeMapsAndLists checks that a block of the sweep can define the value of a $name, also a map or a
// list. Defaults that are read in it are written into the block, and a name without a use is an error.
func TestSweep_VariablesTakeMapsAndLists(t *testing.T) {
	text := small + `traffic:
  - {name: a, from: a, to: c, transport: tcp, cc: $control, start: 0s}
  - {name: b, from: b, to: c, transport: tcp, cc: $control, start: 0s, tos: $tos}
switch: [forward, $extra]
sweep:
  scheme:
    plain: {control: reno, extra: none}
    lossy: {control: {cubic: {beta: 0.6}}, extra: {loss: {probability: 1%}}}
  tos: [0, 8]
`
	s := plantest.Load(t, room(), text, experiment.Options{})
	first, _ := s.Points()[0].Entry(1).CC()
	_, last := s.Points()[3].Entry(0).CC()
	if len(s.Points()) != 4 || first.Name != "reno" || last.(*cubic.Config).Beta != 0.6 ||
		s.Points()[3].Entry(1).TOSOf(0) != 8 {
		t.Errorf("%+v", s.Points()[3])
	}
	over := strings.Replace(strings.Replace(text, "transport: tcp, cc: $control, start: 0s}",
		"transport: $over, size: 10kB, start: 0s}", 1), "extra: none}", "extra: none, over: tcp}", 1)
	over = strings.Replace(over, "loss: {probability: 1%}}",
		"loss: {probability: 1%}}, over: {window: {window: 5 packets}}", 1)
	points := plantest.Load(t, room(), over, experiment.Options{}).Points()
	one, _ := points[0].Entry(0).Transport()
	if other, _ := points[3].Entry(0).Transport(); one.Name != "tcp" || other.Name != "window" {
		t.Errorf("%+v, %+v", one, other)
	}
	nested := strings.Replace(strings.Replace(text, "{control: reno, extra: none}", "{control: reno, extra: none, p: 2%}",
		1), "sweep:\n", "sweep:\n  first:\n    one: {p: 3%}\n", 1)
	nested = strings.Replace(strings.Replace(nested, "reno, extra: none, p: 2%}",
		"reno, extra: {loss: {probability: $p}}}", 1), "probability: 1%", "probability: $p", 1)
	if o := plantest.Load(t, room(), nested, experiment.Options{}); !strings.Contains(o.Points()[0].Canonical(),
		"loss: {probability: 3%}") {
		t.Error(o.Points()[0].Canonical())
	}
	// Some blocks of another key may use a name, also where these are left out.
	some := strings.Replace(strings.Replace(text, "sweep:\n", "sweep:\n  first:\n    one: {p: 3%}\n", 1),
		"probability: 1%", "probability: $p", 1)
	for _, o := range []experiment.Options{{}, {Set: []string{"scheme=plain"}}} {
		resolved := string(plantest.Load(t, room(), some, o).Resolved())
		plantest.Load(t, room(), resolved, experiment.Options{Resolved: true})
	}
	resolved := string(s.Resolved())
	for _, want := range []string{"cc: $control", "switch: [{forward: {}}, $extra]", "beta: 0.6, c: 0.4"} {
		if !strings.Contains(resolved, want) {
			t.Errorf("no %q in\n%s", want, resolved)
		}
	}
	again := plantest.Load(t, room(), resolved, experiment.Options{Resolved: true})
	if string(again.Resolved()) != resolved {
		t.Error("the resolved spec resolves to another")
	}
	for change, want := range map[[2]string]string{
		{"extra: none", "xtra: none"}:                   "unknown key \"xtra\"",
		{"plain: {control: reno,", "plain: {"}:          "unknown sweep key \"$control\"",
		{"control: reno,", "control: $tos, trafic: 1,"}: "unknown key \"trafic\"; did you mean \"traffic\"?",
	} {
		_, err := plan.Load(room(), file("t.yaml", strings.Replace(text, change[0], change[1], 1)), experiment.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", change, err, want)
		}
	}
}
