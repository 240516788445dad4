package cctest

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// Finding is something that a controller does and its scheme does not say, or that no controller may do.
type Finding struct {
	Scheme string
	Text   string
	// Fatal: results with it would be wrong, or there would be none.
	Fatal bool
	// Unmarked: it counts only where packets of the scheme's flows cannot be marked.
	Unmarked bool

	kind string // findings of one kind are merged
	// chance: decisions do not follow from the calls alone; divergent: a replica decided differently
	chance, divergent bool
}

// Findings collects the findings about all controllers that its schemes make, each once.
type Findings struct {
	Found []Finding
	// Plain: controllers have no replicas, so that costs are their own.
	Plain bool

	marked []marking // of schemes that ask for marks
}

// marking records whether a scheme that asks for marks responds to them.
type marking struct {
	scheme    string
	acks      int // that marks have been tried on
	responded bool
}

// ofMarks is the marking of a scheme.
func (t *Findings) ofMarks(name string) *marking {
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

// End adds what is known only when all is over: that a scheme asks for marks and heeds none.
func (t *Findings) End() {
	for _, m := range t.marked {
		if m.responded || m.acks < minMarks {
			continue
		}
		t.add(Finding{Scheme: m.scheme, kind: heedless, Text: heedless})
	}
}

const heedless = "its scheme asks for marks (ECN: cc.DCTCPMode or CNPMode), so that switches mark its packets where " +
	"they would drop them, and it heeds none: not Ack.ECN, OnLoss of cc.ECNEcho or OnNotice of cc.CNPNotice"

// add leaves out what is there, and what chance alone may have made of it.
func (t *Findings) add(x Finding) {
	left := t.Found[:0]
	for _, other := range t.Found {
		same := other.Scheme == x.Scheme
		if same && (other.kind == x.kind || other.chance && x.divergent) {
			return
		}
		if !(same && x.chance && other.divergent) {
			left = append(left, other)
		}
	}
	t.Found = append(left, x)
}

// Of returns scheme s with controllers that have replicas. All get the same calls. One replica also gets what the
// scheme does not ask for, and no network would give it: a controller that reads this decides differently, and is
// found. The replica with exactly the same calls finds a controller that reads a clock, draws from a stream other than
// the flow's, or shares state with other flows.
func (t *Findings) Of(s cc.Scheme) cc.Scheme {
	build, named := s.Build, s
	s.Build = func(f cc.Flow, c scheme.Config) (cc.Controller, error) {
		if t.Plain {
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
		another := func() (cc.Controller, error) {
			own := f
			if f.Random.Rand != nil { // streams cannot be copied
				own.Random = unit.NewRandom(seed, "twin")
			}
			return build(own, c)
		}
		var err error
		if x.Controller, err = another(); err != nil {
			return nil, err
		}
		others := []replica{{what: "the same calls give different decisions: it asks a clock, ranges over a map, draws " +
			"from a random stream that is not its flow's, or shares state with other flows"}}
		if s.Telemetry == telemetry.Nothing {
			others = append(others, replica{what: "it reads telemetry (Ack.Telemetry) and asks for none, so no packet will " +
				"carry any; its scheme lacks Telemetry: telemetry.HopRecords, or PathLoad", alter: x.recorded})
		}
		if !s.Requests {
			others = append(others, replica{what: "it reads what switches answer (Ack.Telemetry.Answer or Drain) and makes no " +
				"requests; its scheme lacks Requests: true", alter: answered})
		}
		switch {
		case s.ECN == cc.AsConfigured:
			others = append(others, replica{what: "it reads marks (Ack.ECN), and packets of its flows cannot be marked: its " +
				"scheme lacks ECN: cc.DCTCPMode, or their transport ecn: true", alter: x.marked, unmarked: true})
		case s.Receiver == nil: // else the receiver may heed them
			others = append(others, replica{alter: x.marked, respondsToMarks: true})
		}
		for _, o := range others {
			if o.controller, err = another(); err != nil {
				return nil, err
			}
			x.others = append(x.others, o)
		}
		return x, nil
	}
	return s
}

// replica gets the same calls as its siblings, but for what alter changes.
type replica struct {
	controller      cc.Controller
	what            string // it means if it decides differently
	alter           func(now unit.Time, a *cc.Ack)
	unmarked        bool // of the trap that it finds
	respondsToMarks bool // it receives marks in every form, and has to decide differently
}

// replicas is a controller with its replicas. Its decisions are the controller's own, as far as they can be.
type replicas struct {
	cc.Controller
	others   []replica
	scheme   *cc.Scheme
	findings *Findings
	mss      unit.Bytes
	rate     unit.Rate // of made-up hops
	acks     int
	sent     uint64 // bytes that made-up hops have
	last     unit.Time
	marks    int64 // packets that were said to be marked
	dead     bool  // it has panicked
	idle     bool  // it asks for a time that is over: no timer is set any more
}

func (x *replicas) fail(fatal bool, format string, args ...any) {
	x.findings.add(Finding{Scheme: x.scheme.Name, Text: fmt.Sprintf(format, args...), Fatal: fatal, kind: format})
}

// recorded gives an acknowledgement what hops would have written, of times with and without congestion.
func (x *replicas) recorded(now unit.Time, a *cc.Ack) {
	busy := x.acks/32%2 == 1
	share, queue := 0.1, unit.Bytes(0)
	if busy {
		share, queue = 1, unit.Bytes(x.acks%32)*10*x.mss
	}
	x.sent += uint64(share * float64(x.rate) / 8 * (now - x.last).Seconds())
	x.last = now
	a.Telemetry.Hops = []telemetry.Hop{{Time: now, TxBytes: x.sent, Queue: queue, Rate: x.rate, Switch: 1, Port: 1}}
	a.Telemetry.Load, a.Telemetry.Path = 1.5*share, 1
}

// answered gives it an answer to a request.
func answered(_ unit.Time, a *cc.Ack) {
	a.Telemetry.Answer, a.Telemetry.Drain = 0xff, uint32(1000+a.Packets)
}

// marked says of every fourth acknowledgement that its packets were marked.
func (x *replicas) marked(_ unit.Time, a *cc.Ack) {
	if x.acks%4 == 0 {
		a.ECN.Echo = true
		x.marks += int64(a.Packets)
	}
	a.ECN.Delivered += x.marks
}

// notify tells of marks in the other ways in which transports do.
func notify(c cc.Controller, now unit.Time, a *cc.Ack) {
	c.OnNotice(now, cc.Notice{Kind: cc.CNPNotice, Seq: a.Una})
	c.OnLoss(now, cc.Loss{Kind: cc.ECNEcho, InFlight: a.Flight.After, Next: a.Next})
}

// callAll calls the controller and all replicas, and compares their decisions.
func (x *replicas) callAll(now unit.Time, what string, call func(c cc.Controller, o *replica)) {
	if x.dead || !x.safely(what, func() { call(x.Controller, &replica{}) }) {
		return
	}
	d, ok := x.decided()
	if !ok {
		return
	}
	left := x.others[:0]
	for _, o := range x.others {
		var other cc.Decision
		p := panics(func() { call(o.controller, &o); other = o.controller.Decision() })
		switch {
		case p == nil && other == d:
			left = append(left, o)
		case o.respondsToMarks:
			x.findings.ofMarks(x.scheme.Name).responded = true
		case p != nil && o.alter == nil:
			x.dead = true
			x.fail(true, "%s panics: %v", what, p)
		default:
			x.findings.add(Finding{Scheme: x.scheme.Name, Text: o.what, Fatal: o.alter == nil, kind: o.what,
				chance: o.alter == nil, divergent: o.alter != nil, Unmarked: o.unmarked})
			if o.alter == nil { // the others differ for no other reason
				x.others = nil
				return
			}
		}
	}
	x.others = left
	switch {
	case d.Window < x.mss:
		x.fail(true, "after %s its window is %v, which is below a packet (%v): nothing can be sent", what, d.Window, x.mss)
	case d.Rate < 0:
		x.fail(true, "after %s its rate is %v", what, d.Rate)
	}
	if d.NextTimer < now || d.NextTimer == now && what == "OnTimer" {
		x.idle = true
		x.fail(true, "after %s at %v its NextTimer is %v, which is over: it would be called again and again; unit.Never is "+
			"no timer", what, now, d.NextTimer)
	}
}

// safely calls the controller, and reports whether that went well.
func (x *replicas) safely(what string, call func()) (well bool) {
	p := panics(call)
	if p != nil {
		x.dead = true
		x.fail(true, "%s panics: %v", what, p)
	}
	return p == nil
}

// panics is what a call panics with; nil: nothing.
func panics(call func()) (p any) {
	defer func() { p = recover() }()
	call()
	return nil
}

const askingChanges = "asking for its Decision changes it"

// decided is the decision, of which asking changes nothing.
func (x *replicas) decided() (d cc.Decision, ok bool) {
	ok = x.safely("Decision", func() {
		if d = x.Controller.Decision(); d != x.Controller.Decision() {
			x.findings.add(Finding{Scheme: x.scheme.Name, Text: askingChanges, Fatal: true, kind: askingChanges, chance: true})
			x.others = nil
		}
	})
	return d, ok
}

// OnSend tells all.
func (x *replicas) OnSend(now unit.Time, s cc.Sent) {
	before := x.Decision()
	x.callAll(now, "OnSend", func(c cc.Controller, _ *replica) { c.OnSend(now, s) })
	if after := x.Decision(); x.scheme.KeepsOnSend && after != before && !x.dead {
		x.fail(true, "OnSend changes its Decision, and its scheme has KeepsOnSend: true")
	}
}

// OnAck tells each with a copy of its own.
func (x *replicas) OnAck(now unit.Time, a *cc.Ack) {
	x.acks++
	x.callAll(now, "OnAck", func(c cc.Controller, o *replica) {
		own := *a
		own.Telemetry.Hops = append([]telemetry.Hop(nil), a.Telemetry.Hops...)
		if o.alter != nil {
			o.alter(now, &own)
		}
		c.OnAck(now, &own)
		if o.respondsToMarks {
			x.findings.ofMarks(x.scheme.Name).acks++
			if own.ECN.Echo {
				notify(c, now, &own)
			}
		}
	})
}

// OnNotice tells all.
func (x *replicas) OnNotice(now unit.Time, n cc.Notice) {
	x.callAll(now, "OnNotice", func(c cc.Controller, _ *replica) { c.OnNotice(now, n) })
}

// OnLoss tells all.
func (x *replicas) OnLoss(now unit.Time, l cc.Loss) {
	x.callAll(now, "OnLoss", func(c cc.Controller, _ *replica) { c.OnLoss(now, l) })
}

// OnTimer tells all.
func (x *replicas) OnTimer(now unit.Time) {
	x.callAll(now, "OnTimer", func(c cc.Controller, _ *replica) { c.OnTimer(now) })
}

// Decision is the controller's, changed so that the others of a rehearsal can go on.
func (x *replicas) Decision() cc.Decision {
	d := cc.Decision{Window: x.mss, NextTimer: unit.Never}
	if !x.dead {
		if own, ok := x.decided(); ok {
			d = own
		}
	}
	if d.Window = max(d.Window, x.mss); x.idle {
		d.NextTimer = unit.Never
	}
	d.Rate = max(d.Rate, 0)
	return d
}
