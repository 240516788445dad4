// Package tm is the traffic manager: ports with queues and limits, and the schedulers that choose among
// the queues. Switches and host NICs use the same.
package tm
