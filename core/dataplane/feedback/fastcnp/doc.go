// Package fastcnp lets a switch notify RDMA senders of congestion. Where ecn would mark a packet, it sends a
// congestion notification packet (CNP) directly to the packet's sender. The notification avoids the way to the
// receiver, the queues on it and the receiver's own delay (draft-xiao-rtgwg-rocev2-fast-cnp, after RECN, RFC 7514).
// Only the draft's abstract is available; the following is Weir's:
//
//	when                       as DCQCN §3.1 marks: by the egress queue's length
//	                                                                                  TestNotifier_ReadsQueueAtChosenSide
//	about what                 data of RDMA that is capable of ECN, never about CNPs,
//	                           ACKs, NACKs, probes, or what a switch made or trimmed   TestAboutWhat
//	how often                  once a flow and interval, with a table of fixed size    TestTable_LimitsCNPsPerInterval,
//	                                                                                   TestTable_MatchesModelOfEveryFlow
//	the packet                 packet.Notice with the data packet's sequence number, its
//	                           endpoints swapped, no payload, packet.CauseMarked
//	                                                                              TestNotifier_CNPFramesHaveExpectedSize,
//	                                                                              TestIPv6
//	its way                    through the ingress and the class of its tos
//	                                                                                TestNotifier_RoutesCNPsThroughIngress
//	additional marks           option; other transports' packets are always marked     TestNotifier_NotifiesWhatECNMarks
//	the sender                 checks that the packet is out (transport/rdma), then
//	                           reacts as to the receiver's CNP (cc/dcqcn)              sim/fastcnp_test.go
package fastcnp
