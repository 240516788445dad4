package jetstream

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"weir/internal/bind"
)

// secrets are the keys of a server's users and its certificate.
type secrets struct {
	Coordinator, Worker string           // seeds of their nkeys
	Certificate         *tls.Certificate // nil: connections are not encrypted
	authority           []byte           // PEM of the certificate's signer
}

// stored is the form of secrets in their file.
type stored struct {
	Coordinator string `json:"coordinator"`
	Worker      string `json:"worker"`
	Certificate string `json:"certificate,omitempty"` // PEM
	Key         string `json:"key,omitempty"`
}

// newSecrets draws keys, and creates a certificate for a year unless the host is loopback.
func newSecrets(host string) (*stored, error) {
	s := &stored{}
	for _, to := range []*string{&s.Coordinator, &s.Worker} {
		k, err := nkeys.CreateUser()
		if err != nil {
			return nil, err
		}
		seed, err := k.Seed()
		if err != nil {
			return nil, err
		}
		*to = string(seed)
	}
	if bind.IsLoopback(host) {
		return s, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	number, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	c := &x509.Certificate{SerialNumber: number, Subject: pkix.Name{CommonName: certifiedName},
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true, IsCA: true,
		DNSNames: []string{certifiedName}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	b, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	s.Certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	s.Key = string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: b}))
	return s, nil
}

// certifiedName is the host name in all certificates: workers verify the certificate itself, independent of the
// server's address.
const certifiedName = "weir"

// openSecrets reads the secrets of a folder, or draws and writes new ones. It also draws new ones if the
// host needs a certificate and the folder has no certificate, or the reverse. A restarted coordinator has the same
// secrets, so that its workers can return.
func openSecrets(dir, host string) (*secrets, error) {
	name := filepath.Join(dir, "secrets.json")
	data, err := os.ReadFile(name)
	s := &stored{}
	if err == nil {
		if err = json.Unmarshal(data, s); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if errors.Is(err, os.ErrNotExist) || err == nil && (s.Certificate == "") != bind.IsLoopback(host) {
		if s, err = newSecrets(host); err != nil {
			return nil, err
		}
		data, _ = json.Marshal(s) // strings can always be encoded
		err = writePrivate(name, data)
	}
	if err != nil {
		return nil, err
	}
	x := &secrets{Coordinator: s.Coordinator, Worker: s.Worker}
	if s.Certificate != "" {
		c, err := tls.X509KeyPair([]byte(s.Certificate), []byte(s.Key))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		x.Certificate, x.authority = &c, []byte(s.Certificate)
	}
	return x, nil
}

// writePrivate writes a file with mode 0600, and replaces an existing one atomically.
func writePrivate(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".private") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// publicKey returns the public key of a seed, or "" if the seed is invalid.
func publicKey(seed string) string {
	k, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return ""
	}
	p, _ := k.PublicKey()
	return p
}

// listUsers returns a server's two users for sweep x: the coordinator may use all subjects of its account, workers only
// those that they need.
func (s *secrets) listUsers(x sweep, coordinator, workers *server.Account) []*server.NkeyUser {
	return []*server.NkeyUser{{Nkey: publicKey(s.Coordinator), Account: coordinator},
		{Nkey: publicKey(s.Worker), Account: workers, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: x.services()},
			Subscribe: &server.SubjectPermission{Allow: append(x.streamsOut(), workerInbox+".>")}}}}
}

// workerInbox is the prefix of reply subjects to workers.
const workerInbox = "_INBOX_WEIR"

// withSeed returns a connection option for the user with the given nkey seed.
func withSeed(seed string) (nats.Option, error) {
	k, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return nil, fmt.Errorf("the key is not a user key: %w", err)
	}
	p, err := k.PublicKey()
	if err != nil {
		return nil, err
	}
	return nats.Nkey(p, k.Sign), nil
}
