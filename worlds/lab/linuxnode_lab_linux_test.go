//go:build lab

package lab_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/app"
	"weir/core/dataplane"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/pcapng"
	"weir/internal/testkit"
	"weir/internal/testkit/realtime"
	"weir/internal/testkit/wiretest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/worlds/lab"
)

// between is a flow of HPCC over two switches with an IOAM trace, in microseconds as Linux has it.
const between = `duration: 1200ms
warmup: 400ms
topology:
  hosts: [a, b]
  switches: [s1, s2]
  links:
    - {ends: [a, s1], rate: 40Mbps, delay: 2ms}
    - {ends: [b, s2], rate: 20Mbps, delay: 2ms, buffer: 60 packets}
    - {ends: [s1, s2], rate: 40Mbps, delay: 1ms}
mtu: 1000 B payload
switch: [forward, {telemetry: {format: ioam, fraction: us}}]
traffic:
  - {name: x, from: a, to: b, transport: rdma, cc: CC, ip: 6, start: 0s}
measure: [{queue: {port: s2->b, every: 1ms}}, drops]
`

// Nodes of the network with Linux in the place of the link between the switches.
const (
	nodeA, nodeB, node1, node2, linux1, linux2 = 0, 1, 2, 3, 4, 5
)

// withLinux makes the data plane's and the hosts' configurations. Of the link between the switches each has an end at
// a host of the lab, which forwards to the other one's.
func withLinux(cc string) (*lab.Config, *lab.HostsConfig, error) {
	s, err := plan.Load(app.Registry(), &experiment.Source{Name: "between", File: "between.yaml",
		Data: []byte(strings.Replace(between, "CC", cc, 1))}, experiment.Options{})
	if err != nil {
		return nil, nil, err
	}
	one := plan.ListRuns(s)[0]
	hosts, err := run.HostsConfig(one)
	if err != nil {
		return nil, nil, err
	}
	c, err := run.LabConfig(one)
	if err != nil {
		return nil, nil, err
	}
	n := *c.Wiring.Network
	n.Nodes = append(append([]topology.Node(nil), n.Nodes...), topology.Node{Name: "linux1"},
		topology.Node{Name: "linux2"})
	n.Links = append([]topology.Link(nil), n.Links...)
	other := n.Links[2]
	n.Links[2].Ends, other.Ends = [2]int{node1, linux1}, [2]int{node2, linux2}
	n.Links = append(n.Links, other)
	c.Wiring.Network, c.Wiring.Switches = &n, append(c.Wiring.Switches, wiring.SwitchConfig{}, wiring.SwitchConfig{})
	all := n.Addresses()
	for a := range n.Nodes[linux1:] {
		c.Wiring.Hosts.Add(all.V4(lab.Address(linux1+a)), all.V6(lab.Address(linux1+a)))
	}
	return c, hosts, nil
}

func init() {
	lab.Roles["linuxnode"] = func(of string) error {
		cc, file, _ := strings.Cut(of, " ")
		c, _, err := withLinux(cc)
		if err != nil {
			return err
		}
		c.Capture = &lab.Capture{Switches: []string{"s2"}, File: file}
		return lab.Serve(c, os.Stdin, os.Stdout)
	}
	lab.Roles["linuxhosts"] = func(cc string) error {
		_, h, err := withLinux(cc)
		if err != nil {
			return err
		}
		return lab.ServeHosts(h, os.Stdin, os.Stdout)
	}
}

// routers makes two namespaces routers of Linux and nodes of IOAM's namespace 87, with a link between them. Frames
// on the lab's links carry the final receiver's MAC address, so the routers' interfaces have these addresses. Their
// wide data are the counter of a port that has sent no frame yet, with a rate.
const routers = `link add up0 netns ONE type veth peer name up0 netns TWO
-n ONE link set eth0 address MACB
-n TWO link set eth0 address MACA
-n ONE link set up0 address 02:00:00:00:00:11
-n TWO link set up0 address 02:00:00:00:00:22
-n ONE link set up0 up
-n TWO link set up0 up
-n ONE route add ADDRB/128 dev up0
-n TWO route add ADDRA/128 dev up0
-n ONE neighbour add ADDRB lladdr 02:00:00:00:00:22 dev up0
-n TWO neighbour add ADDRA lladdr 02:00:00:00:00:11 dev up0
-n ONE ioam namespace add 87 wide WIDE
-n TWO ioam namespace add 87 wide 0x42710
netns exec ONE sysctl -qw net.ipv6.conf.all.forwarding=1
netns exec TWO sysctl -qw net.ipv6.conf.all.forwarding=1
netns exec ONE sysctl -qw net.ipv6.ioam6_id=77
netns exec TWO sysctl -qw net.ipv6.ioam6_id=78
netns exec ONE sysctl -qw net.ipv6.conf.eth0.ioam6_enabled=1
netns exec TWO sysctl -qw net.ipv6.conf.up0.ioam6_enabled=1
netns exec ONE sysctl -qw net.ipv6.conf.eth0.ioam6_id=5
netns exec ONE sysctl -qw net.ipv6.conf.up0.ioam6_id=6
netns exec TWO sysctl -qw net.ipv6.conf.up0.ioam6_id=7
netns exec TWO sysctl -qw net.ipv6.conf.eth0.ioam6_id=8`

