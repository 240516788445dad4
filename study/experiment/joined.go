package experiment

import (
	"iter"
	"slices"

	"weir/core/jobs/job"
	"weir/internal/document"
)

// A sender needs a path to each of its receivers, and to no other host. As hosts do not forward, a path from a to b and
// one from b to c do not make a path from a to c.

// checkPath checks that there is a path from one host to another, and reports an error at a place if not.
func (d *nodeNames) checkPath(at document.Place, p *Point, from, to int) bool {
	if p.seen.Routes.Joined(from, to) {
		return true
	}
	n := p.seen.Network
	d.Fail(at, "hosts that links and switches join", "there is no path from %s to %s", n.Nodes[from].Name,
		n.Nodes[to].Name)
	return false
}

// checkPaths checks that there is a path between each of the pairs, and reports the first pair without one.
func (d *nodeNames) checkPaths(at document.Place, p *Point, pairs iter.Seq2[int, int]) bool {
	for from, to := range pairs {
		if !d.checkPath(at, p, from, to) {
			return false
		}
	}
	return true
}

// mostSends limits the operations of a job that are examined for pairs of ranks that send to each other. What is beyond
// it ends the run with the same error.
const mostSends = 1 << 22

// pairs returns the pairs of hosts of a job that send to each other. Where a group of switches has a NIC of each host,
// it returns no pair.
func (j *Job) pairs(p *Point) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		if p.seen.Routes.Common(j.Hosts) {
			return
		}
		more := true
		j.Sends(func(from int, _ job.Ref, to int) bool {
			more = more && yield(j.Hosts[from], j.Hosts[to])
			return more
		})
	}
}

// Sends calls visit for each pair of ranks that send to each other (job.Sends).
func (j *Job) Sends(visit func(from int, at job.Ref, to int) (more bool)) {
	job.Sends(j.Program, mostSends, visit)
}

// sample returns pairs of hosts of a job that send to each other, at most mostPairs: of each rank the sends to the
// ranks that follow it most closely, the closest of all ranks first.
func (j *Job) sample() [][2]int {
	if j.sampled != nil {
		return j.sampled
	}
	n := len(j.Hosts)
	most := (mostPairs + n - 1) / max(n, 1)
	nearest := make([][]int, n) // by rank: distances of receivers, ascending
	j.Sends(func(from int, _ job.Ref, to int) bool {
		distance := (to - from + n) % n
		k, _ := slices.BinarySearch(nearest[from], distance)
		if nearest[from] = slices.Insert(nearest[from], k, distance); len(nearest[from]) > most {
			nearest[from] = nearest[from][:most]
		}
		return true
	})
	j.sampled = [][2]int{}
	for k := range most {
		for from, distances := range nearest {
			if k < len(distances) && len(j.sampled) < mostPairs {
				j.sampled = append(j.sampled, [2]int{j.Hosts[from], j.Hosts[(from+distances[k])%n]})
			}
		}
	}
	return j.sampled
}

// pairs returns hosts between which the generator may draw a flow: all, or only a pair without a path if there is one.
func (g *Generator) pairs(p *Point) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		if g.Pattern == ToStride && g.FromN == 0 {
			for i, from := range g.From {
				if !yield(from, g.From[(i+g.Stride)%len(g.From)]) {
					return
				}
			}
			return
		}
		to := g.To
		if g.Pattern == Permutation || g.Pattern == ToStride {
			to = g.From
		}
		if a, b, found := p.seen.Routes.Unjoined(g.From, to); found {
			yield(a, b)
		}
	}
}
