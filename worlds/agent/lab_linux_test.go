//go:build lab || slow

package agent_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/sockdiag"
	"weir/internal/testkit/realtime"
	"weir/papers/ncf"
	"weir/worlds/agent"
	"weir/worlds/lab"
)

// role has the test binary be the data plane of a star.
const role = "WEIR_AGENT_STAR"

// star is a network of the lab: senders and, as the last host, a receiver around a switch with NCF, whose port to the
// receiver is the bottleneck.
type star struct {
	Hosts  int // with the receiver
	Rate   unit.Rate
	RTT    unit.Time
	Buffer unit.Length
	NCF    []string // options of the program; nil: there is none
}

const sampled = unit.Millisecond // how often the queue is looked at

func (s *star) config() *lab.Config {
	n := &topology.Network{Nodes: []topology.Node{{Name: "s", Switch: true}}}
	for i := range s.Hosts {
		l := topology.Link{Ends: [2]int{0, i + 1}, Delay: s.RTT / 4, Rate: unit.LinkRate{Bits: unit.Gbps},
			Buffer: unit.Length{Packets: 10000}}
		if i == s.Hosts-1 {
			l.Rate.Bits, l.Buffer = s.Rate, s.Buffer
		}
		n.Nodes = append(n.Nodes, topology.Node{Name: fmt.Sprint("h", i)})
		n.Links = append(n.Links, l)
	}
	routes := n.Routes()
	c := &lab.Config{Wiring: wiring.Config{Seed: 1, Network: n, Hosts: n.Addresses(),
		Switches: make([]wiring.SwitchConfig, len(n.Nodes))}, Duration: unit.Second * 600}
	c.Wiring.Framing, _ = packet.FramingByName("l2")
	c.Watches = []outcome.Watch{{What: outcome.QueuePackets, Index: 2 * (s.Hosts - 1), Every: sampled}}
	x := &c.Wiring.Switches[0]
	x.Routes = dataplane.HostRoutes(c.Wiring.Hosts, routes.PathsFrom(0))
	x.Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
		all := []dataplane.Program{forward.New(site)}
		if s.NCF == nil {
			return all, nil
		}
		p, err := dataplanetest.BuildProgram(ncf.Scheme(), site, s.NCF...)
		return append(all, p), err
	}
	if s.NCF != nil {
		x.Queues = 3
		x.Scheduler = func(queues int, r unit.LinkRate) (tm.Scheduler, error) {
			return tm.NewNCF(queues, tm.NCF{Control: 0.05, Mice: 0.1, Elephants: 0.1}, r.Bits, 1514, 3028)
		}
	}
	return c
}

// serveStar runs the data plane, if this process has that role.
func serveStar() (bool, error) {
	of, is := os.LookupEnv(role)
	if !is {
		return false, nil
	}
	var s star
	if err := json.Unmarshal([]byte(of), &s); err != nil {
		return true, err
	}
	return true, lab.Serve(s.config(), os.Stdin, os.Stdout)
}

// running is a star with its data plane.
type running struct {
	star
	t      testing.TB
	config *lab.Config
	net    *lab.Network
	plane  *lab.DataPlane
	flows  []*flow
	over   bool
}

// startLab starts a lab with the star's network and its switch, and stops both when the test ends.
func (s star) startLab(t testing.TB) *running {
	t.Helper()
	needAgent(t)
	r := &running{star: s, t: t, config: s.config()}
	var err error
	if r.net, err = lab.Open(r.config.Wiring.Network, r.config.Wiring.Hosts, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range r.flows {
			f.from.Close()
			f.to.Close()
		}
		if !r.over {
			r.plane.Kill()
		}
		if err := r.net.Close(); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	of, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), role+"="+string(of))
	if r.plane, err = r.net.Start(c); err != nil {
		t.Fatal(err)
	}
	return r
}

// in runs a function at host i.
func (r *running) in(i int, what func() error) {
	r.t.Helper()
	if err := r.net.Do(i+1, what); err != nil {
		r.t.Fatalf("h%d: %v", i, err)
	}
}

// agent starts one at host i, until the test ends.
func (r *running) agent(i int, c agent.Config) (a *agent.Agent) {
	r.t.Helper()
	c.Interface = lab.NIC
	r.in(i, func() (err error) { a, err = agent.Start(c); return err })
	r.t.Cleanup(func() {
		if err := a.Close(); err != nil {
			r.t.Error(err)
		}
	})
	return a
}

