package jetstream

import (
	"context"
	"fmt"
)

// watch restarts the server when it could not write, and can again.
func (c *Coordinator) watch() {
	if c.server == nil || c.server.Sound() {
		return
	}
	c.stuck(&c.full, fmt.Sprintf("it cannot write into %s: everything waits for space there", c.dir))
	if !room(c.dir, enough) {
		return
	}
	if err := c.server.Restart(); err != nil {
		return // it is not sound: the next second has another try
	}
	c.stuck(&c.full, "") // the connection comes back by itself, and all is looked after then
}

// enough is how much space there has to be for the queue to go on [bytes].
const enough = 16 << 20

// reconcile makes again what the server may have lost, and publishes the runs that nobody has reported: those that are
// still in the queue stay there once.
func (c *Coordinator) reconcile() {
	ctx, cancel := context.WithTimeout(context.Background(), answer(3))
	defer cancel()
	if c.sweep.streams(ctx, c.queues.js, c.patience, c.storage, c.server != nil) != nil {
		return
	}
	done, err := c.queues.js.Stream(ctx, c.sweep.done())
	if err != nil {
		return
	}
	waits, err := c.queues.listWaiting(ctx, c.announcer.listClasses())
	if err != nil {
		return
	}
	c.lock.Lock()
	if done.CachedInfo().State.Msgs > 0 && c.left < mostLeft {
		c.left++ // what was taken from the queue may be among what has come: it would be made twice
		c.lock.Unlock()
		return
	}
	c.left = 0
	var jobs []func(ctx context.Context) error
	for _, t := range c.tasks {
		if t.over || !t.queued || t.by != nil { // what is held until its worker is trusted is there
			continue
		}
		isReplaced := c.isReplaced(&t.withheld, t.holder(), waits[queueName("run", t.class)])
		if isReplaced {
			c.noticeWorker("%s was taken and not begun by a worker that is heard: it is queued again", nameOf(t))
		}
		jobs = append(jobs, c.queues.republish(c.sweep.run(t.class, t.ID, t.suffix()), job{Run: t.ID, Hops: t.Hops},
			isReplaced))
	}
	for _, k := range c.verifier.checks {
		isReplaced := c.isReplaced(&k.withheld, k.holder, waits[queueName("check", k.t.class)])
		jobs = append(jobs, c.queues.republish(c.sweep.check(k.t.class, k.t.ID), k.job(), isReplaced))
	}
	c.lock.Unlock()
	for _, publish := range jobs {
		ctx, cancel := context.WithTimeout(context.Background(), answer(1))
		err := publish(ctx)
		cancel()
		if err != nil {
			return
		}
	}
	c.conn.Publish(c.sweep.subject("wake"), []byte(wakeChecks))
}

// mostLeft limits how often in a row runs are not published again because results have come.
const mostLeft = 5
