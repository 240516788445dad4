package supervisor

import (
	"time"

	"weir/worlds/switch/control"
)

// Periods between checks for frames without checksums, and between log entries about them for a port.
const (
	watchPeriod = time.Second
	logPeriod   = time.Minute
)

// partialLog records what the log has reported about frames without checksums, by port.
type partialLog struct {
	logged   [control.MaxPorts]uint64
	loggedAt [control.MaxPorts]time.Time
}

// reportPartial logs new frames without checksums by port, at most once in logPeriod for each, so that a hanging TCP
// connection is explained within seconds. It reads the last published counters.
func (s *supervisor) reportPartial(now time.Time) {
	var c control.Counters
	if _, ok := s.shared.Read(&c); !ok {
		return
	}
	for i, port := range s.config.Load().Ports {
		n, was := c.Ports[i].Partial, &s.partial.logged[i]
		if n == *was || *was > 0 && now.Sub(s.partial.loggedAt[i]) < logPeriod {
			continue
		}
		for _, w := range partialWarnings(port, n-*was, s.state.Peers[i].Help()) {
			w.Print(s.log)
		}
		*was, s.partial.loggedAt[i] = n, now
	}
}
