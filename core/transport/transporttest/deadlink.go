package transporttest

import (
	"fmt"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// deadLink loses all packets from 30 us on. The number of packets that are resent is logarithmic in time, also with a
// window that does not shrink: timeouts double.
func deadLink(k Transport) error {
	for _, buffer := range []unit.Bytes{20_000, 100_000, 1_000_000} {
		if err := deadLinkBehind(k, buffer); err != nil {
			return fmt.Errorf("buffer of %v: %w", buffer, err)
		}
		if k.CC == nil {
			continue
		}
		constant := k
		constant.CC = (&fixed{decision: cc.Decision{Window: 100 * packetPayload, NextTimer: unit.Never}}).scheme()
		if err := deadLinkBehind(constant, buffer); err != nil {
			return fmt.Errorf("a constant window, buffer of %v: %w", buffer, err)
		}
	}
	return nil
}

// deadLinkBehind is deadLink with a buffer. Up to 32 times the first timeout there are at most six, and each resends at
// most the packets that were in flight.
func deadLinkBehind(k Transport, buffer unit.Bytes) error {
	const down, timeouts = 30 * us, 6
	path, now := datacentre(), unit.Time(0)
	path.Queueing = unit.TransmitTime(buffer, path.Rate)
	sent := 0
	var again []unit.Time
	path.Seen = func(at unit.Time, p *packet.Packet, reply bool) {
		switch now = at; {
		case isNew(p, reply):
			sent++
		case !reply && p.Payload > 0:
			again = append(again, at)
		}
	}
	lose := func(int, *packet.Packet) packetFate { return packetFate{Lost: now >= down} }
	path.Data, path.Reply = lose, lose
	w, err := newPipe(k, path, 1000*packetPayload)
	if err != nil {
		return err
	}
	if err := w.runUntil(unit.Second); err != nil {
		return err
	}
	if len(again) == 0 { // it only probes
		return nil
	}
	first, count, bursts, latest := again[0]-down, 0, 0, unit.Time(0)
	for _, at := range again {
		if at > down+32*first {
			break
		}
		count++
		if at-latest > first/4 {
			bursts++
		}
		latest = at
	}
	if bursts > timeouts || count > timeouts*sent {
		return fmt.Errorf("%d packets are sent again in %v, %d times; %d were sent before", count, 32*first, bursts, sent)
	}
	return nil
}
