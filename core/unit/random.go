package unit

import "math/rand/v2"

// Random is one entity's stream of random numbers (a PCG). Each entity of a run
// has its own, named after it, and nobody draws from another's: adding a host
// does not shift another host's numbers.
type Random struct{ *rand.Rand }

// NewRandom returns the stream of the entity with this name in the run with this
// seed. The same two always give the same numbers.
func NewRandom(seed uint64, entity string) Random {
	return Random{rand.New(rand.NewPCG(seed, word(entity)))}
}

// word is FNV-1a over a name: the PCG's second word (its increment's seed).
func word(entity string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(entity) {
		h ^= uint64(entity[i])
		h *= 1099511628211
	}
	return h
}

// Streams are those of the entities of a run, which can begin anew together. The zero Streams is empty.
type Streams struct{ all []stream }

type stream struct {
	numbers    *rand.PCG
	seed, word uint64
}

// New is NewRandom, of a stream that Restart knows.
func (s *Streams) New(seed uint64, entity string) Random {
	x := stream{rand.NewPCG(seed, word(entity)), seed, word(entity)}
	s.all = append(s.all, x)
	return Random{rand.New(x.numbers)}
}

// Restart has all of them begin anew: each gives the numbers that it gave at first.
func (s *Streams) Restart() {
	for i := range s.all {
		s.all[i].numbers.Seed(s.all[i].seed, s.all[i].word)
	}
}
