package trace

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"weir/core/unit"
)

// Summary adds up records: events by port and kind, queues, rates, drops by reason, flows. Records must be added in
// order of time.
type Summary struct {
	events      int64
	first, last unit.Time
	ports       []*portSum // in order of appearance
	portAt      map[string]*portSum
	reasons     []reasonCount
	flows       []*flowSum
	flowAt      map[flowKey]*flowSum
}

type portSum struct {
	name    string
	kinds   [Kinds]int64
	bytes   int64 // transmitted
	queue   bool  // whether an event had the queue
	packets step
	queued  step
}

// step is a quantity that stays constant between events.
type step struct {
	since, changed unit.Time // of the first and of the latest value
	value          int64
	peak           int64
	area           float64 // value · time
}

// setValue records a new value from changeTime on, which is not before the latest change.
func (s *step) setValue(changeTime unit.Time, v int64) {
	s.area += float64(float64(s.value) * float64(changeTime-s.changed))
	s.changed, s.value = changeTime, v
	s.peak = max(s.peak, v)
}

// timeMean returns the time-weighted mean from the first value to the latest.
func (s *step) timeMean() float64 {
	if s.changed == s.since {
		return float64(s.value)
	}
	return s.area / float64(s.changed-s.since)
}

type reasonCount struct {
	name string
	n    int64
}

// flowKey is one direction of a flow.
type flowKey struct {
	flow             int64
	src, dst         string
	srcPort, dstPort uint16
	proto            uint8
}

type flowSum struct {
	flowKey
	byPort []flowAtPort
	lost   int64 // dropped or lost
}

// flowAtPort counts the packets and bytes of a flow that one port transmitted; a packet crosses several ports.
type flowAtPort struct {
	port           *portSum
	packets, bytes int64
}

// AddRecord adds a record, which must not be earlier than the last one. Summary keeps no reference to it.
func (s *Summary) AddRecord(r *Record) {
	if s.events == 0 {
		s.first = r.At
		s.portAt, s.flowAt = map[string]*portSum{}, map[flowKey]*flowSum{}
	}
	s.events++
	s.last = max(s.last, r.At)
	p := s.portAt[r.Port]
	if p == nil {
		p = &portSum{name: r.Port}
		s.portAt[r.Port], s.ports = p, append(s.ports, p)
	}
	if r.Kind < Kinds {
		p.kinds[r.Kind]++
	}
	if r.QueuePackets != None {
		if !p.queue {
			p.queue = true
			p.packets.since, p.packets.changed = r.At, r.At
			p.queued = p.packets
		}
		p.packets.setValue(r.At, r.QueuePackets)
		p.queued.setValue(r.At, r.QueueBytes)
	}
	if r.Kind == Drop || r.Kind == Lost {
		s.countReason(r.Reason)
	}
	if r.Kind == Transmit {
		p.bytes += r.Size
	}
	if r.Src == "" && r.Dst == "" {
		return // no flow
	}
	k := flowKey{r.Flow, r.Src, r.Dst, r.SrcPort, r.DstPort, r.Proto}
	f := s.flowAt[k]
	if f == nil {
		f = &flowSum{flowKey: k}
		s.flowAt[k], s.flows = f, append(s.flows, f)
	}
	switch r.Kind {
	case Drop, Lost:
		f.lost++
	case Transmit:
		for i := range f.byPort {
			if f.byPort[i].port == p {
				f.byPort[i].packets++
				f.byPort[i].bytes += r.Size
				return
			}
		}
		f.byPort = append(f.byPort, flowAtPort{p, 1, r.Size})
	}
}

// countReason counts a drop for the reason; "" counts as not recorded.
func (s *Summary) countReason(name string) {
	if name == "" {
		name = "not recorded"
	}
	for i := range s.reasons {
		if s.reasons[i].name == name {
			s.reasons[i].n++
			return
		}
	}
	s.reasons = append(s.reasons, reasonCount{name, 1})
}

// busiestPort returns the packets and bytes of the flow at the port that transmitted the largest number of its bytes.
// Both are 0 if no port has transmitted the flow.
func (f *flowSum) busiestPort() (packets, bytes int64) {
	for _, a := range f.byPort {
		if a.bytes > bytes {
			packets, bytes = a.packets, a.bytes
		}
	}
	return packets, bytes
}

// flowsShown is the maximum number of flows that a summary lists.
const flowsShown = 20

