package bbr

// drain is DRAIN (draft-cardwell-iccrg-bbr-00 §4.3.3): what startup has queued leaves.
type drain struct{}

// gains are those of pacing and window: the inverse of startup's, with its window.
func (drain) gains() (pacing, window float64) { return drainGain, highGain }

// done reports whether no more is in the network than the path holds (bbr_check_drain).
func (drain) done(inNetwork, target int) bool { return inNetwork <= target }
