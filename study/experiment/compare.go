package experiment

import (
	"reflect"
	"slices"
)

// Conditions are the keys of the sweep that vary what a scheme has to cope with: the network, what is sent over it,
// times and events. Points that differ in one of them are not compared with each other, for none of them is better;
// what the other keys vary are alternatives.
func (s *Spec) Conditions() (keys []string) {
	step := 1
	for k := len(s.sweep) - 1; k >= 0; k-- {
		n := len(s.sweep[k].Values)
		for i := 1; i < n; i++ {
			if p, q := s.differing(k, i, i*step); q != nil && !sameConditions(p, q) {
				keys = append(keys, s.sweep[k].Key)
				break
			}
		}
		step *= n
	}
	slices.Reverse(keys)
	return keys
}

// differing are the first two points that differ in key k alone, in which one has the first value and the other has
// value i, so many combinations further on; nil if there are none.
func (s *Spec) differing(k, i, further int) (p, q *Point) {
	if s.numbers == nil {
		if further < len(s.points) {
			return s.points[0], s.points[further]
		}
		return nil, nil
	}
	for n, number := range s.numbers {
		if s.indexOf(number)[k] != i {
			continue
		}
		if first, ok := slices.BinarySearch(s.numbers, number-further); ok {
			return s.points[first], s.points[n]
		}
	}
	return nil, nil
}

// mostCompared bounds the flows that are compared one by one.
const mostCompared = 100000

// sameConditions reports whether two points have the same network, flows, times and events. What sends without a
// controller is offered load with all its parameters, among them the rate.
func sameConditions(p, q *Point) bool {
	if p.seen.Duration != q.seen.Duration || p.seen.Warmup != q.seen.Warmup || len(p.entries) != len(q.entries) ||
		p.flows.n != q.flows.n || !reflect.DeepEqual(p.stalls, q.stalls) || p.repeats != q.repeats ||
		p.anew != q.anew || !reflect.DeepEqual(p.seen.Events, q.seen.Events) ||
		p.seen.Network != q.seen.Network && !reflect.DeepEqual(p.seen.Network, q.seen.Network) {
		return false
	}
	for i := range p.entries {
		a, b := &p.entries[i], &q.entries[i]
		if a.seen.Name != b.seen.Name || a.startLow != b.startLow || a.startHigh != b.startHigh || a.stop != b.stop ||
			!reflect.DeepEqual(a.generator, b.generator) || !sameJob(a, b) {
			return false
		}
		if a.cc == nil && b.cc == nil && a.seen.Transport == b.seen.Transport && !a.seen.Transport.Gauged &&
			!reflect.DeepEqual(a.transportConfig, b.transportConfig) {
			return false
		}
	}
	for i := range min(p.flows.n, mostCompared) {
		a, b := p.flows.at(i), q.flows.at(i)
		if a.Traffic != b.Traffic || a.Src != b.Src || a.Dst != b.Dst || a.Size != b.Size || a.Start != b.Start {
			return false
		}
	}
	return true
}
