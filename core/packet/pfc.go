package packet

import "fmt"

const (
	pfcOpcode = 0x0101 // IEEE 802.1Qbb
	pfcFrame  = 60     // bytes without FCS
	maxQuanta = 0xffff
)

// emitPFC appends the frame of a Pause or a Resume of p's class, which must be 0 to 7, padded to 60 bytes. A Pause with
// p.Seq 0 has the maximum of quanta.
func (p *Packet) emitPFC(b []byte) ([]byte, error) {
	if p.Meta.Class > 7 {
		return nil, fmt.Errorf("PFC frame: class %d; allowed: 0 to 7", p.Meta.Class)
	}
	start := len(b)
	b = AppendEthernet(b, [6]byte{0x01, 0x80, 0xc2, 0, 0, 1}, MAC(p.Src), EtherControl)
	b = be.AppendUint16(b, pfcOpcode)
	b = be.AppendUint16(b, 1<<p.Meta.Class)
	for class := range uint8(8) {
		quanta := uint16(0)
		if p.Kind == Pause && class == p.Meta.Class {
			if quanta = maxQuanta; p.Seq > 0 && p.Seq < maxQuanta {
				quanta = uint16(p.Seq)
			}
		}
		b = be.AppendUint16(b, quanta)
	}
	return append(b, make([]byte, pfcFrame-(len(b)-start))...), nil
}

// parsePFC parses the bytes behind the Ethernet header of a PFC frame. It sets p's Kind, Seq and Meta.Class. It fails
// unless the frame is about exactly one class.
func (p *Packet) parsePFC(b []byte) error {
	if len(b) < 20 {
		return shortError("PFC frame", 20, len(b))
	}
	if op := be.Uint16(b); op != pfcOpcode {
		return fmt.Errorf("MAC control frame: opcode %#04x is not PFC's 0x0101", op)
	}
	classes := be.Uint16(b[2:])
	for class := range uint8(8) {
		if classes == 1<<class {
			p.Meta.Class = class
			quanta := be.Uint16(b[4+2*int(class):])
			if p.Kind, p.Seq = Resume, 0; quanta > 0 {
				p.Kind = Pause
				if quanta < maxQuanta {
					p.Seq = int64(quanta)
				}
			}
			return nil
		}
	}
	return fmt.Errorf("PFC frame: class vector %#04x; exactly one class is supported", classes)
}
