package job

import "weir/core/unit"

// Costs are the times that messages occupy processors and NICs of ranks (LogGOPS, as in LogGOPSim). All are 0 if a
// network of packets has the costs. Products are rounded down to whole nanoseconds, the unit of that program.
type Costs struct {
	Overhead unit.Time  // o: processor time of each send and each receive
	PerByte  unit.Time  // O: processor time of each byte but the first
	Gap      unit.Time  // g: NIC time of each message
	ByteGap  unit.Time  // G: NIC time of each byte but the first
	Eager    unit.Bytes // S: a larger send is over when its message has been received; below 0: every send
	// Streams means that a NIC sends one message at a time.
	Streams bool
	// BindReceiver makes a message occupy its receiver's processor and NIC for its bytes, as in spcl/LogGOPSim 76451de.
	// Without it the message has already arrived, and a posted receive occupies the NIC for g and then the processor for
	// o + (s−1)·O, as in spcl/atlahs 8837294. It needs Streams.
	BindReceiver bool
}

// byteTime returns the time of all bytes of a message but the first, rounded down to nanoseconds.
func byteTime(size unit.Bytes, each unit.Time) unit.Time {
	return unit.Time(max(size-1, 0)) * each / unit.Nanosecond * unit.Nanosecond
}

// cpuTime returns the time that a message occupies a processor.
func (c *Costs) cpuTime(size unit.Bytes) unit.Time { return c.Overhead + byteTime(size, c.PerByte) }

// WireTime returns the time of a message's bytes except the first.
func (c *Costs) WireTime(size unit.Bytes) unit.Time { return byteTime(size, c.ByteGap) }

// Network carries messages.
type Network interface {
	// Send carries a message that its sender begins to send at now. free is the time at which the sender's processor is
	// done with it. Send returns true if the send is over at that time; otherwise the network calls Rank.ScheduleSendEnd
	// later.
	Send(now, free unit.Time, to int32, m Message) (over bool)
	// Received notifies the network that a message will have been received at a time.
	Received(at unit.Time, to int32, m Message)
	// Align adds a rank to the job's Barrier, at which it waits with an operation from now on.
	Align(now unit.Time, r *Rank, at Ref, period unit.Time)
}

// Span is the time from beginning to end of an operation.
type Span struct {
	Rank     int
	At       Ref
	Op       Op
	From, To unit.Time
}

// Rank runs one rank of a program. Its driver calls Advance at the time of NextTime.
type Rank struct {
	Number     int
	frontier   *Frontier
	program    Program
	costs      *Costs
	network    Network
	match      matcher
	ordering   *ordering // for messages that may overtake each other; nil: not needed, or receivers are bound
	events     eventHeap
	streams    [4][]stream
	ready      []Ref
	turns      *int64             // the run's counter (CountTurns); nil: no turns
	aged       aged               // the program, on an ideal network; nil: no ages
	fault      error              // Fault
	sendsBegun beginTimes         // sends that the network will end, and when they began
	recentOps  [4]cachedOperation // recently used operations

	computes int // processors that compute
	since    unit.Time
	computed unit.Time // time in which at least one of them computed
	waited   unit.Time // at barriers
	ended    int64     // number of iterations
	within   unit.Time // part of computed until the last iteration ended
	last     unit.Time // time at which the last operation ended
	sent     unit.Bytes
	messages int64

	// OnMark is called at the end of an operation with a mark. OnSpan is called before it with the span of each
	// operation, except operations that take no time by definition and have no mark. Both may be nil.
	OnMark func(rank int, mark Mark, part int32, at unit.Time)
	OnSpan func(s Span)
}

// NewRank returns a rank of a program. BeginProgram must be called next.
func NewRank(p Program, number int, c *Costs, n Network) *Rank {
	r := &Rank{Number: number, frontier: NewFrontier(p, number), program: p, costs: c, network: n}
	if c.Streams {
		r.aged, _ = p.(aged)
	}
	if !c.BindReceiver { // else messages keep or lose their order as in LogGOPSim
		r.ordering = newOrdering(p)
	}
	for i := range r.recentOps {
		r.recentOps[i].at = Ref{-1, -1}
	}
	return r
}

// ageOf returns the age of an operation of a rank; 0 if the program has no ages.
func (r *Rank) ageOf(rank int, at Ref) int64 {
	if r.aged == nil {
		return 0
	}
	return r.aged.Age(rank, at)
}

// cachedOperation is a cached operation. A program by formula needs time to compute one, and a rank needs it when it
// is tried, when its message arrives and when it ends.
type cachedOperation struct {
	at Ref
	op Op
}

// cachedOp returns an operation of the program. The pointer is valid until the next call.
func (r *Rank) cachedOp(at Ref) *Op {
	k := &r.recentOps[uint32(at.Op^at.Lane)%uint32(len(r.recentOps))]
	if k.at != at {
		k.at, k.op = at, r.program.Op(r.Number, at)
	}
	return &k.op
}

// BeginProgram starts the program at a time: it schedules the operations without dependencies. Call it once.
func (r *Rank) BeginProgram(at unit.Time) {
	r.last = at
	r.frontier.Begin()
	r.takeReady(at, r.nextTurn())
}

