package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// A worker uses only a few requests of JetStream, without its client: take a message from a queue, acknowledge it,
// and store a report. The client needs information on streams and consumers, which the workers' account cannot get.

// lease is a message that a worker has taken from a queue and has to acknowledge.
type lease struct {
	conn    *nats.Conn
	subject string // of acknowledgments
}

// pullMessage takes a message from a queue of a stream and returns its lease and data. It returns nil if the queue is
// empty or the server does not respond within a second. It does not wait for messages.
func pullMessage(ctx context.Context, conn *nats.Conn, stream, queue string) (*lease, []byte) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout(0))
	defer cancel()
	inbox, err := conn.SubscribeSync(conn.NewInbox()) // a shared inbox gets no messages after a reconnection
	if err != nil {
		return nil, nil
	}
	defer inbox.Unsubscribe()
	if err := conn.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+stream+"."+queue, inbox.Subject,
		[]byte(`{"batch":1,"no_wait":true}`)); err != nil {
		return nil, nil
	}
	m, err := inbox.NextMsgWithContext(ctx)
	if err != nil || m.Header.Get("Status") != "" || m.Reply == "" {
		return nil, nil
	}
	return &lease{conn, m.Reply}, m.Data
}

// InProgress extends the lease, so that the server does not give the message to another worker.
func (l *lease) InProgress() error { return l.conn.Publish(l.subject, []byte("+WPI")) }

// Nak returns the message to the queue.
func (l *lease) Nak() error { return l.conn.Publish(l.subject, []byte("-NAK")) }

// Term removes the message from the queue.
func (l *lease) Term() error { return l.conn.Publish(l.subject, []byte("+TERM")) }

// DoubleAck removes the message from the queue and waits for the server's confirmation.
func (l *lease) DoubleAck(ctx context.Context) error {
	_, err := l.conn.RequestWithContext(ctx, l.subject, []byte("+ACK"))
	return err
}

// publishReport sends a report of a run of sweep x and waits until the server has stored it. It returns an error if ctx
// ends or the server rejects the report.
func publishReport(ctx context.Context, conn *nats.Conn, x sweep, d *done) error {
	m, err := conn.RequestWithContext(ctx, x.subject("done."+d.Run), encode(d))
	if err != nil {
		return err
	}
	var stored struct {
		Stream string `json:"stream"`
		Error  *struct {
			Text string `json:"description"`
		} `json:"error"`
	}
	switch err := json.Unmarshal(m.Data, &stored); {
	case err != nil:
		return fmt.Errorf("the server's answer: %w", err)
	case stored.Error != nil:
		return errors.New(stored.Error.Text)
	case stored.Stream == "":
		return errors.New("the server did not store the report")
	}
	return nil
}
