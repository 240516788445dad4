package telemetry

import (
	"encoding/binary"
	"fmt"

	"weir/core/packet"
	"weir/core/unit"
)

// Kinds of packet extensions that carry telemetry. The upper bits 001 say that a node
// that does not know it skips it, and that it changes en route (RFC 8200 §4.2); IANA has
// not given these numbers away. Without Asked an extension is an answer on its way back,
// which no switch writes to.
const (
	Extension   uint8 = 0x3f // HPCC's header
	InFull      uint8 = 0x3c // records in full, for formats of which only the bytes are modelled
	LoadCode    uint8 = 0x3d // PINT's code
	IfCongested uint8 = 0x3b // no data: switches that are not congested write nothing
	Asked       uint8 = 0x20 // in all of them; not in their answers
)

// Want is the telemetry that a flow asks for.
type Want uint8

// What a flow can want.
const (
	Nothing    Want = iota
	HopRecords      // of each hop, a record
	PathLoad        // the largest load: PINT
)

// Format is how the switches and hosts of one network carry telemetry.
type Format struct {
	Profile Profile
	HPCC    HPCC       // with Profile hpcc: its units and rate codes
	PINT    PINT       // for flows that want PathLoad only
	T       unit.Time  // over which switches average a port's load; 0: they do not, and there is no PathLoad
	Load    float64    // a port is congested from this load on,
	Queue   unit.Bytes // or with this queue
	// Counted says that the run's framing has telemetry in each frame already, as the
	// HPCC simulator does: sizes do not grow by it.
	Counted bool

	full     bool // records in full: the profile is neither HPCC's nor relative
	relative bool // there are no records
}

// FormatHops is how many records there is room for, whatever the profile: a packet has
// no more, and HPCC's header neither.
const FormatHops = 5

// NewFormat returns the format of a profile with HPCC's units and PINT's code of this
// base. rates are those of the network's ports: what HPCC's header has no code for gets
// one of the three free ones, in this order. It is an error if the profile is not known,
// or more codes are needed.
func NewFormat(profile string, multi int64, base float64, rates []unit.Rate) (Format, error) {
	var f Format
	var ok bool
	if f.Profile, ok = FindProfile(profile); !ok {
		return f, fmt.Errorf("telemetry: %q is no format", profile)
	}
	f.HPCC, f.PINT = NewHPCC(multi), NewPINT(base)
	f.relative = profile == "relative"
	if f.full = profile != "hpcc" && !f.relative; f.full || f.relative {
		return f, nil
	}
	free := 0
	for free < len(f.HPCC.Rates) && f.HPCC.Rates[free] > 0 {
		free++
	}
	for _, r := range rates {
		if _, ok := f.HPCC.Code(r); ok || r <= 0 {
			continue
		}
		if free == len(f.HPCC.Rates) {
			return f, fmt.Errorf("telemetry: HPCC's header has 8 rate codes, and no more for %v; other formats carry any rate",
				r)
		}
		f.HPCC.Rates[free] = r
		free++
	}
	return f, nil
}

// Span is after how much the records' fields begin anew.
func (f *Format) Span() Span {
	switch {
	case f.full:
		return Span{Bytes: 1 << 48}
	case f.relative:
		return Span{}
	}
	return f.HPCC.Span()
}

// Records in full: 1 byte hops, 1 byte hops without room, 2 bytes path, then each hop
// with its time (8), sent bytes (6, after which they begin anew), rate (6), queue and
// sojourn time (5 each, at most 1.1 s), switch (4) and port (2).
const (
	fullHead = 4
	fullHop  = 8 + 6 + 6 + 5 + 5 + 4 + 2
)

var empty [HPCCBytes]byte

// Ask is the sender's indication (draft-miao §7.2): it adds to p what asks the switches
// for telemetry. congested: only those that are. It returns false if p has no room.
func (f *Format) Ask(p *packet.Packet, what Want, congested bool) bool {
	switch {
	case what == PathLoad:
		return p.SetExtension(LoadCode, empty[:f.PINT.Bytes()])
	case what == Nothing:
		return false
	case f.relative:
		return p.SetExtension(RelativeLoad, empty[:relativeBytes])
	case congested:
		return p.SetExtension(IfCongested, nil)
	}
	return f.open(p)
}

