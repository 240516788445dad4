// Package transport is the contract between hosts and flows, with the building blocks of all senders and receivers.
// An Endpoint is one half of a flow: a pure state machine that takes packets, emits packets and returns the time at
// which it wants to send next. Each transport has a folder.
//
//	draft-miao §6, §7.2: when senders ask for telemetry    TelemetryRequester.AskIfDue
//	                                                                                  TestTelemetryRequester_AsksWhenDue,
//	                                                                                  TestAskingErrors
//	… what comes back, and what is kept for a later ACK    TelemetryRequester, TelemetryResponder
//	                                                       TestReadUnwraps, TestResponderKeeps
//	§6.2: a controller's part at the receiver              TelemetryResponder
//	                                                       TestReceiver_ReturnsWindowsFromTelemetry
//	§9.1: integrity of feedback                            TelemetryRequester.IsGenuine
//	                                                       TestCodeGolden,
//	                                                       TestForgedFeedback,
//	                                                       FuzzSeal_RefusesAnyChange
//	… replays                                              TelemetryRequester.IsGenuine  TestReplayedFeedback
//	… what is not sealed, what has no room                 TelemetryResponder.AddSeal
//	                                                       TestRoutersMayChange, TestRoomForCode
//	… cost                                                 TelemetryResponder.WriteCode
//	                                                       TestSeal_DoesNotAllocate, BenchmarkSeal, BenchmarkGenuine
//	NICs that take a time to answer                        NIC                         TestNICDelays, TestNICAllocates
//	RFC 8985 §7, RFC 9002 §6.2: probes before data         LossTimer                   TestLossTimer, TestLossLimit
//
// # The sender kernel
//
// The parts of a sender are values without interfaces. A transport stores them and adds its policy: when a packet is
// lost, which packet it sends next, how much may be in flight.
//
//	packets of a window, by number             Ring               TestRing_KeepsEntriesWhileItGrows, TestRing_Renew
//	their transmissions, by time               Flights            TestFlights_InOrderOfTime, TestFlights_OldestLive
//	packets that have arrived, SACK            Arrivals, Bitmap   TestArrivals_MatchesMap, TestBitmap_Remove
//	RFC 6298 timeout, floors, backoff          RTO, RoundTrip     TestRTO_Timeout, TestRoundTrip, TestBackOff
//	pacing, HPCC simulator: a new rate         Pacer, Control     TestControl_NewRateMovesPendingSend, TestPacer_Limits
//	… with gaps of the sender's own            Pacer              TestPacer_ExtendedGapFollowsRate
//	state of recovery, one reduction a trip    Control, NackGate  TestControl_ReductionsByNacks, TestNackGate
//	reaction to warnings and NACKs of losses   Control            TestControl_WarningLeavesGateOpen
//	hold-off after NACKs                       NACKPacer          TestNACKPacerConserves, TestNACKPacerGap
//	draft-cheng-iccrg-delivery-rate-estimation Deliveries         TestDeliveries_Sample
//	receivers: pacing of PULLs (NDP §3.2)      PullPacer          TestPullPacer
//
//	part                rdma  udp_controlled  ndp  uet  window  tcp
//	Ring                yes   notices only    yes  yes  no      a list of segments, which may be cut
//	Flights             yes   no              yes  yes  no      a list by time, from which SACK removes
//	Arrivals            yes   no              yes  yes  no      ranges of bytes
//	RTO, RoundTrip      yes   yes             yes  yes  yes     BackOff only: Linux takes the maximum of deviations
//	LossTimer           yes   yes             yes  no   no      tail loss probes of RFC 8985
//	Control, Pacer      yes   yes             no   no   no      gaps in float64, as Linux rounds them
//	… HandleWarning,    yes   gate stays shut no   no   no      its own state of recovery, with PRR
//	… HandleNackLosses
//	NackGate, NACKPacer yes   yes             no   no   no      yes
//	Deliveries          yes   no              no   no   no      yes
//	PullPacer           no    no              yes  yes  no      no
package transport
