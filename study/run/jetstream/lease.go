package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// A worker uses few requests of JetStream, and no client of it: to take a message out of a queue, to acknowledge it,
// and to have a report stored. Answers that it could not get where only the coordinator's account has JetStream, such
// as what a stream or a consumer is, it does not need.

// lease is a message of a queue, which its worker acknowledges.
type lease struct {
	conn    *nats.Conn
	subject string // of acknowledgements
}

// pull takes a message out of a queue of a stream, and returns what it has; nil: the queue is empty.
func pull(ctx context.Context, conn *nats.Conn, stream, queue string) (*lease, []byte) {
	ctx, cancel := context.WithTimeout(ctx, answer(0))
	defer cancel()
	inbox, err := conn.SubscribeSync(conn.NewInbox()) // a shared one gets no messages after a reconnection
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

// InProgress keeps the message from being given to others.
func (l *lease) InProgress() error { return l.conn.Publish(l.subject, []byte("+WPI")) }

// Nak gives it back.
func (l *lease) Nak() error { return l.conn.Publish(l.subject, []byte("-NAK")) }

// Term takes it out of the queue.
func (l *lease) Term() error { return l.conn.Publish(l.subject, []byte("+TERM")) }

// DoubleAck takes it out of the queue, and waits until that is done.
func (l *lease) DoubleAck(ctx context.Context) error {
	_, err := l.conn.RequestWithContext(ctx, l.subject, []byte("+ACK"))
	return err
}

// publishReport has the server store a report of a run.
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
		return errors.New("the server has not stored the report")
	}
	return nil
}
