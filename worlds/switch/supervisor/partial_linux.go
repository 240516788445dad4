package supervisor

import (
	"time"

	"weir/worlds/switch/control"
)

// Periods at which the supervisor looks for frames without checksums, and at which it may log them again for a port.
const (
	watchPeriod = time.Second
	logPeriod   = time.Minute
)

// partial is what the log has reported of frames without checksums, by port.
type partial struct {
	logged [control.MaxPorts]uint64
	at     [control.MaxPorts]time.Time
}

// reportPartial logs frames without checksums: a TCP connection that hangs is to be explained within seconds.
func (s *supervisor) reportPartial(now time.Time) {
	var c control.Counters
	if _, ok := s.shared.Read(&c); !ok {
		return
	}
	for i, port := range s.config.Load().Ports {
		n, was := c.Ports[i].Partial, &s.partial.logged[i]
		if n == *was || *was > 0 && now.Sub(s.partial.at[i]) < logPeriod {
			continue
		}
		for _, w := range partialWarnings(port, n-*was, s.state.Peers[i].Help()) {
			w.Print(s.log)
		}
		*was, s.partial.at[i] = n, now
	}
}
