package netns

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"weir-1-client": true, "weir-1-@dataplane": true, "weir": false, "other": false, "weir-1-a/b": false,
		"../weir-1-a": false,
		"weir-1-a b":  false, "weir-" + strings.Repeat("x", 300): false,
	} {
		t.Run(name, func(t *testing.T) {
			if proper(name) != want {
				t.Errorf("%s: %v", name, !want)
			}
		})
	}
}
