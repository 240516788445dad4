package agent

import (
	"math/bits"
)

// This is bpf/law.h in Go, line by line: the programs' computation for tests without a kernel.

const (
	maxLoad     = 64 * loadUnit
	maxWindow   = 1<<39 - 1
	minWindow   = 256
	minBound    = 1500 << 8
	counterBits = 44
	noQueue     = 1<<32 - 1
)

// rawRecords is struct records.
type rawRecords struct {
	N, Missed uint32
	Hop       [maxHops]rawHop
}

func byteTime(h *rawHop) uint64 {
	if h.Rate == 0xfffff || h.Queue == noQueue {
		return 0
	}
	r := uint64(h.Rate & 0xffff)
	for range h.Rate >> 16 & 15 {
		if r < 1e15 {
			r *= 10
		}
	}
	if r < 1e6 {
		return 0
	}
	return 8e15 / r
}

func picoseconds(bytes, fs uint64) uint64 { return min(bytes, 1<<62/fs) * fs / 1000 }

func clamp(w, limit uint64) uint64 { return max(min(w, limit), min(minWindow, limit)) }

func loadOf(busy, over uint64) uint64 {
	switch {
	case over == 0:
		return maxLoad
	case busy < 1<<40:
		return min(busy<<24/over, maxLoad)
	case over>>24 > 0:
		return min(busy/(over>>24), maxLoad)
	}
	return maxLoad
}

// minTime is min_time, encodeTime encode_time and decodeTime decode_time.
func minTime(byteIn uint64) uint64 {
	burst := uint64(1e6)
	if byteIn > 0 {
		burst = min(burst, byteIn*65536/1e6)
	}
	return 10 * max(burst, byteIn*4*1514/1e6)
}

func encodeTime(ns uint64) uint32 {
	us, e := (ns+999)/1000, uint32(0)
	for us > 31 && e < 15 {
		us, e = (us+1)/2, e+1
	}
	if us = min(us, 31); e == 0 {
		us = max(us, 17)
	}
	return e<<4 | uint32(us-16)
}

func decodeTime(code uint32) uint64 { return uint64(16+code&15) << (code >> 4 & 15) }

func (l *rawLaw) setTime(rtt uint64) {
	t := decodeTime(encodeTime(rtt+minTime(l.Slowest))) * 1000
	l.RTT, l.T, l.Most = rtt, t, maxWindow
	if l.Slowest > 0 {
		l.Most = min(max(t*1e6*256/l.Slowest, minBound), maxWindow)
	}
	l.W, l.Wc = clamp(l.W, l.Most), clamp(l.Wc, l.Most)
}

const (
	unusable = iota
	firstRecords
	measurement
)

func (l *rawLaw) compare(r *rawRecords, now uint64) int {
	if r.N != l.N || r.Missed != l.Missed {
		return firstRecords
	}
	moved := uint32(0)
	for i := range r.N {
		h, old := &r.Hop[i], &l.Last[i]
		switch {
		case h.Node != old.Node || h.Port != old.Port || h.Rate != old.Rate:
			return firstRecords
		case l.ByteIn[i] == 0 || h.Queue == noQueue:
			moved++
		case h.Time > old.Time:
			if (h.Bytes-old.Bytes)>>(counterBits-1)&1 == 1 {
				return firstRecords
			}
			moved++
		}
	}
	switch {
	case moved == r.N:
		return measurement
	case now-l.At <= 2*l.T:
		return unusable
	case moved > 0:
		return measurement
	}
	return firstRecords
}

func (l *rawLaw) store(r *rawRecords, now uint64, what int) {
	for i := range r.N {
		if l.Last[i] = r.Hop[i]; what == firstRecords {
			l.ByteIn[i] = byteTime(&r.Hop[i])
		}
	}
	l.N, l.Missed, l.At = r.N, r.Missed, now
}

func (l *rawLaw) queueing(r *rawRecords) (ps uint64) {
	for i := range r.N {
		if l.ByteIn[i] > 0 && r.Hop[i].Queue != noQueue {
			ps += picoseconds(uint64(r.Hop[i].Queue), l.ByteIn[i])
		}
	}
	return ps / 1000
}

func (l *rawLaw) begin(r *rawRecords, now, rtt uint64) {
	l.store(r, now, firstRecords)
	l.Slowest = 0
	for i := range r.N {
		l.Slowest = max(l.Slowest, l.ByteIn[i])
	}
	l.setTime(rtt)
	l.U, l.Stage, l.LastUpdate, l.Queueing = loadUnit, 0, now, l.queueing(r)
}

func (l *rawLaw) measureInflight(r *rawRecords) bool {
	u, tau, worst := uint64(0), uint64(0), -1
	for i := range int(r.N) {
		h, old := &r.Hop[i], &l.Last[i]
		if h.Time <= old.Time || l.ByteIn[i] == 0 || h.Queue == noQueue {
			continue
		}
		dt := min(uint64(h.Time-old.Time), 1<<52)
		sent := (h.Bytes - old.Bytes) & (1<<counterBits - 1)
		v := loadOf(picoseconds(sent, l.ByteIn[i]), dt*1000) +
			loadOf(picoseconds(uint64(min(h.Queue, old.Queue)), l.ByteIn[i]), l.T*1000)
		if worst < 0 || v > u {
			u, tau, worst = v, dt, i
		}
	}
	if worst < 0 {
		return false
	}
	u, tau = min(u, maxLoad), min(tau, l.T)
	l.Bottleneck = uint32(worst)
	l.U = (l.U*(l.T-tau) + u*tau + l.T/2) / l.T
	l.Measured++
	return true
}

func (l *rawLaw) computeWind(p *parameters, commit bool) {
	multiply := l.U >= p.Eta || l.Stage >= p.MaxStage
	w, increase := l.Wc, p.Increase
	if increase == 0 && p.Flows > 0 {
		increase = l.Most * (loadUnit - p.Eta) >> 24 / uint64(p.Flows)
	}
	if multiply {
		high, low := bits.Mul64(l.Wc, p.Eta)
		if high > 0 {
			panic("W * eta takes more than 64 bits")
		}
		w = low / max(l.U, 1)
	}
	w = clamp(clamp(w, maxWindow)+increase, l.Most)
	l.W = w
	if commit {
		l.Wc = w
		if l.Stage++; multiply {
			l.Stage = 0
		}
	}
}

// newINT is new_int.
func (l *rawLaw) newINT(p *parameters, r *rawRecords, now, rtt uint64) bool {
	if rtt == 0 || r.N == 0 {
		return false
	}
	rtt = min(rtt, 1e9)
	if l.T == 0 {
		l.W, l.Wc = uint64(p.Initial)<<8, uint64(p.Initial)<<8
		l.begin(r, now, rtt)
		return false
	}
	if rtt < l.RTT {
		l.setTime(rtt)
	}
	commit := now > l.LastUpdate+l.T+l.Queueing
	switch l.compare(r, now) {
	case firstRecords:
		l.begin(r, now, l.RTT)
		return false
	case unusable:
		return false
	}
	if !l.measureInflight(r) {
		return false
	}
	l.computeWind(p, commit)
	l.store(r, now, measurement)
	if commit || now <= l.LastUpdate+l.T {
		l.Queueing = l.queueing(r)
	}
	if commit {
		l.Told, l.LastUpdate = uint32(min(l.W>>8, 1<<32-1)), now
	}
	return true
}
