package jetstream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server with JetStream in this process.
type Server struct {
	of  *server.Server
	dir string // of its files
}

// serve starts a server that listens on a host and port (0: some) and keeps its files in a folder. Users have keys, and
// beyond loopback the connection is encrypted.
func serve(address, dir string, secrets *Secrets, of sweep) (*Server, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q is no ADDRESS:PORT: %w", address, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return nil, fmt.Errorf("%q is no ADDRESS:PORT: the port is 0 to 65535", address)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	o := &server.Options{ServerName: "weir", Host: host, Port: port, NoLog: true, NoSigs: true, JetStream: true,
		StoreDir: dir, MaxPayload: largestMessage, Nkeys: secrets.users(of), JetStreamMaxMemory: 64 << 20,
		JetStreamMaxStore: 1 << 50} // the disk ends first
	if secrets.Certificate != nil {
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*secrets.Certificate}, MinVersion: tls.VersionTLS13}
		o.TLS, o.TLSTimeout = true, 5
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, fmt.Errorf("the server for workers: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		s.Shutdown()
		if l, err := net.Listen("tcp", address); err != nil {
			return nil, fmt.Errorf("the server for workers cannot listen: %w", err)
		} else {
			l.Close()
		}
		return nil, errors.New("the server for workers did not begin within 30 s")
	}
	x := &Server{of: s, dir: dir}
	if !s.JetStreamEnabled() {
		if err := x.Restart(); err != nil {
			x.Close()
			return nil, err
		}
	}
	return x, nil
}

// largestMessage is more than any message has: what is larger travels in pieces.
const largestMessage = 8 << 20

// Address is where it listens.
func (s *Server) Address() string { return s.of.Addr().String() }

// Enabled reports whether JetStream is at work. It stops when it cannot write.
func (s *Server) Enabled() bool { return s.of.JetStreamEnabled() }

// Restart lets JetStream go on with what its files have, after it has stopped.
func (s *Server) Restart() error {
	err := s.of.EnableJetStream(&server.JetStreamConfig{MaxMemory: 64 << 20, MaxStore: 1 << 50, StoreDir: s.dir})
	if err != nil {
		return fmt.Errorf("JetStream in %s: %w", s.dir, err)
	}
	return nil
}

// Close ends it. Its files stay.
func (s *Server) Close() {
	s.of.Shutdown()
	s.of.WaitForShutdown()
}

// room reports whether a folder's disk has room for so many bytes, by writing them.
func room(dir string, bytes int) bool {
	f, err := os.CreateTemp(dir, ".room")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_, err = f.Write(make([]byte, bytes))
	return err == nil && f.Sync() == nil
}

// queueFolder is where a coordinator keeps what belongs to its queue.
func queueFolder(dir string) string { return filepath.Join(dir, "queue") }
