package telemetry

import (
	"encoding/binary"
	"fmt"
	"slices"

	"weir/core/packet"
	"weir/core/unit"
)

// Kinds of packet extensions that carry telemetry. The upper bits 001 say that a node
// that does not know it skips it, and that it changes en route (RFC 8200 §4.2); IANA has
// not given these numbers away. Without Asked an extension is an answer on its way back,
// which no switch writes to.
const (
	Extension   uint8 = 0x3f            // HPCC's header
	Stacked     uint8 = packet.ExtStack // headers of INT, IOAM or IFA, in their own places
	LoadCode    uint8 = 0x3d            // PINT's code
	IfCongested uint8 = 0x3b            // no data: switches that are not congested write nothing
	Asked       uint8 = 0x20            // in all of them; not in their answers
)

// AskBytes is what IfCongested takes of a header of extensions: kind and length.
const AskBytes = 2

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
	Hops    int        // of how many hops a packet has room for records
	Sojourn bool       // records have the time in the switch, where that is not for all
	Micro   bool       // of IOAM: times are of microseconds
	HPCC    HPCC       // with Profile hpcc: its units and rate codes
	PINT    PINT       // for flows that want PathLoad only
	T       unit.Time  // over which switches average a port's load; 0: they do not, and there is no PathLoad
	Load    float64    // a port is congested from this load on,
	Queue   unit.Bytes // or with this queue
	// Counted says that the run's framing has telemetry in each frame already, as the
	// HPCC simulator does: sizes do not grow by it.
	Counted bool

	codec    codec
	gafni    bool          // of IOAM: bits 12 and 13
	extended bool          // of IFA: with our counter
	rates    [64]unit.Rate // by speed code, of IOAM's bit 13 and of IFA
}

// codec is what reads and writes a profile.
type codec uint8

const (
	codecHPCC codec = iota
	codecRelative
	codecINT
	codecIOAM
	codecIFA
)

// NewFormat returns the format of a profile with HPCC's units and PINT's code of this
// base. rates are those of the network's ports: what a format with codes of rates has none
// for gets one that is free, in this order. It is an error if the profile is not known,
// or more codes are needed.
func NewFormat(profile string, multi int64, base float64, rates []unit.Rate) (Format, error) {
	var f Format
	var ok bool
	if f.Profile, ok = FindProfile(profile); !ok {
		return f, fmt.Errorf("telemetry: %q is no format", profile)
	}
	f.HPCC, f.PINT = NewHPCC(multi), NewPINT(base)
	f.codec, f.Hops = f.Profile.codec, f.Profile.Hops
	f.gafni, f.extended = profile == "ioam-gafni", profile == "ifa-ext"
	switch {
	case f.codec == codecHPCC:
		return f, f.addRates(f.HPCC.Rates[:], rates, true)
	case f.codec == codecIFA:
		copy(f.rates[:], speeds[:])
		return f, f.addRates(f.rates[:ifaUnknown], rates, false)
	case f.gafni:
		copy(f.rates[:], speeds[:])
		return f, f.addRates(f.rates[:unknownSpeed], rates, true)
	}
	return f, nil
}

// speeds are the rates by speed code; the first seven are those of IFA's hardware, the others ours.
var speeds = [...]unit.Rate{10 * unit.Gbps, 25 * unit.Gbps, 40 * unit.Gbps, 50 * unit.Gbps, 100 * unit.Gbps,
	200 * unit.Gbps, 400 * unit.Gbps, 800 * unit.Gbps, 1600 * unit.Gbps}

// addRates gives codes to rates that have none. strict: each must have one.
func (f *Format) addRates(codes, rates []unit.Rate, strict bool) error {
	free := 0
	for free < len(codes) && codes[free] > 0 {
		free++
	}
	for _, r := range rates {
		if r <= 0 || slices.Contains(codes[:free], r) {
			continue
		}
		if free < len(codes) {
			codes[free] = r
			free++
		} else if strict {
			return fmt.Errorf("telemetry: format %s has %d rate codes, and no more for %v; int-md and ioam carry any rate",
				f.Profile.Name, len(codes), r)
		}
	}
	return nil
}

// code is the speed code of a rate; none if it has none below that.
func (f *Format) code(r unit.Rate, none int) int {
	for i, have := range f.rates[:none] {
		if have == r {
			return i
		}
	}
	return none
}

// Coded reports whether the format has codes of rates, which laws need.
func (f *Format) Coded() bool { return f.codec == codecHPCC || f.gafni }

