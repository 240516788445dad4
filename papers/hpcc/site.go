package hpcc

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Kinds of warnings.
var (
	warnCensusIdle = scheme.WarningKind{ID: "hpcc-census-idle",
		Condition: "census of hpcc is on with telemetry in format: relative, which has no records, or with telemetry: " +
			"congestion on paths of several switches"}
	warnCensusN = scheme.WarningKind{ID: "hpcc-census-n",
		Condition: "n or w_ai is given, but census replaces it"}
	warnWAI = scheme.WarningKind{ID: "hpcc-w-ai",
		Condition: "w_ai is above the headroom, (1 − eta) of a round trip of a path at its slowest link"}
	warnIncreases = scheme.WarningKind{ID: "hpcc-increases",
		Condition: "the increases (w_ai, beta or n) of the flows that share a path's slowest link exceed the headroom, so " +
			"its queue holds more than five packets"}
	warnSmallWindow = scheme.WarningKind{ID: "hpcc-small-window",
		Condition: "a window of B·T has so few whole packets that a single endless flow fills less than 93 % of its " +
			"slowest link; data of the other direction counts as one packet"}
	warnLoadShort = scheme.WarningKind{ID: "hpcc-load-short",
		Condition: "switches average loads over a small part of the longest path's round trip (t of program telemetry)"}
	warnLoadLong = scheme.WarningKind{ID: "hpcc-load-long",
		Condition: "switches average loads over more than five round trips of the longest path, or 150 with telemetry: " +
			"congestion (t of program telemetry)"}
	warnCongestedLoad = scheme.WarningKind{ID: "hpcc-congested-load",
		Condition: "with telemetry: congestion, congested_load of program telemetry is above eta, so that windows shrink " +
			"on a path that is not congested"}
	warnTShort = scheme.WarningKind{ID: "hpcc-t-short",
		Condition: "t is below 95 % of the longest path's round trip"}
	warnTLong = scheme.WarningKind{ID: "hpcc-t-long",
		Condition: "t is above three round trips of the longest path"}
	warnOpposed = scheme.WarningKind{ID: "hpcc-two-way", Condition: "without additive increases (max_stage: 0, with " +
		"preset: agent below 5), at least eight long flows, two or more in each direction, share a port at which data and " +
		"acknowledgements queue; the bound is four where a round trip is below 20 packets or acknowledgements are delayed, " +
		"32 where switches choose among two or three ports by a hash, and twice as many where the round trip is above " +
		"2,000 packets; with flowlets it is four where the round trip is 2 ms or more"}
	warnUnevenLoads = scheme.WarningKind{ID: "hpcc-uneven-loads",
		Condition: "loads arrive without records (PINT, format: relative), packets of a flow are spread over paths, a slow " +
			"path has less than 9/10 of the rate of another, and the transport does not wait for the packets in it"}
	warnUnevenHops = scheme.WarningKind{ID: "hpcc-uneven-hops", Condition: "with mode: per_hop packets of a flow are " +
		"spread over paths, and a slow path has less than half of the rate of another"}
	warnUnevenIncreases = scheme.WarningKind{ID: "hpcc-uneven-increases", Condition: "packets of a flow are spread over " +
		"paths, and each of many flows gets records of a slow path so rarely that the increases by w_ai or n in between " +
		"add more than five packets to its queue"}
	warnUnevenStages = scheme.WarningKind{ID: "hpcc-uneven-stages", Condition: "packets of a flow are spread over " +
		"paths, and a slow path has less than a given part of the rate of another: 0.64 with max_stage: 0, 0.49 with 1, " +
		"0.165 with 5"}
	warnUnevenPower = scheme.WarningKind{ID: "powertcp-uneven-paths",
		Condition: "packets of a flow are spread over paths, and a slow path has less than half of the rate of another"}
	warnAgentMoves = scheme.WarningKind{ID: "hpcc-agent-moves",
		Condition: "switches spread packets or flowlets of a flow, and either T of preset: agent, which includes ten " +
			"bursts of Linux, exceeds three round trips of a path, or paths have different rates"}
	warnAgentSilent = scheme.WarningKind{ID: "hpcc-agent-silent",
		Condition: "preset: agent receives no telemetry, so it behaves as CUBIC"}
)

