package cctest

import (
	"fmt"
	"strings"

	"weir/core/cc"
	"weir/core/unit"
)

// PlayScript plays an event stream, one event a line, to a controller. It returns the stream with the decision after
// each line. Events, with their values:
//
//	send 10                       packets
//	ack 2 rtt=20ms [ece] [idle]   packets; ece: with an echo; idle: not limited by the window
//	wait 5ms                      timers run meanwhile
//	cnp                           a congestion notification packet
//	queue 20                      a notice of so many packets at a port of 40 Gb/s, about one sent 2 µs ago
//	recovery | recovered | timeout | ecn | warned | spurious
//	idled 10                      packets
//	repeat 20 <event>             the event so many times; one line
//
// An empty line or one that begins with # is copied.
func PlayScript(c cc.Controller, text string) (string, error) {
	m := &player{Model: Model{Controller: c}}
	var out strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if line == "" || line[0] == '#' {
			out.WriteString(line + "\n")
			continue
		}
		times, event := 1, strings.Fields(line)
		if event[0] == "repeat" {
			if len(event) < 3 {
				return "", fmt.Errorf("line %d: repeat needs a number and an event", i+1)
			}
			if _, err := fmt.Sscan(event[1], &times); err != nil {
				return "", fmt.Errorf("line %d: %q is not a number", i+1, event[1])
			}
			event = event[2:]
		}
		for range times {
			if err := m.playEvent(event); err != nil {
				return "", fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		d := c.Decision()
		window := fmt.Sprintf("window %d", d.Window/MSS)
		if d.Window >= cc.Unlimited*MSS {
			window = "no window"
		}
		fmt.Fprintf(&out, "%-44s %s", line, window)
		if d.Rate >= 10*unit.Gbps {
			fmt.Fprintf(&out, ", rate %.4g Gb/s", float64(d.Rate)/1e9)
		} else if d.Rate > 0 {
			fmt.Fprintf(&out, ", rate %.4g Mb/s", float64(d.Rate)/1e6)
		}
		if d.SlowStart {
			out.WriteString(", slow start")
		}
		fmt.Fprintf(&out, ", %d in flight at %v\n", m.inFlight, m.Now)
	}
	return out.String(), nil
}

// player runs the events of a script.
type player struct{ Model }

// playEvent runs one event, given as its words. It fails if the event is not valid.
func (m *player) playEvent(event []string) error {
	n := 0
	if len(event) > 1 && event[0] != "wait" {
		if _, err := fmt.Sscan(event[1], &n); err != nil || n < 0 {
			return fmt.Errorf("%q is not a number", event[1])
		}
	}
	c := m.Controller
	switch event[0] {
	case "send":
		for range n {
			c.OnSend(m.Now, cc.Sent{Bytes: MSS, InFlight: m.inFlight})
			m.inFlight++
			m.next += MSS
		}
	case "ack":
		if n > m.inFlight {
			return fmt.Errorf("%d packets acknowledged, %d are in flight", n, m.inFlight)
		}
		prior := m.inFlight
		m.inFlight -= n
		m.delivered += int64(n)
		m.una = m.next - int64(m.inFlight)*MSS
		a := &cc.Ack{Packets: n, Bytes: unit.Bytes(n * MSS), Advanced: n > 0, Limited: true, FirstUnacked: m.una,
			Next:      m.next,
			Delivered: m.delivered, Flight: cc.Flight{Before: prior, After: m.inFlight, NextSend: m.Now},
			Losses: cc.Losses{Total: m.lostTotal, State: m.state}}
		for _, word := range event[2:] {
			switch value, isRTT := strings.CutPrefix(word, "rtt="); {
			case isRTT:
				rtt, err := unit.ParseTime(value)
				if err != nil {
					return err
				}
				a.RTT.Sample, m.srtt = rtt, rtt
				a.Delivery = cc.Delivery{Packets: prior, Interval: rtt, PriorDelivered: m.delivered - int64(prior)}
			case word == "ece":
				a.ECN.Echo = true
				m.deliveredCE += int64(n)
			case word == "idle":
				a.Limited = false
			default:
				return fmt.Errorf("%q is not known", word)
			}
		}
		a.RTT.Smoothed, a.RTT.Min, a.ECN.Delivered = m.srtt, m.srtt, m.deliveredCE
		c.OnAck(m.Now, a)
	case "wait":
		d, err := unit.ParseTime(event[1])
		if err != nil {
			return err
		}
		return m.advanceTime(d)
	case "cnp":
		c.OnNotice(m.Now, cc.Notice{Kind: cc.CNPNotice, Seq: m.una})
	case "queue":
		c.OnNotice(m.Now, cc.Notice{Kind: cc.QueueNotice, Seq: m.una, Queue: unit.Bytes(n) * MSS, Link: 40 * unit.Gbps,
			Sent: m.Now - 2*unit.Microsecond})
	case "recovery", "ecn", "warned", "timeout", "recovered", "spurious", "idled":
		kinds := map[string]cc.LossKind{"recovery": cc.FastRecovery, "ecn": cc.ECNEcho,
			"warned": cc.Warned, "timeout": cc.RetransmissionTimeout,
			"recovered": cc.Recovered, "spurious": cc.Spurious, "idled": cc.Idled}
		states := map[string]cc.RecoveryState{"recovery": cc.Recovery, "ecn": cc.Reduced, "warned": cc.Reduced,
			"timeout": cc.Timeout}
		m.state = states[event[0]]
		if event[0] == "timeout" {
			m.inFlight = 0
		}
		l := m.newLoss(kinds[event[0]])
		l.Window = n
		c.OnLoss(m.Now, l)
	default:
		return fmt.Errorf("%q is not an event", event[0])
	}
	return nil
}
