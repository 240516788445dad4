package job

import "weir/core/unit"

// Costs are what messages cost processors and NICs of ranks (LogGOPS, as LogGOPSim has it). All are 0 where a network
// of packets has the costs. Products are rounded down to whole nanoseconds, in which that program counts.
type Costs struct {
	Overhead unit.Time  // o: of a processor, for each send and each receive
	PerByte  unit.Time  // O: of it, for each byte but the first
	Gap      unit.Time  // g: of a NIC, for each message
	ByteGap  unit.Time  // G: of it, for each byte but the first
	Eager    unit.Bytes // S: a send of more is over when its message has been received; less than 0: none is
	// Streams says that a NIC sends one message at a time.
	Streams bool
	// BindReceiver makes a message hold its receiver's processor and NIC for its bytes, as spcl/LogGOPSim 76451de does.
	// Without it a message has arrived before, and a posted receive holds the NIC for g and then the processor for
	// o + (s−1)·O, as in spcl/atlahs 8837294. It needs Streams.
	BindReceiver bool
}

// bytes is what all bytes of a message but the first cost.
func bytes(size unit.Bytes, each unit.Time) unit.Time {
	return unit.Time(max(size-1, 0)) * each / unit.Nanosecond * unit.Nanosecond
}

// hold is how long a processor has a message.
func (c *Costs) hold(size unit.Bytes) unit.Time { return c.Overhead + bytes(size, c.PerByte) }

// Wire is how long the bytes of a message but the first take.
func (c *Costs) Wire(size unit.Bytes) unit.Time { return bytes(size, c.ByteGap) }

// Network carries messages.
type Network interface {
	// Send begins to carry a message that its sender begins to send at a time, and with which the sender's processor is
	// done at time free. It says whether the send is over then; else Rank.Sent does, later.
	Send(now, free unit.Time, to int32, m Message) (over bool)
	// Received says that a message will have been received at a time.
	Received(at unit.Time, to int32, m Message)
	// Align adds a rank to the job's Barrier, at which it waits with an operation from now on.
	Align(now unit.Time, r *Rank, at Ref, period unit.Time)
}

// Span is a part of a rank's time: what one of its operations took.
type Span struct {
	Rank     int
	At       Ref
	Op       Op
	From, To unit.Time
}

// Rank carries out what one rank of a program does. Its driver calls Advance when its Next has come.
type Rank struct {
	Number   int
	frontier *Frontier
	program  Program
	costs    *Costs
	network  Network
	match    matcher
	ordering *ordering // of a job with messages that may overtake each other; nil: without, or receivers are bound
	events   heap
	streams  [4][]stream
	ready    []Ref
	turns    *int64   // the run's counter (CountTurns); nil: there are no turns
	aged     aged     // the program, on an ideal network; nil: it has no ages
	fault    error    // Fault
	flying   flying   // sends that others say the end of, and when they began
	known    [4]known // operations of late

	computes int // processors that compute
	since    unit.Time
	computed unit.Time // when one or more of them did
	waited   unit.Time // at barriers
	ended    int64     // iterations
	within   unit.Time // of computed, until the last of these ended
	last     unit.Time // when an operation ended last
	sent     unit.Bytes
	messages int64

	// OnMark is told of the end of an operation with a mark; OnSpan of what each operation took, before OnMark is, but for
	// those that take no time by what they are and have no mark. Both may be nil.
	OnMark func(rank int, mark Mark, part int32, at unit.Time)
	OnSpan func(s Span)
}

// NewRank is a rank of a program, before Begin.
func NewRank(p Program, number int, c *Costs, n Network) *Rank {
	r := &Rank{Number: number, frontier: NewFrontier(p, number), program: p, costs: c, network: n}
	if c.Streams {
		r.aged, _ = p.(aged)
	}
	if !c.BindReceiver { // else messages keep or lose their order as in LogGOPSim
		r.ordering = newOrdering(p)
	}
	for i := range r.known {
		r.known[i].at = Ref{-1, -1}
	}
	return r
}

