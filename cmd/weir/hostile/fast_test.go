//go:build !slow

package hostile

const (
	mutants = 40    // of each kind of input
	pages   = false // of damaged results are drawn
)
