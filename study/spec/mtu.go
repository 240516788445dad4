package spec

import (
	"fmt"
	"strings"

	"weir/core/packet"
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
}

func (d *decoder) mtu(t *document.Node) mtu {
	m := mtu{Place: t.Place, text: t.Text}
	size, payload := strings.CutSuffix(d.Text(t), " payload")
	m.payload = payload
	if payload {
		m.bytes = d.payload(t, size)
		return m
	}
	b, err := unit.ParseBytes(size)
	if err != nil || b < 68 || b > 65535 {
		if t.Kind == document.Scalar {
			d.Fail(t.Place, "68 B … 65535 B, or a payload such as 1448 B payload", "%q is not an MTU", t.Text)
		}
		b = 1500
	}
	m.bytes = int32(b)
	return m
}

// of is what an MTU leaves to a transport for payload.
func (m mtu) of(d *decoder, s *transport.Scheme, version uint8) int32 {
	if m.payload {
		return m.bytes
	}
	headers := packet.IPv4Header + s.Headers + s.First
	if version == 6 {
		headers += packet.IPv6Header - packet.IPv4Header
	}
	multiple := max(s.Multiple, 1)
	if m.bytes < headers+multiple {
		d.Fail(m.Place, fmt.Sprintf("at least %d B", headers+multiple),
			"an MTU of %s leaves no room behind the headers of %s over IPv%d", m.text, s.Name, version)
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
