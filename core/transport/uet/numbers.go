package uet

// numbers is a heap with the smallest number first.
type numbers []int64

// push adds x to the heap.
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

// pop removes the smallest number; there must be one.
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
