package fabric

import (
	"weir/core/fabric/timerheap"
	"weir/core/unit"
)

// schedule has the port events of one node, in the order of time and key. New events are usually later than nearly all
// others, so an insertion from the end is faster than a heap. An event that would have to pass many others, such as a
// short frame's in a switch of a thousand ports, goes to a heap instead.
type schedule struct {
	next   unit.Time // of the first entry; unit.Never if empty
	events []timerheap.Entry
	head   int            // index of the first entry that has not been taken
	early  timerheap.Heap // entries that would have passed more than maxPassed others
}

const maxPassed = 24

// push adds an event. One that precedes more than maxPassed of the last events goes to the heap.
func (s *schedule) push(e timerheap.Entry) {
	if e.At < s.next {
		s.next = e.At
	}
	n := len(s.events)
	if i := n - maxPassed - 1; i >= s.head && e.IsBefore(s.events[i]) {
		s.early.Push(e)
		return
	}
	if n == cap(s.events) {
		n = s.makeRoom()
	}
	s.events = s.events[:n+1]
	events, head := s.events, s.head
	for n > head && e.IsBefore(events[n-1]) {
		events[n] = events[n-1]
		n--
	}
	events[n] = e
}

// makeRoom makes room for one more entry, and returns the length of events. If more than half of the entries are taken,
// it removes these.
//
//go:noinline
func (s *schedule) makeRoom() (n int) {
	if n = len(s.events); s.head > n/2 {
		n = copy(s.events, s.events[s.head:])
		s.events, s.head = s.events[:n], 0
		return n
	}
	s.events = append(s.events, timerheap.Entry{})[:n]
	return n
}

// take removes and returns the first event. The schedule must not be empty.
func (s *schedule) take() timerheap.Entry {
	if first := s.early.FirstTime(); first != unit.Never {
		if e := s.early.FirstEntry(); s.head == len(s.events) || e.IsBefore(s.events[s.head]) {
			s.early.Take()
			s.next = s.early.FirstTime()
			if s.head < len(s.events) {
				s.next = min(s.next, s.events[s.head].At)
			}
			return e
		}
		e := s.events[s.head]
		s.dropFirst()
		s.next = min(s.next, first)
		return e
	}
	e := s.events[s.head]
	s.dropFirst()
	return e
}

// dropFirst removes the first entry of events. It sets next to the following entry, without regard to the heap.
func (s *schedule) dropFirst() {
	if s.head++; s.head == len(s.events) {
		s.events, s.head = s.events[:0], 0
		s.next = unit.Never
	} else {
		s.next = s.events[s.head].At
	}
}
