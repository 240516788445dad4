package jetstream

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTwoCoordinators checks that a second coordinator of an experiment in one folder is refused, because both
// would share a queue. It leaves the first one's queue intact.
func TestTwoCoordinators(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 20)
		want := here(t, s)
		p, q := newParty(t), newParty(t)
		q.dir = p.dir
		q.connect(p.network)
		p.guests(func(j *Join) {
			_, _, err := q.execute(t.Context(), s)
			if err == nil || !strings.Contains(err.Error(), "another process already runs this experiment on workers; stop it "+
				"first") {
				t.Errorf("the second: %v", err)
			}
			p.worker(Worker{Name: "w"}, j)
		})
		o, _, err := p.execute(t.Context(), s)
		if err != nil || o.Missing+len(o.Failed) > 0 {
			t.Fatalf("%v, %+v", err, o)
		}
		p.same(want)
	})
}

// TestInterruptedAtOnce checks that a coordinator that is interrupted before its first run, or cannot start, keeps
// the remains of an earlier execution.
func TestInterruptedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 30)
		want := here(t, s)
		p := newParty(t)
		p.config.Jobs, p.config.joined = 1, nil
		queue := filepath.Join(interrupted(t, p, s).Dir, "queue")
		secrets := must(os.ReadFile(filepath.Join(queue, "secrets.json")))
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, _, err := p.execute(ctx, s); err == nil || !strings.Contains(err.Error(), "context canceled") {
			t.Error(err)
		}
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		listen, begun := p.config.Listen, time.Now()
		p.config.Listen, p.config.serve = taken.Addr().String(), serve
		if _, _, err := p.execute(t.Context(), s); err == nil || !strings.Contains(err.Error(), "cannot listen") {
			t.Errorf("at an address that is taken: %v", err)
		}
		if took := time.Since(begun); took > 25*time.Second {
			t.Errorf("it takes %v to say that an address is taken", took)
		}
		if now, err := os.ReadFile(filepath.Join(queue, "secrets.json")); err != nil || string(now) != string(secrets) {
			t.Errorf("workers of before cannot come back: %v", err)
		}
		p.config.Listen, p.config.serve = listen, p.network.serve
		if o, _, err := p.execute(t.Context(), s); err != nil || o.Missing+len(o.Failed) > 0 {
			t.Fatalf("%v, %+v", err, o)
		}
		p.same(want)
		if all := accountsIn(t, filepath.Dir(queue)); len(all) < 2 || !all[0].Interrupted || all[0].Runs == 0 {
			t.Errorf("%+v", all)
		}
	})
}
