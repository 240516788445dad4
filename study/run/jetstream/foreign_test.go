package jetstream

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"weir/internal/revision"
	"weir/study/run"
)

// foreign starts a server that is not Weir's, and returns its URL.
func (n *network) foreign(t *testing.T, o *server.Options) string {
	t.Helper()
	o.DontListen = true
	n.lock.Lock()
	n.port++
	address := fmt.Sprintf("127.0.0.1:%d", n.port)
	n.lock.Unlock()
	n.add(address, startForeign(t, o))
	return "nats://" + address
}

// startForeign starts a server that is not Weir's.
func startForeign(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.Port, o.NoLog, o.NoSigs, o.StoreDir = "127.0.0.1", server.RANDOM_PORT, true, true, t.TempDir()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the server does not begin")
	}
	return s
}

// pair returns a key, its public part and its seed.
func pair(t *testing.T, make func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string, string) {
	t.Helper()
	k, err := make()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := k.PublicKey()
	seed, _ := k.Seed()
	return k, public, string(seed)
}

// private writes a file of secrets.
func private(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// resolved starts a server as operators of NATS configure it: accounts are JWTs, and users present theirs. One of
// its two accounts has JetStream. It returns the URL and the credentials of a user of each.
func (n *network) resolved(t *testing.T, o *server.Options) (url, with, without string) {
	t.Helper()
	operator, operatorKey, _ := pair(t, nkeys.CreateOperator)
	o.TrustedKeys = []string{operatorKey}
	accounts := &server.MemAccResolver{}
	o.AccountResolver = accounts
	account := func(stores bool) (creds, public string) {
		k, public, _ := pair(t, nkeys.CreateAccount)
		c := jwt.NewAccountClaims(public)
		if stores {
			c.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
		}
		token, err := c.Encode(operator)
		if err != nil {
			t.Fatal(err)
		}
		accounts.Store(public, token)
		_, user, seed := pair(t, nkeys.CreateUser)
		if token, err = jwt.NewUserClaims(user).Encode(k); err != nil {
			t.Fatal(err)
		}
		text, err := jwt.FormatUserConfig(token, []byte(seed))
		if err != nil {
			t.Fatal(err)
		}
		return private(t, "user.creds", string(text)), public
	}
	_, o.SystemAccount = account(false)
	with, _ = account(true)
	without, _ = account(false)
	return n.foreign(t, o), with, without
}

// stores returns the names of the streams of a server.
func (n *network) stores(t *testing.T, j *Join) (names []string) {
	t.Helper()
	conn, err := j.connect("test", nats.SetCustomDialer(n))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for name := range js.StreamNames(t.Context()).Name() {
		names = append(names, name)
	}
	return names
}

// TestForeignServer_GivesSameBytes checks sweeps over servers that are not Weir's, with credentials and with an
// nkey. The bytes are the same, and the server is empty afterwards. Two concurrent sweeps share their workers. One
// that is interrupted leaves its queue on the server, and continues with it.
func TestForeignServer_GivesSameBytes(t *testing.T) {
	runBubble(t, "credentials", func(t *testing.T) {
		n := newNetwork()
		url, creds, _ := n.resolved(t, &server.Options{JetStream: true})
		tryForeign(t, n, &Join{Address: url, Credentials: creds})
	})
	runBubble(t, "nkey", func(t *testing.T) {
		n := newNetwork()
		_, user, seed := pair(t, nkeys.CreateUser)
		url := n.foreign(t, &server.Options{JetStream: true, Nkeys: []*server.NkeyUser{{Nkey: user}}})
		tryForeign(t, n, &Join{Address: url, Credentials: private(t, "user.nk", seed+"\n")})
	})
}

// tryForeign executes two sweeps at once on a server. One of them is interrupted and continues.
func tryForeign(t *testing.T, n *network, j *Join) {
	var group sync.WaitGroup
	workers, end := context.WithCancel(context.Background())
	defer group.Wait()
	defer end()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var made atomic.Int64
	waits := func(data []byte) []byte { // not all may be made before one sweep is interrupted
		if made.Add(1) > 20 {
			halfSecond(ctx.Done())
		}
		return data
	}
	for _, name := range []string{"a", "b"} {
		w := Worker{Name: name, Jobs: 1, Registry: registry(), Revision: revision.This(), change: waits,
			transport: n.transport()}
		group.Go(func() {
			if err := w.ExecuteRuns(workers, j); err != nil {
				t.Error(err)
			}
		})
	}
	var sweeps sync.WaitGroup
	for _, runs := range []int{20, 60} {
		s := sweepOf(t, runs)
		want := here(t, s)
		p := newParty(t)
		p.connect(n)
		p.config.storage = jetstream.FileStorage
		p.config.Listen, p.config.Server, p.config.Jobs = "", j, 1
		sweeps.Go(func() {
			if runs == 60 { // its own results come one by one
				p.halted, p.config.change = ctx.Done(), p.waits
				p.progress = func(now run.Progress) {
					if now.Done > 0 {
						stop()
					}
				}
				if o, _, err := p.execute(ctx, s); err != nil || o.Missing == 0 {
					t.Error(err, "it was not interrupted")
				}
				p.progress = nil
				if left := n.stores(t, j); !strings.Contains(strings.Join(left, " "), "weir-runs-") {
					t.Errorf("it left %q", left)
				}
			}
			if o, _, err := p.execute(t.Context(), s); err != nil || o.Missing+len(o.Failed) > 0 {
				t.Error(err, o)
			}
			p.same(want)
		})
	}
	sweeps.Wait()
	if left := n.stores(t, j); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// TestForeignRefused checks that an unusable external server is an immediate error with the reason, for weir run
// and for a worker. The error has no passwords.
func TestForeignRefused(t *testing.T) {
	for name, want := range map[string]string{
		"another cluster's":   "rejects the credentials in",
		"another nkey":        "rejects the",
		"none":                "requires credentials (--creds FILE)",
		"no JetStream":        "has no JetStream",
		"not for the account": "has no JetStream for this user's account",
		"not there":           "the server nats://127.0.0.1:1: nats: no servers available",
		"no file":             "nowhere: no such file",
		"no key":              "the file has no user key",
		"no scheme":           `the address has the unknown scheme "http"`,
	} {
		runBubble(t, name, func(t *testing.T) {
			n := newNetwork()
			j := n.unusable(t, name)
			p := newParty(t)
			p.connect(n)
			p.config.Listen, p.config.Server = "", j
			_, _, err := p.execute(t.Context(), sweepOf(t, 2))
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sesame") {
				t.Errorf("a coordinator: %v", err)
			}
			err = Worker{Registry: registry(), Revision: revision.This(), transport: n.transport()}.ExecuteRuns(t.Context(), j)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sesame") {
				t.Errorf("a worker: %v", err)
			}
		})
	}
}