// windowWarnings are the kinds that all schemes with HPCC's windows issue.
var windowWarnings = []scheme.WarningKind{warnCensusIdle, warnCensusN, warnWAI, warnIncreases, warnSmallWindow,
	warnTShort, warnTLong,
	warnLoadShort, warnLoadLong, warnCongestedLoad, warnOpposed, warnUnevenLoads, warnUnevenIncreases,
	warnUnevenStages}

// Check warns of parameters of windows that do not fit the paths, and of w_ai and n that the census replaces.
func (c *Config) Check(s *cc.FlowContext) []scheme.Remark {
	all := slices.Concat(c.checkWindows(s), c.checkLoads(s, s.Telemetry.IsRelative(), minLoadTime), c.checkOpposed(s, 1),
		checkUnevenLoads(s, s.Telemetry.IsRelative()), c.checkUnevenHops(s), c.checkUnevenIncreases(s))
	if c.Census && s.Telemetry.IsRelative() {
		all = append(all, warnCensusIdle.NewRemark("census",
			"it has no effect with format: relative, since without records the sender cannot detect whether the last hop is "+
				"the bottleneck"))
	} else if c.Census && !c.isCounted(s) {
		all = append(all, warnCensusIdle.NewRemark("census",
			"it has almost no effect with telemetry: congestion, since without a record of each hop the sender cannot detect "+
				"whether the last hop is the bottleneck"))
	}
	return all
}

// isCounted reports whether the census replaces n and w_ai: it needs records of all hops of a path
// (law.updateIncrease).
func (c *Config) isCounted(s *cc.FlowContext) bool {
	several := s.FindPath(func(p *cc.FlowPath) bool { return p.Hops > 1 }) != nil
	return c.resolved().Census && !s.Telemetry.IsRelative() && !(s.Uncongested && several)
}

// Check warns as Config's Check does, without the checks that need records.
func (c *PINTConfig) Check(s *cc.FlowContext) []scheme.Remark {
	return slices.Concat(c.checkWindows(s), c.checkLoads(s, true, minLoadTime), c.checkOpposed(s, 1),
		checkUnevenLoads(s, true))
}

// Limits of flows in both directions together from which the loop oscillates with multiplicative commits only: with an
// acknowledgement for each packet; with aggregated acknowledgements or a round trip of few packets; and with data and
// acknowledgements of a flow hashed to different switches. With very many packets in a round trip, the limit is twice
// as high. The loop does not oscillate with one flow in one direction, with windows well below a packet, or with flows
// over many paths.
const (
	opposedFlows       = 8
	opposedFewFlows    = 4
	opposedHashedFlows = 32
	opposedFewFrames   = 20
	opposedManyFrames  = 2000
	opposedManyPaths   = 4
	opposedMinWindow   = 2. / 3 // packets
)

// opposedFlowletTrip is a round trip of several gaps of flowlets, 500 us each. From there on flows change paths and
// meet.
const opposedFlowletTrip = 2 * unit.Millisecond

// checkOpposed warns of fewer than minStage additive increases between multiplicative ones if feedback queues behind
// the data of other flows (docs/papers/hpcc.md#why-windows-swing). It names the first such path.
func (c *Config) checkOpposed(s *cc.FlowContext, minStage int) []scheme.Remark {
	r := c.resolved()
	if r.MaxStage >= minStage {
		return nil
	}
	p := s.FindPath(func(p *cc.FlowPath) bool { return c.canSwing(s, p) })
	if p == nil {
		return nil
	}
	return []scheme.Remark{warnOpposed.NewRemark("max_stage", "%d additive increases do not damp the control loop when "+
		"feedback queues behind the data of %d flows of the other direction (%s): windows can oscillate and queues grow to "+
		"several round trips; use max_stage: 5, or a separate class for acknowledgements that switches send first",
		r.MaxStage, p.Opposing.Opposed, p.Name).WithPort(p.Opposing.Port, 0)}
}

