package transport

import "math/bits"

// Queue is first in, first out, in a ring that grows. The zero Queue is empty.
type Queue[T any] struct {
	ring  []T // as long as a power of two
	first int
	n     int
}

// Len is how many are in it.
func (q *Queue[T]) Len() int { return q.n }

// Push appends x.
func (q *Queue[T]) Push(x T) { *q.Extend() = x }

// Extend appends one, all of which is to be written, and returns it. It is good until the next Push or Extend.
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

// Clear empties it, and makes room for n at least; the room that it has stays.
func (q *Queue[T]) Clear(n int) {
	if q.first, q.n = 0, 0; len(q.ring) < n {
		q.ring = make([]T, 1<<bits.Len(uint(n-1)))
	}
}

// Head is the first of them; there must be one. It is good until the next Push or Pop.
func (q *Queue[T]) Head() *T { return &q.ring[q.first] }

// Tail is the last of them; there must be one. It is good until the next Push or Pop.
func (q *Queue[T]) Tail() *T { return &q.ring[(q.first+q.n-1)&(len(q.ring)-1)] }

// Pop removes the first of them, which must be there.
func (q *Queue[T]) Pop() {
	var none T
	q.ring[q.first] = none // so that what was in it can be collected, and is no state
	q.first = (q.first + 1) & (len(q.ring) - 1)
	if q.n--; q.n == 0 {
		q.first = 0
	}
}
