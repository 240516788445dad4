// Package inband is the switch's part of in-band telemetry (draft-miao §6.1, §7.1; HPCC
// §4.1): a program that writes what it knows of the egress port into the packets that ask
// for it.
//
//	guideline 3: a single snapshot at dequeue      Program.Egress TestSnapshot
//	HPCC simulator: time, bytes before, queue behind  Program.Egress TestSnapshot
//	HPCC's format, more hops than fit              telemetry.HPCC TestFiveHops
//	§6 only upon congestion                        Program.Egress TestCongestionOnly
//	§9.4 sojourn time; a class's share under DWRR  Program.class  TestClasses
//	… under queues in strict priority              Program.count  TestClassesUnderPriority
//	PINT: the largest load                         Program.Egress TestLoad
//	§9.1: the largest load, relative to capacity   Program.write  TestRelativeLoad
//	what does not ask gets nothing                 Program.Egress TestNotAsked
//	INT v2.1: M, the MTU would be exceeded         Program.write  TestMTU, TestLength
//	clocks of switches                             New            TestClocks
package inband
