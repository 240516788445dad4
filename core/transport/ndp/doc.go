// Package ndp is NDP's transport (Handley et al., "Re-architecting datacenter networks and stacks for
// low latency and high performance", SIGCOMM 2017). A sender sends a first window at line
// rate, and then one packet for each PULL of the receiver, which paces these so that what it
// pulls fills its link. Switches with the program ndp (weir/dataplane/ndp) cut payloads off in
// place of dropping packets, so that the receiver learns of all, and NACKs the headers.
//
// # Where the paper's parts are
//
//	§3.2 first window at line rate                   Sender.Emit                TestFirstWindow
//	§3.2 ACK, NACK and PULL for each packet          Receiver.Receive           TestTraces
//	§3.2 PULLs are numbered                          Sender.Receive             TestPullNumbers
//	§3.2 what was NACKed goes before what is new     Sender.schedule            TestRepairsFirst
//	§3.2 one pull queue a host, paced, in turn       pulls                      TestPacing, TestPullQueue
//	§3.2 no PULLs after the last packet              Receiver.Receive           TestLastPackets
//	§3.2.3 priority of flows at the receiver         pulls.head                 TestPacing
//	§3.2.4 headers that were sent back               Sender.expecting           TestReturned
//	NICs that take a time to answer                  transport.NIC              TestNICDelays
//	timeouts as a last resort                        Sender.Advance             TestTimeouts
//	no timeout unless something is lost              all                        TestNoTimeoutsWithoutLoss
//	RFC 8985 §7 probes                               Sender.lossTimeout         TestLossProbes
//	losses, reordering, doubling, bytes as fields    all                        TestRandomPaths, FuzzPath
//	packets of others, forged ones                   Sender.acknowledged        TestStrangers
//	§6 incasts near the optimum, fair, short queues  all, with weir/sim         TestIncast, TestIncastWithoutReturn
//	§6 a permutation fills a fat tree                all, with weir/sim         TestPermutation
//	bytes on every link give the same result         all, with weir/sim         TestSameResult
//
// Section numbers and parameters are the paper's as we remember it; its text is not stored here.
//
// # On the wire
//
// The header is that of package rdma, IP protocol 0xFC (packet.Emit): no extensions. Data
// carries the number of its first byte and, as acknowledgement, how many packets of the first
// window have come back; its flags are Trimmable, and FIN if the new packets that are left need
// no PULL. Without payload it is a header. ACKs and NACKs name a packet and the first byte
// that has not come; a PULL is a notice with its number, and that byte. What a switch sends back
// has the flag Returned.
//
// # Why nothing stalls
//
// Every packet that arrives, whole or not, gives a PULL, every PULL a packet: what is under
// way, PULLs that wait or are under way, and those that the sender has not used yet are
// always as many as the first window. A sender keeps PULLs for which it has nothing
// to send: one may overtake the NACK that it belongs to. Three things change the sum:
//
//   - With FIN the receiver needs PULLs only for what it has seen a header of, or knows to have
//     been sent back; while there is any, at least one waits or is under way when nothing else is.
//   - A header that is sent back never arrives. If a PULL had asked for its packet, that
//     counts as unused, and the packet goes again at once. If it was of the first window, of
//     which many may come back together, sending it at once would repeat the incast: the next
//     packet tells the receiver, which gives a PULL for it. If nothing is out and no PULL is to
//     come, one packet goes in advance of its PULL.
//   - A loss takes one away; the timeout of that packet gives it back.
//
// A lost PULL is made good by the next; if it was the last, a timeout sends one packet in
// advance, whose arrival gives another PULL.
//
// # Probes
//
// Without a timeout of the file (rto_min) a sender that gets no answer sends the header of the oldest packet as a
// probe (transport.LossTimer). The receiver acknowledges the packet, or NACKs it and owes a PULL; then what was sent
// before the probe and has no answer is lost. Where switches trim or reorder, a probe would overtake data: there a
// packet goes again only when the path cannot hold it any more.
//
// # What differs
//
// The paper's senders choose a path for each packet, and avoid bad ones; here switches
// spread packets (weir/dataplane/spray), and a packet that is sent again takes any path. There are no
// connections to set up. FIN is in every packet of a flow that fits into its first window, not in
// the last one only, so that short flows take no turns of others in the pull queue. The count of
// packets that came back is ours; htsim forgets the PULLs that they would have given.
package ndp
