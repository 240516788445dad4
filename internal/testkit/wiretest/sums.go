package wiretest

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// sum returns the ones' complement sum of 16-bit words (RFC 1071), without optimizations.
func sum(parts ...[]byte) uint16 {
	total := uint32(0)
	for _, b := range parts {
		for i := 0; i < len(b); i += 2 {
			word := uint32(b[i]) << 8
			if i+1 < len(b) {
				word |= uint32(b[i+1])
			}
			if total += word; total > 0xffff {
				total -= 0xffff
			}
		}
	}
	return uint16(total)
}

// checkSum checks the checksum of a segment, with the pseudo-header of RFC 9293 §3.1, RFC 768 and RFC 8200 §8.1, and
// sets r.Summed. UDP over IPv4 need not have one.
func (r *reader) checkSum(proto uint8, segment []byte) error {
	if proto == udp && be.Uint16(segment[6:]) == 0 {
		if r.Version == 6 {
			return errors.New("UDP: no checksum over IPv6 (RFC 8200 §8.1)")
		}
		return nil
	}
	pseudo := append(r.Src.AsSlice(), r.Dst.AsSlice()...)
	pseudo = be.AppendUint32(be.AppendUint32(pseudo, uint32(len(segment))), uint32(proto))
	if got := sum(pseudo, segment); got != 0xffff {
		return fmt.Errorf("transport: protocol %d has the wrong checksum: the sum is %#04x", proto, got)
	}
	r.Summed = true
	return nil
}

// checkICRC checks the invariant CRC (InfiniBand, Annex A17): CRC-32 over eight bytes of ones, then over IP, UDP and
// BTH with ones in place of the fields that routers change. It excludes telemetry that the network has inserted, so
// lengths, protocol and port are those of the original datagram.
func (r *reader) checkICRC() error {
	if len(r.Payload) < 12+4 {
		return errors.New("RoCEv2: too short for BTH and ICRC")
	}
	datagram := append(append([]byte(nil), r.Header...), r.Payload...)
	at := len(datagram) - 4
	want := uint32(datagram[at]) | uint32(datagram[at+1])<<8 | uint32(datagram[at+2])<<16 | uint32(datagram[at+3])<<24
	ip := append([]byte(nil), r.ip...)
	if r.Version == 4 {
		be.PutUint16(ip[2:], uint16(20+len(datagram)))
		ip[1], ip[8], ip[9], ip[10], ip[11] = 0xff, 0xff, udp, 0xff, 0xff
	} else {
		be.PutUint16(ip[4:], uint16(len(datagram)))
		be.PutUint32(ip, 0x6fffffff)
		ip[6], ip[7] = udp, 0xff
	}
	be.PutUint16(datagram[2:], roce)
	be.PutUint16(datagram[4:], uint16(len(datagram)))
	datagram[6], datagram[7], datagram[8+4] = 0xff, 0xff, 0xff
	ones := []byte{255, 255, 255, 255, 255, 255, 255, 255}
	crc := crc32.NewIEEE()
	for _, part := range [][]byte{ones, ip, datagram[:at]} {
		crc.Write(part)
	}
	if got := crc.Sum32(); got != want {
		return fmt.Errorf("RoCEv2: ICRC %#08x, it should be %#08x", want, got)
	}
	return nil
}