// unusable starts a server that cannot be used, and returns the way to join it.
func (n *network) unusable(t *testing.T, why string) *Join {
	cluster := func() (url, with, without string) { return n.resolved(t, &server.Options{JetStream: true}) }
	keys := func() string {
		_, user, _ := pair(t, nkeys.CreateUser)
		return n.foreign(t, &server.Options{JetStream: true, Nkeys: []*server.NkeyUser{{Nkey: user}}})
	}
	switch why {
	case "another cluster's":
		url, _, _ := cluster()
		_, other, _ := cluster()
		return &Join{Address: url, Credentials: other}
	case "another nkey":
		_, _, seed := pair(t, nkeys.CreateUser)
		return &Join{Address: keys(), Credentials: private(t, "x.nk", seed)}
	case "none":
		return &Join{Address: keys()}
	case "no JetStream":
		return &Join{Address: n.foreign(t, &server.Options{})}
	case "not for the account":
		url, _, without := cluster()
		return &Join{Address: url, Credentials: without}
	case "not there":
		return &Join{Address: "nats://me:sesame@127.0.0.1:1"}
	case "no file":
		return &Join{Address: "nats://127.0.0.1:1", Credentials: "nowhere"}
	case "no key":
		return &Join{Address: "nats://127.0.0.1:1", Credentials: private(t, "x", "sesame")}
	}
	return &Join{Address: "http://me:sesame@127.0.0.1:1"}
}

// TestOldJoin checks that a worker with an outdated join file ends with an error, because another sweep uses its
// address.
func TestOldJoin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		old, err := newSecrets("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		now, err := openSecrets(t.TempDir(), "127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		n := newNetwork()
		s, err := n.serve("127.0.0.1:0", t.TempDir(), now, "x")
		if err != nil {
			t.Fatal(err)
		}
		defer s.stop()
		err = Worker{Registry: registry(), Revision: revision.This(), transport: n.transport()}.ExecuteRuns(t.Context(),
			&Join{Address: "nats://" + s.address(), Key: old.Worker, Coordinator: publicKey(old.Coordinator)})
		if err == nil || !strings.Contains(err.Error(), "rejects this worker") ||
			strings.Contains(err.Error(), old.Worker) {
			t.Error(err)
		}
	})
}
