package dataplane

import "weir/core/unit"

// Backlog is how much can wait at a port. A zero field sets no limit; the smallest of the others counts.
type Backlog struct {
	Bytes   unit.Bytes
	Packets int64
	Wait    unit.Time // that the port needs to send it
}

// BacklogLimiter is the configuration of a program that limits what waits at each port of its switch.
type BacklogLimiter interface {
	// MaxBacklog returns the limit. frame is the largest frame in bytes. turns comes from a TurnTaker; nil: the port
	// has one queue, or strict priority.
	MaxBacklog(frame unit.Bytes, turns []int64) Backlog
}

// QueueLimiter is the configuration of a program that limits the length of each queue, beyond what the port does.
type QueueLimiter interface {
	// MaxQueue returns the longest queue in bytes at a switch with this number of ports, as a single queue has it.
	MaxQueue(ports int) unit.Bytes
}

// TurnTaker is the configuration of a scheduler in which each queue sends up to a number of packets in its turn.
type TurnTaker interface {
	// Turns returns how many packets each queue of a port sends in its turn at most.
	Turns(queues int) []int64
}

// Sizes of packets without payload in bytes: at least the headers of IPv4 and of a transport, at most IPv6, a transport
// and packet.MostExtensions.
const (
	minHeader = 40
	maxHeader = 256
)

// TurnsFactors returns by how much turns lengthen waits in the two queues of a port that trims: queue 0 holds
// headers, queue 1 data. While one queue sends its bytes, the other one has its turns in between. frame is the largest
// frame in bytes, turns comes from a TurnTaker.
func TurnsFactors(frame unit.Bytes, turns []int64) (headers, data float64) {
	perHeader := float64(turns[1]) / float64(turns[0])
	return 1 + perHeader*float64(frame)/minHeader, 1 + maxHeader/(perHeader*float64(frame))
}
