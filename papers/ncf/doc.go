// Package ncf is network-assisted congestion feedback, NCF, as Feldmann, Chandrasekaran, Fathalli and
// Weyulu propose it ("P4-enabled Network-assisted Congestion Feedback: A Case for NACKs", BS'19). A
// switch finds elephants with a rolling sketch. It keeps elephants, mice and control packets in three
// queues that share memory, and it sends NACKs to the senders of packets that found no room. The packages
// of transport/ contain the reactions of senders, and packet.Notification is the format of a NACK.
//
// Results, domains and deviations: docs/papers/ncf.md
//
// # Use
//
// The program needs links with a buffer, the scheduler of its three queues, and senders that react to NACKs:
//
//	switch: [forward, ncf]
//	switches:
//	  "*": {queues: 3, scheduler: ncf}
//	traffic:
//	  - {name: x, from: a, to: b, transport: {tcp: {nacks: loss}}, cc: cubic}
//
// The command shows the parameters with their sources, and runs the paper's experiments (experiments/*.yaml):
//
//	weir show ncf
//	weir run ncf/incast --quick
//
// In Go, Scheme goes into a registry (package app). Sketch, Detector, HeaviestFlows and Memory work without the
// program, for other programs of switches (ExampleMemory).
//
// # Where the paper's parts are
//
//	BS'19 part                              code                          tests
//
//	§3    address the elephants             Detector, NackElephants       TestNackElephantsOnly
//	§3    three queues suffice              selectQueue, tm.NewNCF        TestProgram_SelectsQueuesByClass
//	§3    detect elephants in data plane    Sketch, Program.Ingress       TestNoAllocation, BenchmarkProgram
//	§3    trim packets in data plane        Program.OnDrop                TestProgram_NackReturnsTrimmedPacket
//	§3    switches initiate NACKs           Program.sendNack              TestProgram_NackReturnsTrimmedPacket,
//	                                                                      TestAsymmetricReturn
//	§3    allocate memory dynamically       Memory                        TestMemoryOnDemand, TestMemoryBooks
//	§3    signals without queued packets    notifyHeaviest                TestTopElephants
//	§4.1  rolling windows, totals           Sketch                        TestSketch_CountsByWindow, TestLazyClearing,
//	                                                                      TestWindowNumbersWrap,
//	                                                                      FuzzSketch_MatchesExactModel
//	§4.1  F: average, any, all              Detector                      TestDetector_MatchesFigure2, TestPartialWindow,
//	                                                                      TestDetectionTime, TestElephantsEnd
//	      of what the port can send         Program.isElephant            TestElephantsInFlood, TestErrorOfForwarded,
//	                                                                      TestLazyClearing, TestWayBack
//	§4.1  from counters to sketches         Sketch, Dimensions            TestErrorBound,
//	                                                                      TestSketch_SecretSeedDefeatsAdversary,
//	                                                                      TestSketch_CountersSaturate,
//	                                                                      TestHash_IsStronglyUniversal,
//	                                                                      TestSketch_KeyCoversFiveTupleAndSeed
//	§4.1  small and fixed memory            Sketch, HeaviestFlows         TestSketch_UsesFixedMemory,
//	                                                                      TestCountNoAllocation
//	                                        Program.Footprint             TestFootprintHasAllState
//	§4.1  transitions of mice and elephants changes                       TestProgram_FlowletChangeKeepsOrder,
//	                                                                      TestChangeIsBounded
//	§4.2  three queues, their order         selectQueue, tm.NewNCF        TestProgram_SelectsQueuesByClass,
//	                                                                      TestProgram_AcksJoinMice, TestControlCeiling
//	§4.2  10 %, 10 %, at most 5 %           tm.NewNCF                     TestNoStarvation, TestControlCeiling
//	§4.2  the rest is work conserving       tm.NewNCF                     TestNoStarvation
//	§4.2  as needed, but for a flood        overload, tm.Port.SetAsNeeded TestBandwidthAsNeeded, TestOverloadLevels,
//	                                                                      TestOverloadOfRepeats,
//	                                                                      TestOverload_FindsUnresponsiveFlood,
//	                                                                      TestOverloadOfSlowPorts, TestHonestMice,
//	                                                                      TestRepeats_ExcuseOneArrival,
//	                                                                      TestHonestMiceShallow
//	§4.2  neither starves the other         tm.NewNCF, Memory             TestNoStarvation,
//	                                                                      TestAttack_MiceLeaveElephantsTheirHalf
//	§4.2  memory on demand, up to 95 %      Memory.Fits                   TestMemoryOnDemand,
//	                                                                      TestProgram_MiceReclaimElephantMemory
//	§4.2  reservations under scarcity       Memory.SelectVictim           TestMemory_ReservationsReclaimWhenFull,
//	                                                                      TestMemory_SelectsVictimWithMaxExcess,
//	                                                                      TestMemoryBooks
//	§4.3  congestion is lack of memory      lacksMemory,                  TestProgram_NacksOnlyLackOfMemory,
//	                                                                      TestMemory_CongestionHasHysteresis
//	                                        Memory.RecordRefusal
//	§4.3  trim, switch endpoints, flag      Program.OnDrop, sendNack      TestProgram_NackReturnsTrimmedPacket
//	§4.3  straight to the sender            Program.sendNack              TestAsymmetricReturn, TestNackThroughNAT
//	§4.3  what a NACK is in frames          Config.Form                   TestNoticeGolden, TestNoticeSegment
//	      for senders that know no NACKs    echoes                        TestProgram_EchoCopiesAcknowledgementWithECE,
//	                                                                      TestEchoWindow,
//	                                                                      TestEcho_SkipsFlowsWithoutClassicECN,
//	                                                                      TestEchoElephants, TestEchoTable,
//	                                                                      TestEchoForged, TestEchoesOfBridge,
//	                                                                      TestEchoNetworks, TestKernelObeysEchoes,
//	                                                                      TestNCFEchoesOnLab, TestSameResultEchoes
//	      a bridge between other hosts      header, WhyNotStandalone      TestNACKsOfBridge,
//	                                                                      TestNacks_SkipPacketsThatCannotBeNotified
//	§4.3  highest-priority queue            tm.NewNCF                     TestControlCeiling
//	§4.3  which packet did not arrive       packet.Notification           TestProgram_NackReturnsTrimmedPacket,
//	                                                                      TestProgram_BooksBalanceUnderRandomTraffic
//	§4.3  NACKs are not combined            Config.Coalesce               TestProgram_CoalescedNacksNameSamePackets,
//	                                                                      TestCoalesceLeaves, TestCoalesceCauses
//	§4.3  limited overhead                  NackCounts.Nacks              TestProgram_NackOverheadIsLimited,
//	                                                                      TestProgram_CoalescedNacksNameSamePackets
//	§4.3  NACKs can be dropped              NackCounts.Lost               TestNotAnswered,
//	                                                                      TestProgram_NackOverheadIsLimited
//	§4.4  tilting                           MemoryConfig.Tilt             TestMemory_TiltShiftsEntitlement
//	§4.4  spikes of mice reclaim memory     Program.reclaim               TestProgram_MiceReclaimElephantMemory,
//	                                                                      TestReclaimLongest, TestSpikeLimit
//	§4.4  what is reclaimed becomes NACKs   Program.OnDrop                TestProgram_MiceReclaimElephantMemory
//	§4.4  the N heaviest                    HeaviestFlows, notifyHeaviest TestTopElephants, TestTopRecall, TestTopDecays,
//	                                                                      FuzzHeaviestFlows_MatchExactModel
//	§4.4  until the load decreases          Memory.IsCongested            TestMemory_CongestionHasHysteresis,
//	                                                                      TestTopElephants
//	§4.4  an attack is limited in time      budget, MemoryConfig.Spike    TestSpikeLimit, TestSpikeClock,
//	                                                                      TestBudget_EndsThrottlingOfBalancedElephants,
//	                                                                      TestAttack_MiceLeaveElephantsTheirHalf,
//	                                                                      TestAttackOfManyTimes, TestShareOfMemory,
//	                                                                      TestMemoryInFlood
//	§4.4  mice handled in n·d               Program.flooded               TestBudget_EndsThrottlingOfBalancedElephants,
//	                                                                      TestMiceOfWindows
//	§4.4  a balance between all flows       budget.renew,                 TestBudgetRenews, TestBudgetAddsUp
//	                                        Memory.SelectVictim           TestNoticesTakeTime, TestSpikeLimit,
//	                                                                      TestElephantsPayForThemselves
//	§5    tuning control knobs              Scheme                        TestScheme_DefaultsMatchPaper, TestBadInput
//	§5    d from round trips and senders    loadedRTT                     TestDerivedDuration,
//	                                                                      TestOptions_RemarkUnsuitableWindows
//	§5    hosts that do not respond         Program.trimUnresponsive      TestUnresponsiveElephants,
//	                                                                      TestHeaviestFlows_JudgeResponseByCounts,
//	                                                                      TestNotifiedAboveShare,
//	                                                                      TestPartial_RespondingFlowsKeepTheirHalf
//	§5    overload of the switch            allowance                     TestAllowance_LimitsAndRegainsNacks,
//	                                                                      TestAllowance_BoundsNacksToUnresponsiveSenders,
//	                                                                      TestNotAnswered, TestTopElephants
//	§5    who the switch is                 Config.Signed                 TestProgram_SignsNacksOnRequest
//	§5    interplay, security of senders    the packages transport/tcp, transport/rdma and cc/supply
//
// TestProgram_BooksBalanceUnderRandomTraffic balances a switch's counters: it names each lost packet at most once, and
// exactly once if no NACK is lost. TestProgram_HoldsDataplaneContract tests the contract of programs and drivers.
// TestMemoryOfThePort tests memory that a port's buffer bounds, in bytes or packets. worlds/sim/ncf_test.go compares
// traces of networks: in wire form, and for any window and grouping. TestIncast_NacksPreventTimeouts and, with -tags
// slow, TestExperiments_QuickMechanismsHold check the claims about the mechanism itself.
//
// # Deviations
//
// Each line names a heading of docs/papers/ncf.md, which has the reason and the alternative option:
//
//   - The share of an elephant also counts against what the port can send (The total of shares).
//   - An elephant has least bytes in n·d, so the first packet of a flow is no elephant (The smallest elephant).
//   - Mice have the bandwidth that they need until two meters detect a flood (Bandwidth as needed).
//   - Throttling has a budget of time and a budget of mice (The limit of throttling).
//   - In a flood, datagrams leave room in the mice's reservation (Flows that begin in a flood).
//   - Of the N heaviest flows, only those above their offer are notified (Flows that do not respond).
//   - Elephants that do not respond are trimmed first (Flows that do not respond).
//   - Packets without payload, UDP and drops of an AQM cause no NACK (Drops that become NACKs).
//   - NACKs have a budget for each flow (Overhead of NACKs).
//   - Combined NACKs are of one flow, not of one source (Overhead of NACKs).
//   - The ceiling of control packets applies while other classes wait (The ceiling of control packets).
//   - Supply, early notices and the copies of form: ece are additions (Contents of a NACK, The form of a NACK).
package ncf
