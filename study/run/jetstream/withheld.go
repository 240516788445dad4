package jetstream

import (
	"time"
)

// A worker that takes a message out of a queue can have the server keep it back: the delay of a negative
// acknowledgement has no limit. The message is then still in its stream, so that publishing it again has no effect.

// withheldPatience is for how long a message is neither in a queue nor begun by a worker that is heard until the
// coordinator replaces it, in patiences.
const withheldPatience = 3

// isReplaced reports whether the message of a run or check is to be replaced, and notes in since when it was withheld
// first. holder is the worker that has begun it, or nil; waits means that messages wait in its queue. The lock is held.
func (c *Coordinator) isReplaced(since *time.Time, holder *member, waits bool) bool {
	now := time.Now()
	switch {
	case waits || holder != nil && holder.bad == "" && !holder.refused && now.Sub(holder.heard) <= c.unheard():
		*since = time.Time{}
	case since.IsZero():
		*since = now
	case now.Sub(*since) > withheldPatience*c.patience:
		*since = time.Time{}
		return true
	}
	return false
}
