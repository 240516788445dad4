package transporttest

import (
	"fmt"

	"weir/core/packet"
	"weir/core/unit"
)

// Wait returns the bounds of a sender's wait without an answer on a path with round trips rtt.
type Wait func(rtt unit.Time) (least, longest unit.Time)

// Between returns the wait of a timeout by RFC 6298 §2 that is at least floor: SRTT + 4 RTTVAR is at most three round
// trips, and at least one and a quarter here (transport.RoundTrip).
func Between(floor unit.Time) Wait {
	return func(rtt unit.Time) (least, longest unit.Time) { return max(floor, rtt+rtt/4), max(floor, 3*rtt) }
}

// Exactly returns the wait of a timeout that is always the same.
func Exactly(t unit.Time) Wait {
	return func(unit.Time) (least, longest unit.Time) { return t, t }
}

// silence is what a sender does when replies stop: the times of its packets, one for each burst.
type silence struct {
	at     []unit.Time
	copies []unit.Time // for each, when the packet was last sent before; for a probe, when the first unanswered one was
}

// measure runs a flow of packets with data lost from number lostFrom on, and records in x what the sender does then.
// from is when the sender last sent or received a packet before that.
func (x *silence) measure(k Transport, path networkPath, packets, lostFrom int) (from unit.Time, err error) {
	now, firstLost, lastSent, lastReply := unit.Time(0), unit.Never, unit.Time(0), unit.Time(0)
	copies := map[int64]unit.Time{}
	path.Data = func(n int, _ *packet.Packet) packetFate {
		if n >= lostFrom {
			firstLost = min(firstLost, now)
		}
		return packetFate{Lost: n >= lostFrom}
	}
	path.Seen = func(at unit.Time, p *packet.Packet, reply bool) {
		if now = at; reply {
			lastReply = at + unit.TransmitTime(unit.Bytes(p.Size), path.Rate) + path.Delay
			return
		}
		before, again := copies[p.Seq]
		if p.Payload == 0 || !again {
			before = min(firstLost, at)
		}
		if firstLost < unit.Never && at-lastSent > 20*us {
			x.at, x.copies = append(x.at, at), append(x.copies, before)
		}
		if len(x.at) == 0 {
			from = at
		}
		lastSent, copies[p.Seq] = at, at
	}
	w, err := newPipe(k, path, unit.Bytes(packets)*packetPayload)
	if err != nil {
		return 0, err
	}
	err = w.runUntil(3 * unit.Second)
	return max(from, lastReply), err
}

// checkFirstWait lets replies stop, before the first one and after some. The first packet after that, a probe or a
// copy, is not sent before the timeout's least value, counted from the packet that it is about, and not after its
// largest value, counted from what the sender sent or received last.
func checkFirstWait(k Transport) error {
	const slack = 2 * us // frames in the NIC
	for _, delay := range []unit.Time{5 * us, 40 * us, 300 * us, 5 * ms} {
		for _, x := range []struct {
			name              string
			packets, lostFrom int
			waits             []Wait
		}{{"from the beginning", 1, 0, k.Waits[:1]}, {"after replies", 8, 6, k.Waits[1:]}} {
			path := networkPath{Rate: 10 * unit.Gbps, Delay: delay}
			var s silence
			from, err := s.measure(k, path, x.packets, x.lostFrom)
			if err != nil {
				return err
			}
			if len(s.at) < len(x.waits) {
				return fmt.Errorf("%v each way, %s: %d packets after the replies stop", delay, x.name, len(s.at))
			}
			for i, wait := range x.waits {
				least, _ := wait(2 * delay)
				_, longest := wait(2*delay + slack)
				before := s.copies[i]
				if i > 0 {
					from, before = s.at[i-1], s.at[i-1]
				}
				if s.at[i]-before < least || s.at[i]-from > longest+slack {
					return fmt.Errorf("%v each way, %s: wait %d is %v after what it is about, and %v after the latest packet; "+
						"%v to %v are allowed", delay, x.name, i+1, s.at[i]-before, s.at[i]-from, least, longest)
				}
			}
		}
	}
	return nil
}

// checkSteady lets no reply arrive: the waits between packets of the sender are all the same.
func checkSteady(k Transport) error {
	for _, delay := range []unit.Time{5 * us, 300 * us} {
		var s silence
		if _, err := s.measure(k, networkPath{Rate: 10 * unit.Gbps, Delay: delay}, 1, 0); err != nil {
			return err
		}
		if len(s.at) < 100 {
			return fmt.Errorf("%v each way: %d packets in 3 s without a reply", delay, len(s.at))
		}
		first := s.at[1] - s.at[0]
		for i := 2; i < len(s.at); i++ {
			if wait := s.at[i] - s.at[i-1]; wait < first-us || wait > first+us {
				return fmt.Errorf("%v each way: waits of %v and %v", delay, first, wait)
			}
		}
	}
	return nil
}
