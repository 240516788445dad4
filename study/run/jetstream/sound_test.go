package jetstream

import (
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"weir/study/run"
)

// TestServerStartsAgain checks that a server that has stopped its streams, as it does when it cannot write, is
// restarted as soon as there is space. The sweep continues with the content of its files.
func TestServerStartsAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 30)
		want := here(t, s)
		p := newParty(t)
		p.config.storage = jetstream.FileStorage
		p.guests(func(j *Join) {
			for _, name := range []string{"a", "b"} {
				p.worker(Worker{Name: name, change: p.waits}, j)
			}
		})
		p.halted = p.ctx.Done()
		var once atomic.Bool
		p.progress = func(now run.Progress) {
			if now.Done > 5 && once.CompareAndSwap(false, true) {
				for _, server := range p.servers { // in goroutines, because a mutex is held here
					p.group.Go(func() { server.(*natsServer).current().DisableJetStream() })
				}
			}
		}
		o, _, err := p.execute(t.Context(), s)
		if err != nil || o.Missing+len(o.Failed) > 0 || !once.Load() {
			t.Fatalf("%v, %+v", err, o)
		}
		p.same(want)
		if !p.notices.has("is not writable") || !p.notices.has("the sweep continues") {
			t.Errorf("%q", p.notices.texts())
		}
	})
}
