package ncf

import (
	"fmt"
	"math"

	"weir/core/dataplane"
	"weir/core/scheme"
	"weir/core/unit"
)

// How d follows from the switch's place. This is Weir's addition: BS'19 §4.4 has only that n·d is to be known. A flow
// is judged by its traffic in n·d. A sender of window W sends W in a round trip; while the memory is full that is the
// loaded round trip: the path's plus the time to drain the memory. If N senders share the port, each with a window of
// at least one packet, none sends more often than once in N·MTU/C.
//
// With less than one of these times in n·d, a flow is an elephant while its window passes and a mouse until the next,
// and the sketch counts only flows that happened to send. With many of them, the counts are old. So n·d is
// durationSpans times the longer of the two.
const (
	durationSpans = 4
	minSpans      = 1.5 // warning below this

	defaultDuration = 10 * unit.Millisecond // d by default
	minDuration     = unit.Microsecond
	maxDuration     = 60 * unit.Second
	maxTrip         = 10 * unit.Second // of round_trip
)

// loadedRTT is the longest time between two packets of a flow at a port with a full memory: the loaded round trip, or
// the time for one frame of each sender.
type loadedRTT struct{ loaded, each unit.Time }

// newLoadedRTT returns the loadedRTT of a port with a rate in bit/s and memory in bytes; trip is the round trip without
// queues, 0 if unknown. Then loaded is 0. Without a rate it is the base round trip alone.
func newLoadedRTT(trip unit.Time, senders int, rate unit.Rate, memory float64, frame unit.Bytes) (t loadedRTT) {
	if rate <= 0 {
		return loadedRTT{loaded: trip}
	}
	at := func(bytes float64) unit.Time { return unit.Time(min(bytes*8e12/float64(rate), float64(unit.Never/4))) }
	t.each = at(float64(senders) * float64(frame))
	if t.loaded = trip; trip > 0 {
		t.loaded += at(memory)
	}
	return t
}

// longer returns the longer of the two times.
func (t loadedRTT) longer() unit.Time { return max(t.loaded, t.each) }

// fitDuration returns the d with which n windows last durationSpans times the loadedRTT, within minDuration and
// maxDuration.
func (t loadedRTT) fitDuration(windows int) unit.Time {
	n := unit.Time(windows)
	most := min(t.longer(), n*maxDuration) // durationSpans times this does not overflow
	return min(max((durationSpans*most+n-1)/n, minDuration), maxDuration)
}

// derivesDuration reports whether d follows from round_trip and senders.
func (o *Options) derivesDuration() bool { return o.RoundTrip > 0 || o.Senders > 0 }

// bindDuration binds d, the parameters from which it follows, and the rule between them. Fields keep their values.
func (o *Options) bindDuration(p *scheme.Params) {
	p.Time(&o.Sketch.Duration, "duration", "0s", "d, the duration of a window; 0s: 10ms, or the duration that "+
		"round_trip and senders require", "Weir; BS'19 §4.1").Max("60s")
	p.Time(&o.RoundTrip, "round_trip", "0s", "maximum round-trip time of the flows without queues: n·d is at least "+
		"four times the sum of this and the time in which the memory drains, per port, or the maximum of all ports with "+
		"sketch: switch; 0s: duration determines d", "Weir: a flow sends its window once per round-trip time").Max("10s")
	p.Int(&o.Senders, "senders", "0", "N, the number of flows that send through a port at the same time: n·d is at "+
		"least four times N frames at the port's rate; 0: duration determines d",
		"Weir: a window is one packet at least").Min("0").Max("1000000")

	p.AddRule("duration", func() error {
		switch d := o.Sketch.Duration; {
		case d != 0 && d < minDuration:
			return fmt.Errorf("%v; allowed: 0s, or 1us to 60s", d)
		case d != 0 && o.derivesDuration():
			return fmt.Errorf("%v, and d follows from round_trip and senders, too; one of both is needed", d)
		}
		return nil
	})
}

// memoryAt returns the bytes of memory of a port with this buffer; a pool of the switch may all be used there.
func (o *Options) memoryAt(buffer unit.Length, frame unit.Bytes) float64 {
	if o.Size != (unit.Length{}) {
		buffer = o.Size
	}
	return unit.Depth{Packets: buffer.Packets, Bytes: buffer.Bytes}.BytesAt(0, frame)
}

