package experiment

import (
	"fmt"
	"slices"
	"strings"

	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/document"
)

// mtu is the largest packet: in bytes of IP, or in payload.
type mtu struct {
	document.Place
	text    string
	bytes   int32
	payload bool
	path    bool // payload is a path MTU of InfiniBand, for RDMA's packets
}

// pathMTUs lists the path MTUs of InfiniBand and RoCE: payloads of a full packet of a queue pair (rdma-core: enum
// ibv_mtu). An RNIC takes the largest that the interface's MTU holds with headers: 1024 for 1500, 4096 for 4200.
var pathMTUs = []int32{256, 512, 1024, 2048, 4096}

func (d *decoder) mtu(t *document.Node) mtu {
	m := mtu{Place: t.Place, text: t.Text}
	size, payload := strings.CutSuffix(d.Text(t), " payload")
	m.payload = payload
	if payload {
		m.bytes = d.payload(t, size)
		return m
	}
	size, m.path = strings.CutSuffix(size, " pmtu")
	b, err := unit.ParseBytes(size)
	if m.path {
		if m.payload, m.bytes = true, int32(b); err != nil || b > 65535 || !slices.Contains(pathMTUs, m.bytes) {
			d.Fail(t.Place, "256, 512, 1024, 2048 or 4096 B pmtu", "%q is not a path MTU of RDMA", t.Text)
			m.bytes = 1024
		}
		return m
	}
	if err != nil || b < 68 || b > 65535 {
		if t.Kind == document.Scalar {
			d.Fail(t.Place, "68 B … 65535 B, a payload such as 1448 B payload, or a path MTU of RDMA such as 1024 B pmtu",
				"%q is not an MTU", t.Text)
		}
		b = 1500
	}
	m.bytes = int32(b)
	return m
}

// of is what an MTU leaves to a transport for payload, where packets have so many bytes of telemetry.
func (m mtu) of(d *decoder, s *transport.Scheme, version uint8, told int32) int32 {
	if m.path && s.Proto != packet.ProtoRDMA {
		d.Fail(m.Place, "bytes of IP such as 1500 B, a payload such as 1448 B payload, or payload of that traffic",
			"%s is a path MTU of RDMA, which transport %s does not have", m.text, s.Name)
	}
	if m.payload {
		return m.bytes
	}
	headers := packet.IPv4Header + s.Headers + s.First + told
	if version == 6 {
		headers += packet.IPv6Header - packet.IPv4Header
	}
	multiple := max(s.Multiple, 1)
	with := ""
	if told > 0 {
		with = fmt.Sprintf(", and %d B of telemetry", told)
	}
	if m.bytes < headers+multiple {
		d.Fail(m.Place, fmt.Sprintf("at least %d B", headers+multiple),
			"an MTU of %s leaves no room behind the headers of %s over IPv%d%s", m.text, s.Name, version, with)
		return 1
	}
	return (m.bytes - headers) / multiple * multiple
}

func (d *decoder) payload(t *document.Node, text string) int32 {
	b, err := unit.ParseBytes(text)
	if err != nil || b < 1 || b > 65507 {
		d.Fail(t.Place, "1 B … 65507 B", "%q is not a payload", t.Text)
		return 1
	}
	return int32(b)
}

// told leaves room in the packets of a traffic for the telemetry that their path adds, where an MTU of bytes decides
// how long they are; first is the first of the point's flows that is its.
func (m mtu) told(d *decoder, p *Point, id, first int) {
	tr := &p.entries[id]
	if m.payload || tr.fixedPayload {
		return
	}
	if n := p.telemetryBytes(tr, first); n > 0 {
		tr.seen.Payload = m.of(d, tr.seen.Transport, tr.seen.Version, n)
	}
}

// telemetryBytes is what telemetry or requests to switches take at most of a data packet of a traffic, on the longest
// of its flows' shortest paths.
func (p *Point) telemetryBytes(tr *Traffic, first int) int32 {
	if tr.traits.Telemetry == nil || tr.cc == nil || p.seen.Framing.Fixed() {
		return 0
	}
	if tr.traits.CarriesRequests && tr.cc.Requests {
		return packet.BoltBytes
	}
	if p.telemetry == nil {
		return 0
	}
	hops := 0
	p.eachPair(tr, first, p.flows.n, func(src, dst int) {
		near, _ := p.seen.Routes.Near(src, dst)
		hops = max(hops, p.seen.Routes.Hops(near.From, near.To)-1)
	})
	var others int32
	if tr.cc.Receiver != nil {
		others = transport.AdoptedBytes
	}
	switch when := tr.traits.Telemetry.When; {
	case when == transport.AskNever, when == transport.AskProbe: // probes have no payload
		return 0
	case tr.cc.Telemetry == telemetry.PathLoad:
		return telemetry.LoadBytes(others)
	case tr.cc.Telemetry == telemetry.Nothing:
		return 0
	case when == transport.AskCongestion && p.telemetry.Profile.Name != "relative":
		return p.telemetry.BytesWith(hops, telemetry.AskBytes+others)
	}
	return p.telemetry.BytesWith(hops, others)
}
