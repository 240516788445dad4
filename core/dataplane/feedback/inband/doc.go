// Package inband is the switch's part of in-band telemetry (draft-miao §6.1, §7.1; HPCC §4.1). The program writes
// data about the egress port into packets that request it.
//
//	guideline 3: a single snapshot at dequeue         Program.Egress         TestProgram_RecordsInstantOfDequeue
//	HPCC simulator: time, bytes before, queue behind  Program.Egress         TestProgram_RecordsInstantOfDequeue
//	HPCC's format, more hops than fit                 telemetry.HPCC         TestFiveHops
//	§6 only upon congestion                           Program.Egress         TestCongestionOnly
//	§9.4 sojourn time; a class's share under DWRR     Program.describeClass  TestProgram_RecordsQueuePerClass
//	… under queues in strict priority                 Program.countClass     TestClassesUnderPriority
//	PINT: the largest load                            Program.Egress         TestProgram_WritesMaxPathLoad
//	§9.1: the largest load, relative to capacity      Program.writeWanted    TestRelativeLoad
//	no request, no telemetry                          Program.Egress         TestNotAsked
//	INT v2.1: M, the MTU would be exceeded            Program.writeWanted    TestProgram_RecordsOnlyWithinMTU,
//	                                                                         TestPacketLength_SkipsEthernetTags
//	clocks of switches                                New                    TestProgram_StampsBySwitchClock
package inband
