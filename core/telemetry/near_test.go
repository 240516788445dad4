package telemetry

import (
	"math/rand/v2"
	"testing"

	"weir/core/unit"
)

// plain is Unwrap of one path as Delta defines it. It keeps records after they were made continuous, and every
// difference is Delta's. Bytes begin many wraps above 0, so that they stay above it also where records go back. Below
// 0, a continuous number of bytes has another remainder by a Wraparound that is no power of two.
type plain struct {
	hops []Hop
	at   unit.Time
}

func (x *plain) unwrap(s Wraparound, now unit.Time, r []Hop) {
	same := len(x.hops) == len(r)
	for i := range r {
		if !same || r[i].Rate != x.hops[i].Rate {
			r[i].Flags |= Restart
		} else if dt, bytes, ok := s.Delta(&x.hops[i], &r[i], now-x.at); !ok {
			r[i].Flags |= Restart
		} else {
			r[i].Time, r[i].TxBytes = x.hops[i].Time+dt, x.hops[i].TxBytes+uint64(bytes)
		}
	}
	x.hops, x.at = append(x.hops[:0], r...), now
	for i := range r {
		if r[i].Flags&Restart != 0 {
			x.hops[i].TxBytes += s.Bytes << 20
		} else {
			r[i].TxBytes -= s.Bytes << 20
		}
	}
}

// TestDifferencesOfFieldsAsTheyCame checks that differences of wrapped fields equal Delta's of continuous ones. Between
// two records there are one or many wraps, overtaken records, restarts of counters, other rates, or unknown bytes.
func TestDifferencesOfFieldsAsTheyCame(t *testing.T) {
	hpcc, odd := NewHPCC(4), NewHPCC(3)
	spans := map[string]Wraparound{"hpcc": hpcc.WrapSpan(), "hpcc, unit no power of two": odd.WrapSpan(),
		"int":              {Bytes: counterModulo},
		"ioam, IEEE times": {Bytes: 1 << 32}, "ifa": {Time: unit.Second << ifaSeconds},
		"ifa, extended": {Time: unit.Second << ifaSeconds, Bytes: counterModulo}, "no wraps": {},
		"short": {Time: 4 * us, Bytes: 1 << 16}}
	for name, s := range spans {
		for _, hops := range []int{1, 5, 15} {
			t.Run(name, func(t *testing.T) { compareUnwraps(t, s, hops) })
		}
	}
}

func compareUnwraps(t *testing.T, s Wraparound, hops int) {
	random := rand.New(rand.NewPCG(11, uint64(hops)))
	u, old, now := Unwrapper{Span: s}, plain{}, unit.Time(0)
	times, sent := make([]unit.Time, hops), make([]uint64, hops)
	rates := make([]unit.Rate, hops)
	seen := [2]int{}
	for n := range 20_000 {
		gap := unit.Time(random.Int64N(int64(3 * us)))
		switch pick := random.IntN(200); {
		case pick == 0 && s.Time > 0: // many wraps
			gap = unit.Time(random.Int64N(int64(min(5*s.Time, 100*unit.Second))))
		case pick == 1: // longer than the bytes can tell
			gap = unit.Time(random.Int64N(int64(unit.Second)))
		}
		now += gap
		var got Records
		for i := range hops {
			if n == 0 || random.IntN(2000) == 0 {
				rates[i] = unit.Rate(25<<random.IntN(5)) * unit.Gbps
				sent[i] += 1 << 40 // far from 0, below which an overtaken record must not lead
			}
			moved := gap - unit.Time(random.Int64N(int64(us)))
			times[i] += moved
			sent[i] += uint64(float64(moved) / 8e12 * float64(rates[i]) * random.Float64())
			if random.IntN(2000) == 0 {
				times[i], sent[i] = now, 1<<40+uint64(random.IntN(1<<20))
			}
			h := Hop{Time: times[i], TxBytes: sent[i], Rate: rates[i], Switch: uint32(i)}
			if s.Time > 0 {
				h.Time = (h.Time%s.Time + s.Time) % s.Time
			}
			if s.Bytes > 0 {
				h.TxBytes %= s.Bytes
			}
			got.Append(&h)
		}
		want := append([]Hop(nil), got.Hops()...)
		old.unwrap(s, now, want)
		u.Unwrap(now, &got)
		for i, h := range got.Hops() {
			if h != want[i] {
				t.Fatalf("record %d, hop %d of %d: %+v, want %+v", n, i, hops, h, want[i])
			}
			seen[h.Flags&Restart/Restart]++
		}
	}
	if seen[0] == 0 || seen[1] <= hops {
		t.Errorf("%d differences and %d restarts: want both", seen[0], seen[1])
	}
}
