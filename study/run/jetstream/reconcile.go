package jetstream

import (
	"context"
	"fmt"
)

// watch restarts a server of this process that could not write, once its disk has space again. Until then all runs
// count as waiting.
func (c *Coordinator) watch() {
	if c.server == nil || c.server.isHealthy() {
		return
	}
	c.setWaiting(&c.diskFull, fmt.Sprintf("%s is not writable; all runs wait for disk space", c.dir))
	if !hasSpace(c.dir, minSpace) {
		return
	}
	if err := c.server.restart(); err != nil {
		return // the server is still broken; the next second brings another try
	}
	c.setWaiting(&c.diskFull, "") // the connection recovers by itself, and reconcile follows
}

// minSpace is the free disk space in bytes at which the queue continues.
const minSpace = 16 << 20

// reconcile creates again the streams that the server may have lost, and publishes the runs and checks without a
// report. The stream drops a run that it still has. A message that was withheld for long is replaced. It runs after
// each patience and after a reconnection. While reports are pending, it publishes no run, for up to maxSkips calls.
func (c *Coordinator) reconcile() {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout(3))
	defer cancel()
	if c.sweep.createStreams(ctx, c.queues.js, c.patience, c.storage, c.server != nil) != nil {
		return
	}
	done, err := c.queues.js.Stream(ctx, c.sweep.reportStream())
	if err != nil {
		return
	}
	waits, err := c.queues.listWaiting(ctx, c.announcer.listClasses())
	if err != nil {
		return
	}
	c.lock.Lock()
	if done.CachedInfo().State.Msgs > 0 && c.skips < maxSkips {
		c.skips++ // the pending reports may cover the missing runs, which would run twice
		c.lock.Unlock()
		return
	}
	c.skips = 0
	var jobs []func(ctx context.Context) error
	for _, t := range c.tasks {
		if t.over || !t.queued || t.maker != nil { // a held result counts as present
			continue
		}
		isReplaced := c.isReplaced(&t.withheld, t.holder(), waits[queueName("run", t.class)])
		if isReplaced {
			c.noticeWorker("%s is queued again, because its worker is alive but did not start it", nameOf(t))
		}
		jobs = append(jobs, c.queues.republish(c.sweep.runSubject(t.class, t.ID, t.suffix()), job{Run: t.ID, Hops: t.Hops},
			isReplaced))
	}
	for _, k := range c.verifier.checks {
		isReplaced := c.isReplaced(&k.withheld, k.holder, waits[queueName("check", k.task.class)])
		jobs = append(jobs, c.queues.republish(c.sweep.checkSubject(k.task.class, k.task.ID), k.newJob(), isReplaced))
	}
	c.lock.Unlock()
	for _, publish := range jobs {
		ctx, cancel := context.WithTimeout(context.Background(), answerTimeout(1))
		err := publish(ctx)
		cancel()
		if err != nil {
			return
		}
	}
	c.conn.Publish(c.sweep.subject("wake"), []byte(wakeChecks))
}

// maxSkips limits the consecutive calls of reconcile that wait for pending reports.
const maxSkips = 5
