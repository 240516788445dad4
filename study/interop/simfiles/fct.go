package simfiles

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/bits"
	"sort"
	"strconv"

	"weir/core/unit"
)

// Destination ports, by which the simulator's analysis tells flows apart.
const (
	NormalPort = 100
	IncastPort = 200
)

// FirstPort is the first flow's source port of every pair of hosts; it counts upward.
const FirstPort = 10000

// FCT is a flow that is finished. Times are in whole nanoseconds, as the simulator's clock.
type FCT struct {
	Src, Dst         int // nodes
	SrcPort, DstPort uint16
	Size             int64 // bytes
	Start            int64 // ns
	FCT              int64 // ns, from the start until the last byte is acknowledged
	Standalone       int64 // ns, that it would take alone: Pair.Standalone
}

// mostNs bounds times, so that sums of two fit.
const mostNs = 1 << 62

const fctForm = "sip dip sport dport size start fct standalone"

// ReadFCT reads a fct.txt: "sip dip sport dport size start fct standalone" per flow that
// is finished, addresses as %08x, times in ns; none takes no time. Errors are of type *FormatError.
func ReadFCT(r io.Reader, file string) ([]FCT, error) {
	l := newLines(r, file)
	var out []FCT
	for l.next() {
		if err := l.count(fctForm); err != nil {
			return nil, err
		}
		var f FCT
		for i, node := range []*int{&f.Src, &f.Dst} {
			addr, err := strconv.ParseUint(l.words[i], 16, 32)
			n, ok := nodeOf(uint32(addr))
			if err != nil || len(l.words[i]) != 8 || !ok {
				return nil, l.errorf(i, "the address is %q; that of node n is 0b000001 + n·100 in hexadecimal, 0b000001 "+
					"to 0bffff01", l.words[i])
			}
			*node = n
		}
		var v [8]int64
		for i, x := range []struct {
			what      string
			low, high int64
		}{2: {"the source port", 0, 65535}, 3: {"the destination port", 0, 65535}, 4: {"the size", 0, mostNs},
			5: {"the start", 0, mostNs}, 6: {"the completion time", 1, mostNs},
			7: {"the standalone time", 0, mostNs}} {
			if i < 2 {
				continue
			}
			var err error
			if v[i], err = l.number(i, x.what, x.low, x.high); err != nil {
				return nil, err
			}
		}
		f.SrcPort, f.DstPort, f.Size, f.Start, f.FCT, f.Standalone = uint16(v[2]), uint16(v[3]), v[4], v[5], v[6], v[7]
		out = append(out, f)
	}
	return out, l.err()
}

// WriteFCT writes flows in that format, in their order; the simulator's is that of their
// ends.
func WriteFCT(w io.Writer, flows []FCT) error {
	b := bufio.NewWriter(w)
	for _, f := range flows {
		fmt.Fprintf(b, "%08x %08x %d %d %d %d %d %d\n", addressOf(f.Src), addressOf(f.Dst), f.SrcPort, f.DstPort, f.Size, f.Start,
			f.FCT, f.Standalone)
	}
	return b.Flush()
}

// header is what a packet has beside its payload and telemetry: Ethernet (the simulator's
// PPP) 14, IPv4 20, UDP 8, sequence and priority 6.
const header = 14 + 20 + 8 + 6

// Pair is what the simulator knows of the path between two hosts.
type Pair struct {
	RTT  int64     // ns: base round-trip time
	Rate unit.Rate // of its slowest link
}

// Leg is a link of a path.
type Leg struct {
	Rate  unit.Rate
	Delay unit.Time
}

// PairOf is the base RTT over the links of a path, for packets of a payload in bytes:
// twice all delays, and once on each link the time that the payload takes without its
// headers; parts of nanoseconds are dropped link by link.
func PairOf(path []Leg, payload int64) Pair {
	var p Pair
	for _, l := range path {
		p.RTT += 2*int64(l.Delay/unit.Nanosecond) + ns(payload, l.Rate)
		if p.Rate == 0 || l.Rate < p.Rate {
			p.Rate = l.Rate
		}
	}
	return p
}

// ns is how long bytes take at a rate, rounded down.
func ns(bytes int64, r unit.Rate) int64 {
	if bytes < 0 || r < 1 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(bytes), 8_000_000_000)
	if hi >= uint64(r) {
		return mostNs
	}
	q, _ := bits.Div64(hi, lo, uint64(r))
	return int64(min(q, mostNs))
}

// Standalone is the completion time of a flow alone: the base RTT, and the time that its
// bytes take at the path's rate, headers included and telemetry not; rounded down.
func (p Pair) Standalone(size, payload int64) int64 {
	if payload < 1 {
		return p.RTT
	}
	packets := (size + payload - 1) / payload
	return p.RTT + ns(size+packets*header, p.Rate)
}

// bdp is the base RTT's bytes at the path's rate, rounded down.
func (p Pair) bdp() int64 {
	hi, lo := bits.Mul64(uint64(p.RTT), uint64(p.Rate))
	if hi >= 8_000_000_000 {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, 8_000_000_000)
	return int64(min(q, math.MaxInt64))
}

// SlowdownRow is what the flows of a range of sizes have.
type SlowdownRow struct {
	Share         float64 // of flows that are below this row
	Size          int64   // of its largest flow
	P50, P95, P99 float64
}

// Slowdowns is the analysis that comes with the simulator: of the flows to a destination
// port that ended before limit (ns; its default is 3 s), by size, each of n rows has
// a share 1/n of the flows; a flow's slowdown is its completion time over the standalone
// one, and 1 at least; the percentile p of k values is the one with ⌊k·p⌋ below it. Rows
// without flows are left out.
func Slowdowns(flows []FCT, port uint16, limit int64, rows int) []SlowdownRow {
	type slow struct {
		size int64
		by   float64
	}
	var all []slow
	for _, f := range flows {
		if f.DstPort == port && f.Start+f.FCT < limit && f.Standalone > 0 {
			all = append(all, slow{f.Size, max(1, float64(f.FCT)/float64(f.Standalone))})
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].size < all[j].size || all[i].size == all[j].size && all[i].by < all[j].by
	})
	var out []SlowdownRow
	for k := range rows {
		part := all[k*len(all)/rows : (k+1)*len(all)/rows]
		if len(part) == 0 {
			continue
		}
		row := SlowdownRow{Share: float64(k) / float64(rows), Size: part[len(part)-1].size}
		by := make([]float64, 0, len(part))
		for _, s := range part {
			by = append(by, s.by)
		}
		sort.Float64s(by)
		for _, p := range []struct {
			to    *float64
			cents int
		}{{&row.P50, 50}, {&row.P95, 95}, {&row.P99, 99}} {
			*p.to = by[len(by)*p.cents/100]
		}
		out = append(out, row)
	}
	return out
}
