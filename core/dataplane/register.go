package dataplane

import "fmt"

// Register is a P4 register array: state of a program that outlives packets
// (P4-ABC §4.3). An index beyond the end is taken modulo the size, as a hash
// index is on hardware.
type Register[T any] struct {
	cells []T
}

// NewRegister returns a register of size cells, all zero; 1 … 2²⁴ are possible.
func NewRegister[T any](size int) (*Register[T], error) {
	if size < 1 || size > 1<<24 {
		return nil, fmt.Errorf("register: %d cells; 1 … %d are possible", size, 1<<24)
	}
	return &Register[T]{make([]T, size)}, nil
}

// Read returns cell i.
func (r *Register[T]) Read(i uint32) T { return r.cells[i%uint32(len(r.cells))] }

// Write sets cell i.
func (r *Register[T]) Write(i uint32, v T) { r.cells[i%uint32(len(r.cells))] = v }

// At returns cell i to be changed in place.
func (r *Register[T]) At(i uint32) *T { return &r.cells[i%uint32(len(r.cells))] }

// Len returns the number of cells.
func (r *Register[T]) Len() int { return len(r.cells) }
