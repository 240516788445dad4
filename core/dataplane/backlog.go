package dataplane

import "weir/core/unit"

// Backlog limits the data that can wait at a port. A zero field sets no limit; the smallest of the others counts.
type Backlog struct {
	Bytes   unit.Bytes
	Packets int64
	Wait    unit.Time // time that the port needs to send it
}

// Sizes of packets without payload in bytes: at least the headers of IPv4 and of a transport, at most IPv6, a transport
// and packet.MaxExtensionBytes.
const (
	minHeader = 40
	maxHeader = 256
)

// TurnsFactors returns the factors by which turns lengthen waits in the two queues of a port that trims: queue 0 holds
// headers, queue 1 data. While one queue sends its bytes, the other one has its turns in between. frame is the largest
// frame in bytes, turns comes from Traits.Turns. turns has an entry above 0 for each of the two queues.
func TurnsFactors(frame unit.Bytes, turns []int64) (headers, data float64) {
	perHeader := float64(turns[1]) / float64(turns[0])
	return 1 + perHeader*float64(frame)/minHeader, 1 + maxHeader/(perHeader*float64(frame))
}
