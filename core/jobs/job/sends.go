package job

// VisitSends calls visit with the first send of each rank to each other rank: the sender, the operation and the
// receiver. If visit returns false, it skips the rest of that rank. Of a RecurringProgram VisitSends examines one
// iteration, of a Listed one all operations. Of others it examines about limit operations, which the ranks and their
// lanes share evenly. all is false if the limit has left operations out.
func VisitSends(p Program, limit int, visit func(from int, at Ref, to int) (more bool)) (all bool) {
	share := max(limit/max(p.Ranks(), 1), 64)
	if l, listed := p.(*Listed); listed {
		share = l.CountOps()
	}
	all = true
	visited := make([]int, p.Ranks()) // by rank, the last one that sends to it, + 1
	for from := range p.Ranks() {
		visited[from] = from + 1 // messages within a host need no path
		if !sendsOf(p, from, share, func(at Ref, to int) (more bool) {
			if visited[to] == from+1 {
				return true
			}
			visited[to] = from + 1
			return visit(from, at, to)
		}) {
			all = false
		}
	}
	return all
}

// sendsOf visits the sends of a rank until visit returns false. It returns false if it has left out operations beyond
// the rank's share.
func sendsOf(p Program, rank, share int, visit func(at Ref, to int) (more bool)) (all bool) {
	alike, _ := p.(RecurringProgram)
	all = true
	lanes := p.Lanes(rank)
	for lane := range lanes {
		ops := p.Ops(rank, lane)
		if alike != nil {
			ops = min(ops, alike.Each(rank, lane))
		}
		examined := min(ops, max(share/lanes, 16))
		all = all && examined == ops
		for i := range examined {
			at := Ref{Lane: int32(lane), Op: int32(i)}
			if op := p.Op(rank, at); op.Kind == Send && !visit(at, int(op.Peer)) {
				return true
			}
		}
	}
	return all
}
