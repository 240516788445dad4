package uet

// queue is first in, first out, in a ring that grows.
type queue[T any] struct {
	ring  []T
	first int
	n     int
}

func (q *queue[T]) push(x T) {
	if q.n == len(q.ring) {
		ring := make([]T, max(16, 2*q.n))
		k := copy(ring, q.ring[q.first:])
		copy(ring[k:], q.ring[:q.first])
		q.ring, q.first = ring, 0
	}
	q.ring[(q.first+q.n)&(len(q.ring)-1)] = x
	q.n++
}

func (q *queue[T]) head() *T { return &q.ring[q.first] }

func (q *queue[T]) pop() {
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
}

// numbers gives the smallest of some numbers first: a heap.
type numbers []int64

func (h *numbers) push(x int64) {
	*h = append(*h, x)
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if a[up] <= a[i] {
			break
		}
		a[up], a[i] = a[i], a[up]
		i = up
	}
}

func (h *numbers) pop() {
	a := *h
	n := len(a) - 1
	a[0] = a[n]
	a = a[:n]
	*h = a
	for i := 0; ; {
		k := 2*i + 1
		if k >= n {
			return
		}
		if k+1 < n && a[k+1] < a[k] {
			k++
		}
		if a[i] <= a[k] {
			return
		}
		a[i], a[k] = a[k], a[i]
		i = k
	}
}
