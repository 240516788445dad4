package outcome

import (
	"fmt"

	"weir/core/topology"
	"weir/core/unit"
)

// Selection is what a run observes in addition to its counters.
type Selection struct {
	Watches  []Watch // quantities that are sampled periodically in the measured part
	Onsets   []Onset // beginnings of congestion, after which senders' reductions are looked for
	Delays   bool    // histograms of the one-way delays of data packets, by traffic
	Tally    bool    // composition of all frames on all links
	Notices  bool    // fate of the notices that switches make
	Ordering bool    // order in which data packets arrive
	Peaks    bool    // largest payload in flight of each sender
	Usage    bool    // resources of switches that programs use, at the end
	Steers   bool    // what control planes of switches have done, at the end
}

// Watch is a quantity that is sampled periodically from the end of the warm-up, or from From if that is
// later: sample k is taken k·Every after that.
type Watch struct {
	What        Quantity
	Index       int       // of a port (2·link + end), of a flow, of a switch's node or of a job
	Name        string    // of a ProgramMetric
	Every       unit.Time // above 0
	From, Until unit.Time // no sample is taken before From, or at Until and later; Until 0: to the end
}

// FirstSample returns when the first sample is taken in a run with that warm-up: From, but not before the end of the
// warm-up.
func (w *Watch) FirstSample(warmup unit.Time) unit.Time { return max(w.From, warmup) }

// EndOfSamples returns the time from which on no samples are taken; unit.Never without Until.
func (w *Watch) EndOfSamples() unit.Time {
	if w.Until == 0 {
		return unit.Never
	}
	return w.Until
}

// Samples returns the number of samples between the end of the warm-up and the end of the run. A sample at the end of
// the run counts, one at Until does not.
func (w *Watch) Samples(warmup, end unit.Time) int64 {
	if w.Until > 0 && w.Until <= end {
		end = w.Until - 1
	}
	if end < w.FirstSample(warmup) {
		return 0
	}
	return int64((end-w.FirstSample(warmup))/w.Every) + 1
}

// Quantity is what a Watch samples.
type Quantity uint8

// Quantities to watch. SentBytes, SentPackets and ReceivedBytes count from the start of the run and are
// sampled once more at its end, if due. Window to DeliveryRate are −1 outside a flow's life, and for a
// transport that is not transport.Gauged; the last two also before the first sample.
const (
	QueuePackets  Quantity = iota // frames that wait at a port
	QueueBytes                    // their bytes
	SentBytes                     // bytes of the frames that left a port
	SentPackets                   // frames that left a port
	ReceivedBytes                 // payload that was new to a flow's receiver
	Window                        // congestion window of a flow's sender, in bytes of payload
	Rate                          // pacing rate of a flow's sender, in bit/s of payload
	InFlight                      // bytes of payload that a flow's sender has in flight
	RTT                           // round-trip time as a flow's sender has smoothed it, in ps
	DeliveryRate                  // latest rate at which a flow's payload was delivered, in bit/s
	BufferBytes                   // bytes that wait in all ports of a switch
	// ProgramMetric is a metric of a switch's programs (dataplane.Metered), the sum of its samples, as bits of a
	// floating-point number; it is sampled once more at the end, too.
	ProgramMetric
	MessageBytes // payload of a job's messages that was new to their receivers; counts like ReceivedBytes
)

// IsCounter reports whether the quantity only grows: its growth at the end of a run then belongs to the last
// interval.
func (q Quantity) IsCounter() bool {
	return q == SentBytes || q == SentPackets || q == ReceivedBytes || q == ProgramMetric || q == MessageBytes
}

// ofSwitch reports whether Watch.Index is a switch's node.
func (q Quantity) ofSwitch() bool { return q == BufferBytes || q == ProgramMetric }

// OfFlow reports whether Watch.Index is a flow.
func (q Quantity) OfFlow() bool { return q >= ReceivedBytes && q <= DeliveryRate }

// OfPort reports whether Watch.Index is a port.
func (q Quantity) OfPort() bool { return q <= SentPackets }

// Onset is the beginning of congestion, or its earliest time, after which reductions of senders are looked for.
type Onset struct {
	After unit.Time   // it begins then at the earliest
	Port  int         // it begins when more than Above waits at this port of a switch (Result.Ports); −1: at After
	Above unit.Length // at least 1 packet or byte
	By    float64     // a sender has reduced when it is below 1−By of the largest value since the onset, 0 < By < 1
	// InFlight looks at the payload in flight in place of window and rate: for senders that have
	// no window of their own, such as receiver-driven ones. It also falls when a flow ends.
	InFlight bool
	Flows    []int // a flow in one onset at most
}

// Check returns an error for a watch or an onset that is impossible in a network with this many flows and jobs. flows
// and jobs are their numbers.
func (s *Selection) Check(n *topology.Network, flows, jobs int) error {
	for i, w := range s.Watches {
		limit := 2 * len(n.Links)
		switch {
		case w.What.OfFlow():
			limit = flows
		case w.What == MessageBytes:
			limit = jobs
		case w.What.ofSwitch() && (w.Index < 0 || w.Index >= len(n.Nodes) || !n.Nodes[w.Index].Switch):
			limit = 0
		case w.What.ofSwitch():
			limit = len(n.Nodes)
		}
		if w.Every <= 0 || w.What > MessageBytes || w.Index < 0 || w.Index >= limit {
			return fmt.Errorf("watch %d looks at %d of %d every %v", i, w.Index, limit, w.Every)
		}
	}
	return s.checkOnsets(n, flows)
}

// checkOnsets returns an error for an onset that is impossible in a network with this many flows. A flow may be in one
// onset only.
func (s *Selection) checkOnsets(n *topology.Network, flows int) error {
	ports := 2 * len(n.Links)
	ofSwitch := func(port int) bool { return n.Nodes[n.Links[port/2].Ends[port%2]].Switch }
	listed := make(map[int]bool)
	for i, o := range s.Onsets {
		if o.After < 0 || !(o.By > 0 && o.By < 1) || o.Port >= ports ||
			o.Port >= 0 && (!ofSwitch(o.Port) || o.Above.Packets < 1 && o.Above.Bytes < 1) {
			return fmt.Errorf("onset %d: after %v, more than %v at port %d of %d, by %g", i, o.After, o.Above, o.Port, ports,
				o.By)
		}
		for _, f := range o.Flows {
			if f < 0 || f >= flows || listed[f] {
				return fmt.Errorf("onset %d: flow %d of %d is not there, or there twice", i, f, flows)
			}
			listed[f] = true
		}
	}
	return nil
}
