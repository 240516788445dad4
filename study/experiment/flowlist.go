package experiment

import (
	"slices"

	"weir/core/jobs/job"
	"weir/core/unit"
)

// flowList is the flows that a file lists: one by one, or as a job that has its transfers by formula.
type flowList struct {
	parts []flowPart
	n     int
}

// flowPart is a part of a flowList.
type flowPart struct {
	first  int // flow of the list
	listed []Flow
	reduce *reduction // in place of listed
}

// reduction is a job among hosts in which each transfer is a flow.
type reduction struct {
	job.Flows
	traffic, first int
	hosts          []int
	start          unit.Time
}

// add appends a flow.
func (l *flowList) add(f Flow) {
	last := l.lastListed()
	last.listed = append(last.listed, f)
	l.n++
}

// grow makes room for n more flows.
func (l *flowList) grow(n int) {
	last := l.lastListed()
	last.listed = slices.Grow(last.listed, n)
}

// lastListed returns the last part if it lists its flows, else a new part behind it.
func (l *flowList) lastListed() *flowPart {
	if k := len(l.parts); k == 0 || l.parts[k-1].reduce != nil {
		l.parts = append(l.parts, flowPart{first: l.n})
	}
	return &l.parts[len(l.parts)-1]
}

// addReduction appends the flows of a job.
func (l *flowList) addReduction(r reduction) {
	r.first = l.n
	l.parts = append(l.parts, flowPart{first: l.n, reduce: &r})
	l.n += r.Count()
}

// at is flow i.
func (l *flowList) at(i int) Flow {
	k := len(l.parts) - 1
	for l.parts[k].first > i {
		k--
	}
	p := &l.parts[k]
	r := p.reduce
	if r == nil {
		return p.listed[i-p.first]
	}
	f := Flow{Traffic: r.traffic, Index: i - p.first, Fixed: true, Start: r.start, reduce: r}
	src, dst, size := r.Transfer(f.Index)
	f.Src, f.Dst, f.Size = r.hosts[src], r.hosts[dst], size
	return f
}

// same reports whether two lists have the same flows.
func (l *flowList) same(o *flowList) bool {
	return slices.EqualFunc(l.parts, o.parts, func(a, b flowPart) bool {
		if a.reduce == nil || b.reduce == nil {
			return a.reduce == b.reduce && slices.EqualFunc(a.listed, b.listed, Flow.same)
		}
		x, y := a.reduce, b.reduce
		return x.Flows == y.Flows && x.traffic == y.traffic && x.first == y.first && x.start == y.start &&
			slices.Equal(x.hosts, y.hosts)
	})
}

// memory is about how many bytes the list takes.
func (l *flowList) memory() (bytes int64) {
	for i := range l.parts {
		bytes += ofFlow * int64(len(l.parts[i].listed))
		for k := range l.parts[i].listed {
			bytes += ofDatagram * int64(len(l.parts[i].listed[k].script))
		}
		if r := l.parts[i].reduce; r != nil {
			bytes += int64(8 * len(r.hosts))
		}
	}
	return bytes
}
