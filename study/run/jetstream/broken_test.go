package jetstream

import (
	"sync/atomic"
	"testing"
	"time"

	"weir/study/run"
)

// broken runs a sweep during which the connections of the workers, or of the coordinator, are cut for a minute.
func broken(t *testing.T, coordinator bool) {
	s := sweepOf(t, 60)
	want := here(t, s)
	straight := newNetwork()
	server, err := straight.serve("127.0.0.1:0", t.TempDir(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer server.stop()
	fragile := straight.branch()
	p := newParty(t)
	j := &Join{Address: "nats://" + server.address()}
	p.config.Listen, p.config.Server = "", j
	ofWorkers := fragile
	if p.connect(straight); coordinator {
		p.connect(fragile)
		ofWorkers = straight
	}
	slow := func(data []byte) []byte { time.Sleep(5 * time.Millisecond); return data }
	for _, name := range []string{"a", "b"} {
		p.worker(Worker{Name: name, change: slow, transport: ofWorkers.transport()}, j)
	}
	var once atomic.Bool
	p.progress = func(now run.Progress) {
		if now.Done >= 10 && once.CompareAndSwap(false, true) {
			fragile.set(true)
			p.group.Go(func() {
				select {
				case <-time.After(time.Minute):
				case <-p.ctx.Done():
				}
				fragile.set(false)
			})
		}
	}
	o, c, err := p.execute(t.Context(), s)
	if err != nil || o.Missing > 0 || len(o.Failed) > 0 || !once.Load() {
		t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
	}
	p.same(want)
	t.Logf("%v; %q", c.Status(), p.notices.texts())
	p.end()
}

// TestBrokenConnection checks that a connection that breaks for longer than every limit of patience loses no run.
func TestBrokenConnection(t *testing.T) {
	runBubble(t, "of workers", func(t *testing.T) { broken(t, false) })
	runBubble(t, "of the coordinator", func(t *testing.T) { broken(t, true) })
}