// NextTime returns the time at which Advance is due; unit.Never: only after another call.
func (r *Rank) NextTime() unit.Time {
	if len(r.events) == 0 {
		return unit.Never
	}
	return r.events[0].at
}

// IsDone reports whether all operations have ended.
func (r *Rank) IsDone() bool { return r.frontier.CountLeft() == 0 }

// ScheduleArrival schedules the arrival of a message at a time that is not past.
func (r *Rank) ScheduleArrival(at unit.Time, m Message) {
	e := event{at: at, kind: arrives, msg: m}
	if r.costs.BindReceiver {
		e.kind, e.since, e.turn, e.age = takes, at, r.nextTurn(), r.ageOf(int(m.From), m.Send)
	}
	r.events.push(e)
}

// ScheduleSendEnd schedules the end of a send at a time that is not past. It is for sends for which Network.Send
// returned false.
func (r *Rank) ScheduleSendEnd(at unit.Time, send Ref) {
	r.events.push(event{at: at, kind: endsNow, ref: send, turn: r.nextTurn()})
}

// Advance handles all events that are due by now, and those that they cause until now.
func (r *Rank) Advance(now unit.Time) {
	for len(r.events) > 0 && r.events[0].at <= now {
		e := r.events.pop()
		r.handleEvent(&e)
	}
}

// handleEvent handles an event by its kind: the end of an operation, an arrival, a stream that is free, or a try.
func (r *Rank) handleEvent(e *event) {
	switch e.kind {
	case endsNow:
		r.endOp(e)
	case arrives:
		if r.ordering == nil {
			r.deliverMessage(e.at, e.msg)
		} else {
			r.ordering.deliverInOrder(e.msg, int32(r.Number), func(m Message) { r.deliverMessage(e.at, m) })
		}
	case frees:
		r.retryFirst(e)
	case tries:
		r.tryOp(e)
	case takes:
		r.takeBound(e)
	}
}

// deliverMessage schedules the matching receive of a message if one is posted; otherwise the message waits.
func (r *Rank) deliverMessage(now unit.Time, m Message) {
	if at, found := r.match.matchMessage(m, now); found {
		r.compareSizes(at, &m)
		r.events.push(event{at: now, kind: tries, ref: at, msg: m, received: true, age: r.ageOf(r.Number, at)})
	}
}

// takeReady schedules all ready operations at a time, with one turn for all of them.
func (r *Rank) takeReady(at unit.Time, turn int64) {
	r.ready = r.frontier.AppendReady(r.ready[:0])
	if r.turns != nil {
		r.sortReady()
	}
	for i, ref := range r.ready {
		when := at
		if r.turns != nil {
			when = r.postingTime(at, ref)
		}
		r.events.push(event{at: when, kind: tries, ref: ref, turn: turn, place: int32(i), age: r.ageOf(r.Number, ref)})
	}
}

// Kinds of streams.
const (
	cpus   = iota
	outs   // sending side of a NIC
	ins    // receiving side of a NIC
	takers // processor for received messages, where receivers are bound and the program does not have LogGOPSimOrder
)

// stream is a processor, or one direction of a NIC. It does one thing at a time.
type stream struct {
	free    unit.Time
	waiting eventHeap // operations that wait for it, in the program's order
	armed   bool      // an event is scheduled for the time when it is free
}

// streamAt returns stream i of a kind, and creates it at first use.
func (r *Rank) streamAt(kind int, i uint8) *stream {
	list := &r.streams[kind]
	for len(*list) <= int(i) {
		*list = append(*list, stream{})
	}
	return &(*list)[i]
}

// queueFor queues an operation or an arrived message for a stream, and schedules the time when that is free.
func (r *Rank) queueFor(e event, kind int, i uint8) {
	e.at = 0
	s := r.streamAt(kind, i)
	s.waiting.push(e)
	r.armStream(kind, i, 0)
}

// armStream schedules an event for the time when a stream is free, if operations wait for it and no event is scheduled.
func (r *Rank) armStream(kind int, i uint8, now unit.Time) {
	s := r.streamAt(kind, i)
	if len(s.waiting) > 0 && !s.armed {
		s.armed = true
		r.events.push(event{at: max(s.free, now), kind: frees, ref: Ref{int32(kind), int32(i)}})
	}
}

// retryFirst lets the first operation that waits for a stream try again. The others follow after it.
func (r *Rank) retryFirst(e *event) {
	kind, i := int(e.ref.Lane), uint8(e.ref.Op)
	s := r.streamAt(kind, i)
	if s.armed = false; s.free > e.at {
		r.armStream(kind, i, e.at)
		return
	}
	w := s.waiting.pop()
	w.at = e.at
	r.events.push(w)
}

