package transporttest

import (
	"errors"
	"fmt"

	"weir/core/packet"
	"weir/core/unit"
)

// checkDatagrams sends datagrams of a transport that repairs no loss, with and without losses. Each is sent once, in
// the order of the numbers. A path that keeps the order delivers each once.
func checkDatagrams(k Transport) error {
	const packets = 500
	for _, every := range []int{0, 2, 13} {
		path, next, wrong := datacentre(), int64(0), error(nil)
		path.Seen = func(at unit.Time, p *packet.Packet, reply bool) {
			if reply || p.Payload == 0 {
				return
			}
			if p.Seq != next && wrong == nil {
				wrong = fmt.Errorf("%v: number %d is sent, not %d", at, p.Seq, next)
			}
			next++
		}
		path.Data = func(n int, _ *packet.Packet) packetFate { return packetFate{Lost: every > 0 && n%every == 1} }
		w, err := newPipe(k, path, packets*packetPayload)
		if err != nil {
			return err
		}
		if err := errors.Join(w.runUntil(unit.Second), wrong); err != nil {
			return err
		}
		s, r := w.Sender.Counters(), w.Receiver.Counters()
		if next != packets || s.SentPackets != packets || s.Retransmitted+r.DuplicateCount() > 0 {
			return fmt.Errorf("one of %d lost: %d packets sent, %d counted, %d sent again, %d arrived twice", every, next,
				s.SentPackets, s.Retransmitted, r.DuplicateCount())
		}
	}
	return nil
}

// checkRate sends datagrams of a transport without feedback on a path with room, on one that is too slow and on one
// that loses all. The sender keeps its rate within half a percent on each of them.
func checkRate(k Transport) error {
	const packets = 10_000
	for _, x := range []struct {
		name string
		path networkPath
	}{
		{"with room", networkPath{Rate: 10 * unit.Gbps}},
		{"too slow", networkPath{Rate: unit.Gbps, Limit: 20 * packetPayload}},
		{"without a way through", networkPath{Rate: 10 * unit.Gbps,
			Data: func(int, *packet.Packet) packetFate { return packetFate{Lost: true} }}},
	} {
		path := x.path
		path.NIC, path.Delay = 10*unit.Gbps, 5*us
		begin, end := unit.Never, unit.Time(0)
		path.Seen = func(at unit.Time, _ *packet.Packet, reply bool) {
			if !reply {
				begin, end = min(begin, at), at
			}
		}
		w, err := newPipe(k, path, packets*packetPayload)
		if err != nil {
			return err
		}
		if err := w.runUntil(unit.Second); err != nil {
			return err
		}
		want := unit.TransmitTime((packets-1)*packetPayload, k.Rate)
		if took := end - begin; took < want-want/200 || took > want+want/200 {
			return fmt.Errorf("a path %s: %d packets were sent in %v; at %v that takes %v", x.name, w.Sent, took, k.Rate, want)
		}
	}
	return nil
}
