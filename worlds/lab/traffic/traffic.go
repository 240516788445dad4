package traffic

import (
	"fmt"
	"net/netip"

	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
	"weir/worlds/lab"
	"weir/worlds/lab/kernel"
)

// Config is the traffic of one run.
type Config struct {
	Flows []Flow
	// Epoch is the CLOCK_MONOTONIC, in ns, of time 0 of the experiment, to which all
	// other times count: that of lab.DataPlane and lab.Config.Lead together.
	Epoch    int64
	Warmup   unit.Time // counters begin then
	Duration unit.Time // the run ends then at the latest; not before Warmup
	// UntilDone ends the run when every flow with a size is done, as the sender sees it.
	UntilDone bool
	Samples   []Sample
	Book      *packet.Book // Addr of node i is i+1
	// Do runs what in the network namespace of a node: sockets that it opens stay there
	// (lab.Network.Do). It is called from one goroutine at a time.
	Do func(node int, what func() error) error
	// Progress, if given, is called with the time now and then.
	Progress func(now unit.Time)
}

// Flow is one flow of Size bytes, or without end: of TCP or of UDP.
type Flow struct {
	Src, Dst         int    // nodes
	SrcPort, DstPort uint16 // not 0; with addresses and protocol, no two flows have the same
	Version          uint8  // of IP: 4 or 6
	TOS              uint8  // or traffic class
	Start            unit.Time
	Stop             unit.Time  // when the application of a flow without a size stops; 0: with the run
	Size             unit.Bytes // of payload; 0: no end
	Payload          int32      // largest payload of a packet; at least leastDatagram for UDP
	// Link is the rate of the link of Src, for which senders of UDP wait; 0: they do not wait.
	Link unit.LinkRate
	// After are flows with a size and an end at Src, all of which must have arrived there
	// before this one begins; Start is the earliest then.
	After []int

	TCP *TCP // or, nil, UDP
	// The endpoints of transport/udp: UDP's NextSend and Emit are the schedule, UDPReceiver
	// counts. Of a flow with After, UDP is nil and Begin makes it when the flow begins.
	UDP, UDPReceiver transport.Endpoint
	Begin            func(start unit.Time) transport.Endpoint
}

// TCP is how a flow's connection is opened, and what its application does. Initial window,
// least RTO, ECN and the buffers of most flows are those of the namespace: routes and sysctls.
type TCP struct {
	CongestionControl string // TCP_CONGESTION (tcp(7)); "": the namespace's own
	// Rate is at which the application writes payload, Payload bytes at a time, the first
	// at Start; 0: as fast as the send buffer takes it.
	Rate   unit.Rate
	Pacing bool // paced by TCP itself, also by a congestion control that does not ask for it
	// ReceiverOptions are those of the receiving socket (kernel.Settings).
	ReceiverOptions []kernel.Option
	// SendBuffer and ReceiveBuffer are what SO_SNDBUF and SO_RCVBUF are given; 0: the namespace's sizes.
	SendBuffer, ReceiveBuffer int

	MSS int32 // TCP_MAXSEG: most payload and options of a segment; 0: as the MTU says
}

// leastDatagram is the least payload of UDP, in bytes: the number of the flow and of the
// datagram, and when it was sent. Only a flow's last datagram may be shorter.
const leastDatagram = 16

// Sample is a quantity of a flow that is looked at every so often: sample k is of the time
// Warmup + k·Every.
type Sample struct {
	What  What
	Flow  int
	Every unit.Time // above 0
}

// What says what a Sample looks at.
type What uint8

// What can be sampled. ReceivedBytes counts from the start of the run, and is looked at
// once more at Duration, if that is due; all others are −1 outside of a flow's life, and of
// UDP. They are what Linux shows in TCP_INFO.
const (
	ReceivedBytes What = iota // payload that the receiving application has
	Window                    // congestion window, in bytes of payload
	Rate                      // pacing rate, in bit/s of payload; 0: there is none yet
	InFlight                  // bytes of payload that are sent and neither acknowledged nor lost
	RTT                       // smoothed round-trip time, in ps; 0: there is none yet
	DeliveryRate              // latest rate of delivery, in bit/s of payload
	whats
)

// End is why a run ended. The words are the simulator's.
type End string

// Why a run ends.
const (
	AllDone     End = "all done"
	TimeUp      End = "time up"
	NoProgress  End = "no progress" // with UntilDone: what is unfinished has failed
	Interrupted End = "interrupted"
)

// Result is what a run gives. Counters are differences between the end and the warm-up's
// end, but for times, which are whole.
type Result struct {
	End     End
	Time    unit.Time // when it ended
	Flows   []FlowResult
	Sampled [][]int64 // by Config.Samples

	// Late is how late datagrams were given to the kernel, by their schedule; Begun how
	// late flows of TCP began.
	Late, Begun Lateness
	Lost        Lost // in the whole run
	// Waiting is how the thread of all flows of TCP waited for a processor.
	Waiting lab.Waiting
}

// FlowResult is one flow's outcome.
type FlowResult struct {
	Start            unit.Time // when it was to begin; unit.Never if what it comes after did not arrive
	Sender, Receiver transport.Counters
	// from Start to the acknowledgement of the last byte (UDP: to its sending); unit.Never if unfinished or endless
	FCT      unit.Time
	Arrived  unit.Time  // when the receiving application had all; unit.Never if it has not, or the flow is endless
	Written  unit.Time  // from Start to the return of the last write; unit.Never if it has not returned, or for UDP
	Timeouts int64      // of the retransmission timer, measured part
	Received unit.Bytes // payload that has come to the receiver, from the start of the run
	Failed   error      // why the connection was not made, or ended early; nil: it was not, or the run ended before
}