// tryOp posts a receive. Any other operation, or a receive with an arrived message, begins and occupies its processor
// and NIC, or is queued for the one that is free last. Operations that become ready are scheduled.
func (r *Rank) tryOp(e *event) {
	op, now := *r.cachedOp(e.ref), e.at
	if op.Kind == Recv && !e.received { // posting takes no time
		r.frontier.SetBegun(e.ref)
		r.takeReady(now, r.nextTurn())
		m, until, found := r.match.postRecv(e.ref, op.Peer, op.Tag)
		if found {
			r.compareSizes(e.ref, &m)
		}
		switch {
		case found && r.costs.BindReceiver:
			r.endReceive(now, max(now, until), e.ref, &m)
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
		r.streamAt(way, op.NIC) // create all streams before taking pointers
	}
	cpu, nic := r.streamAt(cpus, op.CPU), (*stream)(nil)
	if way != cpus {
		nic = r.streamAt(way, op.NIC)
	}
	switch {
	case nic != nil && nic.free > now && nic.free >= cpu.free:
		r.queueFor(*e, way, op.NIC)
	case cpu.free > now:
		r.queueFor(*e, cpus, op.CPU)
	case op.Kind == Recv:
		nic.free = now + r.costs.Gap
		cpu.free = nic.free + r.costs.cpuTime(e.msg.Size)
		r.network.Received(cpu.free, int32(r.Number), e.msg)
		r.events.push(event{at: cpu.free, kind: endsNow, ref: e.ref, since: now})
	case op.Kind == Wait:
		r.frontier.SetBegun(e.ref)
		r.takeReady(now, r.nextTurn())
		if op.Part == 0 { // all ranks begin the first iteration at the same time
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
			cpu.free = now + r.costs.cpuTime(op.Size)
			if nic != nil {
				nic.free = now + r.costs.Gap + r.costs.WireTime(op.Size)
			}
			r.sendMessage(now, cpu.free, e.ref, &op)
		}
		r.frontier.SetBegun(e.ref)
		r.takeReady(now, r.nextTurn())
	}
	r.armStream(cpus, op.CPU, now)
	if nic != nil {
		r.armStream(way, op.NIC, now)
	}
}

// sendMessage counts a message and passes it to the network. free is the time at which the processor is done with it.
// The send ends then, or when the network ends it.
func (r *Rank) sendMessage(now, free unit.Time, at Ref, op *Op) {
	r.sent += op.Size
	r.messages++
	m := Message{From: int32(r.Number), Tag: op.Tag, Size: op.Size, Send: at, CPU: op.CPU, NIC: op.NIC}
	if r.ordering != nil {
		r.ordering.numberMessage(&m, op.Peer)
	}
	if r.network.Send(now, free, op.Peer, m) {
		r.events.push(event{at: free, kind: endsNow, ref: at, since: now, turn: r.nextTurn()})
		return
	}
	r.sendsBegun.add(at, now)
}

// endOp ends an operation and reports it to the frontier and the observers.
func (r *Rank) endOp(e *event) {
	op := *r.cachedOp(e.ref)
	switch op.Kind {
	case Calc:
		if r.computes--; r.computes == 0 {
			r.computed += e.at - r.since
		}
	case Send:
		if began, is := r.sendsBegun.take(e.ref); is {
			e.since = began
		}
	case Wait:
		r.waited += e.at - e.since
	}
	r.last = max(r.last, e.at)
	if r.turns != nil { // a rank of LogGOPSim ends with its processors (LogGOPSim.cpp: nexto)
		r.last = max(r.last, r.streamAt(cpus, op.CPU).free)
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
	r.frontier.SetEnded(e.ref)
	r.takeReady(e.at, e.turn)
}

// Kinds of events, in their order at one time: first ends, then arrivals, then beginnings. So when a processor is
// assigned, all operations that wait for it are queued, and the first of the program goes first.
const (
	endsNow uint8 = iota
	arrives
	frees
	tries
	takes // a message that a bound receiver is to receive; on ideal networks only
)

// event is a scheduled event of a rank.
type event struct {
	at       unit.Time
	since    unit.Time // time at which the ending operation began, or a waiting message arrived
	turn     int64     // CountTurns; 0: no turn
	age      int64     // of an operation that waits for a processor or NIC (aged)
	msg      Message
	ref      Ref
	place    int32 // order among events with the same turn
	kind     uint8
	received bool // tries: a receive with an arrived message
}

// isBefore reports whether e comes before o: by time, kind and turn, and then by place, age and reference. Events that
// begin operations are compared by turn before kind.
func (e *event) isBefore(o *event) bool {
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
		return e.msg.isBefore(&o.msg)
	case e.ref.Op != o.ref.Op:
		return e.ref.Op < o.ref.Op
	}
	return e.ref.Lane < o.ref.Lane
}

// eventHeap is a binary heap with the first event at 0.
type eventHeap []event

// push adds an event to the heap.
func (h *eventHeap) push(e event) {
	a := append(*h, e)
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.isBefore(&a[up]) {
			break
		}
		a[i], i = a[up], up
	}
	a[i] = e
	*h = a
}

// pop removes and returns the first event. The heap must not be empty.
func (h *eventHeap) pop() event {
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
		if k+1 < len(a) && a[k+1].isBefore(&a[k]) {
			k++
		}
		if !a[k].isBefore(&last) {
			break
		}
		a[i], i = a[k], k
	}
	a[i] = last
	return first
}
