// Package p4abc implements activity-based congestion management, ABC, as Menth, Mostafaei, Merling and Häberle built
// it in P4 (P4-ABC, 2019). Edges measure the activity of each user and write it into packets. Queues drop packets of
// the most active users first, and the core keeps no state per user. We found no public code by the authors; the
// package follows the paper and, for the averages, the work that it cites (Menth, Hauser, ICPE'17).
//
// Results, domains and deviations: docs/papers/p4abc.md.
//
// # Use
//
// One switch can be edge and core, or the switches of a domain have sides (domain.yaml). Senders can be of any kind:
//
//	switch: [forward, {abc: {reference: 10kbps}}]
//	traffic:
//	  - {name: x, from: a, to: b, transport: tcp, cc: cubic}
//
// The program shows the parameters with their sources, and runs the paper's experiments. weir switch runs the same
// program between interfaces:
//
//	weir show abc
//	weir run p4abc/fig5
//
// In Go, Scheme goes into a registry (package app). Meter, Activity, Threshold and Average work without it
// (ExampleThreshold).
//
// # Where the paper's parts are
//
// Sections, equations and figures are P4-ABC's; "extension" marks what the paper does not have. Files x.yaml are in
// experiments. Tests with names that end in Full, with -tags slow, have longer runs and more points. TestQuickVariants
// runs the quick variant of each experiment.
//
//	Part            Mechanism or claim                Code or experiment  Tests
//	§3.1, figure 1  ingress, core, egress: by port    Side, Program       TestProgram_MarkLivesWithinDomain,
//	                                                                      TestBothDirections,
//	                                                                      TestAssignSides_FollowsNeighboursAndConfig,
//	                                                                      TestTwoOutsidePorts,
//	                                                                      TestProgram_MarksFitInsideMTU
//	§3.1            domains, in both worlds           domain.yaml, domain-edges.yaml (two edges at one core),
//	                                                  domain-tree.yaml (all paths of a fat tree), domain-two.yaml
//	                                                  (two bottlenecks)   TestDomainsShare
//	§3.1            traffic descriptors               users.Set           TestParseSet_PrintsCanonicalForm,
//	                                                                      TestCheckDistinct_RejectsPartialOverlap,
//	                                                                      TestAggregates_FindNarrowestDescription,
//	                                                                      TestUsersOfFile, TestDeclaredUsers
//	§3.2, eq. (1)   rate meter TDRM-UTEMA             Meter               TestMeterGolden, TestMeterIsUnbiased
//	§3.2, eq. (1)   activity                          Activity            TestActivity_FollowsEquation1, TestFirstPacket,
//	                                                                      TestFirstActivity
//	§3.3, eq. (2)   drop threshold                    Threshold           TestThreshold_FollowsEquation2
//	§3.3            no drop at queues up to Q_min     Threshold           TestQMin
//	§3.3            A_avg by UTEMA, accepted only     Average             TestAverageGolden, TestAverageOfAcceptedOnly,
//	                                                                      TestMeasuredOnce
//	extension       A_avg of rates, Q in bytes        Config.PerPacket    TestAverageForms, TestQueueInFullFrames,
//	                                                                      TestHighestRate
//	                in integers                       IntegerRates        TestIntegerRates, TestAdoptForms
//	                next to calls, to downloads       calls.yaml, two-way.yaml  TestLightUsers, TestSmallPackets
//	extension       thresholds grow at an empty port  room.go             TestRoom_DoublesThresholdsWhilePortEmpty,
//	                                                                      TestRoomShrinks, TestRoomAdopts
//	§3.4            reference rates share unequally   Aggregate           TestReferenceRates
//	                over rates, round trips, flows    references.yaml     TestReferencesShare
//	§3.4, eq. (2)   constant rates at unequal ones    cbr-references.yaml TestUnresponsive_StarvationFollowsReferences
//	§3.4            marks of malicious users          forged.yaml         TestForgedMark, TestCorruptMark,
//	                                                                      TestRangeOfMarks, TestDifferentSwitches
//	§3.4            state of users at the edge only   aggregates.yaml     TestStateOfAggregates
//	                1 to 10,000 users                 e2e/costbounds/bounds_test.go  TestAggregateNumbers
//	§5.1, §5.3      queue length in a register        Config.Register     TestRegister_TracksQueueBetweenDepartures,
//	                                                                      TestRegisterCountsAll
//	§5.2            aggregates by source address      Config.Aggregates   TestAggregates_LongestPrefixWins,
//	                                                                      TestAggregatesByFamily
//	                one meter for each direction      activityMeter       TestAggregates_MeterEachDirection
//	§6.1.3          parameters                        Scheme              TestScheme_DefaultsMatchPaper
//	extension       thresholds that scale             Config.RoundTrip    TestRoundTrip,
//	                                                                      TestConfig_ThresholdsInTimeFollowRate,
//	                                                                      TestConfig_RemarksUnsuitableThresholds
//	                with rate, round trip, users      scale.yaml, scale-users.yaml  TestScale_FittedThresholdsShareLink,
//	                                                                                TestScaleUsers
//	§2              figures 5 and 6, every scheme     compare-fig5.yaml, compare-fig6.yaml
//	                                                                                 TestCompare_ClaimsHoldForEveryScheme
//	                their parameters                  compare-search.yaml TestComparedSettings
//	§2              RED, CoDel, PIE, DualPI2,         core/dataplane/aqm/red/red_test.go, codel/codel_test.go,
//	                each with a transcript            pie/pie_test.go, dualpi2/dualpi2_test.go
//	                CSFQ, Rainbow, PPV, FDPA, AFQ     core/dataplane/fairqueue/csfq/csfq_test.go,
//	                                                  rainbow/rainbow_test.go, ppv/ppv_test.go,
//	                                                  fdpa/fdpa_test.go, afq/afq_test.go
//	                FQ-CoDel; DRR for users, cake     core/dataplane/aqm/codel/fq_test.go; tm/users_test.go, cake_test.go
//	                next to the kernel's qdiscs       worlds/switch/qdisc_slow_linux_test.go
//	extension       abuse of weir switch              worlds/switch/abuse_test.go
//	                metrics per user                  metrics_test.go, worlds/switch/supervisor/metrics_test.go;
//	                                                                      TestUnmarkedInMetrics
//	                rates that users have bought      plans.yaml, worlds/switch/plan_test.go
//	                users of several addresses        dual-stack.yaml, worlds/switch/customers_test.go
//	                VLANs and hosts behind as users   worlds/switch/config_test.go, users_test.go
//	                overhead per frame                worlds/switch/framing_test.go
//	                bypass; recipe for operators      worlds/switch/bypass_lab_linux_test.go, recipe_lab_…
//	extension       short uploads, QUIC and BBR (§1)  uploads.yaml, mixes.yaml  TestUploads_ClaimsHold,
//	                                                                            TestMixes_ClaimsHold
//	                what each parameter does          sensitivity.yaml    TestSensitivity_ClaimsHoldPerParameter
//	§3.4            delay classes                     classes.go          TestDelayClasses
//	                at other rates, round trips       delay-classes.yaml, delay-classes-scaled.yaml
//	                delay by user                     delay-users.yaml    TestDelayByUser
//	                no throughput by class            Program.Admit       TestClassesDropAlike
//	                bulk does not choose the first    Config.FastCost     TestFastCost
//	                no state                          classes.go          TestClassesKeepNoState
//	                of aggregates, through a domain   Config.Delays, Config.Class  TestDelaysOfAggregates
//	extension       fairness among a user's flows     Config.Flows        TestFlowsFormula, TestFlowsMatchMeters
//	                no gain by what flows do          flows.yaml          TestFlows_SplittingDoesNotLowerActivity,
//	                                                                      TestFlowsOfOneUser
//	extension       arithmetic of hardware            IntegerMeter        TestIntegerMeter, TestIntegerBound
//	                from the first packet on                              TestIntegerStart
//	                effect of slots on A_avg          IntegerAverage      TestIntegerAverage, TestIntegerThreshold
//	                only its operations                                   TestIntegerOperations, TestIntegerClock
//	                in figures 4 to 6                 integer.yaml        TestIntegerFigures, TestRecordedArrivals
//	                one domain with the exact one     Config.Integer      TestMixedDomain, TestAdoptArithmetic
//	extension       users join and leave              joins.yaml          TestJoins_ClaimsHoldWithEight
//	                no allocation on the ingress path                     TestPathAllocates
//	§2              fair activity meter               Config.Spread       TestSpread_DrawsEvenlyOverShare,
//	                                                                      TestSpreadIsOff
//	                its warning                       fair-meter.yaml     TestFairMeter
//	§6.2.1, fig. 4  CBR against CBR                   fig4.yaml, fig4-phase.yaml  TestFigure4_ClaimsHoldExceptBaseline,
//	                                                                              TestFigure4_JitterRestoresProportion
//	§6.2.2, fig. 5  TCP against TCP; a single flow    fig5.yaml, single.yaml  TestFigure5_ClaimsHold,
//	                                                                          TestSingle_LoneFlowKeepsGoodput
//	§6.2.3, fig. 6  CBR against TCP                   fig6.yaml, fig6-stalls.yaml
//	                                                                             TestFigure6_ClaimsHoldExceptLargestRate,
//	                                                                             TestFigure6Stalls
//	                figures 4 to 6 at 200 Mb/s        fig4-200.yaml, fig5-200.yaml, fig6-200.yaml
//	§6.1.3          a switch that reads too slowly    prototype-fig4.yaml, prototype-fig5.yaml, prototype-fig6.yaml,
//	                                                  prototype-single.yaml  TestPrototype_MeetsClaimsOfFigures,
//	                                                                         TestPrototypeClaims
//	§6.2            one configuration for all figures prototype-causes.yaml  TestPrototypeIsOne, TestPrototypeSearch
//
// # Deviations
//
// Each has a heading in docs/papers/p4abc.md:
//
//   - A_avg and Q count bytes by default: docs/papers/p4abc.md#the-average-where-packets-are-small
//   - Thresholds grow at a port that is empty after drops: docs/papers/p4abc.md#thresholds-that-grow
//   - round_trip and users fit the thresholds:
//     docs/papers/p4abc.md#parameters-at-other-rates-round-trips-and-numbers-of-users
//   - Integers in place of floating point, by choice: docs/papers/p4abc.md#integers
//   - An AQM at every egress port, on the return path too: docs/papers/p4abc.md#return-path
//   - One meter for each direction of a user: docs/papers/p4abc.md#directions
//   - Users are sets of addresses: docs/papers/p4abc.md#users-with-several-addresses
//   - Q is the queue at an arrival, not at the last departure: docs/papers/p4abc.md#q-at-an-arrival
//   - Weir's own method for delay classes: docs/papers/p4abc.md#delay-classes
//   - Weir's own range of the fair activity meter: docs/papers/p4abc.md#the-fair-activity-meter
//   - Fairness among the flows of a user, by choice: docs/papers/p4abc.md#fairness-among-the-flows-of-one-user
package p4abc
