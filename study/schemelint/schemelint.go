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

// Limits of what is carried out.
const (
	mostHops   = 40_000 // packet-hops of a point's first run
	mostPoints = 12
)

var (
	mostMemory = 500e6            // bytes that a run would take
	patience   = 30 * time.Second // how long the simulated time may stand still
)

// Trap is a mistake that was found.
type Trap struct {
	Text  string // with the place in the experiment's file of what makes it
	Fatal bool   // results would be wrong, or there would be none
	Kind  scheme.WarningKind
}

// Kinds of traps that are no errors.
var (
	warnController = scheme.WarningKind{ID: "trap-controller",
		Condition: "a controller breaks a rule of cc.Controller, which changes no result"}
	warnDrops = scheme.WarningKind{ID: "trap-drops",
		Condition: "no packet, or hardly one, arrives in the first run"}
	warnMarks = scheme.WarningKind{ID: "trap-marks",
		Condition: "a program marks packets whose sender cannot use marks, or the like"}
	warnCosts = scheme.WarningKind{ID: "trap-costs",
		Condition: "a controller or program starts goroutines, or takes memory for each packet"}
)

// WarningKinds returns the kinds of warnings that this package issues.
func WarningKinds() []scheme.WarningKind {
	return []scheme.WarningKind{warnController, warnDrops, warnMarks, warnCosts}
}

// Watch gives a registry whose controllers tell what they do. An experiment that is to be looked at is loaded with it.
func Watch(r *experiment.Registry) (*experiment.Registry, *Watched) {
	w, own := &Watched{}, *r
	own.Controllers = nil
	for _, s := range r.Controllers {
		own.Controllers = append(own.Controllers, w.findings.Of(s))
		w.names = append(w.names, s.Name)
	}
	for _, s := range r.Programs {
		w.names = append(w.names, s.Name)
	}
	return &own, w
}

// Watched is what controllers of a registry have told.
type Watched struct {
	findings cctest.Findings
	names    []string // of all that may have mistakes
}

// Find looks for mistakes in what a spec uses, which was loaded with the registry of Watch. It says why where it
// cannot look.
func (w *Watched) Find(s *experiment.Spec) (found []Trap, why string) {
	add := func(x Trap) {
		if !slices.Contains(found, x) {
			found = append(found, x)
		}
	}
	for _, r := range w.choose(s) {
		if need := plan.EstimateMemory(r); need > mostMemory {
			return found, fmt.Sprintf("a run of it takes about %.0f MB of memory", math.Ceil(need/1e6))
		}
		marks := &marked{}
		first, wrong := rehearse(r, marks.watch, nil)
		w.findings.End()
		for _, t := range w.findings.Found {
			if t.Unmarked && !unmarked(r.Of, t.Scheme) {
				continue
			}
			add(Trap{placed(r.Of, t.Scheme) + "cc " + t.Scheme + ": " + t.Text, t.Fatal, warnController})
		}
		if wrong != "" {
			add(Trap{Text: wrong, Fatal: true})
			return found, ""
		}
		if slices.ContainsFunc(w.findings.Found, func(t cctest.Finding) bool { return t.Fatal }) {
			continue
		}
		if text := drops(first); text != "" {
			add(Trap{Text: at(r) + text, Kind: warnDrops})
		}
		if text := marks.found(); text != "" {
			add(Trap{Text: at(r) + text, Kind: warnMarks})
		}
		switch second, wrong := rehearse(r, nil, nil); {
		case wrong != "":
			add(Trap{Text: wrong, Fatal: true})
			return found, ""
		case !alike(first, second):
			add(Trap{Fatal: true, Text: at(r) + "two runs of one seed differ: a program or a scheduler asks a clock, " +
				"ranges over a map, or draws " +
				"from a random stream that is not its own (Site.Random)"})
			continue
		}
		for _, text := range w.costs(r) {
			add(Trap{Text: at(r) + text, Kind: warnCosts})
		}
	}
	return found, ""
}

// placed is where a point's traffic names a controller.
func placed(p *experiment.Point, name string) string {
	for i := range p.Entries() {
		if s, _ := p.Entry(i).CC(); s != nil && s.Name == name {
			return p.Entry(i).CCAt().String() + ": "
		}
	}
	return ""
}

