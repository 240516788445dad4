// Package ncf is network-assisted congestion feedback, NCF, as Feldmann, Chandrasekaran, Fathalli and
// Weyulu propose it ("P4-enabled Network-assisted Congestion Feedback: A Case for NACKs", BS'19). A
// switch finds elephants with a rolling sketch; it keeps elephants, mice and control packets in three
// queues that share memory; and it sends NACKs to the senders of packets that found no room. The authors
// have published no code, and of the follow-up (IEEE TNSM 2026) we know only the abstract. How senders
// react to NACKs is in the packages of transport/; the format of a NACK is packet.Notification.
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
// The program shows the parameters with their sources, and runs the paper's experiments:
//
//	weir show ncf
//	weir run ncf/incast --quick
//
// In Go, Scheme goes into a registry (package app). Sketch, Detector, Top and Memory stand on their own, for other
// programs of switches (ExampleMemory).
//
// # Where the paper's parts are
//
//	§3    address the elephants             Detector, NackElephants       TestNackElephantsOnly
//	§3    three queues suffice              selectQueue, tm.NewNCF        TestQueues
//	§3    detect elephants in data plane    Sketch, Program.Ingress       TestNoAllocation, BenchmarkProgram
//	§3    trim packets in data plane        Program.OnDrop                TestNack
//	§3    switches initiate NACKs           Program.sendNack                  TestNack, TestAsymmetricReturn
//	§3    allocate memory dynamically       Memory                        TestMemoryOnDemand, TestMemoryBooks
//	§3    signals without queued packets    notifyHeaviest                TestTopElephants
//	§4.1  rolling windows, totals           Sketch                        TestWindows, TestLazyClearing,
//	                                                                      TestWindowNumbersWrap, FuzzSketch
//	§4.1  F: average, any, all              Detector                      TestFigure2, TestPartialWindow,
//	                                                                      TestDetectionTime, TestElephantsEnd
//	      of what the port can send         Program.isElephant            TestElephantsInFlood, TestErrorOfForwarded,
//	                                                                      TestLazyClearing, TestWayBack
//	§4.1  from counters to sketches         Sketch, Dimensions            TestErrorBound, TestAdversary,
//	                                                                      TestSaturation, TestHash, TestKey
//	§4.1  small and fixed memory            Sketch, Top                   TestMemory, TestCountNoAllocation
//	                                        Program.Footprint             TestFootprintHasAllState
//	§4.1  transitions of mice and elephants changes                       TestChange, TestChangeIsBounded
//	§4.2  three queues, their order         selectQueue, tm.NewNCF        TestQueues, TestAcks,
//	                                                                      TestControlCeiling
//	§4.2  10 %, 10 %, at most 5 %           tm.NewNCF                     TestNoStarvation, TestControlCeiling
//	§4.2  the rest is work conserving       tm.NewNCF                     TestNoStarvation
//	§4.2  as needed, but for a flood        overload, tm.Port.SetAsNeeded TestBandwidthAsNeeded, TestOverloadLevels,
//	                                                                      TestOverloadOfRepeats, TestOverload,
//	                                                                      TestOverloadOfSlowPorts,
//	                                                                      TestHonestMice, TestRepeats,
//	                                                                      TestHonestMiceShallow
//	§4.2  neither starves the other         tm.NewNCF, Memory             TestNoStarvation, TestAttack
//	§4.2  memory on demand, up to 95 %      Memory.Fits                   TestMemoryOnDemand, TestReclaim
//	§4.2  reservations under scarcity       Memory.SelectVictim                 TestReservations, TestVictim,
//	                                                                      TestMemoryBooks
//	§4.3  congestion is lack of memory      lacksMemory, Memory.RecordRefusal   TestReasons, TestCongestion
//	§4.3  trim, switch endpoints, flag      Program.OnDrop, send          TestNack
//	§4.3  straight to the sender            Program.sendNack                  TestAsymmetricReturn, TestNackThroughNAT
//	§4.3  what a NACK is in frames          Config.Form                   TestNoticeGolden, TestNoticeSegment
//	      for senders that know no NACKs    echoes                        TestEcho, TestEchoWindow, TestEchoNobody,
//	                                                                      TestEchoElephants, TestEchoTable,
//	                                                                      TestEchoForged, TestEchoesOfBridge,
//	                                                                      TestEchoNetworks, TestKernelObeysEchoes,
//	                                                                      TestNCFEchoesOnLab, TestSameResultEchoes
//	      a bridge between other hosts      header, WhyNotStandalone      TestNACKsOfBridge, TestNobodyToTell
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
//	§4.4  until the load decreases          Memory.IsCongested              TestCongestion, TestTopElephants
//	§4.4  an attack is limited in time      budget, MemoryConfig.Spike    TestSpikeLimit, TestSpikeClock,
//	                                                                      TestNobodyElsePays, TestAttack,
//	                                                                      TestAttackOfManyTimes,
//	                                                                      TestShareOfMemory, TestMemoryInFlood
//	§4.4  mice handled in n·d               Program.flooded               TestNobodyElsePays, TestMiceOfWindows
//	§4.4  a balance between all flows       budget.renew, Memory.SelectVictim   TestBudgetRenews, TestBudgetAddsUp,
//	                                                                      TestNoticesTakeTime,
//	                                                                      TestSpikeLimit,
//	                                                                      TestElephantsPayForThemselves
//	§5    tuning control knobs              Scheme                        TestDefaults, TestBadInput
//	§5    d from round trips and senders    loadedRTT                     TestDerivedDuration, TestSuits
//	§5    hosts that do not respond         Program.trimUnresponsive      TestUnresponsiveElephants, TestResponse,
//	                                                                      TestNotifiedAboveShare, TestPartial
//	§5    overload of the switch            allowance                     TestAllowance, TestAllowanceHostile,
//	                                                                      TestNotAnswered, TestTopElephants
//	§5    who the switch is                 Config.Signed                 TestSigned
//	§5    interplay, security of senders    see the doc.go of transport/tcp and transport/rdma, and cc/supply
//
// Tests of a switch: the books balance, and each lost packet is named at most once, exactly once where
// no NACK is lost, with packets as fields and as bytes (TestBooks); the contract of programs and drivers
// (TestContract); memory that a port's buffer bounds, in bytes or packets (TestMemoryOfThePort). In
// networks, the trace is the same in wire form and for any window and grouping: see sim/ncf_test.go.
//
// Updating and querying the sketch takes 48 ns a packet (BenchmarkCount: ε = δ = 1 %, n = 4, a million
// flows; 2 cores of a server, the best of 25 runs), and the sketch takes 87 104 bytes a port, half of it for what was
// dropped. The work per packet is bounded: one cell in each row, one more in each for a dropped packet, one pass over
// the N heaviest flows, with at most four checks for a notice, and at most 144 evictions, each from the tail of a queue
// (tm.Buffer.PopTail).
//
// # Experiments
//
// In experiments/*.yaml. The paper has claims but no figures, so all numbers in them are ours. Results are
// means over five seeds where nothing else is said; "500 KB, 97 KB" is flow size and port buffer. TestIncast and,
// with -tags slow, TestExperiments hold what is the mechanism's.
//
//	incast         8, 64, 256 senders in a rack, 20 and 500 KB, shallow and deep buffers
//	incast-fabric  8 and 64 across a fat tree of 128 hosts
//	mixed          websearch at 30, 60, 90 %, mice and four elephants
//	thresholds-incast  incast when memory, ECN's K, NDP's depth are the same bytes, 20 KB to 1514 KB
//	thresholds-mixed   mice and elephants at 95 %, likewise
//	spikes         follow-up's abstract, ours: slow start of 1 and 8 elephants, RTT 10 and 50 ms, 0.1 to 4 BDP
//	fairness       follow-up's abstract, ours: RTT 50 ms, or 10 and 100 ms; 0.1 and 4 BDP
//	queues         1, 2, 3, 8 queues; the cost of a change of class
//	knobs          d, n, threshold, F, epsilon, tilt, spike, coalesce, top, early, nack: one at a time
//	incast-supply  windows that fit the senders: what following the supply gives, with and without delayed ACKs
//	internet       wide-area dumbbell
//	internet-lot   wide-area parking lot
//	controllers    how each controller reacts to NACKs
//	reaction       one elephant, a burst, RTT 10 to 200 ms: who reacts first, by bytes in flight
//	partial        half of the senders understand NACKs, half do not
//	partial-path   one of two bottlenecks has NCF
//	attack         mice that flood 1 to 10 elephants, RTT 0.2 to 20 ms; the transports' tests have forged NACKs
//	attack-senders the same for other controllers, rates, networks and buffers
//	honest-mice    mice that ask for 30 to 85 % of 0.1, 1 and 10 Gb/s next to 1 to 8 elephants, RTT 2 to 8 ms
//	honest-step    mice that ask for 85 to 120 % of 100 Mb/s for two seconds, and then for 40 or 60 % again
//	overload       where mice become a flood: 0.5 to 1.5 times the port, 1 to 8 elephants, RTT 1 to 20 ms
//	attack-budget  what the budget of throttling costs an honest incast, and saves elephants under pulses of mice
//	bolt           Bolt at its authors' operating point: flows that end one after the other
//
// Rivals that also signal before the receiver does: Bolt (core/dataplane/feedback/bolt, core/cc/bolt) and fast CNP
// (core/dataplane/feedback/fastcnp) are built. Bolt keeps the 99th percentile of the queue at 9.3 kB and the link at
// 98.6 % while flows end; by acknowledgements the queue is 80 kB, and DCTCP at the same threshold has 11.4 kB and 95.1
// % (bolt). Not built yet: FNCC, whose switches must find the port of a flow's data when its acknowledgement passes, of
// which we have the abstract only; BFC, which needs queues that switches assign to flows and pause one by one, where
// our pauses are of PFC's eight classes; draft-ravi-ippm-csig, a signal without a law, for which we would need a
// controller of our own.
//
// The paper's claims, and our results:
//
//   - Incast without timeouts (§4.3) holds with TCP: 0 timeouts with 8 to 256 senders, where drops and DCTCP have 758
//     and 536 (256, 500 KB, 97 KB) and take 2.4 and 1.6 s; NCF takes 0.108 s (supply 0.12), NDP 0.106. With RDMA it
//     fails in deep buffers: mice have the bandwidth that they need, so packets of an elephant can wait for 12 ms,
//     longer than the timer of 4 ms. 64 senders of 500 KB across the fat tree (1514 KB, Reno) have 126 to 165 timeouts
//     and take 30.3 ms; in the rack it is 2.8. With bandwidth: equal the first seed has 0 and takes 28.1 ms, not 30.7.
//     TCP's timer is at least 200 ms. That an incast of 20 KB ends no later than with NDP fails in 97 KB: 256 senders
//     take 8.0 ms by supply, with NDP 4.9, and 64 across the fat tree 1.40 and 1.21 (completes-ndp).
//   - Faster than ECN (§4.3), at equal thresholds of 20 KB to 1514 KB (thresholds-incast): on average at 20 of 21
//     points with loss and at all with supply, and beyond the spread of five seeds at 17 and 20. At 30 KB, loss,
//     supply, DCTCP in µs: 13, 7, 32 (16 senders); 16, 6, 23 (64); 16, 6, 42 (256). Linux reduces a window over a
//     round trip (PRR), supply at once. It fails with loss, 256 senders and 1514 KB (48 against 42), and with the
//     whole deep buffer as NCF's threshold and 30 KB as ECN's. early takes 68 with 16 and 134 with 64 senders at
//     any threshold, and loses to ECN at 11 of these 14: an incast is mice, whom it does not tell.
//   - Faster than NDP (§4.3), likewise: on average at 17 points with loss and at 19 with supply. With loss it
//     fails with 256 senders up to 30 KB (16.1 against 16.0); both fail where memory is 400 KB for 16 senders and
//     1514 KB for 64.
//   - Faster than CNPs of the switch at the same threshold (ours): at all 21 points, beyond the spread, 5.5
//     against 5.9 (256, 30 KB). Faster than Bolt at 18, 5.9 against 8.5 (64, 30 KB); Bolt reacts first where
//     memory is 400 KB and 1514 KB for 16 and 1514 KB for 64.
//   - Faster than CNPs (ours) fails in deep buffers (rdma, 8 senders: 169 µs against 21), and holds
//     throughout in 97 KB, 6 to 15 against 17 to 21. CNPs from the switch are faster still, 6 to 9, since
//     they do not wait for memory to run out; but they repair no loss, and from 64 senders on there are
//     747 timeouts and more in 97 KB.
//   - NACKs go straight to the sender (§4.3) holds: 5.1 µs from switch to sender at the median and the 99th
//     percentile, with a round trip of 22.
//   - Limited overhead (§4.3) holds with TCP: below 5 % of the payload bytes, and no NACK is dropped. It
//     depends on senders that slow down. DCQCN ignores losses: 64 flows across the fat tree cost 16 000 NACKs for
//     22 000 packets (fabric.storm).
//   - Short queues (§4.2) hold against ECN at equal thresholds. Incast: in the mean and at the 99th percentile at all
//     points, 25 kB (supply 7) against 229 at 30 KB, 64 senders. Mixed traffic at 95 % (thresholds-mixed) at 30 KB: 19
//     kB, supply 6, DCTCP 30, with mice's 99th percentile of 0.34, 0.26 and 0.40 ms. Supply pays at so shallow a
//     threshold by use, 0.83 against 1 (loss has 0.997, and supply 0.97 at 200 KB), so 0.98 of ECN's use fails; the
//     index of four elephants is 0.99 with both, and 0.92 at 1514 KB (0.9 is undecided there, with early, too). That
//     early's 99th percentile is no longer than ECN's is undecided at 20 KB, 40 kB against 42. Against NDP it fails: at
//     30 KB NDP has 10 kB and carries 0.76, and mice's 99th percentile is 0.28 ms; at 1514 KB it has 156 kB, where NCF
//     has 966 in mixed traffic, and in an incast of 16 a 99th percentile of 0.70 MB, where NCF has 1.43
//     (short-queue-ndp). With memory alone (1514 KB) as NCF's threshold and 30 KB as ECN's it fails, too: 966 kB, and
//     986 in the incast, against 30 and 37 (memory-only). So it does in mixed, where memory is 303 KB: 212 kB at 90 %,
//     supply 135, drops 227, DCTCP 30 (mixed.short-queues-ecn).
//   - Low delays (§4.2) fail in deep buffers: packets of 64 senders of 500 KB wait for 5.6 ms at the 99th percentile,
//     by supply 6.6, with drops 1.2 and with ECN 0.52; in 97 KB for 0.13, 0.11, 0.09 and 0.09 (incast.short-delays).
//   - Short buffers suffice (§2): since TCP holds off (transport.NACKPacer), 256 senders of 500 KB take 0.11 s with 97
//     KB, and with 1514 KB (supply 0.12 and 0.11). It fails with supply and 256 of 20 KB, 8.0 ms against 4.3; with loss
//     it is 5.2 and 4.4. 0.85 of the link at any threshold fails: 64 senders have 7.1 of 10 Gb/s by supply at 200 KB,
//     and 7.2 with early at 30 KB; 256 have 7.5 by supply at 20 KB without delayed ACKs (thresholds-incast,
//     short-buffers and early-throughput).
//   - Fair sharing (§2): mixed. Jain's index of elephants is above 0.9; that it is higher than with drops is undecided.
//     That the last flow of an incast takes at most twice the median holds with 64 and 256 senders, 1.15 times fails,
//     1.39 with 64 by supply at 200 KB (thresholds-incast.fair).
//   - Mice among elephants (§2, §3) holds: at 90 % the 99th percentile is 0.36 ms, with supply 0.34; drops have 1.76,
//     a queue per flow 0.39, DCTCP 0.43 (mixed). It fails against NDP, which has 0.31, and a shorter median at each
//     load, 54 against 75 µs at 30 % (mixed.mice-ndp).
//   - No starvation (§4.2) holds in mixed and queues: each elephant gets above 1 % of the link, and no mouse
//     has a timeout.
//   - Three queues suffice (§3): with eight, mice are not clearly faster (undecided), and more packets are reordered.
//     Two help mice, too, so queues.two fails: the 99th percentile is 0.75 ms, and 1.9 with one queue and 0.09 with
//     three. With three, flows that change their class have 0.3 % or less of their packets reordered at 30 and 60 %
//     load. At 90 % that it is less than 1 is undecided, 1.1 ± 0.9 by loss and 0.7 ± 0.6 by supply (mixed.order).
//   - Tilting (§4.4) is undecided: its effects in knobs are below the spread of the seeds. So are the effects of spikes
//     (§4.4): the last flow of the incast there takes 1.93 ms, and 1.91 without them.
//
// Other results. Delayed ACKs: when a whole flight is NACKed and retransmitted one packet at a time, nothing arrives
// out of order, so the receiver would delay its ACK by 40 ms. After a NACK a sender with a window of one segment asks
// for an ACK at once, by PSH, and a notice that reduces the window lets a retransmission pass that waits
// (TestNackDelayedACK, TestIncastTail). 64 senders of 500 KB in 97 KB take 26.9 ms, as without delayed ACKs and as
// across the fat tree; with NACKs that wait for others (coalesced) 26.9, with supply 27.8.
// Our bound, at most 1.5 times what arrives, is met on average by flows of 500 KB with TCP and RDMA's Reno, up to 1.49
// (incast.storm, undecided); flows of 20 KB send up to 2.3 times (incast.storm-mice), since most of what 256 of them
// have in flight at first is trimmed before a sender can be notified, and DCQCN across the fat tree up to 1.70
// (fabric.storm). A flow that becomes an elephant reorders its own packets: 8 senders of 500 KB in deep buffers lose no
// packet, but retransmit 67, and take 4 % longer than with drops. With windows shorter than TCP's bursts of a
// millisecond, elephants flap: 4.4 % of their packets are reordered with 50 µs and 0.006 % with 1 ms (knobs). flowlet
// reorders less (queues, undecided), but makes the mice's 99th percentile 2.8 times as long. With F over all windows,
// d of 10 ms or a threshold of 20 %, elephants are found later: the mice's 95th percentile is 2.3, 1.3 and 1.1 times as
// long (knobs.not-critical, undecided). If only elephants get NACKs (§5), mice of an incast wait for timeouts, 2.8 over
// 32 flows (± 1.4), and the last takes 202 ms instead of 1.9 (knobs.mice-told).
//
// On the Internet (internet, reaction, internet-lot; tests check the verdicts, those of the longer
// experiments with -tags slow):
//
//   - One elephant (reaction, twenty seeds): at a round trip of 10 ms the sender reacts 7.8 ms after congestion
//     begins, with supply 7.8; with early: 30% and supply, in windows that fit the round trip, 4.1; ECN 10.7, CNPs
//     16.5, CNPs from the switch 5.6, Bolt 16.5. At 50 ms: 48, 41, 18, ECN 60, CNPs 82, from the switch 29, Bolt 82.
//     At 200 ms: 179, 146, 71, ECN 250, CNPs 323, from the switch 126, Bolt 324. So early with supply takes 0.39, 0.30
//     and 0.28 of ECN's time, less than half also at 10 ms (reaction.half: 4.1 of 5.3 ± 0.3). NDP's payload in flight
//     does not fall.
//   - 256 senders of 500 KB in 97 KB that follow the supply, with windows that fit them (incast-supply): 8.6 of 10
//     Gb/s, and 8.7 with delayed ACKs; the last takes 1.13 and 1.12 times the median. Our bounds, 8.5 and 1.15, hold,
//     but for the first without delayed ACKs, which is undecided.
//   - Several flows in slow start (internet, 12 paths, five seeds): faster than ECN fails at each path, 26 against 10
//     ms at the shortest, since NACKs begin when memory is full, and not all flows are elephants then. Faster than
//     drops holds on average at 8 paths, and fails for 10 and 100 ms. early fails against ECN at the same threshold,
//     too: 694 ms at the shortest path, and 181 with supply. RDMA with supply is faster than CNPs but for 10 and 100 ms
//     in a whole product, 11 against 7.6 ms. That the first overshoot is smaller than with drops is undecided
//     (internet.spike). Fair sharing fails by loss at 50 and 200 ms, Jain's index is 0.60 to 0.93, where drops have
//     0.51 to 0.82; by supply it is 0.98 or more at each path. Supply has costs: it drops more packets than drops at 8
//     paths, 486 against 125 at 50 ms in a whole product (internet.lost), overshoots more than loss
//     (internet.spike-supply), and its queue is longer at 200 ms in a tenth of a product, 457 against 270 kB
//     (internet.short-queue), at 0.87 of the link, where drops have 0.65. By loss 0.95 of drops' use is undecided
//     there, 0.60.
//   - "Slow-start spikes virtually eliminated" (follow-up's abstract; spikes, five seeds): with early at 5 % and supply
//     nothing is lost in 1 and 4 bandwidth-delay products. Eight elephants at 50 ms, one product: 180 kB, where drops
//     have 1249, ECN at 5 % 194 and at 30 % 823, and NCF by memory alone 1187. At most a third of drops' peak, our
//     bound, holds: at most 268 of 1249 kB (1 flow, 50 ms, 1 product). In 0.1 product our bound, half of what drops
//     lose, fails: one elephant at 50 ms loses 102 packets, with drops 158; early without supply loses none there, but
//     uses 5 % of the link. In 1 and 4 products use is 0.89 to 0.98; drops have 0.92 to 0.995, ECN at 5 % 0.20 to 0.95.
//     0.95 of drops' use fails: eight elephants at 10 ms in 0.1 product have 0.91 of 0.97 (spikes.throughput). So does
//     a peak of at most a third more than ECN's at the same threshold: 268 against 107 kB (spikes.ecn-equal).
//   - "High fairness in shallow and deep buffers" (likewise; fairness, five seeds): with early and supply Jain's
//     index is at least 0.995 in 0.1 and 4 products, for 50 ms and for 10 and 100 ms, at 96 to 99 % use; drops
//     have 0.53 to 0.96, ECN 0.52 to 0.995, fq 0.997 or more. By memory alone it fails, 0.73 for 10 and 100 ms in
//     a shallow buffer; supply makes that 0.998, and has 0.94 at least (50 ms, deep: undecided).
//   - Several bottlenecks (internet-lot, five seeds, buffers of a tenth, a third and a whole product): the long
//     flow has 9, 9 and 10 Mb/s with loss, 9, 12 and 9 with drops, 23, 23 and 13 with supply, 22 to 26 with
//     early, too; fq gives it 22, 33 and 38. That it has more with loss than with drops is undecided (lot.long).
//     Supply misses half of fq's share, and twice drops' part, in the deepest buffer (lot.no-starvation and
//     lot.long-supply fail): each hop notifies it, and its window is for the empty path. 0.95 of drops' use
//     fails (lot.throughput): with loss 0.64 of 0.71 in the shallowest buffer, with supply 0.85 of 0.96 and 0.92 of
//     0.99 in the others.
//   - Partial deployment (partial): senders that reduce upon NACKs have 93 to 96 of their 95.6 Mb/s next to senders
//     that do not know them, with cubic and reno, 150 and 500 kB; without the switch's two rules (below) 61 to 87.
//     Senders that follow the supply have 110 to 121 and leave the others 36 to 52, at 0.78 to 0.91 of the link, by
//     default, so partial.unmodified, no-starvation and throughput fail: at 95 % congestion begins when packets already
//     find no room, so with each notice to the former the latter lose packets, and they recover more slowly. If it
//     begins earlier (congested: 70%), the former reduce before a packet is lost: they have 88 to 93, the others 95 to
//     103, at 0.98 of the link and more (partial.both-70). Also tried: early at 5 to 50 % (51 to 92 for those who know:
//     notified whenever the others' queue is long, in windows for the empty path), deaf: alike (no better), congested:
//     50% and 30% (80 to 95). All together, Jain's index is 0.994 and more with loss, 1.000 with supply; without
//     notices to the N heaviest 0.86 to 0.98. That notices even out is undecided with reno in 150 kB, 0.995 against
//     0.978 ± 0.019 (partial.evens-out). That supply halves the queue's median fails there, 50 kB, and 25 without
//     NACKs (partial.short-queue); in 500 kB it is 88, and 276 to 342.
//   - NCF at one of two bottlenecks (partial-path): the flow across both has 18 and 14 Mb/s by loss, where drops leave
//     it 13, which is undecided (path.long), and 21 by supply; with NCF at both it has 17 and 29, of a fair 32.
//   - Controllers: with supply all ten reduce within 6 µs. With loss, reno, cubic, bbr, dctcp and swift do, the
//     others upon their own signal. With resend alone no sender floods, even without a controller: 0.1 NACKs a
//     packet at full use, for after a NACK packets go as others arrive. app/internal/cli has the same without a
//     transport (testdata/nacks.txt). Two claims fail: that bbr waits for its own signal (own-signal), and that supply
//     never costs more packets than another reaction (supply-lost: DCQCN loses 71, and 20 by loss).
//   - A flood of mice that respond to no NACK (attack). Two elephants next to 200 flows that bring twice the port keep
//     477 or 478 of 1000 Mb/s at 0.2, 1, 4 and 20 ms, in a pool, too, and 436 to 478 with supply; with drops 1 to 4,
//     with fq 4 to 11: a queue per flow is no defence against 200 flows. 1 to 10 elephants next to 1.5 to 10 times the
//     port keep 429 or more together, by loss and by supply, and the slowest has 0.59 of its equal part or more, 28 of
//     48 (attack.together, attack.each). 2 and 10 flows of cubic, bbr and dctcp next to twice and ten times the port
//     keep 0.41 of it or more, too, at 0.1, 1 and 10 Gb/s (attack-senders, three seeds). That this is 0.4 or more is
//     undecided for ten of dctcp by supply at 10 Gb/s, 0.43 ± 0.05 (senders.together-ten). On average each has a
//     quarter of its equal part, but for dctcp by loss in a buffer of ten products: the slowest of ten has 8 of 48
//     there, with cubic 25, with bbr 33, and by supply 20 to 43. Seeds differ, so this is undecided for dctcp by loss
//     next to ten times the port, 36 ± 33 (senders.each), for BBR there, 34 ± 51 in half a product and 11 in the worst
//     seed, and in the buffer of ten products, 8 ± 10 with dctcp and 25 ± 13 with cubic (senders.each-loss). Floods of
//     less than the port are in honest-mice and overload. Without budgets two elephants next to twice the port have
//     478, 403, 283 and 409, and with one that every n·d renews 478, 421, 385 and 435. (At 0.2 ms their reservation
//     holds a bandwidth-delay product.) Without top N they have the same, 477 and more. That supply leaves 0.9 of their
//     half next to half of the port is undecided: 431 of 430 ± 2 at 1 ms. Pulses of mice, every other n·d
//     (attack-budget), leave them 806, 732, 623 and 506, and 781, 509, 372 and 392 if n·d renew the budget. An honest
//     incast of 200 flows that takes a quarter of the port on average leaves them 695, 600, 468 and 326. At 20 ms this
//     is 0.68 of their half: each burst takes half of the port for 150 ms, and cubic needs seconds to recover. Equal
//     parts leave them 548 there, and a queue per flow 64; the incast takes 145 ms, 192 and 142. What elephants are
//     spared costs an incast little: it takes 5.7, 8.6, 30 and 145 ms on average, and 5.2, 7.8, 28 and 141 without
//     budgets.
//
// NDP has no window, so its `reduction` is that of the bytes in flight. The windows of mixed were set to 1 ms
// after a first run with 50 µs had reordered up to 24 % of the elephants' packets; the paper has no bound
// for that.
//
// # What the paper leaves open
//
// Figure 2. At t1 both f2 and f3 are labelled elephants; at t2 f3 is said to have turned from a mouse into
// an elephant, though it was one already. We keep to §4.1's definition of F.
//
// The total that shares are of. By default it is the traffic of the egress port, where congestion happens; with 64
// ports no flow would have 5 % of a switch. sketch: switch is the other reading. The paper counts arrivals, so that a
// flood chooses the total: next to ten times the port's rate, a flow with half of the port is a mouse. A flow is
// therefore also an elephant by its share of what the port can send in n·d (Program.isElephant). The sketch has a
// second count in each cell, of what the port dropped; the difference is a count-min sketch of what it sends, so its
// error is relative to that (TestErrorOfForwarded). While mice bring more than half of what the port can send,
// elephants stay elephants also below the threshold, since the scheduler then decides what they send, and half of the
// threshold makes an elephant (crowdRate, crowdThreshold). This is for flows that respond to NACKs: datagrams need the
// threshold. A mouse that was an elephant within n·d is offered an elephant's supply (TestWayBack).
//
// How long n·d is. A sender is judged by what it sends in n·d, and it sends a window in a round trip, or one
// packet while N others send theirs. So round_trip and senders make n·d four times the longer of the round
// trip with the port's memory full and of N·MTU/C. Each port has its own d by its rate and buffer, or with sketch:
// switch one for all, the longest (TestDerivedByPort): a deep buffer at a fast port elsewhere must not delay what a
// slow port notices. A file is warned of an n·d below one and a half of them, and of tilt, spike and early where they
// decide nothing (TestSuits): on 1 Gb/s with 200 us the elephants' reservation of 30 kB holds their whole window.
//
// Who listens. §4.4 tells the N heaviest, so who listens makes room for who does not: with all of them told, and
// nobody trimmed first, and a notice that cut like a loss, cubic and reno that listen had 25 to 54 of their 95.6 Mb/s
// beside senders that do not know NACKs (experiments/partial.yaml, 150 and 500 kB). Three things put that right, each
// an option or a rule of the sender. Told are those that send more than they are offered (tell: above_share). A notice
// of which nothing is lost reduces by RFC 8511's factors, 0.85 and 0.8, and not below what is offered (cc.Warned). And
// elephants that were told and go on are trimmed to their part of the port while memory lacks (deaf: first). Then the
// same senders have 93 to 96 of 95.6, and the others 93 to 98.
//
// The smallest elephant. The first packet of any flow that is alone on a port has all of the traffic.
// We require least (30 kB) in the last n·d.
//
// Control packets are feedback from the network or from receivers (NACKs, CNPs, probes, trimmed headers),
// and acknowledgements (acks: mice counts these as mice: TestAcks). Retransmissions are data of their
// flow.
//
// The maximum of 5 %. It is a ceiling while other classes wait, so that the port stays work conserving;
// hard makes it one always. TestControlCeiling: control frames of 2.6 % of a port's rate wait for 9 µs at
// 1 Gb/s whatever the ceiling; of 10 %, the excess waits until the burst is over, 1.7 ms here, with hard
// also on an idle port. Without priority it would be 34 µs.
//
// Other numbers of queues. One queue is for everything; of two, one is for control packets and one for the
// rest; with more than three, elephants are spread over the further ones by their flow. Mice and elephants
// have memory of their own only with three or more, and with one queue nothing is ever evicted.
//
// Memory. Every class may use what is free: all classes together the whole, mice and elephants up to
// limit. When a packet does not fit, its class is entitled to a share: control to its 5 %, mice and
// elephants to their reservation and, by tilt, to a part of the rest. If the class has less than that,
// packets are evicted until the new one fits, from the longest queue of the class that exceeds its
// entitlement most, from the tail. Otherwise the packet is dropped. The pool is per port or per switch. A
// buffer in packets is shared in packets.
//
// As needed, and a flood (Program.countMice, overload). The scheduler gives mice what they need while they bring less
// than the port's rate less half of the elephants' guarantee, and elephants the rest; a flood gets an equal part. The
// paper has no rule. Ours has two meters for each port: 0.95 of the rate with a depth of half of what the port sends in
// n·d, or 32 of the smallest elephants, and 1.2 times the rate with a sixteenth of that, or 4 of these. A packet counts
// when it arrives first, and not when its sender, notified of the drop, repeats it: drops of mice are in a table of
// 2048 bytes a port (repeats). bandwidth: equal is the other reading. The domain of the figures, from the quick
// variants (one seed) unless a line has its own:
//
//   - Honest mice of 20 kB (honest-mice, all 324 points, three seeds): 30, 60 and 85 % of 0.1, 1 and 10 Gb/s, 1, 2 and
//     8 elephants (cubic), 2, 4 and 8 ms, buffers of 200 kB, 500 kB and 5 MB. By loss and by supply they take at most
//     1.00 times as long as with a queue per flow on average, without a timeout: 7.3 ms at 85 % of 1 Gb/s and 2 ms,
//     where fq has 8.1 and 32 next to 1 and 8 elephants and equal parts have 486 and 543. The same holds for the 99th
//     percentile but for one point, one elephant at 85 % of 1 Gb/s, 2 ms, by supply: 15 ms, fq 13, one seed 22 and fq
//     15, so 1.5 times fq's is undecided (honest.p99). Elephants have 0.80 to 1.02 of what fq gives them by loss, and
//     0.66 to 1.05 by supply. At 85 % it is undecided that this is 0.75 or more by loss and 0.6 or more by supply
//     (honest.rest, -supply), and at 10 Gb/s, 8 ms and 60 % that mice wait longer with equal parts (honest.needed).
//     Their guarantee holds over 30 n·d, and a hundredth of the port at any time.
//   - A flood that does not respond, by its payload (overload, three seeds): 1, 2 and 8 elephants at 1 Gb/s, 1, 4 and
//     20 ms, have 430 to 455 of 1000 Mb/s next to 0.5 times the port, 61 to 79 next to 0.9, 388 to 458 next to 1.0 but
//     for one point, and 430 to 478 next to 1.1 and 1.5. At that point overload.flood and overload.cost fail: one flow
//     at 4 ms by loss has 362 in the first 2 s next to 1.0, where 382 are asked and equal parts give it 478. It has 10
//     for 160 ms, until the overload begins, then 215, and 478 after 1.3 s. (Two flows at 20 ms by loss have 417 ± 43:
//     undecided.) In the worst case, 0.92, elephants have what it leaves, 50, their guarantee of 96 after 30 n·d, and
//     478 if mice later fill a level: on average 50 at 20 ms, 63 to 73 at 4 ms, and 239 to 267 at 1 ms. Seeds differ
//     at 4 ms: half of the guarantee, 48, is undecided there, and the worst has 50 (overload.worst). An overload begins
//     after 6 n·d at 1.0 and 0.1 n·d at 1.5 of the port in payload, which is 1.03 and 1.54 in frames; after 10 and 0.10
//     n·d at 1.0 and 1.5 of it in frames (TestOverloadLevels).
//   - Shallow buffers: 100 Mb/s at 85 %, by seeds of 4 to 6 s, in the worst seed. 200 and 500 kB at 2, 4 and 8 ms next
//     to 1 and 8 elephants: at most 0.80 times fq's mean and 0.96 times its 99th percentile. 50 kB, or 2.5 mice: next
//     to 8 elephants 1.00 and 0.95 at 2 ms; next to 1, by loss 0.85 and 1.49, and 1.21 and 0.91 at 8 ms. By supply
//     three of eight seeds at 2 ms are beyond 1.5, up to 2.6 and 2.1. Elephants have 0.45 to 0.99 of what fq gives
//     them.
//   - Mice of other sizes. The rule counts frames. Mice of 2 kB that ask for 85 % of the port have more than 0.95 of it
//     in frames: they are an overload. Mice of 5 kB have 0.92, which fills a level by chance: at 100 Mb/s, 2 ms and 100
//     kB, next to 4 elephants, they take 0.55 of fq's mean and 1.8 times its 99th percentile by loss, and 1.4 and 3.2
//     times by supply. At 8 ms and 500 kB they take less than with fq. Mice of 60 kB take 0.5 to 1.04 times fq's mean
//     in both, at 55 and 85 %, with 104 timeouts by loss and 64 by supply at 85 %, 8 ms and 500 kB, and 10 with fq.
//   - More than the port carries (honest-step, 100 Mb/s, 2 elephants, 4 ms, 50 and 500 kB): mice that ask for 85 % for
//     two seconds take no longer than with fq. At 95 % they take 0.5 to 11 times as long, by seed. Seven seconds later
//     they take no longer again with 500 kB; with 50 kB the overload stays in two of three seeds by loss and in one by
//     supply. Mice that ask for 120 % in that time bring a backlog of hundreds of flows, with more drops than the table
//     has cells: they stay an overload, and have half of the port, until they ask for less than half of it. Mice wait
//     for timeouts then, and at 95 % with 50 kB (step.timeouts): 4 by supply at 120 % and 500 kB, where fq has 409.
//   - Repeats that are forged (by the rule, not measured in a network). A flood of TCP that repeats no packet counts
//     whole. One that repeats all that is dropped counts as what passes: next to it elephants have their guarantee, as
//     next to 0.92, the worst case. NACKs are at most twice the packets that leave (allowance), so from three times the
//     port on it is found. Datagrams count whole.
//
// The limit of throttling. Elephants that keep to their balance pay for mice in two ways: mice are entitled to all
// but the elephants' reservation, and the N heaviest are told. Both have two budgets. The time is spike · n·d; it
// runs while elephants pay for what mice have beyond their balance, and comes back by windows in which, as far as
// memory was scarce, mice kept to it, all of it after restore, ten n·d (renew: windows is the other reading: by n·d
// that pass). The mice are mice_budget of what the port sends in n·d, half by default, which is what the scheduler
// gives them when elephants want as much; it comes back as mice leave the last n·d. When either is spent, elephants
// take the memory back packet by packet, which takes as long as they need to send that much (TestShareOfMemory), and
// only those that exceed their balance are notified. While the budget of mice is spent, elephants are entitled to all
// but the mice's reservation (TestMemoryInFlood): a longer queue serves mice that flood the port no faster, and lets
// elephants fill their part of it. With one queue, or two, elephants have no balance of their own: the budget of mice
// alone limits what they are told. Why restore is that long: TCP at 20 ms needs seconds to recover from one cut, so
// pulses that take a quarter of every other n·d are as good as a flood if each finds the budget whole.
//
// A flow that begins in a flood (Memory.hasFreeRoom). In a flood, datagrams leave three quarters of the mice's
// reservation free, so that flows that respond to NACKs lose few packets as mice and become elephants
// (TestElephantsBeginInFlood). One flow of cubic that begins .5 s after a flood of twice the port at 4 ms has 438 of
// 1000 Mb/s in its first 1.5 s; without this room it had 1. A flood that has the headers of TCP fills this room, too.
//
// Where the limit does not help. Flows that the table of the N heaviest (top) does not hold stay mice: 21 flows next to
// a table of 20, at any threshold. The table holds flows that have once exceeded the threshold, which equal parts of a
// fifth of it do not. weir check warns of both (ncf-elephants). In a buffer of a fifth of a bandwidth-delay product
// (100 kB at 4 ms) one flow of cubic has 374 of 1000 Mb/s in the first 2 s of a flood, since the spike before the limit
// costs one reduction, and then 440 or more; two have 448. In a buffer of ten products the slowest of ten flows has 25
// to 35 of its 48 with cubic and 8 to 31 with dctcp: a loaded round trip is 44 ms there, and the slowest grows by a
// packet in each. With one queue there is no class to protect: 12.
//
// Entries of the table do not expire. In a flood a flow that was once among the heaviest is an elephant, however little
// it sends, until heavier ones take its place. Datagrams that send more than the threshold are elephants as well, and
// get no NACK: next to ten that bring twice the port, two flows of cubic have 79 Mb/s, where equal parts are 160. The
// warning counts datagrams alone, not floods of TCP. Next to mice of 20 kB that ask for two and five times 100 Mb/s (4
// ms, 100 kB, one seed), 2, 4 and 10 elephants have 45 to 46 Mb/s by loss and 38 to 46 by supply. 30 elephants, which
// the table does not hold, have 46 and 47 by loss, and 27 and 45 by supply.
//
// Many flows. 1000 long flows share 100 Mb/s (dumbbell of 0.1 ms a link, 100 kB, 5 s, three seeds). BBR keeps four
// packets in flight, 6 MB in all, where path and buffer hold 105 kB. With drops 6200 timeouts run, 420 flows deliver no
// byte, and Jain's index is 0.25 to 0.26 (cubic 0.40 to 0.41). With NCF by loss there is no timeout, and the index is
// 0.13, 0.19 and 0.90 (cubic 0.85 to 0.91). In two seeds a flow in startup sends least (30 kB) in n·d and is an
// elephant among mice, with half of the port while it is one. The others' index is 0.85 to 0.90. With least: 300kB no
// flow becomes an elephant, and it is 0.84 to 0.90, over 20 s 0.98. With supply it is 0.94 to 0.95. Classes share a
// port, not flows: one elephant among 99 mice that want all of the port makes it 0.04.
//
// Buffers that hold less than the memory. A port's memory is never more than its buffer, and a port of a pool has
// reservations and balance in its part, which is what its buffer holds, and in the pool (TestBuffersBelowMemory):
// elsewise mice fill the buffer while memory has room, and elephants have 7 of 1000 Mb/s in the attack instead of 478
// (attack.half-pool). The budget of mice is a port's also in a pool: each port sends its own. early goes by the port's
// own elephants (TestEarlyOfPort).
//
// Begin and end of congestion: it begins when 95 % of the memory is used or a packet finds no room, and
// ends below 50 %.
//
// Drops that become NACKs. By §4.3 the sender of every trimmed packet is notified, and incast, which is
// mice, is to profit by it; by §4.1 and §5 only elephants are. nack: all is the default, nack: elephants
// the other reading. Packets without payload, packets whose sender is unknown, and NACKs themselves are
// dropped without a NACK. So is UDP: it has no sequence number, so a NACK would be of use to
// udp_controlled only (udp: true), and then quotes 8 bytes of payload, which are the datagram's number
// (TestUDP). Drops for other reasons than lack of memory cause no NACK (TestReasons): an AQM's drop is a
// signal of its own.
//
// The NACK has the packet's headers with TCP's time stamps, or RDMA's transmission number, so that a sender
// knows which transmission was lost. It has no extensions (telemetry would describe a path that the packet
// did not finish), ECN is not-ECT, and the hop limit is reset. Demand is the flow's rate over the last
// n·d from the sketch, thus an upper bound. Supply is RCP's rate with the
// flows counted (offer.go): for an elephant the target share of the port's rate, less what mice and control
// packets bring in the present (the time in which the memory leaves, at most d), less a little for the
// queue, but at least what the scheduler gives elephants, divided by the number of elephants among the
// port's N heaviest flows, or max-min (TestOffer, TestOfferBounds, TestSupplyAndDemand, TestFill, TestMaxMin).
// A flow's bytes count in the class that it has now (TestPresent). Supply for a mouse is the target share
// divided by the number of all flows in the union of the windows (TestSupplyOfMice, TestFlowsUnion).
// early tells elephants, not mice; a file is warned where it cannot act.
//
// The form. To a sender of TCP a NACK is a pure ACK with an option for experiments (RFC 6994). Its flow is named by its
// own addresses and ports only, so that NATs translate it; it is older than the connection, so that a host that does
// not know it counts an old ACK and discards it. A host of Linux can have an agent that obeys it (worlds/agent). form:
// extension, and RDMA and UDP, have protocol 253 over IPv4 and
// hop-by-hop options over IPv6, which NATs do not pass. signed names the switch in either, and so tells whoever listens
// on the way where there is congestion; it is off by default. Wireshark takes the option for what it is
// (TestTsharkNack in internal/pcapng).
//
// form: ece is for senders of TCP that know no NACKs (ours): a copy of the flow's last acknowledgement with ECE,
// which any sender that has negotiated ECN obeys as a mark (RFC 3168 §6.1.2), once in a window of its data (echo.go
// has the rules). It comes as fast as a NACK does, but says less: no supply, and not what is lost, so a loss is
// repaired when later packets' SACKs have told of it. CUBIC and Reno reduce; BBR of Linux ignores ECE, DCTCP by its
// share of marks, which a copy does not change. The budget of NACKs holds for copies; coalesce and signed are for
// NACKs, which senders by other transports than TCP get as extensions as ever. Acknowledgements that return by
// another path are not seen: then there is no copy, which is counted (NackCounts.NoAck). Who can forge an
// acknowledgement of a flow can set ECE in it himself, and a copy of it goes only where it went. Two flows of the
// kernel's CUBIC through 50 Mb/s with 150 packets and 10 ms, in the lab (10 s, one run each, goodput in Mb/s, the
// queue's median and 99th percentile, packets lost): drops 47.8, 129, 149, 9; marks at 30 packets 47.8, 19, 32, 0;
// copies 47.8, 101, 140, 0; with early: 20% 47.8, 19, 30, 0; NCF that tells nobody 47.7, 121, 141, 13; nowhere a
// timeout. The simulator has 47.8, 150, 150, 2; 47.8, 21, 32, 0; 47.8, 105, 141, 0; 47.8, 19, 31, 0; 47.8, 133, 142,
// 44. One flow at 50 ms that hears at a fifth of its buffer leaves slow start early, and has 55 of 96 Mb/s in its
// first six seconds, as with marks.
//
// Forgery. A NACK has no key, and signed is a name, not a signature. Who sees a flow's packets can forge NACKs, which
// costs the flow at most a reduction each round trip, and each packet twice at the pace of NACKs (TestNackOfDelivered
// in transport/tcp); a true NACK that is sent again changes nothing (TestNackReplay). Who sees none has to guess the
// sequence number and the time stamp of a transmission that is out. Of a flow with 136 segments out, five of one stamp,
// a guess with addresses, ports and that stamp known hits once in 8.6·10⁸, and with the stamp unknown once in 1.4·10¹⁷,
// in either form (TestNackSweep).
//
// Overhead. Of a flow, only so many packets that find no room become NACKs as the port sends in n·d and its memory
// holds, and one for each packet that leaves; the rest is dropped in silence (nack_budget). A sender that heeds NACKs
// never gets there: transports hold off (transport.NACKPacer), TCP, too, so that of any number of senders about one
// packet in three is NACKed. Three readings for TCP (one seed; payload sent of what arrives, 256 senders of 500 KB and
// of 20 KB in 97 KB, and when the last of 64 of 20 KB is there): to withhold only what was NACKed twice 1.76, 4.2,
// 1.26 ms; gaps from SRTT, up to three packets' time at the offered rate, 1.26, 2.2, 2.7 ms; gaps from the shortest
// round trip, up to one packet's time, that close by parts of 24, 1.46, 2.3, 1.28 ms. The last is built (1.46, 2.3,
// 1.3 ms by five seeds). SRTT has samples of a retransmission's time stamps, which are 1 ms at least: flows of 20 KB
// waited for gaps of 340 µs where 77 were fair. Flows that are in flight whole before anything can be told send more
// than 1.5 times what arrives whatever follows (incast.storm-mice has 2.5), and rdma with DCQCN, 64 senders of 500 KB
// across the fat tree with deep buffers, still sends 1.7 times (fabric.storm), with supply 1.5: DCQCN ignores losses
// and gets no CNP there, so nothing but the hold-off slows it. With Reno in its place (rdma_ncf) it is 1.16; with the
// shortest round trip in place of the smoothed one, as TCP's hold-off has it, 1.8. 256
// senders of 500 KB that did not caused 46 NACKs a packet, and now 0.5, in the same time. Whatever senders do, NACKs
// are at most twice the packets that leave, and a flight for each of 1024 slots (TestAllowanceHostile); a flow that
// used all up hears again when 1024 packets have left. Without this, senders that do not react, at twice a port's
// rate, cause NACKs of 3 % of the data's bytes. A return path that is full of other traffic leaves 5 % for them, and
// loses the third of them that exceeds that; combined over 50 µs, none is lost (TestOverhead). An option names 3
// packets of a flow, an extension 9: at 8.5 times the rate combining leaves 6100 of 17 796 NACKs and 63 % of them are
// lost, as extensions 2898 and 39 %, and one by one 86 % in either form. So with the option coalesce is worth a factor
// of at most 3. §4.3 speaks of NACKs to the same source; coalesce combines the NACKs of one flow, since a NACK carries
// one flow's headers, by which its sender checks it.
//
// The N heaviest. While a port is congested, each packet with payload that arrives for it causes at most one
// notice, and each elephant gets one at most once in every (a window). early notifies an elephant when it
// sends, as soon as elephants use so much of the memory (TestEarly), as the follow-up's abstract suggests.
//
// Changes of class. A flow that changes its class is reordered when its packets wait in both queues. change:
// flowlet keeps it in its old queue until they have left, or for change_wait, after which at most as many
// packets as the queue holds can be overtaken, once. A flow that never pauses waits until the end of
// change_wait, and by then has more packets in the queue than at first: TestChange has 15 packets reordered
// without a wait, 57 after 1 ms, and none without a limit. The default is not to wait. Its cost is highest for equal
// flows near the threshold, which change all the time: what is left in the elephants' queue waits for mice, and the
// sender resends it. 16, 32 and 64 flows of cubic at 100 Mb/s and 20 ms by loss have 95.5, 92.5 and 90.9 Mb/s, and with
// tail drop 95.4 or more; 8 and 256, which do not change, have 95.6. bandwidth: equal has 95.0 or more; change: flowlet
// has 95.6 with 32 flows and 94.2 with 64 (one seed, 4 s). 64 senders that know no NACKs, and get copies of ACKs, have
// 91.6 of 95.6 at 20 ms and 91.9 of 95.2 at 50 ms (testdata/echoes.yaml).
//
// A packet that comes back by recirculation is counted once (TestCountedOnce).
package ncf
