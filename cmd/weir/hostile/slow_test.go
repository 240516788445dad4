//go:build slow

package hostile

const (
	mutants = 10_000 // of each kind of input
	pages   = true   // of damaged results are drawn
)
