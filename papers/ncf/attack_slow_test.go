//go:build slow

package ncf_test

import "testing"

func TestAttackFull(t *testing.T) {
	attacked(t, "repeat=1", []underAttack{
		{"0.2ms", "ncf", 0.9 * half, 1.05 * half}, {"1ms", "ncf", 0.9 * half, 1.05 * half},
		{"4ms", "ncf", 0.9 * half, 1.05 * half}, {"20ms", "ncf", 0.9 * half, 1.05 * half},
		{"4ms", "ncf_supply", 0.8 * half, 1.2 * half},
		{"4ms", "no_budget", 0, 0.8 * half}, {"4ms", "windows", 0, 0.88 * half},
	})
}

func TestPulsesFull(t *testing.T) {
	pulses(t, "1ms")
	pulses(t, "4ms")
}

func TestNoStarvationFull(t *testing.T) {
	sharesOfClasses(t, []roundTrip{{"0.2ms", "50us", "200kB"}, {"2ms", "500us", "500kB"}, {"10ms", "2500us", "1250kB"}},
		[]string{"both", "four elephants", "elephants alone"})
}

// All round trips and numbers of flows.
func TestEchoNetworksFull(t *testing.T) { echoNetworks(t) }
