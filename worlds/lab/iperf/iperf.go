package iperf

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"weir/core/packet"
	"weir/core/transport/udp"
	"weir/core/unit"
	"weir/worlds/lab/traffic"
)

// ErrMissing means that iperf3 is not installed.
var ErrMissing = errors.New("iperf3 is not installed; install Debian's package iperf3")

// Result is the result of a run, as in package traffic, with the fields that iperf3 provides. Each flow has
// Sender.Retransmitted (TCP), Sender.SentBytes and SentPackets (UDP), Receiver.ReceivedBytes, and ReceivedPackets
// (UDP). StartLateness has the lateness of starts. All other fields are 0.
type Result struct {
	traffic.Result
	Version   string      // of iperf3
	Lost      []Loss      // by flow
	Ports     []uint16    // by flow: port of its server, DstPort or a later one if that is taken
	Uncovered []unit.Time // by flow: part of the measured time without intervals
	part      unit.Time   // length of the measured part
}

// Loss counts the lost datagrams of a UDP flow in the measured part, and all; both are 0 for TCP.
type Loss struct{ Lost, Total int64 }

// Share returns the lost share, 0 to 1.
func (l Loss) Share() float64 {
	if l.Total == 0 {
		return 0
	}
	return float64(l.Lost) / float64(l.Total)
}

// goodput returns the payload that a flow's receiver got per second of the measured part, in bit/s; 0 without a
// measured part.
func (r *Result) goodput(flow int) unit.Rate {
	if r.part <= 0 {
		return 0
	}
	return unit.Rate(unit.MulDiv(int64(r.Flows[flow].Receiver.ReceivedBytes), 8*int64(unit.Second), int64(r.part)))
}

const (
	// maxFlows limits the flows, because each has two processes.
	maxFlows = 64
	// intervalLength is the length of iperf3's intervals, its minimum.
	intervalLength = 100 * unit.Millisecond
	// unlimitedRate is a pacing rate that is never reached: 2³¹-1 bytes/s.
	unlimitedRate = 8 * (1<<31 - 1)
)

// plan is a flow with iperf3's arguments.
type plan struct {
	*traffic.Flow
	from, to netip.AddrPort // to is the server's address
	client   []string
	server   []string
}

// Check returns an error that names the first part of a run's traffic that iperf3 cannot generate.
func Check(c traffic.Config) error {
	if _, err := planFlows(&c); err != nil {
		return fmt.Errorf("iperf: %w", err)
	}
	return nil
}

// planFlows returns the arguments of iperf3 for all flows, or an error if iperf3 cannot generate them. Servers get
// different addresses with port: the flow's port, or the next free one at the node.
func planFlows(c *traffic.Config) ([]plan, error) {
	switch {
	case c.Warmup < 0 || c.Duration <= c.Warmup || c.Duration > unit.Never/4 || c.Book == nil || c.Do == nil:
		return nil, fmt.Errorf("a warm-up of %v and a duration of %v, or no addresses or namespaces; the warm-up must "+
			"be shorter than the duration, and addresses and namespaces are required", c.Warmup, c.Duration)
	case c.UntilDone:
		return nil, errors.New("the run ends when all flows are done; iperf3's flows here have no end, so give a duration")
	case len(c.Samples) > 0:
		return nil, errors.New("samples of flows are not available; iperf3 has its own intervals")
	case len(c.Flows) > maxFlows:
		return nil, fmt.Errorf("%d flows are too many; allowed: up to %d, because each has two processes",
			len(c.Flows), maxFlows)
	}
	taken := make(map[netip.AddrPort]int, len(c.Flows))
	out := make([]plan, len(c.Flows))
	for i := range c.Flows {
		f := &c.Flows[i]
		p, err := planFlow(c, f)
		if err != nil {
			return nil, fmt.Errorf("flow %d: %w", i, err)
		}
		// A server runs one test at a time, so each flow needs its own port.
		for {
			if _, used := taken[p.to]; !used {
				break
			}
			if p.to.Port() == 65535 {
				return nil, fmt.Errorf("flow %d: no free port from %d on at node %d", i, f.DstPort, f.Dst)
			}
			p.to = netip.AddrPortFrom(p.to.Addr(), p.to.Port()+1)
		}
		taken[p.to] = i
		version := "-" + strconv.Itoa(int(f.Version))
		port := strconv.Itoa(int(p.to.Port()))
		interval := strconv.FormatFloat(float64(intervalLength)/float64(unit.Second), 'f', -1, 64)
		p.server = []string{"-s", "-1", version, "-p", port, "-i", interval, "-J"}
		p.client = append([]string{"-c", p.to.Addr().String(), version, "-p", port, "--cport", strconv.Itoa(int(f.SrcPort)),
			"-i", interval, "-J"}, p.client...)
		out[i] = p
	}
	return out, nil
}

