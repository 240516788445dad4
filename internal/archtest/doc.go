// Package archtest holds the rules of the house that a compiler does not: which
// room may import which, and what the pure rooms must not use. Its test reads the
// sources.
package archtest