// canSwing reports whether the flows in both directions of a path make the loop oscillate without additive increases.
func (c *Config) canSwing(s *cc.FlowContext, p *cc.FlowPath) bool {
	o, flows := &p.Opposing, opposedFlows
	frames := p.BandwidthDelayProduct() / float64(s.MSS)
	if both := min(o.Aligned, o.Opposed); both < 2 || float64(both)*opposedMinWindow > frames {
		return false
	}
	switch {
	case o.Paths > 1 && s.Flowlets && p.BaseRTT >= opposedFlowletTrip:
		return o.Aligned+o.Opposed >= opposedFewFlows
	case o.Paths >= opposedManyPaths:
		return false
	case o.Paths > 1 && !s.Sprayed:
		flows = opposedHashedFlows
	case frames < opposedFewFrames || s.AcksDelayed || c.Preset == Agent:
		flows = opposedFewFlows
	}
	if frames > opposedManyFrames {
		flows *= 2
	}
	return o.Aligned+o.Opposed >= flows
}

// checkWindows warns of t, min_rate, w_ai and n that do not fit the paths, and of windows of few packets.
func (c *Config) checkWindows(s *cc.FlowContext) (all []scheme.Remark) {
	r := c.resolved()
	all = checkPath(s, r.T, r.tripOf, c.MinRate)
	a := r.additive()
	all = append(all, a.checkSmallWindow(s)...)
	if c.isCounted(s) {
		// at the last hop increases fit the number of flows
		a.applies = func(p *cc.FlowPath) bool { return !p.NarrowLink.Last }
		elsewhere := s.FindPath(a.applies) != nil
		for _, p := range []struct {
			name  string
			given bool
		}{{"n", c.N > 0}, {"w_ai", c.N == 0 && c.WAI != Defaults().WAI}} {
			if p.given && !elsewhere {
				all = append(all, warnCensusN.NewRemark(p.name,
					"with census: on it acts only while the last hop is not the bottleneck; with census: off it always acts"))
			}
		}
	}
	if r.N == 0 {
		if all = append(all, c.checkIncreases(s, a.applies)...); len(all) > 0 && all[len(all)-1].Kind == warnWAI {
			return all
		}
	}
	return append(all, a.checkSum(s)...)
}

// additive describes the additive increases of windows in each round trip.
type additive struct {
	eta          float64
	trip         func(p *cc.FlowPath) unit.Time // T of a path's flows
	increase     func(p *cc.FlowPath) float64   // a flow's, in bytes
	applies      func(p *cc.FlowPath) bool      // whether it applies on a path; nil: on each
	param, value string                         // parameter that determines the increase
	maxStanding  float64                        // standing queue in packets without a warning
	nPerFlow     int                            // suitable n, per flow
}

// additive returns the increases of the law. c must be resolved.
func (c *Config) additive() additive {
	a := additive{eta: c.Eta, trip: c.tripOf, increase: c.increaseOf, param: "w_ai", value: c.WAI.String(),
		maxStanding: maxStanding, nPerFlow: 1}
	if c.N > 0 {
		a.param, a.value = "n", strconv.Itoa(c.N)
	}
	return a
}

// additive returns β's increases. With the suitable n of 20 per flow all together add 5 % of B·T.
func (c *PowerConfig) additive() additive {
	a := additive{eta: c.Eta, trip: func(p *cc.FlowPath) unit.Time { return baseTrip(c.T, p) }, param: "beta",
		value: c.Beta.String(), maxStanding: maxStandingPower, nPerFlow: 20}
	if c.N > 0 {
		a.param, a.value = "n", strconv.Itoa(c.N)
	}
	a.increase = func(p *cc.FlowPath) float64 {
		rate := float64(c.Beta)
		if c.N > 0 {
			rate = float64(p.NICRate) / float64(c.N)
		}
		return rate * float64(a.trip(p)) / 8e12
	}
	return a
}

// Standing queues in packets, from the increases of all flows, that cause no warning. The 95th percentile is about four
// times the result of standingQueue: 20 kB with packets of 1000 bytes.
const (
	maxStanding      = 5
	maxStandingPower = 5.7
)

