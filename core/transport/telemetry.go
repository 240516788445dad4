package transport

import (
	"encoding/binary"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
)

// When a sender asks the network for telemetry (draft-miao §6, §6.1, §7.2): values of
// TelemetryOptions.When.
const (
	AskPacket     = "packet"     // with each packet
	AskPackets    = "packets"    // with each n-th packet
	AskRTT        = "rtt"        // with one packet a round trip
	AskCongestion = "congestion" // with each packet, of congested switches only
	AskProbe      = "probe"      // with a separate packet each round trip
	AskNever      = "none"
)

// TelemetryOptions selects how a sender asks for telemetry, if its controller needs it, and which answers it accepts.
type TelemetryOptions struct {
	When      string
	Packets   int    // n, with AskPackets
	Integrity string // IntegrityNone if empty
	Key       string // with IntegrityKeyed; "": the run's seed
}

// Params binds the options of every transport that carries telemetry to the fields of a, which keep their values.
func (a *TelemetryOptions) Params(p *scheme.Params) {
	p.Text(&a.When, "telemetry", AskPacket,
		"which packets request telemetry, for controllers that use it; packet: each one; packets: one in "+
			"telemetry_packets; rtt: one per round-trip time; congestion: each one, answered by congested switches only; "+
			"probe: a separate probe per round-trip time; none: no packets",
		"draft-miao-iccrg-hpccplus-01 §6, §7.2; HPCC §4.1: each packet").
		Words(AskPacket, AskPackets, AskRTT, AskCongestion, AskProbe, AskNever)
	p.Packets(&a.Packets, "telemetry_packets", "8 packets", "with telemetry: packets: number of packets per request",
		"Weir").
		Min("1 packet").Max("1000000 packets").
		When("telemetry: packets", func() bool { return a.When == AskPackets })
	a.bindIntegrity(p)
}

// Feedback is the packet extension with the window that a receiver sends to its sender (cc.Feedback): 32 bits of
// window, 3 bits of its number and 13 bits of the number of flows. It does not change en route (RFC 8200 §4.2).
const Feedback uint8 = 0x1a

const (
	feedbackBytes = 6
	flowsBits     = 13
)

// Adopted is the packet extension with the number of the feedback that the sender has adopted, in a byte. Data that
// asks for telemetry carries it if the flow's receiver numbers its feedback.
const Adopted uint8 = 0x12

// AdoptedBytes is the size of Adopted in a header of extensions: kind, length and the number.
const AdoptedBytes = 2 + 1

// Flows is the packet extension with the number of flows that the receiver's host counts, in 2 bytes, next to the
// records that it returns (cc.Traits.CountsFlows).
const Flows uint8 = 0x16

// TelemetryRequester is a sender's part of telemetry: it asks for telemetry, and reads the answers.
type TelemetryRequester struct {
	format         *telemetry.Format
	want           telemetry.Request
	when           string
	every          int
	count          int
	askedAt        unit.Time
	asked          bool
	base           unit.Time // round-trip time before the first sample
	receiverDriven bool      // the receiver sends windows
	counts         bool      // the receiver sends the number of flows
	requests       bool      // packets carry requests (packet.Bolt)
	seal           *seal     // nil: feedback is not checked
	adopted        *adopted  // with receiverDriven
	*recordReader            // nil: the flow does not ask
}

// adopted stores the number of the feedback that a sender has adopted, for each path.
type adopted struct {
	numbers []uint8 // by path
	path    int     // of the next packet
}

// currentNumber returns the number of the selected path.
func (x *adopted) currentNumber() *uint8 { return &x.numbers[x.path] }

// recordReader is the state with which records of a flow are read.
type recordReader struct {
	unwrap  telemetry.Unwrapper
	records telemetry.Records
}

