package cctest

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Finding is a property of a controller that its scheme does not declare, or that no controller may have.
type Finding struct {
	Scheme string
	Text   string
	// Fatal: results with it would be wrong, or the run would fail.
	Fatal bool
	// Unmarked: the finding counts only where packets of the scheme's flows cannot be marked.
	Unmarked bool

	kind string // findings of one kind are merged
	// chance: decisions depend on more than the calls; divergent: a replica decided differently
	chance, divergent bool
}

// Findings collects the findings about all controllers that its schemes create, each once.
type Findings struct {
	Found []Finding
	// NoReplicas: controllers have no replicas, so that their cost can be measured.
	NoReplicas bool

	marked []marking // of schemes that ask for marks
}

// marking records whether a scheme that asks for marks responds to them.
type marking struct {
	scheme    string
	acks      int // acknowledgements with altered marks
	responded bool
}

// markingOf returns the marking of the scheme with a name, and adds one if it is missing. It is valid until the next
// call.
func (t *Findings) markingOf(name string) *marking {
	for i := range t.marked {
		if t.marked[i].scheme == name {
			return &t.marked[i]
		}
	}
	t.marked = append(t.marked, marking{scheme: name})
	return &t.marked[len(t.marked)-1]
}

// minMarks is the number of acknowledgements with marks after which a controller that has not responded is reported.
const minMarks = 200

// ReportUnresponsive adds the finding that becomes known only at the end: a scheme asks for marks and does not respond
// to them.
func (t *Findings) ReportUnresponsive() {
	for _, m := range t.marked {
		if m.responded || m.acks < minMarks {
			continue
		}
		t.addFinding(Finding{Scheme: m.scheme, kind: unresponsiveText, Text: unresponsiveText})
	}
}

const unresponsiveText = "its scheme asks for marks (ECN: cc.DCTCPMode or CNPMode), so that switches mark its " +
	"packets where they would drop them, but it responds to no mark (Ack.ECN, " +
	"OnLoss with cc.ECNEcho, OnNotice with cc.CNPNotice)"

// addFinding stores a finding, unless it is known or chance alone may explain it.
func (t *Findings) addFinding(x Finding) {
	kept := t.Found[:0]
	for _, other := range t.Found {
		same := other.Scheme == x.Scheme
		if same && (other.kind == x.kind || other.chance && x.divergent) {
			return
		}
		if !(same && x.chance && other.divergent) {
			kept = append(kept, other)
		}
	}
	t.Found = append(kept, x)
}

// WatchScheme returns scheme s with controllers that have replicas. All replicas get the same calls. Each replica but
// one also gets input that the scheme does not ask for, and that no network would provide. A controller that reads such
// input decides differently, and becomes a finding. The replica with exactly the same calls finds a controller that
// reads a clock, draws from a stream other than the flow's, or shares state with other flows.
func (t *Findings) WatchScheme(s cc.Scheme) cc.Scheme {
	build, named := s.Build, s
	s.Build = func(f cc.Flow, c scheme.Config) (cc.Controller, error) {
		if t.NoReplicas {
			return build(f, c)
		}
		x := &replicas{findings: t, scheme: &named, mss: unit.Bytes(f.MSS), rate: f.NICRate}
		if x.rate == 0 {
			x.rate = 10 * unit.Gbps
		}
		seed := uint64(0)
		if f.Random.Rand != nil {
			seed = f.Random.Uint64()
		}
		newReplica := func() (cc.Controller, error) {
			flow := f
			if f.Random.Rand != nil { // streams cannot be copied
				flow.Random = unit.NewRandom(seed, "twin")
			}
			return build(flow, c)
		}
		var err error
		if x.Controller, err = newReplica(); err != nil {
			return nil, err
		}
		others := []replica{{finding: "the same calls give different decisions: it asks a clock, ranges over a map, draws " +
			"from a random stream that is not its flow's, or shares state with other flows"}}
		if s.Telemetry == telemetry.NoRequest {
			others = append(others, replica{finding: "it reads telemetry (Ack.Telemetry) and asks for none, so no packet will " +
				"carry any; its scheme lacks Telemetry: telemetry.HopRecords, or PathLoad", alter: x.alterTelemetry})
		}
		if !s.Requests {
			others = append(others, replica{finding: "it reads what switches answer (Ack.Telemetry.Answer or Drain) and makes " +
				"no " +
				"requests; its scheme lacks Requests: true", alter: alterAnswers})
		}
		switch {
		case s.ECN == cc.AsConfigured:
			others = append(others, replica{finding: "it reads marks (Ack.ECN), and packets of its flows cannot be marked: " +
				"its " +
				"scheme lacks ECN: cc.DCTCPMode, or their transport ecn: true", alter: x.alterMarks, unmarked: true})
		case s.Receiver == nil: // else the receiver may respond to them
			others = append(others, replica{alter: x.alterMarks, respondsToMarks: true})
		}
		for _, o := range others {
			if o.controller, err = newReplica(); err != nil {
				return nil, err
			}
			x.others = append(x.others, o)
		}
		return x, nil
	}
	return s
}

