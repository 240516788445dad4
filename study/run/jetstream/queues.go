package jetstream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"weir/study/run/remote"
)

// queues are the streams of a sweep on the server: waiting runs, reports of workers, and large results. They have no
// state and need no lock.
type queues struct {
	js      jetstream.JetStream
	sweep   sweep
	results jetstream.ObjectStore
}

// consumeReports passes the stored and future reports of workers to receive, beginning with the first stored one. It
// replaces the consumer of an earlier call. It returns nil if the server does not respond.
func (q *queues) consumeReports(ctx context.Context, receive jetstream.MessageHandler) jetstream.ConsumeContext {
	const name = "coordinator"
	ctx, cancel := context.WithTimeout(ctx, answerTimeout(0))
	defer cancel()
	q.js.DeleteConsumer(ctx, q.sweep.reportStream(), name) // a new consumer begins with the first stored report
	consumer, err := q.js.CreateOrUpdateConsumer(ctx, q.sweep.reportStream(), jetstream.ConsumerConfig{Durable: name,
		AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverAllPolicy})
	if err != nil {
		return nil
	}
	x, err := consumer.Consume(receive, jetstream.PullMaxMessages(maxReports))
	if err != nil {
		return nil
	}
	return x
}

// removeReport removes a report from its stream. A report that cannot be removed is delivered to a later coordinator
// again.
func (q *queues) removeReport(msg jetstream.Msg) {
	about, err := msg.Metadata()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout(2))
	defer cancel()
	if s, err := q.js.Stream(ctx, q.sweep.reportStream()); err == nil {
		s.DeleteMsg(ctx, about.Sequence.Stream)
	}
}

// errGone is the error for a result that is not in the store. It proves no fault of the worker: a report may be
// repeated after its result was handled, or the worker was cut off.
var errGone = errors.New("its result is missing")

// dropResult removes a handled result from the store. It has no effect if the report itself has the result, and ignores
// errors: the store drops old results.
func (q *queues) dropResult(d *done) {
	if len(d.Data) == 0 && d.Digest != "" {
		ctx, cancel := context.WithTimeout(context.Background(), answerTimeout(2))
		defer cancel()
		q.results.Delete(ctx, d.Digest)
	}
}

// fetchResult returns a worker's result, from its report or the store, and checks its digest. The error wrong describes
// an invalid result. The error err reports that the result is unavailable, or with errGone that it does not exist.
func (q *queues) fetchResult(d *done) (data []byte, wrong, err error) {
	if data = d.Data; len(data) == 0 {
		switch d.Digest {
		case "":
			return nil, nil, errGone
		case remote.Digest(nil):
			return nil, errors.New("it returned no result"), nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), answerTimeout(2))
		defer cancel()
		data, err = q.results.GetBytes(ctx, d.Digest)
		switch {
		case errors.Is(err, jetstream.ErrObjectNotFound):
			return nil, nil, errGone
		case errors.Is(err, jetstream.ErrDigestMismatch):
			return nil, errors.New("its result is damaged"), nil
		case err != nil:
			return nil, nil, err
		}
	}
	if remote.Digest(data) != d.Digest {
		return nil, errors.New("its result does not match its digest"), nil
	}
	return data, nil, nil
}

// listWaiting reports for each queue of the given classes, by name, whether messages wait there.
func (q *queues) listWaiting(ctx context.Context, classes []int) (map[string]bool, error) {
	waits := map[string]bool{}
	for _, class := range classes {
		for _, kind := range []string{"run", "check"} {
			name := queueName(kind, class)
			consumer, err := q.js.Consumer(ctx, q.sweep.runStream(), name)
			if err != nil {
				return nil, err
			}
			waits[name] = consumer.CachedInfo().NumPending > 0
		}
	}
	return waits, nil
}

// purgeSubject removes the message of a subject from the stream of runs.
func (q *queues) purgeSubject(ctx context.Context, subject string) error {
	s, err := q.js.Stream(ctx, q.sweep.runStream())
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject(subject))
}

// republish returns a function that publishes job j of a run or check unless its message is queued. With isReplaced, it
// removes the queued message first.
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

// publish queues a run unless its message is queued already.
func (q *queues) publish(ctx context.Context, subject string, j job) error {
	_, err := q.js.Publish(ctx, subject, encode(j))
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == onePerSubject {
		return nil
	}
	return err
}

// onePerSubject is JetStream's error code for a subject that has a message already (JSStreamStoreFailedF).
const onePerSubject = 10077