// checkSum warns of flows that together exceed the headroom of their shared link in a round trip, so that a queue
// stands.
func (a *additive) checkSum(s *cc.FlowContext) []scheme.Remark {
	var worst *cc.FlowPath
	queue := a.maxStanding * float64(s.MSS)
	for i := range s.Paths {
		if p := &s.Paths[i]; p.Flows > 1 && (a.applies == nil || a.applies(p)) {
			if q := a.standingQueue(p, float64(s.MSS)); q > queue {
				worst, queue = p, q
			}
		}
	}
	if worst == nil {
		return nil
	}
	about := "at least"
	if most := float64(float64(worst.Flows)*float64(s.MSS)) - a.product(worst); most > 0 && queue >= most {
		about = "about"
	}
	drops := ""
	switch b := float64(worst.NarrowLink.Buffer); {
	case b == 0 || worst.WhyLossless != "":
	case queue > b:
		drops = fmt.Sprintf(", and its buffer, of %v, drops packets", worst.NarrowLink.Buffer)
	case a.longestQueue(s, worst) > b:
		drops = fmt.Sprintf(", and at times its buffer, of %v, drops packets", worst.NarrowLink.Buffer)
	}
	added, headroom := float64(worst.Flows)*a.increase(worst), a.product(worst)*(1-a.eta)
	return []scheme.Remark{warnIncreases.NewRemark(a.param,
		"%d flows with %s: %s add %v in a round trip, but the headroom, "+
			"W·(1−eta) of %v at %s, is %v, so the average queue is %s %v%s; use n: %d", worst.Flows, a.param,
		a.value, unit.Bytes(added), worst.NarrowLink.Rate, worst.NarrowLink.Port, unit.Bytes(headroom), about,
		unit.Bytes(queue),
		drops, worst.Flows*a.nPerFlow).WithPort(worst.NarrowLink.Port, added/max(headroom, 1))}
}

// longestQueue returns the maximum queue of a path's narrowest link in bytes. Packets do not arrive evenly, so it is
// 2.4 times the standing queue. If switches move flowlets by load, the flows of four ports may use the same one.
func (a *additive) longestQueue(s *cc.FlowContext, p *cc.FlowPath) float64 {
	x := *p
	if s.Flowlets {
		x.Flows *= 4
	}
	return 2.4 * a.standingQueue(&x, float64(s.MSS))
}

// standingQueue returns the minimum standing queue of a path's narrowest link, in bytes; 0 or below: no queue stands.
// It follows from the fixed point of the law, W = W_ai/(1−eta/U), with all its flows: by their windows, N·W = U·B·T,
// or, if windows are below a packet, by their rates, N·W/T = B. The queue then holds at most a packet of each flow.
// Packets do not arrive evenly, so the queue is longer: up to twice with windows of a packet, and four times and more
// with windows far below one.
func (a *additive) standingQueue(p *cc.FlowPath, mss float64) float64 {
	product, flows := a.product(p), float64(p.Flows)
	added := float64(flows * a.increase(p))
	switch packets := float64(flows * mss); {
	case packets <= product:
		return added - float64(product*(1-a.eta))
	case added >= product:
		return packets - product
	default:
		return min(float64(product*(a.eta/(1-added/product)-1)), packets-product)
	}
}

// product returns B·T of a path's narrowest link, in bytes.
func (a *additive) product(p *cc.FlowPath) float64 {
	return float64(p.NarrowLink.Rate) * float64(a.trip(p)) / 8e12
}

// baseTrip returns the round trip without queues from which a path's windows are computed: t if it is given.
func baseTrip(t unit.Time, p *cc.FlowPath) unit.Time {
	if t > 0 {
		return t
	}
	return p.BaseRTT
}

// tripOf returns T of a path's flows. With preset Agent it includes time for bursts.
func (c *Config) tripOf(p *cc.FlowPath) unit.Time {
	t := baseTrip(c.resolved().T, p)
	if c.Preset == Agent && t > 0 {
		t = agentT(t, p.NarrowLink.Rate)
	}
	return t
}

// increaseOf returns W_ai of a flow on a path, in bytes. The configuration is resolved.
func (c *Config) increaseOf(p *cc.FlowPath) float64 {
	if c.N == 0 {
		return float64(c.WAI)
	}
	rate := p.NICRate
	if c.Preset == Agent {
		rate = p.NarrowLink.Rate
	}
	return float64(rate) * float64(c.tripOf(p)) / 8e12 * (1 - c.Eta) / float64(c.N)
}

