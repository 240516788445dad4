package telemetry

import (
	"encoding/binary"
	"fmt"
	"slices"

	"weir/core/packet"
	"weir/core/unit"
)

// Kinds of packet extensions that carry telemetry. The upper bits 001 mean that a node that does not know the
// extension skips it, and that it changes en route (RFC 8200 §4.2). IANA has not assigned these numbers. An extension
// without the bit Asked is an answer on its way back, to which switches do not write.
const (
	Extension   uint8 = 0x3f            // HPCC's header
	Stacked     uint8 = packet.ExtStack // headers of INT, IOAM or IFA, in their own places
	LoadCode    uint8 = 0x3d            // PINT's code
	IfCongested uint8 = 0x3b            // no data: only congested switches write a record
	Asked       uint8 = 0x20            // in all of them; not in their answers
)

// AskBytes is the length of IfCongested in a header of extensions: kind and length.
const AskBytes = 2

// Request is the telemetry that a flow requests.
type Request uint8

// What a flow can request.
const (
	NoRequest  Request = iota
	HopRecords         // of each hop, a record
	PathLoad           // the largest load: PINT
)

// Format is how the switches and hosts of one network carry telemetry.
type Format struct {
	Profile      Profile
	Hops         int        // hops for which a packet has room
	Sojourn      bool       // whether records have the time in the switch, where that is optional
	Microseconds bool       // IOAM: times are in microseconds
	HPCC         HPCC       // with Profile hpcc: its units and rate codes
	PINT         PINT       // for flows that request PathLoad only
	LoadInterval unit.Time  // over which switches average a port's load; 0: they do not, and PathLoad is not available
	Load         float64    // a port is congested from this load on,
	Queue        unit.Bytes // or with this queue
	// InFraming means that the run's framing already includes telemetry in each frame, as in the HPCC simulator. Frame
	// sizes then do not grow by it.
	InFraming bool

	codec    codec
	gafni    bool          // IOAM: bits 12 and 13
	extended bool          // IFA: with Weir's counter
	rates    [64]unit.Rate // by speed code, of IOAM's bit 13 and of IFA
}

// codec identifies the code that reads and writes a profile.
type codec uint8

const (
	codecHPCC codec = iota
	codecRelative
	codecINT
	codecIOAM
	codecIFA
)

// NewFormat returns the format of a profile with HPCC's units (multiplier multi, see NewHPCC) and PINT's code (base,
// see NewPINT). The list rates has the rates of the network's ports. Where the format has codes of rates, a rate
// without a code gets a free one, in this order. It is an error if the profile is unknown or more codes are needed than
// are free.
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
		copy(f.rates[:], speedCodes[:])
		return f, f.addRates(f.rates[:ifaUnknown], rates, false)
	case f.gafni:
		copy(f.rates[:], speedCodes[:])
		return f, f.addRates(f.rates[:unknownSpeed], rates, true)
	}
	return f, nil
}

// speedCodes are the rates by speed code. The first seven are the codes of IFA's hardware, the others are Weir's.
var speedCodes = [...]unit.Rate{10 * unit.Gbps, 25 * unit.Gbps, 40 * unit.Gbps, 50 * unit.Gbps, 100 * unit.Gbps,
	200 * unit.Gbps, 400 * unit.Gbps, 800 * unit.Gbps, 1600 * unit.Gbps}

// addRates assigns free entries of codes, in order, to rates that have no code. strict: it is an error if a rate
// remains without a code; otherwise that rate stays without one.
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

// speedCode returns the speed code of a rate, among the codes below unknown. It returns unknown if no code matches.
func (f *Format) speedCode(r unit.Rate, unknown int) int {
	for i, have := range f.rates[:unknown] {
		if have == r {
			return i
		}
	}
	return unknown
}

// HasRateCodes reports whether the format has codes of rates that laws need.
func (f *Format) HasRateCodes() bool { return f.codec == codecHPCC || f.gafni }

// CanRepresent reports whether the format can represent this rate of a port.
func (f *Format) CanRepresent(r unit.Rate) bool {
	if f.codec == codecHPCC {
		_, ok := f.HPCC.RateCode(r)
		return ok
	}
	return !f.gafni || r > 0 && f.speedCode(r, unknownSpeed) < unknownSpeed
}