// newRecordReader returns an empty reader of records in format f, in the memory of old if that is not nil. f may be
// nil.
func newRecordReader(f *telemetry.Format, old *recordReader) *recordReader {
	r := old
	if r == nil {
		r = &recordReader{}
	}
	*r = recordReader{}
	if f != nil {
		r.unwrap.Span = f.WrapSpan()
	}
	return r
}

// NewTelemetryRequester returns the sender's part for a flow. It asks for no telemetry if the controller needs no
// telemetry, the network has no telemetry, or a.When is AskNever or empty. An error means that the options, the format
// and the controller do not go together.
func NewTelemetryRequester(f *Flow, a TelemetryOptions) (TelemetryRequester, error) {
	return MakeTelemetryRequester(f, a, &TelemetryRequester{})
}

// MakeTelemetryRequester is NewTelemetryRequester with the memory of old, which must have no other reference.
func MakeTelemetryRequester(f *Flow, a TelemetryOptions, old *TelemetryRequester) (TelemetryRequester, error) {
	x := TelemetryRequester{format: f.Telemetry, when: a.When, every: a.Packets, base: f.Path.BaseRTT,
		receiverDriven: f.CC != nil && f.CC.Receiver != nil}
	if f.CC != nil {
		x.want, x.requests = f.CC.Telemetry, f.CC.Requests
	}
	if a.When == AskNever || a.When == "" || f.Telemetry == nil {
		x.want = telemetry.NoRequest
	}
	x.seal = newSeal(f, &a)
	if x.want == telemetry.NoRequest {
		return x, nil
	}
	x.recordReader = newRecordReader(f.Telemetry, old.recordReader)
	if x.receiverDriven {
		x.adopted = &adopted{numbers: make([]uint8, 1)}
	}
	traits := cc.TraitsOf(f.CCConfig)
	x.counts = traits.FlowCountTime(&f.Path) > 0
	return x, a.checkCombination(f.Telemetry, x.want)
}

// SetPaths prepares the requester for a sender that chooses among count paths, with a controller on each. It forgets
// the feedback that was adopted, so call it before the first packet.
func (x *TelemetryRequester) SetPaths(count int) {
	if x.adopted != nil {
		x.adopted.numbers = make([]uint8, count)
	}
}

// SelectPath selects path k, below the count of SetPaths, in the calls that follow. It matters only with feedback of a
// receiver.
func (x *TelemetryRequester) SelectPath(k int) {
	if x.adopted != nil {
		x.adopted.path = k
	}
}

// AskIfDue makes the data packet p ask for telemetry if it is p's turn. srtt is the smoothed round-trip time; 0:
// unknown. A request adds extensions to p, so call AskIfDue before p's bytes are counted. With AskProbe data never
// asks.
func (x *TelemetryRequester) AskIfDue(now unit.Time, p *packet.Packet, srtt unit.Time) {
	if x.want == telemetry.NoRequest {
		return
	}
	switch x.when {
	case AskProbe:
		return
	case AskPackets:
		if x.count++; x.asked && x.count < x.every {
			return
		}
		x.count = 0
	case AskRTT:
		if x.asked && now < x.nextRequest(srtt) {
			return
		}
	}
	x.writeRequest(now, p, x.when == AskCongestion)
}

// writeRequest makes p ask for telemetry and carry the number of the adopted feedback. congested: only congested
// switches answer.
func (x *TelemetryRequester) writeRequest(now unit.Time, p *packet.Packet, congested bool) {
	x.asked, x.askedAt = true, now
	x.format.AddRequest(p, x.want, congested)
	if x.receiverDriven && *x.adopted.currentNumber() > 0 {
		p.SetExtension(Adopted, []byte{*x.adopted.currentNumber()})
	}
}

// nextRequest returns when the next request is due: srtt after the latest one, at least a microsecond. If srtt is 0, it
// takes the path's base round trip.
func (x *TelemetryRequester) nextRequest(srtt unit.Time) unit.Time {
	if srtt == 0 {
		srtt = x.base
	}
	return x.askedAt + max(srtt, unit.Microsecond)
}

