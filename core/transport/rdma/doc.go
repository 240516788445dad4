// Package rdma is the queue pair of an RDMA NIC, as in HPCC and the schemes that it is compared with. A Sender starts
// at line rate and keeps to the window and the rate of its controller. A Receiver acknowledges each packet, or several,
// and returns the telemetry that the network wrote into the data.
//
// # Where the papers' parts are
//
//	HPCC §3.2 start at line rate               New                       TestLineRateStart
//	HPCC §3.2; HPCC simulator: window, pacing  Sender.fitsWindow, Config.gapBytes  TestSender_WindowLimitsFlight,
//	                                                                               TestSender_PacesPayloadAtRate,
//	                                                                               TestNewRate
//	HPCC simulator: in flight < W              Sender.requiredRoom       TestWindowTest
//	HPCC §4.1 ACKs carry telemetry back        Receiver.Receive          TestTelemetryEcho
//	HPCC simulator: go-back-N, NACKs           Receiver.refusePacket     TestRDMA_MatchesTraces, TestNackInterval
//	draft-miao §6.1 probes, answered           Sender.handleProbeReply   TestSender_ProbesOncePerRoundTrip
//	IRN §3.1 NACKs with SACK, recovery         Sender.handleReceiverNack  TestRDMA_MatchesTraces, TestSelectiveRepeat
//	RFC 8985 §6.2 a reordering window          recovery.findOverdue, reorderWindow
//	                                                                               TestSender_ReorderWindowAvoidsResends,
//	                                                                               TestReorderTimer
//	RFC 8985 §6.2 … that adapts; RFC 3522      recovery.recordAnswer     TestReorderWindow, TestReorderDuplicates
//	… but for what waits in a slow path        recovery.findOverdueWaiting    TestSpreadWaits, TestSpreadLosses
//	… and counts while it may still wait       waits.inNetwork           TestWindowBoundsNetwork, TestSpreadChanges
//	… until losses are confirmed               waits.confirmExpired      TestConfirmedLosses, TestPathFailsUnderWay
//	MRC, UET: entropy values                   paths, Sender.planPaths   TestSender_FillsWindowOfEachPath,
//	                                                                     TestPathsTogether, TestPathPorts
//	a loss is of its path                      recovery.recordAnswer, findOverdueOn TestPathLoss
//	MRC: a path that fails is retired, probed  Sender.giveUpSilentPaths, probePath TestPathFails, TestPathsAllFail
//	IRN §3.1 timeouts, RTO_low and RTO_high    recovery.currentRTO, handleTimeout TestSender_RTODoublesUntilProgress,
//	                                                                              TestTailLoss
//	IRN §3.2 BDP-FC                            Sender.planNext           TestSender_BoundLimitsUnacknowledged
//	RFC 6298 §2, §5 RTO, doubling              recovery.currentRTO       TestSender_RTODoublesUntilProgress,
//	                                                                     TestMeasuredRTO, TestEverythingLost
//	… longer than a round trip, by a quarter   RoundTrip.Timeout         TestTimeout_KeepsMarginOfQuarter
//	… of what is out, not of what waits to go  Sender.planNext           TestNoTimeoutWhilePaced, TestNoTimeoutWhileHeld
//	… of a path, from its last answer on       paths.recordAnswer        TestPathAnswers
//	… without a timer: HPCC simulator          Sender.planNext           TestNoTimer
//	RFC 8985 §7, RFC 9002 §6.2 probes          Sender.lossTimeout        TestLossProbes
//	DCQCN §3.1 CNPs, one an interval           Receiver.Receive          TestReceiver_LimitsCNPRate
//	draft-miao §9.1 notices are checked        Sender.passNotice         TestSender_ChecksNotices
//	BS'19 §4.3 NACKs of the network: checks    Sender.handleNetworkNack  TestNackChecks, TestTransmissionNumbers
//	BS'19 §4.3 what did not arrive goes again  recovery.confirmLoss      TestNackTraces, TestNackGoBackN
//	BS'19 §4.3, §5 a reduction a round trip    Sender.handleNetworkNack  TestNackReactions, TestNackOncePerRoundTrip
//	BS'19 §4.3, §5 … in every state            Sender.handleNetworkNack  TestNackStates
//	BS'19 §4.3 incast without timeouts         transport.NACKPacer        TestNackIncast, TestNackHold,
//	                                                                    TestNackHoldIncast
//	BS'19 §5 attackers                         Sender.handleNetworkNack  TestNackAttacks, TestNackSweep, TestNackReplays
//	NDP §3.2 a trimmed packet is named         Receiver.answerTrimmed    TestReceiver_NamesTrimmedPackets,
//	                                                                     TestTrimmedDuplicate
//	a switch's CNP                             Sender.handleNotice       TestSwitchCNP
//	Bolt §3: requests, answers, SRC            Sender.Emit, notice       TestSender_RequestsReturnSwitchAnswers,
//	                                                                     TestQueueNotices
//	RFC 8257 §3.2 echo of marks                Receiver.Receive          TestReceiver_EchoesMarksExactly
//	RFC 8257 §3.3 one reduction a window       Sender.updateState        TestEchoReduces
//	NICs that take a time to answer            transport.NIC             TestNICDelays, TestNICDelaysProbes
//	… longer than timeouts                     Receiver.putReplies       TestNICDelaysAndTimeouts
//	… for a CNP than for its packet's ACK      Sender.passNotice         TestLateCNPs
//	coalesced and delayed ACKs                 Receiver.handleData       TestReceiver_CoalescesAcknowledgements
//	draft-cheng-iccrg-delivery-rate-estimation Sender.reportAck          TestDeliveryRate
//	RoCEv2 (InfiniBand Annex A17): frames      packet.Packet.Emit        TestRDMA_FramesRoundTrip
//	… messages, packet sequence numbers        ends.messagePlace, findPacket TestEnds_LimitMessageSize,
//	                                                                         TestEnds_FindNearestPacket
//	all of them on paths of any kind           all                       TestRandomPaths, FuzzRDMA_FinishesOverAnyPath
//
// # What differs
//
// From the HPCC simulator: it has no retransmission timer and does not answer duplicates, which a flow needs when its
// last ACK is lost. Its window may be exceeded by less than a packet. Here it may not, except that one packet may
// always be in flight. window_test: below has the simulator's rule. The draft defines neither; with a window of three
// packets the choice is a third of it. The simulator lets a new rate move the waiting packet with HPCC and PINT only
// (new_rate: next). Its frames are UDP with ACKs of IP protocol 0xFC and NACKs of 0xFD; here they are RoCEv2. The
// framings hpcc, hpcc_pint, hpcc_timely and hpcc_plain have the simulator's sizes.
//
// From IRN: a packet that was resent is not resent again in the next recovery while its retransmission may still
// arrive; only a timeout resends it. A timeout restarts whenever the first unacknowledged packet is sent. It does not
// run while that packet is known to be lost and waits for its turn, for example because of the hold-off below.
// Retransmissions keep to the window and the rate as well. While a timeout's first packet is in flight, the other
// packets do not count as in flight.
//
// Without a timeout of the file (rto_min) a sender probes when no answer arrives (transport.LossTimer). The answer
// to a probe acknowledges what the receiver has; packets that were sent before the probe and are not acknowledged
// are lost, and the controller is notified as of a timeout. The sequence number of a probe is beyond all packets in
// flight, and no two probes within 2¹⁴ have the same one, so that a late answer proves no loss.
//
// # On the wire
//
// A flow is an RDMA WRITE of a reliable connection, to a region that begins at address 0; a flow of more than 2³¹ bytes
// is several. Packets of data are WRITE First (with RETH), Middle, Last or Only, with AckReq, and their PSN counts the
// packets of the flow from 0. An ACK's PSN is the last packet in order, a NAK's (PSN sequence error) the expected one;
// MSN counts the complete messages. BECN echoes a mark. CNPs have BECN, the marked packet's PSN and 16 reserved bytes.
// Every frame ends with the ICRC. Package packet, roce.go, describes fields that real NICs do not send: the word after
// AETH that selective repeat needs, the number of a transmission, probes. A receiver's NIC knows the payload of a full
// packet, as it knows the path's MTU.
//
// # Fewer acknowledgements
//
// With ack_every above 1 a receiver waits for that number of packets, unless a packet asks for an ACK (AckReq). Senders
// ask when an eighth of their window, or of bound, was sent since the latest request. Otherwise flows with windows as
// small as ack_every would receive one ACK a round trip and build a queue of a window. A receiver that waits answers
// after ack_delay at the latest. Controllers without a window, such as dcqcn, never ask.
//
// # NICs with delays
//
// nic_ack_delay, nic_nack_delay and nic_cnp_delay are the times that a receiver's NIC takes to make an answer
// (transport.NIC). An ACK that waits for more packets (ack_delay) is made after that wait. An answer has the numbers
// and the telemetry of the time at which its packet arrived. The controller's round-trip times include nic_ack_delay,
// and so does base_rtt where it is 0s. A sender accepts a CNP that arrives after the ACK of its packet if the CNP is
// not about a packet before that of the last CNP.
//
// # Reordering
//
// With reordering: none a packet is lost when one with a higher number has arrived, as in IRN, which declares nearly
// every packet lost under spraying. With fixed and adaptive it is lost when one that was sent later has arrived, and
// a round trip and a window have passed since it was sent. The window of adaptive grows by a quarter of the minimum
// round-trip time for each round trip with an unnecessary retransmission, up to a smoothed round trip, and is small
// again after 16 recoveries, as in RFC 8985. It differs from RFC 8985 in three points. The sender finds unnecessary
// retransmissions by itself, since NACKs report each packet that arrives (TestReorderDuplicates). The window holds from
// the beginning, not only after reordering was seen. A retransmission that is lost is found like any other packet. A
// sender that waits so long repairs a loss later by the window, and continues to send meanwhile.
//
// Where switches spread packets over paths of different rates, a packet that is overtaken may wait in a slow path for
// a hundred round trips. There adaptive declares it lost when it is overdue, by twice the latest lateness, and 96
// packets in a row have arrived that were sent after it, or when its flow's patience is over (spread.go), or the
// LossLimit of the path. Without losses the bytes between sender and receiver never exceed the window: a copy that may
// still wait counts as in flight. Confirmed losses shorten the patience, down to the wait of RACK. Paths differ where
// links between switches at the same distances from hosts have different rates, also during the run. Where they do
// not, queues of alternatives have about the same length, and the window of RACK is enough.
//
// # Paths
//
// With paths above 1 the sender chooses among that number of source ports (entropy values), which switches hash. Each
// is a path with its own controller, window and pacing rate. The scheme must be made for that (cc.Scheme.PerPath);
// others are refused. A packet goes to the path with room in its window that may send first. All paths together have no
// more in flight than the sum of their first windows, which equals the first window of a flow with one path. The
// receiver answers to the port from which the data came, so that acknowledgements identify the path. A path keeps its
// packets in order. So a packet is lost when an answer to one that was sent later on its path returns on that path. A
// delay on other paths is no loss. Each path has its own retransmission timer. When that expires, new data takes other
// paths only, and a probe without payload is sent at once and then after every timeout, doubled each time, until one is
// answered. If the file gives the timeout, the packets in flight there are resent on other paths at once. Otherwise
// they are resent when the answer shows which are lost, or when the time for which the path can hold a packet has
// passed without an answer. If that has no limit, it is 64 timeouts while another path answers. A path of a switch that
// sprays is no path in this sense: there use reordering: adaptive.
//
// # NACKs of the network
//
// In BS'19 a switch notifies the sender of the packet that it has trimmed. The sender's part is left open. Weir defines
// it:
//
//   - Data carries the number of its transmission, mod 128, in bits that InfiniBand reserves; a first transmission has
//     0. A switch returns it with the rest of the header. This distinguishes a late or repeated NACK from one of a
//     packet in flight. Further packets that a NACK names (Notification.More) have no number; they count while the
//     first does.
//   - The packets named are resent next, before new ones, within window and rate: with selective repeat and without
//     recovery exactly these. A receiver of go-back-N drops packets after a gap, so there all packets from the first
//     one named are resent, and the receiver's own NACK, which arrives later, has no effect for a round trip. With
//     recovery: none NACKs are the only repair; if one is lost the flow does not end. There the first packet in flight
//     is resent at any window, because no acknowledgement reports the packets beyond it.
//   - nacks: loss makes them losses for the controller, and an elephant's an ECN echo, once a smoothed round trip.
//     Other reductions, by a timeout or SACKs, count. As switches send NACKs of retransmissions too, the controller
//     reduces again in recovery. nacks: supply leaves all of this to cc/supply, nacks: resend to the controller's
//     OnNotice.
//   - A sender limits its rate after NACKs, whatever its controller does (transport.NACKPacer). After a NACK it sends a
//     packet for each that has arrived. Then gaps between packets follow from the packets delivered, and double while
//     no packet is. They are spread by half to either side, by a hash, because hosts of an incast receive NACKs at the
//     same time.
//   - With integrity: keyed they are refused, because a switch has no key.
//
// # Trimming
//
// With trimmable, switches may cut the payload of data off (dataplane/trimming, dataplane/ndp). The first bit that BTH
// reserves after FECN and BECN allows it. The receiver answers the rest of the packet by such a NACK, like NDP's
// receiver (§3.2), so that the sender needs no timeout. The NACK is about its packet alone: coalesced acknowledgements
// continue to wait, and telemetry of the packet goes with the next of them.
//
// Controllers of TCP work too, but without PRR: a reduced window applies at once.
package rdma
