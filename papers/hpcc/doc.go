// Package hpcc implements HPCC++ (draft-miao-iccrg-hpccplus-01, and HPCC, SIGCOMM'19): a window follows the bytes in
// flight on each link of the path. The sender (Sender) or the receiver (Receiver, with Follower at the sender) computes
// it from telemetry. PowerTCP and HPCC-PINT (PINT) are other laws on the same telemetry.
//
// Results, domains and deviations: docs/papers/hpcc.md.
//
// # Use
//
// Switches write telemetry. A transport requests it and calls the controller:
//
//	switch: [forward, telemetry]
//	traffic:
//	  - {name: x, from: a, to: b, transport: rdma, cc: {hpcc: {eta: 95%}}}
//
// The program shows the parameters with their sources, and runs the paper's experiments, such as 16 to 1:
//
//	weir show hpcc
//	weir run hpcc/incast16
//
// In Go, a registry (package app) holds Scheme, RxScheme, PowerScheme and PINTScheme. New returns the controller of one
// flow, which a transport or a test drives (ExampleNew).
//
// # Where the paper's parts are
//
// Sections and lines are the draft's, except where HPCC is named. "Weir" marks what neither of them has.
//
//	§4.1, §5  parameters, rule for W_ai          Config, law.setIncrease TestSchemes_DocumentEveryParameter,
//	                                                                     TestIncreaseRule,
//	                                                                     TestConfig_PresetsSetParameters
//	§5        flows start at line rate           newWindow               TestSender_FollowsPaperLinesByHand, TestBaseRTT
//	§4.2 line 3      links of the path           law.measureInflight     TestTauOfWorstHop, TestHopMissing
//	lines 4, 5       txRate, u'                  law.measureInflight     TestSender_FollowsPaperLinesByHand
//	lines 6, 7       the worst link, its tau     law.measureInflight     TestTauOfWorstHop
//	lines 8, 9       U                           average                 TestSender_FollowsPaperLinesByHand
//	lines 11 to 20   ComputeWind                 law.computeWind         TestSender_FollowsPaperLinesByHand,
//	                                                                     TestSender_StagesLimitAdditiveIncrease,
//	                                                                     TestStageAtTarget
//	lines 21 to 26   once per round trip         Sender.OnAck, roundTrip TestOncePerRoundTrip, TestGoneBack
//	line 27          R = W/T, L = ack.L          window.Decision, track  TestSender_FollowsPaperLinesByHand, TestFirstACK
//	§6        telemetry on some packets only     law.newRecords          TestHopMissing,
//	                                                                     TestSender_UncongestedAnswersOpenWindow
//	§6.1      guideline 1, one commit per T      Sender.OnAck, Receiver  TestOncePerRoundTrip, TestReceiverOncePerT
//	§6.1      guideline 2, faster fairness       law.updateIncrease      TestReceiverCounts
//	§6.1      guideline 3, one snapshot          telemetry.Hop           TestTelemetry_RecordsInstantOfDequeue
//	§6.2      an ACK for a few packets           rdma: ack_every         TestThinnedWindows
//	§6.2 lines 28 to 34 Rx-HPCC                  Receiver.OnData         TestReceiver_StoresLoadsOfPackets,
//	                                                                     TestReceiverOncePerT, TestReceiverLate,
//	                                                                     TestReceiverWaits
//	§6.2      N, flows at the receiver           cc.Census               TestReceiverCounts
//	§5        N that the receiver reports        Config.Census           TestReportedIncrease, TestCensusNetwork
//	§9.1      integrity of feedback              TelemetryRequester.IsGenuine
//	                                                                     TestSeal_KeyDefeatsAttacks,
//	                                                                     TestSealedForms, TestSealedBytes
//	§9.1      a lying receiver                   window.clamp            TestFollower_AdoptsWindowOfReceiver,
//	                                                                     TestLyingReceivers
//	§9.1      only the relative ratio            telemetry.RelativeLoad  TestRelativeConverges, TestRelativeErrors
//	§9.1      … on the wire, per round trip      telemetry.Format        TestRelativeOnTheWire,
//	                                                                     TestRelativeOncePerRoundTrip
//	§9.1      … on several paths                 arrivalOrder            TestSpreadLoads, TestSpreadRoundTrip
//	§9.4      sojourn time                       Config.Sojourn          TestSender_SojournReplacesQueue
//	Weir      as Linux' own TCP follows it       agentFollower, Receiver TestAgentFollower, TestAgentReceiver,
//	                                                                     TestRxConfig_AgentRejectsOtherParameters
//	Weir      many paths, not chosen             paths, law.measureInflight  TestSender_MeasuresEachPath,
//	                                                                         TestIncastOnManyPaths
//	Weir      many paths, chosen                 cc.Scheme.PerPath       TestChosenPaths, TestChosenPathsForms,
//	                                                                     TestReceiverOfPaths
//	HPCC §5.4, figures 6, 13  ablations: per ACK, per RTT, rxRate, state per hop
//	                                             Mode                    TestSender_ModesReactAsDescribed,
//	                                                                     TestSender_PerACKReactionOverreacts
//	HPCC §5.4 the 16-to-1 incast as a closed loop                        TestSender_IncastDrainsToShortQueue
//	HPCC simulator  the rate with the window of a new flow or without (HAS_WIN, VAR_WIN)
//	                                             Config.Bound            TestSender_BoundSetsWindow
//	HPCC simulator  between updates only hops with a queue (SAMPLE_FEEDBACK)
//	                                             Config.SamplesQueues    TestSampledFeedback
//	PowerTCP algorithm 1                         PowerTCP                TestPowerTCP
//	PINT      the sender                         PINT                    TestPINT_UsesDecodedLoadAsU
//
// The page lists every section of both drafts, and the experiments with the tests that run them. The format of the
// telemetry, with its rounding and wrapping, is in package telemetry; TestOnTheWire shows its effect on a sender.
//
// HPCC Appendix A, as a fluid:
//
//	one update brings one link to its target             TestOneStep
//	many links                                           TestManyResources, TestTheory_NeedsOneUpdatePerResource
//	the fixed point of additive increase, more than N    TestFixedPoint
//	a register for each link                             TestPerHopFixedPoint
//
// Whole networks over rdma, tcp and udp, with switches that write telemetry:
//
//	two flows converge                                   TestTwoFlowsConverge
//	HPCC's incast under every law                        TestIncastNetwork
//	wire form; clock offsets that change no bit          TestForms_GiveSameTranscript,
//	                                                     TestSender_ClockOffsetsChangeNoDecision
//	§9.3: the window as a bound                          TestWindowBound
//	hops without telemetry, more hops than fit           TestMixedHops, TestLongPath
//	§6: thinning, probes, upon congestion only           TestTelemetry_SparseRequestsKeepQueueShort
//	§6.1: probes on the data's path                      TestProbesTakeThePath
//	§5: more flows than N                                TestMoreThanN
//	§6.2: receivers                                      TestReceiverNetwork
//	flows shorter than T, windows below a packet         TestShortFlows, TestManySenders
//	go-back-N                                            TestGoBack
//	§9.4: classes under DWRR                             TestClassesNetwork
//	coarse and drifting clocks                           TestClockErrors
//
// Every controller: TestSender_HoldsModelInvariants, TestWindowBounds, FuzzSender_KeepsBoundsOverAnyStory,
// TestOnAck_DoesNotAllocate, BenchmarkOnAck.
//
// # Deviations
//
// The code differs from the paper and the drafts here:
//
//   - §6.2 line 29: a receiver commits when data under its last window has arrived for a T
//     (docs/papers/hpcc.md#when-a-receiver-commits).
//   - §5: with the census, W_ai follows the last hop's rate (docs/papers/hpcc.md#w_ai-by-the-last-hops-rate).
//   - L and U are kept for each of several paths (docs/papers/hpcc.md#several-paths).
//   - HPCC §5.3: PFC thresholds and ideal times of figure 11 (docs/papers/hpcc.md#other-thresholds-than-the-text).
//   - HPCC Appendix A: "at most I steps" does not follow (docs/papers/hpcc.md#at-most-i-steps).
//   - HPCC §5.2: figure 10 is missing (docs/papers/hpcc.md#what-is-missing-figure-10).
//
// What the drafts and the paper leave open, and how it is read, is in the page's part
// docs/papers/hpcc.md#what-the-drafts-and-the-paper-leave-open.
package hpcc
