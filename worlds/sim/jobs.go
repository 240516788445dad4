package sim

import (
	"fmt"
	"slices"

	"weir/core/jobs/job"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// A job is a collective task of hosts (core/jobs/job). Each message of it is a flow, which exists from its start to its
// end. Then another message takes its place, so that a job may have hundreds of millions of them.

// MessageEndpointFactory makes the endpoints of the messages of jobs.
type MessageEndpointFactory interface {
	// Message sets the NICs, ports and class of message m of job j to rank to in f, in which all else is given. up reports
	// which NICs have a link that is up. It returns an error if there is no path.
	Message(j int, m *job.Message, to int32, f *outcome.Flow, up func(nic int) bool) error
	// MessageEndpoints makes the endpoints of a message that begins now, as flow id of the run. number is the message's
	// number in the run.
	MessageEndpoints(f *outcome.Flow, id int, number uint64, start unit.Time) (sender, receiver transport.Endpoint,
		err error)
}

// endpointRecycler is a MessageEndpointFactory that reuses endpoints of closed messages.
type endpointRecycler interface {
	MessageEndpointFactory
	// Recycle gets the endpoints of a closed message of a traffic. No other reference to them is left.
	Recycle(group int, sender, receiver transport.Endpoint)
}

// persistentEndpointFactory is a MessageEndpointFactory with state that outlasts messages. Only with it iterations can
// be repeated without being run (Config.SkipRepeated).
type persistentEndpointFactory interface {
	MessageEndpointFactory
	State() any // a pointer to the state, for package recurrence
	// Tick returns the granularity of the time stamps that endpoints of a traffic's messages read, and of the times that
	// they count from the run's start; 0 if they read no time.
	Tick(group int) unit.Time
}

// runIdeal runs jobs on an ideal network (Config.Ideal), each on its own, and no flows. The result ends with the last
// rank, by Duration, or when Stopped returns true. It returns the error of a job that cannot run.
func runIdeal(c *Config) (*outcome.Result, error) {
	out := &outcome.Result{End: outcome.AllDone}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		stopped := false
		asked := 0
		watch := job.Watch{Start: j.Start, OnSpan: j.Timeline.Watch(), Stopped: func(now unit.Time) bool {
			if asked++; asked%4096 == 0 && c.Stopped != nil && c.Stopped() {
				stopped = true
			}
			return stopped || now > c.Duration
		}}
		o, events, err := c.Ideal.Run(j.Program, watch)
		if err != nil {
			return nil, fmt.Errorf("sim: job %d: %w", i, err)
		}
		for k := range o.Ranks {
			out.Time = max(out.Time, o.Ranks[k].End)
		}
		out.Events += events
		out.Jobs, out.JobGroups = append(out.Jobs, o), append(out.JobGroups, j.Group)
		switch {
		case stopped:
			out.End = outcome.Interrupted
		case o.Left > 0 && o.WasCut:
			out.End, out.Time = outcome.TimeUp, c.Duration
		case o.Left > 0 && out.End == outcome.AllDone:
			out.End = outcome.NoProgress
		}
	}
	out.Measured = max(out.Time-c.Warmup, 0)
	return out, nil
}

// jobs are the jobs of a run on packets. Operations of a rank access state that all hosts share, so such a run has one
// thread.
type jobs struct {
	run           *Simulation
	list          []jobOf
	message       []message          // by flow after the listed ones
	free          []packet.FlowID    // places of messages that are over
	number        uint64             // messages so far
	flowBuffer    outcome.Flow       // buffer for the flow of a message that begins
	messageBuffer job.Message        // buffer for that message
	up            func(nic int) bool // Simulation.isUp
}

// jobOf is a job in progress.
type jobOf struct {
	config  *outcome.Job
	ranks   []*job.Rank
	barrier job.Barrier
	tally   *job.Tally
	left    int // ranks that are not done
	// times are the durations of finished messages, from the start of the transport to the last acknowledgement.
	times unit.Histogram
}

// message is a message in progress.
type message struct {
	job.Message
	job      int32
	to       int32
	number   uint64
	receiver transport.Endpoint // until its first packet arrives
}

// ranks are the ranks at a host.
type ranks struct {
	list []*rank
	next unit.Time // when the first of them is due
}

// rank is a rank of a job at a host. It implements job.Network for its rank.
type rank struct {
	*job.Rank
	jobs *jobs
	host *host
	job  int
	done bool
}

// withoutThreads returns the configuration for a run with jobs: with one thread, and a copy of the flows, to which
// messages are added. Without jobs it returns c.
func withoutThreads(c *Config) *Config {
	if len(c.Jobs) == 0 {
		return c
	}
	single := *c
	single.Threads, single.Flows = 1, slices.Clone(c.Flows)
	return &single
}

// noCosts are the costs of messages that packets carry: the transport has them.
var noCosts job.Costs

