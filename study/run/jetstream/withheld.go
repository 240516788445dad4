package jetstream

import (
	"time"
)

// A worker that takes a message from a queue can make the server withhold it: the delay of a negative acknowledgment
// has no limit. The message then stays in its stream, so that publishing it again has no effect.

// withheldPatience is the time in patiences after which the coordinator replaces a message that is neither queued nor
// begun by a responsive worker.
const withheldPatience = 3

// isReplaced reports whether the message of a run or check has to be replaced. It keeps the time since which the
// message is withheld in since. The worker holder has begun it, or is nil; with waits, messages wait in its queue. The
// caller must hold the lock.
func (c *Coordinator) isReplaced(since *time.Time, holder *member, waits bool) bool {
	now := time.Now()
	switch {
	case waits || holder != nil && holder.bad == "" && !holder.refused && now.Sub(holder.heard) <= c.maxSilence():
		*since = time.Time{}
	case since.IsZero():
		*since = now
	case now.Sub(*since) > withheldPatience*c.patience:
		*since = time.Time{}
		return true
	}
	return false
}
