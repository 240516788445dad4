package fusedtest

import (
	"fmt"
	"strings"

	"weir/core/dataplane/dataplanetest"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/unit"
)

// variations are the values of parameters by scheme and name: words separated by |, with "" for the default.
var variations = map[string]string{
	"ecn": "at dequeue|enqueue, kmin 0 B|600 B|3KB, kmax 3KB|6KB, pmax 0%|30%|100%",
	"red": "min 500 B|2KB|4 packets, max 5KB|12KB, weight 0.01|0.5|1, max_p 5%|100%, gentle true|false, ecn true|false, " +
		"by_bytes true|false",
	"shared_buffer": "size 12KB|40KB|1MB, reserved 0 B|200 B|2KB, alpha 0|0.25|2, limit 0 B|3KB",
	"pfc": "trigger share|shift|static, share 3%|30%, xoff 500 B|2KB, xon_offset 0 B|1KB, headroom size, " +
		"headroom_size 0 B|300 B|2KB, classes 0: true|0: false, pauses until_resumed|quanta, quanta 16|60",
	"trimming": "rtt 1us|10us|100us, kmin 0%|20%, kmax 20%|80%, trim_tail 0%|50%, trim true|false, mark_hosts true|false",
	"telemetry": "format hpcc|int-md|ioam|ioam-gafni|ifa|ifa-ext|relative|hpcc|hpcc|hpcc, multi |3|4, t |5us, " +
		"congested_load 30%|80%, congested_queue 1 B|2KB, sojourn |on, idle |2us",
}

// drawParams draws parameters of the scheme with this name from variations. It returns names and values in turn.
func (d *draw) drawParams(name string) (given []string) {
	for _, line := range strings.Split(variations[name], ", ") {
		if name, words, ok := strings.Cut(line, " "); ok {
			all := strings.Split(words, "|")
			if word := all[d.IntN(len(all))]; word != "" {
				given = append(given, name, word)
			}
		}
	}
	return given
}

// drawTraffic draws a script for the setup: bursts about as large as queues, with all packet fields that programs
// read, pauses without traffic, and PFC frames of neighbors.
func (d *draw) drawTraffic() (script []dataplanetest.Arrival) {
	at, n := unit.Time(0), len(d.setup.Ports)
	load := 50 + d.IntN(2000)
	for len(script) < 400 {
		at += unit.Time(d.IntN(load)) * unit.Nanosecond
		if d.IntN(50) == 0 {
			at += 50 * unit.Microsecond
		}
		a := dataplanetest.Arrival{At: at, Port: packet.PortID(d.IntN(n)), Dst: packet.Addr(1 + d.IntN(n)),
			Seq: int64(len(script)), Payload: int32(22 + d.IntN(1400)), TOS: uint8(d.IntN(256)), Flow: uint16(d.IntN(5)),
			Shape: d.drawShape()}
		switch d.IntN(40) {
		case 0:
			a.HopLimit = 1
		case 1:
			a.Dst = packet.Addr(n + d.IntN(4)) // an address without a port, or an unknown one
		case 2:
			a.Kind, a.Class, a.Seq = packet.Pause, uint8(d.IntN(3)), int64(16+d.IntN(60))
		case 3:
			a.Kind, a.Class = packet.Resume, uint8(d.IntN(3))
		}
		script = append(script, a)
	}
	return script
}

// drawShape draws a function that may make a packet request telemetry in one of the formats, with records of earlier
// hops.
func (d *draw) drawShape() func(p *packet.Packet) {
	profile := telemetry.Profiles[d.IntN(len(telemetry.Profiles))].Name
	if d.IntN(2) == 0 {
		profile = "hpcc"
	}
	hops, asks, loads, congested := d.IntN(7), d.IntN(4) > 0, d.IntN(8) == 0, d.IntN(8) == 0
	return func(p *packet.Packet) {
		if p.Data != nil || p.Kind == packet.Pause || p.Kind == packet.Resume || !asks {
			return
		}
		f, err := telemetry.NewFormat(profile, 1, 1.05, []unit.Rate{unit.Gbps})
		if err != nil {
			panic(fmt.Sprint("format ", profile, ": ", err))
		}
		f.AddRequest(p, telemetry.HopRecords, congested)
		if loads {
			f.AddRequest(p, telemetry.PathLoad, false)
		}
		for i := range hops {
			f.PushRecord(p, &telemetry.Hop{Rate: unit.Gbps, Switch: uint32(i), TxBytes: uint64(i) * 1000})
		}
	}
}
