package schemelint

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weir/core/cc/cctest"
	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/scheme"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/worlds/sim"
)

// Limits of the rehearsed runs.
const (
	maxHops   = 40_000 // packet-hops of a point's first run
	maxPoints = 12
)

var (
	maxMemory    = 500e6            // bytes of memory of a run
	stallTimeout = 30 * time.Second // maximum time without simulated progress
)

// Mistake is an error in a controller or program.
type Mistake struct {
	Text  string // begins with the place in the experiment's file
	Fatal bool   // results would be wrong or missing
	Kind  scheme.WarningKind
}

// Kinds of warnings about mistakes that are not fatal.
var (
	warnController = scheme.WarningKind{ID: "trap-controller",
		Condition: "a controller breaks a rule of cc.Controller, which changes no result"}
	warnDrops = scheme.WarningKind{ID: "trap-drops",
		Condition: "no packet, or almost none, arrives in the first run"}
	warnMarks = scheme.WarningKind{ID: "trap-marks",
		Condition: "a program marks packets of senders that do not support marks, or similar"}
	warnCosts = scheme.WarningKind{ID: "trap-costs",
		Condition: "a controller or program starts goroutines or allocates memory for each packet"}
)

// WarningKinds returns the kinds of warnings that this package issues.
func WarningKinds() []scheme.WarningKind {
	return []scheme.WarningKind{warnController, warnDrops, warnMarks, warnCosts}
}

// Watch returns a copy of the registry with watched controllers; r stays unchanged. The experiment to check must be
// loaded with it.
func Watch(r *experiment.Registry) (*experiment.Registry, *Watched) {
	w, own := &Watched{}, *r
	own.Controllers = nil
	for _, s := range r.Controllers {
		own.Controllers = append(own.Controllers, w.findings.WatchScheme(s))
		w.names = append(w.names, s.Name)
	}
	for _, s := range r.Programs {
		w.names = append(w.names, s.Name)
	}
	return &own, w
}

// Watched collects the findings about the controllers of a registry.
type Watched struct {
	findings cctest.Findings
	names    []string // controllers and programs
}

// Find checks the controllers and programs of a spec, which must be loaded with the registry of Watch. It runs the
// beginning of some runs, several times each, until one fails. It returns the mistakes, each once; why is the reason if
// a run cannot be checked, and then found is incomplete.
func (w *Watched) Find(s *experiment.Spec) (found []Mistake, why string) {
	add := func(x Mistake) {
		if !slices.Contains(found, x) {
			found = append(found, x)
		}
	}
	for _, r := range w.chooseRuns(s) {
		if need := plan.EstimateMemory(r); need > maxMemory {
			return found, fmt.Sprintf("a run of it takes about %.0f MB of memory", math.Ceil(need/1e6))
		}
		marks := &markWatch{}
		first, wrong := runRehearsal(r, marks.traceAllPorts, nil)
		w.findings.ReportUnresponsive()
		for _, t := range w.findings.Found {
			if t.Unmarked && !isUnmarked(r.SpecPoint, t.Scheme) {
				continue
			}
			add(Mistake{controllerPlace(r.SpecPoint, t.Scheme) + "cc " + t.Scheme + ": " + t.Text, t.Fatal, warnController})
		}
		if wrong != "" {
			add(Mistake{Text: wrong, Fatal: true})
			return found, ""
		}
		if slices.ContainsFunc(w.findings.Found, func(t cctest.Finding) bool { return t.Fatal }) {
			continue
		}
		if text := describeDrops(first); text != "" {
			add(Mistake{Text: pointPrefix(r) + text, Kind: warnDrops})
		}
		if text := marks.describe(); text != "" {
			add(Mistake{Text: pointPrefix(r) + text, Kind: warnMarks})
		}
		switch second, wrong := runRehearsal(r, nil, nil); {
		case wrong != "":
			add(Mistake{Text: wrong, Fatal: true})
			return found, ""
		case !isEqual(first, second):
			add(Mistake{Fatal: true, Text: pointPrefix(r) + "two runs of one seed differ: a program or a scheduler asks a " +
				"clock, ranges over a map, or draws from a random stream that is not its own (Site.Random)"})
			continue
		}
		for _, text := range w.findCosts(r) {
			add(Mistake{Text: pointPrefix(r) + text, Kind: warnCosts})
		}
	}
	return found, ""
}

// controllerPlace returns the place where a point's traffic names a controller, followed by ": "; "" if it is not
// found.
func controllerPlace(p *experiment.Point, name string) string {
	for i := range p.Entries() {
		if s, _ := p.Entry(i).CC(); s != nil && s.Name == name {
			return p.Entry(i).CCAt().String() + ": "
		}
	}
	return ""
}

// pointPrefix returns the run's point, followed by ": "; "" for an experiment of one point.
func pointPrefix(r *plan.Run) string {
	if len(r.Point) == 0 {
		return ""
	}
	return measure.PointName(r.Point) + ": "
}

