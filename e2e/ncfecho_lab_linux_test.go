//go:build lab

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"weir/internal/testkit/realtime"
)

// echoed has two flows of the kernel's CUBIC through 50 Mb/s. The switch drops packets, or sends copies of ACKs.
const echoed = `title: copies of ACKs
duration: 5s
warmup: 2s
topology: {star: {hosts: 3, rate: 50Mbps, delay: 2500us, buffer: 150 packets}}
switch: [forward]
switches:
  s: {queues: $queues, scheduler: $scheduler, programs: [forward, $program]}
traffic:
  - {name: long, from: [h0, h1], to: h2, transport: {tcp: {ecn: true}}, cc: cubic, start: 0s..10ms}
sweep:
  scheme:
    drop: {queues: 1, scheduler: fifo, program: none}
    ece: {queues: 3, scheduler: ncf, program: {ncf: {form: ece, round_trip: 10ms, early: 20%}}}
measure:
  - {goodput: {by: traffic}}
  - {queue: {port: s->h2, every: 1ms, percentiles: [50, 99]}}
  - {retransmissions: {by: traffic}}
`

// TestNCFEchoesOnLab checks that the kernel's CUBIC, with net.ipv4.tcp_ecn=1, obeys copies of its ACKs as the
// simulator's does. The queue is at most half of the queue with drops, at nearly the same goodput, with almost no
// retransmissions.
func TestNCFEchoesOnLab(t *testing.T) {
	needRoot(t)
	file := filepath.Join(t.TempDir(), "echoed.yaml")
	if err := os.WriteFile(file, []byte(echoed), 0o600); err != nil {
		t.Fatal(err)
	}
	realtime.Test(t, func(try *realtime.Try) {
		doc := runOnLab(try, try.TempDir(), file)
		doc.agree(try, []string{"long"})
		lab := map[string]float64{}
		for _, a := range doc.Agreement {
			lab[a.Point["scheme"]+" "+a.Measure+" "+a.Group] = a.Lab
		}
		try.Logf("queue p99 %g and %g, goodput %.2f and %.2f Mb/s, %g and %g sent again", lab["drop queue_packets p99"],
			lab["ece queue_packets p99"], lab["drop goodput_bps long"]/1e6, lab["ece goodput_bps long"]/1e6,
			lab["drop retransmissions_packets long"], lab["ece retransmissions_packets long"])
		if lab["drop queue_packets p99"] < 100 || lab["ece queue_packets p99"] > lab["drop queue_packets p99"]/2 ||
			lab["ece goodput_bps long"] < 0.8*lab["drop goodput_bps long"] || lab["ece retransmissions_packets long"] > 20 {
			try.Error("copies of ACKs do not have the effect that they have in the simulator")
		}
	})
	if left := namespaces(t); left != "" {
		t.Errorf("left behind: %s", left)
	}
}
