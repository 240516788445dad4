package rtnl

import (
	"errors"
	"fmt"
	"math"

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
	if _, err := c.do(limitMessage(index, limit)); err != nil {
		if errors.Is(err, unix.ENOENT) {
			err = fmt.Errorf("%w; the kernel needs a token bucket filter (CONFIG_NET_SCH_TBF)", err)
		}
		return fmt.Errorf("interface %d: a limit of %d B/s: %w", index, limit.BytesPerSecond, err)
	}
	return nil
}

// limitMessage is the request, with the numbers of linux/rtnetlink.h and linux/pkt_sched.h.
func limitMessage(index int, limit RateLimit) *message {
	const (
		tcmsgBytes               = 20
		tcRoot                   = 0xffffffff
		tcaKind, tcaOptions      = 1, 2
		tbfParms, tbfRate, tbfUp = 1, 4, 6 // TCA_TBF_PARMS, TCA_TBF_RATE64, TCA_TBF_BURST
		parmsBytes               = 36
		ethernet, atm            = 1, 2
		queueBytes               = 1 << 30
	)
	fixed := make([]byte, tcmsgBytes)
	ne.PutUint32(fixed[4:], uint32(index))
	ne.PutUint32(fixed[12:], tcRoot)
	m := newMessage(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, fixed)
	m.text(tcaKind, "tbf")
	m.nest(tcaOptions, func() {
		parms := make([]byte, parmsBytes) // struct tc_tbf_qopt: rate, peak rate, limit, buffer, MTU
		parms[1] = ethernet
		if limit.ATM {
			parms[1] = atm
		}
		ne.PutUint16(parms[2:], limit.Overhead)
		ne.PutUint16(parms[6:], limit.MinFrame)
		ne.PutUint32(parms[8:], uint32(min(limit.BytesPerSecond, math.MaxUint32)))
		ne.PutUint32(parms[24:], queueBytes)
		m.attribute(tbfParms, parms)
		if limit.BytesPerSecond > math.MaxUint32 {
			m.attribute(tbfRate, ne.AppendUint64(nil, limit.BytesPerSecond))
		}
		m.number(tbfUp, limit.Burst)
	})
	return m
}