// replica gets the same calls as its siblings, except for changes by alter.
type replica struct {
	controller      cc.Controller
	finding         string // text of the finding if it decides differently
	alter           func(now unit.Time, a *cc.Ack)
	unmarked        bool // Unmarked of the finding
	respondsToMarks bool // it receives marks in every form, and must decide differently
}

// replicas is a controller with its replicas. It returns the controller's own decisions where they are valid.
type replicas struct {
	cc.Controller
	others    []replica
	scheme    *cc.Scheme
	findings  *Findings
	mss       unit.Bytes
	rate      unit.Rate // of made-up hops
	acks      int
	sent      uint64 // bytes in made-up hops
	lastHop   unit.Time
	marks     int64 // packets reported as marked
	panicked  bool  // it has panicked
	timersOff bool  // it asked for a time in the past: timers are off
}

// report adds a finding about the scheme; findings with one format count once.
func (x *replicas) report(fatal bool, format string, args ...any) {
	x.findings.addFinding(Finding{Scheme: x.scheme.Name, Text: fmt.Sprintf(format, args...), Fatal: fatal, kind: format})
}

// alterTelemetry adds a hop record to an acknowledgement, in turn with and without congestion.
func (x *replicas) alterTelemetry(now unit.Time, a *cc.Ack) {
	busy := x.acks/32%2 == 1
	share, queue := 0.1, unit.Bytes(0)
	if busy {
		share, queue = 1, unit.Bytes(x.acks%32)*10*x.mss
	}
	x.sent += uint64(share * float64(x.rate) / 8 * (now - x.lastHop).Seconds())
	x.lastHop = now
	a.Telemetry.Hops = []telemetry.Hop{{Time: now, TxBytes: x.sent, Queue: queue, Rate: x.rate, Switch: 1, Port: 1}}
	a.Telemetry.Load, a.Telemetry.Path = 1.5*share, 1
}

// alterAnswers adds an answer to a request.
func alterAnswers(_ unit.Time, a *cc.Ack) {
	a.Telemetry.Answer, a.Telemetry.Drain = 0xff, uint32(1000+a.Packets)
}

// alterMarks marks the packets of every fourth acknowledgement.
func (x *replicas) alterMarks(_ unit.Time, a *cc.Ack) {
	if x.acks%4 == 0 {
		a.ECN.Echo = true
		x.marks += int64(a.Packets)
	}
	a.ECN.Delivered += x.marks
}

// notifyMarks reports marks in the other ways of transports: by a notice and by a loss.
func notifyMarks(c cc.Controller, now unit.Time, a *cc.Ack) {
	c.OnNotice(now, cc.Notice{Kind: cc.CNPNotice, Seq: a.FirstUnacked})
	c.OnLoss(now, cc.Loss{Kind: cc.ECNEcho, InFlight: a.Flight.After, Next: a.Next})
}