// setDurations sets o.Sketch.Duration to the longest d of all ports. It returns d by port, and as the last element the
// longest, for packets with an unknown egress port. A port's own buffer and rate determine its d, so a deep buffer
// elsewhere does not delay its decisions. With sketch: switch all ports have one d. It fails if d is to be derived and
// no port has a rate in bit/s.
func (o *Options) setDurations(site *dataplane.Site) (each []unit.Time, err error) {
	each = make([]unit.Time, site.Ports+1)
	derived := o.Sketch.Duration == 0 && o.derivesDuration()
	if derived {
		err = o.deriveDurations(site, each)
	} else if o.Sketch.Duration == 0 {
		o.Sketch.Duration = defaultDuration
	}
	for i := range each {
		if !derived || o.Scope != PerPort || each[i] == 0 {
			each[i] = o.Sketch.Duration
		}
	}
	return each, err
}

// deriveDurations sets each[i] to the d of port i, from round trips, senders, rates and memory, and o.Sketch.Duration,
// which must be 0, to the longest. each has an element for each port of site.At. It fails if no port has a rate in
// bit/s.
func (o *Options) deriveDurations(site *dataplane.Site, each []unit.Time) error {
	frame := unit.Bytes(site.MaxFrame)
	if frame == 0 {
		frame = defaultFrame
	}
	rated := false
	for i := range site.At {
		limit, rate := site.PortLimit(i), site.PortRate(i).Bits
		rated = rated || rate > 0
		t := newLoadedRTT(o.RoundTrip, o.Senders, rate, o.memoryAt(unit.Length{Bytes: limit.Bytes, Packets: limit.Packets},
			frame),
			frame)
		each[i] = t.fitDuration(o.Sketch.Windows)
		o.Sketch.Duration = max(o.Sketch.Duration, each[i])
	}
	if !rated {
		return fmt.Errorf("no port has a rate in bit/s, from which d could follow; set duration")
	}
	return nil
}

// Kinds of warnings.
var (
	warnMemory = scheme.WarningKind{ID: "ncf-memory",
		Condition: "the buffer of a port is smaller than memory"}
	warnTop = scheme.WarningKind{ID: "ncf-top",
		Condition: "more flows to one receiver than the table can hold may all be elephants"}
	warnElephants = scheme.WarningKind{ID: "ncf-elephants",
		Condition: "the flows that share a port with a flood of datagrams are more than top, or their equal shares are " +
			"below a fifth of the threshold"}
	warnWindows = scheme.WarningKind{ID: "ncf-windows",
		Condition: "n·d is below 1.5 times the longest interval between two packets of a flow at the port where queues grow"}
	warnMemoryIdle = scheme.WarningKind{ID: "ncf-memory-idle",
		Condition: "tilt or spike is given, but has no effect at the port where queues grow"}
	warnEarlyLate = scheme.WarningKind{ID: "ncf-early-late",
		Condition: "early is not below the fill level at which congestion begins"}
	warnEarlyIdle = scheme.WarningKind{ID: "ncf-early-idle",
		Condition: "early is given, but it notifies no elephant"}
	warnEarlyWait = scheme.WarningKind{ID: "ncf-early-wait",
		Condition: "early is given with change: flowlet, and change_wait keeps an elephant that does not pause among mice " +
			"for longer than n·d"}
	warnUnresponsive = scheme.WarningKind{ID: "ncf-deaf-idle",
		Condition: "deaf: first is given, but no elephant can be found unresponsive"}
)

// Check warns of windows that do not fit round trips and senders, and of options without effect there. It looks at the
// slowest port at which data can queue, of several the one with the most senders to its receiver.
func (o *Options) Check(s *dataplane.SwitchContext) (all []scheme.Remark) {
	slowest := s.MinPortRate()
	if slowest == 0 {
		return nil
	}
	var p *dataplane.Peer
	for _, x := range s.QueueingPorts() {
		if x.Rate.Bits == slowest && (p == nil || x.Senders > p.Senders) {
			p = x
		}
	}
	memory := o.memoryAt(p.Buffer, s.FrameSize())
	all = o.warnOfWindows(all, s, p, newLoadedRTT(s.MaxTrip(p), p.Senders, slowest, memory, s.FrameSize()))
	all = o.checkUnresponsive(o.warnOfBuffers(o.warnOfTop(all, p), s))
	return o.warnOfTable(o.checkEarly(o.warnOfMemory(all, s, p, memory), s, p), s)
}

