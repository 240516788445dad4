//go:build lab

package agent_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"weir/core/packet"
	"weir/internal/testkit/await"
	"weir/worlds/agent"
)

// sum puts the right checksum into a frame of TCP over IPv6 (RFC 9293 §3.1, RFC 8200 §8.1).
func sum(f []byte) {
	at := tcpAt(f)
	binary.BigEndian.PutUint16(f[at+16:], 0)
	binary.BigEndian.PutUint16(f[at+16:], ^total(f, at))
}

// summed reports whether a receiver accepts a frame's checksum. Zero has two forms, and an update by difference may
// give the other one (RFC 1624 §3).
func summed(f []byte) bool { return total(f, tcpAt(f)) == 0xffff }

// tcpAt returns the offset of the TCP header in a frame of IPv6.
func tcpAt(f []byte) int {
	if f[20] == 0 {
		return 54 + 8*(int(f[55])+1)
	}
	return 54
}

// total is the sum in ones' complement over the bytes that a checksum covers, including the checksum.
func total(f []byte, at int) uint16 {
	end := 54 + int(binary.BigEndian.Uint16(f[18:]))
	total := uint32(end-at) + 6
	add := func(b []byte) {
		for i, x := range b {
			total += uint32(x) << (8 * (1 - i%2))
		}
	}
	add(f[22:54])
	add(f[at:end])
	for total > 0xffff {
		total = total&0xffff + total>>16
	}
	return uint16(total)
}

// last returns a copy of the last frame that satisfies a condition.
func (c *captured) last(ok func(*segment) bool) (b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.frames {
		if s, is := segmentOf(x); is && ok(&s) {
			b = x
		}
	}
	return bytes.Clone(b)
}

// silent waits until all data of a connection is acknowledged, and no more arrives after a marker.
func (r *rig) silent(f *flow, host string) {
	r.t.Helper()
	came := -1
	await.AwaitCondition(r.t, "silence", func() bool {
		before := came
		r.pass(slices.Index(r.hosts, host))
		came = r.counters(host)["InSegs"]
		return f.info(r.t).Unacked == 0 && came == before
	})
}

// pass makes frames arrive at a host, and returns when its kernel has processed them: when a datagram that follows
// them has been read.
func (r *rig) pass(port int, frames ...[]byte) {
	r.t.Helper()
	var c *net.UDPConn
	r.in(r.hosts[port], func() (err error) {
		c, err = net.ListenUDP("udp6", net.UDPAddrFromAddrPort(netip.AddrPortFrom(host(port), 0)))
		return err
	})
	defer c.Close()
	p := packet.Packet{Src: 1, Dst: packet.Addr(port + 1), Version: 6, HopLimit: 64, Proto: packet.ProtoUDP, SrcPort: 9,
		DstPort: uint16(c.LocalAddr().(*net.UDPAddr).Port), Payload: 100}
	if port == 0 {
		p.Src = 2
	}
	marker, err := p.Emit(r.book(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	to, from := mac(port), mac(int(p.Src)-1)
	copy(marker, append(to[:], from[:]...))
	r.node.inject(port, append(slices.Clone(frames), marker)...)
	if _, _, err := c.ReadFromUDP(make([]byte, 1500)); err != nil {
		r.t.Fatal(err)
	}
}

// TestAgent_RejectsForgedFeedback checks that an attacker who does not see a connection's packets cannot set its
// window. An option counts only in a segment that the kernel accepts and that acknowledges data in flight (RFC 5961
// §5), and records only in one within the windows. Both attacks run on a silent connection, so no other event moves its
// state.
func TestAgent_RejectsForgedFeedback(t *testing.T) {
	r := lay(t, path{Rate: 50e6, Back: 1e9, Delay: time.Millisecond, Buffer: 300, Telemetry: 1}, 1)
	b, a := r.agent("b", agent.DefaultConfig()), r.agent("a1", agent.DefaultConfig())
	f := r.open("a1")
	go f.drain()
	f.write(t, 1<<20)
	following(t, a)
	seen := capture(r.node)
	var ack, data []byte
	await.AwaitCondition(t, "a last acknowledgement that tells a window", func() bool {
		f.write(t, 1<<16)
		r.silent(f, "a1")
		ack = seen.last(func(s *segment) bool { return len(s.data) == 0 })
		data = seen.last(func(s *segment) bool { return s.trace != nil })
		s, ok := segmentOf(ack)
		return ok && len(s.option(253)) == 12 && data != nil
	})
	be := binary.BigEndian
	option, stamp := optionAt(ack, 253), optionAt(ack, 8)
	const window = 123_456
	be.PutUint32(ack[option+4:], window)
	add := func(at int, by uint32) func([]byte) {
		return func(f []byte) { be.PutUint32(f[at:], be.Uint32(f[at:])+by) }
	}
	for _, x := range []struct {
		name    string
		change  func([]byte)
		refused uint32
		taken   bool
	}{
		{"an acknowledgement of what was never sent", add(54+8, 1), 1, false},
		{"an acknowledgement of long ago", add(54+8, 1<<31), 1, false},
		{"an acknowledgement that was overtaken", add(54+8, ^uint32(1000)), 0, false},
		{"a guess", add(54+8, 0x12345678), 1, false},
		{"a sequence number behind the window", add(54+4, 1<<26), 0, false},
		{"a sequence number before it", add(54+4, ^uint32(1<<20)), 0, false},
		{"a time stamp of long ago", add(stamp+2, ^uint32(1<<24)), 0, false},
		{"another ExID", func(f []byte) { f[option+2]++ }, 0, false},
		{"an option of an agent without T", func(f []byte) {
			be.PutUint16(f[option+2:], 0x5745)
			f[option+10], f[option+11] = 0, 3 // the bottleneck from 0, and the count of hops
		}, 0, false},
		{"another kind", func(f []byte) { f[option] = 254 }, 0, false},
		{"a length that there is not", func(f []byte) { f[option+1] = 10; f[option+10], f[option+11] = 1, 1 }, 0, false},
		{"none of this", func([]byte) {}, 0, true},
	} {
		before := connections(t, a)[0]
		forged := bytes.Clone(ack)
		x.change(forged)
		sum(forged)
		r.pass(1, forged)
		if x.taken || x.refused > 0 {
			await.AwaitCondition(t, x.name, func() bool {
				c := connections(t, a)[0]
				return c.Refused+c.FeedbackCount > before.Refused+before.FeedbackCount
			})
		}
		after := connections(t, a)[0]
		if after.Refused-before.Refused != x.refused || (after.SenderFeedback.Window == window) != x.taken ||
			(after.FeedbackCount != before.FeedbackCount) != x.taken {
			t.Errorf("%s: %+v\nbecomes %+v", x.name, before, after)
		}
	}
	before := connections(t, b)[0]
	at := 54 + 160
	for _, change := range []func([]byte){add(at+4, 1<<26), add(at+4, ^uint32(1<<26)), add(at+8, 1<<30)} {
		forged := bytes.Clone(data)
		write(forged, record{at: time.Now().UnixNano(), sent: 1 << 30, rate: 1e6})
		change(forged)
		sum(forged)
		r.node.inject(0, forged)
	}
	refused := func() bool { return connections(t, b)[0].Refused == before.Refused+3 }
	await.AwaitCondition(t, "the refusal of records", refused)
	if after := connections(t, b)[0]; after.Measured != before.Measured ||
		after.ReceiverFeedback.Window != before.ReceiverFeedback.Window {
		t.Errorf("%+v\nbecomes %+v", before, after)
	}
}