// addJobs creates the ranks of jobs at their hosts, and runs what is due at time 0. Without jobs it has no effect. It
// returns an error for an impossible job, and in wire mode.
func (r *Simulation) addJobs() error {
	c := r.config
	if len(c.Jobs) == 0 {
		return nil
	}
	if c.Wire {
		return fmt.Errorf("sim: packets in wire form do not carry messages of jobs")
	}
	r.jobs = &jobs{run: r, list: make([]jobOf, len(c.Jobs)), up: r.isUp}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		x := &r.jobs.list[i]
		watch := &job.Watch{OnSpan: j.Timeline.Watch()}
		*x = jobOf{config: j, tally: job.NewTally(j.Program, watch), left: j.Program.Ranks()}
		x.barrier = job.Barrier{Ranks: x.left, Delay: r.shortestDelay()}
		if len(j.Hosts) != x.left {
			return fmt.Errorf("sim: job %d has %d ranks but %d hosts", i, x.left, len(j.Hosts))
		}
		r.unfinished++
		for k, node := range j.Hosts {
			if node < 0 || node >= len(r.hosts) || r.hosts[node] == nil {
				return fmt.Errorf("sim: rank %d of job %d is at node %d, which is not a host", k, i, node)
			}
			h := r.hosts[node]
			if h.jobs == nil {
				h.jobs = &ranks{next: unit.Never}
			}
			k := &rank{jobs: r.jobs, host: h, job: i, Rank: nil}
			k.Rank = job.NewRank(j.Program, len(x.ranks), &noCosts, k)
			x.tally.Register(k.Rank)
			x.ranks = append(x.ranks, k.Rank)
			h.jobs.list = append(h.jobs.list, k)
		}
	}
	for i := range r.jobs.list {
		x := &r.jobs.list[i]
		for k, node := range x.config.Hosts {
			x.ranks[k].BeginProgram(x.config.Start)
			r.hosts[node].jobs.setTimer(r.hosts[node])
		}
	}
	for _, h := range r.hosts {
		if h == nil || h.jobs == nil {
			continue
		}
		h.jobs.runDue(h, 0)
		for _, k := range h.jobs.list {
			k.noteDone(0) // a rank without operations is never due
		}
	}
	return nil
}

// isMessage reports whether a flow is a message of a job.
func (r *Simulation) isMessage(flow packet.FlowID) bool {
	return r.jobs != nil && int(flow) >= r.listed
}

// makeSender makes the sender of a flow that begins at start. With a message's sender it makes and keeps the
// receiver.
func (r *Simulation) makeSender(flow packet.FlowID, start unit.Time) (transport.Endpoint, error) {
	if !r.isMessage(flow) {
		return r.config.EndpointFactory.Sender(int(flow), start)
	}
	m := &r.jobs.message[int(flow)-r.listed]
	sender, receiver, err := r.config.MessageEndpointFactory.MessageEndpoints(&r.config.Flows[flow], int(flow), m.number,
		start)
	m.receiver = receiver
	return sender, err
}

// makeReceiver makes the receiver of a flow when its first packet has arrived. A message's receiver was made with its
// sender, because making one costs as much as making both; it is returned once.
func (r *Simulation) makeReceiver(flow packet.FlowID) (transport.Endpoint, error) {
	if !r.isMessage(flow) {
		return r.config.EndpointFactory.Receiver(int(flow))
	}
	m := &r.jobs.message[int(flow)-r.listed]
	made := m.receiver
	m.receiver = nil
	return made, nil
}

// reuseEndpoints gives the endpoints of a message that is over to the factory, which may reuse them.
func (x *jobs) reuseEndpoints(flow packet.FlowID, sender, receiver transport.Endpoint) {
	if r, reuses := x.run.config.MessageEndpointFactory.(endpointRecycler); reuses {
		r.Recycle(x.list[x.message[int(flow)-x.run.listed].job].config.Group, sender, receiver)
	}
}

// setTimer computes when the first rank of host h is due, and sets the host's timer.
func (k *ranks) setTimer(h *host) {
	k.next = unit.Never
	for _, x := range k.list {
		k.next = min(k.next, x.NextTime())
	}
	h.wants.Timer = min(h.wants.Timer, k.next)
}

// runDue runs the ranks of a host that are due, and sets the host's timer. The first fault of a rank ends the run at
// its next audit.
func (k *ranks) runDue(h *host, now unit.Time) {
	if k.next > now {
		return
	}
	for _, x := range k.list {
		if x.NextTime() > now {
			continue
		}
		x.Advance(now)
		if err := x.Fault(); err != nil && h.failed == nil {
			h.failed = fmt.Errorf("job %d: %w", x.job, err)
		}
		x.noteDone(now)
	}
	k.setTimer(h)
}

// noteDone counts rank k, once, if it has become done, and ends the job at now with the last one.
func (k *rank) noteDone(now unit.Time) {
	if k.done || !k.IsDone() {
		return
	}
	k.done = true
	if of := &k.jobs.list[k.job]; of.left == 1 {
		of.left = 0
		k.jobs.run.finished-- // a job is no flow
		k.host.thread.recordFinish(now)
	} else {
		of.left--
	}
}

// itself is the time that a message takes from a rank to itself.
const itself = unit.Nanosecond