// loadTimes are minimum shares of the longest round trip over which switches may average loads (t of program
// telemetry), by their use. Below, U follows the bursts within a round trip, and windows oscillate; stages damp that.
type loadTimes struct {
	loads, stagedLoads     float64 // U itself, with max_stage 0 and above
	records, stagedRecords float64 // loads by which a congested port writes records
}

// Load times by scheme.
var (
	minLoadTime   = loadTimes{loads: 0.65, stagedLoads: 0.4, records: 0.2, stagedRecords: 0.3}
	minLoadTimeRx = loadTimes{loads: 0.35, stagedLoads: 0.35}
	// PowerTCP has no stages.
	minLoadTimePower = loadTimes{records: 0.4, stagedRecords: 0.4}
)

// maxLoadTrips and maxRecordTrips limit the time over which switches may average loads, in longest round trips. Records
// upon congestion also follow from a queue.
const (
	maxLoadTrips   = 5
	maxRecordTrips = 150
)

// checkLoads warns of t and congested_load of program telemetry that do not fit the law. byLoad: U is the switches'
// load. minTimes are the minimum shares.
func (c *Config) checkLoads(s *cc.FlowContext, byLoad bool, minTimes loadTimes) []scheme.Remark {
	r := c.resolved()
	share, trips := minTimes.loads, float64(maxLoadTrips)
	if r.MaxStage > 0 {
		share = minTimes.stagedLoads
	}
	switch {
	case s.Telemetry == nil || !byLoad && !s.Uncongested:
		return nil
	case byLoad:
	case c.isCounted(s): // W_ai fits the number of flows
		share, trips = 0, maxRecordTrips
	case r.MaxStage > 0:
		share, trips = minTimes.stagedRecords, maxRecordTrips
	default:
		share, trips = minTimes.records, maxRecordTrips
	}
	harm := "windows with them"
	if !byLoad {
		harm = harmAlone
	}
	all := checkLoadTime(s, share, trips, harm)
	if !byLoad {
		all = append(all, r.additive().checkCongestedLoad(s)...)
	}
	return all
}

// harmAlone is the effect of a short t if only records upon congestion depend on it.
const harmAlone = "so does whether there are records: a flow alone leaves a part of its link idle"

// checkLoadTime warns of a t of program telemetry below a share of the longest path's round trip, or above trips of it.
// s must have telemetry; a t of 0, and paths of unknown length, cause no warning. harm names what else follows bursts
// with a short t.
func checkLoadTime(s *cc.FlowContext, share, trips float64, harm string) []scheme.Remark {
	p, ok := s.FindLongestPath()
	t := s.Telemetry.LoadInterval
	if !ok || t == 0 {
		return nil
	}
	ratio := float64(t) / float64(p.BaseRTT)
	if ratio < share {
		return []scheme.Remark{warnLoadShort.NewRemark("", "t of program telemetry, %v, is %.2g of the %v that the longest "+
			"path takes without queues (%s): "+
			"loads follow bursts within a round trip, and %s; use %.2g to %g round trips", t, ratio,
			p.BaseRTT.RoundRough(), p.Name, harm, share, trips)}
	}
	if q := s.FindPath(func(p *cc.FlowPath) bool { return !p.Idle }); ratio > trips && q != nil {
		return []scheme.Remark{warnLoadLong.NewRemark("",
			"t of program telemetry, %v, is %.3g times the %v that the longest "+
				"path takes without queues (%s): the packets that new flows send before loads show it stay in queues (steady "+
				"flows have short queues); use %.2g to %g round "+
				"trips", t, ratio, p.BaseRTT.RoundRough(), p.Name, max(share, 1), trips)}
	}
	return nil
}

