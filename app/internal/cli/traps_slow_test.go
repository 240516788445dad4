//go:build slow

package cli

import "testing"

// No experiment of the catalogue is in a trap.
func TestCheckNoTrapsAtAll(t *testing.T) {
	var names []string
	for _, e := range Registry().Experiments() {
		names = append(names, e.Name)
	}
	checkNoTraps(t, names...)
}
