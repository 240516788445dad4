//go:build !slow

package hostile

const (
	mutants = 40    // of each kind of input
	costly  = 4     // what a results folder costs in them
	pages   = false // of damaged results are drawn
)
