package bbr

// startup is STARTUP (draft-cardwell-iccrg-bbr-00 §4.3.2). The rate doubles every round trip until the bandwidth
// stops growing, which means that the pipe is full.
type startup struct {
	bandwidth float64 // full_bw: base for measuring growth
	rounds    int     // full_bw_cnt: rounds without growth
	full      bool    // full_bw_reached
}

// phaseGains returns the gains of pacing and window: 2/ln 2, the minimum gain that doubles the rate each round.
func (s *startup) phaseGains() (pacing, window float64) { return highGain, highGain }

// checkGrowth is bbr_check_full_bw_reached. It is called with the bandwidth at the start of a round unless the
// application limited the flow. The pipe is full after three rounds with growth below a quarter.
func (s *startup) checkGrowth(bandwidth float64) {
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

// restartGrowth restarts the measurement of growth after a retransmission timeout (bbr_set_state).
func (s *startup) restartGrowth() { s.bandwidth = 0 }

// undoLosses restarts the measurement and the count of rounds after spurious losses (bbr_undo_cwnd).
func (s *startup) undoLosses() { s.bandwidth, s.rounds = 0, 0 }
