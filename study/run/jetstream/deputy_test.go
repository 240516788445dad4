package jetstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"weir/internal/revision"
)

// admin connects with a party's server as its coordinator.
func admin(p *party, j *Join) (*nats.Conn, jetstream.JetStream) {
	all, _ := filepath.Glob(filepath.Join(p.dir, "*", "queue", "secrets.json"))
	if len(all) != 1 {
		p.t.Fatal(all)
	}
	data, err := os.ReadFile(all[0])
	var s stored
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	own := *j
	own.Key = s.Coordinator
	conn, err := own.connect("admin", p.config.options()...)
	if err != nil {
		p.t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		p.t.Fatal(err)
	}
	return conn, js
}

// streamStates describes streams by the properties that no worker may change: their creation times and their runs.
func streamStates(t testing.TB, js jetstream.JetStream, x sweep) string {
	t.Helper()
	var text string
	for _, name := range []string{x.runStream(), x.reportStream(), "OBJ_" + x.resultStore()} {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			text += fmt.Sprintf("%s: %v\n", name, err)
			continue
		}
		info := s.CachedInfo()
		text += fmt.Sprintf("%s: made %v\n", name, info.Created)
		if name == x.runStream() {
			text += fmt.Sprintf("%d messages up to %d\n", info.State.Msgs, info.State.LastSeq)
		}
	}
	return text
}

// literal returns a subject that a service has, with its wildcards filled in.
func literal(x sweep, subject string, class int) string {
	switch {
	case strings.HasPrefix(subject, "$JS.ACK."):
		return strings.TrimSuffix(subject, ">") + queueName("run", class) + ".1.9999.1.1.0"
	case strings.HasPrefix(subject, "$JS.API.CONSUMER."):
		return strings.TrimSuffix(subject, "*") + queueName("run", class)
	}
	return strings.Replace(subject, "*", "nothing", 1)
}

// TestNoDeputies makes a worker name reply subjects on which it may not publish, in all of its requests. Neither
// the coordinator nor the server may publish there on the worker's behalf.
func TestNoDeputies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 6)
		want := here(t, s)
		p := newParty(t)
		p.guests(func(j *Join) {
			w := newPuppet(p, j, "evil")
			x, class := w.about.Sweep, w.about.Classes[0]
			conn, js := admin(p, j)
			defer conn.Close()
			time.Sleep(time.Second) // all runs are in the queue then
			before := streamStates(t, js, x)
			var answers []string
			for _, name := range []string{x.runStream(), x.reportStream(), "OBJ_" + x.resultStore()} {
				for _, call := range []string{"STREAM.DELETE.", "STREAM.PURGE.", "STREAM.CREATE.", "STREAM.UPDATE.",
					"STREAM.MSG.DELETE."} {
					answers = append(answers, "$JS.API."+call+name)
				}
			}
			answers = append(answers, "$JS.API.CONSUMER.DELETE."+x.runStream()+"."+queueName("run", class),
				"$JS.API.CONSUMER.DELETE."+x.reportStream()+".coordinator", "$JS.ACK."+x.reportStream()+".coordinator.1.1.1.1.0",
				"$SYS.REQ.SERVER.PING", "_R_.x", "_INBOX.x", announceSubject, x.subject("wake"), x.subject("hello"),
				x.subject("begun"), x.subject("far"), x.subject("input"), x.subject("done.x"), x.runSubject(class, "forged", ""))
			for _, service := range x.services() {
				for _, answer := range answers {
					for _, data := range [][]byte{nil, []byte("{}"), encode(w.hello)} {
						m := nats.NewMsg(literal(x, service, class))
						m.Reply, m.Data = answer, data
						if err := w.conn.PublishMsg(m); err != nil {
							t.Error(err)
						}
					}
				}
			}
			for _, direct := range answers {
				w.conn.Publish(direct, []byte("{}"))
			}
			w.conn.Flush()
			time.Sleep(time.Second)
			if after := streamStates(t, js, x); after != before {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
			w.leave()
			p.worker(Worker{Name: "honest"}, j)
		})
		o, _, err := p.execute(t.Context(), s)
		if err != nil || o.Missing+len(o.Failed) > 0 {
			t.Fatalf("%v, %+v, %q", err, o, p.notices.texts())
		}
		p.same(want)
	})
}

