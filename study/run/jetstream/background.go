package jetstream

import "sync"

// background runs functions next to the coordinator's callers, until awaitAll.
type background struct {
	group sync.WaitGroup
	lock  sync.Mutex
	over  bool // awaitAll has begun: no function may be added
}

// startFunction runs a function in a goroutine that awaitAll waits for. After awaitAll has begun, it does not run the
// function and returns false: messages still arrive then.
func (b *background) startFunction(do func()) bool {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.over {
		return false
	}
	b.group.Go(do)
	return true
}

// awaitAll rejects further functions and waits for the running ones.
func (b *background) awaitAll() {
	b.lock.Lock()
	b.over = true
	b.lock.Unlock()
	b.group.Wait()
}
