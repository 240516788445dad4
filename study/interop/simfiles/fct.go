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

// Destination ports by which the simulator's analysis separates flows.
const (
	NormalPort = 100
	IncastPort = 200
)

// FirstPort is the source port of the first flow of every pair of hosts. The following flows count up.
const FirstPort = 10000

// FCT is a finished flow. Times are in whole nanoseconds, like the simulator's clock.
type FCT struct {
	Src, Dst         int // nodes
	SrcPort, DstPort uint16
	Size             int64 // bytes
	Start            int64 // ns
	FCT              int64 // ns, from the start until the last byte is acknowledged
	Standalone       int64 // ns, without other flows (Pair.StandaloneFCT)
}

// maxNs limits times so that the sum of two fits.
const maxNs = 1 << 62

// fctFormat names the columns of a line of fct.txt.
const fctFormat = "sip dip sport dport size start fct standalone"

// ReadFCT reads a fct.txt with the line "sip dip sport dport size start fct standalone" for each finished flow.
// Addresses are %08x, times in ns, and the completion time is at least 1. file names the file in errors, which are of
// type *FormatError.
func ReadFCT(r io.Reader, file string) ([]FCT, error) {
	l := newLineReader(r, file)
	var out []FCT
	for l.nextLine() {
		if err := l.checkWordCount(fctFormat); err != nil {
			return nil, err
		}
		var f FCT
		for i, node := range []*int{&f.Src, &f.Dst} {
			addr, err := strconv.ParseUint(l.words[i], 16, 32)
			n, ok := addrNode(uint32(addr))
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
		}{2: {"the source port", 0, 65535}, 3: {"the destination port", 0, 65535}, 4: {"the size", 0, maxNs},
			5: {"the start", 0, maxNs}, 6: {"the completion time", 1, maxNs},
			7: {"the standalone time", 0, maxNs}} {
			if i < 2 {
				continue
			}
			var err error
			if v[i], err = l.readNumber(i, x.what, x.low, x.high); err != nil {
				return nil, err
			}
		}
		f.SrcPort, f.DstPort, f.Size, f.Start, f.FCT, f.Standalone = uint16(v[2]), uint16(v[3]), v[4], v[5], v[6], v[7]
		out = append(out, f)
	}
	return out, l.scanError()
}

// WriteFCT writes flows in the format of ReadFCT, in their order. The caller orders them by their ends, as the
// simulator does.
func WriteFCT(w io.Writer, flows []FCT) error {
	b := bufio.NewWriter(w)
	for _, f := range flows {
		fmt.Fprintf(b, "%08x %08x %d %d %d %d %d %d\n", addressOf(f.Src), addressOf(f.Dst), f.SrcPort, f.DstPort, f.Size,
			f.Start,
			f.FCT, f.Standalone)
	}
	return b.Flush()
}

// headerBytes is the size of a packet's headers without telemetry: Ethernet (the simulator's PPP) 14, IPv4 20, UDP 8,
// sequence and priority 6.
const headerBytes = 14 + 20 + 8 + 6

// Pair describes the path between two hosts.
type Pair struct {
	RTT  int64     // ns: base round-trip time
	Rate unit.Rate // of its slowest link
}

// Leg is a link of a path.
type Leg struct {
	Rate  unit.Rate
	Delay unit.Time
}

// NewPair returns the base RTT and the lowest rate of a path for packets with the given payload in bytes. The RTT is
// twice all delays, plus the transmission time of the payload without headers on each link. Fractions of nanoseconds
// are dropped link by link. An empty path gives 0.
func NewPair(path []Leg, payload int64) Pair {
	var p Pair
	for _, l := range path {
		p.RTT += 2*int64(l.Delay/unit.Nanosecond) + nsAtRate(payload, l.Rate)
		if p.Rate == 0 || l.Rate < p.Rate {
			p.Rate = l.Rate
		}
	}
	return p
}

// nsAtRate returns the transmission time of bytes at a rate in ns, rounded down and at most maxNs; 0 for a negative
// size or rate.
func nsAtRate(bytes int64, r unit.Rate) int64 {
	if bytes < 0 || r < 1 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(bytes), 8_000_000_000)
	if hi >= uint64(r) {
		return maxNs
	}
	q, _ := bits.Div64(hi, lo, uint64(r))
	return int64(min(q, maxNs))
}

// StandaloneFCT returns the completion time in ns of a flow without other flows: the base RTT plus the transmission
// time of its bytes at the path's rate, with headers and without telemetry, rounded down. size and payload are in
// bytes; a payload below 1 gives the base RTT alone.
func (p Pair) StandaloneFCT(size, payload int64) int64 {
	if payload < 1 {
		return p.RTT
	}
	packets := (size + payload - 1) / payload
	return p.RTT + nsAtRate(size+packets*headerBytes, p.Rate)
}

// bdp returns the bandwidth-delay product in bytes, rounded down and at most the largest int64.
func (p Pair) bdp() int64 {
	hi, lo := bits.Mul64(uint64(p.RTT), uint64(p.Rate))
	if hi >= 8_000_000_000 {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, 8_000_000_000)
	return int64(min(q, math.MaxInt64))
}

// SlowdownRow summarizes the flows of a range of sizes.
type SlowdownRow struct {
	Share         float64 // share of the flows in earlier rows
	Size          int64   // size of its largest flow
	P50, P95, P99 float64
}

// ComputeSlowdowns computes the analysis that comes with the simulator. It takes the flows to a destination port that
// ended before limit (ns; the simulator's default is 3 s), ordered by size, and divides them evenly into rows. A flow's
// slowdown is its completion time divided by the standalone one, and at least 1. The percentile p of k values is the
// one with ⌊k·p⌋ values below it. Rows without flows are left out.
func ComputeSlowdowns(flows []FCT, port uint16, limit int64, rows int) []SlowdownRow {
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
