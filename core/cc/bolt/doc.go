// Package bolt is the sender of Bolt (Arslan, Li, Kumar, Dukkipati: Bolt: Sub-RTT Congestion Control for Ultra-Low
// Latency, NSDI 2023). Its window begins at a bandwidth-delay product. It falls by a packet when a switch reports a
// queue (SRC), in proportion to the flow's share of that queue. It grows by a packet a round trip, and by one for
// each granted request of a packet (INC). The switch's part is core/dataplane/feedback/bolt.
//
// The sources are the paper's abstract and its authors' simulator, of 2021 (Bolt simulator, docs/sources.md). The
// paper's algorithms are written from memory. They agree with the simulator except for the differences below:
//
//	algorithm 2, HandleSRC: rate/link is the flow's share; a packet less  Bolt.drainShare
//	                                                                                     TestBolt_QueueNoticeTakesPacket,
//	  every rtt_src / (share × queue in packets)                                           TestDecreaseInterval
//	… a window of a packet or less halves (simulator: HandleBts)          Bolt.drainShare  TestBelowPacket
//	algorithm 2, HandleAck: INC is a packet more                          Bolt.OnAck
//	                                                                                      TestBolt_IncreaseFlagAddsPacket
//	… and so is each round trip                                           Bolt.OnAck       TestBolt_AddsAIOncePerWindow
//	§3.2: FIRST until there is an acknowledgement, LAST in the last       Bolt.OnSend      TestBolt_SetsFlagsOfPackets
//	  window, INC in all others
//	a window below a packet is a rate                                     Bolt.Decision
//	                                                                                     TestBolt_PacesWindowPerRoundTrip
//	losses halve the window once a round trip (simulator: HandleNack)     Bolt.OnLoss
//	                                                                                 TestBolt_LossReducesOncePerRoundTrip
//	without SRC an acknowledgement's queue (simulator: HandleAck)         Bolt.OnAck
//	                                                                                     TestBolt_DecreaseFlagTakesPacket
//	all of it                                                             all
//	                                                                                     TestBolt_MatchesTranscriptByHand
//
// The simulator flags one packet a round trip for additive increase, and adds when the flag returns. This package
// adds when the data sent at the last addition is acknowledged, as in the paper, so that a lost packet does not stop
// the increase.
//
// A window is used in whole packets, which are spread over a round trip. The simulator waits for a packet's part of
// the round trip whenever part of a packet would fit, and sends it then. With pacing: below_packet packets are not
// spread, and bursts stay bursts. Then many packets of a burst that meets a queue have a message each within the
// interval of one decrease.
//
// The simulator's max window is 256 packets, which a path with a long round trip exceeds; here it follows from the
// path. The simulator's min window is 15 B, a hundredth of a packet. With a round trip measured behind a queue of a
// millisecond, it sends a packet in 100 ms, and no other round trip is measured meanwhile. Here it is a tenth of a
// packet.
package bolt
