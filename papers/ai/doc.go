// Package ai has no algorithm of its own: it is the room of experiments about fabrics that train models. Servers of
// eight GPUs stand on rails, jobs reduce and exchange data in iterations, and the schemes of the other rooms carry
// them: HPCC++ at the sender and at the receiver, DCQCN, Swift, Ultra Ethernet's transport, and NDP, each over hashes,
// flowlets and spraying. docs/ai.md tells how they are run, how their reports are read, and what is not modelled.
//
// A quick variant has few GPUs; the full ones take hours:
//
//	weir run ai/all-reduce --quick
//
//	all-reduce   hierarchical, of 128 and of 1,024 GPUs: what iterations take, by scheme and way to spread flows
//	all-to-all   of as many GPUs, all at once
//	storage      a checkpoint to one server beside training
//	faults       a slow link, a dead link (with failover or not), a slow NIC, a straggler
//	two-jobs     packed, scattered and alone
//	trimming     HPCC++, Swift, DCQCN, UET and NDP over the same switches, which trim, or drop
//	credit       NSCC, RCCC and both, in the network of Ultra Ethernet's simulator
//	lockstep     halving and doubling among 16 hosts, in step and with one of them 5 us late
//
// # Claims of others
//
// SMaRTT, of which NSCC is made, is said to be up to 50 % better than Swift, RoCE and MPRDMA; the abstract names no
// network and no traffic. Two readings are judged, in all-reduce and all-to-all: somewhere in the matrix UET takes at
// most two thirds of the time of both Swift and DCQCN that are spread alike (smartt), and sprayed UET takes at most
// two thirds of DCQCN's by hashes (smartt-fabrics). That RCCC alone over one path trims more than it delivers, and
// that windows which cannot fall below a packet trim for ever, is judged with the numbers that Ultra Ethernet's
// simulator gives (credit, and storage at 400 Gb/s).
//
// Of STrack and MRC nothing is judged: neither is built, and what is public of them names no parameters.
package ai
