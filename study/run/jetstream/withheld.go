package jetstream

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
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

// waiting returns the queues in which messages wait for a worker.
func (c *Coordinator) waiting(ctx context.Context) (map[string]bool, error) {
	c.lock.Lock()
	classes := c.hello.Classes
	c.lock.Unlock()
	queues := map[string]bool{}
	for _, class := range classes {
		for _, kind := range []string{"run", "check"} {
			name := queueName(kind, class)
			q, err := c.js.Consumer(ctx, c.sweep.runs(), name)
			if err != nil {
				return nil, err
			}
			queues[name] = q.CachedInfo().NumPending > 0
		}
	}
	return queues, nil
}

// purge removes the message of a subject from the queue.
func (c *Coordinator) purge(ctx context.Context, subject string) error {
	s, err := c.js.Stream(ctx, c.sweep.runs())
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject(subject))
}

// republish publishes a run or check unless its message is in the queue; with isReplaced it removes that first.
func (c *Coordinator) republish(subject string, j job, isReplaced bool) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if isReplaced {
			if err := c.purge(ctx, subject); err != nil {
				return err
			}
		}
		return c.publish(ctx, subject, j)
	}
}
