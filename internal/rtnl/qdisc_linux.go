package rtnl

import (
	"errors"
	"fmt"
	"math"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// RateLimit configures a token bucket filter at an interface's output (tc-tbf(8)).
type RateLimit struct {
	BytesPerSecond uint64
	Overhead       uint16 // added to the size of each frame without FCS, in bytes
	MinFrame       uint16 // smallest size that a frame counts as, with the overhead, in bytes
	ATM            bool   // the link cuts frames into cells of 53 bytes
	// Burst is the bucket's size in bytes: how much may depart at once after a pause. No frame may be longer. The
	// filter cuts longer TCP packets into segments.
	Burst uint32
}

// LimitRate installs a token bucket filter at an interface or changes the installed one. Queued frames count
// towards the memory of the sending sockets and have no other limit. Rate and burst must be positive.
func (c *Conn) LimitRate(index int, limit RateLimit) error {
	if limit.BytesPerSecond == 0 || limit.Burst == 0 {
		return fmt.Errorf("interface %d: a limit of %d B/s with bursts of %d B; both must be positive", index,
			limit.BytesPerSecond, limit.Burst)
	}
	if err := c.sendChange(limitRequest(index, limit)); err != nil {
		if errors.Is(err, unix.ENOENT) {
			err = fmt.Errorf("%w; the kernel needs a token bucket filter (CONFIG_NET_SCH_TBF)", err)
		}
		return fmt.Errorf("interface %d: a limit of %d B/s: %w", index, limit.BytesPerSecond, err)
	}
	return nil
}

// limitRequest returns the request that installs or replaces the filter.
func limitRequest(index int, limit RateLimit) *nl.NetlinkRequest {
	const (
		ethernet, atm = 1, 2       // TC_LINKLAYER_ETHERNET, TC_LINKLAYER_ATM
		root          = 0xffffffff // TC_H_ROOT
		queueBytes    = 1 << 30
	)
	r := newRequest(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE,
		&nl.TcMsg{Ifindex: int32(index), Parent: root})
	addAttribute(r, nl.TCA_KIND, nl.ZeroTerminated("tbf"))
	parms := nl.TcTbfQopt{Limit: queueBytes, Rate: nl.TcRateSpec{Linklayer: ethernet, Overhead: limit.Overhead,
		Mpu: limit.MinFrame, Rate: uint32(min(limit.BytesPerSecond, math.MaxUint32))}}
	if limit.ATM {
		parms.Rate.Linklayer = atm
	}
	options := newNested(nl.TCA_OPTIONS)
	options.AddRtAttr(nl.TCA_TBF_PARMS, parms.Serialize())
	if limit.BytesPerSecond > math.MaxUint32 {
		options.AddRtAttr(nl.TCA_TBF_RATE64, nl.Uint64Attr(limit.BytesPerSecond))
	}
	options.AddRtAttr(nl.TCA_TBF_BURST, nl.Uint32Attr(limit.Burst))
	r.AddData(options)
	return r
}