// chooseRuns returns the first runs of up to maxPoints points, so that each name occurs in one of them if possible. It
// always includes the first point.
func (w *Watched) chooseRuns(s *experiment.Spec) (runs []*plan.Run) {
	covered := map[string]bool{}
	for i, p := range s.Points() {
		fresh := len(runs) == 0
		text := p.Canonical()
		for _, name := range w.names {
			if !covered[name] && strings.Contains(text, name) && wordPattern(name).MatchString(text) {
				covered[name], fresh = true, true
			}
		}
		if fresh {
			runs = append(runs, &plan.Run{Seed: s.Seed(), Point: p.Coordinates(), Spec: s, SpecPoint: p, Index: i})
		}
		if len(runs) == maxPoints {
			break
		}
	}
	return runs
}

// wordPattern returns a pattern that matches name as a whole word.
func wordPattern(name string) *regexp.Regexp {
	return regexp.MustCompile(`(^|[^\w])` + regexp.QuoteMeta(name) + `([^\w]|$)`)
}

// isUnmarked reports whether packets of a point's traffic with a controller of that name cannot be marked, for one
// traffic at least.
func isUnmarked(p *experiment.Point, name string) bool {
	for i := range p.Entries() {
		tr := p.Entry(i)
		if s, _ := tr.CC(); s != nil && s.Name == name {
			if tr.Traits().ReasonUnmarked(s.ECN) != "" {
				return true
			}
		}
	}
	return false
}

// runRehearsal runs the beginning of a run, up to about maxHops packet-hops. Without a result, wrong describes the
// failure. It is a failure if simulated time does not advance for stallTimeout; the goroutine continues.
// configure changes the run's configuration; onProgress is called during the run, in another goroutine, with its
// packet-hops. Both may be nil.
func runRehearsal(r *plan.Run, configure func(c *sim.Config), onProgress func(hops uint64)) (result *outcome.Result,
	wrong string) {
	c, err := r.Config()
	if err != nil {
		return nil, err.Error()
	}
	var hops, steps atomic.Uint64
	c.Warmup, c.Watches, c.Onsets, c.Threads = 0, nil, nil, 1
	c.SkipRepeated = false // the packets themselves are checked
	c.Progress = func(p sim.Progress) {
		hops.Store(p.PacketHops)
		steps.Add(1)
		if onProgress != nil {
			onProgress(p.PacketHops)
		}
	}
	c.Stopped = func() bool { return hops.Load() >= maxHops }
	if configure != nil {
		configure(c)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				result, wrong = nil, fmt.Sprintf("%s%s panics: %v", pointPrefix(r), panicSource(), p)
			}
		}()
		if result, err = sim.Run(c); err != nil {
			wrong = err.Error()
		}
	}()
	before := uint64(0)
	for {
		select {
		case <-done:
			return result, wrong
		case <-time.After(stallTimeout):
		}
		now := steps.Load()
		if now == before {
			return nil, pointPrefix(r) + "the simulated time stands still: a program (Tick) or a controller (NextTimer) " +
				"asks for the same time again and again"
		}
		before = now
	}
}

// panicSource returns the function and line that caused the panic being recovered, or "it". Call it in the deferred
// function.
func panicSource() string {
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(1, pc)])
	thrown := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			thrown = true
		case thrown && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s (%s:%d)", f.Function, filepath.Base(f.File), f.Line)
		}
		if !more {
			return "it"
		}
	}
}

// isEqual reports whether two runs had the same results: end, time, drops, flows and ports.
func isEqual(a, b *outcome.Result) bool {
	return a.End == b.End && a.Time == b.Time && a.Drops == b.Drops && reflect.DeepEqual(a.Flows, b.Flows) &&
		reflect.DeepEqual(a.Ports, b.Ports)
}

// programReasons are the reasons for which programs drop packets even if there is space for them.
var programReasons = []dataplane.Reason{dataplane.InputLoss, dataplane.Policed, dataplane.ActivityExceeded,
	dataplane.EarlyDrop, dataplane.Evicted}

// describeDrops returns a text if no packet arrives and programs drop at least 80 % of the sent ones; "" otherwise.
func describeDrops(res *outcome.Result) string {
	sent, received := int64(0), int64(0)
	for i := range res.Flows {
		sent += res.Flows[i].Sender.SentPackets
		received += res.Flows[i].Receiver.ReceivedPackets
	}
	dropped, reasons := uint64(0), []string(nil)
	for _, r := range programReasons {
		if dropped += res.Drops[r]; res.Drops[r] > 0 {
			reasons = append(reasons, r.String())
		}
	}
	few := int64(2) // fewer drops could be chance
	if res.End == outcome.Interrupted {
		few = 8
	}
	if sent = max(sent, int64(dropped)); received > 0 || sent < few || float64(dropped) < 0.8*float64(sent) {
		return ""
	}
	return fmt.Sprintf("nothing arrives: of %d packets programs drop %d (%s)", sent, dropped, strings.Join(reasons, ", "))
}
