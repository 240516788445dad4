// Package bolt is the switch of Bolt (Arslan, Li, Kumar, Dukkipati: Bolt: Sub-RTT Congestion Control for Ultra-Low
// Latency, NSDI 2023). Data carries a header (packet.Bolt). If it finds a queue, the switch sends a message to its
// sender at once (sub-RTT control, SRC). If it finds no queue, a packet that requests another one (INC) gets it if
// the port has a place: of a flow that is about to end (proactive ramp-up, PRU), or of unused capacity (supply
// matching, SM). The sender is core/cc/bolt.
//
// The sources are the paper's abstract and its authors' simulator, of 2021 (Bolt simulator, docs/sources.md). The
// numbers of the paper's algorithms are from memory:
//
//	algorithm 1: from CC_THRESHOLD on SRC with queue, link and the    program.notifyCongestion
//	                                                                               TestProgram_NotifiesFromThresholdOn,
//	                                                                               TestProgram_SRCFramesHaveExpectedSize,
//	  sender's own time, once a packet (DEC); INC is taken away                                 TestIPv6,
//	                                                                                   TestProgram_NotifiesEachPacketOnce
//	algorithm 1: a packet of a last window, not a first, is a token   program.grantRequest
//	                                                                                  TestProgram_PRUTokensGrantIncreases
//	algorithm 1: INC takes such a token, else one of supply, or ends  program.grantRequest
//	                                                                               TestProgram_PRUTokensGrantIncreases,
//	                                                                               TestProgram_SupplyTokenGrantsIncreases
//	algorithm 3: supply less demand since the last packet, an MTU     port.countSupply
//	                                                                              TestProgram_SupplyTokenGrantsIncreases,
//	                                                                              TestPort_CountsSupplyByHand
//	  at most
//	all of it, with the simulator's order of branches                 program.Book
//	                                                                                  TestProgram_MatchesTranscriptByHand
//	at most 256 tokens (simulator: MaxNumPruTokens)                   program.grantRequest
//	                                                                                  TestProgram_PRUTokensGrantIncreases
//	without SRC the receiver's acknowledgement (simulator:            program.notifyCongestion  TestNoSRC
//	  EnableBts false)
//	messages are about data with the header, not trimmed              program.Book              TestAboutWhat
//	the queue is the total of the port                                program.Book              TestQueueOfPort
//	no effect on packets without requests                             program.Book              TestProgram_HoldsContract
//	its way: through the ingress, and the class of its tos            program.sendNotice
//	                                                                             TestProgram_RoutesMessagesThroughIngress
//
// The queue is the port's total, for any queues, as in the simulator, because PRU and SM also apply to the port. The
// packet itself, and the one being sent, do not count. The simulator gives messages and acknowledgements a queue of
// their own before data; here the experiment does so, by classes. The simulator can also trim packets, which its own
// experiments do not use; program ndp does that.
//
// If several switches find a packet's port congested, only the first one sends a message. The others wait for the
// next packet.
package bolt