// NextProbe returns when a probe is due: 0 before the first request, and then a round trip after the latest one (srtt;
// 0: unknown). It returns unit.Never if the sender does not probe.
func (x *TelemetryRequester) NextProbe(srtt unit.Time) unit.Time {
	switch {
	case x.when != AskProbe || x.want == telemetry.NoRequest:
		return unit.Never
	case !x.asked:
		return 0
	}
	return x.nextRequest(srtt)
}

// AsksTelemetry reports whether the flow asks for telemetry at all.
func (x *TelemetryRequester) AsksTelemetry() bool { return x.want != telemetry.NoRequest }

// AskByProbe makes p, a packet without payload, ask for telemetry.
func (x *TelemetryRequester) AskByProbe(now unit.Time, p *packet.Packet) {
	x.writeRequest(now, p, false)
}

// IsGenuine reports whether p, which has arrived at the sender, is from the receiver and was not received earlier. A
// transport calls it once for every packet. If it returns false the transport drops p without any change of its state.
func (x *TelemetryRequester) IsGenuine(p *packet.Packet) bool {
	return x.seal == nil || x.seal.checkCode(p)
}

// ReadFeedback reads telemetry and feedback of acknowledgement p into a, and reports whether there is any. The slices
// in a are valid until the next call.
func (x *TelemetryRequester) ReadFeedback(now unit.Time, p *packet.Packet, a *cc.Ack) bool {
	if x.want == telemetry.NoRequest || !p.HasExtensions() {
		return false
	}
	if x.receiverDriven {
		b, ok := p.Extension(Feedback)
		if !ok || len(b) != feedbackBytes {
			return false
		}
		f := readFeedback(b)
		n := x.adopted.currentNumber()
		if cc.IsOutdated(f.Number, *n) {
			return false
		}
		a.Feedback, *n = f, f.Number
		return true
	}
	what, load := x.format.ReadAnswer(p, &x.records)
	switch what {
	case telemetry.Recorded:
		if x.records.Len() == 0 {
			return false
		}
		if x.unwrap.Unwrap(now, &x.records) {
			a.Telemetry.Hops = x.records.Hops()
			a.Telemetry.Path, a.Telemetry.MissedHops = x.records.PathID(), uint8(x.records.MissedHops())
		}
	case telemetry.Loaded, telemetry.Uncongested:
		a.Telemetry.Load = load
	default:
		return false
	}
	if x.counts {
		if b, ok := p.Extension(Flows); ok && len(b) == 2 {
			a.Feedback.Flows = int32(b[0])<<8 | int32(b[1])
		}
	}
	return true
}

// TelemetryResponder is a receiver's part of telemetry. It sends the telemetry of data packets back, or passes it to
// the scheme's part at the receiver.
type TelemetryResponder struct {
	active        bool
	requests      bool // packets carry requests, and their answers are sent back
	patient       bool // cc.Traits.Patient
	format        *telemetry.Format
	control       cc.Receiver    // of the selected path
	paths         *receiverParts // with control
	seal          *seal          // nil: feedback is not sealed
	*recordReader                // with control
	census        *cc.Census     // counts the host's flows, also this one; nil: not needed
	member        cc.Member
	countPeriod   unit.Time      // period of the census
	held          *packet.Packet // its extensions are the latest answer that waits for an acknowledgement
}

// receiverParts holds a scheme's parts at the receiver, one for each path.
type receiverParts struct {
	each   []cc.Receiver // by path
	newest []int64       // the largest n of HandleData, by path
	path   int           // the selected one
	data   cc.Data
}

