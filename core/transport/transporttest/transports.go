package transporttest

import (
	"weir/core/cc"
	"weir/core/cc/reno"
	"weir/core/transport"
	"weir/core/transport/ndp"
	"weir/core/transport/rdma"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/core/transport/uet"
	"weir/core/transport/window"
	"weir/core/unit"
)

// Waits without an answer.
var (
	// probeWaits are for senders that probe first. "last packet repaired" has the bound of the repair.
	probeWaits = []Wait{Between(transport.MinProbeWait), Between(transport.MinProbeWait)}
	// tcpWaits are RFC 6298 §2.1 for the SYN, the tail loss probe (RFC 8985 §7.2), for which Linux waits 2 ms more, and
	// the timeout after it, for which Linux adds at least 200 ms to the round trip.
	tcpWaits = []Wait{Exactly(unit.Second),
		func(rtt unit.Time) (least, longest unit.Time) { return 2 * rtt, 2*rtt + 2*ms },
		func(rtt unit.Time) (least, longest unit.Time) { return rtt + 200*ms, max(rtt+200*ms, 3*rtt) }}
	windowWaits = []Wait{Exactly(ms), Exactly(ms)}
)

// uetWait returns the timeout of uet's reference: rto_base and six products of line rate and round trip, in whole
// frames of less than 1 us.
func uetWait(rtt unit.Time) (least, longest unit.Time) { return 15*us + 6*rtt, 15*us + 6*(rtt+us) }

// Transports returns all transports of Weir, in the forms that differ in what they send again.
func Transports() []Transport {
	slow := reno.Scheme()
	window100 := (&fixed{decision: cc.Decision{Window: 100 * packetPayload, NextTimer: unit.Never}}).scheme()
	rdmaKind := func(name string, control *cc.Scheme, params ...string) Transport {
		return Transport{Name: "rdma " + name, Scheme: rdma.Scheme(), CC: control, Repairs: true, Reports: true,
			Backoff:   true,
			SlowStart: control == &slow, Patient: true, Probes: true, Nacks: true, Waits: probeWaits,
			Params: append(params, "first_window", "initial_window")}
	}
	// uet has its reference's timer, which is always the same and sends data again without a probe. Its control laws are
	// its own and not a cc.Controller, so that it passes no cc.Ack.Limited and has no slow start. It knows no NACKs of
	// switches: receivers report trimmed packets, and each report sends one packet again at once, without hold-off.
	uetKind := func(control string) Transport {
		return Transport{Name: "uet " + control, Scheme: uet.Scheme(), Repairs: true, Steady: true,
			Waits: []Wait{uetWait, uetWait}, Params: []string{"control", control}}
	}
	estimated := uetKind("nscc")
	estimated.Name, estimated.Params = "uet estimated", append(estimated.Params, "rto", "estimated")
	estimated.Steady, estimated.Backoff = false, true
	estimated.Waits = []Wait{func(rtt unit.Time) (least, longest unit.Time) { // without a sample the fixed one
		least, longest = uetWait(rtt)
		return max(least, 100*us), max(longest, 100*us)
	}, Between(100 * us)}
	goBack := rdmaKind("go_back_n", &slow)
	goBack.GoBack = true
	several := rdmaKind("with 4 paths", window100, "recovery", "selective_repeat", "paths", "4")
	several.Reports = false // windows are per path
	several.Backoff = false // paths take turns
	return []Transport{
		{Name: "tcp", Scheme: tcp.Scheme(), CC: &slow, SlowStart: true, Repairs: true, Reports: true, Backoff: true,
			Patient: true, Nacks: true, Waits: tcpWaits},
		goBack,
		rdmaKind("selective_repeat", &slow, "recovery", "selective_repeat"),
		rdmaKind("reordering", &slow, "recovery", "selective_repeat", "reordering", "adaptive"),
		several,
		{Name: "udp", Scheme: udp.Scheme(), Patient: true, Rate: 8 * unit.Gbps, Params: []string{"rate", "8Gbps"}},
		{Name: "captured udp", Scheme: *udp.Scheme().Captured, Patient: true, Rate: captureRate, Script: capture,
			MinSize: udp.MinCaptured},
		{Name: "udp_controlled", Scheme: udp.ControlledScheme(), CC: &slow, SlowStart: true, Reports: true, Backoff: true,
			Patient: true, Probes: true, Nacks: true, Waits: probeWaits},
		{Name: "ndp", Scheme: ndp.Scheme(), Repairs: true, Backoff: true, Patient: true, Probes: true,
			Waits: probeWaits},
		uetKind("nscc"), uetKind("rccc"), uetKind("both"), estimated,
		{Name: "window", Scheme: window.Scheme(), Repairs: true, Backoff: true, GoBack: true,
			Waits: windowWaits, Params: []string{"window", "20 packets"}},
	}
}

// captureRate is the rate of the datagrams of capture.
const captureRate = 8 * unit.Gbps

// capture returns full datagrams of size bytes in all at captureRate. The last two share their payload if the last one
// would be shorter than a capture's datagrams are.
func capture(size unit.Bytes) *transport.Script {
	var s transport.Script
	for sent := unit.Bytes(0); sent < size; {
		payload := min(size-sent, packetPayload)
		if rest := size - sent - payload; rest > 0 && rest < udp.MinCaptured {
			payload -= udp.MinCaptured - rest
		}
		s = append(s, transport.Datagram{Offset: unit.TransmitTime(sent, captureRate), Payload: int32(payload)})
		sent += payload
	}
	return &s
}
