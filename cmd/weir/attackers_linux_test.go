package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/cmd/weir/cli"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/netns"
	"weir/study/plan"
	"weir/study/run"
	"weir/study/spec"
	"weir/worlds/lab"
)

// beside is a flow from a to b, which never fills its link, and a host m that knows its addresses and ports.
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

// An attacker in a namespace of its own, with frames of its own, against a host of Weir's own (the attackers of
// TestAttackersInTheLab off the path): NACKs with the flow's addresses and ports, of any number and stamp, and
// acknowledgements of any number. All NACKs are refused, nothing is sent again, and the flow has its rate.
func TestAttackerOnLab(t *testing.T) {
	needRoot(t)
	binary, dir := build(t), t.TempDir()
	file := filepath.Join(dir, "beside.yaml")
	if err := os.WriteFile(file, []byte(beside), 0o666); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(binary, "run", file, "--on", "lab", "--out", dir, "--attempts", "1", "--json")
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	sent, err := 0, error(nil)
	for over := false; !over; {
		select {
		case err = <-ended:
			over = true
		case <-time.After(10 * time.Millisecond):
			sent += attack(namespacesOf(t, command.Process.Pid))
		}
	}
	type values struct {
		Measures struct {
			Goodput         map[string]float64 `json:"goodput_bps"`
			Nacks           map[string]float64 `json:"nacks_packets"`
			Retransmissions map[string]float64 `json:"retransmissions_packets"`
			Timeouts        map[string]float64 `json:"timeouts"`
		}
		Attempts []struct {
			Disturbed []string
			Upset     float64
		}
	}
	var doc struct{ Runs []values }
	if json.Unmarshal(out.Bytes(), &doc) != nil || len(doc.Runs) != 1 {
		t.Fatalf("%v: %s%s", err, said.String(), out.String())
	}
	r := doc.Runs[0]
	t.Logf("%d frames sent: %+v", sent, r)
	if sent < 200 {
		t.Fatalf("%d frames sent", sent)
	}
	m := r.Measures
	if m.Nacks["taken"] != 0 || m.Nacks["refused"] < 100 {
		t.Errorf("%v NACKs taken, %v refused", m.Nacks["taken"], m.Nacks["refused"])
	}
	if len(r.Attempts[0].Disturbed) > 0 || r.Attempts[0].Upset > 0 { // which may cost a packet
		t.Logf("disturbed: %.200q", r.Attempts[0].Disturbed)
		return
	}
	if m.Retransmissions["x"] != 0 || m.Timeouts["x"] != 0 || m.Goodput["x"] < 7.8e6 {
		t.Errorf("%v sent again, %v timeouts, %v bit/s", m.Retransmissions["x"], m.Timeouts["x"], m.Goodput["x"])
	}
}

// attack sends some frames from host m of the lab that has these namespaces.
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

// forgeries are n NACKs and as many acknowledgements, as if from b.
func forgeries(n int) (frames [][]byte, err error) {
	s, err := plan.Load(cli.Registry(), &spec.Source{Name: "beside", File: "beside.yaml", Data: []byte(beside)},
		spec.Options{})
	if err != nil {
		return nil, err
	}
	c, err := run.LabConfig(plan.Runs(s)[0])
	if err != nil {
		return nil, err
	}
	f := c.Flows[0]
	for i := range 2 * n {
		p := &packet.Packet{Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1), SrcPort: f.SrcPort, DstPort: f.DstPort,
			Proto: packet.ProtoTCP, Version: f.Version, HopLimit: 64, Seq: int64(guesses.Uint32()),
			Ack: int64(guesses.Uint32()), Payload: 1448}
		p.TCP.Flags, p.TCP.Has, p.TCP.Window = packet.ACK, packet.HasTimestamps, 1000
		p.TCP.TSVal, p.TCP.TSEcho = guesses.Uint32(), guesses.Uint32()
		p.TurnRound()
		if p.Kind = packet.Ack; i%2 == 0 {
			p.Kind = packet.Nack
			if !p.SetNotice(&packet.Notification{Cause: packet.CauseTrimmed, Lost: 1448, Supply: unit.Mbps}) {
				return nil, fmt.Errorf("no room for a notice")
			}
		}
		p.Payload = 0
		frame, err := p.Emit(c.Hosts, nil)
		if err != nil {
			return nil, err
		}
		frames = append(frames, frame)
	}
	return frames, nil
}
