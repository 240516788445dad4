package jetstream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"weir/internal/bind"
)

// natsServer is a NATS server with JetStream in this process.
type natsServer struct {
	lock    sync.Mutex
	server  *server.Server
	options *server.Options
	secrets *secrets // nil: the server accepts every client
	sweep   sweep
}

// serve starts a server for sweep x that listens on a host and port (0: any free port) and keeps its files in dir.
// Users have keys, and connections beyond this machine are encrypted. Only tests pass nil secrets, with which the
// server accepts every client.
func serve(address, dir string, secrets *secrets, x sweep) (*natsServer, error) {
	return newServer(address, dir, secrets, x, true)
}

// newServer works as serve. Without listens, the server is reachable only through InProcessConn, and its address is a
// name.
func newServer(address, dir string, secrets *secrets, x sweep, listens bool) (*natsServer, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q is not an ADDRESS:PORT: %w", address, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 0 || port > 65535 {
		return nil, fmt.Errorf("%q is not an ADDRESS:PORT: the port is 0 to 65535", address)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	o := &server.Options{ServerName: "weir", Host: host, Port: port, NoLog: true, NoSigs: true, JetStream: true,
		DontListen: !listens, StoreDir: dir, MaxPayload: maxMessage, MaxConn: maxConnections,
		MaxSubs: maxSubscriptions, JetStreamMaxMemory: maxStoreBytes,
		JetStreamMaxStore: maxStoreBytes}
	if secrets != nil && secrets.Certificate != nil {
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*secrets.Certificate}, MinVersion: tls.VersionTLS13}
		o.TLS, o.TLSTimeout = true, 5
	}
	s := &natsServer{options: o, secrets: secrets, sweep: x}
	if err := s.start(); err != nil {
		return nil, err
	}
	if listens {
		o.Port = s.server.Addr().(*net.TCPAddr).Port // keep the port after a restart
	}
	return s, nil
}

// start starts the server with the contents of its folder. It returns an error if the folder is not writable, the
// address is in use, or the server is not ready within 30 s.
func (s *natsServer) start() error {
	if !hasSpace(s.options.StoreDir, 1<<20) {
		return fmt.Errorf("%s is not writable", s.options.StoreDir)
	}
	if !s.options.DontListen { // NATS reports a failure to listen only as a timeout
		l, err := bind.Listen(net.JoinHostPort(s.options.Host, strconv.Itoa(max(s.options.Port, 0))))
		if err != nil {
			return fmt.Errorf("the server for workers cannot listen: %w", err)
		}
		l.Close()
	}
	o := s.options.Clone()
	if s.secrets != nil {
		coordinator, workers := server.NewAccount(coordinatorAccount), server.NewAccount(workersAccount)
		o.Accounts, o.Nkeys = []*server.Account{coordinator, workers}, s.secrets.listUsers(s.sweep, coordinator, workers)
	}
	of, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("the server for workers: %w", err)
	}
	of.Start()
	if !of.ReadyForConnections(30 * time.Second) {
		of.Shutdown()
		return errors.New("the server for workers did not start within 30 s")
	}
	if !of.JetStreamEnabled() {
		of.Shutdown()
		of.WaitForShutdown()
		return fmt.Errorf("JetStream cannot start with the files in %s", s.options.StoreDir)
	}
	if s.secrets != nil {
		if err := s.sweep.connectAccounts(of); err != nil {
			of.Shutdown()
			of.WaitForShutdown()
			return fmt.Errorf("JetStream cannot start with the files in %s: %w", s.options.StoreDir, err)
		}
	}
	s.lock.Lock()
	s.server = of
	s.lock.Unlock()
	return nil
}

// current returns the running server, which restart replaces.
func (s *natsServer) current() *server.Server {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.server
}

// InProcessConn returns a connection to the current server. The option nats.InProcessServer calls it whenever the
// connection breaks.
func (s *natsServer) InProcessConn() (net.Conn, error) { return s.current().InProcessConn() }

// address returns the host and port at which the server listens.
func (s *natsServer) address() string {
	return net.JoinHostPort(s.options.Host, strconv.Itoa(s.options.Port))
}

// isHealthy reports whether all streams of the server can write. A stream that failed on a full disk does not try again
// until the server restarts. JetStream itself may stop.
func (s *natsServer) isHealthy() bool {
	of := s.current()
	return of.JetStreamEnabled() && of.Healthz(nil).Error == ""
}

// restart stops the server and starts it at the same address with the same files. Clients reconnect. After an error the
// server is stopped.
func (s *natsServer) restart() error {
	s.stop()
	return s.start()
}

// stop stops the server, waits for its end and keeps its files.
func (s *natsServer) stop() {
	of := s.current()
	of.Shutdown()
	of.WaitForShutdown()
}

// hasSpace reports whether a folder's disk has space for the given number of bytes, by writing them.
func hasSpace(dir string, bytes int) bool {
	f, err := os.CreateTemp(dir, ".room")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_, err = f.Write(make([]byte, bytes))
	return err == nil && f.Sync() == nil
}

// queueFolder returns the folder of a coordinator's queue in a results folder.
func queueFolder(dir string) string { return filepath.Join(dir, "queue") }
