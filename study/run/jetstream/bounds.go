package jetstream

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"weir/internal/text"
)

// The limits bound the memory and disk space that workers can make a coordinator and its server use. Any process with
// the join file can be a worker.
const (
	maxMessage = 1 << 20   // bytes; larger data is split
	maxReport  = 512 << 10 // bytes of a report with its result: maxInline in base64, and the other fields

	// Bytes of the stores: runs that wait, reports that the coordinator has not handled, and large results.
	maxRunBytes    = 64 << 20
	maxReportBytes = 256 << 20
	maxResultBytes = 4 << 30
	maxStoreBytes  = maxRunBytes + maxReportBytes + maxResultBytes

	maxPartBytes    = 1 << 30 // bytes of large results in transfer, in total and each
	maxPendingBytes = 8 << 20 // bytes of messages that wait for the coordinator, per subject
	maxPending      = 4096    // number of these messages

	maxConnections   = maxMembers + maxRefused // of a server
	maxSubscriptions = 4096                    // of a connection: a worker has one for each queue that it polls
	// Time for which the server keeps the reply subject of an unanswered request to the server and to the coordinator.
	// Workers wait less for the coordinator.
	serverResponse      = 30 * time.Second
	coordinatorResponse = 5 * time.Second

	maxReports    = 16    // reports fetched at a time
	maxMembers    = 4096  // known workers of a sweep
	maxRefused    = 256   // refused workers
	maxChanges    = 10000 // hellos of one worker that the journal compares
	maxNoticed    = 100   // notices about workers per minute
	maxSweeps     = 64    // sweeps that a worker keeps at a time
	maxIDBytes    = 64    // bytes of the id that a worker draws
	maxNameBytes  = 128   // bytes of a worker's name
	maxHostBytes  = 253   // bytes of a host's name
	maxErrorBytes = 4096  // bytes of a run's error, or of a reason why a worker takes no part
)

// isID reports whether s can be a worker's id: 1 to maxIDBytes letters and digits of ASCII.
func isID(s string) bool {
	return s != "" && len(s) <= maxIDBytes && strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// truncate returns s cut after the given number of bytes, without a part of a character and with an ellipsis. It
// escapes terminal controls. A shorter s has no ellipsis.
func truncate(s string, bytes int) string {
	if len(s) > bytes {
		s = s[:bytes]
		for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return text.EscapeLines(s)
}

// boundPending limits the messages that wait in a subscription.
func boundPending(s *nats.Subscription) error { return s.SetPendingLimits(maxPending, maxPendingBytes) }