// nodeAddress returns the address of a node, invalid if it lacks that version.
func nodeAddress(b *packet.Book, node int, version uint8) netip.Addr {
	switch {
	case node < 0 || node+1 >= b.Len():
		return netip.Addr{}
	case version == 4:
		return b.V4(packet.Addr(node + 1))
	case version == 6:
		return b.V6(packet.Addr(node + 1))
	}
	return netip.Addr{}
}

// planFlow plans a flow, with the client's options for time, rate and protocol. planFlows adds the addresses, and may
// change the server's port. The error names what iperf3 cannot do.
func planFlow(c *traffic.Config, f *traffic.Flow) (plan, error) {
	p := plan{Flow: f, from: netip.AddrPortFrom(nodeAddress(c.Book, f.Src, f.Version), f.SrcPort),
		to: netip.AddrPortFrom(nodeAddress(c.Book, f.Dst, f.Version), f.DstPort)}
	add := func(words ...string) { p.client = append(p.client, words...) }
	number := func(word string, n int64) { add(word, strconv.FormatInt(n, 10)) }
	end := c.Duration
	if f.Stop > 0 {
		end = min(end, f.Stop)
	}
	switch {
	case !p.from.Addr().IsValid() || !p.to.Addr().IsValid():
		return p, fmt.Errorf("node %d or %d has no IPv%d address", f.Src, f.Dst, f.Version)
	case f.SrcPort == 0 || f.DstPort == 0:
		return p, fmt.Errorf("ports %d and %d are out of range; allowed: 1 to 65535", f.SrcPort, f.DstPort)
	case f.Size > 0:
		return p, errors.New("it has a size; iperf3 does not report when the last byte is acknowledged")
	case len(f.Predecessors) > 0 || f.Begin != nil:
		return p, errors.New("it starts after other flows; iperf3's flows start at given times")
	case f.Start < 0 || end <= f.Start:
		return p, fmt.Errorf("it starts at %v and ends at %v; the end must be later", f.Start, end)
	case f.Payload < 16 || f.Payload > 65507:
		return p, fmt.Errorf("a payload of %d bytes is out of range; allowed: 16 to 65507 bytes", f.Payload)
	case (f.TCP != nil) == (f.UDP != nil):
		return p, errors.New("its protocol is not clear; allowed: either TCP or UDP")
	}
	// iperf3 needs whole seconds; the end of its last one is not measured if the run ends.
	length := end - f.Start
	if f.Stop > 0 && f.Stop < c.Duration && length%unit.Second != 0 {
		return p, fmt.Errorf("it stops after %v; iperf3 requires whole seconds", length)
	}
	whole := int64((length + unit.Second - 1) / unit.Second)
	if end == c.Duration {
		whole++ // time to connect
	}
	number("-t", whole)
	if f.TOS != 0 {
		number("-S", int64(f.TOS))
	}
	if f.TCP != nil {
		t := f.TCP
		if t.Rate < 0 || t.MSS < 0 {
			return p, fmt.Errorf("a rate of %d bit/s or an MSS of %d bytes is negative; allowed: 0 and more", t.Rate, t.MSS)
		}
		if t.SendBuffer > 0 || t.ReceiveBuffer > 0 {
			return p, errors.New("it has its own buffers; iperf3's -w sets the buffers of both ends and both directions")
		}
		if t.CongestionControl != "" {
			add("-C", t.CongestionControl)
		}
		if t.Rate > 0 {
			number("-b", int64(t.Rate))
			number("-l", int64(f.Payload))
		}
		if t.MSS > 0 {
			number("-M", int64(t.MSS))
		}
		if t.Pacing {
			number("--fq-rate", unlimitedRate)
		}
		return p, nil
	}
	s, ok := f.UDP.(*udp.Sender)
	if !ok {
		return p, fmt.Errorf("it has a sender of type %T; iperf3 sends UDP at a constant rate", f.UDP)
	}
	u := s.Config()
	timer := u.Interval
	switch u.Pattern {
	case udp.Burst:
	case udp.CBR: // one datagram per timer; iperf3 cannot vary the gaps
		timer = unit.TransmitTime(unit.Bytes(f.Payload), u.Rate)
	default:
		return p, fmt.Errorf("pattern %s of UDP is not available; iperf3 has %s and %s", u.Pattern, udp.CBR, udp.Burst)
	}
	add("-u")
	number("-b", int64(u.Rate))
	number("-l", int64(f.Payload))
	number("--pacing-timer", min(max(int64(timer/unit.Microsecond), 1), 1_000_000))
	return p, nil
}
