package ncf_test

import (
	"testing"

	"weir/study/experiment"
)

// TestHonestMice checks NCF §2 and §4.2: mice that offer 85 % of a port and respond to NACKs wait at most 1.5 times as
// long as with a queue per flow, next to eight elephants that get the rest. TestHonestMiceFull has other rates, round
// trips and loads.
func TestHonestMice(t *testing.T) {
	mechanisms(t, "honest-mice", experiment.Options{Quick: true, Set: []string{"port=1G", "rtt=2ms", "elephants=8",
		"mice=85%",
		"scheme=[fq, ncf, ncf_supply]", "duration=700ms"}},
		"honest.mean", "honest.p99", "honest.timeouts", "honest.rest", "honest.rest-supply")
}

// TestHonestMiceShallow checks that mice that resend packets dropped by a buffer of 2.5 of them are no flood: at 100
// Mb/s and 50 kB, too, they take no longer than that.
func TestHonestMiceShallow(t *testing.T) {
	mechanisms(t, "honest-mice", experiment.Options{Quick: true, Set: []string{"port=100M", "rtt=2ms", "elephants=8",
		"mice=85%", "scheme=[fq, ncf]", "topology.star.buffer=50kB", "duration=2s"}},
		"honest.mean", "honest.p99", "honest.timeouts")
}

// TestOverload_FindsUnresponsiveFlood checks the converse: an unresponsive flood of the port's rate is found. A flood
// within the port's capacity leaves elephants half of their guarantee.
func TestOverload_FindsUnresponsiveFlood(t *testing.T) {
	mechanisms(t, "overload", experiment.Options{Quick: true, Set: []string{"rtt=1ms", "elephants=1", "flood=[0.92, 1.0]",
		"scheme=[fq, ncf, ncf_supply, equal]", "duration=1s"}},
		"overload.worst", "overload.flood", "overload.flood-supply", "overload.fq", "overload.cost")
}