// open adds an empty header.
func (f *Format) open(p *packet.Packet) bool {
	if f.full {
		return p.SetExtension(InFull, empty[:fullHead])
	}
	return p.SetExtension(Extension, empty[:HPCCBytes])
}

// Bytes is what p's extensions add to a frame: what they take on the wire, but for
// records in full, which count as their profile says.
func (f *Format) Bytes(p *packet.Packet) int32 {
	if !f.full {
		return p.ExtensionBytes()
	}
	for _, kind := range [2]uint8{InFull, InFull &^ Asked} {
		if b, ok := p.Extension(kind); ok && len(b) >= fullHead {
			return p.OtherExtensionBytes(kind) + f.Profile.Bytes(int(b[0])+int(b[1]))
		}
	}
	return p.ExtensionBytes()
}

// Wanted is what a packet asks the current switch for.
type Wanted uint8

// What a packet can ask for, as bits.
const (
	WantsRecord   Wanted = 1 << iota // a record of the hop
	WantsLoad                        // its load
	WantsIf                          // the record, if the port is congested
	WantsRelative                    // its load, of format relative
)

// Wants tells what p asks for.
func (f *Format) Wants(p *packet.Packet) (w Wanted) {
	switch {
	case f.relative:
		if p.Asks(RelativeLoad) && f.T > 0 {
			w = WantsRelative
		}
	case p.Asks(IfCongested):
		w = WantsIf
	case p.Asks(f.kind()):
		w = WantsRecord
	}
	if p.Asks(LoadCode) && f.T > 0 {
		w |= WantsLoad
	}
	return w
}

// kind is that of the extension that has records.
func (f *Format) kind() uint8 {
	if f.full {
		return InFull
	}
	return Extension
}

// Push writes a record of h into p, which wants it, and lets p grow. It returns false
// if there is none: no room (it is counted then), or no code for the port's rate.
func (f *Format) Push(p *packet.Packet, h *Hop) bool {
	kind := f.kind()
	b, ok := p.Extension(kind)
	if ok && kind == Extension { // nothing grows
		return f.HPCC.Push(b, h)
	}
	before := f.Bytes(p)
	if !ok {
		if !f.open(p) {
			return false
		}
		b, _ = p.Extension(kind)
	}
	if kind == Extension {
		ok = f.HPCC.Push(b, h)
	} else {
		ok = f.pushFull(p, b, h)
	}
	if !f.Counted {
		p.Size += f.Bytes(p) - before
	}
	return ok
}

func (f *Format) pushFull(p *packet.Packet, b []byte, h *Hop) bool {
	if len(b) < fullHead {
		return false
	}
	binary.BigEndian.PutUint16(b[2:], binary.BigEndian.Uint16(b[2:])^uint16(h.Switch)&(1<<PathBits-1))
	if int(b[0]) >= min(FormatHops, f.Profile.Max) {
		b[1] = min(b[1], 254) + 1
		return false
	}
	var room [fullHead + FormatHops*fullHop]byte
	all := append(room[:0], b...)
	all = binary.BigEndian.AppendUint64(all, uint64(h.Time))
	all = append48(all, h.TxBytes&most48)
	all = append48(all, uint64(h.Rate))
	all = append40(all, uint64(max(h.Queue, 0)))
	all = append40(all, uint64(max(h.Sojourn, 0)))
	all = binary.BigEndian.AppendUint32(all, h.Switch)
	all = binary.BigEndian.AppendUint16(all, h.Port)
	all[0]++
	if !p.SetExtension(InFull, all) {
		b[1] = min(b[1], 254) + 1
		return false
	}
	return true
}

const most48 = 1<<48 - 1

// append48 appends six bytes; what is larger is the largest.
func append48(b []byte, v uint64) []byte {
	v = min(v, most48)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(v>>32)), uint32(v))
}

func append40(b []byte, v uint64) []byte {
	v = min(v, 1<<40-1)
	return binary.BigEndian.AppendUint32(append(b, uint8(v>>32)), uint32(v))
}

func uint40(b []byte) uint64 { return uint64(b[0])<<32 | uint64(binary.BigEndian.Uint32(b[1:])) }

func uint48(b []byte) uint64 {
	return uint64(binary.BigEndian.Uint16(b))<<32 | uint64(binary.BigEndian.Uint32(b[2:]))
}

