package webserver

import (
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of a client. An event stream sets its own deadline before each write.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second // of a whole request
	writeTimeout  = 10 * time.Minute // of a response
	idleTimeout   = 2 * time.Minute  // between requests
	maxHeader     = 1 << 16          // bytes

	// MaxConnections limits the connections of one listener (LimitConnections).
	MaxConnections = 256
)

// New returns a server with limits on its clients' time: for headers, bodies, unfinished responses, and between
// requests. It does not log.
func New(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: log.New(discard{}, "", 0)}
}

// discard drops a server's log of broken connections.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// LimitConnections returns a listener that accepts a connection only while fewer than the given number are open. Others
// wait in the kernel. Closing it closes l.
func LimitConnections(l net.Listener, connections int) net.Listener {
	return &limited{Listener: l, open: make(chan struct{}, connections), closed: make(chan struct{})}
}

// limited is a listener with a limit of open connections.
type limited struct {
	net.Listener
	open   chan struct{}
	closed chan struct{}
	once   sync.Once
}

// Accept waits until the limit allows a connection and one arrives. The connection counts until it is closed. After
// Close it returns net.ErrClosed.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.open <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.open
		return nil, err
	}
	return &counted{Conn: c, free: sync.OnceFunc(func() { <-l.open })}, nil
}

// Close stops listening.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// counted is a connection that frees its place when it is closed.
type counted struct {
	net.Conn
	free func()
}

func (c *counted) Close() error {
	defer c.free()
	return c.Conn.Close()
}
