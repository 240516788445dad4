package softswitch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/app"
	softswitch "weir/worlds/switch"
)

// TestWhatFits checks that a bridge runs those programs of weir that need no other nodes, and refuses each other
// one with the reason.
func TestWhatFits(t *testing.T) {
	fit := []string{"abc", "afq", "classify", "codel", "csfq", "dualpi2", "ecn",
		"fdpa", "forward", "input", "loss", "ncf", "pie", "plan", "ppv", "rainbow", "red", "telemetry"}
	registry := app.Registry()
	known := softswitch.Schemes{Programs: registry.Programs, Schedulers: registry.Schedulers}
	for _, s := range known.Programs {
		t.Run(s.Name, func(t *testing.T) {
			programs := "[forward, " + s.Name + "]"
			if s.Name == "forward" {
				programs = "[forward]"
			}
			text := fmt.Sprintf("ports: {a: {interface: eth1}, b: {interface: eth2}}\nswitch: %s\n", programs)
			_, err := softswitch.Decode(known, "switch.yaml", []byte(text))
			refused := err != nil && strings.Contains(err.Error(), s.Name+" is not available in a standalone switch: ")
			switch runs := slices.Contains(fit, s.Name); {
			case runs && refused:
				t.Errorf("%s is refused: %v", s.Name, err)
			case !runs && !refused:
				t.Errorf("%s is not refused: %v", s.Name, err)
			}
		})
	}
}

// TestWhatServes checks that every scheduler serves the ports of a bridge with its queues. With others it reports the
// reason.
func TestWhatServes(t *testing.T) {
	queues := map[string]int{"cake": 1, "calendar": 16, "deadline": 2, "drr": 8, "dwrr": 8, "fifo": 1, "fq": 1,
		"fq_codel": 1, "guarantee": 8, "least": 1, "ncf": 3, "strict": 8, "user_fq": 1, "wrr": 2}
	registry := app.Registry()
	known := softswitch.Schemes{Programs: registry.Programs, Schedulers: registry.Schedulers}
	if len(known.Schedulers) != len(queues) {
		t.Errorf("%d schedulers, and %d here", len(known.Schedulers), len(queues))
	}
	decode := func(name string, queues int) error {
		text := fmt.Sprintf("ports: {a: {interface: eth1, rate: 50Mbps}, b: {interface: eth2, rate: 50Mbps}}\n"+
			"switch: [forward]\nqueues: %d\nscheduler: %s\n", queues, name)
		_, err := softswitch.Decode(known, "switch.yaml", []byte(text))
		return err
	}
	for _, s := range known.Schedulers {
		t.Run(s.Name, func(t *testing.T) {
			if err := decode(s.Name, queues[s.Name]); err != nil {
				t.Errorf("with %d queues it is refused: %v", queues[s.Name], err)
			}
		})
	}
	for name, n := range map[string]int{"fifo": 2, "{dwrr: {weights: {9: 2}}}": 8} {
		t.Run(name+" refused", func(t *testing.T) {
			if err := decode(name, n); err == nil || !strings.Contains(err.Error(), "switch.yaml:4:") {
				t.Errorf("with %d queues: %v", n, err)
			}
		})
	}
}
