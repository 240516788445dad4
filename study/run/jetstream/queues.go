package jetstream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"weir/study/run/remote"
)

// queues are the streams of a sweep on the server: runs that wait for workers, reports of workers, and large results.
// They have no state of their own and need no lock.
type queues struct {
	js      jetstream.JetStream
	sweep   sweep
	results jetstream.ObjectStore
}

// consumeReports passes the reports of workers to receive, from the first one that is there. It returns nil if the
// server does not answer.
func (q *queues) consumeReports(ctx context.Context, receive jetstream.MessageHandler) jetstream.ConsumeContext {
	const name = "coordinator"
	ctx, cancel := context.WithTimeout(ctx, answer(0))
	defer cancel()
	q.js.DeleteConsumer(ctx, q.sweep.done(), name) // the next one begins with the first report that is there
	consumer, err := q.js.CreateOrUpdateConsumer(ctx, q.sweep.done(), jetstream.ConsumerConfig{Durable: name,
		AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverAllPolicy})
	if err != nil {
		return nil
	}
	x, err := consumer.Consume(receive, jetstream.PullMaxMessages(mostReports))
	if err != nil {
		return nil
	}
	return x
}

// removeReport takes a report out of its stream.
func (q *queues) removeReport(msg jetstream.Msg) {
	about, err := msg.Metadata()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), answer(2))
	defer cancel()
	if s, err := q.js.Stream(ctx, q.sweep.done()); err == nil {
		s.DeleteMsg(ctx, about.Sequence.Stream)
	}
}

// errGone is no lie: what is reported may come again, when the result has been taken, or its worker was cut off.
var errGone = errors.New("what it says to have made is not there")

// dropResult takes a result that was dealt with out of the store.
func (q *queues) dropResult(d *done) {
	if len(d.Data) == 0 && d.Digest != "" {
		ctx, cancel := context.WithTimeout(context.Background(), answer(2))
		defer cancel()
		q.results.Delete(ctx, d.Digest)
	}
}

// fetchResult is a worker's result. Wrong says why it is none; an error, that it cannot be had now, or is not there:
// errGone.
func (q *queues) fetchResult(d *done) (data []byte, wrong, err error) {
	if data = d.Data; len(data) == 0 {
		switch d.Digest {
		case "":
			return nil, nil, errGone
		case remote.Digest(nil):
			return nil, errors.New("it has made nothing"), nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), answer(2))
		defer cancel()
		data, err = q.results.GetBytes(ctx, d.Digest)
		switch {
		case errors.Is(err, jetstream.ErrObjectNotFound):
			return nil, nil, errGone
		case errors.Is(err, jetstream.ErrDigestMismatch):
			return nil, errors.New("what it has made is damaged"), nil
		case err != nil:
			return nil, nil, err
		}
	}
	if remote.Digest(data) != d.Digest {
		return nil, errors.New("what it has made has another digest than it says"), nil
	}
	return data, nil, nil
}

// listWaiting returns by name the queues of some classes, and whether messages wait there for a worker.
func (q *queues) listWaiting(ctx context.Context, classes []int) (map[string]bool, error) {
	waits := map[string]bool{}
	for _, class := range classes {
		for _, kind := range []string{"run", "check"} {
			name := queueName(kind, class)
			consumer, err := q.js.Consumer(ctx, q.sweep.runs(), name)
			if err != nil {
				return nil, err
			}
			waits[name] = consumer.CachedInfo().NumPending > 0
		}
	}
	return waits, nil
}

// purgeSubject removes the message of a subject from the queue.
func (q *queues) purgeSubject(ctx context.Context, subject string) error {
	s, err := q.js.Stream(ctx, q.sweep.runs())
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject(subject))
}

// republish publishes a run or check unless its message is in the queue; with isReplaced it removes that first.
func (q *queues) republish(subject string, j job, isReplaced bool) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if isReplaced {
			if err := q.purgeSubject(ctx, subject); err != nil {
				return err
			}
		}
		return q.publish(ctx, subject, j)
	}
}

// publish puts a run into the queue, unless it is there.
func (q *queues) publish(ctx context.Context, subject string, j job) error {
	_, err := q.js.Publish(ctx, subject, encode(j))
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == onePerSubject {
		return nil
	}
	return err
}

// onePerSubject is what JetStream says of a message whose subject has one already (JSStreamStoreFailedF).
const onePerSubject = 10077
