// Package ai has the experiments about fabrics that train models; it has no algorithm of its own. Servers of eight GPUs
// are connected by rails. Jobs exchange data in iterations, over HPCC++, DCQCN, Swift, UET and NDP, each with hashed,
// flowlet or sprayed paths. docs/ai.md describes how to run them and read the reports.
//
// # Use
//
// A quick variant has few GPUs; the full ones take hours:
//
//	weir run ai/all-reduce --quick
//
//	experiment  subject                                                 test
//	all-reduce  hierarchical, of 128 and of 1,024 GPUs: the time of     TestExperiments_EstimateEveryMatrixSize
//	            iterations, by scheme and by way to spread flows
//	all-to-all  of as many GPUs, all at once                            TestAllToAll_HierarchicalLeavesSpinesIdle
//	storage     a checkpoint to one server next to training             TestExperimentsLoad
//	faults      a slow link, a dead link (with failover or not), a      TestExperimentsLoad
//	            slow NIC, a straggler
//	two-jobs    packed, scattered and alone                             TestExperimentsLoad
//	trimming    HPCC++, Swift, DCQCN, UET and NDP over the same         TestTrimmedRDMA
//	            switches, which trim, or drop
//	credit      NSCC, RCCC and both, in the network of Ultra            TestCredit_EndsFlowsWithoutFailedClaim
//	            Ethernet's simulator
//	lockstep    halving and doubling among 16 hosts, in step and with   TestLockstep_ClaimsHoldOnStar
//	            one of them 5 us late
//
// STrack and MRC are not implemented: their publications give no parameters.
package ai
