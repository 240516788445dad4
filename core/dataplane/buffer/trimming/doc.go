// Package trimming is the switch that Ultra Ethernet's transport is made for (weir/core/transport/uet): two queues a
// port, headers and control packets before data. Data that finds no room loses its payload, and what is left of it
// tells the receiver at once. Packets are marked when they leave the data queue, by what they leave behind and as much
// as they are long, for about that will wait when they have left the wire.
//
// Queues and thresholds are products of a rate and the network's round trip, in whole packets. Those of a port whose
// rate is lower, or becomes so in an event, are in proportion.
//
// It is the queue of the working group's simulator (UEC htsim). NDP's switch (weir/core/dataplane/buffer/ndp) differs
// in its limits: here they are in bytes, with the packet on the wire, and twice as many for headers, which never go
// back.
//
// # Where its parts are
//
//	headers and control before data                    Program.Ingress     TestClasses
//	a full data queue trims, a coin says what          Program.Admit       TestTrims, TestCoin
//	the packet on the wire counts as waiting           Program.onWire      TestOnWire
//	headers bounded, beyond dropped                    Program.Admit       TestHeaders
//	marks when data leaves, linear between thresholds  Program.Egress      TestMarks
//	no marks at ports to hosts                         Program.Egress      TestMarks
//	slower ports in proportion, also by events         Program.limits      TestProportion
//	without trimming: dropped                          Program.Admit       TestWithoutTrimming
//	a trim at the last hop says so                     Program.trimmed     TestLastHop
package trimming
