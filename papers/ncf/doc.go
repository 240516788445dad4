// Package ncf is network-assisted congestion feedback, NCF, as Feldmann, Chandrasekaran,
// Fathalli and Weyulu propose it ("P4-enabled Network-assisted Congestion Feedback: A Case
// for NACKs", BS'19): a switch finds elephants by a rolling sketch, keeps them, mice and
// control packets in three queues with memory in common, and tells senders by NACKs what
// found no room. There is no code of the authors, and the follow-up (IEEE TNSM 2026) is known to us
// by its abstract only. What a sender does about NACKs is in the packages of transport/, the
// notice's form in packet.Notification.
//
// # Where the paper's parts are
//
//	§3    address the elephants             Detector, NackElephants       TestNackElephantsOnly
//	§3    three queues suffice              queue, tm.NewNCF              TestQueues
//	§3    detect elephants in data plane    Sketch, Program.Ingress       TestNoAllocation, BenchmarkProgram
//	§3    trim packets in data plane        Program.OnDrop                TestNack
//	§3    switches initiate NACKs           Program.send                  TestNack, TestAsymmetricReturn
//	§3    allocate memory dynamically       Memory                        TestMemoryOnDemand, TestMemoryBooks
//	§3    signals without queued packets    notifyHeaviest                TestTopElephants
//	§4.1  rolling windows, totals           Sketch                        TestWindows, TestLazyClearing,
//	                                                                      TestWindowNumbersWrap, FuzzSketch
//	§4.1  F: average, any, all              Detector                      TestFigure2, TestPartialWindow,
//	                                                                      TestDetectionTime, TestElephantsEnd
//	§4.1  from counters to sketches         Sketch, Dimensions            TestErrorBound, TestAdversary,
//	                                                                      TestSaturation, TestHash, TestKey
//	§4.1  small and fixed memory            Sketch, Top                   TestMemory, TestCountNoAllocation
//	§4.1  transitions of mice and elephants changes                       TestChange, TestChangeIsBounded
//	§4.2  three queues, their order         queue, tm.NewNCF              TestQueues, TestAcks,
//	                                                                      TestControlCeiling
//	§4.2  10 %, 10 %, at most 5 %           tm.NewNCF                     TestNoStarvation, TestControlCeiling
//	§4.2  the rest is work conserving       tm.NewNCF                     TestNoStarvation
//	§4.2  neither starves the other         tm.NewNCF, Memory             TestNoStarvation, TestAttack
//	§4.2  memory on demand, up to 95 %      Memory.Fits                   TestMemoryOnDemand, TestReclaim
//	§4.2  reservations under scarcity       Memory.Victim                 TestReservations, TestVictim,
//	                                                                      TestMemoryBooks
//	§4.3  congestion is lack of memory      lacksMemory, Memory.Refused   TestReasons, TestCongestion
//	§4.3  trim, switch endpoints, flag      Program.OnDrop, send          TestNack
//	§4.3  straight to the sender            Program.send                  TestAsymmetricReturn
//	§4.3  highest-priority queue            tm.NewNCF                     TestControlCeiling
//	§4.3  which packet did not arrive       packet.Notification           TestNack, TestBooks
//	§4.3  NACKs are not combined            Config.Coalesce               TestCoalesce, TestCoalesceLeaves,
//	                                                                      TestCoalesceCauses
//	§4.3  limited overhead                  NackCounts.Nacks              TestOverhead, TestCoalesce
//	§4.3  NACKs can be dropped              NackCounts.Lost               TestNotAnswered, TestOverhead
//	§4.4  tilting                           MemoryConfig.Tilt             TestTilt
//	§4.4  spikes of mice reclaim memory     Program.reclaim               TestReclaim, TestReclaimLongest,
//	                                                                      TestSpikeLimit
//	§4.4  what is reclaimed becomes NACKs   Program.OnDrop                TestReclaim
//	§4.4  the N heaviest                    Top, notifyHeaviest           TestTopElephants, TestTopRecall,
//	                                                                      TestTopDecays, FuzzTop
//	§4.4  until the load decreases          Memory.Congested              TestCongestion, TestTopElephants
//	§4.4  an attack is limited in time      MemoryConfig.Spike            TestSpikeLimit, TestSpikeClock,
//	                                                                      TestAttack
//	§4.4  mice packets handled in n·d       Program.MiceHandled           TestAttack
//	§4.4  memory is balanced again          Memory.Victim                 TestSpikeLimit, TestAttack
//	§5    tuning control knobs              Scheme                        TestDefaults, TestBadInput
//	§5    overload of the switch            a NACK a drop at most         TestNotAnswered, TestTopElephants
//	§5    who the switch is                 Config.Signed                 TestSigned
//	§5    interplay, security of senders    see the doc.go of transport/tcp and transport/rdma, and cc/supply
//
// In a switch: books balance, each packet that is gone is named at most once, and exactly once
// where no NACK is lost, as fields and as bytes (TestBooks), the contract of programs and drivers
// (TestContract), memory that a port's buffer holds, in bytes or packets (TestMemoryOfThePort). In
// a network the trace is the same in wire form, for any window and grouping: see sim/ncf_test.go.
//
// A packet's update and query of the sketch take 48 ns (BenchmarkCount: ε = δ = 1 %, n = 4, a million flows;
// 2 cores of a server, the best of 25), and 43 552 bytes a port. What a switch does for a packet is bounded: a cell a
// row, one pass over the N heaviest, at most four of them looked at to be told, at most 144
// evictions, each from a queue's end (tm.Buffer.PopTail).
//
// # Experiments
//
// In experiments/*.yaml; the paper has claims but no figures, so all numbers in them are ours.
// Figures are means of three seeds, "500 KB, 97 KB" is the flow's size and the port's buffer.
// Verdicts: TestIncast, and TestExperiments of -tags slow.
//
//	incast         8, 64, 256 senders in a rack, 20 and 500 KB, shallow and deep buffers
//	incast-fabric  8 and 64 across a fat tree of 128 hosts
//	mixed          websearch at 30, 60, 90 %, mice and four elephants
//	queues         1, 2, 3, 8 queues; what a change of class costs
//	knobs          d, n, threshold, F, epsilon, tilt, spike, coalesce, top, early, nack: one at a time
//	internet       wide-area dumbbell
//	internet-lot   wide-area parking lot
//	controllers    what each controller makes of NACKs
//	reaction       one elephant, a burst, RTT 10 to 200 ms: who reacts first, by what is in flight
//	partial        half of the senders know NACKs, half do not
//	partial-path   one of two bottlenecks has NCF
//	attack         mice that flood elephants; forged NACKs are tests of the transports
//
// What the paper claims, and what came of it:
//
//	incast without timeouts (§4.3)    holds with TCP: 0 with 8 to 256 senders, where drops and DCTCP have 759 and 531
//	                                  (256, 500 KB, 97 KB) and take 2.3 and 1.6 s, NCF 0.18 s (supply
//	                                  0.14), NDP 0.106. Across
//	                                  the fat tree rdma with supply and deep buffers has some: its
//	                                  packets wait 4 ms there, as long as its timer's floor
//	faster than ECN (§4.3) fails as it stands. Congestion is lack of memory, ECN's 20 packets of
//
// queue come before that:
//
//	                                  deep buffers, 64 senders, 661 µs against 22. With 97 KB and 256
//	                                  senders NCF is first, 19 µs (supply 7) against 42;
//	                                  with 64 undecided, 21 against 22. Linux lowers a window over a
//	                                  round trip (PRR), supply at once
//	faster than NDP (§4.3) fails with loss (19 µs against 16), but supply in 97 KB is first: 7
//
// against 16 (256 senders), 8 against 15 (64)
//
//	faster than CNPs (ours) fails in deep buffers (rdma, 8 senders: 169 µs against 21); in 97 KB
//
// always, 6 to 15 against 18 to 21.
//
//	                                  A CNP by the switch is faster still, 6 to 9, for it does not
//	                                  wait for memory to end; but it repairs nothing,
//	                                  and from 64 senders on there are thousands of timeouts in 97 KB
//	NACKs go straight (§4.3) holds: 5.1 µs from switch to sender at the median and the 99th
//
// percentile, on a round trip of 22
//
//	overhead is limited (§4.3) holds: below 5 % of the payload's bytes with TCP, and none is dropped.
//
// It rests on senders that
//
//	                                  slow down: DCQCN does not heed losses, and has 821 000 NACKs
//	                                  for 64 flows of 500 KB across the fat tree
//	short queues (§4.2) mixed: shorter than with drops (197 against 226 kB at 90 %), seven times
//
// DCTCP's 30 kB: nobody is told
//
//	                                  before memory is gone. early: 30% makes 70 kB of 172 (knobs)
//	short buffers suffice (§2)        fails: 64 senders of 500 KB get 2.9 Gb/s with 97 KB and 9.1 with 1514 KB
//	fair sharing (§2) mixed: Jain's index of elephants above 0.9; more than with drops undecided. An
//
// incast: the last
//
//	                                  flow takes more than twice the median, fails
//	mice among elephants (§2, §3) holds: at 90 % the 99th percentile is 0.37 ms, drops 1.80, DCTCP
//
// 0.42 (undecided at 60 %), a queue a flow 0.38, NDP 0.29
//
//	no starvation (§4.2) holds in mixed and queues: each elephant above 1 % of the link, no mouse
//
// with a timeout
//
//	three queues suffice (§3)         eight make mice no clearly faster (undecided), and reorder more
//	tilting and spikes (§4.4)         undecided: what they change in knobs is below the spread of seeds
//
// What else they show. Delayed ACKs: when a whole flight is NACKed and sent again one by one,
// nothing is out of order and the receiver delays its ACK by 40 ms: 64 senders, 500 KB, 97 KB take
// 89 ms and without delays 33 (supply 63 and 29). It is not all: 256 then have 6.1 Gb/s (supply
// 7.3), still below the 8 of the claim. A flow that becomes an elephant overtakes itself: 8 senders
// of 500 KB in deep buffers lose nothing, have 22 % of their packets reordered, retransmit 740 and
// take a quarter longer than with drops; with flowlet 330, in one queue none. With windows shorter
// than TCP's bursts of a millisecond elephants flap: with 50 µs 3 % of their packets are reordered,
// 0.01 % with 1 ms (knobs). flowlet reorders less, but doubles the mice's 99th percentile. d of 10
// ms, threshold 20 % and F of all windows find elephants too late: the mice's 95th percentile is
// 3.1 to 3.3 times as long. If only elephants are told (§5), mice of an incast wait for timeouts:
// 3.3 of them on average, of 32 flows (undecided: it varies by seed).
//
// On the Internet (internet, reaction, internet-lot; their verdicts are tests, of the longer ones with -tags slow):
//
//	one elephant the sender reacts 8.7 ms after congestion at a round trip of 10, early: 30% 5.3, ECN
//
// 10.8, NDP 11.6,
//
//	                                  CNPs 17.9, by the switch 5.9; at 200 ms 164, 113, 250, 232, 320, 115
//	several flows in slow start faster than ECN fails as a rule: NACKs begin where memory ends, and
//
// not all flows are elephants then
//
//	slow-start spike                  smaller than with drops, but no smaller with supply than with loss
//	fairness of RTTs 10 and 100 ms Jain 0.95 to 0.98 with supply, 0.58 to 0.75 with drops; with equal
//
// ones some fail, 20 s are short
//
//	several bottlenecks the long flow gets less with loss (5.2 Mb/s) than with drops (7.8), more with
//
// supply (31.6); fq 20
//
//	partial deployment who reduces by NACKs (cubic, reno) loses against who does not know them; who
//
// follows the supply gains
//
//	                                  in small buffers, and leaves the link to 80 %
//	controllers supply: all ten reduce within 6.2 µs; loss: reno and cubic at once, others by their
//
// own signal; resend alone
//
//	                                  floods where loss was the only signal. cmd/weir/cli has the
//	                                  same in a model (testdata/nacks.txt)
//	a flood of mice elephants keep 440 to 480 of 1000 Mb/s; with drops 2.3, with fq 5.3: a queue a
//
// flow is no defence against 200 flows
//
// `reduction` of NDP is of what is in flight, for it has no window; and mixed's windows were made 1 ms after a first
// run with 50 µs had up to 24 % of elephants' packets out of order, for which there is no bound in the paper.
//
// # What the paper leaves open
//
// Figure 2. At t1 both f2 and f3 are labelled elephants; at t2 f3 is said to have become one from a
// mouse, which it was not. We keep to §4.1's definition of F.
//
// Whose total a share is of: by default the traffic of the egress port, where the congestion is; with
// 64 ports no flow would have 5 % of a switch. sketch: switch is the other reading.
//
// How small an elephant can be: alone on a port the first packet of any flow has all of the traffic.
// least (30 kB) in the last n·d is a bound of ours.
//
// What is a control packet: feedback of the network or of receivers (NACKs, CNPs, probes, trimmed
// headers), and acknowledgements (acks: mice puts these beside mice: TestAcks). Retransmissions
// are data of their flow.
//
// The maximum of 5 %. It is a ceiling while others wait, so that the port stays work conserving; hard
// makes it one always. TestControlCeiling: 2.6 % of a port's rate in control frames wait for 9 µs
// at 1 Gb/s whatever the ceiling; of 10 % the rest waits until the burst is over, 1.7 ms here,
// and with hard also on an idle port. Without priority it would be 34 µs.
//
// With other numbers of queues: one for all; two, control and all else; more than three, elephants
// are spread over the further ones by their flow. Only with three or more have mice and
// elephants memory of their own, and with one nothing is ever taken back.
//
// Memory. Anyone takes what is free: all packets together the whole, mice and elephants up to limit.
// When a packet does not fit its class has a claim: control to its 5 %, mice and elephants to their
// reservation and a part of the rest by tilt. If it has less than that, packets are evicted
// from the longest queue of the class that exceeds its claim most, the last ones first, until it
// fits; else it is dropped. For up to spike · n·d in n·d mice may claim all but the elephants'
// reservation. A spike lasts while elephants lack what mice have beyond their claim; then elephants
// take it back packet by packet, which takes them as long as they send that much (TestAttack). The pool
// is a port's or the switch's. A buffer in packets is shared out in packets.
//
// Begin and end of congestion: 95 % of the memory, or anything that found no room; below 50 %.
//
// Whose drops become NACKs: §4.3 tells the sender of whatever is trimmed, and incast, of mice, is to
// profit by it; §4.1 and §5 say that only elephants are told. nack: all is the default, and
// nack: elephants the other. Packets without payload, those of which the sender is not known, and
// NACKs are plainly dropped. So is UDP: its header has no sequence number, and a NACK would
// be of no use to anyone but udp_controlled (udp: true), for which it quotes 8 bytes of payload,
// the datagram's number (TestUDP). Drops for another reason than want of memory are not told of
// (TestReasons): an AQM's drop is its own signal.
//
// The notice. It has the packet's headers with TCP's time stamps, or RDMA's number of the
// transmission, so that a sender knows which transmission is gone; all extensions are taken
// off (telemetry is of a path that the packet did not finish), ECN is not-ECT, and the hop limit new.
// Demand is the flow's rate over the last n·d by the sketch, so an upper bound; supply is target
// of the port's rate without what mice and control packets brought in n·d, but at least the
// elephants' 10 %, divided by the number of elephants among the N heaviest of the port, or max-min
// (TestSupplyAndDemand, TestFill, TestMaxMin); a mouse is offered target divided by the number of
// all flows (TestSupplyOfMice).
//
// Overhead. Senders that do not react, at twice a port's rate, cost NACKs of 2.8 % of the data's bytes;
// a way back that is full of other traffic has 5 % for them, and loses a third, which were more than
// that; combined over 50 µs none is lost (TestOverhead). §4.3 speaks of NACKs to the same source;
// coalesce combines those of a flow, for a NACK has the headers of one, by which its sender checks it.
//
// The N heaviest are told one for each packet with payload that comes for the port, at most, and each once in
// every (a window). early tells an elephant that sends as soon as elephants use so much of
// the memory (TestEarly), which the follow-up's abstract suggests.
//
// A flow that changes its class is reordered when its packets wait in both queues. change:
// flowlet keeps it in its queue until they have left, or for change_wait, when as many packets as the
// queue holds can be overtaken, once. A flow that never pauses waits to the end of change_wait, and by
// then more of its packets wait than at first: TestChange has 15 packets reordered at once, 57
// after 1 ms, none without a limit. At once is the default.
//
// A packet that comes again by recirculation is counted once (TestCountedOnce).
package ncf
