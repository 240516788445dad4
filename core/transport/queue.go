package transport

import "math/bits"

// Queue is a first-in, first-out queue in a ring that grows. The zero Queue is empty.
type Queue[T any] struct {
	ring  []T // as long as a power of two
	first int
	n     int
}

// Len returns the number of entries.
func (q *Queue[T]) Len() int { return q.n }

// Push appends x.
func (q *Queue[T]) Push(x T) { *q.Extend() = x }

// Extend appends an entry and returns it. The caller must write all of it. It is valid until the next Push or Extend.
func (q *Queue[T]) Extend() *T {
	if q.n == len(q.ring) {
		ring := make([]T, max(16, 2*q.n))
		k := copy(ring, q.ring[q.first:])
		copy(ring[k:], q.ring[:q.first])
		q.ring, q.first = ring, 0
	}
	q.n++
	return &q.ring[(q.first+q.n-1)&(len(q.ring)-1)]
}

// Clear removes all entries, and makes room for at least n. It keeps its memory, and does not zero the entries in it.
func (q *Queue[T]) Clear(n int) {
	if q.first, q.n = 0, 0; len(q.ring) < n {
		q.ring = make([]T, 1<<bits.Len(uint(n-1)))
	}
}

// Head returns the first entry; there must be one. It is valid until the next Push or Pop.
func (q *Queue[T]) Head() *T { return &q.ring[q.first] }

// Tail returns the last entry; there must be one. It is valid until the next Push or Pop.
func (q *Queue[T]) Tail() *T { return &q.ring[(q.first+q.n-1)&(len(q.ring)-1)] }

// Pop removes the first entry; there must be one.
func (q *Queue[T]) Pop() {
	var zero T
	q.ring[q.first] = zero // so that its memory can be collected, and it is not part of the state
	q.first = (q.first + 1) & (len(q.ring) - 1)
	if q.n--; q.n == 0 {
		q.first = 0
	}
}
