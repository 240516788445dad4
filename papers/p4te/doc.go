// Package p4te is P4TE (Robin, Khan 2022), traffic engineering inside the switches of a fat tree. Each packet measures
// the link that it takes, and each switch's own control plane moves ports between routing groups. Flowlets are routed
// by class, and fake ACKs adapt the senders of a class that exceeds its safe rate. The package follows the paper. The
// public code is of a later version and differs; parameters with its values name it as their source.
//
// Results, domains and deviations: docs/papers/p4te.md
//
// # Use
//
// The program also routes, in a fat tree with hierarchical addresses. Senders can be any TCP:
//
//	topology: {fat_tree: {k: 4, rate: 100Mbps, delay: 10us, buffer: 100kB}}
//	addresses: hierarchical
//	switch: [p4te]
//	traffic:
//	  - {name: x, from: h0, to: h15, transport: tcp, cc: cubic}
//
// The commands show the parameters with their sources, and run the paper's experiments:
//
//	weir show p4te
//	weir run p4te/ablation --quick
//
// In Go, Scheme goes into a registry (package app). Gradient, Colours, SafeRates, LinkDelay and UpwardTable work
// without the program (ExampleGradient).
//
// # Where the paper's parts are
//
//	§3.1, fig. 1          fat trees, hierarchical addresses   dataplane.TreePosition, topology.Tree
//	§3.2                  traffic classes                     Class
//	§4.3                  tables are not written atomically   ControlPlane.appendWrite  TestWritesAreNotAtomic,
//	                                                          TestControlQueue
//	§4.6                  packets are made of packets         Program.cloneHeaders, rater.makeFakeACK
//	                                                          TestRecirculationExhausted,
//	                                                          TestControlPlane_OverloadBoundsWaitingWrites
//	§6.1.1, alg. 1, 1–10  queue depth                         Gradient  TestGradient_MatchesFigure5,
//	                                                                    TestOneEventForDelta
//	§6.1.2, alg. 2, 1–10  hop delay                           LinkDelay, Gradient, Header  TestClockOffset,
//	                                                          TestClockDrift, TestLinkDelayOffset, TestLinkDelayAges,
//	                                                          TestFirstEventOfOffset, TestSourceWraps
//	§6.1.2                T^Source of each hop                restamp  TestHopByHop
//	§6.1.2                feedback to the source switch       Program.notifyNeighbour  TestFeedbackLost,
//	                                                          FuzzFeedback_RoundTripsBytes, TestThreeTiers
//	§6.1.3, alg. 1, 11–18 utilisation                         Colours  TestColours_ReportChangesOnce, TestPacketRates,
//	                                                          TestRateChange
//	§6.1.3                port_utilizations by recirculation  Program.monitorPort  TestRecirculationExhausted
//	§6.1.4, alg. 2, 11    classes' rates                      SafeRates  TestSafeRates
//	§6.2.1.1              downward table                      New  TestThreeTiers
//	§6.2.1.2, fig. 6      routing groups, three tables        UpwardTable  TestUpwardTable_SpreadsOverFirstGroup,
//	                                                                       TestControlPlane_RangesMapValuesToGroups
//	§6.2.1.2, alg. 3      path selection                      Program.selectPath  TestProgram_SelectsPathByAlgorithm3,
//	                                                          TestFlowletStays
//	§6.3, §6.5            all in one group: ECMP              UpwardTable.Select  TestOneGroupIsECMP
//	§6.3, alg. 4          priorities                          Reconfigure  TestControlPlane_FollowsAlgorithm4,
//	                                                                       TestControlPlane_StepMappingDriftsRangeDoesNot
//	§6.4.1                flow selection                      rater.adaptRate  TestFlowSelection, TestNoMarks
//	§6.4.1                leaves: once in B bytes             rater.recordFromHost, rater.receiveFake  TestOnceInB,
//	                                                          TestSequenceWrap, TestLeafStamps,
//	                                                          TestRater_LatestSYNOwnsCell,
//	                                                          TestWithinALeaf
//	§6.4.2, §7.2.1        fake ACKs                           rater.makeFakeACK  TestFakeACK, TestWindowChange,
//	                                                          TestLastAckIsIgnored,
//	                                                          TestSender_OvertakingFakeACKKeepsGoodput
//	§6.5                  failed links                        ControlPlane.SetLinkDown
//	                                                                             TestControlPlane_FailedLinkLeavesTables,
//	                                                                             TestLinkFailure
//	§6.6                  a leaf's register                   rater.addRegisters  TestRegisterSize
//	§6.6                  tables, registers, meters, accesses Program.Footprint  TestPaperRoutingGroups,
//	                                                          TestPaperMonitoring, TestPaperFlows,
//	                                                          TestFootprintModes, TestFootprintWrites
//	§7.2                  table 1, figure 11, released runs   experiments  TestTable1_P4TEBeatsECMPInStride,
//	                                                                       TestTable1_FittedRateMatchesLogs,
//	                                                                       TestTable1_OptionsShowCauses,
//	                                                          TestPolarisedPorts
//	P4TE code             the code's ack = seq + 1            NextByte  TestFakeACKOfTheCode, TestNextByte
//	P4TE code             path selection, decision, meters    CodePaths, DecideCode  TestCodePaths,
//	                                                          TestCodeDecision, TestCodeMeters
//	not in the paper      the rate part in weir switch        Standalone
//	                                                          TestHeldByWindow, TestHeldWindows, TestHeldNeeds
//	not in the paper      windows that a leaf holds           Enforced  TestEnforcedLimit, TestEnforcedIsObeyed,
//	                                                          TestEnforcedFlows, TestEnforcedRises
//	not in the paper      rates lowered where packets wait    DecideQueue  TestDecisionQueue
//	not in the paper      marks without fake ACKs             Marks  TestMarks_LeaveWindowsUnchanged, TestMarksGain
//	not in the paper      values that follow from the network Options.configAt  TestOptions_DeriveFromRoundTripAndRates,
//	                                                                            TestOptions_RemarkUnsuitableValues
//	not in the paper      ports without packets               Program.ageIdlePorts  TestProgram_AgeReturnsIdlePort
//	not in the paper      failures reported to others         reachability  TestReportUnreachable, TestReportsLost
//	not in the paper      measures of the control plane       Program.Steering  TestProgram_SteeringReportsWorkAndShares
//
// Further tests. The header on the wire: TestHeaderGolden, TestHeaderDamaged, FuzzHeader_RoundTripsBytes. TestWireMode
// runs whole networks in both forms, over IPv4 and IPv6. Header bytes: TestHeaderOverhead. A header from a host is not
// trusted: TestHostsHeader. Parts that are switched off have no effect: TestProgram_DisabledPartsStayOff. Refused
// configurations: TestOptions_ValidateRejectsOutOfRange. Cost: TestNoAllocationPerPacket, BenchmarkPacket,
// BenchmarkFatTree. Linux hosts: TestCommittedRate, TestP4TEOnLab, TestMovesOff. The experiments' files:
// TestExperimentsLoad, TestVariants_EveryFlowEnds.
//
// # Deviations
//
// Each line links to the reason. Where the public code differs from the paper, options select the code's way.
//
//   - A hop delay counts from the port's minimum, which ages: docs/papers/p4te.md#hop-delays
//   - Δ, the burst, the gap and B follow from the round trip at ports in bit/s: docs/papers/p4te.md#times-and-lengths
//   - Sub-ranges choose the group at ports in bit/s, not algorithm 4: docs/papers/p4te.md#mapping-of-values-to-groups
//   - Idle ports can return to their group, with age: docs/papers/p4te.md#ports-without-packets
//   - The control plane loses events when its queue is full: docs/papers/p4te.md#events-and-writes
//   - The test for "no action" reads the packet's colour: docs/papers/p4te.md#condition-for-no-action
//   - The leaf drops repeated fake ACKs: docs/papers/p4te.md#repeated-fake-acks
//   - A leaf stores more than 4 bytes per flow: docs/papers/p4te.md#register-of-a-leaf
//   - The leaf writes acknowledgement and window into the header: docs/papers/p4te.md#header-between-switches
//   - Flows within a leaf are not controlled without within_leaf: docs/papers/p4te.md#flows-within-a-leaf
//   - With enforced the leaf lowers windows in real ACKs: docs/papers/p4te.md#windows-that-the-leaf-holds
//   - Rates can go down only where packets wait, with decision: queue: docs/papers/p4te.md#windows-that-the-leaf-holds
//   - A flowlet ends when its link fails, and tell reports failures: docs/papers/p4te.md#failed-links
//   - Options of the code: docs/papers/p4te.md#options-of-the-code
package p4te
