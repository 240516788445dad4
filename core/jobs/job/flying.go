package job

import "weir/core/unit"

// flying is when operations began: of few in a list, for most ranks send little at a time, of more in a map.
type flying struct {
	few  []began
	many map[Ref]unit.Time
}

// began is when an operation did.
type began struct {
	at    Ref
	since unit.Time
}

// mostFew is how many are in the list.
const mostFew = 8

// add notes that an operation, which is not there, has begun.
func (f *flying) add(at Ref, since unit.Time) {
	if len(f.few) < mostFew {
		f.few = append(f.few, began{at, since})
		return
	}
	if f.many == nil {
		f.many = map[Ref]unit.Time{}
	}
	f.many[at] = since
}

// take removes an operation, if it is there, and says when it began.
func (f *flying) take(at Ref) (since unit.Time, is bool) {
	for i := range f.few {
		if f.few[i].at == at {
			since, f.few[i] = f.few[i].since, f.few[len(f.few)-1]
			f.few = f.few[:len(f.few)-1]
			return since, true
		}
	}
	if len(f.many) == 0 {
		return 0, false
	}
	if since, is = f.many[at]; is {
		delete(f.many, at)
	}
	return since, is
}

// len is how many there are.
func (f *flying) len() int { return len(f.few) + len(f.many) }
