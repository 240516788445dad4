package jetstream

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"weir/study/plan"
)

// limits bound the memory and time of a worker's runs.
//
// Memory is measured for the whole process, so that only a standalone run can be found to exceed its limit. If
// concurrent runs exceed their total limit, they are stopped and run again one at a time. A run that then exceeds its
// own limit is reported; the others return their results.
type limits struct {
	memory  float64       // limit of one run [bytes]; 0: no limit
	jobs    int           // concurrent runs
	maxTime time.Duration // time limit of one run; 0: no limit
	every   time.Duration // interval between measurements of memory; 0: the default
	alone   sharing       // shared by concurrent runs, held exclusively by a standalone run
}

// sharing is a lock with shared and exclusive holders. It is not a sync.RWMutex because a run holds it to its end,
// and tests' clocks advance only while every goroutine waits for a condition or a channel.
type sharing struct {
	lock    sync.Mutex
	changed *sync.Cond
	holders int // −1: one exclusive holder
	waiting int // goroutines that wait for exclusive access
}

// lockShared acquires the lock for shared use. It waits for exclusive holders and for those that wait to be.
func (s *sharing) lockShared() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.await(func() bool { return s.holders >= 0 && s.waiting == 0 })
	s.holders++
}

// unlockShared releases the lock after lockShared.
func (s *sharing) unlockShared() { s.change(-1) }

// lockAlone acquires the lock exclusively. While it waits, no goroutine acquires it for shared use.
func (s *sharing) lockAlone() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.waiting++
	s.await(func() bool { return s.holders == 0 })
	s.waiting--
	s.holders = -1
}

// unlockAlone releases the lock after lockAlone.
func (s *sharing) unlockAlone() { s.change(+1) }

// await waits until condition returns true. It calls condition at first and after each change. The caller must hold the
// lock.
func (s *sharing) await(condition func() bool) {
	if s.changed == nil {
		s.changed = sync.NewCond(&s.lock)
	}
	for !condition() {
		s.changed.Wait()
	}
}

// change adds delta to the number of holders and wakes the waiting goroutines. The caller must not hold the lock.
func (s *sharing) change(delta int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.holders += delta
	s.changed.Broadcast()
}

// memoryInterval is the default interval between measurements of memory. A run can exceed its limit by what it
// allocates in that time.
const memoryInterval = 20 * time.Millisecond

var (
	errLong  = errors.New("too long")
	errLarge = errors.New("too large")
)

// attempt executes a run until ctx ends.
type attempt func(ctx context.Context) ([]byte, error)

// runWithin executes a run within the limits: with concurrent runs at first, and alone if their memory exceeds the
// total limit. It may call do twice. It returns a limitError that names the exceeded limit.
func (l *limits) runWithin(ctx context.Context, r *plan.Run, do attempt) ([]byte, error) {
	if l.memory == 0 {
		return l.tryRun(ctx, 0, do)
	}
	l.alone.lockShared()
	data, err := l.tryRun(ctx, float64(l.jobs)*l.memory, do)
	l.alone.unlockShared()
	if !errors.Is(err, errLarge) {
		return data, err
	}
	l.alone.lockAlone()
	defer l.alone.unlockAlone()
	runtime.GC()
	if data, err = l.tryRun(ctx, heapInUse()+l.memory-plan.SharedMemory(r.Spec), do); errors.Is(err, errLarge) {
		err = limitError(fmt.Sprintf("it exceeds the %.0f MB of memory per run on this worker", l.memory/1e6))
	}
	return data, err
}

// tryRun executes a run while at most maxBytes of memory are in use; 0: no limit. It returns errLarge if more are in
// use, and a limitError if the run exceeds maxTime. If ctx ends, the error is the run's.
func (l *limits) tryRun(ctx context.Context, maxBytes float64, do attempt) ([]byte, error) {
	each, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	if maxBytes > 0 {
		ended := make(chan struct{})
		var group sync.WaitGroup
		defer group.Wait()
		defer close(ended)
		group.Go(func() { l.watchMemory(maxBytes, ended, giveUp) })
	}
	if l.maxTime > 0 {
		defer time.AfterFunc(l.maxTime, func() { giveUp(errLong) }).Stop()
	}
	begun := time.Now()
	data, err := do(each)
	if err == nil && l.maxTime > 0 && time.Since(begun) > l.maxTime {
		giveUp(errLong) // the timer has not fired in time
		data, err = nil, errLong
	}
	switch cause := context.Cause(each); {
	case err == nil || ctx.Err() != nil:
	case errors.Is(cause, errLong):
		err = limitError(fmt.Sprintf("it did not end within %v, the time limit per run on this worker", l.maxTime))
	case errors.Is(cause, errLarge):
		err = errLarge
	}
	return data, err
}

// watchMemory calls giveUp when more than maxBytes are in use after garbage collection, and returns when ended
// closes.
func (l *limits) watchMemory(maxBytes float64, ended <-chan struct{}, giveUp context.CancelCauseFunc) {
	every := l.every
	if every == 0 {
		every = memoryInterval
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ended:
			return
		case <-t.C:
		}
		for n := 0; heapInUse() > maxBytes; n++ {
			if n == 2 { // objects allocated during a collection survive it
				giveUp(errLarge)
				return
			}
			runtime.GC()
		}
	}
}

// heapInUse returns the bytes of the heap's objects, including garbage that is not collected yet.
func heapInUse() float64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64())
}

// errLimit matches the errors that a worker's limit causes, not the run.
var errLimit = errors.New("a limit of the worker")

type limitError string

func (e limitError) Error() string        { return string(e) }
func (e limitError) Is(target error) bool { return target == errLimit }
