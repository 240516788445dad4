// Package timerheap orders what is to be done at a time: the events of the fabric, the timers of
// the simulator's hosts, and what the lab's traffic has to send.
package timerheap
