package agent

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"weir/core/unit"
)

// ErrConfig means that the configuration is wrong.
var ErrConfig = errors.New("agent")

// Values of Config.Follow.
const (
	HPCC = "hpcc" // telemetry of switches, in IPv6 connections opened while the agent runs
	NCF  = "ncf"  // NACKs of switches, in all connections
	Both = "both"
)

// Values of Config.Nacks: the reaction of a connection to a NACK.
const (
	NacksLoss   = "loss"   // reduces as for a loss, once per round trip
	NacksSupply = "supply" // follows the rate that the switch offers
)

// Config configures an agent. The comments give the meaning of zero values; Eta has no valid zero.
type Config struct {
	Follow    string     // HPCC, NCF or Both; "" means HPCC
	Nacks     string     // NacksLoss or NacksSupply, if NACKs are followed; "" means NacksLoss
	Interface string     // through which connections go; "" means every Ethernet interface that is up
	Cgroup    string     // folder of the cgroup that selects connections; "" selects all of the machine
	Eta       float64    // target utilisation (draft-miao §4.1)
	Flows     int        // N, expected flows per link, which determines W_ai (§5)
	Increase  unit.Bytes // W_ai instead; 0: determined by Flows
	MaxStage  int        // additive increases before a multiplicative one (§4.1)
	RTT       unit.Time  // of the empty path; 0: the minimum measured by each connection
	Rate      unit.Rate  // of the host's link, which limits what receivers may claim; 0: unlimited
}

// DefaultConfig returns the configuration of weir agent without flags. MaxStage is the draft's 5 (draft-miao §4.1);
// with 0, windows oscillate when acknowledgements queue behind data.
func DefaultConfig() Config { return Config{Eta: 0.95, Flows: 8, MaxStage: 5} }

// Limits of a configuration.
const (
	maxFlows    = 1 << 16
	maxIncrease = 1 << 24
	maxStage    = 1 << 20
	maxRTT      = unit.Second
)

// Problem describes an error in one field of a configuration.
type Problem struct {
	Field string // name of the field of Config
	Text  string // what is wrong, and what is allowed
}

// ListProblems returns all errors of a configuration, nil for a valid one. It does not examine Interface and Cgroup.
func (c *Config) ListProblems() (all []Problem) {
	must := func(ok bool, field, format string, args ...any) {
		if !ok {
			all = append(all, Problem{field, fmt.Sprintf(format, args...)})
		}
	}
	must(slices.Contains([]string{"", HPCC, NCF, Both}, c.Follow), "Follow",
		"%q is unknown; allowed: %s, %s, %s", c.Follow,
		HPCC, NCF, Both)
	must(slices.Contains([]string{"", NacksLoss, NacksSupply}, c.Nacks), "Nacks",
		"%q is unknown; allowed: %s, %s", c.Nacks,
		NacksLoss, NacksSupply)
	must(c.Nacks == "" || c.Follow != "" && c.Follow != HPCC, "Nacks", "%s has no effect, because the agent does not "+
		"follow NACKs; it requires %s or %s", c.Nacks, NCF, Both)
	must(c.Eta >= 0.01 && c.Eta <= 1, "Eta", "%v is out of range; allowed: 0.01 to 1", c.Eta)
	must(c.Flows >= 1 && c.Flows <= maxFlows, "Flows", "%d is out of range; allowed: 1 to %d", c.Flows, maxFlows)
	must(c.Increase >= 0 && c.Increase <= maxIncrease, "Increase", "%v is out of range; allowed: up to %v", c.Increase,
		unit.Bytes(maxIncrease))
	must(c.MaxStage >= 0 && c.MaxStage <= maxStage, "MaxStage", "%d is out of range; allowed: 0 to %d",
		c.MaxStage, maxStage)
	must(c.RTT >= 0 && c.RTT <= maxRTT, "RTT", "%v is out of range; allowed: up to %v", c.RTT, maxRTT)
	must(c.Rate >= 0, "Rate", "%v is out of range; allowed: above 0bps", c.Rate)
	return all
}

// checkFields returns the result of ListProblems as one error that wraps ErrConfig.
func (c *Config) checkFields() error {
	var errs []error
	for _, p := range c.ListProblems() {
		errs = append(errs, fmt.Errorf("%w: %s %s", ErrConfig, p.Field, p.Text))
	}
	return errors.Join(errs...)
}

// initialSegments is the initial window (RFC 6928), which a receiver assumes before the first measurement.
const initialSegments = 10

// parameters mirrors struct parameters of bpf/law.h.
type parameters struct {
	Eta, Increase            uint64
	Flows, MaxStage, Initial uint32
	_                        uint32
}

// buildParameters returns the configuration in the units of bpf/law.h.
func (c *Config) buildParameters() parameters {
	return parameters{Eta: uint64(math.Round(c.Eta * loadUnit)), Increase: uint64(c.Increase) << 8, Flows: uint32(c.Flows),
		MaxStage: uint32(c.MaxStage),
		Initial:  initialSegments * 1460}
}

// followsHPCC reports whether connections follow HPCC++.
func (c *Config) followsHPCC() bool { return c.Follow != NCF }

// followsNCF reports whether connections follow NACKs.
func (c *Config) followsNCF() bool { return c.Follow == NCF || c.Follow == Both }
