//go:build lab

package agent_test

import (
	"errors"
	"testing"

	"weir/worlds/agent"
)

// TestRefusedPlaces checks that Start refuses interfaces and cgroups that it cannot attach programs to.
func TestRefusedPlaces(t *testing.T) {
	needAgent(t)
	for _, c := range []agent.Config{{Interface: "no-such", Eta: 1, Flows: 1}, {Interface: "lo", Eta: 1, Flows: 1},
		{Cgroup: "/no-such", Eta: 1, Flows: 1}, {Cgroup: "/tmp", Eta: 1, Flows: 1}} {
		if a, err := agent.Start(c); a != nil || !errors.Is(err, agent.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
