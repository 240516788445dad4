package tcp

import "weir/core/unit"

// firsts recognizes data that its sender sends for the first time, by what the receiver sees. Data that is missing when
// later data arrives can be sent again upon the acknowledgement of that, which takes a round trip at least. What fills
// the gap sooner was overtaken on its way. NACKs of switches have data sent again sooner, and it counts as overtaken.
type firsts struct {
	highest        int64 // end of what has arrived
	before, latest sample
}

// sample is the highest end at some time.
type sample struct {
	end int64
	at  unit.Time
}

// place takes in data from seq to end, and returns seq, or −1 if it may have been sent again. roundTrip is the time of
// an empty network; 0: not known.
func (f *firsts) place(now unit.Time, seq, end int64, roundTrip unit.Time) int64 {
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
