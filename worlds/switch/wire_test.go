package softswitch

import "encoding/binary"

var be = binary.BigEndian

// Parts of frames that tests read and write: IEEE 802.1Q, RFC 826, RFC 2516 and RFC 8200.
const (
	typeAt       = 12 // of the Ethernet type
	tagBytes     = 4
	etherVLAN    = 0x8100
	etherService = 0x88a8
	etherPPPoE   = 0x8864
	etherARP     = 0x0806
	pppIPv4      = 0x0021
	pppIPv6      = 0x0057
	hopByHop     = 0
	fragmented   = 44

	shortestFrame = 60 // without FCS
)