// callAll calls the controller and all replicas, and compares their decisions. A replica that decides differently
// becomes a finding, and is removed.
func (x *replicas) callAll(now unit.Time, what string, call func(c cc.Controller, o *replica)) {
	if x.panicked || !x.callSafely(what, func() { call(x.Controller, &replica{}) }) {
		return
	}
	d, ok := x.decide()
	if !ok {
		return
	}
	kept := x.others[:0]
	for _, o := range x.others {
		var other cc.Decision
		p := catchPanic(func() { call(o.controller, &o); other = o.controller.Decision() })
		switch {
		case p == nil && other == d:
			kept = append(kept, o)
		case o.respondsToMarks:
			x.findings.markingOf(x.scheme.Name).responded = true
		case p != nil && o.alter == nil:
			x.panicked = true
			x.report(true, "%s panics: %v", what, p)
		default:
			x.findings.addFinding(Finding{Scheme: x.scheme.Name, Text: o.finding, Fatal: o.alter == nil, kind: o.finding,
				chance: o.alter == nil, divergent: o.alter != nil, Unmarked: o.unmarked})
			if o.alter == nil { // the others differ for no other reason
				x.others = nil
				return
			}
		}
	}
	x.others = kept
	switch {
	case d.Window < x.mss:
		x.report(true, "after %s its window is %v, which is below a packet (%v): nothing can be sent", what, d.Window, x.mss)
	case d.Rate < 0:
		x.report(true, "after %s its rate is %v", what, d.Rate)
	}
	if d.NextTimer < now || d.NextTimer == now && what == "OnTimer" {
		x.timersOff = true
		x.report(true, "after %s at %v its NextTimer is %v, which is over: it would be called again and again; unit.Never "+
			"is "+
			"no timer", what, now, d.NextTimer)
	}
}

// callSafely runs call, and reports whether it returned. A panic becomes a finding.
func (x *replicas) callSafely(what string, call func()) (well bool) {
	p := catchPanic(call)
	if p != nil {
		x.panicked = true
		x.report(true, "%s panics: %v", what, p)
	}
	return p == nil
}

// catchPanic returns the value that call panics with; nil: it returned.
func catchPanic(call func()) (p any) {
	defer func() { p = recover() }()
	call()
	return nil
}

const decisionChangesText = "asking for its Decision changes it"

// decide returns the controller's decision. ok is false after a panic. A decision that changes between two calls
// becomes a finding.
func (x *replicas) decide() (d cc.Decision, ok bool) {
	ok = x.callSafely("Decision", func() {
		if d = x.Controller.Decision(); d != x.Controller.Decision() {
			x.findings.addFinding(Finding{Scheme: x.scheme.Name, Text: decisionChangesText, Fatal: true,
				kind: decisionChangesText, chance: true})
			x.others = nil
		}
	})
	return d, ok
}

// OnSend calls the controller and its replicas.
func (x *replicas) OnSend(now unit.Time, s cc.Sent) {
	before := x.Decision()
	x.callAll(now, "OnSend", func(c cc.Controller, _ *replica) { c.OnSend(now, s) })
	if after := x.Decision(); x.scheme.KeepsOnSend && after != before && !x.panicked {
		x.report(true, "OnSend changes its Decision, and its scheme has KeepsOnSend: true")
	}
}

// OnAck calls the controller and its replicas, each with a copy of a.
func (x *replicas) OnAck(now unit.Time, a *cc.Ack) {
	x.acks++
	x.callAll(now, "OnAck", func(c cc.Controller, o *replica) {
		copied := *a
		copied.Telemetry.Hops = append([]telemetry.Hop(nil), a.Telemetry.Hops...)
		if o.alter != nil {
			o.alter(now, &copied)
		}
		c.OnAck(now, &copied)
		if o.respondsToMarks {
			x.findings.markingOf(x.scheme.Name).acks++
			if copied.ECN.Echo {
				notifyMarks(c, now, &copied)
			}
		}
	})
}

// OnNotice calls the controller and its replicas.
func (x *replicas) OnNotice(now unit.Time, n cc.Notice) {
	x.callAll(now, "OnNotice", func(c cc.Controller, _ *replica) { c.OnNotice(now, n) })
}

// OnLoss calls the controller and its replicas.
func (x *replicas) OnLoss(now unit.Time, l cc.Loss) {
	x.callAll(now, "OnLoss", func(c cc.Controller, _ *replica) { c.OnLoss(now, l) })
}

// OnTimer calls the controller and its replicas.
func (x *replicas) OnTimer(now unit.Time) {
	x.callAll(now, "OnTimer", func(c cc.Controller, _ *replica) { c.OnTimer(now) })
}

// Decision returns the controller's decision, corrected where it is invalid so that a rehearsal can continue.
func (x *replicas) Decision() cc.Decision {
	d := cc.Decision{Window: x.mss, NextTimer: unit.Never}
	if !x.panicked {
		if decision, ok := x.decide(); ok {
			d = decision
		}
	}
	if d.Window = max(d.Window, x.mss); x.timersOff {
		d.NextTimer = unit.Never
	}
	d.Rate = max(d.Rate, 0)
	return d
}
