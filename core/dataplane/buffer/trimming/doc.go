// Package trimming is the switch for Ultra Ethernet's transport (weir/core/transport/uet). It has two queues a port,
// headers and control packets before data. Data without room loses its payload, and its header notifies the receiver
// at once. Packets are marked when they leave the data queue, by the queue behind them plus their own length, because
// about that much will wait when they have left the wire.
//
// Queues and thresholds are products of a rate and the network's round trip, in whole packets. At a port with a lower
// rate, from the start or after an event, they are smaller in proportion.
//
// It is the queue of the working group's simulator (UEC htsim). NDP's switch (weir/core/dataplane/buffer/ndp) has
// other limits: here they are in bytes, with the packet on the wire, and twice as many for headers, which are never
// returned.
//
// # Parts
//
//	headers and control before data                    Program.Ingress     TestProgram_QueuesHeadersApart
//	a full data queue trims, a coin selects what       Program.Admit       TestProgram_TrimsBeyondDataLimit,
//	                                                                       TestProgram_CoinTrimsNewcomerOrTail
//	the packet on the wire counts as waiting           port.bytesOnWire    TestOnWire
//	headers bounded, beyond dropped                    Program.Admit       TestProgram_DropsHeadersBeyondLimit
//	marks when data leaves, linear between thresholds  Program.Egress      TestProgram_MarksDepartingData
//	no marks at ports to hosts                         Program.Egress      TestProgram_MarksDepartingData
//	slower ports in proportion, also by events         Program.setLimits   TestProgram_ScalesLimitsWithRate
//	without trimming: dropped                          Program.Admit       TestWithoutTrimming
//	a trim at the last hop has a flag                  Program.recordTrim  TestLastHop
package trimming
