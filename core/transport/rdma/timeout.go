package rdma

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
)

// bindTimeout binds the retransmission timeout.
func (c *Config) bindTimeout(p *scheme.Params) {
	p.Text(&c.RTO, "rto", measuredRTO,
		"retransmission timeout; measured: at least SRTT + 4 RTTVAR and 5/4 SRTT; fixed: rto_min and rto_low; none: "+
			"only losses that the receiver or a switch reports are resent, so that a flow whose last packet is lost never "+
			"ends", "RFC 6298 §2.3; Weir: 5/4; fixed: IRN §3.1; none: HPCC simulator").Words(measuredRTO, fixedRTO, noRTO)
	timed := func() bool { return c.RTO != noRTO }
	p.Time(&c.RTOMin, "rto_min", "0s", "minimum (rto: measured) or fixed retransmission timeout; 0s: derived from the "+
		"path: a probe is sent after 320us or the measured round-trip time, and data is resent when the probe's answer "+
		"proves the loss or after a round-trip time with full buffers; 0s with rto: fixed or with rto_low: 320us",
		"RFC 8985 §7: probe; IRN §4.1: RTO_high").Min("0s").Max("60s").When("rto: measured or fixed", timed)
	p.Time(&c.RTOLow, "rto_low", "0s", "timeout instead of rto_min while at most rto_low_packets are in flight; 0s: "+
		"always rto_min", "IRN §3.1: an option, RTO_low of 100us").Max("60s").When("rto: measured or fixed", timed)
	p.Packets(&c.RTOLowPackets, "rto_low_packets", "3 packets", "with rto_low: maximum packets in flight for which "+
		"rto_low applies", "IRN §4.1: N").
		Min("1 packet").Max("1000000 packets").
		When("rto_low above 0s", func() bool { return c.RTOLow > 0 })
	p.Time(&c.RTOMax, "rto_max", "0s",
		"maximum to which the timeout doubles while no packet is acknowledged; 0s: 64 times the timeout",
		"Weir").Min("0s").Max("120s").
		When("rto: measured or fixed", timed)
	p.Text(&c.Resends, "timeout_resends", resendFirst,
		"selective_repeat: packets that a timeout resends; first: the first one and those that SACKs show to be lost; "+
			"all: all unacknowledged ones", "IRN §3.1").
		Words(resendFirst, resendAll).
		When("recovery: selective_repeat", func() bool { return c.Recovery == SelectiveRepeat })
	p.AddRule("rto_min", func() error {
		if c.RTOMin > 0 && c.RTOMin < unit.Microsecond {
			return fmt.Errorf("%v; allowed: 0s, or 1us to 60s", c.RTOMin)
		}
		return nil
	})
	p.AddRule("rto_low", func() error {
		if c.RTOLow > c.shortestRTO() {
			return fmt.Errorf("%v is more than rto_min, %v", c.RTOLow, c.shortestRTO())
		}
		return nil
	})
	p.AddRule("rto_max", func() error {
		if c.RTOMax > 0 && c.RTOMax < c.shortestRTO() {
			return fmt.Errorf("%v is less than rto_min, %v", c.RTOMax, c.shortestRTO())
		}
		return nil
	})
}

// shortestRTO returns the shortest retransmission timeout, or wait before a probe: RTOMin, or MinProbeWait if that is
// 0.
func (c *Config) shortestRTO() unit.Time {
	if c.RTOMin == 0 {
		return transport.MinProbeWait
	}
	return c.RTOMin
}

// newRTO returns the retransmission timer of a flow.
func (c *Config) newRTO() transport.RTO {
	return transport.RTO{BaseRTT: c.BaseRTT, Floor: c.shortestRTO(), MinFirst: transport.FirstTimeout(c.BaseRTT),
		MaxTimeout: c.RTOMax, Fixed: c.RTO == fixedRTO}
}

// probesWhenSilent reports whether the sender probes when no answer arrives, instead of resending data: the file gives
// no timeout.
func (c *Config) probesWhenSilent() bool {
	return c.RTO == measuredRTO && c.RTOMin == 0 && c.RTOLow == 0 && c.Recovery != NoRecovery
}

// minTimeout returns how long an acknowledgement can be missing before data is resent; unit.Never: for any time.
func (c *Config) minTimeout() unit.Time {
	switch {
	case c.Recovery == NoRecovery || c.RTO == noRTO || c.probesWhenSilent():
		return unit.Never
	case c.RTOLow > 0:
		return c.RTOLow
	}
	return c.shortestRTO()
}

// replyDelay returns the time by which ends delay an answer beyond the path's round trip, which has the delay of ACKs.
func (c *Config) replyDelay() unit.Time {
	adds := max(c.NIC.Nack-c.NIC.Ack, 0)
	if c.AckEvery > 1 {
		adds += c.longestWait()
	}
	return adds
}

// describeTimer returns the timeout of the file, or the default, on path p.
func (c *Config) describeTimer(p *cc.Path) transport.Timer {
	t := transport.Timer{Param: "rto_min", Timeout: c.minTimeout(), ReplyDelay: c.replyDelay(),
		Probes:   c.probesWhenSilent(),
		Unproven: p.Reorders && c.Reordering == reorderNone, Fixed: c.RTO == fixedRTO}
	switch {
	case t.Probes && t.Unproven:
		t.Timeout = c.shortestRTO()
	case c.RTOLow > 0:
		t.Param = "rto_low"
	}
	return t
}
