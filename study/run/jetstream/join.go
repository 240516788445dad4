package jetstream

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"weir/internal/document"
)

// Join is all that a worker needs to find a coordinator's server and to be let in: a file of it is as good as a key.
type Join struct {
	Address     string `json:"address"`               // URL of NATS: nats://host:port
	Key         string `json:"key,omitempty"`         // seed of an nkey
	Certificate string `json:"certificate,omitempty"` // PEM, of the server; else the system checks a URL of tls:
	Credentials string `json:"credentials,omitempty"` // name of a file that NATS has for users (.creds)
}

// ReadJoin reads a file of it. One that others can read is refused: it has a key.
func ReadJoin(name string) (*Join, error) {
	info, err := os.Stat(name)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, document.InputErrors{{File: name, Line: 1, Column: 1,
			Msg: fmt.Sprintf("others can read it (mode %04o), and it has a key", info.Mode().Perm()), Allowed: "0600"}}
	}
	data, err := document.ReadFile(name, 1<<20)
	if err != nil {
		return nil, document.InputErrors{{File: name, Line: 1, Column: 1, Msg: fmt.Sprintf("it cannot be read: %v",
			document.Reason(err))}}
	}
	j := &Join{}
	if err = json.Unmarshal(data, j); err == nil && j.Address == "" {
		err = errors.New("it has no address")
	}
	if err != nil {
		return nil, document.InputErrors{{File: name, Line: 1, Column: 1,
			Msg: fmt.Sprintf("it is not what weir writes for workers to join: %v", err)}}
	}
	return j, nil
}

// write makes a file of it.
func (j *Join) write(name string) error {
	data, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	return writePrivate(name, append(data, '\n'))
}

// connect reaches the server, also if it comes later, and again whenever the connection breaks.
func (j *Join) connect(name string, options ...nats.Option) (*nats.Conn, error) {
	options = append([]nats.Option{nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond), nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2), nats.Timeout(5 * time.Second), nats.ReconnectBufSize(-1),
		nats.RetryOnFailedConnect(true), nats.IgnoreAuthErrorAbort(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // what fails is done again
	}, options...)
	if j.Key != "" {
		o, err := withSeed(j.Key)
		if err != nil {
			return nil, err
		}
		options = append(options, o)
	}
	if j.Credentials != "" {
		options = append(options, nats.UserCredentials(j.Credentials))
	}
	if j.Certificate != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(j.Certificate)) {
			return nil, errors.New("its certificate is none")
		}
		options = append(options, nats.Secure(&tls.Config{RootCAs: pool, ServerName: certified,
			MinVersion: tls.VersionTLS13}))
	}
	conn, err := nats.Connect(j.Address, options...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.TrimSpace(j.Address), err)
	}
	return conn, nil
}
