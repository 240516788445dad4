package jetstream

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/study/run"
)

// gate passes connections on to a server, and can be shut: what is connected breaks then, and nobody gets in.
type gate struct {
	listener net.Listener
	to       string
	lock     sync.Mutex
	conns    map[net.Conn]bool
	shut     bool
}

func newGate(t *testing.T, to string) *gate {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{to: to, listener: l, conns: map[net.Conn]bool{}}
	t.Cleanup(func() { l.Close(); g.set(true) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go g.pass(c)
		}
	}()
	return g
}

func (g *gate) pass(c net.Conn) {
	s, err := net.Dial("tcp", g.to)
	if err != nil {
		c.Close()
		return
	}
	g.lock.Lock()
	shut := g.shut
	g.conns[c], g.conns[s] = true, true
	g.lock.Unlock()
	if !shut {
		var group sync.WaitGroup
		group.Go(func() { io.Copy(s, c); s.Close() })
		group.Go(func() { io.Copy(c, s); c.Close() })
		group.Wait()
	}
	c.Close()
	s.Close()
	g.lock.Lock()
	defer g.lock.Unlock()
	delete(g.conns, c)
	delete(g.conns, s)
}

// set shuts it, or opens it.
func (g *gate) set(shut bool) {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.shut = shut
	if shut {
		for c := range g.conns {
			c.Close()
		}
	}
}

// broken is a sweep whose workers' connections, or the coordinator's, break for so long in its midst.
func broken(t *testing.T, long time.Duration, coordinator bool) {
	s := sweepOf(t, 60)
	want := here(t, s)
	server, err := serve("127.0.0.1:0", t.TempDir(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	g := newGate(t, server.Address())
	through, straight := &Join{Address: "nats://" + g.listener.Addr().String()}, &Join{Address: "nats://" + g.to}
	p := newParty(t)
	p.config.Listen, p.config.Server = "", straight
	if coordinator {
		p.config.Server, through = through, straight
	}
	slow := func(data []byte) []byte { time.Sleep(5 * time.Millisecond); return data }
	p.worker(Worker{Name: "a", change: slow}, through)
	p.worker(Worker{Name: "b", change: slow}, through)
	var once atomic.Bool
	p.progress = func(now run.Progress) {
		if now.Done >= 10 && once.CompareAndSwap(false, true) {
			g.set(true)
			p.group.Go(func() {
				select {
				case <-time.After(long):
				case <-p.ctx.Done():
				}
				g.set(false)
			})
		}
	}
	o, c, err := p.execute(t.Context(), s)
	if err != nil || o.Missing > 0 || len(o.Failed) > 0 || !once.Load() {
		t.Fatalf("%v, %d missing, failed %v", err, o.Missing, o.Failed)
	}
	p.same(want)
	t.Logf("%v; %q", c.Status(), p.told.all)
}

// A connection that breaks for longer than anybody is waited for loses nothing.
func TestBrokenConnection(t *testing.T) {
	t.Run("of workers", func(t *testing.T) { t.Parallel(); broken(t, 3*time.Second, false) })
	t.Run("of the coordinator", func(t *testing.T) { t.Parallel(); broken(t, 3*time.Second, true) })
}
