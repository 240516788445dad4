package packet

import "fmt"

// Kinds of extensions, from the experimental range of IPv6 option types (RFC 4727 §3.5). The highest two bits 00 mean
// that a node which does not know the kind skips it; the third bit 1 means that it may change en route.
const (
	// ExtActivity is P4-ABC's activity (§3.2): a big-endian IEEE 754 float32.
	ExtActivity uint8 = 0x3e
	// ExtUET is the part of an acknowledgement of transport uet that its header does not have.
	ExtUET uint8 = 0x1f
)

const pad1, padN = 0, 1

// MaxExtensionBytes is the maximum of ExtensionBytes, in bytes.
const MaxExtensionBytes = 96

// Extensions are stored as RFC 8200 §4.2 options, one after the other: type, length, data. On the wire they are in a
// header with a length that is a multiple of 8. Over IPv6 it is the hop-by-hop options header. Over IPv4 it is a shim
// with the same layout and the experimental protocol number 253 (RFC 3692).

// Extension returns the data of the extension of this kind, as a view that is valid until the extensions change.
func (p *Packet) Extension(kind uint8) ([]byte, bool) {
	at, n := p.findExtension(kind)
	if n == 0 {
		return nil, false
	}
	return p.ext[at+2 : at+n : at+n], true
}

// LeadingExtension returns the data of the first extension if it has this kind and length, else nil. It is a fast
// Extension for an extension that all packets of a flow begin with.
func (p *Packet) LeadingExtension(kind uint8, n int) []byte {
	if p.extLen == 0 || p.ext[0] != kind || int(p.ext[1]) != n {
		return nil
	}
	return p.ext[2 : 2+n : 2+n]
}

// findExtension returns the offset and the length of an extension, head included. The length is 0 without one.
func (p *Packet) findExtension(kind uint8) (at, n int) {
	for at < int(p.extLen) {
		n = 2 + int(p.ext[at+1])
		if p.ext[at] == kind {
			return at, n
		}
		at += n
	}
	return at, 0
}

// SetExtension adds an extension or replaces the one of its kind. It returns false, without a change, if there is no
// room or the kind is padding. A packet has 190 bytes for extensions; each takes 2 and its data. data must not be a
// view of p's own extensions. A stack is set by SetStack. p.Size stays.
func (p *Packet) SetExtension(kind uint8, data []byte) bool {
	if kind == pad1 || kind == padN || kind|0x20 == ExtStack {
		return false
	}
	at, n := p.findExtension(kind)
	if n == 2+len(data) {
		copy(p.ext[at+2:], data)
		return true
	}
	if int(p.extLen)-n+2+len(data) > len(p.ext)-2 {
		return false
	}
	if n > 0 {
		p.RemoveExtension(kind)
	}
	p.changing |= changingBit(kind)
	at = int(p.extLen)
	p.ext[at], p.ext[at+1] = kind, uint8(len(data))
	copy(p.ext[at+2:], data)
	p.extLen = uint8(at + 2 + len(data))
	return true
}

// AppendExtensions appends all extensions except the one of kind excluded to b, in their stored form, and then the
// bytes of the stack. It changes no extension.
func (p *Packet) AppendExtensions(b []byte, excluded uint8) []byte {
	at, n := p.findExtension(excluded)
	b = append(append(b, p.ext[:at]...), p.ext[at+n:p.extLen]...)
	return append(b, p.Stack()...)
}

// RemoveExtension removes the extension of this kind, if there is one.
func (p *Packet) RemoveExtension(kind uint8) {
	if at, n := p.findExtension(kind); n > 0 {
		copy(p.ext[at:], p.ext[at+n:p.extLen])
		p.extLen -= uint8(n)
		p.changing &^= changingBit(kind)
	}
}

// changingBit returns the bit of a kind in Packet.changing.
func changingBit(kind uint8) uint8 {
	if kind&^7 == 0x38 {
		return 1 << (kind & 7)
	}
	return 0
}

// HasHotExtension reports whether p has an extension of this kind, one of 0x38 to 0x3f. It reads only the hot line.
func (p *Packet) HasHotExtension(kind uint8) bool { return p.changing>>(kind&7)&1 != 0 }

// HasAnyHotExtension reports whether p has an extension of any of these kinds.
func (p *Packet) HasAnyHotExtension() bool { return p.changing != 0 }

// RenameExtension changes the kind of an extension to newKind, by which a receiver turns a request into its answer. It
// reports whether p had the extension. p must not have one of newKind.
func (p *Packet) RenameExtension(kind, newKind uint8) bool {
	at, n := p.findExtension(kind)
	if n > 0 {
		p.ext[at] = newKind
		p.changing = p.changing&^changingBit(kind) | changingBit(newKind)
	}
	return n > 0
}