// acrossLinux runs the flow with Linux between the switches, shaped to the given Mb/s if that is above 0. It
// returns the hosts' results, the data plane's report, and the capture of the last switch.
func acrossLinux(t testing.TB, cc string, shaped int) (*outcome.Result, *lab.Report, *lab.HostsReport, []byte) {
	t.Helper()
	lab.NeedRoot(t)
	testkit.RequireProgram(t, "ip", "iproute2")
	c, _, err := withLinux(cc)
	if err != nil {
		t.Fatal(err)
	}
	n, err := lab.Open(c.Wiring.Network, c.Wiring.Hosts, c.MTU)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	mac := func(node int) string {
		m := lab.HostMAC(node)
		return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
	}
	wide := "0x42710" // 10000·10^4, 100 Mb/s
	if shaped > 0 {
		wide = fmt.Sprintf("%#x", 4<<16|100*shaped)
	}
	words := strings.NewReplacer("ONE", n.Namespace(linux1), "TWO", n.Namespace(linux2), "MACA", mac(nodeA), "MACB",
		mac(nodeB), "ADDRA", c.Wiring.Hosts.V6(lab.Address(nodeA)).String(), "ADDRB",
		c.Wiring.Hosts.V6(lab.Address(nodeB)).String(),
		"WIDE", wide)
	lines := strings.Split(words.Replace(routers), "\n")
	if shaped > 0 {
		lines = append(lines, fmt.Sprintf("netns exec %s tc qdisc add dev up0 root tbf rate %dmbit burst 3000 limit 100000",
			n.Namespace(linux1), shaped))
	}
	for _, line := range lines {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", line, err, out)
		}
	}
	file := filepath.Join(t.TempDir(), "s2.pcapng")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	as := func(role string) *exec.Cmd {
		x := exec.Command(self)
		x.Env = append(os.Environ(), lab.Role+"="+role)
		return x
	}
	p, err := n.Start(as("linuxnode " + cc + " " + file))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	h, err := n.StartHosts(as("linuxhosts "+cc), []bool{true, true, false, false}, p.Epoch+int64(c.Lead/unit.Nanosecond))
	if err != nil {
		t.Fatal(err)
	}
	<-h.Done()
	result := &outcome.Result{}
	ends, err := h.Stop(result)
	if err != nil {
		t.Fatal(err)
	}
	report, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return result, report, ends, data
}

// TestKernelIOAMBetweenSwitches checks that two nodes of Linux between two switches of Weir fill their records of
// one trace, which every reader accepts. By RFC 9197 there are four, in order, with the times of Linux in the same
// unit as Weir's.
func TestKernelIOAMBetweenSwitches(t *testing.T) { realtime.Test(t, kernelIOAM) }

func kernelIOAM(t *realtime.Try) {
	_, report, ends, data := acrossLinux(t, "hpcc", 0)
	t.NoteDisturbed(report.DisturbedStrictly(ends, 10*unit.Millisecond)...)
	now, full := time.Now().Unix(), 0
	_, err := pcapng.Read(bytes.NewReader(data), func(r *trace.Record) error {
		if r.Proto == packet.ProtoICMPv6 { // Linux's own
			return nil
		}
		x, err := wiretest.Decode(r.Frame, wiretest.Options{})
		if err != nil || r.Port != "s2->b" || x.Format == "" {
			return err
		}
		if len(x.Hops) != 4 || x.Full || x.Left != 1 || x.Answer {
			return fmt.Errorf("%d records: %+v", len(x.Hops), x)
		}
		hop := int64(64)
		for i, want := range []struct{ node, in, out int64 }{{node1, 0, 1}, {77, 5, 6}, {78, 7, 8}, {node2, 1, 0}} {
			h := &x.Hops[i]
			if hop--; h.Node != want.node || h.In != want.in || h.Out != want.out || h.HopLimit != hop || h.Fraction >= 1e6 {
				return fmt.Errorf("record %d is %+v, want %+v", i, *h, want)
			}
			seconds := (h.Left - h.Fraction) / 1e9
			if ours := want.node < 77; ours && seconds > 100 || !ours && (seconds > now || seconds < now-60 ||
				h.Queue != 0 || h.Sent != 0 || h.Rate != 100e6) {
				return fmt.Errorf("record %d is %+v; it is %d", i, *h, now)
			}
		}
		full++
		return nil
	})
	if err != nil || full < 100 {
		t.Errorf("%d frames with all records: %v", full, err)
	}
	if all := report.Errors(); len(all) > 0 {
		t.Error(all)
	}
}

