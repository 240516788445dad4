package jetstream

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats-server/v2/server/ats"
	"github.com/nats-io/nats.go/jetstream"
)

// network connects clients with servers of this process that have no listeners. Its connections can be cut.
type network struct {
	lock    sync.Mutex
	servers map[string]inProcess
	port    int
	conns   []*bufferedConn
	cut     bool
	waiting chan struct{} // taken while settle waits
}

func newNetwork() *network {
	return &network{servers: map[string]inProcess{}, waiting: make(chan struct{}, 1)}
}

// inProcess is a server without a listener.
type inProcess interface {
	InProcessConn() (net.Conn, error)
}

// branch returns a network with the same servers, whose connections are cut separately.
func (n *network) branch() *network {
	other := newNetwork()
	n.lock.Lock()
	defer n.lock.Unlock()
	maps.Copy(other.servers, n.servers)
	return other
}

// transport connects coordinators and workers with the network's servers. Queues are kept in memory.
func (n *network) transport() transport {
	return transport{serve: n.serve, dialer: n, sent: n.settle, storage: jetstream.MemoryStorage}
}

// settle waits until every goroutine of the bubble waits. NATS's client starts a goroutine when it sends an object. If
// the goroutine first runs after the object has been stored, it waits for ever, and the bubble cannot end.
func (n *network) settle() {
	n.waiting <- struct{}{}
	synctest.Wait()
	<-n.waiting
}

// serve starts a server at a name that looks like an address.
func (n *network) serve(address, dir string, secrets *secrets, of sweep) (*natsServer, error) {
	n.lock.Lock()
	if host, port, _ := net.SplitHostPort(address); port == "0" {
		n.port++
		address = net.JoinHostPort(host, fmt.Sprint(n.port))
	}
	n.lock.Unlock()
	s, err := newServer(address, dir, secrets, of, false)
	if err != nil {
		return nil, err
	}
	n.add(address, s)
	return s, nil
}

// add adds a server at an address.
func (n *network) add(address string, s inProcess) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.servers[address] = s
}

// Dial connects with the server at an address.
func (n *network) Dial(_, address string) (net.Conn, error) {
	n.lock.Lock()
	defer n.lock.Unlock()
	s := n.servers[address]
	if s == nil || n.cut {
		return nil, errors.New("connection refused")
	}
	pipe, err := s.InProcessConn()
	if err != nil {
		return nil, err
	}
	c := newBufferedConn(pipe)
	n.conns = append(n.conns, c)
	return c, nil
}

// set cuts all connections, or lets clients connect again.
func (n *network) set(cut bool) {
	n.lock.Lock()
	defer n.lock.Unlock()
	if n.cut = cut; cut {
		for _, c := range n.conns {
			c.cut()
		}
		n.conns = nil
	}
}

// bubble runs a test whose clock is synctest's. Servers and clients of the bubble are connected by a network.
//
// NATS shares two things among all servers of a process. Its clock of access times waits for a channel that belongs to
// no bubble, so it is started outside. Its clients keep timers in a sync.Pool, and a timer must not be used outside
// its bubble, so the pool is emptied before and after: two collections do that.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	ats.Register()
	defer ats.Unregister()
	emptyPools()
	defer emptyPools()
	synctest.Test(t, test)
}

// runBubble runs a subtest in a bubble.
func runBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, test) })
}

func emptyPools() {
	runtime.GC()
	runtime.GC()
}