const (
	// maxTop is the maximum of top.
	maxTop = 1024
	// maxBelow limits the threshold, as a multiple of an equal part of the port. Parts vary, and above the limit many
	// flows never exceed the threshold. The table keeps a flow that once did.
	maxBelow = 5
)

// warnOfTable warns of endless flows that do not fit the table of the N heaviest, or that rarely exceed the threshold,
// at a port flooded by datagrams: these demand more than the overload's rate or, with bandwidth: equal, more than half.
// The table keeps flows elephants in a flood. Other flows share the queue of the flood, where few of their packets get
// through.
func (o *Options) warnOfTable(all []scheme.Remark, s *dataplane.SwitchContext) []scheme.Remark {
	threshold, holds, calm := o.Detector.Threshold, heaviest(o.Top), 0.95
	if o.EqualBandwidth {
		calm = 0.5
	}
	for _, p := range s.QueueingPorts() {
		n, rate, flood := int(math.Round(p.EndlessFlows)), float64(p.Rate.Bits), float64(p.DatagramRate)
		low := float64(n)*threshold > maxBelow
		if s.Queues < 3 || rate == 0 || n <= holds && !low || flood <= calm*rate || flood/p.Datagrams > threshold*rate {
			continue
		}
		param, why, cure := "top", fmt.Sprintf("the table of the heaviest holds %d", holds), fmt.Sprintf("top: %d", n)
		if n <= holds {
			param, why = "threshold", fmt.Sprintf("an equal part of the port is far below the threshold of %s",
				unit.FormatShare(threshold))
		}
		if low {
			cure = fmt.Sprintf("threshold: %.2g%% with top: %d", 50/float64(n), max(n, holds))
		}
		cure += " protects them"
		if n > maxTop {
			cure = fmt.Sprintf("at most %d can be protected", maxTop)
		}
		all = append(all, warnElephants.NewRemark(param,
			"some of %d flows to %s remain mice, since %s, and share the queue of %.0f unresponsive flows that send %.2g "+
				"times the port's rate; %s", n, p.To, why, math.Round(p.Datagrams),
			flood/rate, cure).WithPort(p.PortName(), max(float64(n)/float64(holds), float64(n)*threshold/maxBelow)))
	}
	return all
}

// warnOfBuffers appends to all a warning of the port with the smallest buffer, if that is smaller than the configured
// memory. A pool's port has a part, but with memory per port the rest is never used.
func (o *Options) warnOfBuffers(all []scheme.Remark, s *dataplane.SwitchContext) []scheme.Remark {
	memory := o.memoryAt(unit.Length{}, s.FrameSize())
	var least *dataplane.Peer
	holds := memory
	for i := range s.Ports {
		x := unit.Depth{Packets: s.Ports[i].Buffer.Packets, Bytes: s.Ports[i].Buffer.Bytes}.BytesAt(0, s.FrameSize())
		if x > 0 && x < holds {
			least, holds = &s.Ports[i], x
		}
	}
	if least == nil || o.Pool == PerSwitch {
		return all
	}
	return append(all, warnMemory.NewRemark("memory",
		"the buffer of the port to %s holds %.0f kB, which limits the memory there instead of %.0f kB", least.To,
		holds/1000, memory/1000).WithPort(least.PortName(), memory/holds))
}

// warnOfTop appends to all a warning if more elephants to the receiver behind p are possible than fit the table of the
// N heaviest. The offer to elephants is divided by the table's size.
func (o *Options) warnOfTop(all []scheme.Remark, p *dataplane.Peer) []scheme.Remark {
	n, threshold := heaviest(o.Top), o.Detector.Threshold
	if o.Nack == NackNone || p.Senders <= n || float64(p.Senders)*threshold >= 1 {
		return all
	}
	return append(all, warnTop.NewRemark("top",
		"an equal share of the %d flows to %s is above the threshold of %s, so all "+
			"may be elephants, but the table has room for %d: each is offered %.2g times its share", p.Senders, p.To,
		unit.FormatShare(threshold), n, float64(p.Senders)/float64(n)).WithPort(p.PortName(), float64(p.Senders)/float64(n)))
}

