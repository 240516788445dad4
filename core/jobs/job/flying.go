package job

import "weir/core/unit"

// beginTimes stores when operations began. The first few are in a list, because most ranks have few sends in flight;
// further ones are in a map.
type beginTimes struct {
	few  []beginTime
	many map[Ref]unit.Time
}

// beginTime is the time at which an operation began.
type beginTime struct {
	at    Ref
	since unit.Time
}

// maxFew is the maximum length of the list.
const maxFew = 8

// add stores the beginning of an operation that is not stored yet.
func (f *beginTimes) add(at Ref, since unit.Time) {
	if len(f.few) < maxFew {
		f.few = append(f.few, beginTime{at, since})
		return
	}
	if f.many == nil {
		f.many = map[Ref]unit.Time{}
	}
	f.many[at] = since
}

// take removes an operation and returns when it began; false if it is not stored.
func (f *beginTimes) take(at Ref) (since unit.Time, is bool) {
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

// len returns the number of stored operations.
func (f *beginTimes) len() int { return len(f.few) + len(f.many) }
