// Package timerheap orders events by time: the events of the fabric, the timers of the simulator's hosts, and the
// sends of the lab's traffic.
package timerheap