// age returns the age of an operation of a rank; 0 if the program has no ages.
func (r *Rank) age(rank int, at Ref) int64 {
	if r.aged == nil {
		return 0
	}
	return r.aged.Age(rank, at)
}

// known is an operation. A program that has its operations by formula takes long to say what one is, and a rank asks
// when it is tried, when its message has come and when it ends.
type known struct {
	at Ref
	op Op
}

// op is an operation of the program.
func (r *Rank) op(at Ref) *Op {
	k := &r.known[uint32(at.Op^at.Lane)%uint32(len(r.known))]
	if k.at != at {
		k.at, k.op = at, r.program.Op(r.Number, at)
	}
	return &k.op
}

// Begin begins its program.
func (r *Rank) Begin(at unit.Time) {
	r.last = at
	r.frontier.Begin()
	r.takeReady(at, r.nextTurn())
}

// Next is when Advance is due; unit.Never: not before something comes.
func (r *Rank) Next() unit.Time {
	if len(r.events) == 0 {
		return unit.Never
	}
	return r.events[0].at
}

// Done reports whether all its operations have ended.
func (r *Rank) Done() bool { return r.frontier.Left() == 0 }

// Arrive says that a message comes in at a time that is not past.
func (r *Rank) Arrive(at unit.Time, m Message) {
	e := event{at: at, kind: arrives, msg: m}
	if r.costs.BindReceiver {
		e.kind, e.since, e.turn, e.age = takes, at, r.nextTurn(), r.age(int(m.From), m.Send)
	}
	r.events.push(e)
}

// Sent says that a send, which was not over when its processor was done, is over at a time that is not past.
func (r *Rank) Sent(at unit.Time, send Ref) {
	r.events.push(event{at: at, kind: endsNow, ref: send, turn: r.nextTurn()})
}

// Advance does all that is due by now.
func (r *Rank) Advance(now unit.Time) {
	for len(r.events) > 0 && r.events[0].at <= now {
		e := r.events.pop()
		r.handle(&e)
	}
}

// handle does what an event says.
func (r *Rank) handle(e *event) {
	switch e.kind {
	case endsNow:
		r.end(e)
	case arrives:
		if r.ordering == nil {
			r.deliver(e.at, e.msg)
		} else {
			r.ordering.arrive(e.msg, int32(r.Number), func(m Message) { r.deliver(e.at, m) })
		}
	case frees:
		r.next(e)
	case tries:
		r.try(e)
	case takes:
		r.take(e)
	}
}

// deliver has the receive of a message tried, if it is posted.
func (r *Rank) deliver(now unit.Time, m Message) {
	if at, found := r.match.arrive(m, now); found {
		r.compareSizes(at, &m)
		r.events.push(event{at: now, kind: tries, ref: at, msg: m, received: true, age: r.age(r.Number, at)})
	}
}

// takeReady has operations that may begin tried at a time, with a turn for all of them.
func (r *Rank) takeReady(at unit.Time, turn int64) {
	r.ready = r.frontier.Ready(r.ready[:0])
	if r.turns != nil {
		r.sortReady()
	}
	for i, ref := range r.ready {
		when := at
		if r.turns != nil {
			when = r.postingTime(at, ref)
		}
		r.events.push(event{at: when, kind: tries, ref: ref, turn: turn, place: int32(i), age: r.age(r.Number, ref)})
	}
}

// What does one thing at a time.
const (
	cpus   = iota
	outs   // what a NIC sends
	ins    // what it receives
	takers // a processor for what a NIC receives, where receivers are bound and the program is not Ordered
)

// stream is a processor, or one direction of a NIC.
type stream struct {
	free    unit.Time
	waiting heap // operations that wait for it, in the program's order
	armed   bool // it is looked at when it is free
}

// stream gives one of a kind. There are as many as the program names.
func (r *Rank) stream(kind int, i uint8) *stream {
	list := &r.streams[kind]
	for len(*list) <= int(i) {
		*list = append(*list, stream{})
	}
	return &(*list)[i]
}

