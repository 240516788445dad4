package dataplane

// Register is a P4 register array: state of a program that outlives packets
// (P4-ABC §4.3). An index beyond the end is taken modulo the size, as a hash
// index is on hardware.
type Register[T any] struct {
	cells []T
}

// NewRegister returns a register of size cells, 1 or more, all zero.
func NewRegister[T any](size int) *Register[T] { return &Register[T]{make([]T, size)} }

// Read returns cell i.
func (r *Register[T]) Read(i uint32) T { return r.cells[i%uint32(len(r.cells))] }

// Write sets cell i.
func (r *Register[T]) Write(i uint32, v T) { r.cells[i%uint32(len(r.cells))] = v }

// At returns cell i to be changed in place.
func (r *Register[T]) At(i uint32) *T { return &r.cells[i%uint32(len(r.cells))] }

// Len returns the number of cells.
func (r *Register[T]) Len() int { return len(r.cells) }
