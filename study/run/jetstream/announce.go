package jetstream

import (
	"github.com/nats-io/nats.go"
)

// announce tells workers of the sweep.
func (c *Coordinator) announce() {
	c.lock.Lock()
	c.hello.Number++
	data, err := c.hello.sign(c.key)
	c.lock.Unlock()
	if err == nil {
		c.conn.Publish(announceSubject, data)
	}
}

// announceOver tells workers that a sweep is over.
func (c *Coordinator) announceOver(of sweep) {
	c.lock.Lock()
	c.hello.Number++
	end := announcement{Sweep: of, Over: true, Number: c.hello.Number}
	c.lock.Unlock()
	if data, err := end.sign(c.key); err == nil {
		c.conn.Publish(announceSubject, data)
	}
}

// input answers a worker with a part of a file of the experiment.
func (c *Coordinator) input(msg *nats.Msg) {
	var r inputRequest
	if !decode(msg.Data, &r) {
		return
	}
	data, there := c.files[r.Digest]
	switch {
	case !there:
		c.respond(msg, input{Size: -1})
	case r.Offset >= 0 && r.Offset <= len(data):
		c.respond(msg, input{Size: len(data), Data: data[r.Offset:min(len(data), r.Offset+atOnce)]})
	}
}
