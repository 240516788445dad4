package bench

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// What the program for ns-3 may say wrongly is an error.
func TestPeerOutput(t *testing.T) {
	for out, want := range map[string]string{
		"flow 0 -1\ncpu_s 1\nhops 3\n": "did not finish",
		"flow 0 12\n":                  "neither",
		"flow\n":                       "ns-3 says",
		"flow 0 x\n":                   "ns-3 says",
	} {
		t.Run(want, func(t *testing.T) {
			var s PeerSide
			echo, err := exec.LookPath("printf")
			if err != nil {
				t.Skip(err)
			}
			if _, err := s.read(context.Background(), echo, out); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
