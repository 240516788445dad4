package agent

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"weir/core/unit"
)

// ErrConfig is about what was given.
var ErrConfig = errors.New("agent")

// What connections follow.
const (
	HPCC = "hpcc" // telemetry of switches, in connections over IPv6 that are opened while the agent runs
	NCF  = "ncf"  // NACKs of switches, in all connections
	Both = "both"
)

// What a NACK does to a connection.
const (
	NacksLoss   = "loss"   // it reduces, as for a loss, once a round trip
	NacksSupply = "supply" // it follows the rate that the switch offers
)

// Config is what an agent is told. Its zero values, but for Eta, mean what is said at each.
type Config struct {
	Follow    string     // HPCC, NCF or Both; "": HPCC
	Nacks     string     // NacksLoss or NacksSupply, where NACKs are followed; "": NacksLoss
	Interface string     // through which connections go; "": every Ethernet interface that is up
	Cgroup    string     // folder of the cgroup whose programs' connections are meant; "": all of the machine's
	Eta       float64    // target utilisation (draft-miao §4.1)
	Flows     int        // N, flows expected on a link, which gives W_ai (§5)
	Increase  unit.Bytes // W_ai instead; 0: by Flows
	MaxStage  int        // additive increases before a multiplicative one (§4.1)
	RTT       unit.Time  // of the empty path; 0: the minimum that each connection has measured
	Rate      unit.Rate  // of the host's link, which bounds what receivers may claim; 0: not bounded
}

// Defaults returns the settings of weir agent without flags. MaxStage is the draft's 5 (draft-miao §4.1): with 0 the
// windows swing where acknowledgements wait behind data.
func Defaults() Config { return Config{Eta: 0.95, Flows: 8, MaxStage: 5} }

// Bounds of what may be told.
const (
	mostFlows    = 1 << 16
	mostIncrease = 1 << 24
	mostStage    = 1 << 20
	mostRTT      = unit.Second
)

// Problem is what is wrong with one field of a configuration.
type Problem struct {
	Field string // of Config
	Says  string // what is wrong, and what would be allowed
}

// Problems are all that is wrong with a configuration.
func (c *Config) Problems() (all []Problem) {
	must := func(ok bool, field, format string, args ...any) {
		if !ok {
			all = append(all, Problem{field, fmt.Sprintf(format, args...)})
		}
	}
	must(slices.Contains([]string{"", HPCC, NCF, Both}, c.Follow), "Follow", "%q; %s, %s and %s are possible", c.Follow,
		HPCC, NCF, Both)
	must(slices.Contains([]string{"", NacksLoss, NacksSupply}, c.Nacks), "Nacks", "%q; %s and %s are possible", c.Nacks,
		NacksLoss, NacksSupply)
	must(c.Nacks == "" || c.Follow != "" && c.Follow != HPCC, "Nacks", "%s, but NACKs are not followed; they are with %s "+
		"or %s", c.Nacks, NCF, Both)
	must(c.Eta >= 0.01 && c.Eta <= 1, "Eta", "%v; 0.01 to 1 are possible", c.Eta)
	must(c.Flows >= 1 && c.Flows <= mostFlows, "Flows", "%d; 1 to %d are possible", c.Flows, mostFlows)
	must(c.Increase >= 0 && c.Increase <= mostIncrease, "Increase", "%v; up to %v are possible", c.Increase,
		unit.Bytes(mostIncrease))
	must(c.MaxStage >= 0 && c.MaxStage <= mostStage, "MaxStage", "%d; 0 to %d are possible", c.MaxStage, mostStage)
	must(c.RTT >= 0 && c.RTT <= mostRTT, "RTT", "%v; up to %v is possible", c.RTT, mostRTT)
	must(c.Rate >= 0, "Rate", "%v; more than 0bps is possible", c.Rate)
	return all
}

// check is Problems as an error.
func (c *Config) check() error {
	var errs []error
	for _, p := range c.Problems() {
		errs = append(errs, fmt.Errorf("%w: %s %s", ErrConfig, p.Field, p.Says))
	}
	return errors.Join(errs...)
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
		MaxStage: uint32(c.MaxStage),
		Initial:  initialSegments * 1460}
}

// hpcc and ncf say what is followed.
func (c *Config) hpcc() bool { return c.Follow != NCF }
func (c *Config) ncf() bool  { return c.Follow == NCF || c.Follow == Both }