// NewTelemetryResponder returns the receiver's part for a flow. control and a are the values that the sender's
// controller and TelemetryRequester got. It returns an error of the scheme's part at the receiver.
func NewTelemetryResponder(f *Flow, control cc.Flow, a TelemetryOptions) (TelemetryResponder, error) {
	x := TelemetryResponder{format: f.Telemetry, active: f.Telemetry != nil && f.CC != nil &&
		f.CC.Telemetry != telemetry.NoRequest}
	x.seal = newSeal(f, &a)
	if f.CC != nil && f.CC.Requests {
		x.requests, x.active = true, true
		return x, nil
	}
	traits := cc.TraitsOf(f.CCConfig)
	if f.CC == nil || f.CC.Receiver == nil {
		if x.active && f.Host != nil {
			if x.countPeriod = traits.FlowCountTime(&control.Path); x.countPeriod > 0 {
				x.census = &f.Host.Census
			}
		}
		return x, nil
	}
	x.paths = &receiverParts{}
	for range max(control.Paths, 1) {
		r, err := f.CC.Receiver(control, f.CCConfig, f.Host)
		if err != nil {
			return x, err
		}
		if m, ok := r.(cc.Multipath); ok && len(x.paths.each) > 0 {
			m.JoinFirst(x.paths.each[0])
		}
		x.paths.each = append(x.paths.each, r)
	}
	x.control, x.paths.newest = x.paths.each[0], make([]int64, len(x.paths.each))
	x.recordReader, x.active, x.patient = newRecordReader(f.Telemetry, nil), true, traits.Patient
	return x, nil
}

// IsActive reports whether the flow has telemetry, or a controller's part at the receiver. If not, the transport need
// not call the TelemetryResponder.
func (x *TelemetryResponder) IsActive() bool { return x.active }

// IsStandalone reports whether it shares no state with other receivers of its host.
func (x *TelemetryResponder) IsStandalone() bool { return x.control == nil && x.census == nil }

// SelectPath selects path k, from 0, and so the scheme's part for it, for the calls that follow. Without a part at the
// receiver it has no effect.
func (x *TelemetryResponder) SelectPath(k int) {
	if x.control != nil {
		x.control, x.paths.path = x.paths.each[k], k
	}
}

// Path returns the number of the selected path; 0 without a scheme's part at the receiver.
func (x *TelemetryResponder) Path() int {
	if x.control == nil {
		return 0
	}
	return x.paths.path
}

// DelaysAcks reports whether packets with telemetry are to be acknowledged like others.
func (x *TelemetryResponder) DelaysAcks() bool { return x.patient }

// HandleData handles a data packet or a probe. It turns p's extensions into the acknowledgement's. If p does not become
// that acknowledgement, KeepAnswer must follow. n is the place of p in the order in which the data of its path was
// first sent; −1: p may be resent, or has no place. atOnce reports that an acknowledgement is to be sent now; without a
// scheme's part at the receiver it is false.
func (x *TelemetryResponder) HandleData(now unit.Time, p *packet.Packet, n int64) (atOnce bool) {
	if x.control == nil {
		if x.requests {
			p.AnswerBolt()
			return false
		}
		if x.format == nil {
			if p.HasExtensions() {
				p.ClearExtensions()
			}
			return false
		}
		if x.census != nil {
			x.census.CountFlow(now, x.countPeriod, &x.member)
		}
		if x.format.MakeAnswer(p) && x.census != nil {
			n := uint16(min(x.census.CountFor(&x.member), 1<<16-1))
			p.SetExtension(Flows, []byte{byte(n >> 8), byte(n)})
		}
		return false
	}
	d, newest := &x.paths.data, &x.paths.newest[x.paths.path]
	*d = cc.Data{Overtaken: n >= 0 && n < *newest}
	*newest = max(*newest, n)
	if x.format != nil {
		switch what, load := x.format.ReadRequest(p, &x.records); what {
		case telemetry.Recorded:
			if x.records.Len() > 0 && x.unwrap.Unwrap(now, &x.records) {
				d.Hops, d.Path, d.MissedHops = x.records.Hops(), x.records.PathID(), uint8(x.records.MissedHops())
			}
		case telemetry.Loaded, telemetry.Uncongested:
			d.Load = load
		}
	}
	if b, ok := p.Extension(Adopted); ok && len(b) == 1 {
		d.Adopted = b[0]
	}
	p.ClearExtensions()
	_, atOnce = x.control.OnData(now, d)
	x.writeFeedback(p)
	return atOnce
}