// checkCongestedLoad warns of a load above the target from which ports count as congested. Without a congested port, U
// counts as that load, and windows shrink until only the increase of a round trip is left. s must have telemetry.
func (a additive) checkCongestedLoad(s *cc.FlowContext) []scheme.Remark {
	load := s.Telemetry.Load
	if load <= a.eta {
		return nil
	}
	var worst *cc.FlowPath
	least := 0.0
	for i := range s.Paths {
		p := &s.Paths[i]
		product := a.product(p)
		if product == 0 {
			continue
		}
		if a.showsQueues(s, p) {
			continue
		}
		full := float64(max(p.Flows, 1)) * inFlight(p, a.increase(p)/(1-a.eta/load), float64(s.MSS)) / product
		if full < a.eta && (worst == nil || full < least) {
			worst, least = p, full
		}
	}
	if worst == nil {
		return nil
	}
	unless := ""
	if s.Telemetry.Queue <= unit.Bytes(s.MSS) && worst.Flows > 1 {
		unless = fmt.Sprintf(", unless queues of congested_queue, %v, make it congested", s.Telemetry.Queue)
	}
	return []scheme.Remark{warnCongestedLoad.NewRemark("eta",
		"%s is below congested_load of program telemetry, %s: where no port is congested, U takes that load, and windows "+
			"shrink until %s with %v is %s full%s; use congested_load up to "+
			"eta", unit.FormatShare(a.eta), unit.FormatShare(load), worst.NarrowLink.Port, worst.NarrowLink.Rate,
		fmt.Sprintf("%.2g %%", 100*least), unless).WithPort(worst.NarrowLink.Port, a.eta/least)}
}

// inFlight returns the bytes of frames in flight for a window of payload in bytes: whole packets of mss, or the rate's
// equivalent below a packet. mss 0 does not round. Without a known payload of the narrowest link it is the window.
func inFlight(p *cc.FlowPath, window, mss float64) float64 {
	if mss > 0 && window >= mss {
		window = math.Floor(window/mss) * mss
	}
	if p.NarrowLink.Payload == 0 {
		return window
	}
	return window * float64(p.NarrowLink.Rate) / float64(p.NarrowLink.Payload)
}

// Minimum flows, packets of B·T, and packets per flow for a port to be congested by queues of a packet often enough, if
// congested_queue is at most a packet.
const (
	queueFlows       = 4
	queueProduct     = 150
	queueFlowProduct = 20
)

// showsQueues reports whether congested_queue makes a path's port congested when its load does not.
func (a *additive) showsQueues(s *cc.FlowContext, p *cc.FlowPath) bool {
	packets := a.product(p) / float64(max(s.MSS, 1))
	return s.Telemetry.Queue > 0 && s.Telemetry.Queue <= unit.Bytes(s.MSS) && p.Flows >= queueFlows &&
		packets >= queueProduct && packets >= queueFlowProduct*float64(p.Flows)
}

// fullEnough is the minimum utilisation of a single flow's link without a warning.
const fullEnough = 0.93

// checkSmallWindow warns of a window of few packets, as only whole packets are in flight. Next to data of the other
// direction acknowledgements wait for up to a packet, which leaves a single flow even less. Several flows fill the
// link.
func (a *additive) checkSmallWindow(s *cc.FlowContext) []scheme.Remark {
	if s.MaxFlowSize > 0 || s.AppRate > 0 {
		return nil
	}
	var worst *cc.FlowPath
	least, window, crossed := 1., 0., ""
	for i := range s.Paths {
		p := &s.Paths[i]
		need := inFlight(p, p.BandwidthDelayProduct(), 0) // frames that fill the link
		if p.Flows != 1 || need == 0 || p.NarrowLink.Payload == 0 || a.trip(p) < p.BaseRTT {
			continue
		}
		host, _, _ := strings.Cut(p.Name, "->")
		if !p.Idle && strings.HasPrefix(p.NarrowLink.Port, host+"->") { // flows share a port behind its NIC
			continue
		}
		most := float64(p.NICRate) * float64(a.trip(p)) / 8e12 // a faster NIC has larger windows
		whole := math.Floor(most / float64(s.MSS))
		sent := max(whole, 1) * float64(s.MSS) * float64(p.NarrowLink.Rate) / float64(p.NarrowLink.Payload)
		full, why := sent/need, ""
		if p.Crossed {
			full, why = sent/(need+sent/max(whole, 1)), ", since acknowledgements wait for data of the other direction"
		}
		if full < fullEnough && full < least {
			worst, least, window, crossed = p, full, most, why
		}
	}
	if worst == nil {
		return nil
	}
	return []scheme.Remark{warnSmallWindow.NewRemark("", "a window is at most B·T of its NIC, %v, which holds %.0f "+
		"whole packets: a single flow fills about %.0f %% of %s with %v%s; use smaller packets or more flows",
		unit.Bytes(window), math.Floor(window/float64(s.MSS)), 100*least, worst.NarrowLink.Port, worst.NarrowLink.Rate,
		crossed).
		WithPort(worst.NarrowLink.Port, 1/least)}
}