// Tells reports whether the format can say this rate of a port.
func (f *Format) Tells(r unit.Rate) bool {
	if f.codec == codecHPCC {
		_, ok := f.HPCC.Code(r)
		return ok
	}
	return !f.gafni || r > 0 && f.code(r, unknownSpeed) < unknownSpeed
}

// Shape sets of how many hops there is room for, 0 for as many as the format has by default, and whether
// records have the time in the switch. It is an error if the format cannot have that.
func (f *Format) Shape(hops int, sojourn bool) error {
	if hops > 0 && f.codec == codecRelative {
		return fmt.Errorf("telemetry: format relative has no records: hops is without effect")
	}
	if hops > 0 && (f.codec != codecHPCC || hops > f.Hops) { // HPCC's header has its five places in any case
		f.Hops = hops
	}
	if sojourn && f.codec != codecINT && f.codec != codecIOAM && f.Profile.Fields&Sojourn == 0 {
		return fmt.Errorf("telemetry: format %s has no room for the time in the switch; int-md, ioam and ifa-ext have",
			f.Profile.Name)
	}
	f.Sojourn = sojourn
	most := f.Profile.MostHops
	if f.codec == codecIOAM {
		most = (255 - ioamHeader) / 4 / nodeWords(f.ioamType())
	}
	if f.Hops > most {
		return fmt.Errorf("telemetry: format %s has room for %d hops at most", f.Profile.Name, most)
	}
	return nil
}

// Carries is what the format's packets tell of the path to a flow that wants records.
func (f *Format) Carries() Field {
	if f.Sojourn {
		return f.Profile.Fields | Sojourn
	}
	return f.Profile.Fields
}

// Span is after how much the records' fields begin anew.
func (f *Format) Span() Wraparound {
	switch f.codec {
	case codecHPCC:
		return f.HPCC.Span()
	case codecINT:
		return Wraparound{Bytes: counterModulo}
	case codecIOAM:
		if f.gafni {
			return Wraparound{Bytes: 1 << 32}
		}
		return Wraparound{Bytes: counterModulo}
	case codecIFA:
		if f.extended {
			return Wraparound{Time: unit.Second << ifaSeconds, Bytes: counterModulo}
		}
		return Wraparound{Time: unit.Second << ifaSeconds}
	}
	return Wraparound{}
}

// Most is what the format's telemetry takes at most of a frame.
func (f *Format) Most() int32 { return f.Bytes(f.Hops) }

// Bytes is what the format's telemetry takes of a frame behind so many hops.
func (f *Format) Bytes(hops int) int32 { return f.BytesWith(hops, 0) }

// BytesWith is Bytes in a packet that has other extensions of so many bytes, with theirs. Their header's length is a
// multiple of 8; INT and IFA stand outside of it.
func (f *Format) BytesWith(hops int, others int32) int32 {
	hops = min(hops, f.Hops)
	switch f.codec {
	case codecINT:
		return int32(intHeader+4*f.intWords()*hops) + extensionBytes(others)
	case codecIOAM: // type, length and what pads it
		return extensionBytes(int32(2+2+ioamHeader+4*nodeWords(f.ioamType())*f.Hops) + others)
	case codecIFA:
		return int32(ifaHeader+f.ifaBytes()*hops) + extensionBytes(others)
	case codecRelative:
		return extensionBytes(2 + relativeBytes + others)
	}
	return extensionBytes(2 + HPCCBytes + others)
}

// LoadBytes is what PINT's code takes at most of a frame whose other extensions have so many bytes, with theirs.
func LoadBytes(others int32) int32 { return extensionBytes(2 + 2 + others) }

// extensionBytes is the length of the header of extensions that have so many bytes.
func extensionBytes(n int32) int32 {
	if n == 0 {
		return 0
	}
	return (2 + n + 7) &^ 7
}

var empty [256]byte

// Ask is the sender's indication (draft-miao §7.2): it adds to p what asks the switches
// for telemetry. congested: only those that are. It returns false if p has no room.
func (f *Format) Ask(p *packet.Packet, what Want, congested bool) bool {
	switch {
	case what == PathLoad:
		return p.SetExtension(LoadCode, empty[:f.PINT.Bytes()])
	case what == Nothing:
		return false
	case f.codec == codecRelative:
		return p.SetExtension(RelativeLoad, empty[:relativeBytes])
	case congested:
		return p.SetExtension(IfCongested, nil)
	}
	return f.open(p)
}

