//go:build slow

package ncf_test

import "testing"

func TestAttackFull(t *testing.T) {
	attacked(t, "repeat=1", []underAttack{
		{"0.2ms", "2", "twice", "ncf", 0.9 * half, 1.05 * half}, {"1ms", "2", "twice", "ncf", 0.9 * half, 1.05 * half},
		{"4ms", "2", "twice", "ncf", 0.9 * half, 1.05 * half}, {"20ms", "2", "twice", "ncf", 0.9 * half, 1.05 * half},
		{"4ms", "2", "twice", "ncf_supply", 0.8 * half, 1.2 * half},
		{"4ms", "2", "twice", "no_budget", 0, 0.8 * half}, {"4ms", "2", "twice", "windows", 0, 0.88 * half},
	})
	var all []underAttack
	for _, rtt := range []string{"0.2ms", "1ms", "4ms"} {
		for _, n := range []string{"1", "10"} {
			for _, scheme := range []string{"ncf", "ncf_supply"} {
				all = append(all, underAttack{rtt, n, "10_times", scheme, 0.84 * half, 1.2 * half})
			}
		}
	}
	attacked(t, "repeat=1", all)
}

func TestPulsesFull(t *testing.T) {
	pulses(t, "1ms")
	pulses(t, "4ms")
}

func TestNoStarvationFull(t *testing.T) {
	sharesOfClasses(t, []roundTrip{{"0.2ms", "50us", "200kB"}, {"2ms", "500us", "500kB"}, {"10ms", "2500us", "1250kB"}},
		[]string{"both", "four elephants", "ten elephants", "elephants alone"})
}

// TestEchoNetworksFull runs TestEchoNetworks with all round trips and numbers of flows.
func TestEchoNetworksFull(t *testing.T) { echoNetworks(t, 0) }
