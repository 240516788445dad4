// # Both drafts, section by section
//
// Sections are those of draft-miao-iccrg-hpccplus-01. The draft of 2020 before it, of pan and others, has the same,
// and lines 1 to 34 letter for letter, but for the ninth: Security Considerations in the place of a Discussion.
// Later drafts of this line part the algorithm from the format of its telemetry. Here they are parted, too:
// package telemetry knows of no law, and Config.Reads says what a law needs.
//
//	1      Introduction          one update reaches the target (TestOneStep), short queues (TestIncastNetwork),
//	                             fairness (TestFixedPoint), wide-area paths (experiment wan)
//	2      Terminology           nothing to build
//	§3     System overview       switches write switch_ID, port_ID, ts, qLen, txBytes, B into packets (package
//	                             telemetry; program telemetry of package inband): TestSnapshot, TestForms
//	       … data sender         bytes in flight stay within W, which R = W/T paces: TestWindowBound, TestManySenders
//	       … data receiver       copies records into ACKs (Sender), or computes the window (Receiver):
//	                             TestTwoFlowsConverge, TestReceiverNetwork
//	       … delayed ACKs        rdma: ack_every; TestThinnedWindows, experiment thinning
//	       … the reverse path    feedback queues like any packet there, unless ack_priority lets it go first. Nothing
//	                             is measured on it; what is late counts by its records' times: TestEqualTimes
//	§4     Algorithm             law. It names "tx/rx traffic": line 4 has txBytes. rxRate is a mode: TestModes
//	§4.1   Notations             Config; the table's values are preset: draft. TestPresets, experiment parameters
//	§4.2   Functions             MeasureInflight, ComputeWind, NewACK: above, line by line
//	§5     Parameters            eta, maxStage, W_ai and its rule: TestIncreaseRule, TestStages; "none of the three is
//	                             critical": experiment parameters; line rate at the start: TestBaseRTT; more flows than
//	                             N: TestMoreThanN; N as the receiver reports it: TestReportedIncrease
//	§6     Enhancement           telemetry once per RTT, or upon congestion: TestThinning, TestUncongested; experiments
//	                             overhead, every-nth
//	§6.1   Guidelines            one commit per T: TestOncePerRoundTrip; faster fairness: TestReceiverCounts; one
//	                             snapshot at the egress port: TestSnapshot; probes on the data's path:
//	                             TestProbesTakeThePath; any format: TestForms, TestReads
//	§6.2   Receiver-based        fewer ACKs: TestThinnedWindows; one window per T: TestReceiverOncePerT; N:
//	                             TestReceiverCounts, TestCensusNetwork; experiment thinning
//	§7     Implementations       the authors' are hardware; their simulator's options: TestWindows, TestSampledFeedback
//	§7.1   Telemetry padding     up to five hops in the authors' own format: TestLongPath; its cost: experiment overhead
//	§7.2   NICs, sender          the module is Sender or Follower, the scheduler rdma's window and pacing for each queue
//	                             pair: TestManySenders; the TX pipeline asks for telemetry in data or by probes
//	                             (transport.TelemetryRequester): TestThinning; the RX pipeline takes it from ACKs
//	                             and answers to probes: TestProbesTakeThePath
//	       … receiver            sends records back in ACKs and answers, or a window: TestReceiverNetwork
//	8      IANA                  no request. Numbers without an assignment are declared as ours in package telemetry
//	9      Security (the older)  integrity of feedback: TestAttacks; lying receivers: TestLyingReceivers
//	§9.1   Internet              that, and only the relative ratio: TestRelativeConverges, TestRelativeOnTheWire
//	§9.2   Switch-assisted       four claims: switches only write to packets, and keep no flow's state (package inband
//	                             has none; TestForms); utilisation converges in a step, fairness later (TestOneStep,
//	                             TestConvergence); multiplicative increase up to the target, also from far below
//	                             (TestStages, TestFormulas); txRate converges where rxRate oscillates (experiment
//	                             rates, TestReactions). XCP and RCP are not here to compare with
//	§9.3   Transports            rdma, tcp, udp_controlled: TestIncastNetwork; as a bound beside a transport's own
//	                             window: TestWindowBound; UDP by reports and probes: TestThinning, TestProbesTakeThePath
//	§9.4   QoS                   sojourn time: TestSojourn; DWRR's share as the link's rate: TestClassesNetwork. Queues
//	                             in strict priority over DWRR (dwrr: priority) have the whole rate, and classes below
//	                             share what these leave: TestClassesUnderPriorityNetwork. With scheduler strict
//	                             records are the port's: a class below has no rate of its own, so sojourn only
//	10 …    Acknowledgments, contributors, references: nothing to build
package hpcc
