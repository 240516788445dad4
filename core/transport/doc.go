// Package transport is the contract between hosts and flows: an Endpoint is one
// half of a flow, a pure state machine that takes packets, emits packets and says
// when it wants to go on. Each transport has a folder.
//
//	draft-miao §6, §7.2: who asks for telemetry, and when  Asker.Ask      TestAsking, TestAskingErrors
//	… what comes back, and what is kept for a later ACK    Asker, Answerer TestReadUnwraps, TestAnswererKeeps
//	§6.2: a controller's part at the receiver              Answerer       TestReceiverTells
//	§9.1: integrity of feedback                            Asker.Genuine  TestCodeGolden, TestForgedFeedback, FuzzSealed
//	… replays                                              Asker.Genuine  TestReplayedFeedback
//	… what is not sealed, what has no room                 Answerer.Open  TestRoutersMayChange, TestRoomForCode
//	NICs that take a time to answer                        NIC            TestNICDelays, TestNICAllocates
//	RFC 8985 §7, RFC 9002 §6.2: probes before data          LossTimer      TestLossTimer, TestLossLimit
//	… cost Answerer.Seal TestSealAllocatesNothing, BenchmarkSeal, BenchmarkGenuine
package transport
