package trace

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"weir/core/unit"
)

// Summary adds records up: events by port and kind, queues, rates, drops by
// reason, flows. Records come in order of time.
type Summary struct {
	events      int64
	first, last unit.Time
	ports       []*portSum // in order of appearance
	portAt      map[string]*portSum
	reasons     []count
	flows       []*flowSum
	flowAt      map[flowKey]*flowSum
}

type portSum struct {
	name    string
	kinds   [Kinds]int64
	bytes   int64 // transmitted
	queue   bool  // one of its events has the queue
	packets step
	queued  step
}

// step is a quantity over time that stays the same from event to event.
type step struct {
	since, at unit.Time // of the first and of the latest value
	value     int64
	most      int64
	area      float64 // value · time
}

func (s *step) set(at unit.Time, v int64) {
	s.area += float64(float64(s.value) * float64(at-s.at))
	s.at, s.value = at, v
	s.most = max(s.most, v)
}

// mean is weighted with time, from the first value to the latest.
func (s *step) mean() float64 {
	if s.at == s.since {
		return float64(s.value)
	}
	return s.area / float64(s.at-s.since)
}

type count struct {
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
	at   []flowAtPort
	lost int64 // dropped or lost
}

// flowAtPort counts what one port transmitted of a flow; a packet crosses several.
type flowAtPort struct {
	port           *portSum
	packets, bytes int64
}

// Add adds a record.
func (s *Summary) Add(r *Record) {
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
			p.packets.since, p.packets.at = r.At, r.At
			p.queued = p.packets
		}
		p.packets.set(r.At, r.QueuePackets)
		p.queued.set(r.At, r.QueueBytes)
	}
	if r.Kind == Drop || r.Kind == Lost {
		s.reason(r.Reason)
	}
	if r.Kind == Transmit {
		p.bytes += r.Size
	}
	if r.Src == "" && r.Dst == "" {
		return // no flow's
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
		for i := range f.at {
			if f.at[i].port == p {
				f.at[i].packets++
				f.at[i].bytes += r.Size
				return
			}
		}
		f.at = append(f.at, flowAtPort{p, 1, r.Size})
	}
}

func (s *Summary) reason(name string) {
	if name == "" {
		name = "not recorded"
	}
	for i := range s.reasons {
		if s.reasons[i].name == name {
			s.reasons[i].n++
			return
		}
	}
	s.reasons = append(s.reasons, count{name, 1})
}

// most returns what the port that has most of the flow transmitted of it.
func (f *flowSum) most() (packets, bytes int64) {
	for _, a := range f.at {
		if a.bytes > bytes {
			packets, bytes = a.packets, a.bytes
		}
	}
	return packets, bytes
}

// flowsShown is how many flows a summary lists.
const flowsShown = 20

// String is the summary as tables of at most 80 columns.
func (s *Summary) String() string {
	var b strings.Builder
	if s.events == 0 {
		return "no events\n"
	}
	span := (s.last - s.first).Seconds()
	fmt.Fprintf(&b, "%d events from %s s to %s s\n", s.events, Seconds(s.first), Seconds(s.last))
	fmt.Fprintf(&b, "\n%-24s %10s %10s %10s %10s %10s\n", "port [events]", "enqueue", "transmit", "drop", "lost", "arrive")
	for _, p := range s.ports {
		fmt.Fprintf(&b, "%s", short(p.name, 24))
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
			mean, most, bytes = fmt.Sprintf("%.2f", p.packets.mean()), fmt.Sprint(p.packets.most), fmt.Sprint(p.queued.most)
		}
		if span > 0 && p.kinds[Transmit] > 0 {
			rate, packets = fmt.Sprintf("%.4g", float64(p.bytes)*8/span/1e6),
				fmt.Sprintf("%.0f", float64(p.kinds[Transmit])/span)
		}
		fmt.Fprintf(&b, "%s %10s %10s %10s %10s %10s\n", short(p.name, 24), mean, most, bytes, rate, packets)
	}
	if len(s.reasons) > 0 {
		sort.SliceStable(s.reasons, func(i, j int) bool { return s.reasons[i].n > s.reasons[j].n })
		fmt.Fprintf(&b, "\n%-24s %10s\n", "reason of drop or loss", "[packets]")
		for _, r := range s.reasons {
			fmt.Fprintf(&b, "%s %10d\n", short(r.name, 24), r.n)
		}
	}
	s.writeFlows(&b, span)
	return b.String()
}

// writeFlows lists the flows with the most bytes; each direction is one.
func (s *Summary) writeFlows(b *strings.Builder, span float64) {
	if len(s.flows) == 0 {
		return
	}
	sort.SliceStable(s.flows, func(i, j int) bool {
		_, x := s.flows[i].most()
		_, y := s.flows[j].most()
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
		packets, bytes := f.most()
		if span > 0 && bytes > 0 {
			rate = fmt.Sprintf("%.4g", float64(bytes)*8/span/1e6)
		}
		src, dst := string(appendEndpoint(nil, f.src, f.srcPort)), string(appendEndpoint(nil, f.dst, f.dstPort))
		ends := src + " → " + dst
		if utf8.RuneCountInString(ends) > 38 {
			fmt.Fprintf(b, "%6s %-5s %s\n%12s %s", number, protoName(f.proto), cut(src, 67), "", short("→ "+dst, 38))
		} else {
			fmt.Fprintf(b, "%6s %-5s %s", number, protoName(f.proto), short(ends, 38))
		}
		fmt.Fprintf(b, " %9d %8d %9s\n", packets, f.lost, rate)
	}
}

// short is s in exactly width columns.
func short(s string, width int) string {
	if s == "" {
		s = "-"
	}
	s = cut(s, width)
	return s + strings.Repeat(" ", width-utf8.RuneCountInString(s))
}

// cut is s in at most width columns.
func cut(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}
