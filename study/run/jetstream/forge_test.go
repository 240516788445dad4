package jetstream

import (
	"bytes"
	"testing"
)

// TestIDsAreSecret checks that messages to a worker contain no other worker's id, and that it cannot be guessed
// from them. Any process with the id of a worker can report in its name, and results of the coordinator's own
// worker are not compared.
func TestIDsAreSecret(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newParty(t)
		seen := make(chan []byte, 1)
		p.guests(func(j *Join) {
			w := newPuppet(p, j, "w")
			stop := p.worker(Worker{Name: "a"}, j)
			for _, class := range w.about.Classes {
				var m *lease
				var data []byte
				until(t, "a check", func() bool {
					m, data = pullMessage(t.Context(), w.conn, w.about.Sweep.runStream(), queueName("check", class))
					return m != nil
				})
				seen <- data
				m.Nak()
			}
			stop()
			w.leave()
			p.worker(Worker{Name: "b"}, j)
		})
		o, c, err := p.execute(t.Context(), sweepOf(t, 10))
		if err != nil || o.Missing+len(o.Failed) > 0 {
			t.Fatalf("%v, %+v", err, o)
		}
		var job job
		message := <-seen
		if !decode(message, &job) || !job.Check || len(job.Not) != 1 {
			t.Errorf("%s", message)
		}
		const prefix = 8
		for id := range c.members {
			if id != "w" && (bytes.Contains(message, []byte(id)) || id[:prefix] == string(c.sweep)[:prefix]) {
				t.Errorf("%s of the sweep %s tells of the worker %s", message, c.sweep, id)
			}
		}
		if c.ownID[:prefix] == string(c.sweep)[:prefix] || len(c.ownID) < 26 {
			t.Errorf("the sweep %s tells of the coordinator's own worker %s", c.sweep, c.ownID)
		}
	})
}
