// Package ndp is NDP's transport (Handley et al., "Re-architecting datacenter networks and stacks for low latency and
// high performance", SIGCOMM 2017). A sender sends a first window at line rate, and then one packet for each PULL of
// the receiver. The receiver paces PULLs so that the pulled data fills its link. Switches with the program ndp
// (weir/dataplane/ndp) cut payloads off in place of dropping packets, so that the receiver learns of all packets, and
// sends NACKs of the headers.
//
// # Where the paper's parts are
//
//	§3.2 first window at line rate                   Sender.Emit                TestFirstWindow
//	§3.2 ACK, NACK and PULL for each packet          Receiver.Receive           TestSender_MatchesTracesByHand
//	§3.2 PULLs are numbered                          Sender.Receive             TestPullNumbers
//	§3.2 what was NACKed goes before what is new     Sender.planNext            TestRepairsFirst
//	§3.2 one pull queue a host, paced, in turn       pulls                      TestPulls_PacedAndInTurn, TestPullQueue
//	§3.2 no PULLs after the last packet              Receiver.Receive           TestLastPackets
//	§3.2.3 priority of flows at the receiver         pulls.nextMember           TestPulls_PacedAndInTurn
//	§3.2.4 headers that were sent back               Sender.expectsPulls        TestSender_ResendsReturnedHeader
//	NICs that take a time to answer                  transport.NIC              TestNICDelays
//	timeouts as a last resort                        Sender.Advance             TestSender_TimeoutDoubles
//	no timeout unless something is lost              all                        TestNoTimeoutsWithoutLoss
//	RFC 8985 §7 probes                               Sender.lossTimeout         TestLossProbes
//	losses, reordering, doubling, bytes as fields    all                        TestRandomPaths,
//	                                                                            FuzzNDP_FinishesOverAnyPath
//	packets of others, forged ones                   Sender.handleCumulativeAck  TestSender_IgnoresForeignPackets
//	§6 incasts near the optimum, fair, short queues  all, with weir/sim         TestNDP_IncastEndsNearOptimum,
//	                                                                            TestIncastWithoutReturn
//	§6 a permutation fills a fat tree                all, with weir/sim         TestNDP_PermutationUsesAllPaths
//	bytes on every link give the same result         all, with weir/sim         TestSameResult
//
// Section numbers and parameters are the paper's as we remember it; its text is not stored here.
//
// # On the wire
//
// The header is the one of package rdma, IP protocol 0xFC (packet.Emit), without extensions. Data carries the number of
// its first byte and, as acknowledgement, the number of packets of the first window that were returned. Its flags are
// Trimmable, and FIN if the remaining new packets need no PULL. Without payload it is a header. ACKs and NACKs name a
// packet and the first byte that has not arrived. A PULL is a notice with its number, and that byte. A header that a
// switch sends back has the flag Returned.
//
// # Why nothing stalls
//
// Every packet that arrives, whole or not, gives a PULL, and every PULL a packet. So the sum of packets in flight,
// PULLs that wait or are in flight, and PULLs that the sender has not used yet always equals the first window. A sender
// keeps PULLs for which it has no packet: a PULL may overtake its NACK. Three events change the sum:
//
//   - With FIN the receiver needs PULLs only for packets of which it has a header, or which were sent back. While there
//     are such packets, at least one PULL waits or is in flight when no packet is.
//   - A header that is sent back never arrives. If a PULL had asked for its packet, that PULL counts as unused, and the
//     packet is resent at once. Many packets of the first window may be sent back together, and resending them at once
//     would repeat the incast. So the next packet notifies the receiver, which gives a PULL for each. If no packet is
//     in flight and no PULL is expected, one packet is sent in advance of its PULL.
//   - A loss removes one; the timeout of that packet restores it.
//
// The next PULL makes up for a lost one. If the last PULL is lost, a timeout sends one packet in advance, and its
// arrival gives another PULL.
//
// # Probes
//
// Without a timeout of the file (rto_min) a sender without answers sends the header of the oldest packet as a probe
// (transport.LossTimer). The receiver acknowledges the packet, or sends a NACK and owes a PULL. Then packets that were
// sent before the probe and have no answer are lost. Where switches trim or reorder, a probe would overtake data: there
// a packet is resent only when the path cannot hold it any more.
//
// # What differs
//
// The paper's senders choose a path for each packet, and avoid bad ones; here switches spread packets
// (weir/dataplane/spray), and a packet that is resent takes any path. There is no connection setup. FIN is in every
// packet of a flow that fits into its first window, not in the last one only, so that short flows take no turns of
// others in the pull queue. The count of returned packets is Weir's; htsim loses the PULLs that they would have given.
package ndp
