package dataplanetest

import (
	"slices"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// Scripts returns the contract: scripts with the transcript that every driver must produce.
func Scripts() []Script {
	return slices.Concat(forwardingScripts(), schedulingScripts(), pausingScripts(), requestScripts())
}

// twoPorts returns two ports of 1 Gb/s with one queue each.
func twoPorts() []Port { return []Port{{Rate: gigabit, Queues: 1}, {Rate: gigabit, Queues: 1}} }

// mustScheduler returns the scheduler; it panics on an error.
func mustScheduler(s tm.Scheduler, err error) tm.Scheduler {
	if err != nil {
		panic(err)
	}
	return s
}

// forwardingScripts covers routes, the hop limit, limits of queues.
func forwardingScripts() []Script {
	return []Script{
		{"forwarding, and a queue that drains back to back", func() Setup {
			return withBookkeeper(Setup{Ports: twoPorts()})
		}, []Arrival{
			{At: 1 * us, Dst: 2, Seq: 1, Payload: pay}, {At: 1 * us, Dst: 2, Seq: 2, Payload: pay}, {At: 1*us + 1, Dst: 2,
				Seq: 3, Payload: pay},
			{At: 9 * us, Port: 1, Dst: 1, Seq: 4, Payload: pay},
		}, `2us port 1 data 1, 125 B, hop limit 63
3us port 1 data 2, 125 B, hop limit 63
4us port 1 data 3, 125 B, hop limit 63
10us port 0 data 4, 125 B, hop limit 63
`},
		{"hop limit and missing routes", func() Setup {
			return withBookkeeper(Setup{Ports: twoPorts()})
		}, []Arrival{
			{At: 1 * us, Dst: 2, Seq: 1, Payload: pay, HopLimit: 1}, {At: 2 * us, Dst: 2, Seq: 2, Payload: pay, HopLimit: 2},
			{At: 3 * us, Dst: 3, Seq: 3, Payload: pay},
		}, `3us port 1 data 2, 125 B, hop limit 1
dropped 1: no route
dropped 1: hop limit
`},
		{"a limit of two packets: the frame on the wire does not count", func() Setup {
			p := twoPorts()
			p[1].Total = tm.Limit{Packets: 2}
			return withBookkeeper(Setup{Ports: p})
		}, newBurst(5, 1*us), `2us port 1 data 0, 125 B, hop limit 63
3us port 1 data 1, 125 B, hop limit 63
4us port 1 data 2, 125 B, hop limit 63
dropped 2: port packets
`},
		{"a limit of 300 bytes in each queue", func() Setup {
			p := twoPorts()
			p[1].Each = tm.Limit{Bytes: 300}
			return withBookkeeper(Setup{Ports: p})
		}, newBurst(5, 1*us), `2us port 1 data 0, 125 B, hop limit 63
3us port 1 data 1, 125 B, hop limit 63
4us port 1 data 2, 125 B, hop limit 63
dropped 2: queue bytes
`},
		{"at the instant at which a port becomes free, the next frame leaves before one arrives", func() Setup {
			p := twoPorts()
			p[1].Total = tm.Limit{Packets: 1}
			return withBookkeeper(Setup{Ports: p})
		}, []Arrival{
			{At: 1 * us, Dst: 2, Seq: 1, Payload: pay}, {At: 1*us + 1, Dst: 2, Seq: 2, Payload: pay},
			{At: 2 * us, Dst: 2, Seq: 3, Payload: pay},
		}, `2us port 1 data 1, 125 B, hop limit 63
3us port 1 data 2, 125 B, hop limit 63
4us port 1 data 3, 125 B, hop limit 63
`},
	}
}

// schedulingScripts covers the choice of the next queue and flow.
func schedulingScripts() []Script {
	return []Script{
		{"strict priority", func() Setup {
			p := twoPorts()
			p[1].Queues = 2
			return withBookkeeper(Setup{Ports: p}, &classifier{})
		}, []Arrival{
			{At: 1 * us, Dst: 2, Seq: 1, Payload: pay}, {At: 1 * us, Dst: 2, Seq: 3, Payload: pay}, {At: 1 * us, Dst: 2, Seq: 2,
				Payload: pay}, {At: 1 * us, Dst: 2, Seq: 4, Payload: pay},
		}, `2us port 1 data 1, 125 B, hop limit 63
3us port 1 data 2, 125 B, hop limit 63
4us port 1 data 4, 125 B, hop limit 63
5us port 1 data 3, 125 B, hop limit 63
`},
		// Odd packets belong to the second queue, with an offset of 1500 ns. 3 and 5, due at 2500 ns, go behind 2 and 4,
		// due at 1 and 2 us, and before 6 and 8, due at 3 us.
		{"classes of delay: the earliest deadline", func() Setup {
			p := twoPorts()
			p[1].Queues, p[1].Scheduler = 2, tm.NewDeadline([]unit.Time{0, 1500 * unit.Nanosecond})
			return withBookkeeper(Setup{Ports: p}, &classifier{})
		}, []Arrival{
			{At: 1 * us, Dst: 2, Seq: 1, Payload: pay}, {At: 1 * us, Dst: 2, Seq: 3, Payload: pay}, {At: 1 * us, Dst: 2, Seq: 5,
				Payload: pay}, {At: 1 * us, Dst: 2, Seq: 2, Payload: pay}, {At: 2 * us, Dst: 2, Seq: 4, Payload: pay},
			{At: 3 * us, Dst: 2, Seq: 6, Payload: pay}, {At: 3 * us, Dst: 2, Seq: 8, Payload: pay},
		}, `2us port 1 data 1, 125 B, hop limit 63
3us port 1 data 2, 125 B, hop limit 63
4us port 1 data 4, 125 B, hop limit 63
5us port 1 data 3, 125 B, hop limit 63
6us port 1 data 5, 125 B, hop limit 63
7us port 1 data 6, 125 B, hop limit 63
8us port 1 data 8, 125 B, hop limit 63
`},
		// Half of the rate, one frame of credit: two frames back to back, then every other microsecond, from the picosecond
		// after the bucket is even again.
		{"a hard ceiling: the port comes back by itself", func() Setup {
			p := twoPorts()
			p[1].Scheduler = mustScheduler(tm.NewGuarantee([]tm.Share{{Ceiling: 0.5, Hard: true}}, unit.Gbps, 125, 125))
			return withBookkeeper(Setup{Ports: p})
		}, newBurst(4, 1*us), `2us port 1 data 0, 125 B, hop limit 63
3us port 1 data 1, 125 B, hop limit 63
4000.001ns port 1 data 2, 125 B, hop limit 63
6000.001ns port 1 data 3, 125 B, hop limit 63
`},
		// Flow of port 0: 1 is sent at once, 2, 3 and 4 wait. 10 of port 1 takes the place of 4; there is no place for 5.
		// With a quantum of one frame the flows take turns.
		{"fair queues: turns of flows, and the longest flow gives way", func() Setup {
			p := append(twoPorts(), Port{Rate: gigabit, Queues: 1, Total: tm.Limit{Packets: 3}})
			p[2].Scheduler = tm.NewFQ(tm.FQ{Flows: 1024, Quantum: 125})
			return withBookkeeper(Setup{Ports: p})
		}, []Arrival{
			{At: 1 * us, Dst: 3, Seq: 1, Payload: pay}, {At: 1 * us, Dst: 3, Seq: 2, Payload: pay}, {At: 1 * us, Dst: 3, Seq: 3,
				Payload: pay}, {At: 1 * us, Dst: 3, Seq: 4, Payload: pay},
			{At: 1*us + 100, Port: 1, Dst: 3, Seq: 10, Payload: pay}, {At: 1*us + 200, Dst: 3, Seq: 5, Payload: pay},
		}, `2us port 2 data 1, 125 B, hop limit 63
3us port 2 data 2, 125 B, hop limit 63
4us port 2 data 10, 125 B, hop limit 63
5us port 2 data 3, 125 B, hop limit 63
dropped 1: port packets
dropped 1: evicted
`},
	}
}

// pausingScripts covers PFC in both directions.
func pausingScripts() []Script {
	return []Script{
		{"pause holds one class, resume releases it, control frames pass", func() Setup {
			p := twoPorts()
			p[1].Queues = 2
			return withBookkeeper(Setup{Ports: p}, &classifier{})
		}, []Arrival{
			{At: 1 * us, Port: 1, Kind: packet.Pause, Class: 1}, {At: 2 * us, Dst: 2, Seq: 2, Payload: pay},
			{At: 2 * us, Dst: 2, Seq: 1, Payload: pay},
			{At: 9 * us, Port: 1, Kind: packet.Resume, Class: 1},
		}, `3us port 1 data 2, 125 B, hop limit 63
10us port 1 data 1, 125 B, hop limit 63
`},
		// 100 quanta of 512 bit times are 51.2 µs; 65535 (0 here) have no end.
		{"a pause of some quanta ends by itself, and is renewed by the next one", func() Setup {
			return withBookkeeper(Setup{Ports: twoPorts()})
		}, []Arrival{
			{At: 1 * us, Port: 1, Kind: packet.Pause, Seq: 100}, {At: 2 * us, Dst: 2, Seq: 1, Payload: pay},
			{At: 60 * us, Port: 1, Kind: packet.Pause, Seq: 100}, {At: 61 * us, Dst: 2, Seq: 2, Payload: pay},
			{At: 90 * us, Port: 1, Kind: packet.Pause, Seq: 100},
			{At: 150 * us, Port: 1, Kind: packet.Pause}, {At: 151 * us, Dst: 2, Seq: 3, Payload: pay},
			{At: 900 * us, Port: 1, Kind: packet.Resume},
		}, `53.2us port 1 data 1, 125 B, hop limit 63
142.2us port 1 data 2, 125 B, hop limit 63
901us port 1 data 3, 125 B, hop limit 63
`},
		{"a class without a queue of its own is held with the last one", func() Setup {
			p := twoPorts()
			p[1].Queues = 2
			return withBookkeeper(Setup{Ports: p}, &classifier{})
		}, []Arrival{
			{At: 1 * us, Port: 1, Kind: packet.Pause, Class: 1}, {At: 1*us + 1, Port: 1, Kind: packet.Pause, Class: 5},
			{At: 2 * us, Dst: 2, Seq: 2, Payload: pay}, {At: 2 * us, Dst: 2, Seq: 1, Payload: pay},
			{At: 9 * us, Port: 1, Kind: packet.Resume, Class: 1}, {At: 11 * us, Port: 1, Kind: packet.Resume, Class: 5},
		}, `3us port 1 data 2, 125 B, hop limit 63
12us port 1 data 1, 125 B, hop limit 63
`},
		{"a program asks for a tick, and for a pause of some quanta", func() Setup {
			return withBookkeeper(Setup{Ports: twoPorts()}, &renewer{})
		}, []Arrival{{At: 4 * us, Dst: 2, Seq: 1, Payload: pay}}, `4.512us port 0 pause class 2
5us port 1 data 1, 125 B, hop limit 63
7.512us port 0 pause class 2
`},
		{"a program pauses its neighbour: 64 bytes, before what waits", func() Setup {
			return withBookkeeper(Setup{Ports: twoPorts()}, &pauser{})
		}, []Arrival{
			{At: 1 * us, Port: 1, Dst: 1, Seq: 1, Payload: pay}, {At: 1 * us, Port: 1, Dst: 1, Seq: 2, Payload: pay},
			{At: 1*us + 1, Dst: 2, Seq: 77, Payload: pay},
		}, `2us port 0 data 1, 125 B, hop limit 63
2000.001ns port 1 data 77, 125 B, hop limit 63
2.512us port 0 pause class 3
3.512us port 0 data 2, 125 B, hop limit 63
`},
	}
}

// requestScripts covers requests of hooks to the switch in addition to their verdict.
func requestScripts() []Script {
	return []Script{
		{"what hooks ask for happens after the packet in hand", func() Setup {
			return withBookkeeper(Setup{Ports: twoPorts()}, &asker{})
		}, []Arrival{{At: 1 * us, Dst: 2, Seq: 10, Payload: pay}}, `1.336us port 0 data 11, 42 B, hop limit 63, trimmed
2us port 1 data 10, 125 B, hop limit 63
2.336us port 0 data 12, 125 B, hop limit 62
`},
		{"recirculation has a rate and a queue", func() Setup {
			return withBookkeeper(Setup{Ports: twoPorts(), Recirculation: dataplane.Recirculation{
				Rate: unit.LinkRate{Bits: unit.Gbps / 10}, Queue: 2}}, &recirculator{})
		}, newBurst(4, 1*us), `12us port 1 data 0, 125 B, hop limit 62
22us port 1 data 1, 125 B, hop limit 62
dropped 4: policed
dropped 2: recirculation full
`},
		{"trimming moves the header to the trim class; what does not fit then is dropped", func() Setup {
			p := twoPorts()
			p[1].Queues, p[1].Each = 2, tm.Limit{Packets: 1}
			return withBookkeeper(Setup{Ports: p, TrimClass: 0}, &trimmer{})
		}, newBurst(4, 1*us), `2us port 1 data 0, 125 B, hop limit 63
2.336us port 1 data 2, 42 B, hop limit 63, trimmed
3.336us port 1 data 1, 125 B, hop limit 63
dropped 1: queue packets
`},
		{"the packet that came last is trimmed, and the next one takes its place", func() Setup {
			p := twoPorts()
			p[1].Queues, p[1].Each = 2, tm.Limit{Packets: 2}
			return withBookkeeper(Setup{Ports: p, TrimClass: 0}, &tailTrimmer{})
		}, newBurst(6, 1*us), `2us port 1 data 0, 125 B, hop limit 63
2.336us port 1 data 2, 42 B, hop limit 63, trimmed
2.672us port 1 data 3, 42 B, hop limit 63, trimmed
3.672us port 1 data 1, 125 B, hop limit 63
4.672us port 1 data 5, 125 B, hop limit 63
dropped 1: queue packets
`},
		{"an evicted packet is the one that came last", func() Setup {
			return withBookkeeper(Setup{Ports: twoPorts()}, &evicter{})
		}, newBurst(4, 1*us), `2us port 1 data 0, 125 B, hop limit 63
3us port 1 data 1, 125 B, hop limit 63
4us port 1 data 3, 125 B, hop limit 63
dropped 1: evicted
`},
		{"a tick comes when it was asked for, and may send", func() Setup {
			return withBookkeeper(Setup{Ports: twoPorts()}, &ticker{})
		}, []Arrival{{At: 4 * us, Dst: 2, Seq: 1, Payload: pay}}, `4us port 0 data 101, 125 B, hop limit 0
5us port 1 data 1, 125 B, hop limit 63
7us port 0 data 102, 125 B, hop limit 0
10us port 0 data 103, 125 B, hop limit 0
`},
		{"a packet dropped at release leaves the port to the next one at once", func() Setup {
			return withBookkeeper(Setup{Ports: twoPorts()}, &releaser{})
		}, newBurst(4, 1*us), `2us port 1 data 0, 125 B, hop limit 63
3us port 1 data 2, 125 B, hop limit 63
dropped 2: early drop
`},
	}
}
