// Package hpcc is HPCC++ (draft-miao-iccrg-hpccplus-01, and HPCC, SIGCOMM'19): windows
// that follow the bytes in flight on each link of the path, computed from telemetry at
// the sender (Sender) or the receiver (Receiver, with Follower at the sender). PowerTCP
// and HPCC-PINT (PINT) are other laws on the same telemetry.
//
// # Where the draft's lines are
//
//	§4.1, §5  parameters, W_ai's rule            Config, law.setIncrease TestSchemes, TestIncreaseRule
//	§5        flows start at line rate           newWindow              TestFormulas, TestBaseRTT
//	§4.2 line 3      links of the path           law.measureInflight    TestTauOfWorstHop, TestHopMissing
//	lines 4, 5       txRate, u'                  law.measureInflight    TestFormulas
//	lines 6, 7       the worst link, its tau     law.measureInflight    TestTauOfWorstHop
//	lines 8, 9       U                           average                TestFormulas
//	lines 11 to 20   ComputeWind                 law.computeWind        TestFormulas, TestStages, TestStageAtTarget
//	lines 21 to 26   once per round trip         Sender.OnAck, roundTrip TestOncePerRoundTrip, TestGoneBack
//	line 27          R = W/T, L = ack.L          window.Decision, track TestFormulas, TestFirstACK
//	§6        telemetry on some packets only     law.newRecords         TestHopMissing
//	§6.1      guideline 1, one commit a T        Sender.OnAck, Receiver TestOncePerRoundTrip, TestReceiverOncePerT
//	§6.1      guideline 2, faster fairness       Receiver.updateIncrease TestReceiverCounts
//	§6.1      guideline 3, one snapshot          telemetry.Hop
//	§6.2 lines 28 to 34 Rx-HPCC                  Receiver.OnData        TestReceiver, TestReceiverOncePerT
//	§6.2      N, flows at the receiver           cc.Census              TestCensus, TestReceiverCounts
//	§9.1      integrity of feedback              transport.Asker.Genuine TestAttacks, TestSealedForms, TestSealedBytes
//	§9.1      a lying receiver                   window.clamp           TestFollower, TestLyingReceivers
//	§9.1      the relative ratio only            telemetry.RelativeLoad TestRelativeConverges, TestRelativeErrors
//	§9.1 … on the wire, once a round trip telemetry.Format TestRelativeOnTheWire,
//
// TestRelativeOncePerRoundTrip
//
//	§9.4      sojourn time                       Config.Sojourn         TestSojourn
//
// In whole networks, over rdma, tcp and udp, with switches that write telemetry:
// convergence of two flows (TestTwoFlowsConverge), HPCC's incast of every law
// (TestIncastNetwork), wire form, and clocks' offsets to the last bit (TestForms), the window
// as a bound (§9.3: TestWindowBound), hops without telemetry and more hops than fit (TestMixedHops,
// TestLongPath), thinning, probes and congestion only (§6: TestThinning), probes on the data's path (§6.1:
// TestProbesTakeThePath), more flows than N (§5: TestMoreThanN), receivers (§6.2:
// TestReceiverNetwork), flows shorter than T (TestShortFlows), windows below a packet
// (TestManySenders), senders that go back (TestGoBack), classes under DWRR (§9.4:
// TestClassesNetwork), coarse and drifting clocks (TestClockErrors).
//
// HPCC's ablations (per ACK, per RTT, rxRate, state per hop) are modes: TestModes. The
// telemetry's format, with what it rounds and wraps, is in package telemetry; what a
// sender makes of it: TestOnTheWire. Clocks' offsets do not matter: TestOffsets.
//
// HPCC, Appendix A: one update brings one link to its target (TestOneStep); many links
// (TestManyResources, TestAtMostIUpdates); the fixed point of additive increase, and more
// flows than N (TestFixedPoint); a register for each link (TestPerHopFixedPoint).
// A closed loop, HPCC's 16-to-1 incast (§5.4): TestIncast, TestReactions.
// PowerTCP's algorithm 1: TestPowerTCP; HPCC-PINT's sender: TestPINT. What every controller
// must hold: TestModel, TestWindowBounds, FuzzSender, TestOnAckAllocatesNothing,
// BenchmarkOnAck.
//
// # Experiments
//
//	websearch-30, -50, hadoop-30, -50, with and without -incast
//	                    HPCC §5.3, figure 11: simulation, 320 hosts, six schemes  TestFlowCompletionTimes (slow)
//	flow-control        HPCC §5.3: PFC, go-back-N, IRN            TestFlowControl (slow)
//	incast16, incast16-reaction  HPCC §5.4: simulation            TestExperiments
//	rates               HPCC figure 6: txRate and rxRate          TestExperiments
//	long-short, incast-long, elephant-mice, joins
//	                    HPCC §5.2: the testbed's cases            TestExperiments
//	parameters          HPCC §5.1, footnotes; the draft's §5      TestExperimentsLoad
//	overhead            draft-miao §6, §7.2; draft-pan §4         TestExperimentsLoad
//	wan                 ours                                      TestExperimentsLoad
//
// The paper's claims of its testbed have ids of their own (long-short, incast-long, mice, joins),
// apart from those of its simulations (websearch, hadoop, incast16, flow-control). One does not
// hold: mice.dcqcn, for mice among DCQCN's elephants take 25 us here and more than 35 us there;
// the no-pauses claims fail with incast (some 110 to 135 frames in a millisecond), where 60 first windows
// of 162 KB meet before anybody hears of it, and the paper shows none;
// long-short.dcqcn-slow is undecided, for in some seeds DCQCN's fast recovery brings the long flow back;
// incast16.short-queue is undecided with W_ai of 25 B (4.7 ± 1.6 kB, the paper has 4).
//
// # Security (§9.1)
//
// Integrity. With the transports' integrity: keyed every packet of a receiver (ACK, NACK,
// CNP, probe's answer, report, Rx-HPCC's W and N) carries a number and HMAC-SHA-256-128 over
// its header and extensions, under a key of its flow: 22 bytes, which make an ACK with HPCC's
// telemetry 24 bytes longer, and 300 to 350 ns at either end (package transport has the
// benchmarks; the law takes 75). The sender takes nothing else in:
// what is forged, altered, of another flow, or comes again changes no field of the
// controller and no time at which the sender acts; what was altered is as if lost.
// Without a key forged ACKs made a flow of 0.74 ms take 3 to 5 times as long
// (TestAttacks). It does not help against a switch that writes lies into data on
// its way, for those who write there have no key; nor against one that drops; and CNPs and
// NACKs that switches make are refused.
//
// A lying receiver has the key. What bounds its harm is that a window is W_init at
// most and a rate B_NIC. A flow whose receiver reports idle links thus sends at line rate, as it
// began, for ever; queues have up to W_init for each such flow; honest flows are
// left with what additive increase gives, W = W_ai/(1 − eta/U) each, where U is what the
// liars fill, 1 or more, and the honest add. Measured at 100 Gb/s, T 6.6 µs (TestLyingReceivers), two
// honest flows have of the link, alone 95.1 %; beside one liar 1.6 % (w_ai 80 B) or 9.3 % (n: 4), of
// which the law says 2.6 and 12.8 %; beside two 0.4 %, with a queue of 95 kB. There is no loss, no
// starvation to zero, and no defence here: a network that needs one polices at its edge, or gives
// tenants classes of their own (§9.4). The same of a receiver of Rx-HPCC that tells 2^32 bytes.
//
// Relative only. In the telemetry program's format: relative packets carry 2 bytes, the
// largest load of the path in 1/4096 of the port's capacity, which switches average over t as for
// PINT; U is that. It converges as with records: last flows end within 1.1 % of the same
// time. Hosts cannot learn rates, counts of bytes, queues, times, identities or the number of hops
// from what they get. A host can learn loads, and one that is alone on a link still
// can divide its own rate by the load (TestRelativeOnTheWire): that is inherent in any feedback
// of load. rx_rate, per_hop, delay: sojourn and PowerTCP need records and are refused.
//
// # What the draft leaves open
//
// maxStage is 0. Paper and draft print 5; the authors' project page calls that a typo,
// and their simulator has 0.
//
// The first ACK has no earlier records. It stores them, moves lastUpdateSeq, and nothing
// else, as in the simulator. U is 1 at the start.
//
// Equal and backward time stamps: such an ACK is not used, not even by the links whose
// time moved, since a load without the worst link would open the window; L stays, so
// that nothing is lost. After 2T without a measurement, what has moved counts:
// TestEqualTimes, TestClockSetBack.
//
// Wraps are undone before, by telemetry.Unwrapper; where it cannot (a port may have sent
// more than the field counts) the records are first ones again, as they are when a port's
// counter begins anew.
//
// Another path (its identity, number of hops, switches and ports where known, a port's
// rate): records and U are forgotten, W and Wc stay: TestPathChange. A flow whose packets
// take turns on several paths is not steered.
//
// Telemetry upon congestion only (§6): where no switch had cause to write, all loads are
// below the switches' threshold, which then stands for U: the window grows by eta over it (TestUncongested).
//
// A link without telemetry, or with no room for its record, is not seen. If that is
// where packets wait, the window stays within W_init, and loss is the transport's.
//
// Clamps: W is from MinRate·T and a byte to W_init = B_NIC·T, at least a packet, and so is
// Wc (the simulator clamps both, too): TestWindowBounds. A W below a packet is a window
// of one, paced at W/T. W counts payload while telemetry counts frames; the law is a
// ratio and does not mind.
//
// T is given, or the path's, or the least RTT measured: then a flow starts with the
// transport's initial window, unpaced, and the first measurement opens it: TestBaseRTT.
//
// A new rate moves the pending send, or else senders bunch (TestIncast): the transport's
// part, as cc.Decision says.
//
// Line 24's snd_nxt is the first byte never sent, also after the sender has gone back; what
// is acknowledged of that sent again after an update ends its round trip, too.
//
// Losses do not move the window. After a timeout one packet is sent; W comes back with
// the first measurement, or without telemetry as in slow start: TestTimeout.
//
// rx_rate needs the rate of arrivals, which records do not have: arrivals are what was
// sent and what the queue has grown by.
//
// Rx-HPCC's own gaps are at Receiver: TestReceiverTimer, TestReceiverSmallWindows.
//
// Appendix A's "at most I steps" for I links (as our notes have it) is not what its
// recursion does when a flow that is done shares a link with one that is not: the gap
// then shrinks by a factor each step. TestAtMostIUpdates has the smallest case.
package hpcc