// PushLoad writes the load of a hop into p, which wants it, if it is the largest so far.
func (f *Format) PushLoad(p *packet.Packet, load float64, r unit.Random) {
	b, _ := p.Extension(LoadCode)
	code := f.PINT.Encode(load, r)
	switch len(b) {
	case 1:
		b[0] = max(b[0], uint8(min(code, 255)))
	case 2:
		binary.BigEndian.PutUint16(b, max(binary.BigEndian.Uint16(b), code))
	}
}

// answers are the kinds that a receiver turns round.
var answers = [...]uint8{Extension, InFull, LoadCode, RelativeLoad, IfCongested}

// Answer is the receiver's part: it makes an answer of the telemetry that p asked for,
// in place, drops what else p carries, and reports whether there was any. Where a switch
// has written a record, nothing is left of IfCongested.
func (f *Format) Answer(p *packet.Packet) bool {
	if !p.Extended() {
		return false
	}
	found := uint8(0)
	for _, kind := range answers {
		if p.Asks(kind) && (kind != IfCongested || found == 0) && p.RenameExtension(kind, kind&^Asked) {
			found = kind
		}
	}
	if found == 0 {
		p.ClearExtensions()
		return false
	}
	p.KeepExtension(found &^ Asked)
	return true
}

// Reading is what an answer says.
type Reading uint8

// Readings.
const (
	NoAnswer    Reading = iota // there is no telemetry in the packet, or it is damaged
	Recorded                   // there are records, of the hops that the format can tell
	Loaded                     // there is the largest load of the path
	Uncongested                // no hop is congested: all loads are below Format.Load
)

// Read reads the answer of an acknowledgement: its records into r, or its load.
func (f *Format) Read(p *packet.Packet, r *Records) (what Reading, load float64) {
	if !p.Extended() {
		return NoAnswer, 0
	}
	return f.read(p, r, 0)
}

// ReadAsked is Read of what is on its way to the receiver.
func (f *Format) ReadAsked(p *packet.Packet, r *Records) (what Reading, load float64) {
	if !p.Extended() {
		return NoAnswer, 0
	}
	return f.read(p, r, Asked)
}

func (f *Format) read(p *packet.Packet, r *Records, asked uint8) (Reading, float64) {
	if f.relative {
		if b, ok := p.Extension(RelativeLoad&^Asked | asked); ok && len(b) == relativeBytes {
			if code := binary.BigEndian.Uint16(b); code > 0 {
				return Loaded, DecodeRelative(code)
			}
			return NoAnswer, 0
		}
	} else if f.full {
		if b, ok := p.Extension(InFull&^Asked | asked); ok {
			if !readFull(b, r) {
				return NoAnswer, 0
			}
			return Recorded, 0
		}
	} else if b, ok := p.Extension(Extension&^Asked | asked); ok {
		if f.HPCC.Decode(b, r) != nil {
			return NoAnswer, 0
		}
		return Recorded, 0
	}
	if b, ok := p.Extension(LoadCode&^Asked | asked); ok && len(b) == int(f.PINT.Bytes()) {
		code := uint16(b[0])
		if len(b) == 2 {
			code = binary.BigEndian.Uint16(b)
		}
		return Loaded, f.PINT.Decode(code)
	}
	if _, ok := p.Extension(IfCongested&^Asked | asked); ok {
		return Uncongested, f.Load
	}
	return NoAnswer, 0
}

func readFull(b []byte, r *Records) bool {
	r.Reset()
	if len(b) < fullHead || int(b[0]) > FormatHops || len(b) != fullHead+int(b[0])*fullHop {
		return false
	}
	for i := range int(b[0]) {
		x := b[fullHead+i*fullHop:]
		r.hops[i] = Hop{Time: unit.Time(binary.BigEndian.Uint64(x)), TxBytes: uint48(x[8:]), Rate: unit.Rate(uint48(x[14:])),
			Queue: unit.Bytes(uint40(x[20:])), Sojourn: unit.Time(uint40(x[25:])), Switch: binary.BigEndian.Uint32(x[30:]),
			Port: binary.BigEndian.Uint16(x[34:])}
	}
	r.n, r.missed, r.path = b[0], b[1], binary.BigEndian.Uint16(b[2:])&(1<<PathBits-1)
	return true
}
