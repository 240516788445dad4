package ecmp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/core/dataplane"
	"weir/core/packet"
)

// field is a packet field that the CRC-16 may cover.
type field uint8

const (
	dst field = iota
	src
	proto
	sport
	dport
)

// fieldNames are the fields' names in a file, by field.
var fieldNames = []string{"dst", "src", "proto", "sport", "dport"}

// parseFields parses the list of fields. It fails on unknown or repeated fields, and on an empty list.
func (c *config) parseFields() (out []field, err error) {
	for _, w := range strings.Fields(strings.ReplaceAll(c.Fields, ",", " ")) {
		i := slices.Index(fieldNames, w)
		switch {
		case i < 0:
			return nil, fmt.Errorf("%q is no field; allowed: %s", w, strings.Join(fieldNames, ", "))
		case slices.Contains(out, field(i)):
			return nil, fmt.Errorf("%q stands there twice", w)
		}
		out = append(out, field(i))
	}
	if len(out) == 0 {
		return nil, errors.New("no field is named, so all packets would take one port")
	}
	return out, nil
}

// selector is BMv2's hash of a group's members: CRC-16/ARC over fields in wire format.
type selector struct {
	fields []field
	book   *packet.Book
	table  [256]uint16
}

// newSelector returns the selector over fields. It fails without an address book.
func newSelector(site *dataplane.Site, fields []field) (*selector, error) {
	if site.Book == nil {
		return nil, errors.New("crc16 goes over addresses, and there are none here")
	}
	s := &selector{fields: fields, book: site.Book}
	for i := range s.table {
		c := uint16(i)
		for range 8 {
			if c&1 != 0 {
				c = c>>1 ^ 0xa001 // 0x8005, reflected
			} else {
				c >>= 1
			}
		}
		s.table[i] = c
	}
	return s, nil
}

// hashPacket returns the CRC-16 of the selector's fields of a packet, in their order.
func (s *selector) hashPacket(p *packet.Packet) (crc uint16) {
	for _, f := range s.fields {
		switch f {
		case dst:
			crc = s.addAddress(crc, p.Dst, p.Version)
		case src:
			crc = s.addAddress(crc, p.Src, p.Version)
		case proto:
			crc = s.addByte(crc, p.Proto)
		case sport:
			crc = s.addByte(s.addByte(crc, uint8(p.SrcPort>>8)), uint8(p.SrcPort))
		case dport:
			crc = s.addByte(s.addByte(crc, uint8(p.DstPort>>8)), uint8(p.DstPort))
		}
	}
	return crc
}

// addByte adds a byte to a CRC.
func (s *selector) addByte(crc uint16, b uint8) uint16 { return crc>>8 ^ s.table[uint8(crc)^b] }

// addAddress adds the bytes of an address to a CRC, and returns the new CRC. Without an address in the IP version the
// CRC stays.
func (s *selector) addAddress(crc uint16, a packet.Addr, version uint8) uint16 {
	if version == 6 {
		if x := s.book.V6(a); x.IsValid() {
			for _, b := range x.As16() {
				crc = s.addByte(crc, b)
			}
		}
		return crc
	}
	if x := s.book.V4(a); x.IsValid() {
		for _, b := range x.As4() {
			crc = s.addByte(crc, b)
		}
	}
	return crc
}