// checkIncreases warns of an additive increase above the headroom of the path with the smallest headroom, among those
// for which acts is true; acts nil: all.
func (c *Config) checkIncreases(s *cc.FlowContext, acts func(p *cc.FlowPath) bool) []scheme.Remark {
	var tight *cc.FlowPath
	least, a := 0.0, c.additive()
	for i := range s.Paths {
		p := &s.Paths[i]
		headroom := a.product(p) * (1 - c.Eta)
		if (acts == nil || acts(p)) && headroom > 0 && (tight == nil || headroom < least) {
			tight, least = p, headroom
		}
	}
	if tight == nil || float64(c.WAI) <= least {
		return nil
	}
	return []scheme.Remark{warnWAI.NewRemark("w_ai",
		"%v exceeds the headroom, W·(1−eta) of %v at %s with %v, so a single flow builds a queue", c.WAI,
		unit.Bytes(least), tight.NarrowLink.Port, tight.NarrowLink.Rate).
		WithPort(tight.NarrowLink.Port, float64(c.WAI)/least)}
}

// maxTrips is the maximum of T, in round trips of the longest path, without a warning.
const maxTrips = 3

// checkPath warns of a T below a path's round trip, with which windows do not fill it, of a T of so many round trips
// that windows become queues, and of a minimum rate that exceeds a link's. trip returns T of a path's flows, t is the
// given one.
func checkPath(s *cc.FlowContext, t unit.Time, trip func(p *cc.FlowPath) unit.Time,
	minRate unit.Rate) (all []scheme.Remark) {
	if p, ok := s.FindLongestPath(); ok && t > 0 && trip(&p) < p.BaseRTT*95/100 {
		all = append(all, warnTShort.NewRemark("t", "the round trip of the longest path without queues is %v (%s), so "+
			"windows are at most %s of its bandwidth-delay "+
			"product", p.BaseRTT, p.Name, fmt.Sprintf("%.0f %%", 100*float64(trip(&p))/float64(p.BaseRTT))))
	}
	if p, ok := s.FindLongestPath(); ok && t > maxTrips*p.BaseRTT {
		all = append(all, warnTLong.NewRemark("t", "the round trip of the longest path without queues is %v (%s), so "+
			"windows are up to %.0f times its bandwidth-delay product and stay in queues for a time "+
			"T", p.BaseRTT, p.Name, float64(t)/float64(p.BaseRTT)))
	}
	all = append(all, s.WarnMinRateAbovePath("min_rate", func(unit.Rate) unit.Rate { return minRate })...)
	return append(all, s.RefuseRateAboveNIC("min_rate", minRate)...)
}

// Check warns as Config's Check does, with PowerTCP's limits.
func (c *PowerConfig) Check(s *cc.FlowContext) []scheme.Remark {
	a := c.additive()
	all := append(checkPath(s, c.T, a.trip, c.MinRate), slices.Concat(a.checkSmallWindow(s), a.checkSum(s))...)
	if s.SpraysUnevenly(halfPath) {
		all = append(all, s.WarnSlowPath(warnUnevenPower, "",
			"its power is forgotten after a T, while packets still wait there, so "+
				"that the window grows and it fills its buffer"))
	}
	if s.Telemetry == nil || !s.Uncongested {
		return all
	}
	return slices.Concat(all, checkLoadTime(s, minLoadTimePower.records, maxRecordTrips, harmAlone),
		a.checkCongestedLoad(s))
}
