package jetstream

import (
	"math"

	"weir/study/plan"
)

// unfit says at once which runs fit no worker that is there, of each class once. They wait for one that they fit.
func (c *Coordinator) unfit() {
	c.lock.Lock()
	defer c.lock.Unlock()
	top, some := -1, false
	for _, m := range c.members {
		if !m.gone && !m.refused && m.bad == "" && m.jobs > 0 { // it has said what it has
			some = true
			top = max(top, m.largest())
		}
	}
	waiting := map[int]*task{}
	for _, t := range c.tasks {
		if before := waiting[t.class]; !t.over && t.class > top && (before == nil || t.ID < before.ID) {
			waiting[t.class] = t
		}
	}
	for class := range c.misfits {
		if some && class <= top {
			delete(c.misfits, class)
		}
	}
	for class, t := range waiting {
		if some && !c.misfits[class] {
			c.misfits[class] = true
			c.say("%s takes about %.0f MB of memory, and no worker gives a run so much: it waits for one that does (weir "+
				"worker --memory %.0f)", nameOf(t), plan.EstimateMemory(t.Run)/1e6, math.Ceil(float64(int64(1)<<(20+class))/1e6))
		}
	}
}

// largest is the largest class of which a worker takes runs; −1: none.
func (m *member) largest() int {
	if m.memory > 0 {
		return fits(m.memory)
	}
	return Classes - 1
}
