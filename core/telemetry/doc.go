// Package telemetry has the records by which switches describe a packet's path to senders. To use it:
//
//  1. NewFormat, or NewHPCC, returns the format of one network.
//  2. A switch calls Format.PushRecord with a Hop, a snapshot of an egress port at dequeue
//     (draft-miao-iccrg-hpccplus-01 §6.1); the receiver calls Format.MakeAnswer.
//  3. The sender calls Format.ReadAnswer, which fills Records, oldest hop first. An Unwrapper makes the records of a
//     flow continuous again. A law compares the records of two packets.
//
// HPCC is the format of the HPCC paper, PINT a format of one or two bytes; INT-MD, IOAM and IFA are stacks of records
// at their own positions in a frame (packet.StackPosition). A Profile is a format by its name. Formats round and wrap
// values. A Clock is a switch's clock.
//
//	draft-miao §6.1, guideline 3, one snapshot  Hop, Records    TestRecords_LimitHopsAndCountMissed
//	what a format carries, what laws need       Field           TestFormat_ReportsMissingFields
//	HPCC §4.1, figure 7: 42 bytes               HPCC            TestHPCCGolden, FuzzHPCC_RoundTripsRecords,
//	                                                            TestHPCC_RoundsDownByLessThanUnit
//	… more hops than fit                        HPCC.Push       TestMoreHopsThanFit
//	… wraps of time and bytes                   Wraparound,     TestWraparound_DeltaUnwrapsTimeAndBytes,
//	                                                            TestUnwrapper_KeepsConstantOffsetOverWraps,
//	                                                            TestWrappedTwice,
//	                                            Unwrapper       TestDifferencesOfFieldsAsTheyCame
//	… more paths than an Unwrapper follows      Unwrapper       TestMorePathsThanRoom, TestPathsThatAreGone
//	§7.2 asking, answering; bytes of formats    Format          TestFormat_PushesUpToMaxHops,
//	                                                            TestFormat_SetShapeRejectsImpossibleShapes,
//	                                                            FuzzFormat_StaysWithinExtensionRoom
//	INT-MD v2.1                                 int.go          TestStacksGolden, TestINTExamples, TestINTTransit,
//	                                                            TestINTSourceOnlyExample
//	IOAM, RFC 9197, and draft-gafni's bits      ioam.go         TestStacksGolden, TestStacksQuantise,
//	                                                            TestFormat_ReadsMicrosecondTimes
//	IFA 2.0, with Weir's counter and without    ifa.go          TestStacksGolden, TestStackLimits
//	Weir's counter in all three                 counter.go      TestCounter_KeepsRateAndBytes
//	§6 upon congestion only                     Format.AddRequest      TestIfCongested
//	§9.1 loads relative to capacity only        RelativeLoad    TestRelativeGolden, TestRelative_ReturnsMaxLoad,
//	                                                            TestRelativeHidesCapacity
//	switch clocks                               Clock           TestClock_NeverRunsBackwards
//	PINT (SIGCOMM'20), HPCC-PINT's telemetry    PINT, PortLoad  TestPINTGolden, TestPINTUnbiased,
//	                                                            TestPortLoad, TestLoadCode
//
// Tests in worlds/lab (a decoder written from the specifications, and tshark), internal/pcapng (tshark) and
// internal/netns (Linux) check that other implementations read the same values.
package telemetry
