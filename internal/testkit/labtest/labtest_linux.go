package labtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
	"weir/internal/netns"
	"weir/worlds/lab"
)

// role is set for a test binary that runs as a data plane. Its value is the Dumbbell.
const role = "WEIR_LABTEST_DUMBBELL"

// Nodes of the dumbbell's hosts.
const (
	Client = 0
	Server = 2
)

// Dumbbell is two hosts at one switch. The client's link is twice as fast as the server's.
type Dumbbell struct {
	Rate    unit.Rate // of the server's link
	Delay   unit.Time // of each link
	Packets int32     // buffer of each link
}

// Config returns the lab's configuration of the dumbbell. It lasts one second.
func (d Dumbbell) Config() *lab.Config {
	link := topology.Link{Rate: unit.LinkRate{Bits: d.Rate}, Delay: d.Delay, Buffer: unit.Length{Packets: d.Packets}}
	n := &topology.Network{Nodes: []topology.Node{{Name: "client"}, {Name: "s1", Switch: true}, {Name: "server"}},
		Links: []topology.Link{link, link}}
	n.Links[0].Rate.Bits *= 2
	n.Links[0].Ends, n.Links[1].Ends = [2]int{0, 1}, [2]int{1, 2}
	routes := n.Routes()
	c := &lab.Config{Wiring: wiring.Config{Seed: 1, Network: n, Hosts: n.Addresses(),
		Switches: make([]wiring.SwitchConfig, 3)}, Duration: unit.Second}
	c.Wiring.Framing, _ = packet.FramingByName("l2")
	c.Wiring.Switches[1] = wiring.SwitchConfig{
		Routes: dataplane.HostRoutes(c.Wiring.Hosts, routes.PathsFrom(1)),
		Programs: func(site *dataplane.Site) ([]dataplane.Program, error) {
			return []dataplane.Program{forward.New(site)}, nil
		},
	}
	return c
}

// RunMain is for a package's TestMain: it runs the tests, or the data plane if role is set.
func RunMain(m *testing.M) {
	text, ok := os.LookupEnv(role)
	if !ok {
		os.Exit(m.Run())
	}
	var d Dumbbell
	err := json.Unmarshal([]byte(text), &d)
	if err == nil {
		err = lab.Serve(d.Config(), os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// RequireRoot skips a test on a machine without the privileges for a lab.
func RequireRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes network namespaces and packet sockets")
	}
	s, _, err := netns.NewSet()
	if err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	err = s.Add("probe")
	s.Close()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		t.Skipf("no network namespaces here: %v", err)
	}
}

// OpenDumbbell makes the dumbbell and starts its data plane in another process of this binary (RunMain). Both end with
// the test. OpenDumbbell skips the test on a machine without the privileges for a lab.
func OpenDumbbell(t testing.TB, d Dumbbell) (*lab.Network, *lab.DataPlane) {
	t.Helper()
	RequireRoot(t)
	c := d.Config()
	l, err := lab.Open(c.Wiring.Network, c.Wiring.Hosts, c.MTU)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	again := exec.Command(self)
	again.Env = append(os.Environ(), role+"="+string(text))
	p, err := l.Start(again)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return l, p
}