// writeFeedback writes the feedback of the scheme's part into the acknowledgement p.
func (x *TelemetryResponder) writeFeedback(p *packet.Packet) {
	f := x.control.Feedback()
	w, n := uint32(min(f.Window, 1<<32-1)), uint16(min(f.Flows, 1<<flowsBits-1))|uint16(f.Number)<<flowsBits
	p.SetExtension(Feedback, []byte{byte(w >> 24), byte(w >> 16), byte(w >> 8), byte(w), byte(n >> 8), byte(n)})
}

// readFeedback decodes what writeFeedback wrote. b has feedbackBytes bytes.
func readFeedback(b []byte) cc.Feedback {
	return cc.Feedback{Window: unit.Bytes(binary.BigEndian.Uint32(b)),
		Flows: int32(binary.BigEndian.Uint16(b[4:]) & (1<<flowsBits - 1)), Number: b[4] >> (flowsBits - 8)}
}

// KeepAnswer stores the extensions that HandleData has put into p for a later acknowledgement. If p has no extensions,
// the stored ones stay: they are the latest. With a scheme's part at the receiver it has no effect, because GiveAnswer
// writes that part's feedback.
func (x *TelemetryResponder) KeepAnswer(p *packet.Packet) {
	if x.control == nil && p.HasExtensions() {
		if x.held == nil {
			x.held = &packet.Packet{}
		}
		x.held.CopyExtensions(p)
	}
}

// GiveAnswer puts the stored extensions, or the feedback, into the acknowledgement p. If p already has an answer of its
// own, which is newer, the stored ones are dropped.
func (x *TelemetryResponder) GiveAnswer(p *packet.Packet) {
	switch {
	case x.control != nil:
		x.writeFeedback(p)
	case x.held != nil && x.held.HasExtensions():
		if !p.HasExtensions() {
			p.CopyExtensions(x.held)
		}
		x.held.ClearExtensions()
	}
}

// AddSeal adds the seal's extension to p, without a code. Call it for every packet to the sender when p has its other
// extensions and before its bytes are counted. WriteCode follows when the packet is complete.
func (x *TelemetryResponder) AddSeal(p *packet.Packet) {
	if x.seal != nil {
		x.seal.addExtension(p)
	}
}

// WriteCode writes the code that IsGenuine checks into the extension that AddSeal has added to p. p must not change
// afterwards, except its addresses. Without a seal it has no effect.
func (x *TelemetryResponder) WriteCode(p *packet.Packet) {
	if x.seal != nil {
		x.seal.writeCode(p)
	}
}

// AckLimit returns the number of packets that an acknowledgement may cover, at most limit. Without a scheme's part at
// the receiver it is limit.
func (x *TelemetryResponder) AckLimit(limit int) int {
	if x.control == nil {
		return limit
	}
	return x.control.Coalesce(limit)
}

// NextTimer returns when RunTimer is to be called: the earliest timer of all paths. It is unit.Never without a part at
// the receiver.
func (x *TelemetryResponder) NextTimer() unit.Time {
	at := unit.Never
	if x.control == nil {
		return at
	}
	for _, r := range x.paths.each {
		at = min(at, r.NextTimer())
	}
	return at
}

// RunTimer runs the expired timers of the parts at the receiver, in the order of paths, up to the first that needs an
// acknowledgement now. It returns true in that case, and selects its path. If other timers have expired, NextTimer
// remains in the past.
func (x *TelemetryResponder) RunTimer(now unit.Time) bool {
	if x.control == nil {
		return false
	}
	for k, r := range x.paths.each {
		if now < r.NextTimer() {
			continue
		}
		if _, due := r.OnTimer(now); due {
			x.SelectPath(k)
			return true
		}
	}
	return false
}
