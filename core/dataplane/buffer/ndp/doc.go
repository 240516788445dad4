// Package ndp is the switch of NDP (Handley et al., "Re-architecting datacenter networks and stacks for low latency
// and high performance", SIGCOMM 2017). It has data queues of eight packets, and cuts the payload off packets that
// find them full, so that the receiver learns of every packet that was sent. The transport is weir/transport/ndp.
//
// # Parts of the paper
//
//	§3.1 headers and control before data           Program.Ingress              TestProgram_QueuesHeadersApart
//	§3.1 a full data queue trims                   Program.Admit                TestProgram_TrimsBeyondDataLimit
//	§3.1 a coin chooses between newcomer and tail  Program.Admit, Env.TrimTail  TestProgram_CoinTrimsNewcomerOrTail
//	§3.1 headers to data 10 : 1, weighted          tm.NewWRR                    TestHeadersDoNotStarveData
//	§3.2.4 header queue bounded, in bytes          Program.Admit                TestHeaderQueue
//	§3.2.4 return to sender, once                  Program.handleOverflow       TestReturnToSender
//	bytes and fields: equal results                all                          TestProgram_TrimsBeyondDataLimit,
//	                                                                            TestReturnToSender
//
// # Differences
//
// Only packets that permit it (packet.Trimmable, a flag of the transport's header) are trimmed and returned: a host
// without support for headers would take one for an empty packet. Others are dropped when the data queue is full.
//
// The paper's senders choose the path of each packet; here switches do (the program spray).
//
// Section numbers and parameters are from memory; the paper's text is not stored here.
package ndp
