//go:build lab

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"weir/app"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/netns"
	"weir/internal/testkit/await"
	"weir/internal/testkit/plantest"
	"weir/internal/testkit/realtime"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run"
	"weir/worlds/lab"
)

// beside has a flow from a to b, which never fills its link, and a host m that has its addresses and ports.
const beside = `duration: 3s
warmup: 100ms
topology:
  hosts: [a, b, m]
  switches: [s]
  links:
    - {ends: [a, s], rate: 40Mbps, delay: 2ms}
    - {ends: [s, b], rate: 20Mbps, delay: 2ms, buffer: 60 packets}
    - {ends: [m, s], rate: 40Mbps, delay: 2ms}
switch: [forward]
traffic:
  - {name: x, from: a, to: b, transport: {tcp: {stack: weir, nacks: loss, rate: 8Mbps}}, cc: reno, start: 0s}
measure: [goodput, nacks, retransmissions, timeouts]
`

// TestAttackerOnLab runs an attacker in a separate namespace, with its own frames, against a host of Weir. These
// are the attackers of TestAttackersInTheLab off the path. It sends NACKs with the flow's addresses and ports, with
// any number and timestamp, and acknowledgements of any number.
//
// The sender must refuse all NACKs, retransmit no packet, and keep its rate.
func TestAttackerOnLab(t *testing.T) {
	needRoot(t)
	file := filepath.Join(t.TempDir(), "beside.yaml")
	if err := os.WriteFile(file, []byte(beside), 0o666); err != nil {
		t.Fatal(err)
	}
	realtime.Test(t, func(try *realtime.Try) {
		p := await.Start(try, exec.Command(await.RequireProgram(try, "cmd/weir"), onLab(try.TempDir(), file)...))
		sent := 0
		await.AwaitCondition(try, "the end of the run", func() bool {
			if !p.IsRunning() {
				return true
			}
			sent += attack(namespacesOf(p.PID()))
			return false
		})
		r := &readLab(try, []byte(p.Stdout()), p.Stderr()).Runs[0]
		nacks := r.values(try, "nacks_packets")
		if sent < 200 {
			try.Fatalf("%d frames sent", sent)
		}
		if nacks["taken"] != 0 || nacks["refused"] < 100 {
			try.Errorf("%v NACKs taken, %v refused", nacks["taken"], nacks["refused"])
		}
		again, timeouts := r.values(try, "retransmissions_packets")["x"], r.values(try, "timeouts")["x"]
		if goodput := r.values(try, "goodput_bps")["x"]; again != 0 || timeouts != 0 || goodput < 7.8e6 {
			try.Errorf("%v packets sent again, %v timeouts, %v bit/s", again, timeouts, goodput)
		}
	})
}

// attack sends some frames from host m of the lab with these namespaces.
func attack(names []string) (sent int) {
	for _, name := range names {
		if !strings.HasSuffix(name, "-m") {
			continue
		}
		netns.Do(name, func() error { // which may be half made, or gone
			nic, err := net.InterfaceByName(lab.NIC)
			if err != nil {
				return err
			}
			fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			frames, err := forgeries(20)
			for _, f := range frames {
				if err := unix.Sendto(fd, f, 0, &unix.SockaddrLinklayer{Ifindex: nic.Index}); err != nil {
					return err
				}
				sent++
			}
			return err
		})
	}
	return sent
}

var guesses = unit.NewRandom(uint64(os.Getpid()), "attacker")

// forgeries returns n NACKs and as many acknowledgements, as if from b.
func forgeries(n int) (frames [][]byte, err error) {
	s, err := plan.Load(app.Registry(), plantest.NewSource("beside.yaml", beside), experiment.Options{})
	if err != nil {
		return nil, err
	}
	c, err := run.LabConfig(plan.ListRuns(s)[0])
	if err != nil {
		return nil, err
	}
	f := c.Flows[0]
	for i := range 2 * n {
		p := &packet.Packet{Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1), SrcPort: f.SrcPort, DstPort: f.DstPort,
			Proto: packet.ProtoTCP, Version: f.Version, HopLimit: 64, Seq: int64(guesses.Uint32()),
			Ack: int64(guesses.Uint32()), Payload: 1448}
		p.TCP.Flags, p.TCP.Present, p.TCP.Window = packet.ACK, packet.HasTimestamps, 1000
		p.TCP.TSVal, p.TCP.TSEcho = guesses.Uint32(), guesses.Uint32()
		p.SwapEnds()
		if p.Kind = packet.Ack; i%2 == 0 {
			p.Kind = packet.Nack
			if !p.SetNotice(&packet.Notification{Cause: packet.CauseTrimmed, Lost: 1448, Supply: unit.Mbps}) {
				return nil, fmt.Errorf("no room for a notice")
			}
		}
		p.Payload = 0
		frame, err := p.Emit(c.Wiring.Hosts, nil)
		if err != nil {
			return nil, err
		}
		frames = append(frames, frame)
	}
	return frames, nil
}
