package jetstream

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"weir/internal/revision"
	"weir/study/run"
)

// foreign is a server that somebody else runs.
func foreign(t *testing.T, o *server.Options) *server.Server {
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

// pair is a key, its public part and its seed.
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

// resolved is a server as operators of NATS have them: accounts are JWTs, and users come with theirs. Of its two
// accounts one has JetStream; their users' credentials are returned.
func resolved(t *testing.T, o *server.Options) (s *server.Server, with, without string) {
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
	return foreign(t, o), with, without
}

// stores are the streams of a server.
func stores(t *testing.T, j *Join) (names []string) {
	t.Helper()
	conn, err := j.connect("test")
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

// Servers that others run are used with credentials and with an nkey: same bytes, and nothing is left there. Two sweeps
// at once share their workers. One that is interrupted leaves its queue there, and goes on with it.
func TestForeign(t *testing.T) {
	cluster, creds, _ := resolved(t, &server.Options{JetStream: true})
	_, user, seed := pair(t, nkeys.CreateUser)
	keys := foreign(t, &server.Options{JetStream: true, Nkeys: []*server.NkeyUser{{Nkey: user}}})
	for name, j := range map[string]*Join{
		"credentials": {Address: cluster.ClientURL(), Credentials: creds},
		"nkey":        {Address: keys.ClientURL(), Credentials: private(t, "user.nk", seed+"\n")},
	} {
		t.Run(name, func(t *testing.T) { tryForeign(t, j) })
	}
}

// tryForeign carries out two sweeps at once on a server, of which one is interrupted and goes on.
func tryForeign(t *testing.T, j *Join) {
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
		w := Worker{Name: name, Jobs: 1, Registry: registry(), Revision: revision.This(), change: waits}
		group.Go(func() {
			if err := w.Work(workers, j); err != nil {
				t.Error(err)
			}
		})
	}
	var sweeps sync.WaitGroup
	for _, runs := range []int{20, 60} {
		s := sweepOf(t, runs)
		want := here(t, s)
		p := newParty(t)
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
				if left := stores(t, j); !strings.Contains(strings.Join(left, " "), "weir-runs-") {
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
	if left := stores(t, j); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// A server of others that cannot be used is an error at once that says why, of weir run and of a worker alike, without
// passwords.
func TestForeignRefused(t *testing.T) {
	cluster, _, poor := resolved(t, &server.Options{JetStream: true})
	_, other, _ := resolved(t, &server.Options{JetStream: true})
	_, user, _ := pair(t, nkeys.CreateUser)
	keys := foreign(t, &server.Options{JetStream: true, Nkeys: []*server.NkeyUser{{Nkey: user}}})
	_, _, seed := pair(t, nkeys.CreateUser)
	plain, closed := foreign(t, &server.Options{}), foreign(t, &server.Options{JetStream: true})
	address := closed.ClientURL()
	closed.Shutdown()
	closed.WaitForShutdown()
	for name, x := range map[string]struct {
		j    Join
		want string
	}{
		"another cluster's": {Join{Address: cluster.ClientURL(), Credentials: other},
			"lets nobody in with the credentials of"},
		"another nkey": {Join{Address: keys.ClientURL(), Credentials: private(t, "x.nk", seed)},
			"lets nobody in with the"},
		"none":         {Join{Address: keys.ClientURL()}, "lets nobody in without credentials (--creds FILE)"},
		"no JetStream": {Join{Address: plain.ClientURL()}, "has no JetStream"},
		"not for the account": {Join{Address: cluster.ClientURL(), Credentials: poor},
			"has no JetStream for this user's account"},
		"not there": {Join{Address: strings.Replace(address, "//", "//me:sesame@", 1)},
			"the server " + address + ": nats: no servers available"},
		"no file":   {Join{Address: cluster.ClientURL(), Credentials: "nowhere"}, "nowhere: no such file"},
		"no key":    {Join{Address: cluster.ClientURL(), Credentials: private(t, "x", "sesame")}, "it has no key of a user"},
		"no scheme": {Join{Address: "http://me:sesame@127.0.0.1:1"}, `an address of "http" is none of NATS`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t)
			p.config.Listen, p.config.Server = "", &x.j
			_, _, err := p.execute(t.Context(), sweepOf(t, 2))
			if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "sesame") {
				t.Errorf("a coordinator: %v", err)
			}
			err = Worker{Registry: registry(), Revision: revision.This()}.Work(t.Context(), &x.j)
			if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "sesame") {
				t.Errorf("a worker: %v", err)
			}
		})
	}
}

// certificate is one for localhost, and who has signed it.
func certificate(t *testing.T) (c tls.Certificate, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, x, x, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// A URL of tls: is checked with the system's certificates (SSL_CERT_FILE), and there is no way around.
func TestForeignEncrypted(t *testing.T) {
	const address, known = "WEIR_TEST_TLS", "WEIR_TEST_KNOWN"
	if a := os.Getenv(address); a != "" {
		conn, err := (&Join{Address: a}).connect("test")
		if (err == nil) != (os.Getenv(known) == "yes") {
			t.Fatal(err)
		}
		if err != nil {
			if !strings.Contains(err.Error(), "certificate signed by unknown authority") {
				t.Error(err)
			}
			return
		}
		defer conn.Close()
		if _, err := conn.TLSConnectionState(); err != nil {
			t.Error(err)
		}
		return
	}
	c, authority := certificate(t)
	_, other := certificate(t)
	s := foreign(t, &server.Options{JetStream: true, TLS: true, TLSTimeout: 30,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS13}})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{private(t, "a.pem", authority): "yes", private(t, "b.pem", other): "no"} {
		url := strings.Replace(s.ClientURL(), "127.0.0.1", "localhost", 1)
		cmd := exec.Command(self, "-test.run=^TestForeignEncrypted$", "-test.v")
		cmd.Env = append(os.Environ(), address+"="+strings.Replace(url, "nats://", "tls://", 1), known+"="+want,
			"SSL_CERT_FILE="+file, "SSL_CERT_DIR="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// A worker whose file to join with is an old one ends, and says so: at its address there is another sweep now.
func TestOldJoin(t *testing.T) {
	old, err := newSecrets("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	now, err := openSecrets(t.TempDir(), "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve("127.0.0.1:0", t.TempDir(), now, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = Worker{Registry: registry(), Revision: revision.This()}.Work(t.Context(),
		&Join{Address: "nats://" + s.Address(), Key: old.Worker})
	if err == nil || !strings.Contains(err.Error(), "does not let this worker in") ||
		strings.Contains(err.Error(), old.Worker) {
		t.Error(err)
	}
}
