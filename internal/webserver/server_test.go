package webserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are in memory.
type pipes struct {
	incoming chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func newPipes() *pipes { return &pipes{incoming: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.incoming:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// dial returns the client's end of a new connection.
func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.incoming <- server
	return client
}

// serving runs f next to a server with a handler, in a bubble.
func serving(t *testing.T, h http.HandlerFunc, f func(t *testing.T, p *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		p, s, ended := newPipes(), New(h), make(chan struct{})
		go func() {
			defer close(ended)
			s.Serve(p)
		}()
		f(t, p)
		s.Close()
		<-ended
		synctest.Wait()
	})
}

// lifetime writes text to a connection and returns the time until the server closed it. The client reads all data.
func lifetime(t *testing.T, c net.Conn, text string) time.Duration {
	t.Helper()
	start := time.Now()
	go io.WriteString(c, text)
	if _, err := io.Copy(io.Discard, c); err != nil {
		t.Error(err)
	}
	c.Close()
	return time.Since(start)
}

// TestSlowClients checks that no client keeps a connection by a request that it does not finish.
func TestSlowClients(t *testing.T) {
	for _, x := range []struct {
		name, text string
		limit      time.Duration
	}{
		{"no request", "", headerTimeout},
		{"half a header", "GET / HTTP/1.1\r\nHost: x\r\n", headerTimeout},
		{"body of one byte", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\nx", readTimeout},
		{"chunked body", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", readTimeout},
		{"body that is read", "POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\nx", readTimeout},
		{"nothing after a request", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", idleTimeout},
		{"head with a body", "HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", readTimeout},
	} {
		t.Run(x.name, func(t *testing.T) {
			serving(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/read" {
					io.Copy(io.Discard, r.Body)
				}
				w.WriteHeader(http.StatusUnauthorized)
			}, func(t *testing.T, p *pipes) {
				const clients, linger = 300, time.Second // net/http waits half a second after an early answer
				var group sync.WaitGroup
				for range clients {
					c := p.dial()
					group.Go(func() {
						if d := lifetime(t, c, x.text); d > x.limit+linger {
							t.Errorf("closed after %v, at most %v expected", d, x.limit+linger)
						}
					})
				}
				group.Wait()
			})
		})
	}
}

// TestStreamOutlivesReadTimeout checks that a stream of events lasts as long as its handler and its reader want. Its
// handler moves the deadline of each write.
func TestStreamOutlivesReadTimeout(t *testing.T) {
	const events = 1000
	serving(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		for i := range events {
			control.SetWriteDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprintf(w, "data: %d\n\n", i)
			control.Flush()
			select {
			case <-r.Context().Done():
				t.Errorf("ended after %d events", i)
				return
			case <-time.After(time.Second):
			}
		}
	}, func(t *testing.T, p *pipes) {
		c := p.dial()
		defer c.Close()
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for s := bufio.NewScanner(response.Body); s.Scan(); lines++ {
		}
		if lines != 2*events {
			t.Errorf("%d lines, want %d", lines, 2*events)
		}
	})
}

// TestUnreadResponse checks that a client that does not read its response loses the connection.
func TestUnreadResponse(t *testing.T) {
	for _, deadline := range []time.Duration{0, 10 * time.Second} {
		ended := make(chan time.Duration, 1)
		serving(t, func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			control := http.NewResponseController(w)
			for {
				if deadline > 0 {
					control.SetWriteDeadline(time.Now().Add(deadline))
				}
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					ended <- time.Since(start)
					return
				}
			}
		}, func(t *testing.T, p *pipes) {
			c := p.dial()
			defer c.Close()
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			want := deadline
			if want == 0 {
				want = writeTimeout
			}
			time.Sleep(want + time.Second)
			select {
			case d := <-ended:
				if d > want {
					t.Errorf("ended after %v, want %v", d, want)
				}
			default:
				t.Errorf("it goes on after %v", want)
			}
		})
	}
}

// TestLimitConnections_WaitsAtLimit checks that a connection waits while the limit is reached, and that Close ends
// the wait.
func TestLimitConnections_WaitsAtLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		l := LimitConnections(p, 2)
		var accepted []net.Conn
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted = append(accepted, c)
			}
		}()
		p.dial()
		p.dial()
		third := make(chan net.Conn)
		go func() { third <- p.dial() }()
		synctest.Wait()
		if len(accepted) != 2 {
			t.Fatalf("%d connections, want 2", len(accepted))
		}
		first := accepted[0]
		first.Close()
		first.Close() // frees one place, once
		<-third
		synctest.Wait()
		if len(accepted) != 3 {
			t.Errorf("%d connections after one was closed, want 3", len(accepted))
		}
		l.Close()
	})
}