// windowAt returns the configured or derived d of a port, and the parameter that determines it.
func (o *Options) windowAt(s *dataplane.SwitchContext, p *dataplane.Peer) (d unit.Time, param string) {
	switch {
	case o.derivesDuration():
		own := newLoadedRTT(o.RoundTrip, o.Senders, p.Rate.Bits, o.memoryAt(p.Buffer, s.FrameSize()), s.FrameSize())
		return own.fitDuration(o.Sketch.Windows), "round_trip"
	case o.Sketch.Duration == 0:
		return defaultDuration, "duration"
	}
	return o.Sketch.Duration, "duration"
}

// warnOfWindows appends to all a warning if n·d at port p is too short for t, the port's loadedRTT.
func (o *Options) warnOfWindows(all []scheme.Remark, s *dataplane.SwitchContext, p *dataplane.Peer,
	t loadedRTT) []scheme.Remark {
	d, param := o.windowAt(s, p)
	nd := unit.Time(o.Sketch.Windows) * d
	if float64(nd) >= minSpans*float64(t.longer()) {
		return all
	}
	why := fmt.Sprintf("%v, a round trip of %v when the buffer of the port to %s is full", t.loaded.RoundRough(),
		s.MaxTrip(p).RoundRough(), p.To)
	cure := fmt.Sprintf("round_trip: %v", s.MaxTrip(p).RoundRough())
	if t.each > t.loaded {
		why = fmt.Sprintf("%v, in which each of the %d flows to %s sends one packet", t.each.RoundRough(), p.Senders, p.To)
		cure = fmt.Sprintf("senders: %d", p.Senders)
	}
	if o.derivesDuration() { // the parameter is given, but too small
		cure += " fits it"
	} else {
		cure += " in place of duration fits it"
	}
	if s.MaxTrip(p) > maxTrip && t.loaded >= t.each {
		cure = fmt.Sprintf("the longest that can be given is %v", maxTrip.RoundRough())
	}
	return append(all, warnWindows.NewRemark(param, "n·d is %v, %.2g of %s, so flows alternate between elephants and "+
		"mice, and supply covers only some; %s", nd.RoundRough(), float64(nd)/float64(t.longer()), why, cure).
		WithPort(p.PortName(), minSpans*float64(t.longer())/float64(max(nd, 1))))
}

// Defaults of parameters, by which Check recognises changed ones.
const (
	defaultTilt  = "50%"
	defaultSpike = "25%"
)

// warnOfMemory appends to all warnings of parameters of the memory that have no effect at port p with the given bytes
// of memory.
func (o *Options) warnOfMemory(all []scheme.Remark, s *dataplane.SwitchContext, p *dataplane.Peer,
	memory float64) []scheme.Remark {
	c := &o.Memory
	tilted, spiked := unit.FormatShare(c.Tilt) != defaultTilt, unit.FormatShare(c.Spike) != defaultSpike
	knob := "tilt"
	if !tilted {
		knob = "spike"
	}
	bdp := s.MaxTrip(p).Seconds() * float64(p.Rate.Bits) / 8
	switch reserved := c.Reserved[Elephants] * memory; {
	case !tilted && !spiked:
	case s.Queues < 3:
		all = append(all, warnMemoryIdle.NewRemark(knob,
			"it has no effect, since with %d queues mice and elephants share one; use queues: 3", max(s.Queues, 1)))
	case c.Limit-c.reservedData() <= rounding:
		all = append(all, warnMemoryIdle.NewRemark(knob,
			"it has no effect, since mice and elephants have reserved the whole limit, %s", unit.FormatShare(c.Limit)))
	case spiked && c.Tilt >= 1:
		all = append(all, warnMemoryIdle.NewRemark("spike",
			"it has no effect, since with tilt: 100%% mice may always use all memory except the elephants' reservation"))
	case bdp > 0 && reserved >= bdp:
		all = append(all, warnMemoryIdle.NewRemark(knob,
			"it has almost no effect at the port to %s: the elephants' reservation of %.0f kB holds the %.0f kB that the port "+
				"sends in their round trip of %v, so they fill the port", p.To,
			reserved/1000,
			bdp/1000, s.MaxTrip(p).RoundRough()).WithPort(p.PortName(), reserved/bdp))
	}
	if o.EarlyShare > 0 && o.EarlyShare >= min(c.Congested, c.Limit) {
		all = append(all, warnEarlyLate.NewRemark("early", "%s of the memory is not before congestion, which begins at %s",
			unit.FormatShare(o.EarlyShare), unit.FormatShare(min(c.Congested, c.Limit))))
	}
	return all
}
