package unit

import "math/rand/v2"

// Random is one entity's stream of random numbers (a PCG). Each entity of a run has its own, named after it, so that
// an additional host does not change another host's numbers.
type Random struct{ *rand.Rand }

// NewRandom returns the stream of the entity with this name in the run with this seed. Equal arguments give equal
// numbers.
func NewRandom(seed uint64, entity string) Random {
	return Random{rand.New(rand.NewPCG(seed, hashName(entity)))}
}

// hashName returns the FNV-1a hash of a name: the PCG's second word (its increment's seed).
func hashName(entity string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(entity) {
		h ^= uint64(entity[i])
		h *= 1099511628211
	}
	return h
}

// Streams are the streams of a run's entities, which can restart together. The zero Streams is empty.
type Streams struct{ all []stream }

type stream struct {
	numbers    *rand.PCG
	seed, word uint64
}

// NewStream returns the stream of an entity in the run with this seed, as NewRandom does, and adds it to those that
// RestartAll restarts.
func (s *Streams) NewStream(seed uint64, entity string) Random {
	x := stream{rand.NewPCG(seed, hashName(entity)), seed, hashName(entity)}
	s.all = append(s.all, x)
	return Random{rand.New(x.numbers)}
}

// RestartAll restarts all streams: each repeats its numbers from the first on.
func (s *Streams) RestartAll() {
	for i := range s.all {
		s.all[i].numbers.Seed(s.all[i].seed, s.all[i].word)
	}
}