// String returns the summary as tables of at most 80 columns. It sorts the reasons and flows, and lists at most
// flowsShown flows.
func (s *Summary) String() string {
	var b strings.Builder
	if s.events == 0 {
		return "no events\n"
	}
	span := (s.last - s.first).Seconds()
	fmt.Fprintf(&b, "%d events from %s s to %s s\n", s.events, FormatSeconds(s.first), FormatSeconds(s.last))
	fmt.Fprintf(&b, "\n%-24s %10s %10s %10s %10s %10s\n", "port [events]", "enqueue", "transmit", "drop", "lost", "arrive")
	for _, p := range s.ports {
		fmt.Fprintf(&b, "%s", fitColumns(p.name, 24))
		for k := range Kinds {
			fmt.Fprintf(&b, " %10d", p.kinds[k])
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\n%-24s %10s %10s %10s %10s %10s\n%-24s %10s %10s %10s %10s %10s\n",
		"", "queue mean", "queue max", "queue max", "rate", "rate", "port", "[packets]", "[packets]", "[bytes]",
		"[Mb/s]", "[1/s]")
	for _, p := range s.ports {
		mean, most, bytes, rate, packets := "-", "-", "-", "-", "-"
		if p.queue {
			mean, most, bytes = fmt.Sprintf("%.2f", p.packets.timeMean()), fmt.Sprint(p.packets.peak), fmt.Sprint(p.queued.peak)
		}
		if span > 0 && p.kinds[Transmit] > 0 {
			rate, packets = fmt.Sprintf("%.4g", float64(p.bytes)*8/span/1e6),
				fmt.Sprintf("%.0f", float64(p.kinds[Transmit])/span)
		}
		fmt.Fprintf(&b, "%s %10s %10s %10s %10s %10s\n", fitColumns(p.name, 24), mean, most, bytes, rate, packets)
	}
	if len(s.reasons) > 0 {
		sort.SliceStable(s.reasons, func(i, j int) bool { return s.reasons[i].n > s.reasons[j].n })
		fmt.Fprintf(&b, "\n%-24s %10s\n", "reason of drop or loss", "[packets]")
		for _, r := range s.reasons {
			fmt.Fprintf(&b, "%s %10d\n", fitColumns(r.name, 24), r.n)
		}
	}
	s.writeFlows(&b, span)
	return b.String()
}

// writeFlows sorts the flows, and lists at most flowsShown with the largest numbers of bytes at one port. Each
// direction counts as a flow. span is the time for their rates in seconds.
func (s *Summary) writeFlows(b *strings.Builder, span float64) {
	if len(s.flows) == 0 {
		return
	}
	sort.SliceStable(s.flows, func(i, j int) bool {
		_, x := s.flows[i].busiestPort()
		_, y := s.flows[j].busiestPort()
		return x > y
	})
	fmt.Fprintf(b, "\n%6s %-5s %-38s %9s %8s %9s\n", "", "", "", "sent", "dropped", "rate")
	fmt.Fprintf(b, "%6s %-5s %-38s %9s %8s %9s\n", "flow", "proto", "from, to", "[packets]", "or lost", "[Mb/s]")
	for i, f := range s.flows {
		if i == flowsShown {
			fmt.Fprintf(b, "… and %d more\n", len(s.flows)-i)
			break
		}
		number, rate := "-", "-"
		if f.flow != None {
			number = fmt.Sprint(f.flow)
		}
		packets, bytes := f.busiestPort()
		if span > 0 && bytes > 0 {
			rate = fmt.Sprintf("%.4g", float64(bytes)*8/span/1e6)
		}
		src, dst := string(appendEndpoint(nil, f.src, f.srcPort)), string(appendEndpoint(nil, f.dst, f.dstPort))
		ends := src + " → " + dst
		if utf8.RuneCountInString(ends) > 38 {
			fmt.Fprintf(b, "%6s %-5s %s\n%12s %s", number, protoName(f.proto), cutColumns(src, 67), "", fitColumns("→ "+dst, 38))
		} else {
			fmt.Fprintf(b, "%6s %-5s %s", number, protoName(f.proto), fitColumns(ends, 38))
		}
		fmt.Fprintf(b, " %9d %8d %9s\n", packets, f.lost, rate)
	}
}

// fitColumns returns s in exactly width columns, with spaces behind it or cut; "-" stands for "".
func fitColumns(s string, width int) string {
	if s == "" {
		s = "-"
	}
	s = cutColumns(s, width)
	return s + strings.Repeat(" ", width-utf8.RuneCountInString(s))
}

// cutColumns returns s in at most width columns; … replaces what is cut off.
func cutColumns(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}
