package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/study/experiment"
)

// TestPeerOutput checks that wrong output of the program for ns-3 is an error.
func TestPeerOutput(t *testing.T) {
	for out, want := range map[string]string{
		"flow 0 -1\ncpu_s 1\nhops 3\n": "did not finish",
		"flow 0 12\n":                  "neither",
		"flow\n":                       "ns-3 printed",
		"flow 0 x\n":                   "ns-3 printed",
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

// TestNoPeer checks that without ns-3 the error names what to install.
func TestNoPeer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Peers(context.Background(), &experiment.Registry{}, 4, TurnOptions{Rounds: 1})
	if !errors.Is(err, errNoPeer) || !strings.Contains(err.Error(), "libns3-dev") {
		t.Errorf("%v", err)
	}
}

// checkPeers checks that the same flows over the same paths take the same time in ns-3, which shares no code with Weir.
// It does so with DCTCP, and with CUBIC without HyStart, in a fat tree of 16 hosts.
func checkPeers(t *testing.T, f *PeersFigures) {
	t.Helper()
	for _, r := range f.Rows {
		hystart := r.CC == "cubic" && r.Note == ""
		t.Logf("%s %s: %.0f times as many packet-hops a CPU second; median ratio %.3f, a factor of %.3f apart", r.CC, r.Note,
			r.Ratio, r.Median, math.Exp2(r.Apart))
		if len(r.Weir.FCT) != 16 || len(r.NS3.FCT) != 16 {
			t.Fatalf("%s: %d and %d flows", r.CC, len(r.Weir.FCT), len(r.NS3.FCT))
		}
		if off := math.Abs(float64(r.NS3.PacketHops)/float64(r.Weir.PacketHops) - 1); off > 0.02 {
			t.Errorf("%s: %d packet-hops, ns-3 has %d", r.CC, r.Weir.PacketHops, r.NS3.PacketHops)
		}
		if !hystart && (math.Abs(r.Median-1) > 0.03 || r.Apart > 0.06) {
			t.Errorf("%s: ns-3's times are %.3f of ours for the median flow, a factor of %.3f apart", r.CC, r.Median,
				math.Exp2(r.Apart))
		}
	}
	for _, text := range []string{f.String(), f.Markdown(), string(f.JSON())} {
		if !strings.Contains(text, "cubic") || !strings.Contains(text, f.Version) {
			t.Error(text)
		}
	}
	for _, l := range strings.Split(f.String(), "\n") {
		if len(l) > 80 {
			t.Errorf("%d columns: %s", len(l), l)
		}
	}
}

// recordingOf returns the file that has ns-3's output for an input of peer.cc, and the first line of that file, which
// has the digest of the input.
func recordingOf(input []byte) (file, head string) {
	cc, rest, _ := strings.Cut(strings.TrimPrefix(string(input), "cc "), "\n")
	hystart, _, _ := strings.Cut(strings.TrimPrefix(rest, "hystart "), "\n")
	sum := sha256.Sum256(input)
	return filepath.Join("testdata", "ns3", cc+"-hystart-"+hystart+".txt"), "input " + hex.EncodeToString(sum[:]) + "\n"
}

// recorded replaces the programs of Peers. Where ns-3's program would run, it returns the recorded output.
func recorded(_ context.Context, program string, args ...string) ([]byte, error) {
	switch filepath.Base(program) {
	case "pkg-config":
		if args[0] == "--modversion" {
			return []byte("3.37\n"), nil
		}
		return []byte("-I/usr/include/ns3 -lns3-core\n"), nil
	case "g++":
		for i, a := range args {
			if a != "-o" {
				continue
			}
			if source, err := os.ReadFile(args[i-1]); err != nil || string(source) != string(ns3Program) ||
				!slices.Contains(args, "-lns3-core") {
				return nil, fmt.Errorf("%w: arguments %q", err, args)
			}
			return nil, nil
		}
		return nil, errors.New("no -o")
	}
	input, err := os.ReadFile(args[0])
	if err != nil {
		return nil, err
	}
	file, head := recordingOf(input)
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out, is := strings.CutPrefix(string(data), head)
	if !is {
		return nil, fmt.Errorf("%s: it was recorded for another input; "+
			"go test -tags system ./study/bench -run TestPeers_ComparesWithNS3 -update records it", file)
	}
	return []byte(out), nil
}

// TestPeersRecorded compares Weir with what ns-3 3.37 gave for the same input.
func TestPeersRecorded(t *testing.T) {
	var doing []string
	p := &peerBench{Meters: testMeters(), output: recorded, repeats: 1}
	f, err := p.runAll(t.Context(), turnRegistry(nil), 4, TurnOptions{Rounds: 1, Progress: func(s string) {
		doing = append(doing, s)
	}})
	if err != nil {
		t.Fatal(err)
	}
	checkPeers(t, f)
	for _, r := range f.Rows {
		// A reading of the CPU time takes 2 s, and ns-3's is recorded as 1 s.
		if r.Weir.Rate != float64(r.Weir.PacketHops)/2 || r.NS3.Rate != float64(r.NS3.PacketHops) {
			t.Errorf("%s: packet-hops per CPU second: %g, and %g in ns-3", r.CC, r.Weir.Rate, r.NS3.Rate)
		}
	}
	if len(doing) != 4 || doing[0] != "building for ns-3" || doing[3] != "cubic, round 1 of 1" {
		t.Errorf("%q", doing)
	}
}

// TestPeersFail checks that a program that is missing or fails ends the comparison with its error.
func TestPeersFail(t *testing.T) {
	fails := errors.New("it fails")
	for _, program := range []string{"pkg-config", "g++", "peer"} {
		t.Run(program, func(t *testing.T) {
			p := &peerBench{Meters: testMeters(), repeats: 1, output: func(ctx context.Context, name string,
				args ...string) ([]byte, error) {
				if filepath.Base(name) == program {
					return nil, fails
				}
				return recorded(ctx, name, args...)
			}}
			_, err := p.runAll(t.Context(), turnRegistry(nil), 4, TurnOptions{Rounds: 1})
			if !errors.Is(err, fails) || errors.Is(err, errNoPeer) != (program != "peer") {
				t.Errorf("%v", err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &peerBench{Meters: testMeters(), output: recorded, repeats: 1}
	if _, err := p.runAll(ctx, turnRegistry(nil), 4, TurnOptions{Rounds: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