// TestHPCCOverKernelIOAM checks that HPCC++ runs over a path with nodes of Linux. A bottleneck of Weir is used to
// 95 %, with an empty queue. A node of Linux reports its queue and its rate, but no bytes, so that a law that needs
// both (HPCC §3.4) swings there, by a queue of about the path's bandwidth-delay product. It stays far below the
// buffer, and below the queue that windows can fill. No packet is lost.
func TestHPCCOverKernelIOAM(t *testing.T) {
	for _, x := range []struct {
		name   string
		shaped int     // Mb/s, of Linux
		rate   float64 // of the bottleneck
		frame  float64 // bytes there
	}{{"a bottleneck of Weir", 0, 20e6, 1238}, {"a bottleneck of Linux", 10, 10e6, 1238}} {
		t.Run(x.name, func(t *testing.T) {
			realtime.Test(t, func(try *realtime.Try) {
				result, report, ends, data := acrossLinux(try, "hpcc", x.shaped)
				try.NoteDisturbed(report.DisturbedStrictly(ends, 10*unit.Millisecond)...)
				overLinux(try, result, report, data, x.shaped > 0, x.rate, x.rate*1000/x.frame)
			})
		})
	}
}

// overLinux checks a run.
func overLinux(try *realtime.Try, result *outcome.Result, report *lab.Report, data []byte, linux bool, rate,
	most float64) {
	f := &result.Flows[0]
	goodput := 8 * float64(f.Receiver.ReceivedBytes) / report.Measured.Seconds()
	least := 0.85
	if linux {
		least = 0.7
	}
	if goodput < least*most || goodput > 1.01*most {
		try.Fatalf("%.1f Mb/s of %.1f", goodput/1e6, most/1e6)
	}
	var dropped []string
	for why, n := range report.Drops {
		// Linux's nodes report multicast groups at random times, with a hop limit of 1, so that a router drops them.
		if why := dataplane.Reason(why); n > 0 && why != dataplane.HopLimitExceeded {
			dropped = append(dropped, fmt.Sprintf("%s %d", why, n))
		}
	}
	if len(dropped) > 0 || f.Timeouts > 0 || f.Receiver.DuplicateCount() > 0 {
		try.Fatalf("drops %q, %d timeouts, %d duplicates", dropped, f.Timeouts, f.Receiver.DuplicateCount())
	}
	var queues [2][]int64 // of Linux's first node, and of our last switch
	_, err := pcapng.Read(bytes.NewReader(data), func(r *trace.Record) error {
		if r.Proto == packet.ProtoICMPv6 || r.Port != "s2->b" {
			return nil
		}
		x, err := wiretest.Decode(r.Frame, wiretest.Options{})
		if err == nil && len(x.Hops) == 4 {
			queues[0], queues[1] = append(queues[0], x.Hops[1].Queue), append(queues[1], x.Hops[3].Queue)
		}
		return err
	})
	if err != nil || len(queues[0]) < 500 {
		try.Fatalf("%d records: %v", len(queues[0]), err)
	}
	var median [2]float64
	for i, q := range queues {
		q = q[len(q)/3:] // what joins has sent a window at once
		slices.Sort(q)
		median[i] = float64(q[len(q)/2])
	}
	const delay = 0.0114 // round trip without queues: 10 ms of links, and what frames take of them
	low, high := 0.0, 0.0
	if linux {
		low, high = 0.2*rate*delay/8, (40e6-rate)*delay/8 // windows are B·T of the NIC, 40 Mb/s, at most
	}
	if median[0] < low || median[0] > high || median[1] > 3*1238 {
		try.Fatalf("queues of %.0f B in Linux, wanted %.0f to %.0f, and %.0f B in ours", median[0], low, high,
			median[1])
	}
}
