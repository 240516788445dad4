package jetstream

import (
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// announcer announces a sweep to workers, signed by the coordinator's key.
type announcer struct {
	lock  sync.Mutex
	hello announcement
	key   nkeys.KeyPair
	conn  *nats.Conn
}

// addClass adds a class of runs to the announcement and reports whether it is new.
func (a *announcer) addClass(class int) bool {
	a.lock.Lock()
	defer a.lock.Unlock()
	if slices.Contains(a.hello.Classes, class) {
		return false
	}
	a.hello.Classes = append(a.hello.Classes, class)
	return true
}

// listClasses returns the size classes of the runs that were handed over, in order of their addition. The caller does
// not change them.
func (a *announcer) listClasses() []int {
	a.lock.Lock()
	defer a.lock.Unlock()
	return a.hello.Classes
}

// announce publishes the sweep to all workers, with a higher number than before. Errors are ignored: it is repeated
// every second.
func (a *announcer) announce() {
	a.lock.Lock()
	a.hello.Number++
	data, err := a.hello.sign(a.key)
	a.lock.Unlock()
	if err == nil {
		a.conn.Publish(announceSubject, data)
	}
}

// announceOver announces once that a sweep has ended: this coordinator's or an earlier one. Errors are ignored.
func (a *announcer) announceOver(ended sweep) {
	a.lock.Lock()
	a.hello.Number++
	end := announcement{Sweep: ended, Over: true, Number: a.hello.Number}
	a.lock.Unlock()
	if data, err := end.sign(a.key); err == nil {
		a.conn.Publish(announceSubject, data)
	}
}

// sendInput responds to a worker with a part of a file of the experiment: up to maxInline bytes from the requested
// offset. An unknown file has the size −1. It does not respond to an invalid request.
func (c *Coordinator) sendInput(msg *nats.Msg) {
	var r inputRequest
	if !decode(msg.Data, &r) {
		return
	}
	data, there := c.files[r.Digest]
	switch {
	case !there:
		c.respond(msg, input{Size: -1})
	case r.Offset >= 0 && r.Offset <= len(data):
		c.respond(msg, input{Size: len(data), Data: data[r.Offset:min(len(data), r.Offset+maxInline)]})
	}
}
