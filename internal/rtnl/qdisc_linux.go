package rtnl

import (
	"errors"
	"fmt"
	"math"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// RateLimit is what a token bucket filter lets depart from an interface (tc-tbf(8)).
type RateLimit struct {
	BytesPerSecond uint64
	Overhead       uint16 // bytes that each frame counts besides its own, without FCS
	MinFrame       uint16 // bytes that a frame counts at least, with the overhead
	ATM            bool   // the link cuts frames into cells of 53 bytes
	// Burst is how many bytes may depart at once after a pause. Frames must not be longer. What TCP sends as one and is
	// longer, the filter cuts into segments.
	Burst uint32
}

// LimitRate gives an interface a token bucket filter, or changes its filter. What waits there counts as memory of
// the sending sockets, and has no other bound.
func (c *Conn) LimitRate(index int, limit RateLimit) error {
	if limit.BytesPerSecond == 0 || limit.Burst == 0 {
		return fmt.Errorf("interface %d: a limit of %d B/s with bursts of %d B; both must be positive", index,
			limit.BytesPerSecond, limit.Burst)
	}
	if err := c.change(limitRequest(index, limit)); err != nil {
		if errors.Is(err, unix.ENOENT) {
			err = fmt.Errorf("%w; the kernel needs a token bucket filter (CONFIG_NET_SCH_TBF)", err)
		}
		return fmt.Errorf("interface %d: a limit of %d B/s: %w", index, limit.BytesPerSecond, err)
	}
	return nil
}

// limitRequest returns the request for a filter.
func limitRequest(index int, limit RateLimit) *nl.NetlinkRequest {
	const (
		ethernet, atm = 1, 2       // TC_LINKLAYER_ETHERNET, TC_LINKLAYER_ATM
		root          = 0xffffffff // TC_H_ROOT
		queueBytes    = 1 << 30
	)
	r := request(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE,
		&nl.TcMsg{Ifindex: int32(index), Parent: root})
	add(r, nl.TCA_KIND, nl.ZeroTerminated("tbf"))
	parms := nl.TcTbfQopt{Limit: queueBytes, Rate: nl.TcRateSpec{Linklayer: ethernet, Overhead: limit.Overhead,
		Mpu: limit.MinFrame, Rate: uint32(min(limit.BytesPerSecond, math.MaxUint32))}}
	if limit.ATM {
		parms.Rate.Linklayer = atm
	}
	options := nested(nl.TCA_OPTIONS)
	options.AddRtAttr(nl.TCA_TBF_PARMS, parms.Serialize())
	if limit.BytesPerSecond > math.MaxUint32 {
		options.AddRtAttr(nl.TCA_TBF_RATE64, nl.Uint64Attr(limit.BytesPerSecond))
	}
	options.AddRtAttr(nl.TCA_TBF_BURST, nl.Uint32Attr(limit.Burst))
	r.AddData(options)
	return r
}