// wait has an operation wait for a stream.
func (r *Rank) wait(e event, kind int, i uint8) {
	e.at = 0
	s := r.stream(kind, i)
	s.waiting.push(e)
	r.arm(kind, i, 0)
}

// arm has a stream looked at when it is free, if something waits for it.
func (r *Rank) arm(kind int, i uint8, now unit.Time) {
	s := r.stream(kind, i)
	if len(s.waiting) > 0 && !s.armed {
		s.armed = true
		r.events.push(event{at: max(s.free, now), kind: frees, ref: Ref{int32(kind), int32(i)}})
	}
}

// next lets the first that waits for a stream try again. Whether others can, is seen when it has.
func (r *Rank) next(e *event) {
	kind, i := int(e.ref.Lane), uint8(e.ref.Op)
	s := r.stream(kind, i)
	if s.armed = false; s.free > e.at {
		r.arm(kind, i, e.at)
		return
	}
	w := s.waiting.pop()
	w.at = e.at
	r.events.push(w)
}

// try begins an operation, or has it wait for its processor or its NIC.
func (r *Rank) try(e *event) {
	op, now := *r.op(e.ref), e.at
	if op.Kind == Recv && !e.received { // to post it takes no time
		r.frontier.Began(e.ref)
		r.takeReady(now, r.nextTurn())
		m, until, found := r.match.post(e.ref, op.Peer, op.Tag)
		if found {
			r.compareSizes(e.ref, &m)
		}
		switch {
		case found && r.costs.BindReceiver:
			r.receive(now, max(now, until), e.ref, &m)
		case found:
			r.events.push(event{at: now, kind: tries, ref: e.ref, msg: m, received: true, age: e.age})
		}
		return
	}
	way := cpus
	switch {
	case op.Kind == Recv:
		way = ins
	case op.Kind == Send && r.costs.Streams:
		way = outs
	}
	if way != cpus {
		r.stream(way, op.NIC) // all are there before there are pointers to some
	}
	cpu, nic := r.stream(cpus, op.CPU), (*stream)(nil)
	if way != cpus {
		nic = r.stream(way, op.NIC)
	}
	switch {
	case nic != nil && nic.free > now && nic.free >= cpu.free:
		r.wait(*e, way, op.NIC)
	case cpu.free > now:
		r.wait(*e, cpus, op.CPU)
	case op.Kind == Recv:
		nic.free = now + r.costs.Gap
		cpu.free = nic.free + r.costs.hold(e.msg.Size)
		r.network.Received(cpu.free, int32(r.Number), e.msg)
		r.events.push(event{at: cpu.free, kind: endsNow, ref: e.ref, since: now})
	case op.Kind == Wait:
		r.frontier.Began(e.ref)
		r.takeReady(now, r.nextTurn())
		if op.Part == 0 { // all ranks begin the first iteration at one time
			at := nextMultiple(now, op.Time)
			r.events.push(event{at: at, kind: endsNow, ref: e.ref, since: now, turn: r.nextTurn()})
		} else {
			r.network.Align(now, r, e.ref, op.Time)
		}
	default:
		if op.Kind == Calc {
			if r.computes++; r.computes == 1 {
				r.since = now
			}
			cpu.free = now + op.Time
			r.events.push(event{at: cpu.free, kind: endsNow, ref: e.ref, since: now, turn: r.nextTurn()})
		} else {
			cpu.free = now + r.costs.hold(op.Size)
			if nic != nil {
				nic.free = now + r.costs.Gap + r.costs.Wire(op.Size)
			}
			r.send(now, cpu.free, e.ref, &op)
		}
		r.frontier.Began(e.ref)
		r.takeReady(now, r.nextTurn())
	}
	r.arm(cpus, op.CPU, now)
	if nic != nil {
		r.arm(way, op.NIC, now)
	}
}

