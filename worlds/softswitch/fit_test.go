package softswitch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/cmd/weir/cli"
	"weir/worlds/softswitch"
)

// Of all programs of weir a bridge runs those that need nothing of other nodes, and refuses
// each other one with the reason.
func TestWhatFits(t *testing.T) {
	fit := []string{"abc", "afq", "classify", "codel", "csfq", "dualpi2", "ecn",
		"fdpa", "forge", "forward", "input", "loss", "pie", "plan", "ppv", "rainbow", "red"}
	registry := cli.Registry()
	known := softswitch.Schemes{Programs: registry.Programs, Schedulers: registry.Schedulers}
	for _, s := range known.Programs {
		t.Run(s.Name, func(t *testing.T) {
			programs := "[forward, " + s.Name + "]"
			if s.Name == "forward" {
				programs = "[forward]"
			}
			text := fmt.Sprintf("ports: {a: {interface: eth1}, b: {interface: eth2}}\nswitch: %s\n", programs)
			_, err := softswitch.Decode(known, "switch.yaml", []byte(text))
			refused := err != nil && strings.Contains(err.Error(), s.Name+" is not for a switch on its own: ")
			switch runs := slices.Contains(fit, s.Name); {
			case runs && refused:
				t.Errorf("%s is refused: %v", s.Name, err)
			case !runs && !refused:
				t.Errorf("%s is not refused: %v", s.Name, err)
			}
		})
	}
}