// SetShape sets the number of hops for which a packet has room, 0 for the format's default, and whether records have
// the time in the switch. It is an error if the format does not allow that; f must not be used then. HPCC's header has
// its own number of hops, and hops below it have no effect.
func (f *Format) SetShape(hops int, sojourn bool) error {
	if hops > 0 && f.codec == codecRelative {
		return fmt.Errorf("telemetry: format relative has no records: hops is without effect")
	}
	if hops > 0 && (f.codec != codecHPCC || hops > f.Hops) { // HPCC's header always has its five places
		f.Hops = hops
	}
	if sojourn && f.codec != codecINT && f.codec != codecIOAM && f.Profile.Fields&Sojourn == 0 {
		return fmt.Errorf("telemetry: format %s has no room for the time in the switch; int-md, ioam and ifa-ext have",
			f.Profile.Name)
	}
	f.Sojourn = sojourn
	most := f.Profile.MaxHops
	if f.codec == codecIOAM {
		most = (255 - ioamHeader) / 4 / nodeWords(f.ioamType())
	}
	if f.Hops > most {
		return fmt.Errorf("telemetry: format %s has room for %d hops at most", f.Profile.Name, most)
	}
	return nil
}

// CarriedFields returns the fields that the format's packets carry for a flow that requests records.
func (f *Format) CarriedFields() Field {
	if f.Sojourn {
		return f.Profile.Fields | Sojourn
	}
	return f.Profile.Fields
}

