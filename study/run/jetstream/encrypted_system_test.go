//go:build system

package jetstream

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"weir/internal/testkit/await"
)

// TestServer_EncryptsBeyondLoopback checks that connections beyond the loopback interface are encrypted, and that a
// worker verifies the server's certificate. A connection without it, with another certificate or with another key
// fails.
func TestServer_EncryptsBeyondLoopback(t *testing.T) {
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
	secrets := &secrets{Coordinator: own.Coordinator, Worker: own.Worker, Certificate: &c}
	s, err := serve("127.0.0.1:0", t.TempDir(), secrets, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
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
			var dialer countingDialer // a connection with a key is tried again and again
			conn, err := (&Join{Address: "nats://" + s.address(), Key: x.key, Certificate: x.certificate,
				Coordinator: publicKey(own.Coordinator)}).connect("test",
				nats.SetCustomDialer(&dialer))
			if err != nil && !x.in {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			await.AwaitCondition(t, "a connection, or a third attempt", func() bool {
				return conn.IsConnected() ||
					dialer.Load() > 2
			})
			if conn.IsConnected() != x.in {
				t.Fatalf("connected: %v, want %v", conn.IsConnected(), x.in)
			}
			if !x.in {
				return
			}
			if _, err := conn.TLSConnectionState(); err != nil {
				t.Errorf("it is not encrypted: %v", err)
			}
		})
	}
}

// certificate returns a certificate for localhost, and its authority.
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

// countingDialer counts attempts to connect.
type countingDialer struct{ atomic.Int64 }

// Dial connects by TCP.
func (d *countingDialer) Dial(network, address string) (net.Conn, error) {
	d.Add(1)
	return net.Dial(network, address)
}

// TestForeignEncrypted checks that a tls: URL is always verified with the system's certificates (SSL_CERT_FILE).
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
	s := startForeign(t, &server.Options{JetStream: true, TLS: true, TLSTimeout: 30,
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
