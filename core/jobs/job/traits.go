package job

import "weir/core/unit"

// Traits describe a Program as a whole, for estimates, checks and measures. The zero value of a field means no, or
// unknown.
type Traits struct {
	// Messages and Bytes are the totals that all ranks send.
	Messages, Bytes float64
	// Bus is the minimum number of bytes that a member sends in each collective operation; 0: no such operations.
	Bus float64
	// NICs is the number of a host's NICs that operations name by Op.NIC, from 0 on; 0: they name no NIC.
	NICs int
	// RequiresNICs: each sending host must have that many.
	RequiresNICs bool
	// Servers is the number of ranks that serve others and do not compute, the last ones of the job. Measures of
	// computing and waiting times exclude them.
	Servers int
	// Iterations is their number; 0: unknown, as for a trace.
	Iterations int
	// Period: iterations begin at multiples of it (Barrier); 0: they do not.
	Period unit.Time
	// LogGOPSimOrder: an ideal network with bound receivers runs the program in the order of LogGOPSim, to which the file
	// of the program belongs. Operations and messages of one time begin in the order of their turns, and a send of more
	// than S bytes ends when its message begins to be received. Any other program has a processor of each NIC for
	// receiving, so that it sends and receives at the same time, and such a send ends when its message is received.
	LogGOPSimOrder bool
}

// TraitsOf returns the traits of a program that has a method Traits. Without it they are zero.
func TraitsOf(p Program) (t Traits) {
	if x, ok := p.(interface{ Traits() Traits }); ok {
		t = x.Traits()
	}
	return t
}

// IsServer reports whether a rank of a program serves others.
func IsServer(p Program, rank int) bool { return rank >= p.Ranks()-TraitsOf(p).Servers }
