package jetstream

import "sync"

// background runs functions next to the coordinator's callers, until awaitAll.
type background struct {
	group sync.WaitGroup
	lock  sync.Mutex
	over  bool // awaitAll waits for the group, to which no function is added any more
}

// startFunction runs a function in a goroutine, for which awaitAll waits. After awaitAll has begun, it reports false
// and does not run the function: messages still arrive then.
func (b *background) startFunction(do func()) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.over {
		return false
	}
	b.group.Go(do)
	return true
}

// awaitAll refuses further functions and waits for those that run.
func (b *background) awaitAll() {
	b.lock.Lock()
	b.over = true
	b.lock.Unlock()
	b.group.Wait()
}
