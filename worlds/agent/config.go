package agent

import (
	"errors"
	"fmt"
	"math"

	"weir/core/unit"
)

// ErrConfig is about what was given.
var ErrConfig = errors.New("agent")

// Config is what an agent is told. Its zero values, but for Eta, mean what is said at each.
type Config struct {
	Interface string     // through which connections go; "": every Ethernet interface that is up
	Cgroup    string     // folder of the cgroup whose programs' connections are meant; "": all of the machine's
	Eta       float64    // target utilisation (draft-miao §4.1)
	Flows     int        // N, flows expected on a link, which gives W_ai (§5)
	Increase  unit.Bytes // W_ai instead; 0: by Flows
	RTT       unit.Time  // T; 0: the least that each connection has measured
	Rate      unit.Rate  // of the host's link, which bounds what receivers may claim; 0: not bounded
}

// Defaults are what weir agent has if nothing else is said.
func Defaults() Config { return Config{Eta: 0.95, Flows: 8} }

// Bounds of what may be told.
const (
	mostFlows    = 1 << 16
	mostIncrease = 1 << 24
	mostRTT      = unit.Second
)

// check says what is wrong with a configuration.
func (c *Config) check() error {
	switch {
	case math.IsNaN(c.Eta) || c.Eta < 0.01 || c.Eta > 1:
		return fmt.Errorf("%w: eta %v; 0.01 to 1 are possible", ErrConfig, c.Eta)
	case c.Flows < 1 || c.Flows > mostFlows:
		return fmt.Errorf("%w: %d flows; 1 to %d are possible", ErrConfig, c.Flows, mostFlows)
	case c.Increase < 0 || c.Increase > mostIncrease:
		return fmt.Errorf("%w: an increase of %d B; 0 to %d B are possible", ErrConfig, c.Increase, mostIncrease)
	case c.RTT < 0 || c.RTT > mostRTT:
		return fmt.Errorf("%w: a round trip of %v; 0s to %v are possible", ErrConfig, c.RTT, mostRTT)
	case c.Rate < 0:
		return fmt.Errorf("%w: a rate of %v; 0bps or more are possible", ErrConfig, c.Rate)
	}
	return nil
}

// initialSegments is the initial window (RFC 6928), from which a receiver reckons before it has measured.
const initialSegments = 10

// parameters is struct parameters of bpf/law.h.
type parameters struct {
	Eta, Increase            uint64
	Flows, MaxStage, Initial uint32
	_                        uint32
}

func (c *Config) parameters() parameters {
	return parameters{Eta: uint64(math.Round(c.Eta * one)), Increase: uint64(c.Increase) << 8, Flows: uint32(c.Flows),
		Initial: initialSegments * 1460}
}
