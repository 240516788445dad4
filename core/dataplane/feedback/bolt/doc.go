// Package bolt is the switch of Bolt (Arslan, Li, Kumar, Dukkipati: Bolt: Sub-RTT Congestion Control for Ultra-Low
// Latency, NSDI 2023). Data carries a header (packet.Bolt). Where it finds a queue, the switch sends its sender a
// message at once (sub-RTT control, SRC); where it finds none, a packet that asks for one more (INC) gets it if the
// port has a place to give: that of a flow which is about to end (proactive ramp-up, PRU), or what the port could
// have sent and nobody asked for (supply matching, SM). The sender is core/cc/bolt.
//
// We have the paper's abstract and its authors' simulator, of 2021 (Bolt simulator, docs/sources.md); the numbers of
// lines are those of the paper's algorithms as we remember them:
//
//	algorithm 1: from CC_THRESHOLD on SRC with queue, link and the      program.congested    TestThreshold, TestSRC,
//	  sender's own time, once a packet (DEC); INC is taken away                              TestIPv6, TestDEC
//	algorithm 1: a packet of a last window, not a first, is a token     program.grant        TestPRU
//	algorithm 1: INC takes such a token, else one of supply, or ends    program.grant        TestPRU, TestSM
//	algorithm 3: supply less demand since the last packet, an MTU       program.supply       TestSM, TestSupply
//	  at most
//	all of it, with the simulator's order of branches                   program.Book         TestTranscript
//	at most 256 tokens (simulator: MaxNumPruTokens)                     program.grant        TestPRU
//	without SRC the receiver's acknowledgement tells (simulator:        program.congested    TestNoSRC
//	  EnableBts false)
//	about what there is a message: data with the header, not trimmed    program.Book         TestAboutWhat
//	the queue is that of the port                                       program.Book         TestQueueOfPort
//	who asks for nothing meets no difference                            program.Book         TestContract
//	its way: through the ingress, and the class of its tos              program.tell         TestWay
//
// The queue is all that waits at the port, whatever its queues are, as in the simulator, for PRU and SM are of the
// port as well; the packet itself, and what is being sent, do not count. The simulator gives messages and
// acknowledgements a queue of their own before data: here the experiment does, by classes. It can also trim
// packets, which its own experiments do not use; program ndp does that.
//
// A packet that several switches find congested has one message, of the first of them: the others hold their peace
// until the next packet.
package bolt
