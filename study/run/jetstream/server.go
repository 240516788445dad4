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

// Server is a NATS server with JetStream in this process.
type Server struct {
	lock    sync.Mutex
	of      *server.Server
	options *server.Options
	secrets *secrets // nil: it accepts every client
	sweep   sweep
}

// serve starts a server that listens on a host and port (0: any free port) and keeps its files in a folder. Users have
// keys, and connections that leave this machine are encrypted. Without secrets every client is accepted; only tests do
// that.
func serve(address, dir string, secrets *secrets, of sweep) (*Server, error) {
	return newServer(address, dir, secrets, of, true)
}

// newServer is serve. A server that does not listen is reached only through InProcessConn; its address is a name.
func newServer(address, dir string, secrets *secrets, of sweep, listens bool) (*Server, error) {
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
		DontListen: !listens, StoreDir: dir, MaxPayload: largestMessage, MaxConn: maxConnections,
		MaxSubs: maxSubscriptions, JetStreamMaxMemory: largestStores,
		JetStreamMaxStore: largestStores}
	if secrets != nil && secrets.Certificate != nil {
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*secrets.Certificate}, MinVersion: tls.VersionTLS13}
		o.TLS, o.TLSTimeout = true, 5
	}
	s := &Server{options: o, secrets: secrets, sweep: of}
	if err := s.start(); err != nil {
		return nil, err
	}
	if listens {
		o.Port = s.of.Addr().(*net.TCPAddr).Port // the same one again after a restart
	}
	return s, nil
}

// start starts it, with what its files have.
func (s *Server) start() error {
	if !room(s.options.StoreDir, 1<<20) {
		return fmt.Errorf("it cannot write into %s", s.options.StoreDir)
	}
	if !s.options.DontListen { // NATS does not report why it cannot listen, and only a timeout would show it
		l, err := bind.Listen(net.JoinHostPort(s.options.Host, strconv.Itoa(max(s.options.Port, 0))))
		if err != nil {
			return fmt.Errorf("the server for workers cannot listen: %w", err)
		}
		l.Close()
	}
	o := s.options.Clone()
	if s.secrets != nil {
		coordinator, workers := server.NewAccount(coordinatorAccount), server.NewAccount(workersAccount)
		o.Accounts, o.Nkeys = []*server.Account{coordinator, workers}, s.secrets.users(s.sweep, coordinator, workers)
	}
	of, err := server.NewServer(o)
	if err != nil {
		return fmt.Errorf("the server for workers: %w", err)
	}
	of.Start()
	if !of.ReadyForConnections(30 * time.Second) {
		of.Shutdown()
		return errors.New("the server for workers did not begin within 30 s")
	}
	if !of.JetStreamEnabled() {
		of.Shutdown()
		of.WaitForShutdown()
		return fmt.Errorf("JetStream does not begin with the files in %s", s.options.StoreDir)
	}
	if s.secrets != nil {
		if err := s.sweep.connectAccounts(of); err != nil {
			of.Shutdown()
			of.WaitForShutdown()
			return fmt.Errorf("JetStream does not begin with the files in %s: %w", s.options.StoreDir, err)
		}
	}
	s.lock.Lock()
	s.of = of
	s.lock.Unlock()
	return nil
}

func (s *Server) now() *server.Server {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.of
}

// InProcessConn is a connection with the server that is there now: nats.InProcessServer asks for one whenever the
// connection breaks.
func (s *Server) InProcessConn() (net.Conn, error) { return s.now().InProcessConn() }

// Address returns the host and port at which the server listens.
func (s *Server) Address() string {
	return net.JoinHostPort(s.options.Host, strconv.Itoa(s.options.Port))
}

// Sound reports whether all of it can write. A stream that could not write once, because its disk was full, does not
// try again before the server restarts; of what it cannot know JetStream stops altogether.
func (s *Server) Sound() bool {
	of := s.now()
	return of.JetStreamEnabled() && of.Healthz(nil).Error == ""
}

// Restart stops the server and starts it at the same address, with the content of its files. Clients connect again.
func (s *Server) Restart() error {
	s.Close()
	return s.start()
}

// Close ends it. Its files stay.
func (s *Server) Close() {
	of := s.now()
	of.Shutdown()
	of.WaitForShutdown()
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
