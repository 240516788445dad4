package fastcnp

import "weir/core/unit"

// maxFlows is the maximum size of a table.
const maxFlows = 1 << 20

// ways is the number of entries in a set; a flow may be in any of them.
const ways = 4

// table records the flows that have had a CNP within the last interval, in memory that does not depend on the number
// of flows. A flow is identified by the 32 bits of its hash: flows with the same hash share an interval. A flow with
// a full set must wait, so that a full table makes CNPs rarer, never more frequent.
type table struct {
	entries    []entry // in sets
	interval   unit.Time
	seed       uint32
	suppressed uint64
	crowded    uint64
}

// entry is a flow with the time until which it gets no CNP.
type entry struct {
	until unit.Time
	flow  uint32
}

// newTable returns a table for at least that many flows, in whole sets.
func newTable(flows int, interval unit.Time, seed uint32) table {
	return table{entries: make([]entry, (flows+ways-1)/ways*ways), interval: interval, seed: seed}
}

// recordIfDue reports whether a flow may have a CNP now, and records it if so. If all entries of its set are in use,
// the flow may not. Refusals are counted by their cause.
func (t *table) recordIfDue(now unit.Time, flow uint32) bool {
	h := flow ^ t.seed // the finaliser of MurmurHash3
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	h ^= h >> 16
	first := uint64(h) * uint64(len(t.entries)/ways) >> 32 * ways
	var free *entry
	set := t.entries[first : first+ways]
	for i := range set {
		switch e := &set[i]; {
		case e.until <= now:
			free = e
		case e.flow == flow:
			t.suppressed++
			return false
		}
	}
	if free == nil {
		t.crowded++
		return false
	}
	*free = entry{now + t.interval, flow}
	return true
}