// Send begins to send a message to rank to (job.Network), as a new flow with at least 1 B that starts now. A message to
// the same host uses no packets, and arrives after the time itself. over reports that the message is sent already, or
// cannot be, which ends the run at its next audit.
func (k *rank) Send(_, now unit.Time, to int32, m job.Message) (over bool) {
	x := k.jobs
	c := x.list[k.job].config
	if c.Hosts[to] == int(k.host.node) {
		x.list[k.job].ranks[to].ScheduleArrival(now+itself, m)
		return true
	}
	r := x.run
	x.flowBuffer = outcome.Flow{Group: c.Group, Src: int(k.host.node), Dst: c.Hosts[to], Start: now, Size: max(m.Size, 1)}
	x.messageBuffer = m
	f := &x.flowBuffer
	if err := r.config.MessageEndpointFactory.Message(k.job, &x.messageBuffer, to, f, x.up); err != nil {
		if k.host.failed == nil {
			k.host.failed = err
		}
		return true
	}
	var id packet.FlowID
	if n := len(x.free); n > 0 {
		id = x.free[n-1]
		x.free = x.free[:n-1]
	} else {
		id = packet.FlowID(len(r.config.Flows))
		r.config.Flows = append(r.config.Flows, outcome.Flow{})
		r.sender, r.receiver = append(r.sender, notStarted), append(r.receiver, notStarted)
		r.outcome = append(r.outcome, outcome.FlowResult{})
		x.message = append(x.message, message{})
	}
	r.config.Flows[id] = *f
	r.sender[id], r.receiver[id] = notStarted, notStarted
	r.outcome[id] = outcome.FlowResult{Start: now, FCT: unit.Never, Arrived: unit.Never, Written: unit.Never,
		Receiver: transport.Received{DelayMin: unit.Never}}
	x.message[int(id)-r.listed] = message{Message: m, job: int32(k.job), to: to, number: x.number}
	x.number++
	r.unfinished++
	from := r.hosts[f.Src]
	if i := from.beginFlow(id, now); i >= 0 {
		from.updateSlot(i, now)
	}
	if from != k.host {
		from.reschedule(now)
	}
	return false
}

// Received has no effect: a send is over when its transport has an acknowledgement of all data.
func (k *rank) Received(unit.Time, int32, job.Message) {}

// shortestDelay returns the shortest delay above 0 of a link, which limits how far nodes run ahead of others; 0 if no
// link has a delay.
func (r *Simulation) shortestDelay() unit.Time {
	shortest := unit.Never
	for i := range r.wiring.Links {
		if d := r.wiring.Links[i].Delay; d > 0 {
			shortest = min(shortest, d)
		}
	}
	if shortest == unit.Never {
		return 0
	}
	return shortest
}

// Align adds the rank to the barrier of its job (job.Network). The last rank releases all ranks, and their hosts are
// called at that time.
func (k *rank) Align(now unit.Time, r *job.Rank, at job.Ref, period unit.Time) {
	x := &k.jobs.list[k.job]
	if !x.barrier.Arrive(now, r, at, period) {
		return
	}
	run := k.jobs.run
	for _, node := range x.config.Hosts {
		h := run.hosts[node]
		h.jobs.setTimer(h)
		if h.node != k.host.node {
			run.wakeHost(h, now)
		}
	}
}

// hostOf returns the host of a rank, for any NIC of its messages.
func (x *jobs) hostOf(j, rank int32) *host { return x.run.hosts[x.list[j].config.Hosts[rank]] }

// notifyArrived notifies the receiving rank that a message, a flow of the run, has arrived completely, and runs its
// host's ranks that are due.
func (x *jobs) notifyArrived(flow packet.FlowID, now unit.Time) {
	m := &x.message[int(flow)-x.run.listed]
	h := x.hostOf(m.job, m.to)
	x.list[m.job].ranks[m.to].ScheduleArrival(now, m.Message)
	h.jobs.setTimer(h)
	h.jobs.runDue(h, now)
}

// notifySent notifies the sending rank that a message, a flow of the run, was sent and acknowledged at time end, and
// records its duration.
func (x *jobs) notifySent(flow packet.FlowID, end unit.Time) {
	m := &x.message[int(flow)-x.run.listed]
	h := x.hostOf(m.job, m.From)
	x.list[m.job].times.Add(end - x.run.outcome[flow].Start)
	x.list[m.job].ranks[m.From].ScheduleSendEnd(end, m.Send)
	h.jobs.setTimer(h)
}

// addResults adds the outcomes of the jobs to out. Unfinished jobs count as cut unless reason is outcome.NoProgress.
func (x *jobs) addResults(out *outcome.Result, reason outcome.EndReason) {
	for i := range x.list {
		o := x.list[i].tally.Outcome(x.list[i].ranks)
		o.WasCut = reason != outcome.NoProgress
		out.Jobs, out.JobGroups = append(out.Jobs, o), append(out.JobGroups, x.list[i].config.Group)
		out.Times = append(out.Times, x.list[i].times)
	}
}
