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

// limits bound what runs take of a worker while they are carried out.
//
// What is in use is that of the whole process, so that a run can only be blamed when it is alone. If runs that are
// carried out at a time take more than their limits together, those that are found at it are given up, and made again
// one at a time: who takes too much alone is reported, and the others give their results.
type limits struct {
	memory  float64       // for a run [bytes]; 0: none
	jobs    int           // runs at a time
	longest time.Duration // a run may take; 0: no limit
	every   time.Duration // between looks at the memory; 0: look
	alone   sharing       // shared by runs that have others next to them
}

// sharing is a lock that several hold, or one alone. It is not a sync.RWMutex because it may be held for as long as a
// run takes, and tests' clocks move only while every goroutine waits for a condition or a channel.
type sharing struct {
	lock    sync.Mutex
	changed *sync.Cond
	holders int // -1: one alone
	waiting int // to hold it alone, without sharing
}

// share waits until the lock is not held alone, and shares it.
func (s *sharing) share() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.await(func() bool { return s.holders >= 0 && s.waiting == 0 })
	s.holders++
}

// unshare ends share.
func (s *sharing) unshare() { s.change(-1) }

// own waits until the lock is free, and holds it alone.
func (s *sharing) own() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.waiting++
	s.await(func() bool { return s.holders == 0 })
	s.waiting--
	s.holders = -1
}

// disown ends own.
func (s *sharing) disown() { s.change(+1) }

// await waits for a condition. The lock is held.
func (s *sharing) await(holds func() bool) {
	if s.changed == nil {
		s.changed = sync.NewCond(&s.lock)
	}
	for !holds() {
		s.changed.Wait()
	}
}

func (s *sharing) change(by int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.holders += by
	s.changed.Broadcast()
}

// look is how often the memory is looked at: what a run takes in that time is what it can be above its limit.
const look = 20 * time.Millisecond

var (
	errLong  = errors.New("too long")
	errLarge = errors.New("too large")
)

// attempt carries out a run until ctx ends.
type attempt func(ctx context.Context) ([]byte, error)

// within carries out a run. What is given up for a limit is an error that names it.
func (l *limits) within(ctx context.Context, r *plan.Run, do attempt) ([]byte, error) {
	if l.memory == 0 {
		return l.attempt(ctx, 0, do)
	}
	l.alone.share()
	data, err := l.attempt(ctx, float64(l.jobs)*l.memory, do)
	l.alone.unshare()
	if !errors.Is(err, errLarge) {
		return data, err
	}
	l.alone.own()
	defer l.alone.disown()
	runtime.GC()
	if data, err = l.attempt(ctx, inUse()+l.memory-plan.SharedMemory(r.Spec), do); errors.Is(err, errLarge) {
		err = limitError(fmt.Sprintf("it takes more than the %.0f MB of memory that this worker has for a run", l.memory/1e6))
	}
	return data, err
}

// attempt carries out a run while less than so much memory is in use; 0: however much.
func (l *limits) attempt(ctx context.Context, most float64, do attempt) ([]byte, error) {
	each, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	if most > 0 {
		ended := make(chan struct{})
		var group sync.WaitGroup
		defer group.Wait()
		defer close(ended)
		group.Go(func() { l.watch(most, ended, giveUp) })
	}
	if l.longest > 0 {
		defer time.AfterFunc(l.longest, func() { giveUp(errLong) }).Stop()
	}
	begun := time.Now()
	data, err := do(each)
	if err == nil && l.longest > 0 && time.Since(begun) > l.longest {
		giveUp(errLong) // it was not told in time
		data, err = nil, errLong
	}
	switch cause := context.Cause(each); {
	case err == nil || ctx.Err() != nil:
	case errors.Is(cause, errLong):
		err = limitError(fmt.Sprintf("it has not ended within %v, which is as long as this worker gives a run", l.longest))
	case errors.Is(cause, errLarge):
		err = errLarge
	}
	return data, err
}

// watch gives a run up when there is too much in use. Garbage does not count.
func (l *limits) watch(most float64, ended <-chan struct{}, giveUp context.CancelCauseFunc) {
	every := l.every
	if every == 0 {
		every = look
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ended:
			return
		case <-t.C:
		}
		for n := 0; inUse() > most; n++ {
			if n == 2 { // what is allocated during a collection is in use for that one
				giveUp(errLarge)
				return
			}
			runtime.GC()
		}
	}
}

// inUse is how many bytes are, with what is garbage and has not been collected.
func inUse() float64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64())
}

// errLimit is what errors are that a worker's limit gives, and not the run.
var errLimit = errors.New("a limit of the worker")

type limitError string

func (e limitError) Error() string    { return string(e) }
func (e limitError) Is(of error) bool { return of == errLimit }
