package jetstream

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"
)

// Beyond loopback connections are encrypted, and a worker knows the server by its certificate: without that, with
// another or with another key it does not get in.
func TestEncrypted(t *testing.T) {
	made := func() *stored {
		s, err := newSecrets("192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	own, other := made(), made()
	c, err := tls.X509KeyPair([]byte(own.Certificate), []byte(own.Key))
	if err != nil {
		t.Fatal(err)
	}
	secrets := &Secrets{Coordinator: own.Coordinator, Worker: own.Worker, Certificate: &c}
	s, err := serve("127.0.0.1:0", t.TempDir(), secrets, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, x := range []struct {
		name, key, certificate string
		in                     bool
	}{
		{"as it should", own.Worker, own.Certificate, true},
		{"no certificate", own.Worker, "", false},
		{"another certificate", own.Worker, other.Certificate, false},
		{"another key", other.Worker, own.Certificate, false},
		{"no key", "", own.Certificate, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			conn, err := (&Join{Address: "nats://" + s.Address(), Key: x.key, Certificate: x.certificate}).connect("test")
			if err != nil && !x.in {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if x.in {
				until(t, "a connection", conn.IsConnected)
				if _, err := conn.TLSConnectionState(); err != nil {
					t.Errorf("it is not encrypted: %v", err)
				}
				return
			}
			for begun := time.Now(); time.Since(begun) < 600*time.Millisecond; time.Sleep(10 * time.Millisecond) {
				if conn.IsConnected() && conn.FlushTimeout(time.Second) == nil {
					t.Fatal("it is let in")
				}
			}
		})
	}
}

// Workers need an address that is this machine's for them, too.
func TestReachable(t *testing.T) {
	for listen, want := range map[string]string{"10.0.0.1:4222": "", "localhost:0": "", "[2001:db8::1]:1": "",
		":4222": "every address", "0.0.0.0:4222": "every address", "[::]:4222": "every address",
		"10.0.0.1": "no ADDRESS:PORT"} {
		if _, err := Reachable(listen); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", listen, err)
		}
	}
}
