// Package telemetry has what switches tell senders of a packet's path: a Hop is one
// snapshot of an egress port at dequeue (draft-miao-iccrg-hpccplus-01 §6.1), Records
// are those of a packet, oldest first, and HPCC is the format in which the HPCC paper
// carries them. What a format rounds and wraps decides what a sender sees: an Unwrapper
// makes the records of a flow continuous again. A Clock is a switch's; a Profile says
// what other formats cost on the wire; a Format is what one network carries; PINT is telemetry of one or two bytes.
//
//	draft-miao §6.1, guideline 3, one snapshot  Hop, Records    TestRecords
//	HPCC §4.1, figure 7: 42 bytes               HPCC            TestHPCCGolden, FuzzHPCC, TestQuantisation
//	… more hops than fit                        HPCC.Push       TestMoreHopsThanFit
//	… wraps of time and bytes                   Span, Unwrapper TestDelta, TestUnwrapper, TestWrappedTwice
//	INT-MD v2.1, IOAM, IFA 2.0: bytes           Profiles        TestProfiles
//	§7.2 asking, answering; bytes of formats    Format          TestFormats, TestInFullGolden, FuzzFormat
//	§6 upon congestion only                     Format.Ask      TestIfCongested
//	§9.1 loads relative to capacity only RelativeLoad TestRelativeGolden, TestRelative,
//
// TestRelativeHidesCapacity
//
//	switch clocks                               Clock           TestClock
//	PINT (SIGCOMM'20), HPCC-PINT's telemetry PINT, PortLoad TestPINTGolden, TestPINTUnbiased,
//
// TestPortLoad, TestLoadCode
package telemetry
