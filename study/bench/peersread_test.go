package bench

import (
	"context"
	"errors"
	"strings"
	"testing"

	"weir/study/spec"
)

// What the program for ns-3 may print wrongly is an error.
func TestPeerOutput(t *testing.T) {
	for out, want := range map[string]string{
		"flow 0 -1\ncpu_s 1\nhops 3\n": "did not finish",
		"flow 0 12\n":                  "neither",
		"flow\n":                       "ns-3 says",
		"flow 0 x\n":                   "ns-3 says",
	} {
		t.Run(want, func(t *testing.T) {
			var s PeerSide
			if _, err := s.parse(out); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	var s PeerSide
	rate, err := s.parse("flow 0 2000000000\ncpu_s 2\nhops 6\n")
	if err != nil || rate != 3 || s.PacketHops != 6 || len(s.FCT) != 1 || s.FCT[0] != 2 {
		t.Errorf("%v, %v, %+v", rate, err, s)
	}
}

// Without ns-3 the error names what to install.
func TestNoPeer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Peers(context.Background(), &spec.Registry{}, 4, TurnOptions{Rounds: 1})
	if !errors.Is(err, ErrNoPeer) || !strings.Contains(err.Error(), "libns3-dev") {
		t.Errorf("%v", err)
	}
}
