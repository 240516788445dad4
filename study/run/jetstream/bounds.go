package jetstream

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"weir/internal/text"
)

// What workers can make a coordinator and its server keep is bounded. A file to join with is enough to be a worker.
const (
	largestMessage = 1 << 20   // bytes; what is larger travels in pieces
	largestDone    = 512 << 10 // bytes of a report with its result: atOnce in base64, and what is said of it

	// Bytes of the stores: runs to be carried out, reports that the coordinator has not dealt with yet, and large results.
	largestRuns    = 64 << 20
	largestReports = 256 << 20
	largestResults = 4 << 30
	largestStores  = largestRuns + largestReports + largestResults

	largestParts   = 1 << 30 // bytes of large results that are still arriving, and of one of them
	largestPending = 8 << 20 // bytes of messages that wait for the coordinator, by subject
	mostPending    = 4096    // and their number

	maxConnections   = mostMembers + mostRefused // of a server
	maxSubscriptions = 4096                      // of a connection: a worker has one for each run that it looks for
	// How long the server keeps the reply subject of a request that gets no answer, from the server and the coordinator.
	// Workers wait less for the coordinator.
	serverResponse      = 30 * time.Second
	coordinatorResponse = 5 * time.Second

	mostReports  = 16    // reports that are fetched at a time
	mostMembers  = 4096  // workers of a sweep that are known
	mostRefused  = 256   // and workers that were refused
	mostChanges  = 10000 // hellos of a worker that the journal compares
	mostNoticed  = 100   // notices of workers a minute
	mostSweeps   = 64    // that a worker knows at a time
	longestID    = 64    // bytes of the id that a worker draws
	longestName  = 128   // bytes of the name of a worker
	longestHost  = 253   // bytes of the name of a host
	longestError = 4096  // bytes of an error of a run, or of why a worker takes no part
)

// isID reports whether s can be the id of a worker: letters and digits.
func isID(s string) bool {
	return s != "" && len(s) <= longestID && strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// truncate returns s with at most that many bytes, and with what acts on a terminal escaped.
func truncate(s string, bytes int) string {
	if len(s) > bytes {
		s = s[:bytes]
		for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return text.Lines(s)
}

// boundPending bounds what waits of a subscription.
func boundPending(s *nats.Subscription) error { return s.SetPendingLimits(mostPending, largestPending) }
