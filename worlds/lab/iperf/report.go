package iperf

import (
	"encoding/json"
	"fmt"
	"math"

	"weir/core/unit"
)

// report is the used part of the output of iperf3 --json.
type report struct {
	Start struct {
		Version string `json:"version"` // iperf 3.12
	} `json:"start"`
	Intervals []struct {
		Streams []stream `json:"streams"`
	} `json:"intervals"`
	Error string `json:"error"`
}

// stream is a flow in one interval. cJSON writes large numbers with an exponent.
type stream struct {
	Start       float64 `json:"start"` // seconds since the start of the test
	End         float64 `json:"end"`
	Bytes       float64 `json:"bytes"`
	Retransmits float64 `json:"retransmits"`  // TCP sender: segments
	Packets     float64 `json:"packets"`      // UDP: sent; at the receiver including lost ones
	LostPackets float64 `json:"lost_packets"` // UDP receiver
}

// interval has the counts of a flow in a part of its test.
type interval struct {
	start, end                        unit.Time // since the start of the test
	bytes, retransmits, packets, lost float64
}

// series lists the intervals of a test with one flow, ascending.
type series struct {
	version   string
	intervals []interval
}

// maxSeconds limits a test's times.
const maxSeconds = 1e6

// parseReport parses iperf3's report b, the output of --json. The error is iperf3's own, or about an invalid report,
// such as one without intervals or with several flows.
func parseReport(b []byte) (*series, error) {
	var r report
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("its report: %w", err)
	}
	if r.Error != "" {
		return nil, fmt.Errorf("it reports: %s", r.Error)
	}
	s := &series{version: r.Start.Version}
	last := 0.0
	for i, x := range r.Intervals {
		if len(x.Streams) != 1 {
			return nil, fmt.Errorf("its report: %d flows in interval %d; expected 1", len(x.Streams), i)
		}
		v := x.Streams[0]
		for _, n := range [...]float64{v.Bytes, v.Retransmits, v.Packets, v.LostPackets} {
			if n < 0 || n > math.MaxInt64/4 {
				return nil, fmt.Errorf("its report: an invalid count of %g in interval %d", n, i)
			}
		}
		if v.Start < last-1e-3 || v.End < v.Start || v.End > maxSeconds {
			return nil, fmt.Errorf("its report: interval %d is from %g to %g s, after %g s", i, v.Start, v.End, last)
		}
		last = v.End
		start, end := toTime(v.Start), toTime(v.End)
		if end == start {
			continue // the remainder of a test that ended with an interval
		}
		s.intervals = append(s.intervals, interval{
			start: start, end: end,
			bytes: v.Bytes, retransmits: v.Retransmits, packets: v.Packets, lost: v.LostPackets,
		})
	}
	if len(s.intervals) == 0 {
		return nil, fmt.Errorf("its report: it has no intervals")
	}
	return s, nil
}

// toTime converts seconds to a time.
func toTime(s float64) unit.Time { return unit.Time(math.Round(s * float64(unit.Second))) }

// sumBetween sums up the counts between two times of the test. Intervals count by the share inside; start and end of
// the sum are the given times.
func (s *series) sumBetween(from, to unit.Time) (sum interval) {
	sum.start, sum.end = from, to
	for _, x := range s.intervals {
		a, b := max(x.start, from), min(x.end, to)
		if b <= a {
			continue
		}
		share := float64(b-a) / float64(x.end-x.start)
		sum.bytes += share * x.bytes
		sum.retransmits += share * x.retransmits
		sum.packets += share * x.packets
		sum.lost += share * x.lost
	}
	return sum
}

// lastEnd returns the end of the last interval.
func (s *series) lastEnd() unit.Time { return s.intervals[len(s.intervals)-1].end }
