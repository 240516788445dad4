// Package rdma is the queue pair of an RDMA NIC, as HPCC and what it is compared with
// use it: a Sender, which starts at line rate and keeps to the window and the rate of its
// controller, and a Receiver, which acknowledges each packet, or several, and sends
// back what the network wrote into the data.
//
// # Where the papers' parts are
//
//	HPCC §3.2 start at line rate               New                       TestLineRateStart
//	HPCC §3.2; HPCC simulator: window, pacing  Sender.fits, Sender.pace  TestWindow, TestPacing, TestNewRate
//	HPCC simulator: in flight < W              Sender.room               TestWindowTest
//	HPCC §4.1 ACKs carry telemetry back        Receiver.Receive          TestTelemetryEcho
//	HPCC simulator: go-back-N, NACKs           Receiver.refuse           TestTraces, TestNackInterval
//	draft-miao §6.1 probes, answered           Sender.probed             TestProbes
//	IRN §3.1 NACKs with SACK, recovery         Sender.negative           TestTraces, TestSelectiveRepeat
//	RFC 8985 §6.2 a reordering window          recovery.overdue, window  TestReordering, TestReorderTimer
//	RFC 8985 §6.2 … that adapts; RFC 3522      recovery.heard            TestReorderWindow, TestReorderDuplicates
//	… but for what waits in a slow path        recovery.overdueWaiting    TestSpreadWaits, TestSpreadLosses
//	… and counts while it may still wait       waits.inNetwork           TestWindowBoundsNetwork, TestSpreadChanges
//	… until losses are confirmed               waits.expire              TestConfirmedLosses, TestPathFailsUnderWay
//	MRC, UET: entropy values                   paths, Sender.planPaths   TestPaths, TestPathsTogether, TestPathPorts
//	a loss is of its path                      recovery.heard, overdueOn TestPathLoss
//	MRC: a path that fails is retired, probed  Sender.silence, probePath TestPathFails, TestPathsAllFail
//	IRN §3.1 timeouts, RTO_low and RTO_high    recovery.rto, timeout     TestRTO, TestTailLoss
//	IRN §3.2 BDP-FC                            Sender.schedule           TestBound
//	RFC 6298 §2, §5 RTO, doubling              recovery.rto, measure     TestRTO, TestMeasuredRTO, TestEverythingLost
//	… longer than a round trip, by a quarter   RoundTrip.Timeout         TestLeastMargin
//	… of what is out, not of what waits to go  Sender.schedule           TestNoTimeoutWhilePaced, TestNoTimeoutWhileHeld
//	… of a path, from its last answer on       paths.alive               TestPathAnswers
//	… without a timer: HPCC simulator          Sender.schedule           TestNoTimer
//	RFC 8985 §7, RFC 9002 §6.2 probes          Sender.lossTimeout        TestLossProbes
//	DCQCN §3.1 CNPs, one an interval           Receiver.Receive          TestCNP
//	draft-miao §9.1 notices are checked        Sender.notice             TestNotices
//	BS'19 §4.3 NACKs of the network: checks    Sender.nack               TestNackChecks, TestTransmissionNumbers
//	BS'19 §4.3 what did not arrive goes again  recovery.name, lost       TestNackTraces, TestNackGoBackN
//	BS'19 §4.3, §5 a reduction a round trip    Sender.nack               TestNackReactions, TestNackOncePerRoundTrip
//	BS'19 §4.3, §5 … in every state            Sender.nack               TestNackStates
//	BS'19 §4.3 incast without timeouts         transport.NACKPacer        TestNackIncast, TestNackHold,
//	                                                                    TestNackHoldIncast
//	BS'19 §5 attackers                         Sender.nack               TestNackAttacks, TestNackSweep, TestNackReplays
//	NDP §3.2 a trimmed packet is named         Receiver.name             TestTrimmable, TestTrimmedDuplicate
//	a switch's CNP                             Sender.notified           TestSwitchCNP
//	Bolt §3: requests, answers, SRC            Sender.Emit, notice       TestRequests, TestQueueNotices
//	RFC 8257 §3.2 echo of marks                Receiver.Receive          TestEcho
//	RFC 8257 §3.3 one reduction a window       Sender.updateState        TestEchoReduces
//	NICs that take a time to answer            transport.NIC             TestNICDelays, TestNICDelaysProbes
//	… longer than timeouts                     Receiver.later            TestNICDelaysAndTimeouts
//	… for a CNP than for its packet's ACK      Sender.notice             TestLateCNPs
//	coalesced and delayed ACKs                 Receiver.data             TestCoalescing
//	draft-cheng-iccrg-delivery-rate-estimation Sender.conclude           TestDeliveryRate
//	RoCEv2 (InfiniBand Annex A17): frames      packet.Packet.Emit        TestFrames
//	… messages, packet sequence numbers        ends.place, number        TestMessages, TestNumbers
//	all of them on paths of any kind           all                       TestRandomPaths, FuzzPath
//
// # What differs
//
// From the HPCC simulator: it has no retransmission timer and does not answer
// duplicates, which a flow whose last ACK is lost needs; its window may be passed by
// less than a packet, this one is not, but that one packet may always be out (window_test: below has
// its rule: the draft says neither; with a window of three packets the choice is a third of it); it
// lets a new rate move the packet that waits with HPCC and PINT only (new_rate: next has that); its frames
// are UDP with ACKs of IP protocol 0xFC and NACKs of 0xFD, here they are RoCEv2. Their bytes are the framings hpcc,
// hpcc_pint, hpcc_timely and hpcc_plain.
//
// From IRN: a packet that was sent again is not sent once more in the next recovery while
// its retransmission may still arrive; only a timeout does that. A timeout starts anew
// whenever the first unacknowledged packet is sent, and does not run while that is known to be lost and waits for its
// turn, as the hold-off below makes it wait. Retransmissions keep to the window
// and the rate as well. While a timeout's first packet is out, the others do not count
// as in flight.
//
// Without a timeout of the file (rto_min) a sender probes when no answer arrives (transport.LossTimer). The answer
// to a probe acknowledges what the receiver has; packets that were sent before the probe and are not acknowledged
// are lost, and the controller is notified as of a timeout. The sequence number of a probe is beyond all packets in
// flight, and no two probes within 2¹⁴ have the same one, so that a late answer proves no loss.
//
// # On the wire
//
// A flow is an RDMA WRITE of a reliable connection, to a region that begins at address 0; one of more than 2³¹ bytes
// is several. Packets of data are WRITE First (with RETH), Middle, Last or Only, with AckReq, and their PSN
// counts the packets of the flow from 0. An ACK's PSN is that of the last packet in order, a NAK's (PSN sequence
// error) that of the expected one; MSN counts the messages that are complete. BECN echoes a mark. CNPs have BECN, the
// marked packet's PSN and 16 reserved bytes. Every frame ends with the ICRC. What real NICs do not send (the word that
// selective repeat needs behind AETH, the number of a transmission, probes) is told in package packet, roce.go.
// A receiver's NIC knows the payload of a full packet, as it knows the path's MTU.
//
// # Fewer acknowledgements
//
// With ack_every above 1 a receiver waits for so many packets, but not with one that asks (AckReq): senders ask
// when an eighth of their window, or of bound, was sent since they last did. Without that, flows of windows as small as
// ack_every hear once a round trip and build a queue of a window. A receiver that waits answers after ack_delay at
// the latest. Controllers without a window, as dcqcn, never ask.
//
// # NICs that take a time
//
// nic_ack_delay, nic_nack_delay and nic_cnp_delay are what a receiver's NIC takes to make an answer (transport.NIC); an
// ACK that waits for more packets (ack_delay) is made behind that. An answer says what was so when its packet came, in
// its numbers and its telemetry. The round-trip times that a controller is told, and base_rtt where it is 0s, have
// nic_ack_delay in them. A CNP that comes behind the ACK of its packet is taken, if it is of no packet before the last
// one's.
//
// # Reordering
//
// With reordering: none a packet is lost when one with a higher number has come, as in IRN, which takes nearly
// every packet for lost under spraying. With fixed and adaptive it is lost when one that was sent later has come, and
// a round trip and a window have passed since it was sent. The window of adaptive grows by a quarter of the least
// round-trip time for each round trip in which something was sent again in vain, up to a smoothed round trip, and
// is small again after 16 recoveries, as in RFC 8985. It differs from that in three things: the sender finds out by
// itself what was sent in vain, for NACKs tell of each packet that came (TestReorderDuplicates); the window holds
// from the beginning, not only once reordering was seen; and a repetition that gets lost is found like any other
// packet. A sender that waits so long repairs a loss later by the window, and sends on meanwhile.
//
// Where switches spread packets over paths of different rates, a packet that is overtaken may wait in a slow path for
// a hundred round trips. There adaptive takes it for lost when it is overdue, by twice the latest lateness, and 96
// packets in a row have arrived that were sent after it, or when its flow's patience is over (spread.go), or the
// LossLimit of the path. Bytes between sender and receiver never exceed the window without losses: a copy that may
// still wait counts as in flight. Confirmed losses shorten the patience, down to what RACK waits. Paths differ where
// links between switches at the same distances from hosts have different rates, also during the run. Where they do
// not, queues of alternatives are about as long, and the window of RACK is enough.
//
// # Paths
//
// With paths above 1 the sender chooses among so many source ports (entropy values), which switches hash: each is a
// path, with a controller, window and pacing rate of its own, of schemes that are made for that (cc.Scheme.PerPath;
// others are refused). A packet goes to the path with room in its window whose turn has come first, and all paths
// together have no more in flight than their first windows, which make up that of a flow with one path. The receiver
// answers to the port that the data came from, so that acknowledgements tell the path. A path keeps its packets in
// order; so a packet is lost when an answer to one that was sent later on it comes back by it, and what other paths
// delay is no loss. Each path has a retransmission timer of its own. When that expires, new data goes by other paths
// only, and a probe without payload goes at once and then after every timeout, doubled each time, until one is
// answered. What is out there is sent again by other paths at once, if the file gives the timeout, or else when the
// answer shows what is lost, or no answer has come for as long as the path can hold a packet or, where that has no
// limit, for 64 timeouts while another path answers. A path of a switch that sprays is no path: there reordering:
// adaptive tolerates what that brings.
//
// # NACKs of the network
//
// BS'19 has a switch tell the sender which packet it has trimmed, and leaves the sender's part open.
// It is ours:
//
//   - Data carries the number of its transmission, mod 128, in bits that InfiniBand reserves; a
//     first transmission has 0. A switch sends it back with the rest of the header. So a NACK
//     that comes late, or once more, is told from one of what is out. Further packets that
//     a NACK names (Notification.More) have no number; they count while the first does.
//   - What is named is sent again next, before anything new, within window and rate: with
//     selective repeat and without recovery exactly that. A receiver of go-back-N drops
//     what comes behind a gap, so there all from the first one named on is, and the
//     receiver's own NACK, which comes later, changes nothing for a round trip. With
//     recovery: none NACKs are all that repairs; if one gets lost the flow does not end.
//     There the first packet that is out goes again whatever the window, for no
//     acknowledgement says what has come beyond it.
//   - nacks: loss makes them losses for the controller, an elephant's an ECN echo, once a
//     smoothed round trip: what else reduced, a timeout or SACKs, counts. As switches send
//     NACKs of retransmissions too, it reduces again in recovery. nacks: supply leaves
//     all of that to cc/supply, nacks: resend to the controller's OnNotice.
//   - A sender does not storm, whatever its controller makes of NACKs (transport.NACKPacer): after a NACK a packet
//     goes for each that has arrived; then gaps between packets follow from what was delivered, and double while
//     nothing is. They are spread by half to either side, by a hash, for hosts of an incast hear of it at the same
//     time. 256 senders have 1.4 NACKs a packet, most of them of the first flight, where they had 14 (TestNackIncast),
//     and with windows of one packet 0.2 where they had 4 (TestNackHoldIncast); both take half as long again.
//   - With integrity: keyed they are refused, for a switch has no key.
//
// # Trimming
//
// With trimmable switches may cut the payload of data off (dataplane/trimming, dataplane/ndp), which its headers say in
// the first bit that BTH reserves behind FECN and BECN. The receiver answers what is left by such a NACK, as NDP's does
// (§3.2), and so nothing waits for a timeout. It stands for its packet alone: coalesced acknowledgements go on waiting,
// and telemetry of the packet goes with the next of them.
//
// Controllers of TCP work too, but there is no PRR: a reduced window holds at once.
package rdma