func followNCF(nacks string) agent.Config {
	c := agent.DefaultConfig()
	c.Follow, c.Nacks = agent.NCF, nacks
	return c
}

// address returns host i's address.
func (r *running) address(i int, version int) netip.Addr {
	if version == 4 {
		return r.config.Wiring.Hosts.V4(packet.Addr(i + 2))
	}
	return r.config.Wiring.Hosts.V6(packet.Addr(i + 2))
}

// open opens a connection from host i, of this congestion control and version of IP.
func (r *running) open(i int, control string, version int) *flow {
	r.t.Helper()
	var l net.Listener
	r.in(r.Hosts-1, func() (err error) {
		l, err = net.Listen("tcp", netip.AddrPortFrom(r.address(r.Hosts-1, version), 0).String())
		return err
	})
	defer l.Close()
	f := &flow{}
	r.in(i, func() (err error) {
		d := net.Dialer{Timeout: 10 * time.Second, Control: func(_, _ string, c syscall.RawConn) (err error) {
			c.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, control) })
			return err
		}}
		f.from, err = d.Dial("tcp", l.Addr().String())
		return err
	})
	var err error
	if f.to, err = l.Accept(); err != nil {
		r.t.Fatal(err)
	}
	r.flows = append(r.flows, f)
	return f
}

// info returns the kernel's information about a connection's sender.
func (f *flow) info(t testing.TB) (i sockdiag.Info) {
	t.Helper()
	c, err := f.from.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	c.Control(func(fd uintptr) { err = i.ReadSocket(int(fd)) })
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// figures has the measurements of a period.
type figures struct {
	Mbps     []float64 // of flows, payload
	P50, P99 int       // packets in the bottleneck's queue
	Again    uint32    // packets that were sent again
}

// stop ends the data plane and returns its counts.
func (r *running) stop() *lab.Report {
	r.t.Helper()
	report, err := r.plane.Stop()
	r.over = true
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

func monotonic() int64 {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// measure lets flows send for a time, and returns the measurements, with those of the lab.
func (r *running) measure(warm, during time.Duration) (o figures, report *lab.Report) {
	r.t.Helper()
	for _, f := range r.flows {
		f.send()
	}
	time.Sleep(warm)
	from := monotonic()
	came, again := make([]int64, len(r.flows)), make([]uint32, len(r.flows))
	for i, f := range r.flows {
		came[i], again[i] = f.came.Load(), f.info(r.t).TotalRetrans
	}
	time.Sleep(during)
	to := monotonic()
	for i, f := range r.flows {
		o.Mbps = append(o.Mbps, float64(f.came.Load()-came[i])*8e3/float64(to-from))
		o.Again += f.info(r.t).TotalRetrans - again[i]
	}
	for _, f := range r.flows {
		f.from.Close()
		f.to.Close()
	}
	report = r.stop()
	every := int64(sampled / unit.Nanosecond)
	queue := report.Watched[0]
	at := func(t int64) int { return int(min(max((t-r.plane.Epoch)/every, 0), int64(len(queue)))) }
	if q := slices.Sorted(slices.Values(queue[at(from):at(to)])); len(q) > 0 {
		o.P50, o.P99 = int(q[len(q)/2]), int(q[len(q)*99/100])
	}
	return o, report
}

func (o *figures) total() (sum float64) {
	for _, v := range o.Mbps {
		sum += v
	}
	return sum
}

// judge measures a star until the verdict is clear (package realtime).
func (s star) judge(t *testing.T, measure func(r *running) (figures, *lab.Report), check func(try *realtime.Try,
	o figures)) {
	t.Helper()
	realtime.Test(t, func(try *realtime.Try) {
		o, report := measure(s.startLab(try))
		try.Logf("%+v", o)
		try.NoteDisturbed(report.Disturbed(nil, s.RTT)...)
		check(try, o)
	})
}

// shallow returns a star in which two CUBIC flows lose packets all the time.
func shallow() star {
	return star{Hosts: 3, Rate: 100 * unit.Mbps, RTT: 10 * unit.Millisecond, Buffer: unit.Length{Bytes: 125000},
		NCF: []string{}}
}