// send sends a message, with which the processor is done at time free.
func (r *Rank) send(now, free unit.Time, at Ref, op *Op) {
	r.sent += op.Size
	r.messages++
	m := Message{From: int32(r.Number), Tag: op.Tag, Size: op.Size, Send: at, CPU: op.CPU, NIC: op.NIC}
	if r.ordering != nil {
		r.ordering.number(&m, op.Peer)
	}
	if r.network.Send(now, free, op.Peer, m) {
		r.events.push(event{at: free, kind: endsNow, ref: at, since: now, turn: r.nextTurn()})
		return
	}
	r.flying.add(at, now)
}

// end ends an operation.
func (r *Rank) end(e *event) {
	op := *r.op(e.ref)
	switch op.Kind {
	case Calc:
		if r.computes--; r.computes == 0 {
			r.computed += e.at - r.since
		}
	case Send:
		if began, is := r.flying.take(e.ref); is {
			e.since = began
		}
	case Wait:
		r.waited += e.at - e.since
	}
	r.last = max(r.last, e.at)
	if r.turns != nil { // a rank of LogGOPSim ends with its processors (LogGOPSim.cpp: nexto)
		r.last = max(r.last, r.stream(cpus, op.CPU).free)
	}
	if r.OnSpan != nil && op.Kind != Wait && (op.Kind != Calc || op.Time > 0 || op.Mark != NoMark) {
		r.OnSpan(Span{r.Number, e.ref, op, e.since, e.at})
	}
	if op.Mark == Iterates {
		if r.ended, r.within = r.ended+1, r.computed; r.computes > 0 {
			r.within += e.at - r.since
		}
	}
	if op.Mark != NoMark && r.OnMark != nil {
		r.OnMark(r.Number, op.Mark, op.Part, e.at)
	}
	r.frontier.Ended(e.ref)
	r.takeReady(e.at, e.turn)
}

// Kinds of events, in their order at one time: first what ends, then what comes, then what begins. So whoever waits for
// a processor finds all there that waits for it, and of these the first of the program goes first.
const (
	endsNow uint8 = iota
	arrives
	frees
	tries
	takes // a message that a bound receiver is to take; on ideal networks only
)

// event is what happens to a rank.
type event struct {
	at       unit.Time
	since    unit.Time // when what ends began, or a message that waits has arrived
	turn     int64     // CountTurns; 0: it has no turn
	age      int64     // of what waits for a processor or NIC (aged)
	msg      Message
	ref      Ref
	place    int32 // among what has the same turn
	kind     uint8
	received bool // tries: a receive whose message is there
}

// before is the order of events.
func (e *event) before(o *event) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	begins := e.kind >= tries && o.kind >= tries
	switch {
	case e.kind != o.kind && !(begins && e.turn != o.turn):
		return e.kind < o.kind
	case e.turn != o.turn:
		return e.turn < o.turn
	case e.place != o.place && e.turn > 0:
		return e.place < o.place
	case e.age != o.age:
		return e.age < o.age
	case e.kind == takes && e.since != o.since:
		return e.since < o.since
	case e.kind == arrives || e.kind == takes:
		return e.msg.before(&o.msg)
	case e.ref.Op != o.ref.Op:
		return e.ref.Op < o.ref.Op
	}
	return e.ref.Lane < o.ref.Lane
}

// heap has the first of its events at 0.
type heap []event

func (h *heap) push(e event) {
	a := append(*h, e)
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(&a[up]) {
			break
		}
		a[i], i = a[up], up
	}
	a[i] = e
	*h = a
}

func (h *heap) pop() event {
	a := *h
	first, last := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	if len(a) == 0 {
		return first
	}
	i := 0
	for {
		k := 2*i + 1
		if k >= len(a) {
			break
		}
		if k+1 < len(a) && a[k+1].before(&a[k]) {
			k++
		}
		if !a[k].before(&last) {
			break
		}
		a[i], i = a[k], k
	}
	a[i] = last
	return first
}
