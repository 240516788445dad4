// Package bolt is the sender of Bolt (Arslan, Li, Kumar, Dukkipati: Bolt: Sub-RTT Congestion Control for Ultra-Low
// Latency, NSDI 2023): a window that begins at a bandwidth-delay product, falls by a packet whenever a switch tells
// it of a queue (SRC), as often as is its share of that queue, and grows by a packet a round trip, and by one for each
// packet whose request the switches have granted (INC). The switch's part is core/dataplane/feedback/bolt.
//
// We have the paper's abstract and its authors' simulator, of 2021 (Bolt simulator, docs/sources.md); the paper's
// algorithms are written from memory, and agree with the simulator but for what is said here:
//
//	algorithm 2, HandleSRC: rate/link is the flow's share; a packet less   Bolt.decrease   TestDecrease,
//	  every rtt_src / (share × queue in packets)                                           TestDecreaseInterval
//	… a window of a packet or less halves (simulator: HandleBts)           Bolt.decrease   TestBelowPacket
//	algorithm 2, HandleAck: INC is a packet more                           Bolt.OnAck      TestIncrease
//	… and so is each round trip                                            Bolt.OnAck      TestAdditive
//	§3.2: FIRST until there is an acknowledgement, LAST in the last        Bolt.OnSend     TestFlags
//	  window, INC in all others
//	a window below a packet is a rate                                      Bolt.Decision   TestPacing
//	losses halve the window once a round trip (simulator: HandleNack)      Bolt.OnLoss     TestLosses
//	without SRC an acknowledgement's queue (simulator: HandleAck)          Bolt.OnAck      TestAnswered
//	all of it                                                              all             TestTranscript
//
// The simulator flags one packet a round trip for additive increase, and adds when that one's flag comes back; we add
// when what was sent at the last addition is acknowledged, as the paper does, so that a lost packet ends nothing.
// A window is used in whole packets, and its packets are spread over a round trip: the simulator waits for a
// packet's part of the round trip whenever part of a packet would fit, and sends it then. Without either, as pacing:
// below_packet has it, bursts stay bursts: of one that meets a queue many packets have a message each within the
// interval that one decrease stands for, and 16 flows at 100 Gb/s and 8 us keep 117 kB in place of 18.
// Its largest window is 256 packets, which a path of a long round trip exceeds: ours follows from the path. Its least
// is 15 B, a hundredth of a packet: with a round trip that was measured behind a queue of a
// millisecond that is a packet in 100 ms, and no other round trip is measured meanwhile. Of an
// incast of 256 senders with 500 KB at 10 Gb/s most are done after 103 ms, and the last after 296;
// with a tenth of a packet, ours, that is 121.
package bolt
