// Package rdma is the queue pair of an RDMA NIC, as HPCC and what it is compared with
// use it: a Sender, which starts at line rate and keeps to the window and the rate of its
// controller, and a Receiver, which acknowledges each packet, or several, and sends
// back what the network wrote into the data.
//
// # Where the papers' parts are
//
//	HPCC §3.2 start at line rate               New                       TestLineRateStart
//	HPCC §3.2, facts A5 window, pacing         Sender.fits, Sender.pace  TestWindow, TestPacing, TestNewRate
//	HPCC §4.1 ACKs carry telemetry back        Receiver.Receive          TestTelemetryEcho
//	facts A5 go-back-N, a NACK an interval     Receiver.refuse           TestTraces, TestNackInterval
//	draft-miao §6.1 probes, answered           Sender.probed             TestProbes
//	IRN §3.1 NACKs with SACK, recovery         Sender.negative           TestTraces, TestSelectiveRepeat
//	IRN §3.1 timeouts, RTO_low and RTO_high    Sender.rto, timeout       TestRTO, TestTailLoss
//	IRN §3.2 BDP-FC                            Sender.think              TestBound
//	RFC 6298 §2, §5 RTO, doubling              Sender.rto, measure       TestRTO, TestMeasuredRTO, TestEverythingLost
//	DCQCN §3.1 CNPs, one an interval           Receiver.Receive          TestCNP
//	draft-miao §9.1 notices are checked        Sender.notice             TestNotices
//	RFC 8257 §3.2 echo of marks                Receiver.Receive          TestEcho
//	RFC 8257 §3.3 one reduction a window       Sender.turn               TestEchoReduces
//	coalesced and delayed ACKs                 Receiver.take             TestCoalescing
//	draft-cheng-iccrg-delivery-rate-estimation Sender.conclude           TestDeliveryRate
//	all of them on paths of any kind           all                       TestRandomPaths, FuzzPath
//
// # What differs
//
// From the HPCC simulator (facts A5): it has no retransmission timer and does not answer
// duplicates, which a flow whose last ACK is lost needs; its window may be passed by
// less than a packet, this one is not, but that one packet may always be out; its frames
// are UDP with ACKs of IP protocol 0xFC and NACKs of 0xFD, here all are 0xFC, with the kind
// in the header, for 0xFD is that of extensions over IPv4.
//
// From IRN: a packet that was sent again is not sent once more in the next recovery while
// its retransmission may still arrive; only a timeout does that. A timeout starts anew
// whenever the first unacknowledged packet is sent. Retransmissions keep to the window
// and the rate as well. While a timeout's first packet is out, the others do not count
// as in flight.
//
// Controllers of TCP work too, but there is no PRR: a reduced window holds at once.
package rdma
