package jetstream

import "sync"

// background runs functions next to the coordinator's callers, until it is ended.
type background struct {
	group sync.WaitGroup
	lock  sync.Mutex
	over  bool // end waits for the group, to which no function is added any more
}

// start runs a function in a goroutine, for which end waits. It reports false, and does not run it, after end has begun:
// messages still arrive then.
func (b *background) start(do func()) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.over {
		return false
	}
	b.group.Go(do)
	return true
}

// end refuses further functions and waits for those that run.
func (b *background) end() {
	b.lock.Lock()
	b.over = true
	b.lock.Unlock()
	b.group.Wait()
}
