package tcp

import "weir/core/unit"

// firsts recognizes data that its sender sends for the first time, from what arrives at the receiver. Data that is
// missing when later data arrives can be resent after the acknowledgement of the later data, which takes at least a
// round trip. Data that fills the gap sooner was overtaken on its way. After NACKs of switches data is resent sooner,
// and counts as overtaken.
type firsts struct {
	highest        int64 // end of the data that has arrived
	before, latest sample
}

// sample is the highest end at a time.
type sample struct {
	end int64
	at  unit.Time
}

// placeData records data from seq to end, and returns seq, or −1 if it may have been resent. roundTrip is the time of
// an empty network; 0: unknown.
func (f *firsts) placeData(now unit.Time, seq, end int64, roundTrip unit.Time) int64 {
	if now-f.latest.at >= roundTrip/2 {
		f.before, f.latest = f.latest, sample{f.highest, now}
	}
	known := f.latest.end // the highest end less than a round trip ago, at the latest
	if now-f.before.at < roundTrip {
		known = f.before.end
	}
	first := seq >= f.highest || roundTrip > 0 && seq >= known
	f.highest = max(f.highest, end)
	if !first {
		return -1
	}
	return seq
}
