package transporttest

import (
	"errors"
	"fmt"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

const (
	us = unit.Microsecond
	ms = unit.Millisecond
)

// T is the part of *testing.T that Contract needs, which a counter of errors can implement.
type T interface {
	Helper()
	Errorf(format string, args ...any)
}

// promise is one part of the contract. check returns the fault of a transport; applies is nil where every transport has
// to keep the promise.
type promise struct {
	name    string
	applies func(k *Transport) bool
	check   func(k Transport) error
}

var promises = []promise{
	{"slow start doubles", func(k *Transport) bool { return k.SlowStart }, slowStart},
	{"limited by the window", func(k *Transport) bool { return k.Reports }, limited},
	{"timeout doubles", func(k *Transport) bool { return k.Backoff }, backoff},
	{"timeout stays", func(k *Transport) bool { return k.Steady }, checkSteady},
	{"first wait", func(k *Transport) bool { return len(k.Waits) > 1 }, checkFirstWait},
	{"dead link", func(k *Transport) bool { return k.Repairs && (k.Probes || k.Reports && k.Backoff) }, deadLink},
	{"no spurious packets", func(k *Transport) bool { return k.Patient }, noSpurious},
	{"last packet repaired", func(k *Transport) bool { return k.Probes }, lastRepaired},
	{"heavy loss repaired", func(k *Transport) bool { return k.Probes && k.Repairs }, heavy},
	{"loss repaired", func(k *Transport) bool { return k.Repairs }, repaired},
	{"no early copies", func(k *Transport) bool { return k.Repairs && !k.GoBack }, checkCopyGap},
	{"hold-off", func(k *Transport) bool { return k.Nacks }, holdOff},
	{"order", func(k *Transport) bool { return k.Repairs }, reordered},
	{"sent once", func(k *Transport) bool { return !k.Repairs }, checkDatagrams},
	{"rate", func(k *Transport) bool { return k.Rate > 0 }, checkRate},
	{"sizes", nil, sizes},
	{"determinism", nil, repeatable},
}

// Contract reports each promise that transport k breaks as an error of t.
func Contract(t T, k Transport) {
	t.Helper()
	for _, p := range promises {
		if p.applies != nil && !p.applies(&k) {
			continue
		}
		if err := p.check(k); err != nil {
			t.Errorf("%s: %s: %v", k.Name, p.name, err)
		}
	}
}

// datacentre is a path of 10 Gb/s with 5 us each way.
func datacentre() networkPath { return networkPath{Rate: 10 * unit.Gbps, Delay: 5 * us} }

// isNew reports whether p is a sender's packet with payload that was not sent before.
func isNew(p *packet.Packet, reply bool) bool {
	return !reply && p.Payload > 0 && p.Resent == packet.FirstCopy
}

// slowStart counts the packets up to the end of each round trip: 10 in the first and twice as many in each later one
// (RFC 5681 §3.1), for any rate of the NIC and any round trip. Some may be sent a round trip later.
func slowStart(k Transport) error {
	for _, path := range []networkPath{
		{Rate: unit.Gbps, Delay: 5 * ms}, {NIC: 4 * unit.Gbps, Rate: unit.Gbps, Delay: 5 * ms},
		{Rate: 100 * unit.Gbps, Delay: 50 * us}, {NIC: 400 * unit.Gbps, Rate: 100 * unit.Gbps, Delay: 100 * ms},
	} {
		var rounds []int
		begin, trip := unit.Never, 2*path.Delay
		path.Seen = func(at unit.Time, p *packet.Packet, reply bool) {
			if !isNew(p, reply) {
				return
			}
			begin = min(begin, at)
			for n := int((at - begin) / trip); n >= len(rounds); {
				rounds = append(rounds, 0)
			}
			rounds[(at-begin)/trip]++
		}
		w, err := newPipe(k, path, 100_000*packetPayload)
		if err != nil {
			return err
		}
		if err := w.runUntil(9 * trip); err != nil {
			return err
		}
		if len(rounds) < 5 {
			return fmt.Errorf("NIC %v, %v: %d rounds with data in 9 round trips", path.NIC, path.Delay, len(rounds))
		}
		total, want := 0, 0
		for i, n := range rounds[:5] {
			total, want = total+n, want+10<<i
			if got := float64(total) / float64(want); got < 0.85 || got > 1.15 {
				return fmt.Errorf("NIC %v, rate %v, %v each way: packets a round trip %v", path.NIC, path.Rate, path.Delay,
					rounds[:5])
			}
		}
	}
	return nil
}

// fixed is a controller with a constant decision. It counts the acknowledgements that report that the window limits.
type fixed struct {
	decision        cc.Decision
	limited, others int
}

func (*fixed) OnSend(unit.Time, cc.Sent)     {}
func (*fixed) OnNotice(unit.Time, cc.Notice) {}
func (*fixed) OnLoss(unit.Time, cc.Loss)     {}
func (*fixed) OnTimer(unit.Time)             {}
func (f *fixed) Decision() cc.Decision       { return f.decision }

// OnAck counts an acknowledgement of packets by whether the window limits.
func (f *fixed) OnAck(_ unit.Time, a *cc.Ack) {
	if a.Packets == 0 {
		return
	}
	if a.Limited {
		f.limited++
	} else {
		f.others++
	}
}

// scheme returns a scheme with f as the controller of all flows.
func (f *fixed) scheme() *cc.Scheme {
	return &cc.Scheme{Scheme: scheme.Scheme{Name: "fixed"},
		OwnRecovery: true, PerPath: true,
		Build: func(cc.Flow, scheme.Config) (cc.Controller, error) { return f, nil }}
}

// limited runs flows with a constant window. In slow start the window counts as used from more than its half on
// (Linux tcp_is_cwnd_limited), otherwise when the next packet does not fit.
func limited(k Transport) error {
	for _, x := range []struct {
		size, window int64 // packets
		slow         bool
		want         bool // the first acknowledgement reports it
	}{{11, 20, true, true}, {10, 20, true, false}, {19, 20, false, false}, {20, 20, false, true}, {500, 20, false, true},
		{30, 1000, true, false}} {
		f := &fixed{decision: cc.Decision{Window: unit.Bytes(x.window * packetPayload), SlowStart: x.slow,
			NextTimer: unit.Never}}
		k.CC = f.scheme()
		first, decided := false, false
		path := datacentre()
		path.Delay = ms // longer than it takes to send all
		path.Seen = func(_ unit.Time, _ *packet.Packet, reply bool) {
			if !decided && f.limited+f.others > 0 {
				first, decided = f.limited > 0, true
			}
		}
		w, err := newPipe(k, path, unit.Bytes(x.size*packetPayload))
		if err != nil {
			return err
		}
		if err := errors.Join(w.runUntil(unit.Second), w.whole()); err != nil {
			return err
		}
		if !decided {
			first = f.limited > 0
		}
		if first != x.want {
			return fmt.Errorf("%d packets in a window of %d, slow start %v: Limited is %v", x.size, x.window, x.slow, first)
		}
	}
	return nil
}

// backoff lets no reply arrive: the waits between packets of the sender double (RFC 6298 §5.5) until they have grown
// 32 times.
func backoff(k Transport) error {
	path := datacentre()
	var at []unit.Time
	path.Seen = func(now unit.Time, _ *packet.Packet, reply bool) {
		if n := len(at); !reply && (n == 0 || now-at[n-1] > 20*us) { // a window is one burst
			at = append(at, now)
		}
	}
	path.Reply = func(int, *packet.Packet) packetFate { return packetFate{Lost: true} }
	w, err := newPipe(k, path, packetPayload)
	if err != nil {
		return err
	}
	if err := w.runUntil(10 * unit.Second); err != nil {
		return err
	}
	if len(at) < 4 {
		return fmt.Errorf("%d packets in 10 s without a reply", len(at))
	}
	first := at[1] - at[0]
	for i := 2; i < len(at) && at[i]-at[i-1] < 32*first; i++ {
		if wait, before := at[i]-at[i-1], at[i-1]-at[i-2]; wait < 19*before/10 || wait > 21*before/10 {
			return fmt.Errorf("waits of %v and %v", before, wait)
		}
	}
	return nil
}

// noSpurious lets packets wait, and drops no packet: in queues that are there before the flow, in pauses of the
// link, and behind a slow link. No packet is sent twice, and no timeout counts.
func noSpurious(k Transport) error {
	pauses := func(from, length, every unit.Time) func(unit.Time) unit.Time {
		return func(at unit.Time) unit.Time {
			for start := from; start <= at; start += every {
				if at < start+length {
					return start + length
				}
			}
			return at
		}
	}
	for _, x := range []struct {
		name string
		path networkPath
	}{
		{"a queue of 1 us", networkPath{Busy: us}},
		{"a queue of 100 us", networkPath{Busy: 100 * us}},
		{"a queue of 1 ms", networkPath{Busy: ms}},
		{"a queue of 30 ms", networkPath{Busy: 30 * ms}},
		{"a NIC that is 40 times as fast", networkPath{NIC: 400 * unit.Gbps}},
		{"a pause of 20 ms", networkPath{Pause: pauses(50*us, 20*ms, unit.Second)}},
		{"pauses of 2 ms", networkPath{Pause: pauses(20*us, 2*ms, 3*ms)}},
		{"pauses of 50 us", networkPath{Pause: pauses(20*us, 50*us, 55*us)}},
		{"replies of 1 ms", networkPath{Reply: func(int, *packet.Packet) packetFate { return packetFate{Later: ms} }}},
	} {
		path := x.path
		path.Rate, path.Delay = 10*unit.Gbps, 5*us
		w, err := newPipe(k, path, 2000*packetPayload)
		if err != nil {
			return err
		}
		if err := errors.Join(w.runUntil(10*unit.Second), w.whole()); err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		if s, d := w.Sender.Counters().Retransmitted, w.Receiver.Counters().DuplicateCount(); s+d+w.timeouts() > 0 {
			return fmt.Errorf("%s: %d packets sent again, %d arrived twice, %d timeouts", x.name, s, d, w.timeouts())
		}
	}
	return nil
}

// lastRepaired loses the last packet of a flow, and then the first probe or its answer as well, on paths with a
// queue that is empty or full. The sender has to notice, and a transport that repairs losses to repair it, within
// twice the longest round trip of the path after it sent the packet.
func lastRepaired(k Transport) error {
	const packets = 20
	for _, buffer := range []unit.Bytes{20_000, 100_000, 1_000_000, 20_000_000} {
		for _, full := range []bool{false, true} {
			for _, also := range []string{"alone", "with a probe", "with a reply"} {
				path := datacentre()
				path.Queueing = unit.TransmitTime(buffer+2*packetPayload, path.Rate)
				if full {
					path.Busy = unit.TransmitTime(buffer-packets*packetPayload/2, path.Rate)
				}
				var sent unit.Time
				lost, now := 0, unit.Time(0)
				path.Seen = func(at unit.Time, _ *packet.Packet, _ bool) { now = at }
				path.Data = func(_ int, p *packet.Packet) (f packetFate) {
					switch {
					case lost == 0 && p.Payload == packetPayload-1: // the last one
						sent, f.Lost = now, true
						lost++
					case lost == 1 && p.Payload == 0 && also == "with a probe":
						f.Lost = true
						lost++
					}
					return f
				}
				path.Reply = func(_ int, p *packet.Packet) (f packetFate) {
					if f.Lost = lost == 1 && also == "with a reply" && now-sent > path.Queueing/2; f.Lost {
						lost++
					}
					return f
				}
				w, err := newPipe(k, path, packets*packetPayload-1)
				if err != nil {
					return err
				}
				if err := w.runUntil(100 * unit.Second); err != nil {
					return err
				}
				end := w.Sender.Counters().Finished
				if k.Repairs {
					end = w.Receiver.Counters().Finished
				}
				longest := w.flow.Path.MaxRTT()
				if end == unit.Never || end-sent > 2*longest {
					return fmt.Errorf("buffer of %v, full %v, lost %s: finished %v after it was sent, of %v", buffer, full, also,
						end-sent, longest)
				}
			}
		}
	}
	return nil
}

// repaired loses single packets of a flow, the last one among them, single replies, and all for some time.
func repaired(k Transport) error {
	const packets = 20
	try := func(name string, path networkPath) error {
		w, err := newPipe(k, path, packets*packetPayload)
		if err != nil {
			return err
		}
		if err := errors.Join(w.runUntil(200*unit.Second), w.whole()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	for i := range packets + 3 {
		path := datacentre()
		path.Data = func(n int, _ *packet.Packet) packetFate { return packetFate{Lost: n == i} }
		if err := try(fmt.Sprintf("packet %d of the sender lost", i), path); err != nil {
			return err
		}
		path = datacentre()
		path.Reply = func(n int, _ *packet.Packet) packetFate { return packetFate{Lost: n == i} }
		if err := try(fmt.Sprintf("reply %d lost", i), path); err != nil {
			return err
		}
		for _, replies := range []bool{false, true} {
			path, now, from := datacentre(), unit.Time(0), unit.Never
			path.Seen = func(at unit.Time, _ *packet.Packet, _ bool) { now = at }
			lose := func(n int, _ *packet.Packet) packetFate {
				if n == i {
					from = now
				}
				return packetFate{Lost: now >= from && now < from+5*ms}
			}
			if path.Data = lose; replies {
				path.Data, path.Reply = nil, lose
			}
			if err := try(fmt.Sprintf("all for 5 ms from number %d on lost, replies %v", i, replies), path); err != nil {
				return err
			}
		}
	}
	return nil
}

// heavy loses half of all packets, with probes and replies. Flows must end within a time that is long compared with all
// timers: no lost answer makes the waits after it longer for good.
func heavy(k Transport) error {
	for seed := range uint64(100) {
		random := unit.NewRandom(seed, "loss")
		path := datacentre()
		path.Data = func(int, *packet.Packet) packetFate { return packetFate{Lost: random.Uint64()%2 == 0} }
		path.Reply = path.Data
		w, err := newPipe(k, path, packetPayload)
		if err != nil {
			return err
		}
		if err := errors.Join(w.runUntil(unit.Second), w.whole()); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

// checkCopyGap loses packets at random, while receivers report each loss many times. No packet is sent again within a
// round trip of its last copy: until then no report can be about that copy.
func checkCopyGap(k Transport) error {
	for seed := range uint64(10) {
		random := unit.NewRandom(seed, "loss")
		path := networkPath{Rate: 10 * unit.Gbps, Delay: 50 * us}
		copies := map[int64]unit.Time{} // when the last copy was sent, by sequence number
		now, early := unit.Time(0), error(nil)
		path.Seen = func(at unit.Time, _ *packet.Packet, _ bool) { now = at }
		path.Data = func(_ int, p *packet.Packet) packetFate {
			lost := random.Uint64()%20 == 0
			if p.Payload == 0 {
				return packetFate{Lost: lost}
			}
			if t, again := copies[p.Seq]; again && now-t < 2*path.Delay && early == nil {
				early = fmt.Errorf("seed %d: number %d was sent at %v and %v", seed, p.Seq, t, now)
			}
			copies[p.Seq] = now
			return packetFate{Lost: lost}
		}
		w, err := newPipe(k, path, 300*packetPayload)
		if err != nil {
			return err
		}
		if err := errors.Join(w.runUntil(100*unit.Second), early); err != nil {
			return err
		}
	}
	return nil
}

// holdOff makes a switch NACK all data packets for a hundred round trips. A sender that sent a packet for each NACK
// would send all the time, since NACKs arrive sooner than acknowledgements. It may send two packets a round trip at
// most.
func holdOff(k Transport) error {
	const trips = 100
	path := networkPath{Rate: 10 * unit.Gbps, Delay: 50 * us}
	from, sent := unit.Never, 0
	now := unit.Time(0)
	path.Seen = func(at unit.Time, p *packet.Packet, reply bool) {
		if now = at; !reply && p.Payload > 0 && at > from && at < from+trips*2*path.Delay {
			sent++
		}
	}
	path.Data = func(n int, p *packet.Packet) packetFate {
		if n == 40 {
			from = now
		}
		return packetFate{Nacked: p.Payload > 0 && now >= from && now < from+trips*2*path.Delay}
	}
	w, err := newPipe(k, path, 300*packetPayload)
	if err != nil {
		return err
	}
	if err := w.runUntil(100 * unit.Second); err != nil {
		return err
	}
	if from == unit.Never || k.Repairs && w.whole() != nil {
		return w.whole()
	}
	if sent > 2*trips {
		return fmt.Errorf("%d packets in %d round trips in which switches report that all are lost", sent, trips)
	}
	return nil
}

// reordered delays and loses packets at random: each byte counts once.
func reordered(k Transport) error {
	for seed := range uint64(20) {
		random := unit.NewRandom(seed, "reordering")
		path := datacentre()
		path.Data = func(int, *packet.Packet) packetFate {
			return packetFate{Later: unit.Time(random.Uint64() % uint64(20*us)), Lost: random.Uint64()%20 == 0}
		}
		path.Reply = func(int, *packet.Packet) packetFate { return packetFate{Lost: random.Uint64()%20 == 0} }
		w, err := newPipe(k, path, 100*packetPayload)
		if err != nil {
			return err
		}
		if err := errors.Join(w.runUntil(500*unit.Second), w.whole()); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

// sizes runs flows of one byte to many packets. Each byte arrives, and is sent as new data once.
func sizes(k Transport) error {
	for _, size := range []unit.Bytes{1, packetPayload - 1, packetPayload, packetPayload + 1, 9*packetPayload + 1,
		64 * packetPayload, 65*packetPayload - 1, 10_000 * packetPayload} {
		if size < k.MinSize {
			continue
		}
		if err := ofSize(k, datacentre(), size); err != nil {
			return err
		}
	}
	return nil
}

// maxFlow is the largest flow that the contract promises.
const maxFlow = 1_000_000 * packetPayload

// Large reports the faults of a transport with a flow of a million packets and a byte, which takes seconds. If the
// transport repairs losses the queue has a limit.
func Large(t T, k Transport) {
	t.Helper()
	path := datacentre()
	if k.Repairs {
		path.Limit = 200 * packetPayload
	}
	if err := ofSize(k, path, maxFlow+1); err != nil {
		t.Errorf("%s: large flow: %v", k.Name, err)
	}
}

// ofSize runs a flow of this size on a path, and returns its fault.
func ofSize(k Transport, path networkPath, size unit.Bytes) error {
	w, err := newPipe(k, path, size)
	if err != nil {
		return err
	}
	if err := errors.Join(w.runUntil(100*unit.Second), w.whole()); err != nil {
		return err
	}
	if s := w.Sender.Counters(); s.SentBytes != size || s.SentPackets < int64(size+packetPayload-1)/packetPayload {
		return fmt.Errorf("%v: %v in %d packets were sent", size, s.SentBytes, s.SentPackets)
	}
	return nil
}

// repeatable runs a flow with losses twice: the packets are the same.
func repeatable(k Transport) error {
	run := func() (log []string, err error) {
		path := datacentre()
		path.Data = func(n int, _ *packet.Packet) packetFate { return packetFate{Lost: n%13 == 5} }
		path.Seen = func(at unit.Time, p *packet.Packet, reply bool) {
			log = append(log, fmt.Sprint(at, reply, p.Kind, p.Seq, p.Ack, p.Payload, p.Size, p.TCP.Flags))
		}
		w, err := newPipe(k, path, 50*packetPayload)
		if err != nil {
			return nil, err
		}
		return log, w.runUntil(unit.Second)
	}
	first, err := run()
	if err != nil {
		return err
	}
	second, err := run()
	if err != nil {
		return err
	}
	if a, b := fmt.Sprint(first), fmt.Sprint(second); a != b || len(first) == 0 {
		return fmt.Errorf("two runs differ: %d and %d packets", len(first), len(second))
	}
	return nil
}