// Lateness is how much later than they should things happened.
type Lateness struct {
	unit.Histogram
	Max unit.Time
}

func (l *Lateness) add(by unit.Time) {
	l.Add(by)
	l.Max = max(l.Max, by)
}

// at is by how much a share of them, 0 to 1, was late at most; 0 if there were none.
func (l *Lateness) at(share float64) unit.Time {
	sum := uint64(0)
	for _, c := range l.Classes() {
		if sum += c.Count; float64(sum) >= share*float64(l.Count()) {
			return min(c.Middle(), l.Max)
		}
	}
	return 0
}

// Lost counts what was lost in this machine outside of the experiment's network. Such a
// run is no measurement.
type Lost struct {
	Unsent   uint64 // datagrams for which the sending socket had no room
	Unread   uint64 // datagrams that the receiving sockets had no room for, or that came damaged
	Strays   uint64 // datagrams and connections of no flow of the run
	Unmarked uint64 // flows whose last acknowledgement the kernel did not stamp: their FCT has the wait for FIN in it
}

// Errors lists what must not happen in a run.
func (r *Result) Errors() (all []string) {
	for _, e := range []struct {
		n    uint64
		what string
	}{
		{r.Lost.Unsent, "datagrams found no room in a sending socket"},
		{r.Lost.Unread, "datagrams found no room in a receiving socket, or came damaged"},
		{r.Lost.Strays, "datagrams or connections came that are of no flow"},
		{r.Lost.Unmarked, "flows were acknowledged without a stamp of the kernel"},
	} {
		if e.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", e.n, e.what))
		}
	}
	return all
}

// local and remote are a flow's two ends, as the sender sees them.
func (c *Config) local(f *Flow) netip.AddrPort {
	return netip.AddrPortFrom(c.address(f.Src, f.Version), f.SrcPort)
}

func (c *Config) remote(f *Flow) netip.AddrPort {
	return netip.AddrPortFrom(c.address(f.Dst, f.Version), f.DstPort)
}

func (c *Config) address(node int, version uint8) netip.Addr {
	if node < 0 || node+1 >= c.Book.Len() {
		return netip.Addr{}
	}
	if version == 6 {
		return c.Book.V6(packet.Addr(node + 1))
	}
	return c.Book.V4(packet.Addr(node + 1))
}

// tuple identifies a flow.
type tuple struct {
	src, dst int
	from, to netip.AddrPort
	tcp      bool
}

// check returns an error if the configuration is impossible.
func (c *Config) check() error {
	if c.Warmup < 0 || c.Duration < c.Warmup || c.Duration > unit.Never/4 || c.Book == nil || c.Do == nil {
		return fmt.Errorf("a warm-up of %v and a duration of %v, addresses and namespaces: the warm-up must not be longer, "+
			"and all must be given", c.Warmup, c.Duration)
	}
	tuples := make(map[tuple]int, len(c.Flows))
	for i := range c.Flows {
		f := &c.Flows[i]
		from, to := c.local(f), c.remote(f)
		switch {
		case f.Version != 4 && f.Version != 6:
			return fmt.Errorf("flow %d: version %d of IP; 4 and 6 are possible", i, f.Version)
		case !from.IsValid() || !to.IsValid():
			return fmt.Errorf("flow %d: node %d or %d has no IPv%d address", i, f.Src, f.Dst, f.Version)
		case f.SrcPort == 0 || f.DstPort == 0:
			return fmt.Errorf("flow %d: ports %d and %d; a port is 1 … 65535", i, f.SrcPort, f.DstPort)
		case f.Start < 0 || f.Size < 0 || f.Stop < 0 || f.Payload < 1:
			return fmt.Errorf("flow %d: start %v, stop %v, size %d, payload %d", i, f.Start, f.Stop, f.Size, f.Payload)
		case (f.TCP != nil) == (f.UDPReceiver != nil):
			return fmt.Errorf("flow %d is of TCP or of UDP", i)
		case f.TCP == nil && f.Payload < leastDatagram:
			return fmt.Errorf("flow %d: datagrams with %d bytes of payload cannot say what they are; from %d bytes on they can",
				i, f.Payload, leastDatagram)
		case f.TCP == nil && (f.UDP == nil) != (len(f.After) > 0 && f.Begin != nil):
			return fmt.Errorf("flow %d: a flow of UDP has its sender or, after others, what makes it", i)
		case f.TCP != nil && (f.TCP.Rate < 0 || f.TCP.MSS < 0):
			return fmt.Errorf("flow %d: a rate of %d bit/s, an MSS of %d bytes", i, f.TCP.Rate, f.TCP.MSS)
		}
		t := tuple{f.Src, f.Dst, from, to, f.TCP != nil}
		if other, taken := tuples[t]; taken {
			return fmt.Errorf("flows %d and %d are both from %v to %v", other, i, from, to)
		}
		tuples[t] = i
		for _, a := range f.After {
			if a < 0 || a >= len(c.Flows) || c.Flows[a].Size == 0 || c.Flows[a].Dst != f.Src {
				return fmt.Errorf("flow %d comes after flow %d, which must have a size and end at its source", i, a)
			}
		}
	}
	for i, s := range c.Samples {
		if s.What >= whats || s.Flow < 0 || s.Flow >= len(c.Flows) || s.Every < 1 {
			return fmt.Errorf("sample %d: %d of flow %d every %v", i, s.What, s.Flow, s.Every)
		}
	}
	return nil
}
