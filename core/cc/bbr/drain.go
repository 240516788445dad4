package bbr

// drain is DRAIN (draft-cardwell-iccrg-bbr-00 §4.3.3), in which the queue of startup drains.
type drain struct{}

// phaseGains returns the gains of pacing and window: the inverse of startup's pacing gain, and startup's window gain.
func (drain) phaseGains() (pacing, window float64) { return drainGain, highGain }

// isDrained reports whether the packets in the network are within target, the packets that the path holds
// (bbr_check_drain).
func (drain) isDrained(inNetwork, target int) bool { return inNetwork <= target }
