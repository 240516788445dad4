// Package p4abc is activity-based congestion management, ABC, as Menth, Mostafaei,
// Merling and Häberle built it in P4 (P4-ABC, 2019): edges measure how active each user is
// and write that into packets; queues drop the most active first; the core keeps
// no state of users. No public code of the authors is known to us; this is
// from the paper, and for the averages from the one it cites (Menth, Hauser, ICPE'17).
//
// # Where the paper's parts are
//
//	§3.1, figure 1  roles in the domain               Role, Program       TestDomain
//	§3.2, eq. (1)   rate meter TDRM-UTEMA             Meter               TestMeterGolden, TestMeterIsUnbiased
//	§3.2, eq. (1)   activity                          Activity            TestActivity, TestFirstPacket
//	§3.3, eq. (2)   drop threshold                    Threshold           TestThreshold
//	§3.3            no drop at queues up to Q_min     Threshold           TestQMin
//	§3.3            A_avg by UTEMA, accepted only     Average             TestAverageGolden, TestAverageOfAcceptedOnly
//	§3.4            reference rates share unequally   Aggregate           TestReferenceRates
//	§5.1, §5.3      queue length in a register        Config.Register     TestRegister, TestRegisterCountsAll
//	§5.2            aggregates by source address      Config.Aggregates   TestAggregates, TestAggregatesByFamily
//	§6.1.3          parameters                        Scheme              TestDefaults
//	§6.2.1, fig. 4  CBR against CBR                   experiments/fig4.yaml  TestFigure4, TestPhase
//	§6.2.2, fig. 5  TCP against TCP                   experiments/fig5.yaml  TestFigure5
//	§6.2.3, fig. 6  CBR against TCP                   experiments/fig6.yaml  TestFigure6, TestFigure6Loss
//
// The claims of figure 4 are in that file: fig4.without.proportional,
// fig4.abc.light-gains, fig4.abc.heavy-loses, fig4.abc.full. TestFigure4 runs the
// whole sweep, with shorter and fewer runs, and holds the outcome against a golden
// table. fig4.without.proportional fails: without ABC, senders of constant rate keep
// step with the full queue's departures, and phase decides who finds the free slot;
// experiments/fig4-phase.yaml brings it inside by jitter of one service time on the
// access links (TestPhase). TestQuickVariants runs what --quick leaves of each experiment.
//
// Figure 5's claims hold, and so do figure 6's but for one: fig6.abc.32. The paper has
// client 0 at 32 Mb/s for very large R0; here it gets 3.4, less the faster it sends,
// as figure 4 has it too. The prototype lost packets at the switch's input (§6.1.3),
// which holds TCP at about 1.22/√p packets a round trip, and CBR gets what TCP leaves:
// experiments/fig6-loss.yaml shows client 0 at 33.4 ± 0.8 Mb/s with 0.15 % and CUBIC as
// Linux has it, at 33.4 ± 0.3 Mb/s with 0.2 % and CUBIC as RFC 9438 has it. 0.2 % of
// fig6.yaml (fig6.abc.32.loss) gives 35.4 ± 0.9 Mb/s, just outside. TestSingle: a flow
// alone (experiments/single.yaml) has 97 % of the link under ABC.
//
// # What the paper leaves open
//
// The first packet. A rate needs time: T is 0 when a packet comes at the very start
// of the measurement, the rate is 0 by definition, and the logarithm of equation
// (1) has no value. We give such a packet activity 0. The measurement starts when
// the meter is configured, at time 0 of a run, not when the first packet comes
// (the reference Python of TDRM-UTEMA does so too); so a user who begins later
// has a low rate at first.
//
// The order of measuring and marking: a packet counts in the rate that gives its
// own activity.
//
// What Q is at a packet's arrival: the packets that wait, without the one on the
// wire, and without the packet itself. In the prototype it is the length at the
// last departure, plus one for each packet accepted since (option queue: register).
//
// Frame lengths are those that queues count (the run's framing). An edge measures a
// frame as it came, without the mark that it adds (8 bytes).
//
// Packets without a mark in the core, and packets that a switch itself makes, do
// not belong to the domain: they are not measured, pass the AQM, and do not enter
// A_avg (TestDomain, TestMeasuredOnce). They do count in Q, and in its register.
//
// The return path, on which §6.1.1 has no ABC: every egress port has an AQM here,
// each with an A_avg of its own, and at queues up to Q_min it drops nothing; where
// the return path is not congested that is the same (TestQMin).
//
// A host with both IP families: a prefix decides for the addresses in it; sources
// in no prefix are one aggregate each, over both families.
//
// Figure 4's queue drops by the 24-packet buffer as well as by the AQM; which of
// them did is in the drops by reason.
package p4abc
