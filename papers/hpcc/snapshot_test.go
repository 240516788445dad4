package hpcc_test

import (
	"testing"

	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/unit"
	"weir/worlds/sim"
)

// TestTelemetry_RecordsInstantOfDequeue checks draft-miao §6.1, guideline 3: time, sent bytes and queue of a record are
// of one instant, the packet's dequeue. Two senders begin at line rate, 20 ns apart, into one port of that rate. The
// port sends without a pause from the first packet's arrival on, 1 us and one frame time after its start. The packet
// after j others departs j frame times later, when 2j have arrived: j − 1 wait after it.
func TestTelemetry_RecordsInstantOfDequeue(t *testing.T) {
	const frame = 1090
	tx := unit.Time(frame) * 8 * unit.Second / unit.Time(100*unit.Gbps)
	seen := map[int]bool{}
	c := configure(t, `
duration: 20us
framing: hpcc
mtu: 1000 B payload
topology: {star: {hosts: 3, rate: 100Gbps, delay: 1us}}
switch: [ecmp, telemetry]
traffic:
  - {name: one, from: h0, to: h2, transport: rdma, cc: hpcc, start: 0s}
  - {name: two, from: h1, to: h2, transport: rdma, cc: hpcc, start: 20ns}`, nil)
	f := telemetryFormat(t, "hpcc")
	for i := range c.Flows {
		c.Endpoints[i].Sender = &listening{Endpoint: c.Endpoints[i].Sender, onReceive: func(p *packet.Packet) {
			var r telemetry.Records
			if what, _ := f.ReadAnswer(p, &r); what != telemetry.Recorded || r.Len() != 1 {
				t.Errorf("%v, %d records", what, r.Len())
				return
			}
			h := r.At(0)
			j := (int(h.TxBytes) + frame/2) / frame
			if j > 40 { // later the senders slow down
				return
			}
			seen[j] = true
			// The format's units are 1 ns, 128 B and 80 B.
			late := h.Time - (us + tx + unit.Time(j)*tx)
			bytes, queue := int(h.TxBytes)-j*frame, int(h.Queue)-max(j-1, 0)*frame
			if late <= -ns || late > 0 || bytes <= -128 || bytes > 0 || queue <= -80 || queue > 0 {
				t.Errorf("behind %d packets: %v late, %d bytes and a queue of %d bytes beside", j, late, bytes, queue)
			}
		}}
	}
	if _, err := sim.Run(c); err != nil || len(seen) != 41 {
		t.Errorf("%v, %d records", err, len(seen))
	}
}
