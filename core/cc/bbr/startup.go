package bbr

// startup is STARTUP (draft-cardwell-iccrg-bbr-00 §4.3.2): the rate doubles every round trip
// until the bandwidth stops growing, which means that the pipe is full.
type startup struct {
	bandwidth float64 // full_bw: that growth is measured against
	rounds    int     // full_bw_cnt: without growth
	full      bool    // full_bw_reached
}

// gains are those of pacing and window: 2/ln 2, the least that doubles the rate each round.
func (s *startup) gains() (pacing, window float64) { return highGain, highGain }

// round is bbr_check_full_bw_reached, at the end of a round that the application did not
// limit: three rounds with less than a quarter more fill the pipe.
func (s *startup) round(bandwidth float64) {
	if s.full {
		return
	}
	if bandwidth >= s.bandwidth*fullGrowth {
		s.bandwidth, s.rounds = bandwidth, 0
		return
	}
	s.rounds++
	s.full = s.rounds >= fullRounds
}

// timedOut: growth is measured anew after a retransmission timeout (bbr_set_state).
func (s *startup) timedOut() { s.bandwidth = 0 }

// undone: losses were none, the count begins anew (bbr_undo_cwnd).
func (s *startup) undone() { s.bandwidth, s.rounds = 0, 0 }
