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

// Config describes the traffic of one run.
type Config struct {
	Flows []Flow
	// Epoch is time 0 of the experiment by CLOCK_MONOTONIC in ns: lab.DataPlane's Epoch plus lab.Config.Lead. All
	// other times count from it.
	Epoch    int64
	Warmup   unit.Time // start of the counters
	Duration unit.Time // latest end of the run; not before Warmup
	// UntilDone ends the run when all flows with a size are done at their senders.
	UntilDone bool
	Samples   []Sample
	Book      *packet.Book // Addr of node i is i+1
	// Do runs action in the network namespace of a node; sockets that it opens stay there (lab.Network.Do). Calls do
	// not overlap.
	Do func(node int, action func() error) error
	// Progress, if set, is called with the current time every 100 ms or so.
	Progress func(now unit.Time)
}

// Flow is a TCP or UDP flow of Size bytes, or endless.
type Flow struct {
	Src, Dst         int    // nodes
	SrcPort, DstPort uint16 // not 0; unique together with addresses and protocol
	Version          uint8  // of IP: 4 or 6
	TOS              uint8  // or traffic class
	Start            unit.Time
	Stop             unit.Time  // when the application of an endless flow stops; 0: at the end of the run
	Size             unit.Bytes // payload; 0: endless
	Payload          int32      // largest payload of a packet; at least minDatagram for UDP
	// Link is the rate of Src's link, which UDP senders wait for; 0: no wait.
	Link unit.LinkRate
	// Predecessors lists flows with a size that end at Src. All of them must have arrived there before this flow starts;
	// Start is its earliest start.
	Predecessors []int

	TCP *TCP // nil for UDP
	// Endpoints of transport/udp: UDP's NextSend and Emit give the schedule, UDPReceiver counts. With Predecessors, UDP is
	// nil, and Begin creates it when the flow starts.
	UDP, UDPReceiver transport.Endpoint
	Begin            func(start unit.Time) transport.Endpoint
}

// TCP configures a flow's connection and application. Initial window, minimum RTO, ECN and most buffers come from
// the namespace's routes and sysctls.
type TCP struct {
	CongestionControl string // TCP_CONGESTION (tcp(7)); "": the namespace's default
	// Rate is the rate at which the application writes payload, Payload bytes at a time, starting at Start; 0: as
	// fast as the send buffer accepts it.
	Rate   unit.Rate
	Pacing bool // TCP paces by itself, also with congestion controls that do not request it
	// ReceiverOptions are options of the receiving socket (kernel.Settings).
	ReceiverOptions []kernel.Option
	// SendBuffer and ReceiveBuffer are the values of SO_SNDBUF and SO_RCVBUF; 0: the namespace's sizes.
	SendBuffer, ReceiveBuffer int

	MSS int32 // TCP_MAXSEG: maximum of payload and options of a segment; 0: by the MTU
}

// minDatagram is the minimum UDP payload in bytes. It holds the numbers of flow and datagram and the send time.
// Only a flow's last datagram may be shorter.
const minDatagram = 16

// Sample requests samples of a flow's quantity; sample k is of time Warmup + k·Every.
type Sample struct {
	Quantity Quantity
	Flow     int
	Every    unit.Time // above 0
}

// Quantity is a quantity that can be sampled.
type Quantity uint8

// Quantities. ReceivedBytes counts from the start of the run and has a further sample at Duration if one is due.
// The others, from Linux' TCP_INFO, are −1 outside a flow's lifetime and for UDP.
const (
	ReceivedBytes Quantity = iota // payload read by the receiving application
	Window                        // congestion window, in bytes of payload
	Rate                          // pacing rate, in bit/s of payload; 0: not set
	InFlight                      // bytes of payload in flight: neither acknowledged nor lost
	RTT                           // smoothed round-trip time, in ps; 0: not measured
	DeliveryRate                  // latest delivery rate, in bit/s of payload
	whatCount
)

// End is the reason for the end of a run, in the simulator's words.
type End string

// Reasons for the end of a run.
const (
	AllDone     End = "all done"
	TimeUp      End = "time up"
	NoProgress  End = "no progress" // with UntilDone: all unfinished flows have failed
	Interrupted End = "interrupted"
)

// Result is the result of a run. Counters are differences between the end of the warm-up and the end of the run;
// times are absolute.
type Result struct {
	End     End
	Time    unit.Time // end of the run
	Flows   []FlowResult
	Sampled [][]int64 // by Config.Samples

	// SendLateness is the lateness of datagrams at their system calls. StartLateness is the lateness of TCP flows' starts.
	SendLateness, StartLateness Lateness
	Lost                        Lost // in the whole run
	// Waiting records the waits of the TCP thread for a processor.
	Waiting lab.Waiting
}

// FlowResult is the result of a flow.
type FlowResult struct {
	Start            unit.Time // due start; unit.Never if a predecessor did not arrive
	Sender, Receiver transport.Counters
	// From Start to the acknowledgement of the last byte (UDP: to its sending); unit.Never if unfinished or endless
	FCT      unit.Time
	Arrived  unit.Time  // when the receiving application had all; unit.Never if it does not, or the flow is endless
	Written  unit.Time  // from Start to the return of the last write; unit.Never if it has not returned, or for UDP
	Timeouts int64      // expiries of the retransmission timer, measured part
	Received unit.Bytes // payload that reached the receiver, from the start of the run
	Failed   error      // why the connection failed; nil: it did not, or the run ended first
}

// Lateness is a distribution of delays against a schedule.
type Lateness struct {
	unit.Histogram
	Max unit.Time
}