// TestForgedAnnouncements checks that a worker accepts announcements of the coordinator whose key is in its join
// file, each once and in their order. Without such a file it accepts those of the first coordinator that has signed
// one of the sweep.
func TestForgedAnnouncements(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork()
		s, err := n.serve("127.0.0.1:0", t.TempDir(), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		defer s.stop()
		conn, err := (&Join{Address: "nats://127.0.0.1:1"}).connect("test", nats.SetCustomDialer(n))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		own, public, _ := pair(t, nkeys.CreateUser)
		other, _, _ := pair(t, nkeys.CreateUser)
		signedBy := func(k nkeys.KeyPair, a announcement) []byte {
			data, err := a.sign(k)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		a := announcement{Sweep: "X1", Experiment: "x", Revision: revision.This(), Number: 5}
		over := announcement{Sweep: "X1", Over: true, Number: 6}
		changed := func(data []byte) []byte {
			return bytes.Replace(data, []byte(`"number":`), []byte(`"number":1`), 1)
		}
		for _, known := range []string{public, ""} {
			said := &notices{}
			w := &workerState{Worker: Worker{Name: "w", Revision: revision.This(), OnNotice: said.add}, coordinator: known,
				conn: conn, ctx: t.Context(), sweeps: map[sweep]*workerSweep{}, numbers: map[sweep]uint64{},
				wake: make(chan struct{}, 1)}
			for i, x := range []struct {
				data   []byte
				sweeps int
			}{
				{encode(a), 0},                    // not signed
				{[]byte("{}"), 0},                 // what JetStream sends
				{changed(signedBy(own, a)), 0},    // another text with the signature
				{signedBy(own, a), 1},             //
				{signedBy(other, over), 1},        // another's
				{encode(over), 1},                 //
				{changed(signedBy(own, over)), 1}, //
				{signedBy(own, announcement{Sweep: "X1", Over: true, Number: 5}), 1}, // an old one
				{signedBy(own, over), 0}, //
				{signedBy(own, a), 0},    // sent again
				{signedBy(own, announcement{Sweep: "X1.>", Number: 7}), 0},
			} {
				w.receiveAnnouncement(&nats.Msg{Data: x.data})
				w.lock.Lock()
				if len(w.sweeps) != x.sweeps {
					t.Errorf("after announcement %d: %d sweeps, want %d", i, len(w.sweeps), x.sweeps)
				}
				w.lock.Unlock()
			}
			if said.count("without the coordinator's signature") != 1 {
				t.Errorf("%q", said.texts())
			}
		}
	})
}

// TestCoordinator_BoundsFloodOfReports makes a worker report in the names of thousands of others, with long names
// and large reports. The coordinator's memory of them is bounded, and the sweep continues.
func TestCoordinator_BoundsFloodOfReports(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := sweepOf(t, 6)
		want := here(t, s)
		p := newParty(t)
		long := strings.Repeat("N\x1b", 10_000)
		p.guests(func(j *Join) {
			w := newPuppet(p, j, "evil")
			for i := range 300 {
				id := fmt.Sprintf("invented%d", i)
				w.conn.Publish(w.about.Sweep.subject("far"), encode(begun{Worker: id, Name: long, Run: "x"}))
				w.conn.Publish(w.about.Sweep.subject("begun"), encode(begun{Worker: id, Name: long, Run: "x"}))
				w.conn.Publish(w.about.Sweep.subject("hello"), encode(hello{Worker: id, Name: long, Host: long, Unable: long}))
				w.conn.Flush()
			}
			for i := range maxMembers + 100 {
				w.conn.Publish(w.about.Sweep.subject("hello"), encode(hello{Worker: fmt.Sprintf("polite%d", i), Name: "polite",
					Revision: revision.This()}))
			}
			w.conn.Publish(w.about.Sweep.subject("hello"), encode(hello{Worker: "no id", Revision: revision.This()}))
			w.conn.Flush()
			if err := w.conn.Publish(w.about.Sweep.subject("done.x"), make([]byte, 4<<20)); !errors.Is(err,
				nats.ErrMaxPayload) {
				t.Errorf("a message of 4 MB: %v", err)
			}
			for i := range 200 { // their digests are none
				w.conn.Publish(w.about.Sweep.subject("part"), encode(part{Worker: w.hello.Worker, Size: maxInline + 1,
					Digest: fmt.Sprintf("%d%0500000d", i, 0)}))
				w.conn.Flush()
			}
			if err := publishReport(t.Context(), w.conn, w.about.Sweep,
				&done{Worker: "evil", Run: "x", Data: make([]byte, 450<<10)}); err == nil {
				t.Error("a report of 600 kB is taken")
			}
			w.leave()
			p.worker(Worker{Name: "honest"}, j)
		})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		o, c, err := p.execute(t.Context(), s)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if err != nil || o.Missing+len(o.Failed) > 0 {
			t.Fatalf("%v, %+v", err, o)
		}
		p.same(want)
		if len(c.partials) > 0 {
			t.Errorf("%d large results by no digest", len(c.partials))
		}
		if len(c.members) > maxMembers || after.HeapAlloc > before.HeapAlloc+40e6 {
			t.Errorf("%d members, %d MB more than before", len(c.members), (after.HeapAlloc-before.HeapAlloc)>>20)
		}
		for _, text := range p.notices.texts() {
			if len(text) > 3*maxErrorBytes || strings.Contains(text, "\x1b") {
				t.Errorf("a notice of %d bytes: %.200q", len(text), text)
			}
		}
		if n := len(p.notices.texts()); n > 2*maxNoticed {
			t.Errorf("%d notices", n)
		}
	})
}

// TestTruncate_CutsBetweenCharacters checks that texts of workers are cut between characters and act on no terminal.
func TestTruncate_CutsBetweenCharacters(t *testing.T) {
	for s, want := range map[string]string{"": "", "abcdef": "abcdef", "abcdefg": "abcdef…",
		"äöüß": "äöü…", "a\x1b": `a\u001b`,
		"abcd€€": "abcd…"} {
		if got := truncate(s, 6); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	for id, want := range map[string]bool{"AZ27": true, "w": true, "": false, "a b": false, "a.b": false, "ä": false,
		strings.Repeat("a", maxIDBytes): true, strings.Repeat("a", maxIDBytes+1): false} {
		if isID(id) != want {
			t.Errorf("%q: %v", id, !want)
		}
	}
}
