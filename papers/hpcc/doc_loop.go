// # The loop with traffic both ways
//
// A window acts and shows after T, the time that its feedback waits in queues of the way back, and the time that its
// data waits on the way there. Where acknowledgements queue with data of the other direction, the queues that flows of
// one direction make delay the feedback of the other, so that the two directions swing each other up.
//
// Let x be the logarithm of a window over the window that gives eta. A multiplicative commit takes off all of the x
// that U shows (lines 13, 14). If U shows the window of d commits before,
//
//	x(n+1) = x(n) − x(n−d)
//
// With d = 0 the target is reached in one step, as Appendix A has it. With d = 1 the roots of z² = z − 1 are on the
// unit circle and a swing stays as it is; with d = 2 to 5 it grows by 15 to 19 % a commit, until W is at its bounds: a
// queue of whole windows, then an idle link. Line 22 commits once per loop, whatever its length, so that d is not the
// loop's delay. It is what U remembers: at the first record of data under the last window, U is an average over T of
// data under the windows before. While flows draw even and queues stay within a T, that error is small. When queues of
// several T stand in both directions, U shows former windows only.
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
// Where the swing begins depends on the path: at a round trip of 300 us six flows each way do not swing, at 10 Gb/s
// or with ack_every 16 two do. A flow that is the only one in its direction does not, with one to 16 on the way back.
// weir check warns of max_stage 0 with two flows or more in each direction and eight together, and with four together
// where a round trip is less than 20 packets (hpcc-two-way).
package hpcc
