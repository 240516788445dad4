package jetstream

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

// bufferedConn is the client's end of a connection within the process. Like TCP, it accepts the client's data at
// once, and still delivers the server's data from before the close. Its goroutines wait for conditions, so that a
// bubble's clock can advance. It needs no deadlines: an answer takes no time.
type bufferedConn struct {
	net.Conn
	lock     sync.Mutex
	changed  *sync.Cond
	received bytes.Buffer
	unsent   bytes.Buffer
	ended    bool // the server has closed it
	closed   bool // the client has closed it
}

func newBufferedConn(c net.Conn) *bufferedConn {
	b := &bufferedConn{Conn: c}
	b.changed = sync.NewCond(&b.lock)
	go b.receive()
	go b.send()
	return b
}

// receive reads the server's data.
func (b *bufferedConn) receive() {
	part := make([]byte, 32<<10)
	for {
		n, err := b.Conn.Read(part)
		b.lock.Lock()
		b.received.Write(part[:n])
		b.ended = err != nil
		b.changed.Broadcast()
		b.lock.Unlock()
		if err != nil {
			return
		}
	}
}

// send passes the client's data on, and closes the connection after the last byte.
func (b *bufferedConn) send() {
	defer b.Conn.Close()
	for {
		b.lock.Lock()
		for b.unsent.Len() == 0 && !b.closed && !b.ended {
			b.changed.Wait()
		}
		part := bytes.Clone(b.unsent.Bytes())
		b.unsent.Reset()
		b.lock.Unlock()
		if len(part) == 0 {
			return
		}
		if _, err := b.Conn.Write(part); err != nil {
			return
		}
	}
}

func (b *bufferedConn) Read(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	for b.received.Len() == 0 && !b.ended && !b.closed {
		b.changed.Wait()
	}
	switch {
	case b.closed:
		return 0, net.ErrClosed
	case b.received.Len() == 0:
		return 0, io.EOF
	}
	return b.received.Read(p)
}

func (b *bufferedConn) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.closed {
		return 0, net.ErrClosed
	}
	b.unsent.Write(p)
	b.changed.Broadcast()
	return len(p), nil
}

func (b *bufferedConn) Close() error {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.closed = true
	b.changed.Broadcast()
	return nil
}

// cut ends the connection at once. Data in flight is lost.
func (b *bufferedConn) cut() {
	b.lock.Lock()
	b.unsent.Reset()
	b.lock.Unlock()
	b.Conn.Close()
}

func (*bufferedConn) SetDeadline(time.Time) error      { return nil }
func (*bufferedConn) SetReadDeadline(time.Time) error  { return nil }
func (*bufferedConn) SetWriteDeadline(time.Time) error { return nil }
