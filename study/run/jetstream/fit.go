package jetstream

import (
	"math"

	"weir/study/plan"
)

// reportMisfits issues a notice for each size class with waiting runs that fit no present worker, once until a worker
// fits. These runs wait for a worker that they fit. The lock is not held.
func (c *Coordinator) reportMisfits() {
	c.lock.Lock()
	defer c.lock.Unlock()
	top, some := -1, false
	for _, m := range c.members {
		if !m.gone && !m.refused && m.bad == "" && m.jobs > 0 { // it has reported its memory
			some = true
			top = max(top, m.maxClass())
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
			c.issueLocked("%s takes about %.0f MB of memory, and no worker allows this much per run; it waits for one that "+
				"does (weir worker --memory %.0f)", nameOf(t), plan.EstimateMemory(t.Run)/1e6,
				math.Ceil(float64(int64(1)<<(20+class))/1e6))
		}
	}
}

// maxClass returns the largest size class that the worker takes, or −1 if it has too little memory for any. A worker
// without a limit takes all classes.
func (m *member) maxClass() int {
	if m.memory > 0 {
		return maxClassWithin(m.memory)
	}
	return sizeClasses - 1
}
