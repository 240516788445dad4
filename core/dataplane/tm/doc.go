// Package tm is the traffic manager: ports with queues and limits, and the
// schedulers that choose among them; the same for switches and host NICs.
package tm
