package unit

import "math/rand/v2"

// Random is one entity's stream of random numbers (a PCG). Each entity of a run
// has its own, named after it, and nobody draws from another's: adding a host
// does not shift another host's numbers.
type Random struct{ *rand.Rand }

// NewRandom returns the stream of the entity with this name in the run with this
// seed. The same two always give the same numbers.
func NewRandom(seed uint64, entity string) Random {
	// FNV-1a over the name gives the PCG's second word (its increment's seed).
	h := uint64(14695981039346656037)
	for i := range len(entity) {
		h ^= uint64(entity[i])
		h *= 1099511628211
	}
	return Random{rand.New(rand.NewPCG(seed, h))}
}