// addDelay adds a delay to the distribution and its maximum.
func (l *Lateness) addDelay(delay unit.Time) {
	l.Add(delay)
	l.Max = max(l.Max, delay)
}

// quantile returns a quantile: the delay that the given share, 0 to 1, did not exceed, rounded to the middle of a
// class but at most Max; 0 if the distribution is empty.
func (l *Lateness) quantile(share float64) unit.Time {
	sum := uint64(0)
	for _, c := range l.Classes() {
		if sum += c.Count; float64(sum) >= share*float64(l.Count()) {
			return min(c.Middle(), l.Max)
		}
	}
	return 0
}

// Lost counts losses in this machine outside the experiment's network. A run with losses is no measurement.
type Lost struct {
	Unsent   uint64 // datagrams that the sending socket had no space for
	Unread   uint64 // datagrams that receiving sockets had no space for, or that arrived damaged
	Strays   uint64 // datagrams and connections that belong to no flow
	Unmarked uint64 // flows without a kernel stamp for the last acknowledgement: their FCT includes the wait for FIN
}

// Errors lists losses that invalidate a run, one text for each kind; nil without losses.
func (r *Result) Errors() (all []string) {
	for _, e := range []struct {
		n    uint64
		what string
	}{
		{r.Lost.Unsent, "datagrams did not fit into a sending socket"},
		{r.Lost.Unread, "datagrams did not fit into a receiving socket, or arrived damaged"},
		{r.Lost.Strays, "datagrams or connections arrived that belong to no flow"},
		{r.Lost.Unmarked, "flows were acknowledged without a time stamp of the kernel"},
	} {
		if e.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", e.n, e.what))
		}
	}
	return all
}

// localAddr returns the address and port of a flow's sender.
func (c *Config) localAddr(f *Flow) netip.AddrPort {
	return netip.AddrPortFrom(c.nodeAddr(f.Src, f.Version), f.SrcPort)
}

// remoteAddr returns the address and port of a flow's receiver.
func (c *Config) remoteAddr(f *Flow) netip.AddrPort {
	return netip.AddrPortFrom(c.nodeAddr(f.Dst, f.Version), f.DstPort)
}

// nodeAddr returns the address of a node, invalid if it has no such address.
func (c *Config) nodeAddr(node int, version uint8) netip.Addr {
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

// checkConfig returns an error if the configuration is impossible.
func (c *Config) checkConfig() error {
	if c.Warmup < 0 || c.Duration < c.Warmup || c.Duration > unit.Never/4 || c.Book == nil || c.Do == nil {
		return fmt.Errorf("a warm-up of %v and a duration of %v, or no addresses or namespaces; the warm-up must not be "+
			"longer than the duration, and addresses and namespaces are required", c.Warmup, c.Duration)
	}
	tuples := make(map[tuple]int, len(c.Flows))
	for i := range c.Flows {
		f := &c.Flows[i]
		from, to := c.localAddr(f), c.remoteAddr(f)
		switch {
		case f.Version != 4 && f.Version != 6:
			return fmt.Errorf("flow %d: IP version %d is unknown; allowed: 4, 6", i, f.Version)
		case !from.IsValid() || !to.IsValid():
			return fmt.Errorf("flow %d: node %d or %d has no IPv%d address", i, f.Src, f.Dst, f.Version)
		case f.SrcPort == 0 || f.DstPort == 0:
			return fmt.Errorf("flow %d: ports %d and %d are out of range; allowed: 1 to 65535", i, f.SrcPort, f.DstPort)
		case f.Start < 0 || f.Size < 0 || f.Stop < 0 || f.Payload < 1:
			return fmt.Errorf("flow %d: invalid start %v, stop %v, size %d or payload %d",
				i, f.Start, f.Stop, f.Size, f.Payload)
		case (f.TCP != nil) == (f.UDPReceiver != nil):
			return fmt.Errorf("flow %d: its protocol is not clear; allowed: either TCP or UDP", i)
		case f.TCP == nil && f.Payload < minDatagram:
			return fmt.Errorf("flow %d: a datagram with %d bytes of payload is too small for its number; allowed: %d "+
				"bytes and more",
				i, f.Payload, minDatagram)
		case f.TCP == nil && (f.UDP == nil) != (len(f.Predecessors) > 0 && f.Begin != nil):
			return fmt.Errorf("flow %d: a UDP flow requires a sender or, after other flows, a function that creates it", i)
		case f.TCP != nil && (f.TCP.Rate < 0 || f.TCP.MSS < 0):
			return fmt.Errorf("flow %d: a rate of %d bit/s or an MSS of %d bytes is negative; allowed: 0 and more",
				i, f.TCP.Rate, f.TCP.MSS)
		}
		t := tuple{f.Src, f.Dst, from, to, f.TCP != nil}
		if other, taken := tuples[t]; taken {
			return fmt.Errorf("flows %d and %d have the same addresses and ports, from %v to %v", other, i, from, to)
		}
		tuples[t] = i
		for _, a := range f.Predecessors {
			if a < 0 || a >= len(c.Flows) || c.Flows[a].Size == 0 || c.Flows[a].Dst != f.Src {
				return fmt.Errorf("flow %d starts after flow %d, which must have a size and end at its source", i, a)
			}
		}
	}
	for i, s := range c.Samples {
		if s.Quantity >= whatCount || s.Flow < 0 || s.Flow >= len(c.Flows) || s.Every < 1 {
			return fmt.Errorf("sample %d is invalid: %d of flow %d every %v", i, s.Quantity, s.Flow, s.Every)
		}
	}
	return nil
}
