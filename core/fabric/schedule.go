package fabric

import (
	"weir/core/fabric/timerheap"
	"weir/core/unit"
)

// schedule is the port events of one node, in the order of time and key. What comes is mostly later than nearly all
// that is there, so it is put into its place from behind: a heap takes 60 instructions more an event. An event that
// would have to pass many others, as a short frame does in a switch of a thousand ports, goes to a heap after all.
type schedule struct {
	next   unit.Time // of the first entry; unit.Never if there is none
	events []timerheap.Entry
	head   int            // the first that has not been taken
	early  timerheap.Heap // those that would have passed more than mostPassed
}

const mostPassed = 24

// push adds an event.
func (s *schedule) push(e timerheap.Entry) {
	if e.At < s.next {
		s.next = e.At
	}
	n := len(s.events)
	if i := n - mostPassed - 1; i >= s.head && e.Before(s.events[i]) {
		s.early.Push(e)
		return
	}
	if n == cap(s.events) {
		n = s.room()
	}
	s.events = s.events[:n+1]
	events, head := s.events, s.head
	for n > head && e.Before(events[n-1]) {
		events[n] = events[n-1]
		n--
	}
	events[n] = e
}

// room makes room for one more, and returns how many there are.
//
//go:noinline
func (s *schedule) room() (n int) {
	if n = len(s.events); s.head > n/2 {
		n = copy(s.events, s.events[s.head:])
		s.events, s.head = s.events[:n], 0
		return n
	}
	s.events = append(s.events, timerheap.Entry{})[:n]
	return n
}

// take returns the first event and removes it. There must be one.
func (s *schedule) take() timerheap.Entry {
	if first := s.early.First(); first != unit.Never {
		if e := s.early.Head(); s.head == len(s.events) || e.Before(s.events[s.head]) {
			s.early.Take()
			s.next = s.early.First()
			if s.head < len(s.events) {
				s.next = min(s.next, s.events[s.head].At)
			}
			return e
		}
		e := s.events[s.head]
		s.drop()
		s.next = min(s.next, first)
		return e
	}
	e := s.events[s.head]
	s.drop()
	return e
}

// drop removes the first of events.
func (s *schedule) drop() {
	if s.head++; s.head == len(s.events) {
		s.events, s.head = s.events[:0], 0
		s.next = unit.Never
	} else {
		s.next = s.events[s.head].At
	}
}
