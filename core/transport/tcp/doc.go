// Package tcp is TCP as Linux 6.18 speaks it. A Sender opens the connection and carries the data. A Receiver has an
// application that reads at once. Both are pure state machines. Names in parentheses in the code (tcp_…) are the
// functions of Linux that do the same.
//
// # Where the RFCs' parts are
//
//	RFC 9293 §3.5 handshake, its losses      Sender.handleSYNACK, Receiver.handleHandshake  TestTCP_MatchesTraces
//	RFC 9293 §3.6 FIN (of the sender)        Sender.sendNew                   TestTCP_MatchesTraces,
//	                                                                          TestApplication_KeepsRateStopAndSize
//	RFC 9293 §3.8.6 windows, probes of 0     Receiver.selectWindow            TestReceiveBuffer, TestZeroWindow
//	RFC 9293 §3.8.6.3 delayed ACKs           Receiver.scheduleAck             TestDelayedACK
//	RFC 5961 §3.2, §5 blind resets, old ACKs Sender.Receive, Sender.handleAck  TestSender_AcceptsResetOnlyInSequence,
//	                                                                           TestBlindSegments
//	RFC 2018 §3, §4 SACK, receiving          Receiver.holdSegment             TestSACKBlocks
//	RFC 2018 §5, RFC 6675 SACK, sending      Sender.tagSACK, scoreboard       TestDupThresh, TestRandomPaths
//	RFC 2018 §8 reneging                     Sender.handleReneging             TestSender_ResendsRenegedData
//	RFC 2883 DSACK                           Receiver.recordDuplicate         TestSACKBlocks
//	RFC 3708, RFC 3522 undo (DSACK, Eifel)   undo                             TestUndo_RestoresSpuriousReduction,
//	                                                                          TestUndoState
//	RFC 8985 §6 RACK                         rack, scoreboard           TestRACKSteps, TestRACKWindow, TestRACKLosses
//	RFC 8985 §7 TLP                          tlp, Sender.makeProbeDue         TestTLP_RepairsTailLoss, TestTLPState,
//	                                                                          TestTCP_MatchesTraces
//	RFC 9937 PRR                             prr                              TestPRRText, TestPRRConverges,
//	                                                                          TestPRR_ReducesInProportion
//	RFC 6298 RTO, backoff                    rto, Sender.handleTimeout        TestRTTEstimator_FollowsRFC6298,
//	                                                                          TestRTOBackoff, TestRTOGivesUp
//	RFC 5682 F-RTO                           Sender.inTimeout                 TestFRTO_DetectsSpuriousTimeout
//	RFC 6928 initial window                  Config.InitialWindow             TestInitialWindow
//	RFC 7323 §2 window scale                 Config.windowScale, Sender.handleSYNACK  TestWindowScale, TestScaleOfBuffer,
//	                                                                          TestLongFatPath
//	RFC 7323 §3 to §5 time stamps, PAWS      Sender.Receive, Receiver.Receive TestPAWS_RejectsOldTimestamps,
//	                                                                          TestInjectedStamps
//	RFC 3168 §6.1 ECN                        Sender.enterReduced              TestECN_ReducesOncePerWindow,
//	                                                                          TestEchoAtOnce
//	RFC 8257 §3.2 DCTCP's receiver           Receiver.markedCE                TestDCTCPReceiver
//	RFC 7661 §4.2, RFC 2861 unused windows   Sender.validateUsage             TestWindowValidation
//	RFC 5681 §3.1 AIMD, with cc/reno         Sender.concludeAck               TestRenoUnderLoss, TestRenoUnderHeavyLoss
//	RFC 9438, with cc/cubic                  Sender.concludeAck               TestTCP_FillsLink, TestCubicCurve
//	draft-cheng-iccrg-delivery-rate-estimation  rateSample                    TestDeliveryRate, TestBBR_PhasesFollowDraft
//
// NACKs of the network (BS'19 §4.3, §5). Weir defines the responses:
//
//	§4.3 which packet did not arrive         Sender.processNack               TestNackExact, TestNackSpans
//	§4.3 "quickly reduce", once a round trip Sender.nackLosses                TestNackTable, TestNackOnceARoundTrip
//	§4.4 elephants of which nothing is lost  Sender.reduceOnNack              TestNackTable
//	§4.3 incast; senders do not storm        transport.NACKPacer                TestNackIncast, TestNackPacer
//	… with delayed ACKs                      Sender.requestsAck                  TestNackDelayedACK
//	… with RACK and TLP                      Sender.enterRecovery             TestNackRACK, TestNackTLP
//	… with F-RTO, undo, PRR                  Sender.enterNackRecovery         TestNackFRTO, TestNackUndo, TestNackPRR
//	… without an allocation                  Sender.receiveNack               TestNack_DoesNotAllocate
//	§5 security: off the path                Sender.ofThisFlow                TestNackWithoutTuple, TestNackSweep
//	… replays, and NACKs of what arrives     Sender.markNacked                TestNackReplay, TestNackOfDelivered
//	… how often a NACK reduces               Sender.mayReduce                 TestNackRules
//	… damaged notices                        Sender.receiveNack               FuzzSender_ForgedNacksKeepCounts,
//	                                                                          TestNackRandomPaths
//	RFC 6633 no source quench; other phases  Sender.receiveNack               TestNackPhases
//
// A stamp has ticks of 1 ms: a NACK cannot distinguish a transmission from an earlier one within the same tick. A NACK
// that names several packets names those of one stamp.
//
// Parts of Linux beyond the RFCs: window updates (tcp_may_update_window) TestInjectedWindows, TestRewrittenWindows,
// TestInjectedEchoes, TestInjectedAcknowledgements, TestInjectedMalformed; send buffers TestSendBuffer; receive buffers
// that tune themselves TestReceiveBuffer, TestReceiveBufferOfJumboFrames, TestShareOfBuffer; compressed ACKs
// TestCompressedACK; bursts and PSH TestSender_BurstsMatchLinux.
//
// # What differs from Linux
//
// Time is exact: timers do not wait for jiffies, except for the two that RACK and TLP add (TCP_TIMEOUT_MIN). Segments
// that Linux hands to the host's queue stay here until the NIC takes them, and get their stamps then. The receiver's
// own direction carries no data and stays open after the sender's FIN. There is no connection without SACK, time stamps
// and window scaling, no Nagle by default (applications set TCP_NODELAY), no urgent data, no path MTU discovery. The
// part of a receive buffer that is window depends on the memory into which frames are received, which is the driver's:
// here half of it up to an MTU of 1500, and above what the lab's frames take.
package tcp