// at names a run's point in front of what is said of it.
func at(r *plan.Run) string {
	if len(r.Point) == 0 {
		return ""
	}
	return measure.PointName(r.Point) + ": "
}

// choose takes first runs of points so that each name is in one of them, as far as that needs few points.
func (w *Watched) choose(s *experiment.Spec) (runs []*plan.Run) {
	seen := map[string]bool{}
	for i, p := range s.Points() {
		fresh := len(runs) == 0
		text := p.Canonical()
		for _, name := range w.names {
			if !seen[name] && strings.Contains(text, name) && word(name).MatchString(text) {
				seen[name], fresh = true, true
			}
		}
		if fresh {
			runs = append(runs, &plan.Run{Seed: s.Seed(), Point: p.At(), Spec: s, Of: p, Index: i})
		}
		if len(runs) == mostPoints {
			break
		}
	}
	return runs
}

// word finds a name that is no part of another.
func word(name string) *regexp.Regexp {
	return regexp.MustCompile(`(^|[^\w])` + regexp.QuoteMeta(name) + `([^\w]|$)`)
}

// unmarked reports whether packets of a point's traffic with a controller of that name cannot be marked.
func unmarked(p *experiment.Point, name string) bool {
	for i := range p.Entries() {
		tr := p.Entry(i)
		if s, _ := tr.CC(); s != nil && s.Name == name {
			if tr.Traits().Unmarked(s.ECN) != "" {
				return true
			}
		}
	}
	return false
}

// rehearse carries out the beginning of a run. It says what goes wrong where that has no result. with changes its
// configuration; each is called as it goes on, with its packet-hops; both may be nil.
func rehearse(r *plan.Run, with func(c *sim.Config), each func(hops uint64)) (result *outcome.Result, wrong string) {
	c, err := r.Config()
	if err != nil {
		return nil, err.Error()
	}
	var hops, steps atomic.Uint64
	c.Warmup, c.Watches, c.Onsets, c.Threads = 0, nil, nil, 1
	c.Repeat = false // the packets are what is looked at
	c.Progress = func(p sim.Progress) {
		hops.Store(p.PacketHops)
		steps.Add(1)
		if each != nil {
			each(p.PacketHops)
		}
	}
	c.Stopped = func() bool { return hops.Load() >= mostHops }
	if with != nil {
		with(c)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				result, wrong = nil, fmt.Sprintf("%s%s panics: %v", at(r), culprit(), p)
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
		case <-time.After(patience):
		}
		now := steps.Load()
		if now == before {
			return nil, at(r) + "the simulated time stands still: a program (Tick) or a controller (NextTimer) asks for the " +
				"same time again and again"
		}
		before = now
	}
}

// culprit is the function, and its place, that the panic which is being recovered comes from.
func culprit() string {
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

// alike reports whether two runs did the same.
func alike(a, b *outcome.Result) bool {
	return a.End == b.End && a.Time == b.Time && a.Drops == b.Drops && reflect.DeepEqual(a.Flows, b.Flows) &&
		reflect.DeepEqual(a.Ports, b.Ports)
}

// byPrograms are the reasons for which programs drop packets, whatever else has room for them.
var byPrograms = []dataplane.Reason{dataplane.InputLoss, dataplane.Policed, dataplane.ActivityExceeded,
	dataplane.EarlyDrop, dataplane.Evicted}

// drops says that programs drop whatever is sent.
func drops(res *outcome.Result) string {
	sent, received := int64(0), int64(0)
	for i := range res.Flows {
		sent += res.Flows[i].Sender.SentPackets
		received += res.Flows[i].Receiver.ReceivedPackets
	}
	dropped, reasons := uint64(0), []string(nil)
	for _, r := range byPrograms {
		if dropped += res.Drops[r]; res.Drops[r] > 0 {
			reasons = append(reasons, r.String())
		}
	}
	few := int64(2) // that could be chance
	if res.End == outcome.Interrupted {
		few = 8
	}
	if sent = max(sent, int64(dropped)); received > 0 || sent < few || float64(dropped) < 0.8*float64(sent) {
		return ""
	}
	return fmt.Sprintf("nothing arrives: of %d packets programs drop %d (%s)", sent, dropped, strings.Join(reasons, ", "))
}