// KeepExtension removes all extensions but the one of this kind.
func (p *Packet) KeepExtension(kind uint8) {
	at, n := p.findExtension(kind)
	if at > 0 {
		copy(p.ext[:n], p.ext[at:at+n])
	}
	p.extLen = uint8(n)
	if p.changing &= changingBit(kind); n == 0 {
		p.changing = 0
	}
}

// HasExtensions reports whether p has extensions.
func (p *Packet) HasExtensions() bool { return p.extLen > 0 }

// CopyExtensions replaces p's extensions and stack by copies of source's. Acknowledgements so carry back what their
// data has collected. p.Size stays.
func (p *Packet) CopyExtensions(source *Packet) {
	p.extLen, p.changing = source.extLen, source.changing
	copy(p.ext[:source.extLen], source.ext[:source.extLen])
	if p.hasStack() {
		p.copyStack(source)
	}
}

// ClearExtensions removes all extensions.
func (p *Packet) ClearExtensions() { p.extLen, p.changing = 0, 0 }

// ExtensionBytes returns the length of the extensions on the wire with header and padding, a multiple of 8, plus the
// length of a stack outside of that header; 0 without extensions.
func (p *Packet) ExtensionBytes() int32 {
	if p.extLen == 0 {
		return 0
	}
	return p.extensionBytes()
}

// extensionBytes is ExtensionBytes for a packet with extensions.
func (p *Packet) extensionBytes() int32 {
	if p.hasStack() {
		return p.stackBytes()
	}
	return (int32(p.extLen) + 2 + 7) &^ 7
}

// optionBytes returns the length in bytes of the extensions' header, with padding; 0 without one. A stack outside of
// that header does not count.
func (p *Packet) optionBytes() int {
	n := int(p.ExtensionBytes())
	if p.hasStack() && p.StackPlace() != HopByHop {
		n -= p.stackLen()
	}
	return n
}

// appendExtensions appends the extensions' header; next is the protocol behind it.
func (p *Packet) appendExtensions(b []byte, next uint8) []byte {
	at, n := len(b), p.optionBytes()
	b = append(b, next, uint8(n/8-1))
	options := p.ext[:p.extLen]
	if p.hasStack() {
		options = options[stackEntry:]
		if p.StackPlace() == HopByHop {
			kind := uint8(ioamOption)
			if p.isAnswerStack() {
				kind = ioamAnswer
			}
			b = append(b, padN, 0, kind, uint8(p.stackLen())) // begins at a multiple of 4 (RFC 9486)
			b = append(b, p.Stack()...)
		}
	}
	b = append(b, options...)
	switch pad := n - (len(b) - at); pad {
	case 0:
	case 1:
		b = append(b, pad1)
	default:
		b = append(b, padN, uint8(pad-2))
		b = append(b, make([]byte, pad-2)...)
	}
	return b
}

// parseExtensions parses an extensions' header into p's extensions, which it replaces. It returns the protocol behind
// the header and the rest of b. It fails for a damaged header, or one with more extensions than p has room for.
func (p *Packet) parseExtensions(b []byte) (next uint8, rest []byte, err error) {
	if len(b) < 8 {
		return 0, nil, shortError("extension header", 8, len(b))
	}
	n := 8 * (int(b[1]) + 1)
	if n > len(b) {
		return 0, nil, shortError("extension header", n, len(b))
	}
	options := b[2:n]
	p.ClearExtensions()
	for len(options) > 0 {
		if options[0] == pad1 {
			options = options[1:]
			continue
		}
		if len(options) < 2 || 2+int(options[1]) > len(options) {
			return 0, nil, fmt.Errorf("extension header: option %#x leaves the header", options[0])
		}
		end := 2 + int(options[1])
		if ok, err := p.parseTrace(options[0], options[2:end]); ok || err != nil {
			if err != nil {
				return 0, nil, err
			}
			options = options[end:]
			continue
		}
		if options[0] != padN && !p.SetExtension(options[0], options[2:end]) {
			return 0, nil, fmt.Errorf("extension header: more than %d bytes of extensions", len(p.ext)-2)
		}
		options = options[end:]
	}
	return b[0], b[n:], nil
}

// parseTrace stores an option that is IOAM's pre-allocated trace (RFC 9197 §4.4) as the stack. It returns false for
// all other options.
func (p *Packet) parseTrace(kind uint8, data []byte) (bool, error) {
	if kind != ioamOption && kind != ioamAnswer || p.hasStack() || len(data) < minIOAMBytes || len(data)%4 != 2 ||
		data[1] != 0 {
		return false, nil
	}
	return true, p.setParsed(HopByHop, data, kind == ioamAnswer)
}
