package rtnl

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

var ne = binary.NativeEndian

// message is a netlink request: header, fixed part, attributes; all aligned to 4 bytes.
type message struct{ b []byte }

const (
	headerBytes = unix.SizeofNlMsghdr
	typeMask    = 0x3fff // NLA_TYPE_MASK
)

func newMessage(kind, flags uint16, fixed []byte) *message {
	m := &message{make([]byte, headerBytes, 512)}
	ne.PutUint16(m.b[4:], kind)
	ne.PutUint16(m.b[6:], flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	m.b = append(m.b, fixed...)
	m.pad()
	return m
}

func (m *message) pad() {
	for len(m.b)%4 != 0 {
		m.b = append(m.b, 0)
	}
}

func (m *message) attribute(kind uint16, value []byte) {
	m.b = ne.AppendUint16(m.b, uint16(4+len(value)))
	m.b = ne.AppendUint16(m.b, kind)
	m.b = append(m.b, value...)
	m.pad()
}

func (m *message) number(kind uint16, v uint32) { m.attribute(kind, ne.AppendUint32(nil, v)) }
func (m *message) text(kind uint16, s string)   { m.attribute(kind, append([]byte(s), 0)) }

// nest puts what fill adds into one attribute.
func (m *message) nest(kind uint16, fill func()) {
	at := len(m.b)
	m.b = append(m.b, 0, 0, 0, 0)
	fill()
	ne.PutUint16(m.b[at:], uint16(len(m.b)-at))
	ne.PutUint16(m.b[at+2:], kind|unix.NLA_F_NESTED)
}

// attributes calls take for every attribute in b. It fails on lengths that lie.
func attributes(b []byte, take func(kind uint16, value []byte)) error {
	for len(b) >= 4 {
		n := int(ne.Uint16(b))
		if n < 4 || n > len(b) {
			return fmt.Errorf("netlink: attribute of %d bytes in %d", n, len(b))
		}
		take(ne.Uint16(b[2:])&typeMask, b[4:n])
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}

// answer goes through the messages of one datagram: it returns the body of the last one
// that is no acknowledgement, and whether the acknowledgement of request seq was there.
// The error is the kernel's, or about a message that is damaged.
func answer(b []byte, seq uint32) (body []byte, done bool, err error) {
	for len(b) >= headerBytes {
		n := int(ne.Uint32(b))
		if n < headerBytes || n > len(b) {
			return nil, false, fmt.Errorf("netlink: message of %d bytes in %d", n, len(b))
		}
		kind, flags, of, data := ne.Uint16(b[4:]), ne.Uint16(b[6:]), ne.Uint32(b[8:]), b[headerBytes:n]
		b = b[min(len(b), (n+3)&^3):]
		if of != seq {
			continue // of a request that was given up
		}
		if kind != unix.NLMSG_ERROR {
			body = data
			continue
		}
		if len(data) < 4+headerBytes {
			return nil, false, fmt.Errorf("netlink: acknowledgement of %d bytes", len(data))
		}
		if code := int32(ne.Uint32(data)); code != 0 {
			return nil, true, refusal(unix.Errno(-code), flags, data[4:])
		}
		return body, true, nil
	}
	return body, false, nil
}

// refusal is the kernel's error with its words, if it has some (NETLINK_EXT_ACK).
func refusal(code unix.Errno, flags uint16, echo []byte) error {
	const tlvs, capped, words = 0x200, 0x100, 1 // NLM_F_ACK_TLVS, NLM_F_CAPPED, NLMSGERR_ATTR_MSG
	if flags&tlvs == 0 {
		return code
	}
	skip := headerBytes
	if flags&capped == 0 {
		skip = int(ne.Uint32(echo)+3) &^ 3
	}
	if skip < headerBytes || skip > len(echo) {
		return code
	}
	said := ""
	attributes(echo[skip:], func(kind uint16, value []byte) { // what it says is only an addition
		if kind == words {
			said = strings.TrimRight(string(value), "\x00")
		}
	})
	if said == "" {
		return code
	}
	return fmt.Errorf("%w (%s)", code, said)
}