// WrapSpan returns the time and the number of bytes after which the records' fields wrap.
func (f *Format) WrapSpan() Wraparound {
	switch f.codec {
	case codecHPCC:
		return f.HPCC.WrapSpan()
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

// MaxBytes returns the maximum length of the format's telemetry in a frame, in bytes.
func (f *Format) MaxBytes() int32 { return f.Bytes(f.Hops) }

// Bytes returns the length of the format's telemetry in a frame after this number of hops.
func (f *Format) Bytes(hops int) int32 { return f.BytesWith(hops, 0) }

// BytesWith returns the length of the telemetry after this number of hops together with the packet's other extensions,
// which have others bytes. The header of extensions has a multiple of 8 bytes; INT and IFA are outside of it.
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

// LoadBytes returns the maximum length of PINT's code together with the packet's other extensions, which have others
// bytes.
func LoadBytes(others int32) int32 { return extensionBytes(2 + 2 + others) }

// extensionBytes returns the length of the header of extensions for n bytes of extensions; 0 without extensions.
func extensionBytes(n int32) int32 {
	if n == 0 {
		return 0
	}
	return (2 + n + 7) &^ 7
}

var zeros [256]byte

// AddRequest adds the sender's request for telemetry to p (draft-miao §7.2); p.Size stays. congested: only congested
// switches are to answer. It returns false if p has no room, or for NoRequest.
func (f *Format) AddRequest(p *packet.Packet, what Request, congested bool) bool {
	switch {
	case what == PathLoad:
		return p.SetExtension(LoadCode, zeros[:f.PINT.Bytes()])
	case what == NoRequest:
		return false
	case f.codec == codecRelative:
		return p.SetExtension(RelativeLoad, zeros[:relativeBytes])
	case congested:
		return p.SetExtension(IfCongested, nil)
	}
	return f.addHeader(p)
}

// addHeader adds an empty header of telemetry to p. It returns false if p has no room.
func (f *Format) addHeader(p *packet.Packet) bool {
	if f.codec == codecINT || f.codec == codecIOAM || f.codec == codecIFA {
		return f.addStack(p)
	}
	return p.SetExtension(Extension, zeros[:HPCCBytes])
}

// addStack is addHeader for formats with packets that grow at each hop. It is separate because HPCC's header does not
// need the cost of its buffer.
func (f *Format) addStack(p *packet.Packet) bool {
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

// RequestSet is a set of requests in a packet to the current switch.
type RequestSet uint8

// What a packet can request, as bits.
const (
	WantsRecord            RequestSet = 1 << iota // a record of the hop
	WantsLoad                                     // its load
	WantsRecordIfCongested                        // the record, if the port is congested
	WantsRelative                                 // its load, in format relative
)

// RequestsOf returns what p requests. Requests of loads count only if f has a LoadInterval.
func (f *Format) RequestsOf(p *packet.Packet) (w RequestSet) {
	switch {
	case f.codec == codecRelative:
		if p.HasHotExtension(RelativeLoad) && f.LoadInterval > 0 {
			w = WantsRelative
		}
	case p.HasHotExtension(IfCongested):
		w = WantsRecordIfCongested
	case p.HasHotExtension(f.recordKind()):
		w = WantsRecord
	}
	if p.HasHotExtension(LoadCode) && f.LoadInterval > 0 {
		w |= WantsLoad
	}
	return w
}

// recordKind returns the kind of the extension that has the records.
func (f *Format) recordKind() uint8 {
	if f.codec >= codecINT {
		return Stacked
	}
	return Extension
}

// PushRecord writes a record of h into p, which requests it. p may grow, and p.Size with it unless the framing includes
// telemetry. Values of the packet itself are read from p. It returns false if no record was written: p has no room,
// which its header then shows, or the port's rate has no code.
func (f *Format) PushRecord(p *packet.Packet, h *Hop) bool {
	return f.PushWithin(p, h, packet.StackRoom)
}

// PushWithin is PushRecord with a limit: p may grow by at most room bytes, so that it fits the link's MTU. A missing
// record is marked as the format defines: INT sets M, IFA counts the hop down, and IOAM has its room from the sender
// on. A packet without a header does not get one.
func (f *Format) PushWithin(p *packet.Packet, h *Hop, room int32) bool {
	b, ok := p.Extension(f.recordKind())
	if ok && f.codec == codecHPCC { // the packet does not grow
		return f.pushHPCC(p, b, h)
	}
	before := p.ExtensionBytes()
	if !ok && (f.Bytes(1) > room || !f.addHeader(p)) {
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
	if !f.InFraming {
		p.Size += p.ExtensionBytes() - before
	}
	return ok
}

// pushHPCC writes a record into HPCC's header. Where only congested hops write records, it also mixes the switch's
// port into pathID. Otherwise a switch's ports differ in the switches behind them, but those may write no record, and
// counters of two ports must not be compared (TestIfCongestedPorts).
func (f *Format) pushHPCC(p *packet.Packet, b []byte, h *Hop) bool {
	code, ok := f.HPCC.RateCode(h.Rate)
	if !ok {
		return false
	}
	id := h.Switch
	if p.HasHotExtension(IfCongested) {
		id ^= uint32(h.Port) * portSpread
	}
	return f.HPCC.PutFields(b, code, id, h.Time, h.TxBytes, h.Queue)
}

// portSpread is odd, so that each of a switch's 4096 ports gets its own pathID. Ports with small numbers get other
// values than switches with small numbers.
const portSpread = 0x9e5

// PushLoad writes the load of a hop, a share of its capacity, into p, which requests it, if it is the largest so far.
// It takes a random number of r.
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

// answerKinds are the kinds that a receiver returns to the sender.
var answerKinds = [...]uint8{Extension, Stacked, LoadCode, RelativeLoad, IfCongested}

// MakeAnswer is the receiver's part. It turns the telemetry that p requested into an answer, in place, and drops the
// other extensions of p. It reports whether p had telemetry. Once a switch has written a record, IfCongested is
// removed.
func (f *Format) MakeAnswer(p *packet.Packet) bool {
	if !p.HasExtensions() {
		return false
	}
	found := uint8(0)
	for _, kind := range answerKinds {
		if p.HasHotExtension(kind) && (kind != IfCongested || found == 0) && p.RenameExtension(kind, kind&^Asked) {
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

// Reading is the type of an answer.
type Reading uint8

// Readings.
const (
	NoAnswer    Reading = iota // the packet has no telemetry, or it is damaged
	Recorded                   // there are records of the hops that the format can represent
	Loaded                     // there is the largest load of the path
	Uncongested                // no hop is congested: all loads are below Format.Load
)

// ReadAnswer reads the answer in an acknowledgement: the path's records into r, or its load. load is valid with Loaded
// and Uncongested only.
func (f *Format) ReadAnswer(p *packet.Packet, r *Records) (what Reading, load float64) {
	if !p.HasExtensions() {
		return NoAnswer, 0
	}
	return f.readAnswer(p, r, 0)
}

// ReadRequest is ReadAnswer for a packet on its way to the receiver. It leaves p unchanged.
func (f *Format) ReadRequest(p *packet.Packet, r *Records) (what Reading, load float64) {
	if !p.HasExtensions() {
		return NoAnswer, 0
	}
	return f.readAnswer(p, r, Asked)
}

// readAnswer is ReadAnswer for extensions with the bits asked in their kinds: Asked, or 0 for answers. A load without
// records leaves r as it is.
func (f *Format) readAnswer(p *packet.Packet, r *Records, asked uint8) (Reading, float64) {
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

// readStack reads p's stack into r. It returns false if the stack is of another format or damaged.
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
