// Package uet is Ultra Ethernet's transport for reliable delivery in any order, as in the working group's simulator
// (UEC htsim). The consortium's specification, which alone is authoritative, is not stored here.
//
// A sender gives each packet a number and an entropy value as its source port, so that switches with the program ecmp
// send packets of one flow on many paths. Switches with the program trimming (weir/core/dataplane/buffer/trimming) cut
// payloads off where there is no room. The receiver answers the rest with a NACK, and the packet is resent at once. A
// window follows the law NSCC (weir/core/cc/nscc), or the receiver gives credit (RCCC), or both.
//
// # Where its parts are
//
//	entropy values: six ways to choose them            balancer     TestOblivious_UsesEachValueOncePerRound,
//	                                                                TestBitmap_SkipsPenalisedValues,
//	                                                                TestREPS_RecyclesGoodValues,
//	                                                                TestMixed_RecyclesThenFollowsBitmap
//	acknowledged: at once, or after 16 KiB             Receiver.handleData      TestAckPolicy
//	64 bits of selective acknowledgement               Receiver.newAck          TestReceiver_BitmapStartsAtCause
//	when a packet asks for its acknowledgement         Sender.Emit              TestSender_AsksForAcknowledgements
//	asking when turns at the NIC are late              Sender.setSlow           TestLateTurns, TestManyFlowsOnNIC
//	in flight by the receiver's counter                Sender.onAck             TestInFlight
//	round trips of packets that were sent again        Sender.sampleRTT         TestSender_SamplesUnambiguousRoundTrips
//	NACKs, repairs in order and before what is new     Sender.onNack            TestSender_NackedPacketsGoFirst
//	timeout of the oldest packet, requests to send     Sender.Advance           TestSender_TimeoutResendsOldestPacket,
//	                                                                            TestSender_RequestsCreditAfterTimeout
//	estimated timeouts                                 Sender.timeoutOf         TestSender_EstimatedTimeoutDoubles,
//	                                                                            TestEstimatedLongPath
//	losses without trimming                            Sender.findLosses
//	                                                                           TestSender_SleekDetectsLossWithoutTrimming
//	credit: first window, targets, at most             Sender.creditTarget      TestSender_SpendsCreditOfPulls
//	credit that does not come                          Sender.creditWait        TestWaitsForCredit
//	one pacer a host, in turn, ahead of demand         pacer                    TestPacer_ServesFlowsInTurn
//	less credit where the network is oversubscribed    slowdown                 TestSlowdown_FollowsTrimsAndMarks
//	delays of the NIC                                  Receiver.replyWith       TestReceiver_DelaysAcksAndNacks
//	what is forged or of others changes nothing        Sender.Receive           TestSender_IgnoresForeignPackets
//	any losses and any order                           all                      TestRandomPaths
//	bytes on every link give the same result           all, with weir/sim       TestSameResult
//	figures of the simulator                           all, with weir/sim       TestUET_MatchesReferenceSimulator
//
// # On the wire
//
// The header is the one of package packet (Emit), IP protocol 254. The number of a packet is its sequence number. The
// acknowledgement field of data is the target of credit. An acknowledgement has an extension with the bitmap, its base,
// the receiver's bytes, the number of packets out of order, and a penalty for the window, which is always noPenalty
// here. A PULL is a notice with the total units of credit given.
//
// # What differs
//
// Numbers and credit have 40 bits on the wire. A request to send has a number, as in the simulator. Senders do not
// divide their target by the flows that wait at their NIC, because a sender here does not know them. A NIC sends
// answers before the data of all flows, not ten for each packet of data. A receiver gives a complete flow no more
// credit. A flow that waits for credit asks for it after a while, because a PULL may be lost here.
package uet