// open adds an empty header.
func (f *Format) open(p *packet.Packet) bool {
	if f.codec == codecINT || f.codec == codecIOAM || f.codec == codecIFA {
		return f.openStack(p)
	}
	return p.SetExtension(Extension, empty[:HPCCBytes])
}

// openStack is open of the formats whose packets grow. Its room is a cost that HPCC's header does not have.
func (f *Format) openStack(p *packet.Packet) bool {
	var room [packet.StackRoom]byte
	switch b := room[:0]; f.codec {
	case codecINT:
		return p.SetStack(packet.BehindTransport, f.openINT(b))
	case codecIOAM:
		return p.SetStack(packet.HopByHop, f.openIOAM(b))
	default:
		return p.SetStack(packet.AroundTransport, f.openIFA(b))
	}
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
	case f.codec == codecRelative:
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
	if f.codec >= codecINT {
		return Stacked
	}
	return Extension
}

// Push writes a record of h into p, which wants it, and lets p grow. What else a record says of the packet
// is read from p. It returns false if there is none: no room (the header says so then), or no code for the
// port's rate.
func (f *Format) Push(p *packet.Packet, h *Hop) bool { return f.PushWithin(p, h, packet.StackRoom) }

// PushWithin is Push where p may grow by room bytes only, lest it be longer than the link's MTU. What a record finds no
// room for is told as the format has it: INT sets M, IFA counts the hop down, and IOAM has room from the sender on. A
// packet that has no header yet gets none.
func (f *Format) PushWithin(p *packet.Packet, h *Hop, room int32) bool {
	b, ok := p.Extension(f.kind())
	if ok && f.codec == codecHPCC { // nothing grows
		return f.pushHPCC(p, b, h)
	}
	before := p.ExtensionBytes()
	if !ok && (f.Bytes(1) > room || !f.open(p)) {
		return false
	}
	switch f.codec {
	case codecINT:
		ok = p.StackPlace() == packet.BehindTransport && pushINT(p, h, room)
	case codecIOAM:
		ok = p.StackPlace() == packet.HopByHop && f.pushIOAM(p, h)
	case codecIFA:
		ok = p.StackPlace() == packet.AroundTransport && f.pushIFA(p, h, room)
	default:
		b, _ = p.Extension(Extension)
		ok = f.pushHPCC(p, b, h)
	}
	if !f.Counted {
		p.Size += p.ExtensionBytes() - before
	}
	return ok
}

// pushHPCC writes a record into HPCC's header. Where only congested hops write one, pathID has a switch's port in it
// too: the switches behind it, which tell its ports apart otherwise, may write no record, and the counters of two ports
// are not to be compared (TestIfCongestedPorts).
func (f *Format) pushHPCC(p *packet.Packet, b []byte, h *Hop) bool {
	code, ok := f.HPCC.Code(h.Rate)
	if !ok {
		return false
	}
	id := h.Switch
	if p.Asks(IfCongested) {
		id ^= uint32(h.Port) * portSpread
	}
	return f.HPCC.Put(b, code, id, h.Time, h.TxBytes, h.Queue)
}

// portSpread is odd, so that it gives each of 4096 ports of a switch a pathID of its own, and those of small numbers
// other ones than switches of small numbers have.
const portSpread = 0x9e5

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
var answers = [...]uint8{Extension, Stacked, LoadCode, RelativeLoad, IfCongested}

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
	switch f.codec {
	case codecRelative:
		if b, ok := p.Extension(RelativeLoad&^Asked | asked); ok && len(b) == relativeBytes {
			if code := binary.BigEndian.Uint16(b); code > 0 {
				return Loaded, DecodeRelative(code)
			}
			return NoAnswer, 0
		}
	case codecHPCC:
		if b, ok := p.Extension(Extension&^Asked | asked); ok {
			if f.HPCC.Decode(b, r) != nil {
				return NoAnswer, 0
			}
			return Recorded, 0
		}
	default:
		if _, ok := p.Extension(Stacked&^Asked | asked); ok {
			if !f.readStack(p, r) {
				return NoAnswer, 0
			}
			return Recorded, 0
		}
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

// readStack reads p's stack into r; false if it is not of this format, or damaged.
func (f *Format) readStack(p *packet.Packet, r *Records) bool {
	switch b := p.Stack(); {
	case f.codec == codecINT && p.StackPlace() == packet.BehindTransport:
		return readINT(b, r)
	case f.codec == codecIOAM && p.StackPlace() == packet.HopByHop:
		return f.readIOAM(b, r)
	case f.codec == codecIFA && p.StackPlace() == packet.AroundTransport:
		return f.readIFA(b, r)
	}
	return false
}
