//go:build slow

package hostile

const (
	mutants = 10_000 // of each kind of input
	costly  = 40     // what a results folder costs in them
	pages   = true   // of damaged results are drawn
)
