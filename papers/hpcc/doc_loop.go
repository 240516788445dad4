// # The loop with traffic both ways
//
// A window shows in U after T and the time that data and feedback wait in queues. Where acknowledgements queue with
// data of the other direction, each direction's queues delay the feedback of the other one, and both swing.
//
// Let x be the logarithm of a window over the window that gives eta. A multiplicative commit takes off all of the x
// that U shows (lines 13, 14). If U shows the window of d commits before,
//
//	x(n+1) = x(n) − x(n−d)
//
// With d = 0 the target is reached in one step, as Appendix A has it. With d = 1 the roots of z² = z − 1 are on the
// unit circle, and a swing stays as it is. With d = 2 to 5 it grows by 15 to 19 % a commit, until W is at its bounds:
// a queue of whole windows, then an idle link. Line 22 commits once per loop, whatever its length, so that d is not
// the loop's delay. It is what U remembers: at the first record of data under the last window, U is an average over T
// of data under the windows before. While flows draw even and queues stay within a T, that error is small. When
// queues of several T stand in both directions, U shows former windows only.
//
// An additive stage leaves cuts as they are (U at eta or above is always multiplicative), but puts max_stage commits
// between a cut and the next multiplicative increase. After as many, U shows the cut, d is 0 for the increase, and the
// swing ends: TestLoopWithDelay. More stages than d are enough: 1 with an acknowledgement for each packet. Where
// acknowledgements are delayed and W counts whole segments (preset agent), 3 to 5 (two-way-tcp). Rx-HPCC does
// not need them, since it commits when U has been measured under its last window for a T, and d is 0 (Receiver).
//
// Measured at 100 Gb/s and a T of 6.3 us (two-way: utilisation, 95th percentile of the queue), and much alike at 200
// and 400 Gb/s:
//
//	flows each way        1          3          4           8           16
//	hpcc, max_stage 0     .95 .1 kB  .95 1 kB   .70 223 kB  .69 455 kB  .65 1002 kB
//	hpcc, max_stage 5     .94 .1 kB  .95 1 kB   .95 2 kB    .95 3 kB    .95 5 kB
//	rx_hpcc, max_stage 0  .97 .1 kB  .95 1 kB   .95 2 kB    .95 4 kB    .96 5 kB
//
// Where the swing begins depends on the path and on acknowledgements (one link, frames of 1,000 bytes of payload):
//
//	packets in B·T    an ACK for     flows each way that swing with max_stage 0, and that do not
//	7 (10 Gb/s)       each packet    2 to 8; 16, with windows below half a packet, do not
//	72 (100 Gb/s)     each packet    4 to 64; 1 to 3 and 128 do not
//	72                2 to 16        2 and more
//	720 (1 Tb/s)      each packet    4 and more; 2 and 3 do not
//	3,500 (300 us)    each packet    8 and more over rdma, 16 over udp_controlled; 4 do not
//	3,500             2 (TCP)        4 and more; 2 and 3 do not
//
// A flow that is the only one in its direction does not swing, with one to 16 on the way back. Over several equal paths
// at 100 Gb/s flows can swing on two: by spray from 4 each way and path, by a hash from 16. On four they do not.
//
// PowerTCP has no stages. At 100 Gb/s and 6.3 us eight flows each way fill .95 of the link with a queue of 14 kB,
// but two .80 with 79 kB; eight at 300 us fill .84 with 16 MB, and 16 at 1 Tb/s .85 with 1.9 MB.
//
// weir check warns of these cases except PowerTCP's (hpcc-two-way). It counts flows without an end, or with 3.8·B·T
// and more, that begin together, at ports to which hosts can send more than the port sends. With less than 1.3·B·T
// flows end before they swing. Rings, trees, halving-doubling and all-to-alls of 16 hosts take the same time with
// max_stage 0 as with 5 (100 Gb/s, within 1.5 %), and websearch at 50 and 80 % load has the same mean slowdown within
// 2 %. There is no warning of flows that arrive at a load: with 1 MB each at 64 to 80 % of a link of 100 Gb/s they
// take 6 to 11 % longer with 0.
package hpcc
